import type { ChangeLog } from "../changes/change-log.js";
import type { Mark } from "../changes/notification.js";
import type { Clock } from "../clock.js";
import type { Log } from "../log.js";
import { workLock } from "../storage/advisory-locks.js";
import type { Database } from "../storage/postgres.js";
import type { WorkSession } from "../storage/work-sessions.js";
import { acknowledge, announce } from "./announce.js";
import { Instances } from "./instances.js";
import { addChangeKeys, mostNamed } from "./keys.js";
import type { PurgeService } from "./purge-service.js";
import {
  type Changed,
  type Kind,
  keysOfAll,
  mostAtOnce,
  noteDropped,
  noteToldAll,
  readChanged,
  readLag,
  readTarget,
  startAnew,
  type Thing,
  type Wanted,
} from "./state.js";

/**
 * Tells the CDN what has changed: one node at a time, which holds a lock that ends with its connection. What was told is noted
 * in the database, so the next node goes on where this one ends. Something may be told twice, nothing is left out.
 */

export interface PurgerOptions {
  readonly db: Pick<Database, "working" | "query">;
  /** One for each instance of the CDN, by names of their own. */
  readonly services: ReadonlyMap<string, PurgeService>;
  /** The key of all that they may keep. */
  readonly everything: string;
  readonly changes: Pick<ChangeLog, "propagate" | "trusted">;
  readonly clock: Clock;
  readonly log: Log;
  /** Names the CDN and the version of the server; when it changes, the CDN drops everything. */
  readonly target: string;
  /** Whether edits wait for the CDN, so that marks are acknowledged. */
  readonly isWaitedFor: boolean;
}

export interface PurgerCounts {
  /** Whether this node is the one that tells the CDN. */
  readonly leads: boolean;
  readonly done: number;
  readonly failed: number;
  readonly keys: number;
}

/** How often another node looks whether the one that leads is gone. */
const lockMs = 1_000;
/** How often everything is looked through, for what was not announced. */
const wholeMs = 60_000;
/** How often it is noted that the CDN was told of all. */
const notedMs = 5_000;
/** Longest wait for what the database knows of the lag. */
const lagMs = 1_000;
const firstRetryMs = 250;
const longestRetryMs = 5_000;
/** Announcements that are looked up by their names; with more, everything is looked through. */
const mostNoted = 500;
/** Marks that wait to be acknowledged; edits that wait for earlier ones have given up. */
const mostMarks = 10_000;

/** What the CDN was told once, and will be told again before it is noted. */
interface Unsettled {
  readonly changed: readonly Changed[];
  readonly at: number;
}

/** What the node that leads has for it. */
interface Lead {
  readonly db: Connection;
  readonly instances: Instances;
  readonly signal: AbortSignal;
}

type Noted = Map<string, Thing>;

export class Purger {
  private readonly stopping = new AbortController();
  private readonly running: Promise<void>;
  private noted: Noted = new Map();
  private isAllNoted = true;
  /** Received since the CDN was told of all before them. */
  private marks: Mark[] = [];
  /** Where looking through everything goes on. */
  private after: Thing | undefined;
  private leads = false;
  private wake = (): void => undefined;
  private done = 0;
  private failed = 0;
  private keys = 0;

  constructor(private readonly options: PurgerOptions) {
    this.running = this.run();
  }

  /** Something changed. To be called by each node for each change that is announced. */
  note(kind: Kind, id: number): void {
    if (this.noted.size >= mostNoted) this.noteAll();
    // While all is looked through, what lies before `after` is not looked at again.
    if (!this.isAllNoted || this.after) this.noted.set(`${kind} ${id}`, { kind, id });
    this.wake();
  }

  /** All that was announced before this mark is noted. To be called by each node for each mark. */
  marked(mark: Mark): void {
    if (!this.leads || !this.options.isWaitedFor) return;
    if (this.marks.length >= mostMarks) this.marks.splice(0, mostMarks / 2);
    this.marks.push(mark);
    this.wake();
  }

  /** Anything may have changed. */
  noteAll(): void {
    this.noted.clear();
    this.isAllNoted = true;
    this.after = undefined;
    this.wake();
  }

  get counts(): PurgerCounts {
    const { leads, done, failed, keys } = this;
    return { leads, done, failed, keys };
  }

  /**
   * Age in seconds of the oldest change that the CDN was not told, as the database has it: whichever node tells it, and if
   * none does. NaN when the database does not answer.
   */
  async lagSeconds(): Promise<number> {
    const { db, clock } = this.options;
    let cancel = (): void => undefined;
    const late = new Promise<number>((resolve) => {
      cancel = clock.after(lagMs, () => resolve(Number.NaN));
    });
    const lag = readLag(db).catch(() => Number.NaN);
    const seconds = await Promise.race([lag, late]);
    cancel();
    return seconds;
  }

  async stop(): Promise<void> {
    this.stopping.abort();
    this.wake();
    await this.running;
  }

  private async run(): Promise<void> {
    const { db, log } = this.options;
    const { signal } = this.stopping;
    while (!signal.aborted) {
      let session: WorkSession | undefined;
      try {
        session = await db.working();
        await this.lead(session);
      } catch (error) {
        if (!signal.aborted) log.warn({ err: error }, "the edge cannot be told of changes just now");
      } finally {
        this.leads = false;
        this.marks = [];
        await session?.end();
      }
      await this.sleep(lockMs, signal);
    }
  }

  /** Tells the CDN as long as the connection holds the lock. */
  private async lead(session: WorkSession): Promise<void> {
    const lost = new AbortController();
    const signal = AbortSignal.any([lost.signal, this.stopping.signal]);
    session.onLost(() => lost.abort());
    const db = connectionOf(session);
    while (!signal.aborted) {
      if (await session.tryLock(workLock.cdn)) break;
      this.forget();
      await this.sleep(lockMs, signal);
    }
    if (signal.aborted) return;
    this.leads = true;
    // What is not noted is told again.
    await session.set({ synchronous_commit: "off" });
    const { services, clock, log } = this.options;
    const everything = () => keysOfAll(db, this.options.everything);
    const instances = await Instances.open({ db, services, everything, clock, log, signal });
    const repeatMs = Math.max(...[...services.values()].map((service) => service.repeatMs));
    this.noteAll();
    let unsettled: Unsettled[] = [];
    let lookedAt = clock.now();
    let toldAt = Number.NEGATIVE_INFINITY;
    /** Whether something was passed over that the CDN did not take. */
    let isIncomplete = false;
    for (let failures = 0; !signal.aborted; ) {
      const { noted, isAllNoted, after, marks } = this;
      const began = clock.now();
      this.forget();
      this.marks = [];
      try {
        const lead = { db, instances, signal };
        unsettled = await this.settle(lead, unsettled);
        if (isAllNoted || noted.size > 0) {
          const read = isAllNoted ? await this.read(lead, { after }) : [];
          // Those of the next batch have their turn, whatever becomes of this one.
          if (read.length >= mostAtOnce && !this.isAllNoted) {
            this.isAllNoted = true;
            this.after = read.at(-1);
          }
          const before = new Set(unsettled.flatMap(({ changed }) => changed.map(nameOf)));
          const told = read.filter((one) => !before.has(nameOf(one)));
          const own = new Set(told.map(nameOf));
          const announced = noted.size > 0 ? await this.read(lead, [...noted.values()]) : [];
          told.push(...announced.filter((one) => !own.has(nameOf(one))));
          await this.pass(lead, told);
          if (told.length > 0) {
            if (repeatMs > 0) unsettled.push({ changed: told, at: clock.now() + repeatMs });
            else await noteDropped(db, told);
          }
          if (isAllNoted) lookedAt = clock.now();
          if (isIncomplete && isAllNoted && read.length < mostAtOnce) {
            isIncomplete = false;
            this.noteAll();
            this.marks.unshift(...marks);
            continue;
          }
        }
        // What is still to be looked at may be what was announced before them.
        if (isIncomplete || this.isAllNoted) this.marks.unshift(...marks);
        else await acknowledge(db, this.isTold(instances) ? "purged" : "pending", marks);
        if (isIncomplete) continue;
        if (failures > 0) log.info("the edge is told of changes again");
        failures = 0;
      } catch (error) {
        if (signal.aborted) return;
        this.failed++;
        // The state in the database tells what was not told. What comes after it is told first.
        this.isAllNoted = true;
        isIncomplete ||= this.after !== undefined;
        await acknowledge(db, "pending", marks).catch(() => undefined);
        if (failures++ === 0) log.warn({ err: error }, "the edge was not told of changes; it is tried again");
        await this.pause(Math.min(firstRetryMs * 2 ** failures, longestRetryMs), signal);
        continue;
      }
      // All that was announced when this turn began. A node that does not hear of changes cannot say that it has told them.
      if (!this.isAllNoted && began >= toldAt + notedMs && this.options.changes.trusted) {
        await noteToldAll(db, clock.now() - began);
        toldAt = began;
        instances.confirm();
      }
      // Nothing is awaited from here on: who notes something wakes only those that sleep.
      if (this.isAllNoted || this.noted.size > 0 || this.marks.length > 0) continue;
      const now = clock.now();
      const next = Math.min(lookedAt + wholeMs, now + notedMs, ...unsettled.map(({ at }) => at));
      if (next > now) await this.sleep(next - now, signal);
      if (clock.now() >= lookedAt + wholeMs) this.isAllNoted = true;
    }
  }

  /**
   * Whether the CDN has dropped all that was announced. A node that has just begun to listen may receive a mark before it knows
   * what it has missed: it is trusted when it does.
   */
  private isTold({ areCurrent }: Instances): boolean {
    return areCurrent && this.options.changes.trusted;
  }

  private forget(): void {
    this.noted = new Map();
    this.isAllNoted = false;
    this.after = undefined;
  }

  /** What has changed. Another CDN, or another version of the server, begins anew. */
  private async read({ db, instances, signal }: Lead, wanted: Wanted): Promise<Changed[]> {
    const { changes, services, target, everything } = this.options;
    const state = await readTarget(db, target);
    if (!state.isOther) return readChanged(db, wanted, mostNamed);
    const versions = await startAnew.read(db);
    const keys = await keysOfAll(db, everything);
    await changes.propagate();
    await instances.drop("forget", keys);
    const repeatMs = Math.max(...[...services.values()].map((service) => service.repeatMs));
    if (repeatMs > 0) {
      await this.pause(repeatMs, signal);
      await instances.drop("forget", keys);
    }
    await startAnew.note(db, state.target, versions);
    this.done++;
    this.noteAll();
    return [];
  }

  /** Tells the CDN what has changed. */
  private async pass({ db, instances }: Lead, changed: readonly Changed[]): Promise<void> {
    if (changed.length === 0) return;
    // A node that does not know of a change yet would answer with what the CDN is about to drop.
    let unheard: unknown;
    await this.options.changes.propagate().catch((error: unknown) => {
      unheard = error;
    });
    await this.tell(instances, changed);
    // One cannot be told, nor warned: what it answers may be old, so that the CDN is told again until it is known to be well or gone.
    if (unheard !== undefined) throw unheard;
    await announce(db, changed);
  }

  /** Tells the CDN again what is due, and notes that it was told. @returns what is not due */
  private async settle({ db, instances }: Lead, unsettled: Unsettled[]): Promise<Unsettled[]> {
    const now = this.options.clock.now();
    const due = unsettled.filter(({ at }) => at <= now).flatMap(({ changed }) => changed);
    if (due.length === 0) return unsettled;
    await this.tell(instances, due);
    await noteDropped(db, [...new Map(due.map((one) => [`${one.kind} ${one.id}`, one])).values()]);
    return unsettled.filter(({ at }) => at > now);
  }

  private async tell(instances: Instances, changed: readonly Changed[]): Promise<void> {
    const { clock, everything } = this.options;
    const keys = await keysOf(changed, { most: instances.mostKeys, turn: () => clock.turn() });
    await instances.drop("purge", keys ?? [everything]);
    this.done++;
    this.keys += keys?.length ?? 0;
  }

  /** Waits for something to do. */
  private sleep(ms: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const end = () => {
        cancel();
        this.wake = () => undefined;
        signal.removeEventListener("abort", end);
        resolve();
      };
      const cancel = this.options.clock.after(ms, end);
      this.wake = end;
      signal.addEventListener("abort", end);
      if (signal.aborted) end();
    });
  }

  /** Waits that long, whatever there is to do. */
  private pause(ms: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const end = () => {
        cancel();
        signal.removeEventListener("abort", end);
        resolve();
      };
      const cancel = this.options.clock.after(ms, end);
      signal.addEventListener("abort", end);
      if (signal.aborted) end();
    });
  }
}

type Connection = Pick<Database, "query">;

/** Statements run one after the other, also those that are sent at once. */
function connectionOf(session: WorkSession): Connection {
  let last: Promise<unknown> = Promise.resolve();
  return {
    query: <Row extends object>(text: string, values: readonly unknown[] = []) => {
      const done = last.then(async () => (await session.query<Row>(text, values)).rows);
      last = done.catch(() => undefined);
      return done;
    },
  };
}

const nameOf = ({ kind, id, version }: Changed): string => `${kind} ${id} ${version}`;

/** Keys that are made before others have a turn: about a millisecond. */
const keysInTurn = 2_000;

/**
 * Keys of all that changed. With more than `most`, layers with many are told as a whole, the largest first.
 * @returns undefined: all that there is
 */
export async function keysOf(
  changed: readonly Changed[],
  { most, turn }: { readonly most: number; readonly turn: () => Promise<void> },
): Promise<string[] | undefined> {
  const all = new Set<string>();
  const byLayer: { readonly change: Changed; readonly keys: Set<string> }[] = [];
  let count = 0;
  let made = 0;
  for (const change of changed) {
    if (change.kind !== "layer") {
      all.add(`${change.kind === "project" ? "p" : "m"}${change.id}`);
      continue;
    }
    const { area } = change;
    let keys = wholeLayer(change, area === null || change.map === null ? null : []);
    for (let at = 0; area && change.map !== null && at < area.length; at += 4) {
      addChangeKeys(keys, { ...layerOf(change), area: area.slice(at, at + 4) });
      if (keys.size > most || count + keys.size > 2 * most) {
        keys = wholeLayer(change, null);
        break;
      }
      if (keys.size - made > keysInTurn) {
        made = keys.size;
        await turn();
      }
    }
    made = 0;
    count += keys.size;
    byLayer.push({ change, keys });
  }
  count += all.size;
  for (const { change, keys } of byLayer.sort((one, other) => other.keys.size - one.keys.size)) {
    const told = count <= most ? keys : wholeLayer(change, null);
    count += told.size - keys.size;
    for (const key of told) all.add(key);
  }
  return all.size > most ? undefined : [...all];
}

/** Of a layer that is gone only what names it is left; its map has changed too. */
const layerOf = ({ id, map, isWide }: Changed) => ({ layer: id, map: map ?? 0, isWide });

/** @param area null = all of the layer; empty = what names no place */
function wholeLayer(change: Changed, area: [] | null): Set<string> {
  const keys = new Set<string>();
  addChangeKeys(keys, { ...layerOf(change), area });
  return keys;
}

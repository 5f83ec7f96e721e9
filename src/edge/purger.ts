import type pg from "pg";
import type { ChangeLog } from "../changes/change-log.js";
import type { EdgeVersion } from "../changes/notification.js";
import type { Clock } from "../clock.js";
import type { Log } from "../log.js";
import { workLock } from "../storage/advisory-locks.js";
import type { Database } from "../storage/postgres.js";
import { addChangeKeys, mostNamed } from "./keys.js";
import type { PurgeService } from "./purge-service.js";
import {
  type Changed,
  type Kind,
  mostAtOnce,
  noteDropped,
  readChanged,
  readTarget,
  startAnew,
  type Wanted,
} from "./state.js";

/**
 * Tells the edge what has changed: one node at a time, which holds a lock that ends with its connection. What was told is noted
 * in the database, so the next node goes on where this one ends. Something may be told twice, nothing is left out.
 */

export interface PurgerOptions {
  readonly db: Pick<Database, "dedicated">;
  readonly service: PurgeService;
  readonly changes: Pick<ChangeLog, "propagate">;
  readonly clock: Clock;
  readonly log: Log;
  /** Names the edge and the version of the server; when it changes, the edge drops everything. */
  readonly target: string;
}

export interface PurgerCounts {
  /** Whether this node is the one that tells the edge. */
  readonly leads: boolean;
  /** Age of the oldest change that the edge was not told, as far as this node knows. */
  readonly lagSeconds: number;
  readonly done: number;
  readonly failed: number;
  readonly keys: number;
}

/** How often another node looks whether the one that leads is gone. */
const lockMs = 1_000;
/** How often everything is looked through, for what was not announced. */
const wholeMs = 60_000;
const firstRetryMs = 250;
const longestRetryMs = 5_000;
/** Announcements that are looked up by their names; with more, everything is looked through. */
const mostNoted = 500;
/** Characters of a notification; PostgreSQL takes 8,000. */
const mostAnnounced = 7_000;

/** What the edge was told once, and will be told again before it is noted. */
interface Unsettled {
  readonly changed: readonly Changed[];
  readonly at: number;
}

interface Pass {
  readonly wanted: Wanted;
  readonly unsettled: readonly Unsettled[];
  readonly signal: AbortSignal;
}

type Noted = Map<string, { readonly kind: Kind; readonly id: number }>;

export class Purger {
  private readonly stopping = new AbortController();
  private readonly running: Promise<void>;
  private noted: Noted = new Map();
  private isAllNoted = true;
  /** When the first of the noted changes was announced, in ms of the clock. */
  private oldest: number | undefined;
  private telling: number | undefined;
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
    if (!this.isAllNoted) this.noted.set(`${kind} ${id}`, { kind, id });
    this.oldest ??= this.options.clock.now();
    this.wake();
  }

  /** Anything may have changed. */
  noteAll(): void {
    this.noted.clear();
    this.isAllNoted = true;
    this.wake();
  }

  get counts(): PurgerCounts {
    const { leads, done, failed, keys } = this;
    const since = this.telling ?? this.oldest;
    const lagSeconds = leads && since !== undefined ? (this.options.clock.now() - since) / 1_000 : 0;
    return { leads, lagSeconds, done, failed, keys };
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
      let client: pg.Client | undefined;
      try {
        client = await db.dedicated();
        await this.lead(client);
      } catch (error) {
        if (!signal.aborted) log.warn({ err: error }, "the edge cannot be told of changes just now");
      } finally {
        this.leads = false;
        await client?.end().catch(() => undefined);
      }
      await this.sleep(lockMs, signal);
    }
  }

  /** Tells the edge as long as the connection holds the lock. */
  private async lead(client: pg.Client): Promise<void> {
    const lost = new AbortController();
    const signal = AbortSignal.any([lost.signal, this.stopping.signal]);
    client.on("error", () => lost.abort());
    client.on("end", () => lost.abort());
    const db = connectionOf(client);
    while (!signal.aborted) {
      const [lock] = await db.query<{ ours: boolean }>(
        `select pg_try_advisory_lock(${workLock.edge}) as ours`,
      );
      if (lock!.ours) break;
      this.forget();
      await this.sleep(lockMs, signal);
    }
    if (signal.aborted) return;
    this.leads = true;
    // What is not noted is told again.
    await db.query("set synchronous_commit = off");
    this.isAllNoted = true;
    let unsettled: Unsettled[] = [];
    let lookedAt = this.options.clock.now();
    for (let failures = 0; !signal.aborted; ) {
      const { noted, isAllNoted } = this;
      this.telling = this.oldest;
      this.forget();
      try {
        unsettled = await this.settle(db, unsettled, signal);
        if (isAllNoted || noted.size > 0) {
          const wanted = isAllNoted ? "all" : [...noted.values()];
          const told = await this.pass(db, { wanted, unsettled, signal });
          if (told.length > 0) {
            const { repeatMs } = this.options.service;
            if (repeatMs > 0) unsettled.push({ changed: told, at: this.options.clock.now() + repeatMs });
            else await noteDropped(db, told);
          }
          if (isAllNoted) lookedAt = this.options.clock.now();
          if (told.length >= mostAtOnce) this.isAllNoted = true;
        }
        this.telling = undefined;
        failures = 0;
      } catch (error) {
        if (signal.aborted) return;
        this.failed++;
        this.oldest = this.telling ?? this.oldest;
        // The state in the database tells what was not told.
        this.isAllNoted = true;
        if (failures++ === 0)
          this.options.log.warn({ err: error }, "the edge was not told of changes; it is tried again");
        await this.pause(Math.min(firstRetryMs * 2 ** failures, longestRetryMs), signal);
        continue;
      }
      if (this.isAllNoted || this.noted.size > 0) continue;
      const now = this.options.clock.now();
      const next = Math.min(lookedAt + wholeMs, ...unsettled.map(({ at }) => at));
      if (next > now) await this.sleep(next - now, signal);
      if (this.options.clock.now() >= lookedAt + wholeMs) this.isAllNoted = true;
    }
  }

  private forget(): void {
    this.noted = new Map();
    this.isAllNoted = false;
    this.oldest = undefined;
  }

  /** Tells the edge what has changed. @returns what it was told */
  private async pass(db: Connection, { wanted, unsettled, signal }: Pass): Promise<Changed[]> {
    const { service, changes, target } = this.options;
    const state = await readTarget(db, target);
    if (state.isOther) {
      const versions = await startAnew.read(db);
      await changes.propagate();
      await service.purgeAll(signal);
      if (service.repeatMs > 0) {
        await this.pause(service.repeatMs, signal);
        await service.purgeAll(signal);
      }
      await startAnew.note(db, state.target, versions);
      this.done++;
      this.isAllNoted = true;
      return [];
    }
    const before = unsettled.flatMap(({ changed }) => changed);
    const changed = await readChanged(db, wanted, mostNamed, before);
    if (changed.length === 0) return [];
    // A node that does not know of a change yet would answer with what the edge is about to drop.
    await changes.propagate();
    await this.tell(changed, signal);
    await announce(db, changed);
    return changed;
  }

  /** Tells the edge again what is due, and notes that it was told. @returns what is not due */
  private async settle(db: Connection, unsettled: Unsettled[], signal: AbortSignal): Promise<Unsettled[]> {
    const now = this.options.clock.now();
    const due = unsettled.filter(({ at }) => at <= now).flatMap(({ changed }) => changed);
    if (due.length === 0) return unsettled;
    await this.tell(due, signal);
    await noteDropped(db, [...new Map(due.map((one) => [`${one.kind} ${one.id}`, one])).values()]);
    return unsettled.filter(({ at }) => at > now);
  }

  private async tell(changed: readonly Changed[], signal: AbortSignal): Promise<void> {
    const { service, clock } = this.options;
    const keys = await keysOf(changed, { most: service.mostKeys, turn: () => clock.turn() });
    if (keys === undefined) await service.purgeAll(signal);
    else await service.purge(keys, signal);
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

const connectionOf = (client: pg.Client): Connection => ({
  query: async <Row extends object>(text: string, values: readonly unknown[] = []) =>
    (await client.query<Row>(text, [...values])).rows,
});

/** Keys that are made before others have a turn: about a millisecond. */
const keysInTurn = 2_000;

/**
 * Keys of all that changed. With more than `most`, layers with many are told as a whole, the largest first.
 * @returns undefined: everything
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

/** Tells all nodes what the edge was told. */
async function announce(db: Connection, changed: readonly Changed[]): Promise<void> {
  const told = changed.flatMap(({ kind, id, version }): EdgeVersion[] =>
    kind === "project" || version === null ? [] : [{ kind, id, version }],
  );
  let text = "";
  const texts: string[] = [];
  for (const { kind, id, version } of told) {
    const one = ` ${kind === "layer" ? "l" : "m"}${id}:${version}`;
    if (text.length + one.length > mostAnnounced) {
      texts.push(text);
      text = "";
    }
    text += one;
  }
  if (text !== "") texts.push(text);
  if (texts.length > 0)
    await db.query("select pg_notify('mapwright', 'E' || one) from unnest($1::text[]) one", [texts]);
}

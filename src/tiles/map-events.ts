import { setMaxListeners } from "node:events";
import { mayRead } from "../access/rights.js";
import { type Caller, type MapState, publicCaller } from "../catalog/state.js";
import type { PurgedVersions } from "../cdn/purged-versions.js";
import type { ChangeLog } from "../changes/change-log.js";
import type { Area, LayerVersion } from "../changes/layer-version.js";
import type { Watcher, Watchers } from "../changes/watchers.js";
import type { Clock } from "../clock.js";
import { eitherSignal } from "../either-signal.js";
import { busy, Failure } from "../errors.js";
import { toDegrees } from "../geo/envelope.js";
import { maxZoom } from "../geo/tile.js";
import { onceForEach } from "../once.js";
import { siteOf } from "../queues/clients.js";
import type { Slices } from "../queues/slices.js";
import type { Database } from "../storage/postgres.js";

/** What changes of a map while somebody looks at it, as Server-Sent Events (HTML, 9.2). */

export interface MapEventsOptions {
  readonly db: Pick<Database, "query">;
  readonly changes: Pick<ChangeLog, "track" | "epoch">;
  readonly watchers: Watchers;
  /** Until the CDN has dropped what was before a change, it would give the old tile to who hears of it. */
  readonly cdn: Pick<PurgedVersions, "wait">;
  readonly clock: Clock;
  readonly slices: Pick<Slices, "whole">;
  /** Milliseconds since 1970. */
  readonly time: () => number;
  /** Default: 5,000. */
  readonly mostListeners?: number;
  /** Listeners of one account or network; default: 500, as an office behind one address has many windows open. */
  readonly mostOfClient?: number;
}

export interface MapListening {
  /** Finds the map as it is now and checks that the caller may read it. @throws Failure */
  readonly access: () => Promise<{ readonly map: MapState; readonly caller: Caller }>;
  /** Account or network. */
  readonly client: string;
  /** The last event that the client has seen, if it listened before. */
  readonly lastEventId: string | undefined;
  /** A client that listens for the first time is told what changed in the last so many seconds. */
  readonly recentSeconds?: number | undefined;
  /** The state of the map that it has seen, as `mapStateOf` names it. */
  readonly seenState?: string | undefined;
  readonly signal: AbortSignal;
}

const defaultListeners = 5_000;
const defaultOfClient = 500;
const heartbeatMs = 8_000;
/** How often it is looked whether the caller may still read the map, however much there is to tell. */
const checkMs = 4 * heartbeatMs;
/**
 * Events of a listener are at least so far apart; what changes meanwhile is told together. With many listeners it is more, so
 * that the node tells no more than so many events a second, however often a map is edited.
 */
const pauseMs = 50;
/** Between two looks at a map that cannot be looked at just now. */
const retryMs = 1_000;
const mostEventsPerSecond = 1_000;
/** Events that are told before others are answered. */
const eventsAtOnce = 20;
/** Areas of one event; more are told as one for each layer. */
const mostAreas = 64;
/** Changes that are looked up for a listener that comes back; with more, everything counts as changed. */
const mostMissed = 1_000;
const longestAbsenceMs = 30 * 60_000;
/** A change has the time at which its transaction began: so long before it was seen. */
const commitSeconds = 10;
/** By so much the clocks of nodes and of the database may differ. */
const clockToleranceMs = 60_000;

/** Boxes in EPSG:3857 by layer id; null = all of the layer. */
type Changed = Map<number, number[] | null>;

type Versions = ReadonlyMap<number, LayerVersion>;

/** Versions of all layers of a set, for all who listen to it. */
interface Held {
  /** The history of the database that they belong to. */
  readonly epoch: string;
  readonly versions: Promise<Versions>;
}

/** What a listener was not there for. */
interface Missed {
  readonly changed: Changed;
  /** Layers that changed just now. */
  readonly recent: readonly number[];
  readonly isMapChanged: boolean;
}

interface MissedRow {
  readonly id: number;
  readonly area: number[] | null;
  readonly recent: boolean;
  readonly isEverything: boolean;
}

/** Looks for what was missed by those who ask for the same. */
interface Looks {
  readonly now: Promise<Missed>;
  /** Begins when `now` has ended. */
  next: Promise<Missed> | undefined;
}

const mapEvent = "event: map\ndata: {}\n";
const sessionEvent = "event: session\ndata: {}\n\n";

/** What a listener has not been told yet. */
class Pending implements Watcher {
  layers: ReadonlySet<number> = new Set();
  held: Versions = new Map();
  changed: Changed = new Map();
  isMapChanged = false;
  /** Called when there is something to tell. */
  wake = (): void => undefined;

  constructor(
    readonly projectId: number,
    readonly mapId: number,
  ) {}

  layerChanged(id: number, area: Area): void {
    // Objects without a place are in no area, but in tables.
    addArea(this.changed, id, area);
    this.wake();
  }

  mapChanged(): void {
    this.isMapChanged = true;
    this.wake();
  }
}

export class MapEvents {
  /** The listeners of each client, from the oldest on. */
  private readonly clients = new Map<string, Set<AbortController>>();
  private readonly stopping = new AbortController();
  private readonly waiting: (() => void)[] = [];
  private readonly looks = new WeakMap<ReadonlySet<number>, Map<string, Looks>>();
  private readonly held = new WeakMap<ReadonlySet<number>, Held>();
  private count = 0;

  constructor(private readonly options: MapEventsOptions) {
    // Each open map listens to the signal.
    setMaxListeners(0, this.stopping.signal);
  }

  get listeners(): number {
    return this.count;
  }

  /** Ends all, for a node that stops. */
  stop(): void {
    this.stopping.abort();
  }

  /**
   * Texts of events until the client leaves or may not read the map any more:
   * - `change`: `{layers, areas, minzoom, maxzoom}`: areas are boxes [west, south, east, north] in degrees; null = everywhere, none =
   *   only objects without a place
   * - `map`: the map itself changed: its layers, styles or rights
   * - `session`: the session has ended; the last event
   * @throws Failure busy; of `access`
   */
  async *listen(listening: MapListening): AsyncGenerator<string, void, undefined> {
    const { client } = listening;
    const { mostListeners = defaultListeners, mostOfClient = defaultOfClient } = this.options;
    const others = this.clients.get(client)?.size ?? 0;
    const isFull = others >= mostOfClient || this.ofSite(client) >= mostListeners / 2;
    if (isFull || (this.count >= mostListeners && !this.makeRoom(others)))
      throw busy("Too many open maps listen for changes.", 30);
    const displaced = new AbortController();
    const own = this.clients.get(client) ?? new Set();
    this.clients.set(client, own.add(displaced));
    this.count++;
    try {
      yield* this.events({ ...listening, signal: AbortSignal.any([listening.signal, displaced.signal]) });
    } finally {
      this.leave(client, displaced);
    }
  }

  /** Listeners of an IPv6 site, which has as many networks as it likes; 0 of others. */
  private ofSite(client: string): number {
    const site = siteOf(client);
    if (site === client) return 0;
    let count = 0;
    for (const [other, own] of this.clients) if (siteOf(other) === site) count += own.size;
    return count;
  }

  /** Ends the newest listener of the client that has the most, if it has more than somebody with `others` will. */
  private makeRoom(others: number): boolean {
    let most: [client: string, listeners: Set<AbortController>] | undefined;
    for (const one of this.clients) if (one[1].size > (most?.[1].size ?? others + 1)) most = one;
    const newest = most && [...most[1]].at(-1);
    if (!newest) return false;
    this.leave(most![0], newest);
    newest.abort();
    return true;
  }

  private leave(client: string, listener: AbortController): void {
    const own = this.clients.get(client);
    if (!own?.delete(listener)) return;
    this.count--;
    if (own.size === 0) this.clients.delete(client);
  }

  /** Waits until it is this listener's turn to be told, so that many of them do not hold the node's event loop. */
  private turn(): Promise<void> {
    return new Promise((resolve) => {
      if (this.waiting.push(resolve) === 1) setImmediate(() => this.tellSome());
    });
  }

  private tellSome(): void {
    for (const resolve of this.waiting.splice(0, eventsAtOnce)) resolve();
    if (this.waiting.length > 0) setImmediate(() => this.tellSome());
  }

  private async *events(listening: MapListening): AsyncGenerator<string, void, undefined> {
    const { watchers, clock, slices } = this.options;
    let { map, caller } = await listening.access();
    let checkedAt = clock.now();
    const { accountId } = caller;
    const pending = new Pending(map.project.id, map.id);
    let end = (): void => undefined;
    // Each listener of a map of many layers takes milliseconds.
    const watch = async () => {
      pending.held = await slices.whole(`p${map.project.id}`, () => {
        end();
        pending.layers = layersFor(map, caller);
        end = watchers.add(pending);
        return this.versionsOf(pending.layers);
      });
    };
    const { signal: ended, release } = eitherSignal([listening.signal, this.stopping.signal]);
    const wake = () => pending.wake();
    ended.addEventListener("abort", wake, { once: true });
    try {
      // Before it is looked what was missed, so that nothing is missed in between.
      await watch();
      const missed = await this.missed(listening, map, pending.layers);
      if (missed.recent.length > 0) await this.dropped(pending, missed.recent);
      if (missed.isMapChanged) await this.mapDropped(map);
      // Only the last event has an id: a client that leaves before it has not seen it.
      const mapMissed = missed.isMapChanged ? `${mapEvent}\n` : "";
      yield `retry: 2000\n${mapMissed}${changeEvent(missed.changed)}id: ${this.idOf(map)}\n\n`;
      // The map may have changed before it was watched.
      let isFirst = true;
      while (!ended.aborted) {
        if (!isFirst && pending.changed.size === 0 && !pending.isMapChanged) {
          if (await this.silence(pending, ended)) {
            if (ended.aborted) return;
          } else yield ":\n\n";
        }
        let isMapChanged = false;
        if (isFirst || pending.isMapChanged || clock.now() - checkedAt >= checkMs) {
          ({ isMapChanged } = pending);
          pending.isMapChanged = false;
          const { revision } = map;
          await this.turn();
          try {
            ({ map, caller } = await listening.access());
            checkedAt = clock.now();
            isFirst = false;
          } catch (error) {
            if (error instanceof Failure && error.kind === "unauthenticated") yield sessionEvent;
            // A client that comes back is told why.
            if (error instanceof Failure && error.kind !== "busy") return;
            // What cannot be looked at now is told later, and nothing before it is known that the caller may still hear it.
            pending.isMapChanged ||= isMapChanged;
            await this.pause(retryMs, ended);
            yield ":\n\n";
            continue;
          }
          // A client that comes back goes on without the session, with what the public may see.
          if (caller.accountId !== accountId) {
            yield sessionEvent;
            return;
          }
          if (isMapChanged || map.revision !== revision) {
            await watch();
            for (const id of pending.changed.keys()) if (!pending.layers.has(id)) pending.changed.delete(id);
            if (map.revision !== revision) await this.mapDropped(map);
            yield `${mapEvent}id: ${this.idOf(map)}\n\n`;
          }
        }
        const isTold = pending.changed.size > 0;
        if (isTold) {
          await this.turn();
          // Rights may have changed meanwhile, and before what has changed since.
          if (pending.isMapChanged) continue;
          const { changed } = pending;
          pending.changed = new Map();
          await this.dropped(pending, [...changed.keys()]);
          yield `${changeEvent(changed)}id: ${this.idOf(map)}\n\n`;
        }
        if (isMapChanged || isTold)
          await this.pause(Math.max(pauseMs, (1_000 * this.count) / mostEventsPerSecond), ended);
      }
    } finally {
      end();
      ended.removeEventListener("abort", wake);
      release();
    }
  }

  private versionsOf(layers: ReadonlySet<number>): Promise<Versions> {
    const { changes } = this.options;
    const { epoch } = changes;
    const known = this.held.get(layers);
    if (known?.epoch === epoch) return known.versions;
    const versions = changes
      .track([...layers])
      .then((tracked): Versions => new Map(tracked.map((one) => [one.id, one])));
    const held = { epoch, versions };
    this.held.set(layers, held);
    versions.catch(() => {
      if (this.held.get(layers) === held) this.held.delete(layers);
    });
    return versions;
  }

  /** Waits until the CDN has dropped what was before the layers' versions. */
  private dropped({ held }: Pending, layers: readonly number[]): Promise<void> {
    const versions = layers.flatMap((id) => held.get(id) ?? []);
    return this.options.cdn.wait(versions.map(({ id, version }) => ({ kind: "layer", id, version })));
  }

  private mapDropped({ id, revision }: MapState): Promise<void> {
    return this.options.cdn.wait([{ kind: "map", id, version: revision }]);
  }

  /** Waits for something to tell, or for the end. @returns false when there was nothing for a while */
  private silence(pending: Pending, ended: AbortSignal): Promise<boolean> {
    return new Promise((resolve) => {
      const cancel = this.options.clock.after(heartbeatMs, () => done(false));
      const done = (woken: boolean) => {
        cancel();
        pending.wake = () => undefined;
        resolve(woken);
      };
      pending.wake = () => done(true);
      if (ended.aborted) done(true);
    });
  }

  private pause(ms: number, ended: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const end = () => {
        cancel();
        ended.removeEventListener("abort", end);
        resolve();
      };
      const cancel = this.options.clock.after(ms, end);
      ended.addEventListener("abort", end, { once: true });
      if (ended.aborted) end();
    });
  }

  /** Names the state that an event tells of, and its time. */
  private idOf(map: MapState): string {
    const { changes, time } = this.options;
    return `${mapStateOf(changes.epoch, map)}:${time()}`;
  }

  /**
   * What a client has missed that has seen its last event, or a state of the map, and ids of the layers that changed just now.
   * More than is known may have been missed of another state: the map, too.
   */
  private async missed(
    { lastEventId, recentSeconds, seenState }: MapListening,
    map: MapState,
    layers: ReadonlySet<number>,
  ): Promise<Missed> {
    if (!lastEventId) {
      const isMapChanged =
        seenState !== undefined && seenState !== mapStateOf(this.options.changes.epoch, map);
      if (recentSeconds === undefined) return { changed: new Map(), recent: [], isMapChanged };
      const seconds = recentSeconds + commitSeconds;
      return {
        ...(await this.changedSince("now() - make_interval(secs => $2)", seconds, layers)),
        isMapChanged,
      };
    }
    const at = lastEventId.lastIndexOf(":");
    const since = Number(lastEventId.slice(at + 1));
    const now = this.idOf(map);
    const isSameState = lastEventId.slice(0, at) === now.slice(0, now.lastIndexOf(":"));
    if (!isSameState || !(since > this.options.time() - longestAbsenceMs))
      return { changed: everythingOf(layers), recent: [], isMapChanged: !isSameState };
    return this.changedSince("to_timestamp($2::float8 / 1000)", since - clockToleranceMs, layers);
  }

  /**
   * One look serves all clients that ask for the same and have come since the last look began. It serves no client that comes
   * after it has begun: nobody would tell that client what changed in between.
   * @param start SQL of a time that is made of $2
   */
  private changedSince(start: string, $2: number, layers: ReadonlySet<number>): Promise<Missed> {
    const key = `${start} ${$2}`;
    const all = this.looks.get(layers) ?? new Map<string, Looks>();
    this.looks.set(layers, all);
    const begin = () => this.begin(all, key, () => this.lookedUp(start, $2, layers));
    const known = all.get(key);
    if (!known) return begin();
    known.next ??= known.now.then(begin, begin);
    return known.next;
  }

  private begin(all: Map<string, Looks>, key: string, look: () => Promise<Missed>): Promise<Missed> {
    const looks: Looks = { now: look(), next: undefined };
    all.set(key, looks);
    const end = () => {
      if (looks.next === undefined) all.delete(key);
    };
    looks.now.then(end, end);
    return looks.now;
  }

  private async lookedUp(start: string, $2: number, layers: ReadonlySet<number>): Promise<Missed> {
    // More areas than one event tells become one for each layer: a thousand changes have 1 MB of areas.
    const rows = await this.options.db.query<MissedRow>(
      `with change as materialized (
         select row_number() over () as nr, layer_id, area, changed_at > now() - interval '3 s' as recent from layer_change
         where layer_id = any($1) and changed_at > ${start} limit $3 + 1
       ), total as (
         select count(*) > $3 as "isEverything", coalesce(sum(cardinality(area)), 0) <= $4 as few from change
       ), box as (
         select layer_id, array_agg(v order by nr, place) filter (where few) as boxes,
           array[min(v) filter (where place % 4 = 1), min(v) filter (where place % 4 = 2),
             max(v) filter (where place % 4 = 3), max(v) filter (where place % 4 = 0)] as hull
         from change, total, unnest(area) with ordinality one (v, place) where not "isEverything" group by layer_id
       )
       select layer_id::int as id, "isEverything", bool_or(recent) as recent,
         case when bool_and(area is not null) then coalesce(boxes, hull, '{}') end as area
       from change cross join total left join box using (layer_id) group by layer_id, "isEverything", boxes, hull`,
      [[...layers], $2, mostMissed, 4 * mostAreas],
    );
    const changed = rows[0]?.isEverything
      ? everythingOf(layers)
      : new Map(rows.map(({ id, area }) => [id, area]));
    return { changed, recent: rows.filter((row) => row.recent).map(({ id }) => id), isMapChanged: false };
  }
}

/** Names the state of a map: the history of the database that it is in, and its revisions. */
export const mapStateOf = (epoch: string, { revision, project }: MapState): string =>
  `${epoch}:${project.revision}:${revision}`;

const everythingOf = (layers: ReadonlySet<number>): Changed => new Map([...layers].map((id) => [id, null]));

const readableLayers = (map: MapState, caller: Caller): ReadonlySet<number> =>
  new Set([...map.layers.values()].filter((layer) => mayRead(map, caller, layer)).map(({ id }) => id));

/** Layers that the public sees, as most who look at a map do. */
const publicLayers = onceForEach((map: MapState) => readableLayers(map, publicCaller));

/** The sets of layers that signed-in users see. */
const setsOf = onceForEach((_map: MapState) => new Map<string, ReadonlySet<number>>());

/** The same set for all who may read the same of a map. */
function layersFor(map: MapState, caller: Caller): ReadonlySet<number> {
  if (caller.accountId === null) return publicLayers(map);
  const layers = readableLayers(map, caller);
  const sets = setsOf(map);
  const key = [...layers].join();
  const known = sets.get(key) ?? layers;
  sets.set(key, known);
  return known;
}

function addArea(changed: Changed, id: number, area: Area): void {
  const known = changed.get(id);
  if (known === null || area === null) changed.set(id, null);
  else if (known === undefined) changed.set(id, [...area]);
  else {
    known.push(...area);
    if (known.length > 4 * mostAreas) changed.set(id, unionOf(known));
  }
}

/** The box around boxes one after the other. */
function unionOf(boxes: readonly number[]): number[] {
  const union = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY, -Infinity, -Infinity];
  for (let at = 0; at < boxes.length; at += 4) {
    for (const side of [0, 1]) union[side] = Math.min(union[side]!, boxes[at + side]!);
    for (const side of [2, 3]) union[side] = Math.max(union[side]!, boxes[at + side]!);
  }
  return union;
}

function changeEvent(changed: Changed): string {
  if (changed.size === 0) return "";
  const boxes = [...changed.values()].filter((one) => one?.length !== 0);
  const few = boxes.reduce((sum, one) => sum + (one?.length ?? 0), 0) <= 4 * mostAreas;
  const areas =
    boxes.includes(null) || boxes.length > mostAreas
      ? null
      : boxes.flatMap((one) => degrees(few ? one! : unionOf(one!)));
  const data = { layers: [...changed.keys()], areas, minzoom: 0, maxzoom: maxZoom };
  return `event: change\ndata: ${JSON.stringify(data)}\n`;
}

/** Boxes [west, south, east, north] in degrees. */
function degrees(boxes: readonly number[]): number[][] {
  const found: number[][] = [];
  for (let at = 0; at < boxes.length; at += 4) {
    const [west, south, east, north] = boxes.slice(at, at + 4) as [number, number, number, number];
    found.push([...toDegrees(west, south), ...toDegrees(east, north)].map((one) => Number(one.toFixed(7))));
  }
  return found;
}

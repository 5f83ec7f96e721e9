import { LRUCache } from "lru-cache";
import { type ChangeCount, type Source, unchangedSince } from "../changes/count.js";
import { WeakById } from "../changes/weak-by-id.js";

/** A cache of immutable snapshots of projects or maps by key, bounded in bytes. */

export interface Identified {
  readonly id: number;
  readonly revision: number;
}

export interface SnapshotOptions<State> {
  readonly count: ChangeCount;
  readonly bytes: number;
  readonly bytesOf: (state: State) => number;
  /** Whether the state is never evicted, since the whole installation uses it. */
  readonly isPinned: (state: State) => boolean;
  /** Whether this node receives all changes; if not, every cached state is checked against the database. */
  readonly trusted: () => boolean;
  /** Whether the state still equals the database's. */
  readonly isUnchanged: (state: State) => Promise<boolean>;
}

export interface Snapshot<State> {
  readonly state: State;
  readonly source: Source;
  /** The change count at which the state was current. */
  readonly asOf: number;
}

interface Loading<State> {
  /** Sequence number: greater than those of all `get` calls before the query was sent. */
  readonly number: number;
  readonly result: Promise<Snapshot<State> | undefined>;
  /** Ids whose change was announced since; undefined = any. */
  readonly changed: Set<number | undefined>;
}

export class Snapshots<State extends Identified> {
  private readonly kept: LRUCache<string, Snapshot<State>>;
  private readonly pinned = new Map<string, Snapshot<State>>();
  private readonly loading = new Map<string, Loading<State>>();
  private readonly sources = new WeakById<Source>();
  private lastNumber = 0;

  constructor(private readonly options: SnapshotOptions<State>) {
    this.kept = new LRUCache({
      maxSize: options.bytes,
      sizeCalculation: ({ state }) => options.bytesOf(state),
    });
  }

  /** The current state under the key, which `load` reads; undefined if it does not exist. */
  async get(key: string, load: () => Promise<State | undefined>): Promise<Snapshot<State> | undefined> {
    const { trusted, isUnchanged } = this.options;
    const number = ++this.lastNumber;
    for (;;) {
      const known = this.peek(key);
      if (known) {
        if (trusted()) return known;
        if ((await isUnchanged(known.state)) && this.isCurrent(known)) return known;
        if (this.peek(key) === known) this.drop(key);
      }
      const loading = this.loading.get(key) ?? this.load(key, load);
      // A query that was sent before this call may have missed changes that the caller must see.
      if (loading.number < number) await loading.result.catch(() => undefined);
      else {
        const snapshot = await loading.result;
        if (!snapshot || this.isCurrent(snapshot)) return snapshot;
      }
    }
  }

  /** The cached state under the key, if no change of it was announced. */
  private peek(key: string): Snapshot<State> | undefined {
    const known = this.pinned.get(key) ?? this.kept.get(key);
    if (known && this.isCurrent(known)) return known;
    if (known) this.drop(key);
    return undefined;
  }

  /** The project or map with the id changed; undefined = any. */
  changed(id: number | undefined): void {
    for (const { changed } of this.loading.values()) changed.add(id);
    if (id === undefined) this.options.count.changedAll();
    else {
      const source = this.sources.get(id);
      if (source) this.options.count.changed(source);
    }
  }

  isCurrent({ source, asOf }: Snapshot<State>): boolean {
    return unchangedSince([source, this.options.count.everything], asOf);
  }

  /** Removes the key from the cache. */
  drop(key: string): void {
    this.kept.delete(key);
    this.pinned.delete(key);
  }

  private load(key: string, load: () => Promise<State | undefined>): Loading<State> {
    const changed: Loading<State>["changed"] = new Set();
    const result = this.loadOnce(key, load, changed).finally(() => {
      this.loading.delete(key);
    });
    const loading = { number: ++this.lastNumber, result, changed };
    this.loading.set(key, loading);
    return loading;
  }

  private async loadOnce(
    key: string,
    load: () => Promise<State | undefined>,
    changed: Loading<State>["changed"],
  ): Promise<Snapshot<State> | undefined> {
    const { count } = this.options;
    const state = await load();
    if (!state) return undefined;
    let source = this.sources.get(state.id);
    if (!source) {
      source = { changedAt: 0 };
      this.sources.set(state.id, source);
    }
    // The map changed while it was read, and it is unknown which state was read.
    if (changed.has(state.id) || changed.has(undefined)) return { state, source, asOf: -1 };
    const snapshot = { state, source, asOf: count.now };
    if (this.options.isPinned(state)) this.pinned.set(key, snapshot);
    else this.kept.set(key, snapshot);
    return snapshot;
  }
}

import { LRUCache } from "lru-cache";
import { type ChangeCount, type Source, unchangedSince } from "../changes/count.js";
import { WeakById } from "../changes/weak-by-id.js";

/** What is kept of one kind of thing in the catalogue: immutable snapshots by key, bounded in bytes. */

export interface Identified {
  readonly id: number;
  readonly revision: number;
}

export interface SnapshotOptions<State> {
  readonly count: ChangeCount;
  readonly bytes: number;
  readonly bytesOf: (state: State) => number;
  /** Whether the state serves the whole installation: it is not crowded out by others. */
  readonly isPinned: (state: State) => boolean;
  /** Whether changes are heard of now; while they are not, every answer is checked. */
  readonly trusted: () => boolean;
  /** Whether the database still has the state as it is. */
  readonly isUnchanged: (state: State) => Promise<boolean>;
}

export interface Snapshot<State> {
  readonly state: State;
  readonly source: Source;
  /** The count at which the state was right. */
  readonly asOf: number;
}

interface Loading<State> {
  /** Later than that of everyone who asked before it began. */
  readonly number: number;
  readonly result: Promise<Snapshot<State> | undefined>;
  /** Ids that were announced as changed since; undefined = any. */
  readonly changed: Set<number | undefined>;
}

export class Snapshots<State extends Identified> {
  private readonly kept: LRUCache<string, Snapshot<State>>;
  private readonly pinned = new Map<string, Snapshot<State>>();
  private readonly loading = new Map<string, Loading<State>>();
  private readonly sources = new WeakById<Source>();
  private numbers = 0;

  constructor(private readonly options: SnapshotOptions<State>) {
    this.kept = new LRUCache({
      maxSize: options.bytes,
      sizeCalculation: ({ state }) => options.bytesOf(state),
    });
  }

  /** The state under the key as it is now; `load` reads it. Undefined when there is none. */
  async get(key: string, load: () => Promise<State | undefined>): Promise<Snapshot<State> | undefined> {
    const { trusted, isUnchanged } = this.options;
    const asked = ++this.numbers;
    for (;;) {
      const known = this.peek(key);
      if (known) {
        if (trusted()) return known;
        if ((await isUnchanged(known.state)) && this.isCurrent(known)) return known;
        if (this.peek(key) === known) this.drop(key);
      }
      const loading = this.loading.get(key) ?? this.load(key, load);
      // What was begun before this was asked is looked at again: it may be older than what has to be seen here.
      if (loading.number < asked) await loading.result.catch(() => undefined);
      else {
        const snapshot = await loading.result;
        if (!snapshot || this.isCurrent(snapshot)) return snapshot;
      }
    }
  }

  /** The state as it is kept under the key, when it is right as far as is known. */
  private peek(key: string): Snapshot<State> | undefined {
    const known = this.pinned.get(key) ?? this.kept.get(key);
    if (known && this.isCurrent(known)) return known;
    if (known) this.drop(key);
    return undefined;
  }

  /** The thing (undefined: any of them) changed. */
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

  /** Forgets what is kept under the key. */
  drop(key: string): void {
    this.kept.delete(key);
    this.pinned.delete(key);
  }

  private load(key: string, load: () => Promise<State | undefined>): Loading<State> {
    const changed: Loading<State>["changed"] = new Set();
    const result = this.loadOnce(key, load, changed).finally(() => {
      this.loading.delete(key);
    });
    const loading = { number: ++this.numbers, result, changed };
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
    // One that changed while it was read may have been read before or after that.
    if (changed.has(state.id) || changed.has(undefined)) return { state, source, asOf: -1 };
    const snapshot = { state, source, asOf: count.now };
    if (this.options.isPinned(state)) this.pinned.set(key, snapshot);
    else this.kept.set(key, snapshot);
    return snapshot;
  }
}

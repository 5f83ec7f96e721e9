import type { Clock } from "../clock.js";
import { ChangeBudget } from "./budget.js";
import type { ChangeCount } from "./count.js";
import type { KnownLayer, ReadLayer } from "./history.js";
import { type Area, type LayerChange, LayerVersion } from "./layer-version.js";
import { WeakById } from "./weak-by-id.js";

/** The versions of the layers that this node serves: read from the database, then kept up to date by notifications. */

export interface TrackedLayersOptions {
  readonly clock: Clock;
  readonly count: ChangeCount;
  /** Reads the layers from the database, in the given order. Calls `clear` first if the database's history is another one. */
  readonly read: (known: readonly KnownLayer[]) => Promise<readonly ReadLayer[]>;
  /** Called with each change of a layer since it is tracked, in their order. */
  readonly changed?: ((layer: LayerVersion, area: Area) => void) | undefined;
}

/** A query for changes that has not been sent yet. */
interface NextReading {
  readonly layers: Set<LayerVersion>;
  readonly done: Promise<void>;
}

/** A layer that is being read for the first time. */
interface Loading {
  /** Changes announced since the query was sent. */
  readonly queued: LayerChange[];
  readonly reading: Promise<ReadonlyMap<number, LayerVersion>>;
}

export class TrackedLayers {
  private layers = new WeakById<LayerVersion>();
  private loading = new Map<number, Loading>();
  private readonly budget = new ChangeBudget();
  /** The query for changes that runs, or the last one; it may have failed. */
  private reading: Promise<void> = Promise.resolve();
  private nextReading: NextReading | undefined;

  constructor(private readonly options: TrackedLayersOptions) {}

  /** Whether this version is tracked. It is not after `clear`. */
  has(layer: KnownLayer): boolean {
    return this.layers.get(layer.id) === layer;
  }

  /** The versions of these layers, kept up to date while the caller holds them. Layers that do not exist have version 0. */
  async track(ids: readonly number[]): Promise<LayerVersion[]> {
    const found = new Map<number, LayerVersion>();
    const unknown: number[] = [];
    const readings = new Set<Loading["reading"]>();
    for (const id of ids) {
      const known = this.layers.get(id);
      const loading = this.loading.get(id);
      if (known) found.set(id, known);
      else if (loading) readings.add(loading.reading);
      else unknown.push(id);
    }
    if (unknown.length > 0) readings.add(this.load(unknown));
    for (const read of await Promise.all(readings)) {
      for (const [id, layer] of read) found.set(id, layer);
    }
    return ids.map((id) => found.get(id)!);
  }

  /** Reads the layers' versions and recent changes, then applies what was announced meanwhile. */
  private load(ids: readonly number[]): Promise<ReadonlyMap<number, LayerVersion>> {
    const reading = this.readNew(ids).finally(() => {
      for (const id of ids) this.loading.delete(id);
    });
    for (const id of ids) this.loading.set(id, { queued: [], reading });
    return reading;
  }

  private async readNew(ids: readonly number[]): Promise<ReadonlyMap<number, LayerVersion>> {
    const layers = await this.options.read(ids.map((id) => ({ id, version: 0 })));
    const created = new Map<number, LayerVersion>();
    for (const layer of layers) {
      const version = new LayerVersion(layer.id, layer.changes[0]?.previous ?? layer.version);
      this.update(version, layer);
      for (const change of this.loading.get(layer.id)?.queued ?? []) this.apply(version, change);
      this.layers.set(layer.id, version);
      created.set(layer.id, version);
    }
    return created;
  }

  /**
   * Reads from the database what changed in these layers. One query runs at a time. All callers that come meanwhile
   * share the next one, which is sent after the changes that they ask about.
   * @throws Error when the database cannot be queried
   */
  refresh(layers: readonly LayerVersion[]): Promise<void> {
    const next = this.nextReading ?? this.planReading();
    for (const layer of layers) next.layers.add(layer);
    return next.done;
  }

  private planReading(): NextReading {
    const layers = new Set<LayerVersion>();
    const turn = () => this.options.clock.turn();
    const read = (): Promise<void> => {
      this.nextReading = undefined;
      this.reading = this.readChanges([...layers]);
      return this.reading;
    };
    // A failure of the query before is reported to the callers that wait for that one.
    const next: NextReading = { layers, done: this.reading.then(turn, turn).then(read) };
    this.nextReading = next;
    return next;
  }

  private async readChanges(layers: readonly LayerVersion[]): Promise<void> {
    const before = this.layers;
    const found = await this.options.read(layers);
    // After `clear` these layers belong to another history than the answer does.
    if (this.layers !== before) return;
    const byId = new Map(found.map((layer) => [layer.id, layer]));
    for (const layer of layers) this.update(layer, byId.get(layer.id)!);
  }

  /** Reads all tracked layers again, for a connection that may have missed notifications before now. */
  async refreshAll(): Promise<void> {
    // Layers that are being loaded may have been read before the connection was opened.
    await Promise.allSettled([...this.loading.values()].map(({ reading }) => reading));
    const layers = [...this.layers.values()];
    if (layers.length > 0) await this.readChanges(layers);
  }

  /** A change was announced. */
  changed(id: number, change: LayerChange): void {
    const layer = this.layers.get(id);
    if (layer) this.apply(layer, change);
    this.loading.get(id)?.queued.push(change);
  }

  /** Stops tracking all layers: the database's history is another one. */
  clear(): void {
    // Plans and tiles that hold the old versions are no longer current.
    this.layers = new WeakById();
    for (const { queued } of this.loading.values()) queued.length = 0;
  }

  private update(layer: LayerVersion, { version, changes }: ReadLayer): void {
    for (const change of changes) this.apply(layer, change);
    // Changes that the log no longer has are visible in the version only.
    this.apply(layer, { version, previous: Number.NaN, area: null });
  }

  private apply(layer: LayerVersion, change: LayerChange): void {
    const kept = layer.apply(change);
    if (!kept) return;
    this.options.count.changed(layer);
    this.budget.note(layer, kept);
    // Not while it is read for the first time, which finds older ones.
    if (this.has(layer)) this.options.changed?.(layer, kept.area);
  }
}

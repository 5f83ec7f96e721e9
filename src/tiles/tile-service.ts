import type { ChangeLog } from "../changes/change-log.js";
import { isCurrent, type LayerVersion } from "../changes/layer-version.js";
import { type Clock, delay } from "../clock.js";
import { growBox } from "../geo/envelope.js";
import { type MercatorBox, metatileOf, type TileCoord, tileBox, tileMetres } from "../geo/tile.js";
import type { PackResponse } from "../hosts/messages.js";
import { InFlight } from "../queues/in-flight.js";
import type { BadLayers } from "./bad-layers.js";
import type { TileEncoding, TileFormat, TileQuality } from "./formats.js";
import type { TileMemory } from "./memory.js";
import { LayersMissing, type MissingLayer } from "./missing-layer.js";
import type { Plan, TilePlan } from "./plan.js";
import type { TileStore } from "./store.js";
import type { Tile } from "./tile.js";

/**
 * Finds tiles that are not in the address cache: in memory, in Redis, else they are made once for all who wait. How they are
 * made is told to it: images by `metatile.ts`, vectors by `vector/tile.ts`.
 */

/** Where a tile came from. */
export type TileSource = "memory" | "redis" | "render";

export interface TileServiceOptions<P, F> {
  readonly changes: Pick<ChangeLog, "trusted" | "epoch" | "refresh" | "locate">;
  readonly clock: Clock;
  readonly memory: TileMemory;
  readonly store: TileStore;
  /** How long another node may make tiles before this one makes them too; 0 = no node waits for others. */
  readonly lockMs: number;
  /** Tiles a side of the square that is made at once. */
  readonly side: (plan: P, zoom: number) => number;
  /** Layers that could not be drawn lately. */
  readonly bad: Pick<BadLayers, "tried" | "refused" | "drawn">;
  /** Makes that square: row by row from the top left. @throws LayersMissing */
  readonly make: (work: TileWork<P, F>) => Promise<readonly MadeTile[]>;
  readonly onServed: (source: TileSource) => void;
  /** A tile that is served lacks layers. */
  readonly onMissing: (layers: readonly MissingLayer[], plan: P) => void;
}

export type MadeTile = Omit<Tile, "versions">;

/** A square of tiles that is made at once: a metatile. */
export interface TileWork<P, F> {
  readonly plan: P;
  /** The top left tile. */
  readonly origin: TileCoord;
  /** Tiles a side. */
  readonly count: number;
  readonly format: F;
  readonly quality: TileQuality;
  readonly versions: readonly number[];
  readonly signal: AbortSignal;
  /** Who asked for it first; "" = the server itself. */
  readonly client: string;
  readonly metaKey: string;
}

/** A request for one tile. */
export interface TileRequest<P = Plan, F = TileFormat> {
  readonly plan: P;
  readonly coord: TileCoord;
  readonly format: F;
  readonly quality: TileQuality;
  /** For whom it is made, so that clients take turns; absent = for the server itself. */
  readonly client?: string;
  /** Called only when the tile is in no cache: a signal costs more than the look-up. */
  readonly signal: () => AbortSignal;
}

/** Interval of looking for a metatile that another node draws. */
const pollMs = 15;

/** The epoch of the database has changed since the plan was made: the tile has to be planned again. */
export class OutdatedPlan extends Error {}

export class TileService<P extends TilePlan = Plan, F extends TileEncoding = TileFormat> {
  private readonly inFlight = new InFlight<readonly Tile[]>();
  /** The versions that the layers of a plan had last. */
  private readonly latest = new WeakMap<readonly LayerVersion[], readonly number[]>();
  /** Metatiles made by this node since its start. */
  rendered = 0;

  constructor(private readonly options: TileServiceOptions<P, F>) {}

  /**
   * The current tile: it shows every edit whose answer was sent before this call. Layers that cannot be drawn are left out;
   * without them it is a tile of another plan, which is kept as that.
   * @param isOutdated asked when layers turn out not to be drawn: whether the plan may be outdated
   * @throws Failure busy, internal (it could not be drawn)
   * @throws OutdatedPlan
   */
  async tile(
    request: TileRequest<P, F>,
    isOutdated: () => Promise<boolean> = async () => false,
  ): Promise<Tile> {
    let { plan } = request;
    const admitted = new Set<string>();
    for (;;) {
      try {
        const tile = await this.whole(plan === request.plan ? request : { ...request, plan }, admitted);
        if (plan.missing.length === 0 && !tile.missing) return tile;
        const missing = [...plan.missing, ...(tile.missing ?? [])];
        this.options.onMissing(missing, plan);
        return { ...tile, missing };
      } catch (error) {
        if (!(error instanceof LayersMissing)) throw error;
        if (!error.isKnown && (await isOutdated())) throw new OutdatedPlan();
        plan = await plan.without(error.layers);
      }
    }
  }

  /**
   * The tile of all layers of the plan.
   * @param admitted of `BadLayers`: what is tried for the request
   * @throws as `tile`, and LayersMissing
   */
  private async whole(request: TileRequest<P, F>, admitted: Set<string>): Promise<Tile> {
    const { plan, coord, format, quality, client = "" } = request;
    await this.bringUpToDate(plan);
    const metatile = metatileOf(coord, this.options.side(plan, coord.z));
    const box = this.dependentBox(plan, coord);
    const key = tileKey(plan, coord, format, quality);
    const cached = this.options.memory.get(key);
    if (cached && this.isValid(cached, plan, box)) return this.served("memory", cached);

    // The side is no part of the plan's key: it changes with the number of objects.
    let metaKey = `${tileKey(plan, metatile.origin, format, quality)}/${metatile.count}`;
    const isMaking = () => this.inFlight.has(metaKey, (versions) => isCurrent(versions, plan.layers, box));
    if (!isMaking()) {
      const stored = await this.options.store.get(key);
      if (stored && this.isValid(stored, plan, box)) {
        return this.served("redis", this.options.memory.set(key, stored));
      }
    }
    let drawn: Square = metatile;
    if (!isMaking() && this.hasChangedAlone(request, metatile)) {
      drawn = { origin: coord, count: 1 };
      metaKey = `${key}/alone`;
    }
    const { origin, count } = drawn;
    await this.refuseBad(plan, drawn, admitted);
    // Read before the render: whatever is committed later has a higher version.
    const versions = this.versionsOf(plan);
    const index = (coord.y - origin.y) * count + (coord.x - origin.x);
    const tiles = await this.inFlight.join(metaKey, {
      signal: request.signal(),
      versions,
      usable: (earlier) => isCurrent(earlier, plan.layers, box),
      start: (signal) =>
        this.produce({ plan, origin, count, format, quality, versions, signal, client, metaKey }),
    });
    return this.served("render", tiles[index]!);
  }

  /** Brings the versions of the plan's layers up to date. @throws OutdatedPlan */
  private async bringUpToDate(plan: P): Promise<void> {
    const { changes } = this.options;
    // Without notifications the versions have to be read from the database.
    if (!changes.trusted) await changes.refresh(plan.layers);
    if (plan.epoch !== changes.epoch) throw new OutdatedPlan();
  }

  /** @throws LayersMissing when layers could not be drawn lately */
  private async refuseBad(plan: P, { origin, count }: Square, admitted: Set<string>): Promise<void> {
    if (this.options.bad.tried(plan, origin.z).length === 0) return;
    await this.options.changes.locate(plan.layers);
    const elsewhere = layersElsewhere(plan, origin, count);
    const refused = this.options.bad.refused(plan, origin.z, { elsewhere, admitted });
    if (refused.length > 0) throw new LayersMissing(refused, true);
  }

  /**
   * A tile of a plan that nobody else has: it is made alone, without a look at what there is, and kept nowhere. Layers that
   * cannot be drawn are left out.
   * @throws as `tile`
   */
  async tried({ coord, format, quality, client = "", ...request }: TileRequest<P, F>): Promise<MadeTile> {
    const { make } = this.options;
    const square = { origin: coord, count: 1 };
    const work = { ...square, format, quality, client, signal: request.signal(), metaKey: "" };
    const admitted = new Set<string>();
    for (let { plan } = request; ; ) {
      await this.bringUpToDate(plan);
      try {
        await this.refuseBad(plan, square, admitted);
        const [tile] = await make({ ...work, plan, versions: this.versionsOf(plan) });
        const missing = [...plan.missing, ...(tile!.missing ?? [])];
        return missing.length === 0 ? tile! : { ...tile!, missing };
      } catch (error) {
        if (!(error instanceof LayersMissing)) throw error;
        plan = await plan.without(error.layers);
      }
    }
  }

  /** Metatiles that are being made for waiting requests. */
  get making(): number {
    return this.inFlight.size;
  }

  /**
   * Whether nearly all other tiles of the metatile are here and current, so that drawing this one alone is less work: it
   * takes an eighth to a half of the time of sixteen.
   */
  private hasChangedAlone({ plan, format, quality }: TileRequest<P, F>, metatile: Square): boolean {
    if (!plan.isDrawnAlike || metatile.count === 1) return false;
    const most = Math.floor(metatile.count ** 2 / 8);
    let changed = 0;
    for (const coord of tilesOf(metatile)) {
      const tile = this.options.memory.peek(tileKey(plan, coord, format, quality));
      if ((!tile || !this.isCurrent(plan, coord, tile)) && ++changed > most) return false;
    }
    return true;
  }

  /**
   * Replaces the tile in memory and Redis by fewer bytes of the same pixels, if it is current and stays so meanwhile.
   * @param pack packs the bytes; called unless another node has packed the tile
   * @returns bytes saved by this call; undefined = the tile is not packed
   * @throws what `pack` throws
   */
  async pack(
    { plan, coord, format, quality }: Pick<TileRequest<P, F>, "plan" | "coord" | "format" | "quality">,
    pack: (bytes: Uint8Array) => Promise<PackResponse>,
  ): Promise<number | undefined> {
    const { changes, memory, store } = this.options;
    const key = tileKey(plan, coord, format, quality);
    const known = memory.peek(key);
    if (known?.isPacked) return 0;
    const stored = await store.get(key);
    const tile = known ?? stored;
    const mayReplace = () =>
      changes.trusted && plan.epoch === changes.epoch && !!tile && this.isCurrent(plan, coord, tile);
    if (!tile || !mayBePacked(tile) || !mayReplace()) return undefined;
    const isStored = stored?.isPacked && stored.hash === tile.hash;
    const { isDone, bytes = tile.bytes } = isStored
      ? { isDone: true, bytes: stored.bytes }
      : await pack(tile.bytes);
    // Another tile in memory is newer. Nothing is awaited from here on, so that what is found current is current when stored.
    if (!isDone || memory.peek(key) !== known || !mayReplace()) return undefined;
    // A copy, as that of the message is a view of a larger buffer.
    const packed: Tile = { ...tile, bytes: new Uint8Array(bytes), isPacked: true };
    memory.set(key, packed);
    if (!isStored && bytes !== tile.bytes) store.put([[key, packed]]);
    return tile.bytes.length - bytes.length;
  }

  private served(source: TileSource, tile: Tile): Tile {
    this.options.onServed(source);
    return tile;
  }

  /** Whether a tile that this service returned is still current. */
  isCurrent(plan: P, coord: TileCoord, tile: Tile): boolean {
    return this.isValid(tile, plan, this.dependentBox(plan, coord));
  }

  private isValid(tile: Tile, plan: P, box: MercatorBox): boolean {
    if (tile.expiresAt !== undefined && tile.expiresAt <= this.options.clock.now()) return false;
    if (!isCurrent(tile.versions, plan.layers, box)) return false;
    this.options.memory.raise(tile, this.versionsOf(plan));
    return true;
  }

  /** The versions of the plan's layers as they are now, in one array for all tiles that have them: of many layers it is large. */
  private versionsOf({ layers }: P): readonly number[] {
    const known = this.latest.get(layers);
    if (known && layers.every((layer, index) => layer.version === known[index])) return known;
    const versions = layers.map((layer) => layer.version);
    this.latest.set(layers, versions);
    return versions;
  }

  private async produce(work: TileWork<P, F>): Promise<readonly Tile[]> {
    if (this.options.lockMs === 0) return this.draw(work);
    const release = await this.lock(work);
    if (Array.isArray(release)) return release;
    try {
      return await this.draw(work);
    } finally {
      (release as () => void)();
    }
  }

  /** Takes the lock for drawing the metatile. @returns its release, or the metatile if another node drew it meanwhile */
  private async lock(work: TileWork<P, F>): Promise<(() => void) | readonly Tile[]> {
    const { clock } = this.options;
    const until = clock.now() + this.options.lockMs;
    for (let waited = false; ; waited = true) {
      const release = await this.options.store.lock(work.metaKey, this.options.lockMs);
      const tiles = waited ? await this.stored(work) : undefined;
      if (tiles) {
        release?.();
        return tiles;
      }
      if (release) return release;
      if (clock.now() > until) return () => undefined;
      work.signal.throwIfAborted();
      await delay(clock, pollMs);
    }
  }

  private async stored(work: TileWork<P, F>): Promise<readonly Tile[] | undefined> {
    const box = bufferedBox(work.plan, work.origin, work.count);
    // All are stored together, so without the first the others need not be read.
    const coords = tilesOf(work);
    const first = await this.options.store.get(tileKey(work.plan, coords[0]!, work.format, work.quality));
    if (!first || !this.isValid(first, work.plan, box)) return undefined;
    const tiles = await Promise.all(
      coords.map((coord) => this.options.store.get(tileKey(work.plan, coord, work.format, work.quality))),
    );
    if (!tiles.every((tile) => tile && this.isValid(tile, work.plan, box))) return undefined;
    return tiles.map((tile, index) =>
      this.options.memory.set(tileKey(work.plan, coords[index]!, work.format, work.quality), tile!),
    );
  }

  private async draw(work: TileWork<P, F>): Promise<readonly Tile[]> {
    const { plan, origin, count, versions } = work;
    const made = await this.options.make(work);
    this.options.bad.drawn(plan, origin.z, layersElsewhere(plan, origin, count));
    this.rendered++;
    const coords = tilesOf(work);
    const isKnown = await this.refreshed(plan);
    const kept: (readonly [key: string, tile: Tile])[] = [];
    const tiles = made.map((one, index): Tile => {
      const coord = coords[index]!;
      const key = tileKey(plan, coord, work.format, work.quality);
      const tile: Tile = { ...one, ...this.packedAlike(key, one), versions };
      // What was changed while it was drawn may be in it. Should the database lose that change, as when its files are
      // restored, nobody could tell any more.
      if (tile.missing || !isKnown || !this.isCurrent(plan, coord, tile)) return tile;
      const known = this.options.memory.set(key, tile);
      kept.push([key, known]);
      return known;
    });
    if (kept.length > 0) this.options.store.put(kept);
    return tiles;
  }

  /** What the tile before has packed, if an edit has left its pixels. */
  private packedAlike(key: string, { hash }: MadeTile): Partial<Tile> {
    const earlier = this.options.memory.peek(key);
    return earlier?.isPacked && earlier.hash === hash ? { bytes: earlier.bytes, isPacked: true } : {};
  }

  /**
   * Reads the versions of the plan's layers: notifications of changes that a render has seen may arrive after it.
   * @returns whether that was possible
   */
  private refreshed(plan: P): Promise<boolean> {
    return this.options.changes.refresh(plan.layers).then(
      () => true,
      () => false,
    );
  }

  /** The area in which a changed object can affect the tile. */
  private dependentBox(plan: P, coord: TileCoord): MercatorBox {
    const reach = plan.reachPixels;
    if (!plan.collides) return grownBox(coord, 1, reach);
    const { origin, count } = metatileOf(coord, this.options.side(plan, coord.z));
    return grownBox(origin, count, reach);
  }
}

/** Tiles of one colour are small and shared, and what expires is drawn again soon. */
export const mayBePacked = ({ solid, expiresAt }: Tile): boolean =>
  solid === undefined && expiresAt === undefined;

/** Includes the epoch, so that tiles of another history of the database are never found. */
const tileKey = (plan: TilePlan, coord: TileCoord, format: TileEncoding, quality: TileQuality): string =>
  `${plan.epoch}/${plan.key}/${format.name}/${quality}/${coord.z}/${coord.x}/${coord.y}`;

/** A square of tiles: its top left one, and how many a side. */
type Square = Pick<TileWork<unknown, unknown>, "origin" | "count">;

/** Row by row from the top left. */
function tilesOf({ origin, count }: Square): TileCoord[] {
  return Array.from({ length: count * count }, (_, index) => ({
    z: origin.z,
    x: origin.x + (index % count),
    y: origin.y + Math.floor(index / count),
  }));
}

/** The square of tiles, extended by the buffer for symbols and labels of objects outside. */
export const bufferedBox = (plan: TilePlan, coord: TileCoord, count: number): MercatorBox =>
  grownBox(coord, count, plan.bufferPixels);

const grownBox = (coord: TileCoord, count: number, pixels: number): MercatorBox =>
  growBox(tileBox(coord, count), (pixels * tileMetres(coord.z)) / 256);

/** Pixels by which generalized objects may reach out of the place of the objects themselves. */
const generalizedPixels = 4;

/**
 * Ids of layers without objects in or near the metatile. To be called after the versions of the layers were read: what comes
 * later makes the metatile outdated.
 */
export function layersElsewhere(plan: TilePlan, origin: TileCoord, count: number): ReadonlySet<number> {
  const pixel = tileMetres(origin.z) / 256;
  const box = growBox(bufferedBox(plan, origin, count), generalizedPixels * pixel);
  return new Set(plan.layers.flatMap((layer) => (layer.mayBeIn(box) ? [] : [layer.id])));
}

import type { ChangeLog } from "../changes/change-log.js";
import { isCurrent } from "../changes/layer-version.js";
import { type Clock, delay } from "../clock.js";
import { failed } from "../errors.js";
import { growBox } from "../geo/envelope.js";
import { type MercatorBox, metatileOf, type TileCoord, tileBox, tileMetres } from "../geo/tile.js";
import { HostError } from "../hosts/host.js";
import type { MetatilePart, MetatileRequest, MetatileResponse } from "../hosts/messages.js";
import { BlobNotFound, type BlobStore } from "../storage/blob-store.js";
import { InFlight } from "../storage/in-flight.js";
import type { TileFormat, TileQuality } from "./formats.js";
import type { MadeImage } from "./image-part.js";
import type { TileMemory } from "./memory.js";
import type { PictureFolder } from "./picture-folder.js";
import type { Plan } from "./plan.js";
import type { TileStore } from "./store.js";
import type { Tile } from "./tile.js";

/** Finds tiles that are not in the address cache: in memory, in Redis, else by one render for all who wait. */

/** Where a tile came from. */
export type TileSource = "memory" | "redis" | "render";

export interface TileServiceOptions {
  readonly changes: Pick<ChangeLog, "trusted" | "epoch" | "refresh" | "locate">;
  readonly clock: Clock;
  readonly memory: TileMemory;
  /** Where images of raster layers are. */
  readonly blobs: Pick<BlobStore, "withLocalCopy">;
  readonly store: TileStore;
  /** Where pictures of styles are drawn from. */
  readonly pictures: Pick<PictureFolder, "use">;
  /** Draws a metatile. Owners take turns. */
  readonly render: (
    request: MetatileRequest,
    options: { readonly signal: AbortSignal; readonly owner: string },
  ) => Promise<MetatileResponse>;
  /** How long another node may draw a metatile before this one draws it too. */
  readonly lockMs: number;
  readonly onServed: (source: TileSource) => void;
  readonly onRendered: (ms: number) => void;
}

/** A request for one tile. */
export interface TileRequest {
  readonly plan: Plan;
  readonly coord: TileCoord;
  readonly format: TileFormat;
  readonly quality: TileQuality;
  /** Called only when the tile is in no cache: a signal costs more than the look-up. */
  readonly signal: () => AbortSignal;
}

/** Tiles a side of a metatile, by scale. At scale 3 fewer, to save memory. */
const metatileSize = { 1: 4, 2: 4, 3: 2 } as const;
/** Interval of looking for a metatile that another node draws. */
const pollMs = 15;

/** The epoch of the database has changed since the plan was made: the tile has to be planned again. */
export class OutdatedPlan extends Error {}

export class TileService {
  private readonly inFlight = new InFlight<readonly Tile[]>();
  /** Metatiles drawn by this node since its start. */
  rendered = 0;

  constructor(private readonly options: TileServiceOptions) {}

  /**
   * The current tile: it shows every edit whose answer was sent before this call.
   * @throws Failure busy, internal (it could not be drawn)
   * @throws OutdatedPlan
   */
  async tile(request: TileRequest): Promise<Tile> {
    const { plan, coord, format, quality } = request;
    const { changes } = this.options;
    // Without notifications the versions have to be read from the database.
    if (!changes.trusted) await changes.refresh(plan.layers);
    if (plan.epoch !== changes.epoch) throw new OutdatedPlan();
    const metatile = metatileOf(coord, metatileSize[plan.scale]);
    const box = dependentBox(plan, coord);
    const key = tileKey(plan, coord, format, quality);
    const cached = this.options.memory.get(key);
    if (cached && this.isValid(cached, plan, box)) return this.served("memory", cached);

    let metaKey = tileKey(plan, metatile.origin, format, quality);
    const isMaking = () =>
      this.inFlight.has(metaKey, (versions) => isCurrent([...versions], plan.layers, box));
    if (!isMaking()) {
      const stored = await this.options.store.get(key);
      if (stored && this.isValid(stored, plan, box)) {
        return this.served("redis", this.options.memory.set(key, stored));
      }
    }
    // Read before the render: whatever is committed later has a higher version.
    const versions = plan.layers.map((layer) => layer.version);
    let drawn = metatile;
    if (!isMaking() && this.hasChangedAlone(request, metatile)) {
      drawn = { origin: coord, count: 1 };
      metaKey = `${key}/alone`;
    }
    const { origin, count } = drawn;
    const index = (coord.y - origin.y) * count + (coord.x - origin.x);
    const tiles = await this.inFlight.join(metaKey, {
      signal: request.signal(),
      versions,
      usable: (earlier) => isCurrent([...earlier], plan.layers, box),
      start: (signal) => this.produce({ plan, origin, count, format, quality, versions, signal, metaKey }),
    });
    return this.served("render", tiles[index]!);
  }

  /** Metatiles that are being made for waiting requests. */
  get making(): number {
    return this.inFlight.size;
  }

  /**
   * Whether nearly all other tiles of the metatile are here and current, so that drawing this one alone is less work: it
   * takes an eighth to a half of the time of sixteen.
   */
  private hasChangedAlone({ plan, format, quality }: TileRequest, metatile: Square): boolean {
    if (!plan.isDrawnAlike) return false;
    const most = Math.floor(metatile.count ** 2 / 8);
    let changed = 0;
    for (const coord of tilesOf(metatile)) {
      const tile = this.options.memory.peek(tileKey(plan, coord, format, quality));
      if ((!tile || !this.isCurrent(plan, coord, tile)) && ++changed > most) return false;
    }
    return true;
  }

  private served(source: TileSource, tile: Tile): Tile {
    this.options.onServed(source);
    return tile;
  }

  /** Whether a tile that this service returned is still current. */
  isCurrent(plan: Plan, coord: TileCoord, tile: Tile): boolean {
    return this.isValid(tile, plan, dependentBox(plan, coord));
  }

  private isValid(tile: Tile, plan: Plan, box: MercatorBox): boolean {
    if (tile.expiresAt !== undefined && tile.expiresAt <= this.options.clock.now()) return false;
    return isCurrent(tile.versions, plan.layers, box);
  }

  private async produce(work: Work): Promise<readonly Tile[]> {
    const release = await this.lock(work);
    if (Array.isArray(release)) return release;
    try {
      return await this.draw(work);
    } finally {
      (release as () => void)();
    }
  }

  /** Takes the lock for drawing the metatile. @returns its release, or the metatile if another node drew it meanwhile */
  private async lock(work: Work): Promise<(() => void) | readonly Tile[]> {
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

  private async stored(work: Work): Promise<readonly Tile[] | undefined> {
    const box = bufferedBox(work.plan, work.origin, work.count);
    // All are stored together, so without the first the others need not be read.
    const coords = tilesOf(work);
    const first = await this.options.store.get(tileKey(work.plan, coords[0]!, work.format, work.quality));
    if (!first || !this.isValid(copied(first), work.plan, box)) return undefined;
    const tiles = await Promise.all(
      coords.map((coord) => this.options.store.get(tileKey(work.plan, coord, work.format, work.quality))),
    );
    if (!tiles.every((tile) => tile && this.isValid(tile, work.plan, box))) return undefined;
    return tiles.map((tile, index) =>
      this.options.memory.set(tileKey(work.plan, coords[index]!, work.format, work.quality), tile!),
    );
  }

  private async draw(work: Work): Promise<readonly Tile[]> {
    const { plan, versions } = work;
    await this.options.changes.locate(plan.layers);
    let drawn: MetatileResponse;
    let lifetime: Lifetime = {};
    try {
      const maps = plan.parts.filter((part) => part.kind === "map");
      const keys = new Set(maps.flatMap(({ blobs }) => blobs));
      drawn = await withFiles(this.options.blobs, [...keys], async (files) => {
        const made = await partsOf(work, files);
        lifetime = made.lifetime;
        return this.options.pictures.use(
          maps.flatMap(({ pictures }) => pictures),
          () =>
            this.options.render(
              {
                parts: made.parts,
                origin: work.origin,
                count: work.count,
                scale: plan.scale,
                encoding: work.format.mapnikEncodings[work.quality],
                bufferPixels: plan.bufferPixels,
              },
              { signal: work.signal, owner: plan.owner },
            ),
        );
      });
    } catch (error) {
      // It is replaced by another image, after which the tile is planned again, or it is lost.
      if (error instanceof BlobNotFound) throw failed("internal", "The image of a layer is not there.");
      if (!(error instanceof HostError)) throw error;
      throw failed(
        "internal",
        error.reason === "deadline" ? "The tile takes too long to draw." : "The tile could not be drawn.",
      );
    }
    this.rendered++;
    this.options.onRendered(drawn.renderMs);
    const coords = tilesOf(work);
    const stored = drawn.tiles.map((tile, index) => {
      const key = tileKey(plan, coords[index]!, work.format, work.quality);
      // A copy: what arrives is a view of the buffer of the whole message, which one tile would keep in memory.
      const copy: Tile = {
        bytes: new Uint8Array(tile.bytes),
        hash: tile.hash,
        solid: tile.solid,
        versions: [...versions],
        ...lifetime,
      };
      return [key, this.options.memory.set(key, copy)] as const;
    });
    this.options.store.put(stored);
    return stored.map(([, tile]) => tile);
  }
}

type Lifetime = Pick<Tile, "expiresAt" | "isPartial">;

/** The parts of the plan with the images of the metatile's area, made all at once, and how long these may be shown. */
async function partsOf(
  { plan, versions, origin, count, signal }: Work,
  files: Files,
): Promise<{ readonly parts: MetatilePart[]; readonly lifetime: Lifetime }> {
  const area = { origin, count, scale: plan.scale };
  const elsewhere = layersElsewhere(plan, origin, count);
  const made: MadeImage[] = [];
  const parts = await Promise.all(
    plan.parts.map(async (part, index): Promise<MetatilePart | undefined> => {
      if (part.kind === "image") {
        const image = await part.image.make(area, signal);
        made.push(image);
        return image.image && { kind: "image", image: image.image };
      }
      const { map, blobs, placed } = part;
      const without = [...placed].flatMap(([id, name]) => (elsewhere.has(id) ? [name] : []));
      return {
        kind: "map",
        map,
        ...(without.length > 0 && { without }),
        ...(part.isBase && index === 0 && { keep: baseVersions(plan, versions) }),
        ...(blobs.length > 0 && { files: Object.fromEntries(blobs.map((key) => [key, files.get(key)!])) }),
      };
    }),
  );
  const expiresAt = Math.min(...made.map((image) => image.expiresAt ?? Number.POSITIVE_INFINITY));
  return {
    parts: parts.filter((part) => part !== undefined),
    lifetime: {
      ...(Number.isFinite(expiresAt) && { expiresAt }),
      ...(made.some(({ isPartial }) => isPartial) && { isPartial: true }),
    },
  };
}

/** Paths of blobs by their keys. */
type Files = ReadonlyMap<string, string>;

/** Calls `use` with local copies of the blobs. @throws BlobNotFound; what `use` throws */
async function withFiles<T>(
  blobs: Pick<BlobStore, "withLocalCopy">,
  [key, ...others]: readonly string[],
  use: (files: Files) => Promise<T>,
): Promise<T> {
  if (key === undefined) return use(new Map());
  return blobs.withLocalCopy(key, (path) =>
    withFiles(blobs, others, (files) => use(new Map([...files, [key, path]]))),
  );
}

interface Work {
  readonly plan: Plan;
  readonly origin: TileCoord;
  readonly count: number;
  readonly format: TileFormat;
  readonly quality: TileQuality;
  readonly versions: readonly number[];
  readonly signal: AbortSignal;
  readonly metaKey: string;
}

const copied = (tile: Tile): Tile => ({ ...tile, versions: [...tile.versions] });

/** Includes the epoch, so that tiles of another history of the database are never found. */
const tileKey = (plan: Plan, coord: TileCoord, format: TileFormat, quality: TileQuality): string =>
  `${plan.epoch}/${plan.key}/${format.name}/${quality}/${coord.z}/${coord.x}/${coord.y}`;

const baseVersions = (plan: Plan, versions: readonly number[]): string =>
  `${plan.epoch} ${versions.slice(plan.firstBaseLayer).join(",")}`;

/** A square of tiles: its top left one, and how many a side. */
type Square = Pick<Work, "origin" | "count">;

/** Row by row from the top left. */
function tilesOf({ origin, count }: Square): TileCoord[] {
  return Array.from({ length: count * count }, (_, index) => ({
    z: origin.z,
    x: origin.x + (index % count),
    y: origin.y + Math.floor(index / count),
  }));
}

/** Pixels by which generalized objects may reach out of the place of the objects themselves. */
const generalizedPixels = 4;

/**
 * Ids of layers without objects in or near the metatile. To be called after the versions of the layers were read: what comes
 * later makes the metatile outdated.
 */
function layersElsewhere(plan: Plan, origin: TileCoord, count: number): ReadonlySet<number> {
  const pixel = tileMetres(origin.z) / 256;
  const box = growBox(bufferedBox(plan, origin, count), generalizedPixels * pixel);
  return new Set(plan.layers.flatMap((layer) => (layer.mayBeIn(box) ? [] : [layer.id])));
}

/** The area in which a changed object can affect the tile. */
function dependentBox(plan: Plan, coord: TileCoord): MercatorBox {
  if (!plan.collides) return bufferedBox(plan, coord, 1);
  const { origin, count } = metatileOf(coord, metatileSize[plan.scale]);
  return bufferedBox(plan, origin, count);
}

/** The square of tiles, extended by the buffer for symbols and labels of objects outside. */
function bufferedBox(plan: Plan, coord: TileCoord, count: number): MercatorBox {
  const pixel = tileMetres(coord.z) / 256;
  return growBox(tileBox(coord, count), plan.bufferPixels * pixel);
}

import { setTimeout as pause } from "node:timers/promises";
import type { ChangeLog } from "../changes/change-log.js";
import { busy, causedBy, failed } from "../errors.js";
import { growBox } from "../geo/envelope.js";
import { type TileCoord, tileMetres } from "../geo/tile.js";
import { reachesBeyond } from "../geo/world-copies.js";
import { HostError } from "../hosts/host.js";
import type { MetatilePart, MetatileRequest, MetatileResponse } from "../hosts/messages.js";
import { BlobNotFound, type BlobStore } from "../storage/blob-store.js";
import type { TileFormat } from "./formats.js";
import type { MadeImage } from "./image-part.js";
import type { PictureFolder } from "./picture-folder.js";
import type { Plan } from "./plan.js";
import { bufferedBox, type MadeTile, type TileWork } from "./service.js";
import type { Tile } from "./tile.js";

/** Draws the images of metatiles: what their parts need is fetched, then the render host draws them. */

export interface MetatileOptions {
  readonly changes: Pick<ChangeLog, "locate">;
  /** Where images of raster layers are. */
  readonly blobs: Pick<BlobStore, "withLocalCopy">;
  /** Where pictures of styles are drawn from. */
  readonly pictures: Pick<PictureFolder, "use">;
  /** Draws a metatile. Clients take turns, and the owners of what each of them asks for. */
  readonly render: (request: MetatileRequest, options: RenderOptions) => Promise<MetatileResponse>;
  readonly onRendered: (ms: number) => void;
}

export interface RenderOptions {
  readonly signal: AbortSignal;
  readonly client: string;
  readonly owner: string;
  /**
   * The plan at a zoom: if it takes too long, it is refused for a while. Whoever asks for a zoom that nobody else looks at
   * does not have the others refused.
   */
  readonly about: string;
}

/** Tiles a side of a metatile, by scale. At scale 3 fewer, to save memory. */
const metatileSize = { 1: 4, 2: 4, 3: 2 } as const;

type MetatileWork = TileWork<Plan, TileFormat>;

/**
 * Objects in a metatile of 4 x 4 tiles above which 2 x 2 are drawn at once, and above which each tile is drawn alone. Then
 * nobody waits for the objects of tiles that he has not asked for.
 */
const crowd = { small: 20_000, large: 80_000 } as const;

/** Tiles a side of the metatiles of a plan at a zoom. */
export function metatileSide({ scale, isDrawnAlike, crowds }: Plan, zoom: number): number {
  const side = metatileSize[scale];
  if (!isDrawnAlike || crowds.length === 0) return side;
  const last = crowds.length - 1;
  const objects = zoom <= last ? crowds[zoom]! : crowds[last]! / 4 ** (zoom - last);
  return objects > crowd.large ? 1 : objects > crowd.small ? Math.min(2, side) : side;
}

/** @throws Failure busy, internal (it could not be drawn) */
export async function drawMetatile(
  { changes, blobs, pictures, render, onRendered }: MetatileOptions,
  work: MetatileWork,
): Promise<readonly MadeTile[]> {
  const { plan } = work;
  await changes.locate(plan.layers);
  let drawn: MetatileResponse;
  let lifetime: Lifetime = {};
  try {
    const maps = plan.parts.filter((part) => part.kind === "map");
    const keys = new Set(maps.flatMap(({ blobs }) => blobs));
    drawn = await withFiles(blobs, [...keys], async (files) => {
      const made = await partsOf(work, files);
      lifetime = made.lifetime;
      return pictures.use(
        maps.flatMap(({ pictures }) => pictures),
        () =>
          connected(() =>
            render(
              {
                parts: made.parts,
                origin: work.origin,
                count: work.count,
                scale: plan.scale,
                encoding: work.format.mapnikEncodings[work.quality],
                bufferPixels: plan.bufferPixels,
                owner: plan.owner,
              },
              {
                signal: work.signal,
                client: work.client,
                owner: plan.owner,
                about: `${plan.key} ${work.origin.z}`,
              },
            ),
          ),
      );
    });
  } catch (error) {
    // It is replaced by another image, after which the tile is planned again, or it is lost.
    if (error instanceof BlobNotFound) throw failed("internal", "The image of a layer is not there.");
    if (!(error instanceof HostError)) throw error;
    if (isDisconnected(error)) throw busy("The database cannot be reached just now.", 1);
    const text =
      error.reason === "deadline" ? "The tile takes too long to draw." : "The tile could not be drawn.";
    throw causedBy(failed("internal", text), error);
  }
  onRendered(drawn.renderMs);
  return drawn.tiles.map((tile) => ({
    // A copy: what arrives is a view of the buffer of the whole message, which one tile would keep in memory.
    bytes: new Uint8Array(tile.bytes),
    hash: tile.hash,
    solid: tile.solid,
    ...lifetime,
  }));
}

/** What PostgreSQL's client says of connections that end or cannot be made, as Mapnik passes it on. */
const disconnected =
  /server closed the connection|terminating connection|connection to server|no connection to the server|could not receive data|the database system is|Bad connection/i;

const isDisconnected = (error: unknown): boolean =>
  error instanceof HostError && error.reason === "failed" && disconnected.test(error.message);

/** Until a database that is restarted takes connections again, or another connection is opened. */
const reconnectMs = 300;

/** Draws again, once, what failed for its connection to the database. */
async function connected<T>(draw: () => Promise<T>): Promise<T> {
  try {
    return await draw();
  } catch (error) {
    if (!isDisconnected(error)) throw error;
  }
  await pause(reconnectMs);
  return draw();
}

type Lifetime = Pick<Tile, "expiresAt" | "isPartial">;

/** The parts of the plan with the images of the metatile's area, made all at once, and how long these may be shown. */
async function partsOf(
  { plan, versions, origin, count, signal }: MetatileWork,
  files: Files,
): Promise<{ readonly parts: MetatilePart[]; readonly lifetime: Lifetime }> {
  const area = { origin, count, scale: plan.scale };
  const elsewhere = layersElsewhere(plan, origin, count);
  const atSeam = reachesBeyond(bufferedBox(plan, origin, count));
  const made: MadeImage[] = [];
  const parts = await Promise.all(
    plan.parts.map(async (part, index): Promise<MetatilePart | undefined> => {
      if (part.kind === "image") {
        const image = await part.image.make(area, signal);
        made.push(image);
        return image.image && { kind: "image", image: image.image };
      }
      const { blobs, placed } = part;
      const without = [...placed].flatMap(([id, name]) => (elsewhere.has(id) ? [name] : []));
      return {
        kind: "map",
        map: atSeam ? part.mapAtSeam() : part.map,
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

const baseVersions = (plan: Plan, versions: readonly number[]): string =>
  `${plan.epoch} ${versions.slice(plan.firstBaseLayer).join(",")}`;

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

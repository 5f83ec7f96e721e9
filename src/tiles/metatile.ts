import { setTimeout as pause } from "node:timers/promises";
import type { ChangeLog } from "../changes/change-log.js";
import type { Clock } from "../clock.js";
import { busy, causedBy, Failure, failed } from "../errors.js";
import type { TileCoord } from "../geo/tile.js";
import { reachesBeyond } from "../geo/world-copies.js";
import { HostError } from "../hosts/host.js";
import type { MetatilePart, MetatileRequest, MetatileResponse } from "../hosts/messages.js";
import type { BlobStore } from "../storage/blob-store.js";
import type { BadLayers } from "./bad-layers.js";
import type { TileFormat } from "./formats.js";
import type { MadeImage } from "./image-part.js";
import { baseMapLayer, LayersMissing, type MissingLayer } from "./missing-layer.js";
import type { PictureFolder } from "./picture-folder.js";
import type { Plan } from "./plan.js";
import type { Tile } from "./tile.js";
import { bufferedBox, layersElsewhere, type MadeTile, type TileWork } from "./tile-service.js";

/** Draws the images of metatiles: what their parts need is fetched, then the render host draws them. */

export interface MetatileOptions extends DrawOptions {
  readonly changes: Pick<ChangeLog, "locate">;
  readonly clock: Pick<Clock, "now">;
  readonly bad: Pick<BadLayers, "note">;
  /** Finds the layers that are to blame when a metatile cannot be drawn; none = it is worth another try. */
  readonly blame: (failed: FailedMetatile) => Promise<readonly MissingLayer[]>;
  readonly onRendered: (drawn: MetatileResponse) => void;
}

/** A metatile that the render host could not draw. */
export interface FailedMetatile {
  readonly work: MetatileWork;
  readonly error: HostError;
  /** When it was begun, by the clock. */
  readonly begun: number;
  /** Whether it has failed before, and no layer alone was to blame. */
  readonly isAgain: boolean;
}

export interface DrawOptions {
  /** Where images of raster layers are. */
  readonly blobs: Pick<BlobStore, "withLocalCopy">;
  /** Where pictures of styles are drawn from. */
  readonly pictures: Pick<PictureFolder, "use">;
  /** Draws a metatile. Clients take turns, and the owners of what each of them asks for. */
  readonly render: (request: MetatileRequest, options: RenderOptions) => Promise<MetatileResponse>;
}

export interface RenderOptions {
  readonly signal: AbortSignal;
  readonly client: string;
  readonly owner: string;
  /**
   * The plan at a zoom: if it takes too long, it is refused for a while. A client that asks for a zoom that nobody else looks at
   * does not have the others refused.
   */
  readonly about?: string;
  /** Absent = that of tiles. */
  readonly deadlineMs?: number;
}

/** Tiles a side of a metatile, by scale. At scale 3 fewer, to save memory. */
const metatileSize = { 1: 4, 2: 4, 3: 2 } as const;

export type MetatileWork = TileWork<Plan, TileFormat>;

/**
 * Objects in a metatile of 4 x 4 tiles above which 2 x 2 are drawn at once, and above which each tile is drawn alone. Then
 * nobody waits for the objects of tiles that he has not asked for.
 */
const dense = { small: 20_000, large: 80_000 } as const;

/** Tiles a side of the metatiles of a plan at a zoom. */
export function metatileSide({ scale, isDrawnAlike, density }: Plan, zoom: number): number {
  const side = metatileSize[scale];
  if (!isDrawnAlike || density.length === 0) return side;
  const last = density.length - 1;
  const objects = zoom <= last ? density[zoom]! : density[last]! / 4 ** (zoom - last);
  return objects > dense.large ? 1 : objects > dense.small ? Math.min(2, side) : side;
}

/**
 * @throws LayersMissing
 * @throws Failure busy, internal (it could not be drawn, and no layer is to blame)
 */
export async function drawMetatile(
  options: MetatileOptions,
  work: MetatileWork,
): Promise<readonly MadeTile[]> {
  const { plan } = work;
  await options.changes.locate(plan.layers);
  for (let isAgain = false; ; isAgain = true) {
    const begun = options.clock.now();
    try {
      const { drawn, lifetime } = await draw(options, work);
      options.onRendered(drawn);
      return drawn.tiles.map((tile) => ({
        // A copy: what arrives is a view of the buffer of the whole message, which one tile would keep in memory.
        bytes: new Uint8Array(tile.bytes),
        hash: tile.hash,
        solid: tile.solid,
        ...lifetime,
      }));
    } catch (error) {
      if (error instanceof LayersMissing) {
        const files = error.layers.filter(({ cause }) => cause === "file");
        // Sources that are away are remembered where their images come from.
        options.bad.note(plan, work.origin.z, files);
        throw error;
      }
      if (!(error instanceof HostError) || error.reason === "stopped") throw error;
      if (isDisconnected(error)) throw busy("The database cannot be reached just now.", 1);
      const layers = await options.blame({ work, error, begun, isAgain });
      if (layers.length > 0) throw new LayersMissing(layers, false);
      work.signal.throwIfAborted();
      if (error.isRefused)
        throw causedBy(busy("What the tile shows takes too long to draw just now."), error);
      if (isAgain) throw causedBy(failed("internal", "The tile could not be drawn."), error);
    }
  }
}

/** Draws the metatile of a plan with one layer. @returns how long that took, in ms @throws as `draw` */
export const drawAlone = async (
  options: DrawOptions,
  work: MetatileWork,
  deadlineMs: number,
): Promise<number> => (await draw(options, work, deadlineMs)).drawn.renderMs;

/** @throws LayersMissing when files are not there, or nothing comes from a source; HostError; Failure busy */
async function draw(
  { blobs, pictures, render }: DrawOptions,
  work: MetatileWork,
  deadlineMs?: number,
): Promise<{ readonly drawn: MetatileResponse; readonly lifetime: Lifetime }> {
  const { plan } = work;
  const maps = plan.parts.filter((part) => part.kind === "map");
  const shown = maps.flatMap((part) => part.pictures);
  const keys = new Set(maps.flatMap((part) => part.blobs).map(({ key }) => key));
  return withFiles(blobs, [...keys], async (files, goneFiles) => {
    const { parts, lifetime, away } = await partsOf(work, files);
    return pictures.use(
      shown.map(({ file }) => file),
      async (gonePictures) => {
        const blobs = maps.flatMap((part) => part.blobs.filter(({ key }) => goneFiles.has(key)));
        const missing = missingOf(plan, [
          ...blobs.map(
            ({ layerId, key }) => ({ layerId, cause: "file", reason: goneFiles.get(key) }) as const,
          ),
          ...shown
            .filter(({ file }) => gonePictures.has(file.name))
            .map(
              ({ layerId, file }) =>
                ({ layerId, cause: "file", reason: gonePictures.get(file.name) }) as const,
            ),
          ...away,
        ]);
        if (missing.length > 0) throw new LayersMissing(missing, false);
        const request = {
          parts,
          origin: work.origin,
          count: work.count,
          scale: plan.scale,
          encoding: work.format.mapnikEncodings[work.quality],
          bufferPixels: plan.bufferPixels,
          owner: plan.owner,
        };
        const common = { signal: work.signal, client: work.client, owner: plan.owner };
        const own = deadlineMs === undefined ? { about: `${plan.key} ${work.origin.z}` } : { deadlineMs };
        return { drawn: await connected(() => render(request, { ...common, ...own })), lifetime };
      },
    );
  });
}

type Missing = Pick<MissingLayer, "cause" | "reason"> & { readonly layerId: number };

/** The layers, each once, with what answers name them by. */
const missingOf = (plan: Plan, layers: readonly Missing[]): MissingLayer[] => [
  ...new Map(layers.map(({ layerId: id, ...why }) => [id, { id, code: codeOf(plan, id), ...why }])).values(),
];

/** What answers name a layer of the plan by. */
export const codeOf = ({ layers, codes }: Plan, layerId: number): string =>
  codes[layers.findIndex(({ id }) => id === layerId)] ?? baseMapLayer.code;

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

type Lifetime = Pick<Tile, "expiresAt" | "missing">;

/** Ids of layers that change nothing in the metatile, and are not drawn there. As `layersElsewhere`. */
export function layersLeftOut(plan: Plan, origin: TileCoord, count: number): ReadonlySet<number> {
  const elsewhere = layersElsewhere(plan, origin, count);
  const placed = plan.parts.flatMap((part) => (part.kind === "map" ? [...part.placed.keys()] : []));
  return new Set(placed.filter((id) => elsewhere.has(id)));
}

/** The parts of the plan with the images of the metatile's area, made all at once, and how long these may be shown. */
async function partsOf({ plan, versions, origin, count, signal, client }: MetatileWork, files: Files) {
  const area = { origin, count, scale: plan.scale };
  const undrawn = layersLeftOut(plan, origin, count);
  const atAntimeridian = reachesBeyond(bufferedBox(plan, origin, count));
  const made: (MadeImage & Missing)[] = [];
  const parts = await Promise.all(
    plan.parts.map(async (part, index): Promise<MetatilePart | undefined> => {
      if (part.kind === "image") {
        const image = await part.image.make(area, { client, signal }).catch(nothingCame);
        made.push({ ...image, layerId: part.layerId, cause: "source" });
        return image.image && { kind: "image", image: image.image };
      }
      const { blobs, placed } = part;
      const without = [...placed].flatMap(([id, name]) => (undrawn.has(id) ? [name] : []));
      return {
        kind: "map",
        map: atAntimeridian ? await part.mapAtAntimeridian() : part.map,
        ...(without.length > 0 && { without }),
        ...(part.isApart && { isApart: true }),
        ...(part.isBase && index === 0 && { keep: baseVersions(plan, versions) }),
        ...(blobs.length > 0 && {
          files: Object.fromEntries(blobs.map(({ key }) => [key, files.get(key) ?? ""])),
        }),
      };
    }),
  );
  const expiresAt = Math.min(...made.map((image) => image.expiresAt ?? Number.POSITIVE_INFINITY));
  const partial = made.filter(({ isPartial }) => isPartial);
  const lifetime: Lifetime = {
    ...(Number.isFinite(expiresAt) && { expiresAt }),
    ...(partial.length > 0 && { missing: missingOf(plan, partial.map(nameOnly)) }),
  };
  return {
    parts: parts.filter((part) => part !== undefined),
    lifetime,
    /** Images of which nothing came. */
    away: partial.filter(({ image }) => !image).map(nameOnly),
  };
}

const nameOnly = ({ layerId, cause, reason }: Missing): Missing => ({ layerId, cause, reason });

/** In place of an image that cannot be made just then. @throws what is not about the source */
function nothingCame(error: unknown): MadeImage & { readonly reason?: unknown } {
  if (!(error instanceof Failure)) throw error;
  return { image: undefined, isPartial: true, reason: error };
}

/** Paths of blobs by their keys. */
type Files = ReadonlyMap<string, string>;

/** Calls `use` with local copies of the blobs, and those that cannot be had by their keys, and why. @throws what `use` throws */
async function withFiles<T>(
  blobs: Pick<BlobStore, "withLocalCopy">,
  [key, ...others]: readonly string[],
  use: (files: Files, gone: ReadonlyMap<string, unknown>) => Promise<T>,
): Promise<T> {
  if (key === undefined) return use(new Map(), new Map());
  let isThere = false;
  try {
    return await blobs.withLocalCopy(key, (path) => {
      isThere = true;
      return withFiles(blobs, others, (files, gone) => use(new Map([...files, [key, path]]), gone));
    });
  } catch (error) {
    if (isThere) throw error;
    return withFiles(blobs, others, (files, gone) => use(files, new Map([...gone, [key, error]])));
  }
}

const baseVersions = (plan: Plan, versions: readonly number[]): string =>
  `${plan.epoch} ${versions.slice(plan.firstBaseLayer).join(",")}`;

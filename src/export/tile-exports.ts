import { setMaxListeners } from "node:events";
import { createReadStream } from "node:fs";
import { statfs } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { baseMapOf, type Caller, localName, type MapState } from "../catalog/state.js";
import { busy, Failure, failed } from "../errors.js";
import { squareZooms, tileSquares } from "../geo/tile-area.js";
import type { TileFileFormat, TilesetFacts } from "../hosts/export-messages.js";
import { clientOwners } from "../queues/clients.js";
import { FairSemaphore, type PermitRequest } from "../queues/fair-semaphore.js";
import { removeQuietly } from "../remove-quietly.js";
import type { Database } from "../storage/postgres.js";
import type { TileAddress } from "../tiles/address.js";
import { defaultTileFormat } from "../tiles/formats.js";
import { type MissingCause, namesOf } from "../tiles/missing-layer.js";
import type { Tile } from "../tiles/tile.js";
import type { Chunks, FileExports } from "./export-content.js";
import { exportedBytes, makeExportFolder } from "./export-folders.js";
import { fileTitle, finished } from "./export-layer.js";
import type { RenderQueue } from "./render-queue.js";
import { seenExtent } from "./tile-extent.js";
import { placeOf, selectTiles, type TileChoice, type TileSelection } from "./tile-selection.js";
import { noRoom, TileSpool } from "./tile-spool.js";

/** Exports the tiles of a map to one file. */

export const tileFileTypes: Readonly<Record<TileFileFormat, string>> = {
  pmtiles: "application/vnd.pmtiles",
  mbtiles: "application/vnd.mbtiles",
};

export interface TileExportRequest {
  readonly format: TileFileFormat;
  /** As it was when the caller was found to have the right to read it. */
  readonly map: MapState;
  readonly caller: Caller;
  readonly choice: TileChoice;
  /** What of the map is drawn, and how. */
  readonly drawn: Pick<TileAddress, "base" | "layers" | "language" | "quality">;
  readonly attribution: string;
  /** The tile as the caller may see it now. @throws Failure */
  readonly tile: (address: TileAddress, signal: AbortSignal) => Promise<Tile>;
  /** The client whose export it is; nobody has two at once. */
  readonly owner: string;
  readonly signal: AbortSignal;
  /** Called with the number of tiles of each metatile that was drawn, and that of all tiles. */
  readonly onProgress?: ((tiles: number, all: number) => void) | undefined;
}

export interface TileFile {
  readonly name: string;
  readonly mediaType: string;
  readonly bytes: number;
  /** How many it has: not those where nothing is drawn, unless all are so. */
  readonly tiles: number;
  /** A caller that does not read to the end must call the iterator's `return` or abort the request's signal. */
  readonly chunks: Chunks;
}

export interface TileExportsOptions {
  readonly db: Database;
  readonly files: FileExports;
  readonly renderQueue: RenderQueue;
}

/** Room on the disk that exports leave to others. */
const reservedBytes = 64 * 1024 ** 2;
const mostAtOnce = 4;
/** For projects that have none, as an export may take half an hour. */
const kept = 2;
const retryAfterSeconds = 30;
/** How often a metatile is asked for again for which there was no room. */
const busyRetries = 5;
const busyRetryMs = 1_000;

export class TileExports {
  /** Whose exports are made, or wait. */
  private readonly owners = new Set<string>();
  private readonly permits: FairSemaphore;

  constructor(private readonly options: TileExportsOptions) {
    const { deadlineMs, queueLength } = options.files.limits;
    this.permits = new FairSemaphore({
      permits: mostAtOnce,
      kept,
      mostWaiting: queueLength,
      timeoutMs: deadlineMs,
      refusal: "Too many exports of tiles are being made. Try again later.",
      retrySeconds: retryAfterSeconds,
    });
  }

  /**
   * Draws all tiles and writes the file. Each tile is as of some moment after the call. Memory does not depend on the number of
   * tiles; the disk holds them until the file is sent. Exports that others keep from their turn wait.
   * @throws Failure bad_request; invalid_value when there are too many tiles, or the file would be too large; busy; as `tile`
   */
  async make(request: TileExportRequest): Promise<TileFile> {
    if (this.owners.has(request.owner))
      throw busy("You have an export of tiles that is not ready yet. Wait for it.", retryAfterSeconds);
    this.owners.add(request.owner);
    try {
      // What is refused is refused before the turn, which may take long to come.
      await this.select(request);
      const owners = [`p${request.map.project.id}`, ...clientOwners(request.owner)];
      const release = await this.permits.acquire({ owners, signal: request.signal });
      try {
        return await this.writeInTime(request);
      } finally {
        release();
      }
    } finally {
      this.owners.delete(request.owner);
    }
  }

  /** @throws Failure invalid_value when there are too many tiles */
  private async select({ choice, caller, map, drawn }: TileExportRequest): Promise<TileSelection> {
    const extent = choice.box ? null : await seenExtent(this.options.db, map, caller, drawn.layers);
    return selectTiles(choice, extent, this.options.files.limits.tiles);
  }

  private async writeInTime(request: TileExportRequest): Promise<TileFile> {
    const tooLate = AbortSignal.timeout(this.options.files.limits.deadlineMs);
    const signal = AbortSignal.any([request.signal, tooLate]);
    // All tiles of a metatile wait at once.
    setMaxListeners(2 * 4 ** squareZooms, signal);
    try {
      return await this.write(request, signal);
    } catch (error) {
      if (tooLate.aborted && !request.signal.aborted)
        throw busy("The export took too long. Choose fewer tiles.", retryAfterSeconds);
      throw error;
    }
  }

  private async write(request: TileExportRequest, signal: AbortSignal): Promise<TileFile> {
    const { files } = this.options;
    const { format, map, drawn } = request;
    const selection = await this.select(request);
    if ((await exportedBytes(files.folder)) + files.limits.fileBytes > files.limits.totalBytes)
      throw tooManyFiles();
    const folder = await makeExportFolder(files.folder);
    const done = () => removeQuietly(folder);
    try {
      const { tiles, ...spooled } = await this.draw(request, selection, folder, signal);
      const written = await files.host.writeTiles(
        { ...spooled, format, folder, facts: factsOf(request, selection), maxBytes: files.limits.fileBytes },
        { project: map.project.id, client: request.owner, signal },
      );
      signal.throwIfAborted();
      const title = fileTitle(titleOf(map, drawn.language)) || map.code;
      return {
        name: `${title}.${format}`,
        mediaType: tileFileTypes[format],
        bytes: written.bytes,
        tiles,
        chunks: finished(chunksOf(written.paths), done, request.signal),
      };
    } catch (error) {
      await done();
      throw error;
    }
  }

  private async draw(
    { map, owner, drawn, tile, onProgress }: TileExportRequest,
    { area, minZoom, maxZoom, tiles }: TileSelection,
    folder: string,
    signal: AbortSignal,
  ) {
    const { files } = this.options;
    const spool = await TileSpool.create(folder, {
      maxBytes: files.limits.fileBytes,
      checkRoom: () => checkRoom(files),
    });
    try {
      for (let z = minZoom; z <= maxZoom; z++) {
        for (const coords of tileSquares(area, z)) {
          const addresses = coords.map(
            (coord): TileAddress => ({ ...drawn, coord, scale: 1, format: defaultTileFormat }),
          );
          const square = await this.turn(
            () =>
              Promise.all(
                addresses.map(async (address) => ({
                  coord: address.coord,
                  tile: whole(await tile(address, signal)),
                })),
              ),
            { owners: [`p${map.project.id}`, ...clientOwners(owner)], signal },
          );
          signal.throwIfAborted();
          await spool.add(square);
          onProgress?.(square.length, tiles);
        }
      }
      return await spool.finish();
    } finally {
      await spool.close();
    }
  }

  /** The tiles of a square are drawn together, so that one turn is enough for them. */
  private async turn<Result>(work: () => Promise<Result>, request: Required<PermitRequest>): Promise<Result> {
    for (let retry = 1; ; retry++) {
      try {
        return await this.options.renderQueue.run(work, request);
      } catch (error) {
        if (!(error instanceof Failure) || error.kind !== "busy" || retry > busyRetries) throw error;
        await sleep(busyRetryMs, undefined, { signal: request.signal });
      }
    }
  }
}

const tooManyFiles = () => busy("Too many exported files are still being sent. Try again later.");

/** Causes that do not pass by themselves, and what mends them. */
const lasting: Partial<Record<MissingCause, readonly [why: string, mend: string]>> = {
  file: ["a file of theirs is gone or damaged", "Import or upload it again"],
  style: ["their styles cannot be used", "Correct them"],
};

/** A file is kept, so that it must not lack what can be drawn. @throws Failure invalid_value, busy */
function whole(tile: Tile): Tile {
  if (!tile.missing) return tile;
  for (const [cause, [why, mend]] of Object.entries(lasting)) {
    const layers = tile.missing.filter((layer) => layer.cause === cause);
    if (layers.length > 0)
      throw failed(
        "invalid_value",
        `These layers cannot be drawn, as ${why}: ${namesOf(layers)}. ${mend}, or export other layers.`,
        { parameter: "layers" },
      );
  }
  throw busy(
    `Layers cannot be drawn just now: ${namesOf(tile.missing)}. Try again later.`,
    retryAfterSeconds,
  );
}

/** @throws Failure busy */
async function checkRoom({ folder, limits }: FileExports): Promise<void> {
  const { bavail, bsize } = await statfs(folder);
  if (bavail * bsize < reservedBytes) throw noRoom();
  if ((await exportedBytes(folder)) > limits.totalBytes) throw tooManyFiles();
}

function titleOf(map: MapState, language: string | undefined): string {
  const main = map.project.languages[0];
  return localName(map, language ?? main, main);
}

function factsOf({ map, drawn, attribution }: TileExportRequest, selection: TileSelection): TilesetFacts {
  const { minZoom, maxZoom } = selection;
  return {
    name: titleOf(map, drawn.language) || map.code,
    description: map.comment,
    attribution,
    type: drawn.base && baseMapOf(map).kind === "builtin" ? "baselayer" : "overlay",
    version: String(map.revision),
    minZoom,
    maxZoom,
    ...placeOf(selection),
  };
}

async function* chunksOf(paths: readonly string[]): AsyncGenerator<Uint8Array, void> {
  for (const path of paths) yield* createReadStream(path, { highWaterMark: 256 * 1024 });
}

import { randomBytes } from "node:crypto";
import { extname, join } from "node:path";
import { operator } from "../access/rights.js";
import { attribution } from "../api/resources/tiles.js";
import { type MapState, publicCaller } from "../catalog/state.js";
import { systemClock } from "../clock.js";
import { createRasterServices } from "../external/services.js";
import type { GeoEnvelope } from "../geo/envelope.js";
import { maxZoom } from "../geo/tile.js";
import { type TileFileFormat, tileFileFormats } from "../hosts/export-messages.js";
import { createImageHost } from "../hosts/image.js";
import { startRenderHost } from "../hosts/render.js";
import { openBlobs } from "../storage/open-blobs.js";
import { loadIcons } from "../style/icons.js";
import { wireTilePath } from "../tile-path.js";
import { PictureFolder } from "../tiles/picture-folder.js";
import { exportLanguages } from "../transfer/export-request.js";
import { createFileExports } from "../transfer/file-exports.js";
import { RenderTurns } from "../transfer/render-turns.js";
import { type TileExportRequest, TileExports } from "../transfer/tile-exports.js";
import {
  type CommandEnvironment,
  CommandError,
  type CommandServices,
  say,
  UsageError,
} from "./environment.js";
import { findMap } from "./find-map.js";
import { interruptible } from "./interrupt.js";
import { placeOf, standardOutput, writeOutput } from "./output.js";
import { Progress } from "./progress.js";

/** Options of `mapwright export` that apply to the tiles of a map. */
export interface TileOptions {
  readonly format?: string;
  readonly langs?: string;
  readonly zip?: boolean;
  readonly zoom?: string;
  readonly layers?: string;
  readonly base: boolean;
  readonly public?: boolean;
}

/** Which tiles are written to which file. */
export interface TileJob {
  readonly project: string;
  readonly map: string;
  readonly file: string;
  readonly format: TileFileFormat;
  readonly choice: TileExportRequest["choice"];
  /** Codes; undefined = those that the map shows by default. */
  readonly layers: readonly string[] | undefined;
  readonly base: boolean;
  readonly language: string | undefined;
  readonly isPublic: boolean;
}

/** The format of tiles that the option or the file's extension names. */
export function tileFormatOf(file: string, given: string | undefined): TileFileFormat | undefined {
  const name = given ?? extname(file).slice(1).toLowerCase();
  return tileFileFormats.find((format) => format === name);
}

/** @throws UsageError */
export function tileJob(
  target: Pick<TileJob, "project" | "map" | "file"> & { readonly box: GeoEnvelope | undefined },
  options: TileOptions,
): TileJob {
  const { project, map, file, box } = target;
  const format = tileFormatOf(file, options.format);
  if (!format)
    throw new UsageError(
      "A layer is exported with <project> <map> <layer> <file>; the tiles of a map with <project> <map> <file>, where the " +
        `file is named .${tileFileFormats.join(" or .")}.`,
    );
  const told = tileFormatOf(file, undefined);
  if (options.zip) throw new UsageError(`A file of the format ${format} is not packed into a zip archive.`);
  if (file !== standardOutput && told !== format)
    throw new UsageError(`The name ${file} has not the extension .${format}.`);
  const codes = options.layers?.split(",").map((code) => code.trim());
  return {
    project,
    map,
    file,
    format,
    choice: { box, ...zoomsOf(options.zoom) },
    layers: codes?.filter(Boolean),
    base: options.base,
    language: languageOf(options.langs),
    isPublic: options.public === true,
  };
}

/** @throws UsageError */
function zoomsOf(range: string | undefined): { readonly minZoom?: number; readonly maxZoom?: number } {
  if (range === undefined) return {};
  const [, first, last] = /^(\d{1,2})(?:-(\d{1,2}))?$/.exec(range) ?? [];
  const minZoom = Number(first);
  const highest = Number(last ?? first);
  if (first === undefined || minZoom > highest || highest > maxZoom)
    throw new UsageError(`--zoom: must be a zoom or a range such as 0-12, up to ${maxZoom}.`);
  return { minZoom, maxZoom: highest };
}

/** @throws UsageError, Failure bad_request */
function languageOf(list: string | undefined): string | undefined {
  const [language, ...others] = exportLanguages(list ?? "") ?? [];
  if (others.length > 0) throw new UsageError("--langs: tiles are drawn in one language.");
  return language;
}

/** @throws CommandError */
function layerIds(map: MapState, codes: readonly string[]): number[] {
  return codes.map((code) => {
    const layer = map.layers.get(code);
    if (!layer) throw new CommandError(`There is no layer "${code}" in the map "${map.code}".`);
    return layer.id;
  });
}

/** Draws the tiles in processes of its own, and with the caches of the running nodes, and writes the file. */
export async function exportMapTiles(
  env: CommandEnvironment,
  { config, log, db, redis: connect }: CommandServices,
  job: TileJob,
): Promise<void> {
  const map = await findMap(db, job.project, job.map);
  const layers = job.layers && layerIds(map, job.layers);
  const redis = await connect();
  const blobs = openBlobs(config);
  const image = createImageHost(config, log);
  const pictures = await PictureFolder.open(join(config.dataDir, "drawn-pictures"), { blobs, image });
  const render = startRenderHost(config, log, pictures.path);
  const files = createFileExports(config, log);
  const nothing = () => undefined;
  const services = createRasterServices(config, { image, log, onImage: nothing });
  // It is not told of changes, and looks at the database for each tile.
  const { answers, catalog } = wireTilePath<never>({
    config,
    db,
    redis,
    render,
    blobs: openBlobs(config),
    services,
    nodeId: randomBytes(6).toString("hex"),
    clock: systemClock,
    log,
    pictures,
    icons: await loadIcons({ own: join(config.dataDir, "icons"), folder: pictures.path, image, log }),
    on: {
      served: nothing,
      rendered: nothing,
      catalogueChanged: nothing,
      imported: nothing,
      historyChanged: () => render.renew(),
    },
  });
  const turns = new RenderTurns({
    load: () => render.counts(),
    concurrency: config.render.concurrency,
    timeoutMs: config.exports.deadlineMs,
    clock: systemClock,
  });
  const caller = job.isPublic ? publicCaller : operator;
  const access = async () => ({ map: await catalog.map(job.project, job.map), caller });
  const progress = new Progress(env, "tiles");
  const make = async (signal: AbortSignal) => {
    const file = await new TileExports({ db, files, turns }).make({
      format: job.format,
      map,
      caller,
      choice: job.choice,
      drawn: { base: job.base, layers, language: job.language, quality: 0 },
      attribution: attribution(map, job.base),
      tile: (address, tileSignal) => answers.tile({ access, address, signal: tileSignal }),
      owner: "command",
      signal,
      onProgress: (tiles, all) => progress.add(tiles, all),
    });
    return file.chunks;
  };
  try {
    await interruptible((signal) => writeOutput(env, job.file, () => make(signal), signal));
  } finally {
    progress.end();
    services.close();
    await Promise.all([render.stop(), files.host.stop(), image.stop()]);
    await pictures.remove();
  }
  say(env, `${job.project}/${job.map}: ${progress.count} tiles written to ${placeOf(job.file)}.`);
}

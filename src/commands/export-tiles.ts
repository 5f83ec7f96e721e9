import { extname } from "node:path";
import type { Command } from "commander";
import { operator } from "../access/rights.js";
import { attribution } from "../api/resources/tiles.js";
import { publicCaller } from "../catalog/state.js";
import { systemClock } from "../clock.js";
import { counted } from "../counted.js";
import { exportLanguages } from "../export/export-request.js";
import { createFileExports } from "../export/file-exports.js";
import { RenderQueue } from "../export/render-queue.js";
import { type TileExportRequest, TileExports } from "../export/tile-exports.js";
import type { GeoEnvelope } from "../geo/envelope.js";
import { type TileFileFormat, tileFileFormats } from "../hosts/export-messages.js";
import { type CommandEnvironment, type CommandServices, UsageError } from "./environment.js";
import { findMap } from "./find-map.js";
import { interruptible } from "./interrupt.js";
import { placeOf, reportFile, standardOutput, writeOutput } from "./output.js";
import { Progress } from "./progress.js";
import { layerIds, listOf, zoomsOf } from "./tile-options.js";
import { withTilePath } from "./with-tile-path.js";

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
  return {
    project,
    map,
    file,
    format,
    choice: { box, ...zoomsOf(options.zoom) },
    layers: options.layers === undefined ? undefined : listOf(options.layers),
    base: options.base,
    language: languageOf(options.langs),
    isPublic: options.public === true,
  };
}

/** @throws UsageError, Failure bad_request */
function languageOf(list: string | undefined): string | undefined {
  const [language, ...others] = exportLanguages(list ?? "") ?? [];
  if (others.length > 0) throw new UsageError("--langs: tiles are drawn in one language.");
  return language;
}

/** Draws the tiles and writes the file. */
export async function exportMapTiles(
  env: CommandEnvironment,
  command: Command,
  services: CommandServices,
  job: TileJob,
): Promise<void> {
  const { config, log, db } = services;
  const map = await findMap(db, job.project, job.map);
  const layers = job.layers && layerIds(map, job.layers);
  const caller = job.isPublic ? publicCaller : operator;
  const files = createFileExports(config, log);
  const progress = new Progress(env, "tiles");
  let written = 0;
  try {
    await withTilePath(services, async ({ answers, catalog, render }) => {
      const renderQueue = new RenderQueue({
        load: () => render.counts(),
        concurrency: config.render.concurrency,
        timeoutMs: config.exports.deadlineMs,
        clock: systemClock,
      });
      const access = async () => ({ map: await catalog.map(job.project, job.map), caller });
      const make = async (signal: AbortSignal) => {
        const file = await new TileExports({ db, files, renderQueue }).make({
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
        written = file.tiles;
        return file.chunks;
      };
      await interruptible((signal) => writeOutput(env, job.file, () => make(signal), signal));
    });
  } finally {
    progress.end();
    await files.host.stop();
  }
  const empty = progress.count - written;
  const leftOut = empty > 0 ? ` ${counted(empty, "more tile")}, where nothing is drawn, left out.` : "";
  reportFile(env, command, job.file, {
    message: `${job.project}/${job.map}: ${counted(written, "tile")} written to ${placeOf(job.file)}.${leftOut}`,
    value: { project: job.project, map: job.map, tiles: written },
  });
}

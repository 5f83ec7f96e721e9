import { basename, extname } from "node:path";
import { type Command, Option } from "commander";
import { hasObjects } from "../catalog/state.js";
import { counted } from "../counted.js";
import { csvEncoding } from "../export/csv-encoding.js";
import { exportFormats, formatOf, formatOfExtension, isSameFormat } from "../export/export-formats.js";
import { exportLayer } from "../export/export-layer.js";
import { exportedImage, hasImage, type RasterLayer, zippedImage } from "../export/export-raster.js";
import {
  type ExportRequest,
  type ExportTarget,
  exportLanguages,
  wholeNumbers,
} from "../export/export-request.js";
import { createFileExports } from "../export/file-exports.js";
import { type CsvDialect, csvDialects } from "../export/write-csv.js";
import { tileFileFormats } from "../hosts/export-messages.js";
import { programName } from "../program-name.js";
import type { BlobStore } from "../storage/blob-store.js";
import { exactBytes } from "../storage/exact-bytes.js";
import { openBlobs } from "../storage/open-blobs.js";
import type { Database } from "../storage/postgres.js";
import {
  type CommandEnvironment,
  CommandError,
  type CommandServices,
  isJson,
  say,
  UsageError,
  withServices,
} from "./environment.js";
import { exportMapTiles, type TileOptions, tileFormatOf, tileJob } from "./export-tiles.js";
import { findLayer, findMap } from "./find-map.js";
import { interruptible } from "./interrupt.js";
import { placeOf, reportFile, standardOutput, writeOutput } from "./output.js";
import { Progress } from "./progress.js";
import { boxOf, listOf, usable } from "./tile-options.js";

interface ExportOptions extends TileOptions {
  readonly srs: "4326" | "3857";
  readonly zip?: boolean;
  readonly processed?: boolean;
  readonly ids?: string;
  readonly bbox?: string;
  readonly bboxSrs: "4326" | "3857";
  readonly fields?: string;
  readonly filter?: string;
  readonly encoding?: string;
  readonly dialect: CsvDialect;
}

/** Which layer is written to which file, and how. */
interface Job {
  readonly project: string;
  readonly map: string;
  readonly layer: string;
  readonly file: string;
  readonly format: string;
  readonly zip: boolean;
  /** Of an image: the processed one instead of the uploaded file. */
  readonly processed: boolean;
  readonly selection: Omit<ExportRequest, "signal">;
}

/** mapwright export */
export function register(program: Command, env: CommandEnvironment): void {
  program
    .command("export")
    .description("write a layer, or the tiles of a map, to a file")
    .usage("[options] <project> <map> [layer] <file>")
    .argument("<project>", "code of the project")
    .argument("<map>", "code of the map")
    .argument("<layer>", "code of the layer; none for the tiles of the map")
    .argument("[file]", "file to write, an existing one is replaced; - for standard output")
    .addOption(
      new Option("--format <format>", "of the file (default: what its extension says)").choices([
        ...exportFormats,
        ...tileFileFormats,
      ]),
    )
    .option("--langs <list>", "languages of localised values, separated by commas (default: all)")
    .addOption(
      new Option("--srs <number>", "EPSG number of the geometry's reference system")
        .choices(["4326", "3857"])
        .default("4326"),
    )
    .option("--zip", "pack the file into a zip archive; a file name that ends in .zip says the same")
    .option("--processed", "of an image: as it was processed for drawing, instead of the uploaded file")
    .option("--ids <list>", "only objects with these ids, separated by commas")
    .option("--bbox <south,west,north,east>", "only objects, or tiles, that intersect this box")
    .addOption(
      new Option("--bbox-srs <number>", "EPSG number of the box's reference system")
        .choices(["4326", "3857"])
        .default("4326"),
    )
    .option("--fields <list>", "codes of the columns to write, separated by commas (default: all)")
    .option("--filter <condition>", "only objects that a condition in the filter language selects")
    .option("--encoding <name>", "of csv: utf-8, utf-8-sig, utf-16le, windows-1251, cp866 … (default: utf-8)")
    .addOption(
      new Option("--dialect <name>", "of csv: what separates values")
        .choices(Object.keys(csvDialects))
        .default("semicolon"),
    )
    .option(
      "--zoom <range>",
      "of tiles: zooms such as 0-12 (default: from 0 as far as 10000 tiles go, at most 18)",
    )
    .option(
      "--layers <codes>",
      "of tiles: layers to draw, separated by commas (default: those that the map shows)",
    )
    .option("--no-base", "of tiles: without the base map")
    .option("--public", "of tiles: only what everybody may see (default: all layers)")
    .addHelpText(
      "after",
      `
Examples:
  $ ${programName()} export city main roads roads.geojson
  $ ${programName()} export city main roads - --format geojson --langs en | gzip > roads.geojson.gz
  $ ${programName()} export city main roads roads.gpkg
  $ ${programName()} export city main roads roads.zip --format shp
  $ ${programName()} export city main roads roads.geojson.zip --fields name,lanes --filter "lanes >= 4"
  $ ${programName()} export city main city.pmtiles --zoom 0-14 --public
  $ ${programName()} export city main centre.mbtiles --bbox 52.50,13.35,52.54,13.45 --no-base

The extension tells the format, and has to be true: an archive is named .zip, as in roads.geojson.zip, and a file in one
format is not given the extension of another. What the format cannot hold is said on the standard error, and in an
archive in the file README.txt too.

Tiles are drawn as the server draws them, 256 pixels wide, as PNG; edits in the meantime may show. The configuration
bounds their number (exports.tiles).

The file appears when it is complete. A failure, Ctrl-C (exit status 130) or SIGTERM (143) leaves nothing of it, and
an existing file as it was.`,
    )
    .action(
      async (
        project: string,
        map: string,
        layer: string,
        file: string | undefined,
        options: ExportOptions,
        command: Command,
      ) => {
        if (file === undefined) {
          const job = tileJob({ project, map, file: layer, box: envelopeOf(options) }, options);
          await withServices(env, command, (services) => exportMapTiles(env, command, services, job));
          return;
        }
        const job = {
          project,
          map,
          layer,
          file,
          processed: options.processed === true,
          ...packaging(file, options),
          selection: selectionOf(options),
        };
        await withServices(env, command, (services) => run(env, command, services, job));
      },
    );
}

/**
 * Format and packaging of FILE by its extensions and the options.
 * @throws UsageError when they contradict each other, Failure unsupported_format
 */
function packaging(
  file: string,
  options: Pick<ExportOptions, "format" | "zip">,
): { readonly format: string; readonly zip: boolean } {
  if (tileFormatOf(file, options.format))
    throw new UsageError(
      `Tiles are those of the whole map, and no layer is named: ${programName()} export city main ${file}.`,
    );
  const name = basename(file);
  const hasZip = extname(name).toLowerCase() === ".zip";
  const inner = hasZip ? name.slice(0, -".zip".length) : name;
  const told = file === standardOutput ? undefined : formatOfExtension(extname(inner).slice(1).toLowerCase());
  const format = options.format ?? told;
  if (format === undefined)
    throw new UsageError(
      `--format must be given: the name ${file} has no extension of a known format (${exportFormats.join(", ")}).`,
    );
  const { hasSeveralFiles = false, isArchive = false } = formatOf(format);
  const zip = !isArchive && (hasSeveralFiles || options.zip === true || hasZip);
  if (file === standardOutput) return { format, zip };
  if (told !== undefined && !isSameFormat(told, format))
    throw new UsageError(`The name ${file} has the extension of ${told}, but the format is ${format}.`);
  if (hasZip && isArchive)
    throw new UsageError(`A file of the format ${format} is not packed into a zip archive.`);
  if (zip && !hasZip && told !== undefined) throw new UsageError(`A zip archive is named .zip: ${file}.zip.`);
  return { format, zip };
}

/** @throws UsageError */
function selectionOf(options: ExportOptions): Omit<ExportRequest, "signal"> {
  const { langs = "", fields, filter = "", encoding = "" } = options;
  usable(() => csvEncoding(encoding), "--encoding: ");
  return {
    srid: options.srs === "3857" ? 3857 : 4326,
    languages: usable(() => exportLanguages(langs), "--langs: "),
    ids: idsOf(options.ids),
    envelope: envelopeOf(options),
    fields: fields === undefined ? undefined : listOf(fields),
    filter: filter.trim() || undefined,
    encoding,
    dialect: options.dialect,
  };
}

/** @throws UsageError */
function idsOf(list: string | undefined): readonly number[] | undefined {
  if (list === undefined) return undefined;
  const ids = wholeNumbers(list.split(","));
  if (!ids) throw new UsageError("--ids: must be whole numbers separated by commas.");
  return ids;
}

const envelopeOf = ({ bbox, bboxSrs }: ExportOptions): ExportRequest["envelope"] =>
  boxOf(bbox, bboxSrs === "3857" ? 3857 : 4326);

async function run(
  env: CommandEnvironment,
  command: Command,
  { config, log, db }: Pick<CommandServices, "config" | "log" | "db">,
  job: Job,
): Promise<void> {
  const map = await findMap(db, job.project, job.map);
  const layer = findLayer(map, job.layer);
  if (hasImage(layer)) {
    const blobs = await openBlobs(config);
    return exportImage(env, command, { db, blobs, map, layer }, job);
  }
  if (!hasObjects(layer)) throw new CommandError(`The layer "${job.layer}" has no objects to export.`);
  const progress = new Progress(env, "objects");
  const files = createFileExports(config, log);
  let notes: readonly string[] = [];
  const make = async (signal: AbortSignal) => {
    const { selection, format, zip } = job;
    const request = { ...selection, signal, onObjects: (count: number) => progress.add(count) };
    const file = await exportLayer({ db, files }, { map, layer }, request, { format, zip });
    notes = file.notes;
    return file.chunks;
  };
  try {
    await interruptible((signal) => writeOutput(env, job.file, () => make(signal), signal));
  } finally {
    progress.end();
    await files.host.stop();
  }
  tell(env, command, job, {
    message: `${counted(progress.count, "object")} written to ${placeOf(job.file)}.`,
    notes,
    value: { objects: progress.count },
  });
}

/** What was written, and what of it the format cannot hold. */
function tell(
  env: CommandEnvironment,
  command: Command,
  { project, map, layer, file }: Job,
  done: { readonly message: string; readonly notes: readonly string[]; readonly value: object },
): void {
  const { message, notes, value } = done;
  if (!isJson(command)) for (const note of notes) say(env, note);
  reportFile(env, command, file, {
    message: `${project}/${map}/${layer}: ${message}`,
    value: { project, map, layer, ...value, notes },
  });
}

/** @throws CommandError when the file's name has the extension of another format than the image's */
async function exportImage(
  env: CommandEnvironment,
  command: Command,
  source: ExportTarget & {
    readonly layer: RasterLayer;
    readonly db: Database;
    readonly blobs: BlobStore;
  },
  job: Job,
): Promise<void> {
  const { db, blobs, ...target } = source;
  const stores = { db, blobs };
  const image = exportedImage(target, { format: job.format, original: !job.processed });
  const isFile = job.file !== standardOutput;
  if (isFile && !job.zip && !imageExtensions[image.mediaType]!.includes(extname(job.file).toLowerCase()))
    throw new CommandError(
      `The image is ${image.mediaType}: the file's name must say so, as ${image.name} does.`,
    );
  const make = async (signal: AbortSignal) =>
    job.zip
      ? (await zippedImage(stores, target.layer, image, { signal })).chunks
      : exactBytes(stores.blobs.read(image.blob, { signal }), image.bytes);
  await interruptible((signal) => writeOutput(env, job.file, () => make(signal), signal));
  tell(env, command, job, {
    message: `image written to ${placeOf(job.file)}.`,
    notes: job.zip ? [] : image.notes,
    value: { image: image.mediaType },
  });
}

const imageExtensions: Readonly<Record<string, readonly string[]>> = {
  "image/tiff": [".tif", ".tiff"],
  "image/png": [".png"],
  "image/jpeg": [".jpg", ".jpeg"],
};

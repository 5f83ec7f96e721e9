import { type Command, Option } from "commander";
import { counted } from "../counted.js";
import { Failure } from "../errors.js";
import { importFormatList } from "../hosts/import-messages.js";
import { createTransferHost } from "../hosts/transfer.js";
import type { RowReport } from "../import/bad-rows.js";
import { readColumnChoices, readCoordinateNames } from "../import/column-choices.js";
import { importIntoLayer } from "../import/import-layer.js";
import { importIntoNewLayer } from "../import/import-new-layer.js";
import { type Imported, type ImportFile, type Progress, readRasterBox } from "../import/import-request.js";
import { titleOfFile } from "../import/layer-title.js";
import { programName } from "../program-name.js";
import {
  type CommandEnvironment,
  CommandError,
  type CommandServices,
  print,
  say,
  UsageError,
  withServices,
} from "./environment.js";
import { findMap } from "./find-map.js";
import { sourceFiles } from "./import-files.js";
import { interruptible } from "./interrupt.js";

interface ImportOptions {
  readonly srs?: string;
  readonly format?: string;
  readonly rasterBbox?: string;
  readonly encoding?: string;
  readonly table?: string;
  readonly columns?: string;
  readonly coordinates?: string;
  readonly action: "replace" | "merge";
  readonly key?: string;
  readonly partial?: boolean;
  readonly dryRun?: boolean;
  readonly json?: boolean;
}

/** Which file is imported into which layer, and how. */
interface Job extends ImportOptions {
  readonly project: string;
  readonly map: string;
  readonly layer: string;
  readonly file: string;
  readonly signal: AbortSignal;
}

/** mapwright import */
export function register(program: Command, env: CommandEnvironment): void {
  program
    .command("import")
    .description("import a file of geodata into a layer, which is created if it does not exist")
    .argument("<project>", "code of the project")
    .argument("<map>", "code of the map")
    .argument("<layer>", "code of the layer")
    .argument(
      "<file>",
      `${importFormatList}; files that belong to it are found beside it; - reads standard input`,
    )
    .option("--format <extension>", "format of standard input, such as geojson")
    .option(
      "--srs <srs>",
      "spatial reference of the data: EPSG number, WKT or proj4 (default: the file's own, else 4326)",
    )
    .option(
      "--raster-bbox <box>",
      "where an image lies that does not say it itself, in --srs: BOX(x_min y_min,x_max y_max)",
    )
    .addOption(
      new Option(
        "--action <action>",
        "replace: the file's objects replace those of the layer; merge: objects whose svc_id is in the file are changed, others are added",
      )
        .choices(["replace", "merge"])
        .default("merge"),
    )
    .option("--encoding <name>", "of the texts, such as cp1251 (default: what the file says or looks like)")
    .option(
      "--table <name>",
      "the one table, sheet or layer of the file that is imported (default: all of them)",
    )
    .option(
      "--columns <json>",
      'types and names of columns, and which are left out: {"plz": {"type": "string"}, "remarks": null}',
    )
    .option(
      "--coordinates <json>",
      'columns of a table with east and north, or with geometry: ["lon", "lat"] (default: they are found)',
    )
    .option("--key <column>", "merge by the values of the column of this code or name, instead of svc_id")
    .option("--partial", "leave out features that cannot be imported; else one of them fails the import")
    .option("--dry-run", "change nothing, only tell what the import would do")
    .option("--json", "the result as JSON")
    .addHelpText(
      "after",
      `
Examples:
  $ ${programName()} import city main roads roads.geojson
  $ ${programName()} import city main parcels parcels.geojsonl --srs 3857 --action replace
  $ ${programName()} import city main streets streets.shp
  $ curl https://data.example.org/trees.geojson | ${programName()} import city main trees - --format geojson
  $ ${programName()} import city main photo photo.tif
  $ ${programName()} import city main plan plan.png --raster-bbox "BOX(37.3 55.5,37.9 56)"
  $ ${programName()} import city main parcels parcels.shp --key cadastral_number --partial --dry-run

An image (GeoTIFF, PNG, JPEG) makes a raster layer. The layer must be empty, or hold an image, which it replaces.

All features come in, or none: a failure, Ctrl-C (exit status 130) or SIGTERM (143) leaves the layer as it was, and no
new one.`,
    )
    .action(
      async (
        project: string,
        map: string,
        layer: string,
        file: string,
        options: ImportOptions,
        command: Command,
      ) => {
        if ((file === "-") !== (options.format !== undefined))
          throw new UsageError("--format is given with the file -, which is standard input, and only then.");
        await withServices(env, command, (services) =>
          interruptible((signal) => run(env, services, { project, map, layer, file, ...options, signal })),
        );
      },
    );
}

async function run(env: CommandEnvironment, services: CommandServices, job: Job): Promise<void> {
  const { config } = services;
  const files = await sourceFiles(env, config, job);
  try {
    await importFiles(env, services, job, files.list);
  } finally {
    await files.remove();
  }
}

async function importFiles(
  env: CommandEnvironment,
  services: CommandServices,
  job: Job,
  files: readonly ImportFile[],
): Promise<void> {
  const { config, log, db } = services;
  const map = await findMap(db, job.project, job.map);
  const known = map.layers.get(job.layer);
  if (known && known.type !== "layer" && known.type !== "raster")
    throw new CommandError(`The layer "${job.layer}" takes no data.`);
  const rasterBox = job.rasterBbox === undefined ? undefined : readRasterBox(job.rasterBbox);
  if (job.rasterBbox !== undefined && !rasterBox)
    throw new UsageError('--raster-bbox: must be "BOX(x_min y_min,x_max y_max)".');
  const { languages } = map.project;
  const target = { language: languages[0], languages, idAlias: config.idAlias };
  const { srs, encoding, table, action, key, partial = false, dryRun = false } = job;
  const columns = job.columns === undefined ? undefined : readColumnChoices(job.columns);
  const coordinates = job.coordinates === undefined ? undefined : readCoordinateNames(job.coordinates);
  const read = { srs, encoding, table, columns, coordinates };
  const source = { files, ...read, action, key, partial, dryRun, rasterBox };
  const title = job.file === "-" ? undefined : titleOfFile(job.file);
  const started = performance.now();
  const transfer = createTransferHost(config, log);
  const deps = { db, transfer, log, config };
  const progress = new ProgressLine(env);
  const options = { signal: job.signal, onProgress: (state: Progress) => progress.show(state) };
  const work = async () =>
    known
      ? {
          ...(await importIntoLayer(deps, { ...target, layerId: known.id }, source, options)),
          layerId: known.id,
        }
      : importIntoNewLayer(deps, { ...target, mapId: map.id, code: job.layer, title }, source, options);
  let imported: Awaited<ReturnType<typeof work>>;
  try {
    imported = await work();
  } catch (error) {
    progress.end();
    if (error instanceof Failure) sayBadRows(env, error.data as Partial<RowReport>);
    throw error;
  } finally {
    progress.end();
    await transfer.stop();
  }
  report(env, job, imported);
  say(env, `Done in ${((performance.now() - started) / 1000).toFixed(1)} s.`);
}

function report(env: CommandEnvironment, job: Job, imported: Imported & { readonly layerId: number }): void {
  const { inserted, updated, removed, columns, bad, unmatched, notes, rows, raster } = imported;
  for (const note of notes) say(env, note);
  if (columns.length > 0) say(env, `New columns: ${columns.map(columnName).join(", ")}.`);
  if (unmatched.count > 0)
    say(env, `${unmatched.count} of the added: no object had this ${job.key ?? "id"} before.`);
  if (bad.count > 0) say(env, `${bad.count} of ${counted(rows, "feature")} left out:`);
  sayRows(env, bad);
  if (!job.json) {
    const place = `${job.project}/${job.map}/${job.layer}`;
    const done = raster
      ? `image of ${raster.width} × ${raster.height} pixels`
      : `${counted(inserted, "object")} added, ${updated} changed${removed > 0 ? `, ${removed} removed` : ""}`;
    print(env, `${place}: ${done}${job.dryRun ? " (dry run: nothing was changed)" : ""}`);
    if (!job.dryRun) say(env, imported.summary);
    return;
  }
  print(
    env,
    JSON.stringify({
      ...(job.dryRun ? {} : { layer: imported.layerId }),
      ...{ inserted, updated, removed, unmatched, columns, bad: bad.count, rows: bad.rows, notes },
      ...(raster && { raster }),
    }),
  );
}

/** The code of a new column, and the name in the file if that is another one. */
const columnName = ({ code, name }: { readonly code: string; readonly name: string }): string =>
  code === name ? code : `${code} ("${name}")`;

const shownRows = 20;

/** The error names the first of them itself. */
function sayBadRows(env: CommandEnvironment, found: Partial<RowReport>): void {
  if ((found.rows?.length ?? 0) > 1) sayRows(env, found);
  if (found.rows !== undefined) say(env, "With --partial all other features come in.");
}

/** The first bad rows, one a line. */
function sayRows(env: CommandEnvironment, { count = 0, rows = [] }: Partial<RowReport>): void {
  if (rows.length === 0) return;
  for (const { row, reason } of rows.slice(0, shownRows)) say(env, `  Feature ${row}: ${reason}`);
  const more = Math.max(count, rows.length) - Math.min(rows.length, shownRows);
  if (more > 0) say(env, `  … and ${more} more`);
}

const progressMs = 200;
const phases: Readonly<Record<Progress["phase"], string>> = {
  reading: "read",
  checking: "read, checking them",
  writing: "read and checked, writing them to the layer",
};

/** Shows the progress on one line of the terminal; elsewhere, a line when the file has been read. */
class ProgressLine {
  private shown = false;
  private phase: Progress["phase"] | undefined;
  private nextAt = 0;

  constructor(private readonly env: CommandEnvironment) {}

  show({ phase, rows }: Progress): void {
    const isNew = phase !== this.phase;
    this.phase = phase;
    // An image has none.
    const text = rows === 0 ? "reading" : `${counted(rows, "feature")} ${phases[phase]}`;
    if (!this.env.stderr.isTTY) {
      if (isNew && phase === "checking" && rows > 0) say(this.env, `${counted(rows, "feature")} read.`);
      return;
    }
    if (!isNew && performance.now() < this.nextAt) return;
    this.nextAt = performance.now() + progressMs;
    this.shown = true;
    this.env.stderr.write(`\r\x1b[K${text} …`);
  }

  end(): void {
    if (this.shown) this.env.stderr.write("\r\x1b[K");
    this.shown = false;
  }
}

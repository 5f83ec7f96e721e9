import { extname } from "node:path";
import { pipeline } from "node:stream/promises";
import { type Command, Option } from "commander";
import { hasObjects } from "../catalog/state.js";
import type { Database } from "../storage/postgres.js";
import { exportLayer } from "../transfer/export.js";
import { exportFormats, formatOfExtension } from "../transfer/export-formats.js";
import { type ExportLanguages, exportLanguages } from "../transfer/export-request.js";
import { writeFileAtomically } from "./atomic-file.js";
import {
  type CommandEnvironment,
  CommandError,
  reasonOf,
  say,
  UsageError,
  withServices,
} from "./environment.js";
import { findMap } from "./find-map.js";
import { interruptible } from "./interrupt.js";

interface ExportOptions {
  readonly format?: string;
  readonly langs?: string;
  readonly srs: "4326" | "3857";
  readonly zip?: boolean;
}

/** Which layer is written to which file, and how. */
interface Job extends ExportOptions {
  readonly project: string;
  readonly map: string;
  readonly layer: string;
  readonly file: string;
  readonly format: string;
}

/** FILE that stands for standard output. */
const standardOutput = "-";

/** mapwright export */
export function register(program: Command, env: CommandEnvironment): void {
  program
    .command("export")
    .description("write a layer to a file")
    .argument("<project>", "code of the project")
    .argument("<map>", "code of the map")
    .argument("<layer>", "code of the layer")
    .argument("<file>", "file to write, an existing one is replaced; - for standard output")
    .addOption(
      new Option("--format <format>", "of the file (default: what its extension says)").choices(
        exportFormats,
      ),
    )
    .option("--langs <list>", "languages of localised values, separated by commas (default: all)")
    .addOption(
      new Option("--srs <number>", "EPSG number of the geometry's reference system")
        .choices(["4326", "3857"])
        .default("4326"),
    )
    .option("--zip", "pack the file into a zip archive")
    .addHelpText(
      "after",
      `
Examples:
  $ mapwright export city main roads roads.geojson
  $ mapwright export city main roads - --format geojson --langs en | gzip > roads.geojson.gz

The file appears when it is complete. A failure, Ctrl-C (exit status 130) or SIGTERM (143) leaves nothing of it, and
an existing file as it was.`,
    )
    .action(
      async (
        project: string,
        map: string,
        layer: string,
        file: string,
        options: ExportOptions,
        command: Command,
      ) => {
        const format = options.format ?? formatOfExtension(extname(file).slice(1).toLowerCase());
        if (format === undefined)
          throw new UsageError(
            `--format must be given: the name ${file} has no extension of a known format.`,
          );
        const job = { project, map, layer, file, ...options, format };
        const languages = languagesOf(options);
        await withServices(env, command, ({ db }) => run(env, db, job, languages));
      },
    );
}

/** @throws UsageError */
function languagesOf({ langs = "" }: ExportOptions): ExportLanguages | undefined {
  try {
    return exportLanguages(langs);
  } catch (error) {
    throw new UsageError(`--langs: ${reasonOf(error)}`);
  }
}

async function run(
  env: CommandEnvironment,
  db: Database,
  job: Job,
  languages: ExportLanguages | undefined,
): Promise<void> {
  const map = await findMap(db, job.project, job.map);
  const layer = map.layers.get(job.layer);
  if (!layer) throw new CommandError(`There is no layer "${job.layer}" in the map "${job.map}".`);
  if (!hasObjects(layer)) throw new CommandError(`The layer "${job.layer}" has no objects to export.`);
  const progress = new Progress(env);
  const make = async (signal: AbortSignal) => {
    const request = {
      srid: job.srs === "3857" ? 3857 : 4326,
      languages,
      signal,
      onObjects: (count: number) => progress.add(count),
    } as const;
    const file = await exportLayer(db, { map, layer }, request, {
      format: job.format,
      zip: job.zip ?? false,
    });
    return file.chunks;
  };
  const write = async (signal: AbortSignal) => {
    try {
      if (job.file === standardOutput) await pipeline(await make(signal), env.stdout, { end: false, signal });
      else await writeFileAtomically(job.file, () => make(signal), signal);
    } catch (error) {
      // Errors after an interruption are caused by it.
      signal.throwIfAborted();
      throw error;
    }
  };
  try {
    await interruptible(write);
  } finally {
    progress.end();
  }
  const place = job.file === standardOutput ? "the standard output" : job.file;
  say(env, `${job.project}/${job.map}/${job.layer}: ${progress.objects} objects written to ${place}.`);
}

const progressMs = 200;

/** Shows the number of exported objects on one line of the terminal. */
class Progress {
  objects = 0;
  private shown = 0;
  private nextAt = 0;

  constructor(private readonly env: CommandEnvironment) {}

  add(count: number): void {
    this.objects += count;
    if (!this.env.stderr.isTTY || performance.now() < this.nextAt) return;
    this.nextAt = performance.now() + progressMs;
    this.shown = this.objects;
    this.env.stderr.write(`\r${this.shown} objects …`);
  }

  end(): void {
    if (this.shown > 0) this.env.stderr.write("\r\x1b[K");
  }
}

import { type Command, Option } from "commander";
import { createLayer, deleteLayer } from "../catalog/layers.js";
import { removePortion } from "../catalog/removal.js";
import { importFormatList } from "../hosts/import-messages.js";
import { startTransferHost } from "../hosts/transfer.js";
import { importIntoLayer } from "../transfer/import.js";
import { type ImportFile, readRasterBox } from "../transfer/import-request.js";
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

interface ImportOptions {
  readonly srs?: string;
  readonly format?: string;
  readonly rasterBbox?: string;
  readonly action: "replace" | "merge";
  readonly json?: boolean;
}

/** Which file is imported into which layer, and how. */
interface Job extends ImportOptions {
  readonly project: string;
  readonly map: string;
  readonly layer: string;
  readonly file: string;
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
    .option("--json", "the result as JSON")
    .addHelpText(
      "after",
      `
Examples:
  $ mapwright import city main roads roads.geojson
  $ mapwright import city main parcels parcels.geojsonl --srs 3857 --action replace
  $ mapwright import city main streets streets.shp
  $ curl https://data.example.org/trees.geojson | mapwright import city main trees - --format geojson
  $ mapwright import city main photo photo.tif
  $ mapwright import city main plan plan.png --raster-bbox "BOX(37.3 55.5,37.9 56)"

An image (GeoTIFF, PNG, JPEG) makes a raster layer. The layer must be empty, or hold an image, which it replaces.`,
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
          run(env, services, { project, map, layer, file, ...options }),
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
  { config, log, db }: CommandServices,
  job: Job,
  files: readonly ImportFile[],
): Promise<void> {
  const map = await findMap(db, job.project, job.map);
  const known = map.layers.get(job.layer);
  if (known && known.type !== "layer" && known.type !== "raster")
    throw new CommandError(`The layer "${job.layer}" takes no data.`);
  const rasterBox = job.rasterBbox === undefined ? undefined : readRasterBox(job.rasterBbox);
  if (job.rasterBbox !== undefined && !rasterBox)
    throw new UsageError('--raster-bbox: must be "BOX(x_min y_min,x_max y_max)".');
  const layerId = known?.id ?? (await createLayer(db, map.id, { code: job.layer })).id;
  const started = performance.now();
  const seconds = () => ((performance.now() - started) / 1000).toFixed(1);
  const transfer = startTransferHost(config, log);
  try {
    const result = await importIntoLayer(
      { db, transfer, log, config },
      { layerId, language: map.project.languages[0], idAlias: config.idAlias },
      { files, srs: job.srs, action: job.action, rasterBox },
      {
        onStaged: (rows) => {
          if (rows > 0) say(env, `${rows} features read in ${seconds()} s; writing them to the layer.`);
        },
      },
    );
    for (const note of result.notes) say(env, note);
    const columns = result.columns.map(({ code }) => code);
    if (columns.length > 0) say(env, `New columns: ${columns.join(", ")}.`);
    say(env, `Done in ${seconds()} s.`);
    const { inserted, updated, raster } = result;
    if (job.json)
      print(
        env,
        JSON.stringify({
          layer: layerId,
          inserted,
          updated,
          columns,
          ...(raster && { raster }),
        }),
      );
    else if (raster)
      print(
        env,
        `${job.project}/${job.map}/${job.layer}: image of ${raster.width} × ${raster.height} pixels`,
      );
    else print(env, `${job.project}/${job.map}/${job.layer}: ${inserted} objects added, ${updated} changed`);
  } catch (error) {
    // A layer created for this file is deleted again. Its table is dropped here, since no node may be running to do it.
    if (!known) {
      await deleteLayer(db, map.id, layerId);
      await removePortion(db);
    }
    throw error;
  } finally {
    await transfer.stop();
  }
}

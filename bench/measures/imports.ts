import { mkdirSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { createLayer } from "../../src/catalog/layers.js";
import { createTransferHost } from "../../src/hosts/transfer.js";
import { importIntoLayer } from "../../src/import/import-layer.js";
import { type Database, openDatabase } from "../../src/storage/postgres.js";
import { withCatalogue } from "../catalogue.js";
import type { Context } from "../context.js";
import { featureFiles } from "../features.js";
import { mapCode } from "../import.js";
import { ogr2ogr } from "../ogr2ogr.js";
import type { Row } from "../report.js";
import { compare } from "../rounds.js";

/**
 * Imports into a fresh layer, beside `ogr2ogr` with COPY and a GiST index. Ours keeps the geometry twice, in degrees and in
 * metres of EPSG:3857, each with an index; ogr2ogr keeps it reprojected to EPSG:3857. For polygons ours also makes
 * generalization levels, which are tables of simpler geometry for low zooms: their time is measured apart.
 */

/** Formats that are made from the points by ogr2ogr, with its driver. */
const formats = {
  csv: ["CSV", "-lco", "GEOMETRY=AS_XY"],
  shp: ["ESRI Shapefile", "-lco", "ENCODING=UTF-8"],
  gpkg: ["GPKG"],
  fgb: ["FlatGeobuf"],
  gml: ["GML"],
  kml: ["KML"],
  tab: ["MapInfo File"],
} as const;

/** Most memory of the process that reads, in MB. */
const mostMegabytes = 300;

interface Input {
  readonly name: string;
  /** What ogr2ogr opens. */
  readonly path: string;
  /** All that ours is given. */
  readonly files: readonly string[];
  readonly count: number;
  /** What ogr2ogr needs to read it as ours does. */
  readonly open: readonly string[];
  readonly gate: number;
}

interface Outcome {
  readonly seconds: number;
  /** Of that, for generalization levels. */
  readonly levelSeconds: number;
}

export async function imports(context: Context): Promise<Row[]> {
  const { world, size } = context;
  const config = world.config();
  const db = openDatabase({
    url: config.databaseUrl,
    connections: 4,
    statementTimeoutMs: 600_000,
    log: world.log,
  });
  const transfer = createTransferHost(config, world.log);
  try {
    await transfer.whenReady();
    const map = await withCatalogue(world, async (at) => (await at.map(mapCode)).id);
    const ours = async ({ files }: Input): Promise<Outcome> => {
      const { id } = await createLayer(db, map, {});
      const started = performance.now();
      await importIntoLayer(
        { db, transfer, log: world.log, config },
        { layerId: id, language: "en" },
        { files: files.map((path) => ({ path, name: path })), action: "merge" },
      );
      const seconds = (performance.now() - started) / 1000;
      const levelSeconds = await secondsOfLevels(db, id);
      await db.execute(`truncate layers.l${id}`);
      return { seconds, levelSeconds };
    };
    const reference = async ({ path, open }: Input): Promise<Outcome> => {
      const started = performance.now();
      await ogr2ogr(
        ["-f", "PostgreSQL", `PG:${config.databaseUrl}`, path, ...open, "-t_srs", "EPSG:3857"].concat(
          ["-nln", "staging.bench_import", "-overwrite", "-lco", "GEOMETRY_NAME=geom"],
          ["-lco", "SPATIAL_INDEX=GIST", "-nlt", "PROMOTE_TO_MULTI"],
        ),
        { PG_USE_COPY: "YES" },
      );
      const seconds = (performance.now() - started) / 1000;
      await db.execute("drop table staging.bench_import");
      return { seconds, levelSeconds: 0 };
    };
    const rows: Row[] = [];
    for (const input of await inputs(context)) {
      const { name, count, gate } = input;
      const rate = (seconds: number) => count / seconds;
      const figure = { unit: "objects / s", of: ({ seconds }: Outcome) => rate(seconds) };
      const withoutLevels = ({ seconds, levelSeconds }: Outcome) => rate(seconds - levelSeconds);
      rows.push(
        ...(await compare(
          { rounds: Math.min(3, size.rounds), most: Math.min(5, size.most) },
          () => ours(input),
          [() => reference(input)],
          name === "geojson polygons"
            ? [
                { ...figure, measure: `import ${name}, with levels` },
                { ...figure, measure: `import ${name}, without levels`, of: withoutLevels, gate },
              ]
            : [{ ...figure, measure: `import ${name}`, gate }],
        )),
      );
    }
    const peak = peakMegabytes(transfer.pid!);
    rows.push({
      measure: "memory of the process that reads imports",
      unit: "MB",
      ours: peak,
      reference: mostMegabytes,
      ratio: mostMegabytes / peak,
      gate: 1,
    });
    return rows;
  } finally {
    await transfer.stop();
    await db.close();
  }
}

async function inputs({ world, size }: Context): Promise<Input[]> {
  const folder = join(world.folder, "imports");
  mkdirSync(folder, { recursive: true });
  const [points, squares] = [size.objects, Math.ceil(size.objects / 3)];
  const files = await featureFiles(folder, points, squares);
  const list: Input[] = [
    { name: "geojson points", path: files.points, files: [files.points], count: points, open: [], gate: 1 },
    {
      name: "geojson polygons",
      path: files.squares,
      files: [files.squares],
      count: squares,
      open: [],
      gate: 1,
    },
  ];
  for (const [extension, [driver, ...options]] of Object.entries(formats)) {
    // Some formats have several files.
    const own = join(folder, extension);
    mkdirSync(own, { recursive: true });
    const path = join(own, `points.${extension}`);
    await ogr2ogr(["-f", driver, path, files.points, "-overwrite", ...options]);
    const open =
      extension === "csv"
        ? ["-oo", "X_POSSIBLE_NAMES=X", "-oo", "Y_POSSIBLE_NAMES=Y", "-oo", "AUTODETECT_TYPE=YES"].concat(
            "-s_srs",
            "EPSG:4326",
          )
        : [];
    list.push({
      name: `${extension} points`,
      path,
      files: readdirSync(own).map((file) => join(own, file)),
      count: points,
      open,
      gate: 0.8,
    });
  }
  return list;
}

/** How long the generalization levels of a layer take that has its objects. */
async function secondsOfLevels(db: Database, layerId: number): Promise<number> {
  const started = performance.now();
  await db.query("select generalize_layer($1)", [layerId]);
  return (performance.now() - started) / 1000;
}

/** Most memory that the process has had resident so far. */
function peakMegabytes(pid: number): number {
  const [, kilobytes] = /^VmHWM:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, "latin1")) ?? [];
  return Number(kilobytes) / 1_000;
}

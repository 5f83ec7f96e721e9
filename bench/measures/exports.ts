import { createWriteStream } from "node:fs";
import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { createLayer } from "../../src/catalog/layers.js";
import { formatOf } from "../../src/export/export-formats.js";
import type { ExportRequest, ExportTarget } from "../../src/export/export-request.js";
import { exportSource } from "../../src/export/export-source.js";
import { createFileExports } from "../../src/export/file-exports.js";
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
 * Exports of a layer to a file, beside `ogr2ogr` with the same statement. Ours first looks through all objects for what the
 * format cannot hold, which ogr2ogr does not tell.
 */

/** What ogr2ogr is told, and the least ratio. */
const formats: Readonly<Record<string, { readonly options: readonly string[]; readonly gate?: number }>> = {
  geojson: { options: ["GeoJSON", "-lco", "RFC7946=NO", "-lco", "COORDINATE_PRECISION=15"], gate: 2 },
  shp: { options: ["ESRI Shapefile", "-lco", "ENCODING=UTF-8"], gate: 0.9 },
  mif: { options: ["MapInfo File", "-lco", "ENCODING=CP1251"], gate: 0.9 },
  fgb: { options: ["FlatGeobuf", "-lco", "SPATIAL_INDEX=NO"], gate: 0.9 },
  // These GDAL writes for us.
  tab: { options: ["MapInfo File", "-lco", "ENCODING=CP1251"] },
  gpkg: { options: ["GPKG"] },
};

/** As the export host has it. */
const environment = {
  PGOPTIONS: "-c search_path=mapwright,public -c jit=off -c timezone=UTC",
  OGR_SQLITE_SYNCHRONOUS: "OFF",
  OGR_SQLITE_JOURNAL: "OFF",
};

export async function exports(context: Context): Promise<Row[]> {
  const { world, size } = context;
  const config = world.config();
  const db = openDatabase({
    url: config.databaseUrl,
    connections: 4,
    statementTimeoutMs: 600_000,
    log: world.log,
  });
  const files = createFileExports(config, world.log);
  const folder = join(world.folder, "exports");
  const request: ExportRequest = { srid: 4326, signal: new AbortController().signal };
  try {
    const rows: Row[] = [];
    for (const { code, count } of await layers(context, db)) {
      const target = await targetOf(context, code);
      const { statement } = await exportSource(db, target, request);
      for (const [name, { options, gate }] of Object.entries(formats)) {
        const ours = () =>
          objectsPerSecond(count, folder, async () => {
            const content = await formatOf(name).write({ db, files }, target, request);
            // The others are files already.
            if (!content.done)
              await pipeline(content.files[0].chunks, createWriteStream(join(folder, "ours")));
            await content.done?.();
          });
        const reference = () =>
          objectsPerSecond(count, folder, () =>
            ogr2ogr(
              ["-f", ...options, join(folder, `theirs.${name}`), `PG:${config.databaseUrl}`].concat(
                ["-sql", `${statement.text} order by svc_id`],
                ["-nln", "theirs"],
              ),
              environment,
            ),
          );
        const figure = { unit: "objects / s", of: (rate: number) => rate };
        const measure = `export ${code} as ${name}`;
        rows.push(
          ...(await compare(
            { rounds: Math.min(3, size.rounds), most: Math.min(5, size.most) },
            ours,
            [reference],
            [gate === undefined ? { ...figure, measure } : { ...figure, measure, gate }],
          )),
        );
      }
    }
    return rows;
  } finally {
    await files.host.stop();
    await db.close();
  }
}

/** Runs with an empty folder. */
async function objectsPerSecond(count: number, folder: string, work: () => Promise<void>): Promise<number> {
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder);
  const started = performance.now();
  await work();
  const seconds = (performance.now() - started) / 1000;
  await rm(folder, { recursive: true });
  return count / seconds;
}

/** Layers of points and of polygons, imported unless an earlier run has. */
async function layers({ world, size }: Context, db: Database) {
  const folder = join(world.folder, "exported");
  const [points, squares] = [size.objects, Math.ceil(size.objects / 3)];
  const list = [
    { code: "points", count: points },
    { code: "squares", count: squares },
  ] as const;
  const { id: map, layers: present } = await withCatalogue(world, (at) => at.map(mapCode));
  if (present.has(list[0].code)) return list;
  await mkdir(folder, { recursive: true });
  const sources = await featureFiles(folder, points, squares);
  const config = world.config();
  const transfer = createTransferHost(config, world.log);
  try {
    for (const { code } of list) {
      const { id } = await createLayer(db, map, { code });
      await importIntoLayer(
        { db, transfer, log: world.log, config },
        { layerId: id, language: "en" },
        { files: [{ path: sources[code], name: sources[code] }], action: "merge" },
      );
    }
  } finally {
    await transfer.stop();
    await rm(folder, { recursive: true });
  }
  return list;
}

const targetOf = ({ world }: Context, code: string): Promise<ExportTarget> =>
  withCatalogue(world, async (at) => {
    const map = await at.map(mapCode);
    return { map, layer: map.layers.get(code)! };
  });

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readColumns } from "../../src/catalog/column-rows.js";
import { createLayer } from "../../src/catalog/layers.js";
import { createMap } from "../../src/catalog/maps.js";
import { createProject } from "../../src/catalog/projects.js";
import { configSchema } from "../../src/config.js";
import { createTransferHost, type TransferHost } from "../../src/hosts/transfer.js";
import { type ImportDependencies, importIntoLayer } from "../../src/import/import-layer.js";
import type { Imported, ImportSource } from "../../src/import/import-request.js";
import { type Database, openDatabase } from "../../src/storage/postgres.js";
import { freshDatabase, settingsOf } from "./database.js";
import { quietLog } from "./log.js";

/** A database with a map, a transfer host and temporary files, for tests of imports. */

export interface ImportBench {
  readonly db: Database;
  readonly transfer: TransferHost;
  readonly mapId: number;
  /** Creates an empty layer; returns its id. */
  layer(): Promise<number>;
  /** Imports a file with this content; values other than strings and buffers are serialized as JSON. */
  import(layerId: number, content: unknown, source?: ImportVariant): Promise<Imported>;
  /** What an import of a file depends on. */
  readonly deps: ImportDependencies;
  /** Writes a file with this content; returns its path. */
  file(content: unknown, extension?: string): string;
  /** Objects sorted by id, as values by column code, with `svc_id` and the geometry as WKT. */
  objects(layerId: number): Promise<Record<string, unknown>[]>;
  /** Everything that an import may change in a layer, as JSON text. */
  state(layerId: number): Promise<string>;
  stop(): Promise<void>;
}

/** Extension of the file (default: geojson), and whatever differs from a merge. */
export type ImportVariant = Partial<ImportSource> & { readonly extension?: string };

export async function importBench(): Promise<ImportBench> {
  const database = await freshDatabase();
  const folder = mkdtempSync(join(tmpdir(), "mapwright-test-"));
  const db = openDatabase({ ...database.at, connections: 4, statementTimeoutMs: 30_000, log: quietLog });
  const config = configSchema.parse({ ...settingsOf(database), dataDir: folder });
  const transfer = createTransferHost(config, quietLog);
  const deps = { db, transfer, log: quietLog, config };
  const projectId = await createProject(db, { code: "p", languages: ["en", "ru"] });
  const mapId = await createMap(db, projectId, { code: "m" });
  let files = 0;

  const bench: ImportBench = {
    db,
    transfer,
    mapId,
    layer: async () => (await createLayer(db, mapId, {})).id,
    file: (content, extension = "geojson") => {
      const path = join(folder, `${++files}.${extension}`);
      writeFileSync(
        path,
        typeof content === "string" || Buffer.isBuffer(content) ? content : JSON.stringify(content),
      );
      return path;
    },
    deps,
    import: (layerId, content, { extension = "geojson", ...source } = {}) => {
      const path = bench.file(content, extension);
      return importIntoLayer(
        deps,
        { layerId, language: "en" },
        { files: [{ path, name: path }], action: "merge", ...source },
      );
    },
    objects: async (layerId) => {
      const columns = (await readColumns(db, layerId)).filter((column) => column.type !== "geom");
      const list = columns.map((column) => `'${column.code}', ${column.physical}`).join(", ");
      const rows = await db.query<{ object: Record<string, unknown> }>(
        `select json_build_object(${list}, 'geom', st_astext(geom)) as object from layers.l${layerId} order by svc_id`,
      );
      return rows.map((row) => row.object);
    },
    state: async (layerId) => {
      const [row] = await db.query<{ state: string }>(
        `select json_build_object(
           'layer', (select row(l.geometry_kind, l.bands, l.version) from layer l where id = $1),
           'node', (select css_style from node where id = $1),
           'columns', (select json_agg(c order by id) from layer_column c where layer_id = $1),
           'physical', (select json_agg(attname order by attnum) from pg_attribute
              where attrelid = ('layers.l' || $1)::regclass and attnum > 0 and not attisdropped),
           'objects', (select json_agg(t order by svc_id) from layers.l${layerId} t),
           'staging', (select json_agg(relname) from pg_class where relnamespace = 'staging'::regnamespace)
         )::text as state`,
        [layerId],
      );
      return row!.state;
    },
    stop: async () => {
      await transfer.stop();
      await db.close();
      await database.drop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
  return bench;
}

export const point = (x: number, y: number) => ({ type: "Point", coordinates: [x, y] });

export const feature = (properties: unknown, geometry: unknown = point(1, 2)) => ({
  type: "Feature",
  properties,
  geometry,
});

export const collection = (...features: unknown[]) => ({ type: "FeatureCollection", features });

/** Code, message and data of the failure; code "none" when the import succeeds. */
export async function failureOf(
  work: Promise<unknown>,
): Promise<{ code: unknown; message: string; data: unknown }> {
  try {
    await work;
    return { code: "none", message: "the import succeeded", data: {} };
  } catch (error) {
    const { code, message, data } = error as { code?: unknown; message: string; data?: unknown };
    return { code, message, data };
  }
}

import pg from "pg";
import { loadMap, loadProject } from "../../src/catalog/load.js";
import type { LayerNode, MapState } from "../../src/catalog/state.js";
import type { ColumnType } from "../../src/column-types/column-types.js";
import type { GeometryKind } from "../../src/geo/wkb.js";
import { type Database, openDatabase } from "../../src/storage/postgres.js";
import { freshDatabase } from "../support/database.js";
import { makeLayer } from "../support/layers.js";
import { quietLog } from "../support/log.js";

export interface TestColumn {
  readonly code: string;
  readonly type: ColumnType;
  readonly localized?: boolean;
  readonly required?: boolean;
}

export interface TestFeatures {
  readonly db: Database;
  readonly map: MapState;
  readonly layer: LayerNode;
  readonly table: string;
  /** Physical name of a column by its code. */
  readonly physical: (code: string) => string;
  readonly close: () => Promise<void>;
}

const physicalTypes: Readonly<Record<string, string>> = {
  number: "double precision",
  string: "text",
  text: "text",
  datetime: "timestamptz",
  bool: "boolean",
  file: "bigint[]",
  json: "jsonb",
};

export interface TestLayerOptions {
  readonly kind?: GeometryKind;
  readonly languages?: readonly string[];
  readonly statementTimeoutMs?: number;
  readonly connections?: number;
}

/** A database of its own with one layer `l` of these columns in map `m`. */
export async function makeFeatures(
  columns: readonly TestColumn[],
  options: TestLayerOptions = {},
): Promise<TestFeatures> {
  const database = await freshDatabase();
  const client = new pg.Client({
    connectionString: database.url,
    options: "-c search_path=mapwright,public",
  });
  await client.connect();
  const made = await makeLayer(client, "p");
  await client.query("update project set languages = $1", [options.languages ?? ["ru", "en"]]);
  await client.query("update layer set geometry_kind = $1", [options.kind ?? "Unknown"]);
  for (const [index, column] of columns.entries()) {
    const { rows } = await client.query(
      "insert into layer_column (layer_id, code, type, sort, localized_value, required) values ($1, $2, $3, $4, $5, $6) returning id",
      [
        made.layerId,
        column.code,
        column.type,
        index + 3,
        column.localized ?? false,
        column.required ?? false,
      ],
    );
    if (column.type === "title") continue;
    const type = column.localized ? "jsonb" : physicalTypes[column.type];
    await client.query(`alter table ${made.table} add column c${rows[0].id} ${type}`);
  }
  await client.end();
  const db = openDatabase({
    ...database.at,
    connections: options.connections ?? 4,
    statementTimeoutMs: options.statementTimeoutMs ?? 20_000,
    log: quietLog,
  });
  const project = await loadProject(db, "p");
  const map = project && (await loadMap(db, project, "m"));
  const layer = map?.layers.get("l");
  if (!map || !layer) throw new Error("The test's layer is not there.");
  return {
    db,
    map,
    layer,
    table: made.table,
    physical: (code) => {
      const column = layer.columns.find((candidate) => candidate.code === code);
      if (!column) throw new Error(`no column ${code}`);
      return column.physical;
    },
    close: async () => {
      await db.close();
      await database.drop();
    },
  };
}

/** The failure that `work` throws, as what a client would see of it. */
export async function failureOf(
  work: () => unknown,
): Promise<{ kind?: string; code?: string; message: string; data?: unknown }> {
  try {
    await work();
  } catch (error) {
    return error as { kind?: string; code?: string; message: string; data?: unknown };
  }
  throw new Error("It did not fail.");
}

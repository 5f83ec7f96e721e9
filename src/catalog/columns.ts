import { type ColumnType, isValueType, physicalType } from "../column-types/column-types.js";
import { failed } from "../errors.js";
import type { Queryable } from "../storage/postgres.js";
import { checkColumnCode } from "./codes.js";
import { layerTable, physicalName } from "./layer-table.js";
import type { Column, LocalizedName } from "./state.js";

/** Adds columns to layers: rows in the catalogue and physical columns. */

export interface NewColumn {
  readonly code: string;
  readonly type: Exclude<ColumnType, "geom">;
  readonly name?: LocalizedName;
  readonly required?: boolean;
  readonly localizedValue?: boolean;
  /** Default: after the layer's last column. */
  readonly sort?: number;
  /** A title column of the same layer; default: top level. */
  readonly parentId?: number | null;
  readonly format?: Readonly<Record<string, unknown>> | null;
}

/** Columns of a layer, without svc_id and geom. */
export const maxColumns = 1_000;
/** Slightly less than PostgreSQL's limit of 1,600 columns, which includes dropped ones. */
const maxPhysical = 1_590;

/**
 * Adds columns to a layer with one statement for the catalogue and one for the layer's table.
 * @returns the columns in the given order
 * @throws Failure invalid_code, code_exists, invalid_value for too many columns
 */
export async function addColumns(
  tx: Queryable,
  layerId: number,
  columns: readonly NewColumn[],
): Promise<Column[]> {
  if (columns.length === 0) return [];
  const present = await tx.query<{ code: string; sort: number }>(
    "select code, sort from layer_column where layer_id = $1",
    [layerId],
  );
  const codes = new Set(present.map((column) => column.code));
  for (const { code } of columns) {
    if (codes.has(checkColumnCode(code))) throw failed("code_exists", `There is a column "${code}" already.`);
    codes.add(code);
  }
  if (codes.size - 2 > maxColumns)
    throw failed("invalid_value", `A layer has at most ${maxColumns} columns.`);

  const last = present.reduce((highest, column) => Math.max(highest, column.sort), 0);
  const complete = columns.map((column, i) => ({
    code: column.code,
    type: column.type,
    name: column.name?.name ?? "",
    localized: column.name?.localized ?? false,
    names: column.name?.names ?? {},
    required: column.required ?? false,
    localizedValue: (column.localizedValue ?? false) && column.type !== "title",
    sort: column.sort ?? last + 1 + i,
    parentId: column.parentId ?? null,
    format: column.format ?? null,
  }));
  const rows = await tx.query<{ id: number; code: string }>(
    `insert into layer_column (layer_id, code, type, name, localized_name, names, required, localized_value, sort,
       parent_id, format)
     select $1, c->>'code', c->>'type', c->>'name', (c->>'localized')::boolean, c->'names',
       (c->>'required')::boolean, (c->>'localizedValue')::boolean, (c->>'sort')::float8,
       (c->>'parentId')::int, nullif(c->'format', 'null')
     from jsonb_array_elements($2::jsonb) with ordinality list (c, place) order by place returning id, code`,
    [layerId, JSON.stringify(complete)],
  );
  const ids = new Map(rows.map((row) => [row.code, row.id]));
  const added = complete.map((column): Column => {
    const id = ids.get(column.code)!;
    return { ...column, id, physical: physicalName(column.type, column.code, id) };
  });
  await addPhysical(tx, layerId, added);
  return added;
}

/**
 * Adds physical columns for columns with values. A table with too many dropped columns is rewritten first.
 * @throws Failure invalid_value when the table would have too many columns
 */
export async function addPhysical(tx: Queryable, layerId: number, columns: readonly Column[]): Promise<void> {
  const clauses = columns.flatMap(({ type, localizedValue, physical }) =>
    isValueType(type) ? [`add column ${physical} ${physicalType(type, localizedValue)}`] : [],
  );
  if (clauses.length === 0) return;
  const table = layerTable(layerId);
  let counts = await countPhysical(tx, table);
  if (counts && counts.live + clauses.length > maxPhysical) {
    await emptyBinOf(tx, layerId);
    counts = await countPhysical(tx, table);
  }
  if (counts && counts.ever + clauses.length > maxPhysical && counts.live + clauses.length <= maxPhysical) {
    await tx.execute(`lock table ${table} in access exclusive mode`);
    await tx.query("select rebuild_layer_table($1)", [layerId]);
  }
  try {
    await tx.execute(`alter table ${table} ${clauses.join(", ")}`);
  } catch (error) {
    // 54011 too_many_columns
    if ((error as { code?: string }).code !== "54011") throw error;
    throw failed("invalid_value", "The layer's table has no room for more columns.");
  }
}

/** How many columns a table ever had, and has. */
const countPhysical = async (tx: Queryable, table: string) =>
  (
    await tx.query<{ ever: number; live: number }>(
      `select max(attnum)::int as ever, count(*) filter (where not attisdropped)::int as live
       from pg_attribute where attrelid = to_regclass($1) and attnum > 0`,
      [table],
    )
  )[0];

/** Columns in the bin make room for new ones. */
async function emptyBinOf(tx: Queryable, layerId: number): Promise<void> {
  const gone = await tx.query<{ item: number }>(
    "delete from bin where layer_id = $1 and kind = 'column' returning item_id as item",
    [layerId],
  );
  if (gone.length === 0) return;
  const clauses = gone.map(({ item }) => `drop column if exists c${Math.trunc(item)}`);
  await tx.execute(`alter table ${layerTable(layerId)} ${clauses.join(", ")}`);
}

import type { ColumnType } from "../column-types/column-types.js";
import type { Queryable } from "../storage/postgres.js";
import { physicalName } from "./layer-table.js";
import type { Column } from "./state.js";

/** Rows of the table `layer_column`. */

export interface ColumnRow {
  id: number;
  layer_id: number;
  parent_id: number | null;
  code: string;
  name: string;
  localized_name: boolean;
  names: Record<string, string>;
  localized_value: boolean;
  type: ColumnType;
  required: boolean;
  sort: number;
  format: Record<string, unknown> | null;
}

export const columnOf = (row: ColumnRow): Column => ({
  id: row.id,
  code: row.code,
  physical: physicalName(row.type, row.code, row.id),
  type: row.type,
  name: row.name,
  localized: row.localized_name,
  names: row.names,
  localizedValue: row.localized_value,
  required: row.required,
  sort: row.sort,
  parentId: row.parent_id,
  format: row.format,
});

/** The layer's columns, ordered by `sort`. */
export async function readColumns(db: Queryable, layerId: number): Promise<Column[]> {
  const rows = await db.query<ColumnRow>("select * from layer_column where layer_id = $1 order by sort, id", [
    layerId,
  ]);
  return rows.map(columnOf);
}

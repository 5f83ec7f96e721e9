import type { ColumnType } from "../column-types/column-types.js";
import { failed, Reasons } from "../errors.js";
import type { Queryable } from "../storage/postgres.js";
import { physicalName } from "./layer-table.js";
import type { Column } from "./state.js";

/** Columns of a derived layer: copies of the source's catalogue rows, with the same codes. */

export interface CopiedColumn extends Column {
  /** Name of the column in the source's table. */
  readonly sourcePhysical: string;
}

interface SourceRow {
  id: number;
  code: string;
  type: ColumnType;
  parent_id: number | null;
}

/**
 * Copies columns from one layer to another that has none.
 * @param copy.codes undefined = all; svc_id, geom and the titles above a column are always included
 * @returns the copies that have a physical column, without svc_id and geom
 * @throws Failure unknown_column with `data.columns`
 */
export async function copyColumns(
  tx: Queryable,
  copy: { readonly from: number; readonly to: number; readonly codes: readonly string[] | undefined },
): Promise<CopiedColumn[]> {
  const source = await tx.query<SourceRow>(
    "select id, code, type, parent_id from layer_column where layer_id = $1",
    [copy.from],
  );
  await tx.execute(
    `insert into layer_column (layer_id, code, name, localized_name, names, localized_value, type, required, sort, format)
     select $1, code, name, localized_name, names, localized_value, type, required, sort, format
     from layer_column where id = any($2::int[]) order by sort, id`,
    [copy.to, [...idsToCopy(source, copy.codes)]],
  );
  await tx.execute(
    `update layer_column own set parent_id = title.id
     from layer_column s, layer_column above, layer_column title
     where own.layer_id = $1 and s.layer_id = $2 and s.code = own.code and above.id = s.parent_id
       and title.layer_id = $1 and title.code = above.code`,
    [copy.to, copy.from],
  );
  const rows = await tx.query<Omit<Column, "physical"> & { sourceId: number }>(
    `select own.id, own.code, own.type, own.name, own.localized_name as localized, own.names, own.required,
       own.localized_value as "localizedValue", own.sort, own.parent_id as "parentId", own.format, s.id as "sourceId"
     from layer_column own join layer_column s on s.layer_id = $2 and s.code = own.code
     where own.layer_id = $1 and own.type not in ('title', 'geom') and own.code <> 'svc_id' order by own.sort, own.id`,
    [copy.to, copy.from],
  );
  return rows.map(({ sourceId, ...column }) => ({
    ...column,
    physical: physicalName(column.type, column.code, column.id),
    sourcePhysical: physicalName(column.type, column.code, sourceId),
  }));
}

/** Ids of the source's columns to copy. */
function idsToCopy(source: readonly SourceRow[], codes: readonly string[] | undefined): Set<number> {
  if (!codes) return new Set(source.map(({ id }) => id));
  const byCode = new Map(source.map((column) => [column.code, column]));
  const byId = new Map(source.map((column) => [column.id, column]));
  const unknown = new Reasons();
  const ids = new Set<number>();
  for (const code of new Set(["svc_id", "geom", ...codes])) {
    let column = byCode.get(code);
    if (!column) unknown.add(code, "The source has no such column.");
    for (; column && !ids.has(column.id); column = byId.get(column.parent_id ?? 0)) ids.add(column.id);
  }
  if (!unknown.empty) throw failed("unknown_column", "The source has no such column.", unknown.data);
  return ids;
}

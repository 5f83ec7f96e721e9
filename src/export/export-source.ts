import type { LayerNode } from "../catalog/state.js";
import { findColumn, isLocalised } from "../features/column-sql.js";
import { selected } from "../features/list.js";
import { layerTable, type Statement, Values } from "../features/sql.js";
import type { ExportedColumn, ExportedType } from "../hosts/export-messages.js";
import type { Database } from "../storage/postgres.js";
import { type FileColumn, fileColumns } from "./export-columns.js";
import type { ExportRequest, ExportTarget } from "./export-request.js";
import { selectionOf } from "./export-survey.js";

/** The query for the values of a layer's objects, each as a column of its own. */

export interface ExportSource {
  /** Of `svc_id`, `g` and `v0`, `v1` …, without an order (hosts/export-messages.ts). */
  readonly statement: Statement;
  /** The table that it reads. */
  readonly table: string;
  readonly columns: readonly ExportedColumn[];
  readonly notes: readonly string[];
}

/** @throws Failure unknown_column, invalid_value */
export async function exportSource(
  db: Database,
  target: ExportTarget,
  request: ExportRequest,
): Promise<ExportSource> {
  const { layer } = target;
  const { columns: all, notes } = await fileColumns(db, target, request);
  const columns = all.filter(({ type }) => type !== "id");
  const values = new Values();
  const conditions = selected(layer, selectionOf(target, request), values);
  const list = columns.map((column, index) => `,${valueSql(layer, column)} as v${index}`).join("");
  const where = conditions.length > 0 ? ` where ${conditions.join(" and ")}` : "";
  return {
    statement: {
      text: `select svc_id,${request.srid === 3857 ? mercator : whole("geom")} as g${list} from ${layerTable(layer.id)}${where}`,
      values: values.list,
    },
    table: layerTable(layer.id),
    columns: columns.map((column) => ({ name: column.name, type: exportedType(column) })),
    notes,
  };
}

const whole = (column: string) => `mapwright.without_empty_parts(${column})`;
/** geom_3857 has no heights, and is cut at the latitudes of Web Mercator. */
const mercator =
  "case when st_zmflag(geom)=2 and st_ymin(geom)>=-85.06 and st_ymax(geom)<=85.06 " +
  `then mapwright.project_mercator(${whole("geom")}) else ${whole("geom_3857")} end`;

function exportedType({ type }: FileColumn): ExportedType {
  switch (type) {
    case "number":
    case "datetime":
    case "bool":
    case "json":
      return type;
    default:
      return "text";
  }
}

/** SQL of the value in its own type. */
function valueSql(layer: LayerNode, { code, type, sql }: FileColumn): string {
  if (type !== "number" && type !== "bool") return sql;
  const column = findColumn(layer, code);
  if (column && !isLocalised(column)) return column.physical;
  // A language's value is text here. SQL clients can store others than the column's type.
  return type === "bool"
    ? `case ${sql} when 'true' then true when 'false' then false end`
    : `case when ${sql} ~ '^-?\\d+(\\.\\d+)?([eE][+-]?\\d{1,3})?$' then (${sql})::float8 end`;
}

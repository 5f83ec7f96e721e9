import { definitionOf, isValueType } from "../column-types/column-types.js";
import { Reasons, refusedValues } from "../errors.js";
import type { Queryable } from "../storage/postgres.js";
import { layerTable } from "./layer-table.js";
import type { Column, LayerNode } from "./state.js";

/** Required columns of objects. */

export const mustBeFilled = "This column must be filled.";

/** SQL of whether a column is empty, if localised in all languages. `value` is the SQL of its value. */
export function emptySql(column: Column, value: string): string {
  if (column.localizedValue) return `main_value(${value}, '') is null`;
  const empty = isValueType(column.type) ? definitionOf(column).emptyConstant : undefined;
  return empty === undefined ? `${value} is null` : `coalesce(${value}, ${empty}) = ${empty}`;
}

/**
 * Checks that columns have a value in an object that the transaction has just written, and so locked. A check before the
 * write could miss concurrent changes, such as of other languages.
 * @throws Failure invalid_value with `data.columns`
 */
export async function requireFilled(
  tx: Queryable,
  layer: LayerNode,
  objectId: number,
  columns: readonly Column[],
): Promise<void> {
  if (columns.length === 0) return;
  const [row] = await tx.query<{ empty: boolean[] }>(
    `select array[${columns.map((column) => emptySql(column, column.physical)).join(",")}] as empty
     from ${layerTable(layer.id)} where svc_id = $1`,
    [objectId],
  );
  const empty = new Reasons();
  columns.forEach(({ code }, at) => {
    if (row?.empty[at]) empty.add(code, mustBeFilled);
  });
  if (!empty.empty) throw refusedValues(empty);
}

/**
 * Checks that an object has a geometry if its layer requires one.
 * @param geom null = none; undefined = unchanged
 * @throws Failure invalid_value with `data.columns`
 */
export function requireGeometry(layer: Pick<LayerNode, "columns">, geom: Buffer | null | undefined): void {
  if (geom !== null) return;
  const column = layer.columns.find(({ type }) => type === "geom");
  if (column?.required) throw refusedValues(Reasons.of(column.code, mustBeFilled));
}

import { definitionOf, isValueType } from "../column-types/column-types.js";
import { Reasons, refusedValues } from "../errors.js";
import type { Queryable } from "../storage/postgres.js";
import { layerTable } from "./layer-table.js";
import type { Column, LayerNode } from "./state.js";

/** Required columns of objects. */

/** What a client is told of one that is empty. */
export const mustBeFilled = "This column must be filled.";

/** SQL of "the column has no value", of one in several languages: in none of them. `value` is the SQL of what it holds. */
export function emptySql(column: Column, value: string): string {
  if (column.localizedValue) return `main_value(${value}, '') is null`;
  const empty = isValueType(column.type) ? definitionOf(column).emptyConstant : undefined;
  return empty === undefined ? `${value} is null` : `coalesce(${value}, ${empty}) = ${empty}`;
}

/**
 * Makes sure that columns are filled in an object that the transaction has just written. What else it has in a column,
 * such as in other languages, can change until then and not after.
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
 * Makes sure that an object gets the geometry that its layer may require.
 * @param geom null = none; undefined = as it is
 * @throws Failure invalid_value with `data.columns`
 */
export function requireGeometry(layer: LayerNode, geom: Buffer | null | undefined): void {
  if (geom !== null) return;
  const column = layer.columns.find(({ type }) => type === "geom");
  if (column?.required) throw refusedValues(Reasons.of(column.code, mustBeFilled));
}

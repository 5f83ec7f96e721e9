import { type Column, isId, type LayerNode } from "../catalog/state.js";
import { isText } from "../column-types/column-types.js";
import type { Database } from "../storage/postgres.js";
import { categoryValue } from "../visual/value-sql.js";
import type { Languages } from "./column-sql.js";
import { layerTable, Values } from "./sql.js";

/** The commonest values of a column, for classes that a request leaves to the server. */

const timeoutMs = 5_000;
/** Of the value of a class. */
const maxLength = 1_000;

/**
 * The commonest values, the most frequent first, those of equal number in their order; none of columns whose values are neither
 * texts, numbers nor booleans, and none where counting takes too long.
 */
export async function commonValues(
  db: Pick<Database, "query">,
  layer: LayerNode,
  of: { readonly column: Column; readonly languages: Languages; readonly most: number },
  signal: AbortSignal,
): Promise<(string | number | boolean)[]> {
  const { column, languages, most } = of;
  const shown = shownAs(column);
  if (!shown) return [];
  const bound = new Values();
  const value = categoryValue(column, { languages, bind: (text) => bound.bind(text) });
  try {
    const rows = await db.query<{ x: string }>(
      `select x::text as x from (
         select ${value.sql} as x from ${layerTable(layer.id)}
       ) v where x is not null and length(x::text) <= ${maxLength} group by v.x order by count(*) desc, v.x limit ${bound.bind(most)}`,
      bound.list,
      { signal, timeoutMs },
    );
    return rows.map(({ x }) => shown(x));
  } catch (error) {
    signal.throwIfAborted();
    // 57014 query_canceled
    if ((error as { code?: string }).code !== "57014") throw error;
    return [];
  }
}

/** How the text of a value is shown in JSON; undefined = it is no category that people would choose. */
function shownAs(column: Column): ((text: string) => string | number | boolean) | undefined {
  if (isText(column)) return (text) => text;
  if (column.type === "number" && !isId(column)) return Number;
  return column.type === "bool" ? (text) => text === "true" : undefined;
}

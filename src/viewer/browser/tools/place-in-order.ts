import type { ColumnInfo } from "../map-server.js";
import type { LayerObjects, Selected, Sorting } from "./layer-objects.js";
import { both } from "./table-filter.js";

/** Finds where an object is in a list: the server counts those before it. */

export interface ListOf {
  readonly objects: LayerObjects;
  readonly selected: Selected;
  readonly sort: Sorting | undefined;
  readonly columns: readonly ColumnInfo[];
}

/** The object's index; undefined when it is not listed, or its place cannot be asked for. @throws ServerError, AbortError */
export async function placeOf(
  id: number,
  { objects, selected, sort, columns }: ListOf,
  signal: AbortSignal,
): Promise<number | undefined> {
  const itself = both(selected.filter, `"svc_id" = ${id}`);
  const column = sort && columns.find(({ code }) => code === sort.code);
  const [found] = await objects.values({ ...selected, filter: itself }, column?.code ?? "svc_id", 1, signal);
  if (!found) return undefined;
  const before = column
    ? sortedBefore(column, sort.descending, found.fields?.[column.code], id)
    : `"svc_id" < ${id}`;
  if (before === undefined) return undefined;
  return objects.count({ ...selected, filter: both(selected.filter, before) }, signal);
}

/** The condition of objects that are sorted before; nulls are the greatest. */
function sortedBefore(
  column: ColumnInfo,
  descending: boolean,
  value: unknown,
  id: number,
): string | undefined {
  // Values of languages are sorted by their JSON, which conditions do not compare by.
  if (column.localized_value) return undefined;
  const code = `"${column.code}"`;
  const sameBefore = `"svc_id" < ${id}`;
  if (value === null || value === undefined) {
    const same = `(${code} is null and ${sameBefore})`;
    return descending ? same : `(${code} is not null or ${same})`;
  }
  const literal =
    typeof value === "number" || typeof value === "boolean"
      ? String(value)
      : `'${String(value).replaceAll("'", "''")}'`;
  if (typeof value === "boolean") {
    const same = `(${code} = ${literal} and ${sameBefore})`;
    const others = descending === value ? undefined : `${code} = ${!value}`;
    const nulls = descending ? `${code} is null` : undefined;
    return `(${[same, others, nulls].filter(Boolean).join(" or ")})`;
  }
  const same = `(${code} = ${literal} and ${sameBefore})`;
  return descending
    ? `(${code} is null or ${code} > ${literal} or ${same})`
    : `(${code} < ${literal} or ${same})`;
}

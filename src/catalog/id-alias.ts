import { type Column, isId } from "./state.js";

/**
 * Another name for svc_id, for clients of installations where the column of the object id has that name. It is a second
 * column over the same values, with the same id: where columns are found by their codes it is found, and whatever
 * lists columns lists it. A layer with a column of that code goes without.
 */

/**
 * The columns of a layer, with the alias after svc_id.
 * @param alias "" = none
 */
export function withIdAlias(columns: Column[], alias: string): Column[] {
  const at = columns.findIndex(isId);
  if (alias === "" || at < 0 || columns.some((column) => column.code === alias)) return columns;
  return columns.toSpliced(at + 1, 0, { ...columns[at]!, code: alias });
}

/** The columns with the object id once, as svc_id: for people, to whom it is one thing. */
export const withoutIdAlias = (columns: readonly Column[]): Column[] =>
  columns.filter((column) => !isId(column) || column.code === "svc_id");

/** The names under which the columns have the object id, svc_id first. */
export const idNames = (columns: readonly Column[]): string[] => columns.filter(isId).map(({ code }) => code);

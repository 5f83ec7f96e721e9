import { type Column, isId } from "./state.js";

/**
 * An alias of svc_id, for clients that expect another name of the object id. It is a second column with the same id and
 * values, so it is found by its code and included in lists of columns. A layer that has a column of that code has no alias.
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

/** The columns without the alias, for documents for people. */
export const withoutIdAlias = (columns: readonly Column[]): Column[] =>
  columns.filter((column) => !isId(column) || column.code === "svc_id");

/** Codes of the object id: svc_id, then the alias, if any. */
export const idNames = (columns: readonly Column[]): string[] => columns.filter(isId).map(({ code }) => code);

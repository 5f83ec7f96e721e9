/** Names of the indexes that search has on a column, and from how many objects on it has them. */

/** Layers of fewer objects are quicker looked through than kept in an index. */
export const indexedRows = 2_000;

/** @param columnId id of the column in the catalogue; migration 008 makes the same names */
export const indexNames = (columnId: number): { readonly words: string; readonly exact: string } => ({
  words: `s${columnId}_words`,
  exact: `s${columnId}_exact`,
});

import type { Column } from "../catalog/state.js";

/** The two indexes of a searched column: their names, and the SQL of what they hold. */

/** @param columnId id of the column in the catalogue; migration 008 makes the same names */
export const indexNames = (columnId: number): { readonly words: string; readonly exact: string } => ({
  words: `s${columnId}_words`,
  exact: `s${columnId}_exact`,
});

type Physical = Pick<Column, "physical">;

/** Folded value, which phrases are compared with; the index `words` has its trigrams. */
export const foldOf = ({ physical }: Physical): string => `mapwright.search_fold(${physical})`;

/** Terms of a value, for what trigrams miss: signs and single characters; in the index `words`, too. */
export const termsOf = (column: Physical): string => `mapwright.search_terms(${foldOf(column)})`;

/** Characters of a folded value that the index `exact` has. */
export const keyLength = 100;

/** What plain values are ordered by, and found by as a whole; the index `exact` of these. */
export const orderOf = (column: Physical): string => `left(${foldOf(column)},${keyLength}) collate "C"`;

/** The beginnings of all languages' values; the index `exact` of localised values. They have no order. */
export const valuesOf = ({ physical }: Physical): string => `mapwright.search_values(${physical})`;

import type { Column } from "../catalog/state.js";

/** The two indexes of a searched column: their names, and the SQL of the indexed expressions. */

/** @param columnId id of the column in the catalogue; migration 008 uses the same names */
export const indexNames = (columnId: number): { readonly words: string; readonly exact: string } => ({
  words: `s${columnId}_words`,
  exact: `s${columnId}_exact`,
});

type Physical = Pick<Column, "physical">;

/** Folded value, to compare with phrases; the index `words` has its trigrams. */
export const foldOf = ({ physical }: Physical): string => `mapwright.search_fold(${physical})`;

/** Terms of a value, for symbols and single characters, which trigrams do not cover; also in the index `words`. */
export const termsOf = (column: Physical): string => `mapwright.search_terms(${foldOf(column)})`;

/** Length of the prefix of a folded value in the index `exact`, in characters. */
export const keyLength = 100;

/** Sort key of non-localised values, also to find exact matches; expression of the index `exact`. */
export const orderOf = (column: Physical): string => `left(${foldOf(column)},${keyLength}) collate "C"`;

/**
 * Prefixes of the values in all languages; expression of the index `exact` for localised values, which are not sorted.
 */
export const valuesOf = ({ physical }: Physical): string => `mapwright.search_values(${physical})`;

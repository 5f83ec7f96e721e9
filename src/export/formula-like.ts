/**
 * Texts that spreadsheets take for formulas: those that begin with = + - @ or a tab. CSV files have an apostrophe in front of
 * them. So that a reader can take it away again, a text that begins with apostrophes and one of these characters after them
 * gets one more: of texts that begin like that, a reader takes away the first apostrophe. `'tis` is written as it is.
 */

/** SQL of whether a text gets an apostrophe; null for null. */
export const isFormulaLike = (text: string): string =>
  String.raw`left(ltrim(${text},''''),1) in ('=','+','-','@',E'\t')`;

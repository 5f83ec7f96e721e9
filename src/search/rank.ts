import type { Values } from "../features/sql.js";
import type { Phrase } from "./phrase.js";

/**
 * How well a text matches a phrase, among texts of the same priority: for each word of the phrase 3 if the text has it as a
 * whole word, 2 if a word of the text begins with it, 1 if it is elsewhere in the text.
 */

/** Further words do not count. */
const rankedWords = 8;

export const rankOfWholes = ({ needles }: Phrase): number => 3 * Math.min(needles.length, rankedWords);
export const rankOfBeginnings = ({ needles }: Phrase): number => 2 * Math.min(needles.length, rankedWords);

/** What to look for in a folded text, each worth one. */
const formsOf = (needle: string): readonly string[] => {
  const word = needle.trim();
  return [` ${word} `, ` ${word}`, needle];
};

/** @param folded the text, folded by `search_fold` */
export const rankOf = (folded: string, { needles }: Phrase): number =>
  needles
    .slice(0, rankedWords)
    .flatMap(formsOf)
    .filter((form) => folded.includes(form)).length;

/** SQL of the rank of a folded text. */
export const rankSql = (folded: string, { needles }: Phrase, values: Values): string =>
  needles
    .slice(0, rankedWords)
    .flatMap(formsOf)
    .map((form) => `(strpos(${folded},${values.bind(form)})>0)::int`)
    .join("+");

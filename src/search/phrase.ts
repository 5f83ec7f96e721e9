/** A search phrase as what is looked for: the whole, and its words. Everything in it is literal. */

export interface Phrase {
  /** The whole phrase as `search_fold` makes it. */
  readonly folded: string;
  /**
   * What a folded value holds when it has the word, for each word once. A word of three letters or more may stand
   * anywhere; a shorter one begins a word of the value, since any two letters are in nearly every text.
   */
  readonly needles: readonly string[];
}

/** Longest phrase that is looked at, in UTF-16 units; `search_fold` looks at no more of a value. */
const maxLength = 4_000;
/** Words that are looked at. */
const maxWords = 32;

/** The texts to fold for a phrase: the phrase itself, then its words. */
export function phraseTexts(phrase: string): string[] {
  // The cut may have gone through a surrogate pair.
  const whole = phrase.slice(0, maxLength).replace(/[\uD800-\uDBFF]$/, "");
  const words = whole.split(/\s+/u).filter(Boolean);
  return [whole, ...new Set(words.slice(0, 4 * maxWords))];
}

/** @param folds what `search_fold` makes of the texts that `phraseTexts` gave */
export function readPhrase(folds: readonly string[]): Phrase {
  const words = folds.slice(1).map((fold) => fold.trim());
  const needles = new Set(words.filter(Boolean).map(needle));
  return { folded: folds[0] ?? "", needles: [...needles].slice(0, maxWords) };
}

/** A needle begins with a space when the word's first run of letters is short: then it has to begin a word. */
function needle(word: string): string {
  const first = /[\p{L}\p{N}\p{M}]+/u.exec(word);
  return first && [...first[0]].length >= 3 ? word : ` ${word}`;
}

/** The needles with letters or digits, or all if none has: nearly every value has signs, which alone tell little. */
export function lettered(needles: readonly string[]): readonly string[] {
  const words = needles.filter((text) => /[\p{L}\p{N}]/u.test(text));
  return words.length > 0 ? words : needles;
}

/** A LIKE pattern for values that hold the text as it is. */
export const containing = (text: string): string => `%${text.replace(/[\\%_]/g, "\\$&")}%`;

/** 30 = the value is the phrase, 20 = it has all the words, 10 = it has some. */
export type Priority = 30 | 20 | 10;

/** The priority of a text; undefined when it has nothing of the phrase. @param folded what `search_fold` makes of it */
export function priorityOf(folded: string, phrase: Phrase): Priority | undefined {
  if (folded.trim() === "") return undefined;
  if (folded === phrase.folded) return 30;
  if (!phrase.needles.some((part) => folded.includes(part))) return undefined;
  return phrase.needles.every((part) => folded.includes(part)) ? 20 : 10;
}

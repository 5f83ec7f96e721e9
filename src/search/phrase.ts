/** Parsing of search phrases: the whole phrase and its words. There are no special characters. */

export interface Phrase {
  /** The whole phrase, folded by `search_fold`. */
  readonly folded: string;
  /**
   * Substrings to find in folded values, one for each distinct word. A word of three letters or more matches anywhere;
   * a shorter one only matches the beginning of a word, because nearly every text contains any two letters.
   */
  readonly needles: readonly string[];
}

/** Maximum length of a phrase, in UTF-16 code units; `search_fold` truncates values to the same length. */
const maxLength = 4_000;
/** Maximum number of words. */
const maxWords = 32;

/** The texts to fold for a phrase: the phrase itself, then its words. */
export function phraseTexts(phrase: string): string[] {
  // Truncation may have split a surrogate pair.
  const whole = phrase.slice(0, maxLength).replace(/[\uD800-\uDBFF]$/, "");
  const words = whole.split(/\s+/u).filter(Boolean);
  return [whole, ...new Set(words.slice(0, 4 * maxWords))];
}

/** @param folds results of `search_fold` for the texts of `phraseTexts` */
export function readPhrase(folds: readonly string[]): Phrase {
  const words = folds.slice(1).flatMap((fold) => partsOf(fold.trim()));
  // Signs that stand alone between words are like those beside them.
  const told = words.some(hasLetters) ? words.filter((word) => !word.split(" ").every(isAround)) : words;
  const needles = new Set(told.filter(Boolean).map(needle));
  return { folded: folds[0] ?? "", needles: [...needles].slice(0, maxWords) };
}

/** Signs that people write around and between words, and that names may have or lack: `Paris, France`, `Main St.`, `New-York`. */
const around: ReadonlySet<string> = new Set(",;.:!?()[]{}<>\"'-");
const isAround = (token: string | undefined): boolean => token !== undefined && around.has(token);
/** Those that divide a word. Between digits they belong to a number: 1,5 and 12-14, and -5. */
const dividing: ReadonlySet<string> = new Set(",;-");

const hasLetters = (text: string): boolean => /[\p{L}\p{N}]/u.test(text);

/** What to look for of a folded word, in which signs stand apart: its words without the signs around. Signs alone stay. */
function partsOf(word: string): readonly string[] {
  const tokens = word.split(" ");
  const parts: string[] = [];
  let start = 0;
  for (let at = 0; at <= tokens.length; at++) {
    const [before, token, after] = [tokens[at - 1], tokens[at], tokens[at + 1]];
    const isOfNumber = (before === undefined || /\p{N}$/u.test(before)) && /^\p{N}/u.test(after ?? "");
    if (token !== undefined && (!dividing.has(token) || isOfNumber)) continue;
    parts.push(withoutEnds(tokens.slice(start, at)));
    start = at + 1;
  }
  const spoken = parts.filter(hasLetters);
  return spoken.length > 0 ? spoken : [word];
}

/** Without the signs at its ends, but for the one before a number. */
function withoutEnds(tokens: readonly string[]): string {
  let [start, end] = [0, tokens.length];
  while (start < end && isAround(tokens[start]) && tokens[start] !== "-") start++;
  while (start < end && isAround(tokens[end - 1])) end--;
  return tokens.slice(start, end).join(" ");
}

/**
 * The needle of a word. If its first run of letters is short, a leading space makes it match only beginnings of words.
 */
function needle(word: string): string {
  const first = /[\p{L}\p{N}\p{M}]+/u.exec(word);
  return first && [...first[0]].length >= 3 ? word : ` ${word}`;
}

/** The needles with letters or digits; all if none has any. Symbols alone are not selective. */
export function lettered(needles: readonly string[]): readonly string[] {
  const words = needles.filter(hasLetters);
  return words.length > 0 ? words : needles;
}

/**
 * The needles of which a value has to have some: not those that begin with a digit, if others have letters. Many values begin
 * with the number of a house in an address.
 */
export function telling(needles: readonly string[]): readonly string[] {
  const words = needles.filter((text) => !/^[^\p{L}\p{N}]*\p{N}/u.test(text));
  return words.some((text) => /\p{L}/u.test(text)) ? words : needles;
}

/** LIKE pattern for values that contain the text. */
export const containing = (text: string): string => `%${text.replace(/[\\%_]/g, "\\$&")}%`;

/** 30 = the value equals the phrase, 20 = it contains all words, 10 = it contains some that tell. */
export type Priority = 30 | 20 | 10;

/** The priority of a text; undefined when nothing matches. @param folded the text, folded by `search_fold` */
export function priorityOf(folded: string, phrase: Phrase): Priority | undefined {
  if (folded.trim() === "") return undefined;
  if (folded === phrase.folded) return 30;
  const has = (part: string) => folded.includes(part);
  if (phrase.needles.every(has)) return 20;
  return telling(phrase.needles).some(has) ? 10 : undefined;
}

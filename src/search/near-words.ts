import { lettered, type Phrase } from "./phrase.js";

/**
 * Words with a small typing error: a letter too many, too few or another one, or two that have changed places. For phrases
 * that nothing matches.
 */

/** Shorter words are too like others; longer ones would have too many variants. */
const [shortest, longest] = [4, 24];
/** Words of one phrase that are looked for so. */
const mostWords = 4;

/** Letters that may be missing or meant, by script. Folded texts have no accents. */
const alphabets = [
  "abcdefghijklmnopqrstuvwxyz",
  "абвгдежзийклмнопрстуфхцчшщъыьэюя",
  "αβγδεζηθικλμνξοπρστυφχψω",
].map((letters) => [...letters]);

/** A word of a phrase. */
export interface NearWord {
  /** Folded words that are meant, perhaps the word itself. */
  readonly variants: readonly string[];
  /** The same as an array of PostgreSQL, made once for all columns. */
  readonly array: string;
  /** Regular expression for a folded text that has one of them. */
  readonly pattern: string;
}

/** The words of a phrase with their variants; none when it has a word that is no word of letters, or too many. */
export function nearWords(phrase: Phrase): readonly NearWord[] {
  const words = lettered(phrase.needles).map((needle) => needle.trim());
  // One number for another is no typing error.
  const isNear = (word: string) =>
    word.length <= 2 * longest &&
    [...word].length >= shortest &&
    [...word].length <= longest &&
    !/\p{N}/u.test(word);
  if (words.length > mostWords || !words.some(isNear)) return [];
  if (words.some((word) => !/^[\p{L}\p{N}\p{M}]+$/u.test(word))) return [];
  return words.map((word) => (isNear(word) ? nearWord([...word]) : withVariants([word], ` ${word} `)));
}

/** @param variants words of letters, in which nothing needs escaping */
const withVariants = (variants: readonly string[], pattern: string): NearWord => ({
  variants,
  array: `{"${variants.join('","')}"}`,
  pattern,
});

function nearWord(letters: readonly string[]): NearWord {
  // A head and the tail of the same number are the word.
  const heads = Array.from({ length: letters.length + 1 }, (_, at) => letters.slice(0, at).join(""));
  const tails = heads.map((_, at) => letters.slice(at).join(""));
  const word = tails[0]!;
  const known = new Set([word]);
  for (let at = 0; at < letters.length; at++) {
    known.add(heads[at]! + tails[at + 1]!);
    if (at > 0) known.add(heads[at - 1]! + letters[at]! + letters[at - 1]! + tails[at + 1]!);
  }
  const patterns = new Set(known);
  const addWith = (words: Set<string>, letter: string) => {
    for (let at = 0; at <= letters.length; at++) {
      words.add(heads[at]! + letter + tails[at]!);
      if (at < letters.length) words.add(heads[at]! + letter + tails[at + 1]!);
    }
  };
  for (const letter of alphabetOf(letters)) addWith(known, letter);
  addWith(patterns, "[^ ]");
  return withVariants([...known], ` (${[...patterns].join("|")}) `);
}

/** The letters of the script in which most of the word is written: one of another script is the error then. */
function alphabetOf(letters: readonly string[]): readonly string[] {
  let most = 0;
  let found: readonly string[] = [];
  for (const alphabet of alphabets) {
    const count = letters.filter((letter) => alphabet.includes(letter)).length;
    if (count > most) [most, found] = [count, alphabet];
  }
  return found;
}

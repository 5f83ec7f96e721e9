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
  /** Regular expression for a folded text that has one of them. */
  readonly pattern: string;
}

/** The words of a phrase with their variants; none when it has a word that is no word of letters, or too many. */
export function nearWords(phrase: Phrase): readonly NearWord[] {
  const words = lettered(phrase.needles).map((needle) => needle.trim());
  // One number for another is no typing error.
  const isNear = (word: string) =>
    [...word].length >= shortest && [...word].length <= longest && !/\p{N}/u.test(word);
  if (words.length > mostWords || !words.some(isNear)) return [];
  if (words.some((word) => !/^[\p{L}\p{N}\p{M}]+$/u.test(word))) return [];
  return words.map((word) =>
    isNear(word) ? nearWord([...word]) : { variants: [word], pattern: ` ${word} ` },
  );
}

function nearWord(letters: readonly string[]): NearWord {
  const changed = (at: number, removed: number, ...added: readonly string[]) =>
    [...letters.slice(0, at), ...added, ...letters.slice(at + removed)].join("");
  const places = letters.map((_, at) => at);
  const fewer = places.map((at) => changed(at, 1));
  const turned = places.slice(1).map((at) => changed(at - 1, 2, letters[at]!, letters[at - 1]!));
  const word = letters.join("");
  const others = alphabetOf(letters);
  const variants = [
    word,
    ...fewer,
    ...turned,
    ...others.flatMap((letter) => [
      ...places.map((at) => changed(at, 1, letter)),
      ...[...places, letters.length].map((at) => changed(at, 0, letter)),
    ]),
  ];
  const any = "[^ ]";
  const patterns = [
    word,
    ...fewer,
    ...turned,
    ...places.map((at) => changed(at, 1, any)),
    ...[...places, letters.length].map((at) => changed(at, 0, any)),
  ];
  return { variants: [...new Set(variants)], pattern: ` (${[...new Set(patterns)].join("|")}) ` };
}

/** The letters of the scripts that the word is written in. */
const alphabetOf = (letters: readonly string[]): readonly string[] =>
  alphabets.flatMap((alphabet) => (letters.some((letter) => alphabet.includes(letter)) ? alphabet : []));

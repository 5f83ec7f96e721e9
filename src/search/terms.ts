/** Which terms (`search_terms`) and trigrams of the index `words` match a needle. */

/** Characters that `search_fold` separates as words: symbols, and those of scripts without spaces. */
const singleCharacterWord = /^(?:[^\p{L}\p{N}\p{M}\p{Z}]|[\u2e80-\ud7ff\uf900-\ufaff\u{20000}-\u{3ffff}])$/u;

/** Maximum number of terms in one condition. */
const maxTerms = 64;

/**
 * Terms of every value that contains these needles: single-character words, and pairs of these with their neighbours.
 */
export function requiredTerms(needles: readonly string[]): string[] {
  const terms = needles.flatMap((needle) => {
    const words = wordsOf(needle);
    return words.flatMap((word, i) => {
      const before = words[i - 1];
      const own = singleCharacterWord.test(word) ? [word] : [];
      const isPair =
        before !== undefined && (singleCharacterWord.test(before) || singleCharacterWord.test(word));
      return isPair ? [...own, pair([...before], [...word])] : own;
    });
  });
  return [...new Set(terms)].slice(0, maxTerms);
}

/** Whether a needle has a word that may match part of a longer one, for which trigrams are needed. */
export const needsTrigrams = (needle: string): boolean =>
  wordsOf(needle).some((word) => !singleCharacterWord.test(word));

const wordsOf = (needle: string): string[] => needle.split(" ").filter(Boolean);

/**
 * The term of two adjacent words, one a single-character word: with three characters of the other, or one if shorter.
 */
const pair = (before: readonly string[], after: readonly string[]): string =>
  `${before.slice(before.length > 2 ? -3 : -1).join("")} ${after.slice(0, after.length > 2 ? 3 : 1).join("")}`;

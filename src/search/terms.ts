/** What the index `words` can tell of a needle, by terms (`search_terms`) and by trigrams. */

/** Characters that `search_fold` makes words of their own: signs, and those of scripts without spaces. */
const alone = /^(?:[^\p{L}\p{N}\p{M}\p{Z}]|[\u2e80-\ud7ff\uf900-\ufaff\u{20000}-\u{3ffff}])$/u;

/** Terms that are looked for at once. */
const maxTerms = 64;

/** Terms that every value has that holds these needles: words that stand alone in any value, and what is beside them. */
export function requiredTerms(needles: readonly string[]): string[] {
  const terms = needles.flatMap((needle) => {
    const words = wordsOf(needle);
    return words.flatMap((word, i) => {
      const before = words[i - 1];
      const own = alone.test(word) ? [word] : [];
      const isPair = before !== undefined && (alone.test(before) || alone.test(word));
      return isPair ? [...own, pair([...before], [...word])] : own;
    });
  });
  return [...new Set(terms)].slice(0, maxTerms);
}

/** Whether a needle has a word that may be part of a longer one: terms do not tell of it, trigrams do. */
export const needsTrigrams = (needle: string): boolean => wordsOf(needle).some((word) => !alone.test(word));

const wordsOf = (needle: string): string[] => needle.split(" ").filter(Boolean);

/** The term of two neighbours of which one stands alone: three characters of the other, or one where it is shorter. */
const pair = (before: readonly string[], after: readonly string[]): string =>
  `${before.slice(before.length > 2 ? -3 : -1).join("")} ${after.slice(0, after.length > 2 ? 3 : 1).join("")}`;

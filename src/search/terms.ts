/** What the index on terms (`search_terms`) and the one on trigrams can tell of a needle. */

/** Characters that `search_fold` makes words of their own: signs, and those of scripts without spaces. */
const alone = /^(?:[^\p{L}\p{N}\p{M}\p{Z}]|[\u2e80-\ud7ff\uf900-\ufaff\u{20000}-\u{3ffff}])$/u;

/** Terms that are looked for at once. */
const maxTerms = 64;

/** Terms that every value has that holds these needles. */
export function sureTerms(needles: readonly string[]): string[] {
  return distinct(needles.flatMap(surely));
}

/** Terms of the values that have every word of these needles as a whole. */
export function wholeTerms(needles: readonly string[]): string[] {
  return distinct(needles.flatMap((needle) => [...wordsOf(needle), ...surely(needle)]));
}

/**
 * The needles in the order in which the index finds them soonest: the rarest first, for the others are then looked for
 * where it is. (Three words that never meet take 21 ms in this order and 62 ms in the opposite one.)
 * @param shares shares of values that have these words as wholes; a word that is not in it is rare
 */
export function rarestFirst(needles: readonly string[], shares: ReadonlyMap<string, number>): string[] {
  const share = (needle: string) => Math.min(...wordsOf(needle).map((word) => shares.get(word) ?? 0));
  return [...needles].sort((one, other) => share(one) - share(other) || other.length - one.length);
}

/** Whether the needle has a word that may go on in the value: terms do not tell of it, trigrams do. */
export const isOpen = (needle: string): boolean => wordsOf(needle).some((word) => !alone.test(word));

const wordsOf = (needle: string): string[] => needle.split(" ").filter(Boolean);

const distinct = (terms: readonly string[]): string[] => [...new Set(terms)].slice(0, maxTerms);

/** The words of one needle that stand alone in any value, and what stands beside them. */
function surely(needle: string): string[] {
  const words = wordsOf(needle).map((word) => ({ signs: [...word], alone: alone.test(word) }));
  return words.flatMap((word, i) => {
    const before = words[i - 1];
    const own = word.alone ? [word.signs.join("")] : [];
    return before && (before.alone || word.alone) ? [...own, pair(before.signs, word.signs)] : own;
  });
}

/** The term of two neighbours of which one stands alone: three characters of the other, or one where it is shorter. */
const pair = (before: readonly string[], after: readonly string[]): string =>
  `${before.slice(before.length > 2 ? -3 : -1).join("")} ${after.slice(0, after.length > 2 ? 3 : 1).join("")}`;

/** Names that were meant by misspelt ones, for messages. */

const mostFar = 3;
/** Longer names, and more of them, are not compared: the time grows with both lengths and the number. */
const mostCharacters = 60;
const mostNames = 1_000;

/** The known name that is most like one that there is not, or begins with it; undefined if none is. Letter case does not count. */
function nearName(name: string, known: Iterable<string>): string | undefined {
  if (name.length > mostCharacters) return undefined;
  const lower = name.toLowerCase();
  // Of short names fewer letters may differ: else any two would be alike.
  let least = Math.min(mostFar, Math.ceil(name.length / 3)) + 1;
  let near: string | undefined;
  let looked = 0;
  for (const one of known) {
    if (++looked > mostNames) break;
    const begun = one.toLowerCase().startsWith(`${lower}_`);
    if (!begun && Math.abs(one.length - name.length) >= least) continue;
    const far = begun ? 1 : distance(lower, one.toLowerCase());
    if (far < least) [least, near] = [far, one];
  }
  return near;
}

/**
 * The end of a sentence that says that there is no such name.
 * @param otherwise where no name is like it
 */
export function didYouMean(name: string, known: Iterable<string>, otherwise = "."): string {
  const near = nearName(name, known);
  return near === undefined ? otherwise : `; did you mean ${near}?`;
}

/** Characters to insert, delete or replace between two texts (Levenshtein). */
function distance(one: string, other: string): number {
  let row = Array.from({ length: other.length + 1 }, (_, at) => at);
  for (let i = 1; i <= one.length; i++) {
    const next = [i];
    for (let j = 1; j <= other.length; j++)
      next.push(Math.min(next[j - 1]! + 1, row[j]! + 1, row[j - 1]! + (one[i - 1] === other[j - 1] ? 0 : 1)));
    row = next;
  }
  return row[other.length]!;
}

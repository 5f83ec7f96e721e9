import type { Reading } from "./reading/read-file.js";

/** What is said of the columns of a file, as parameters of its import. */

/** Whether both say the same. */
export const isSame = (one: Reading, other: Reading): boolean =>
  one.encoding === other.encoding &&
  one.srs === other.srs &&
  JSON.stringify(fieldsOf(one)) === JSON.stringify(fieldsOf(other));

/** Parameters of an import that may be too long for an address. */
export function fieldsOf({ coordinates, columns = {} }: Reading): Readonly<Record<string, string>> {
  const wishes = Object.entries(columns).sort(([one], [other]) => (one < other ? -1 : 1));
  return {
    ...(coordinates && { coordinates: JSON.stringify(coordinates) }),
    ...(wishes.length > 0 && { columns: JSON.stringify(Object.fromEntries(wishes)) }),
  };
}

/** The fewest of these things, in their order, with which it still goes wrong: none of them can be left out alone. */
export function shortest<T>(things: readonly T[], goesWrong: (some: readonly T[]) => boolean): readonly T[] {
  let left = things;
  for (let at = 0; at < left.length; ) {
    const without = left.filter((_, index) => index !== at);
    if (goesWrong(without)) {
      left = without;
      // What was needed beside it may not be needed any more.
      at = 0;
    } else at++;
  }
  return left;
}

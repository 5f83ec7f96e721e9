/** Shrinks a failing list to one that still fails, and of which no item can be left out. */
export function shortest<T>(items: readonly T[], fails: (some: readonly T[]) => boolean): readonly T[] {
  let left = items;
  for (let at = 0; at < left.length; ) {
    const without = left.filter((_, index) => index !== at);
    if (fails(without)) {
      left = without;
      // Items that were needed together with it may not be needed any more.
      at = 0;
    } else at++;
  }
  return left;
}

/**
 * Whether a quantity of a process, such as its memory, grows without end. Garbage and work make peaks of any height; what
 * leaks also raises the valleys. So after a third of the process' life, which counts as its warm-up, the rest is cut
 * into quarters, and it grows when the least value of each is above that of the one before, and the last by more than
 * `share` and `least` above the first.
 */

export interface Growth {
  readonly isFlat: boolean;
  /** Least value of the first and of the last quarter. */
  readonly first: number;
  readonly last: number;
}

const quarters = 4;
/** Fewer values in a quarter say nothing. */
const fewest = 5;

/** @returns undefined when there are too few values to tell */
export function growth(
  values: readonly number[],
  { share, least }: { readonly share: number; readonly least: number },
): Growth | undefined {
  const settled = values.slice(Math.ceil(values.length / 3));
  const size = Math.floor(settled.length / quarters);
  if (size < fewest) return undefined;
  const valleys = Array.from({ length: quarters }, (_, quarter) =>
    Math.min(...settled.slice(settled.length - (quarters - quarter) * size).slice(0, size)),
  );
  const [first, last] = [valleys[0]!, valleys.at(-1)!];
  const rises = valleys.every((value, index) => index === 0 || value > valleys[index - 1]!);
  return { isFlat: !(rises && last - first > Math.max(least, share * first)), first, last };
}

/** Ours and a reference, measured in turns: a machine that slows down meanwhile slows both. */

/** What one round of one side did. */
export interface Round {
  /** Requests, tiles or keys a second of wall-clock time. */
  readonly perSecond: number;
  /** The same a second of CPU time of the processes that count. */
  readonly perCpuSecond: number;
}

/** A figure of both sides. */
export interface Sides {
  /** Median of the rounds. */
  readonly ours: number;
  readonly reference: number;
  /** Median of ours to the reference's, round by round: turns that follow each other meet the same machine. */
  readonly ratio: number;
}

export type Compared = Readonly<Record<keyof Round, Sides>>;

/**
 * Runs the sides in the order A B, B A, A B, … so that neither always comes after the other. Before several rounds
 * comes a turn of each that does not count: compilers, caches and connections take that long to settle.
 */
export async function compare(
  rounds: number,
  ours: () => Promise<Round>,
  reference: () => Promise<Round>,
): Promise<Compared> {
  if (rounds > 1) {
    await ours();
    await reference();
  }
  const pairs: { ours: Round; reference: Round }[] = [];
  for (let round = 0; round < rounds; round++) {
    if (round % 2 === 0) pairs.push({ ours: await ours(), reference: await reference() });
    else pairs.push({ reference: await reference(), ours: await ours() });
  }
  const sides = (figure: keyof Round): Sides => ({
    ours: median(pairs.map((pair) => pair.ours[figure])),
    reference: median(pairs.map((pair) => pair.reference[figure])),
    ratio: median(pairs.map((pair) => pair.ours[figure] / pair.reference[figure])),
  });
  return { perSecond: sides("perSecond"), perCpuSecond: sides("perCpuSecond") };
}

/** The middle value; of an even number the mean of the two in the middle. @throws Error when there is none */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((one, other) => one - other);
  const half = sorted.length >> 1;
  const upper = sorted[half];
  if (upper === undefined) throw new Error("There is no median of nothing.");
  return sorted.length % 2 === 1 ? upper : (sorted[half - 1]! + upper) / 2;
}

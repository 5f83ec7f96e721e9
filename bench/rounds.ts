/** Ours and a reference, measured in turns: a machine that slows down meanwhile slows both. */

/** What one round of one side did. */
export interface Round {
  /** Requests, tiles or keys a second of wall-clock time. */
  readonly perSecond: number;
  /** The same a second of CPU time of the processes that count. */
  readonly perCpuSecond: number;
}

/** Two sides, each the median of its rounds. */
export interface Compared {
  readonly ours: Round;
  readonly reference: Round;
}

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
  const results = { ours: [] as Round[], reference: [] as Round[] };
  for (let round = 0; round < rounds; round++) {
    const first = round % 2 === 0;
    if (first) results.ours.push(await ours());
    results.reference.push(await reference());
    if (!first) results.ours.push(await ours());
  }
  return { ours: middle(results.ours), reference: middle(results.reference) };
}

const middle = (rounds: readonly Round[]): Round => ({
  perSecond: median(rounds.map((round) => round.perSecond)),
  perCpuSecond: median(rounds.map((round) => round.perCpuSecond)),
});

/** The middle value; of an even number the mean of the two in the middle. @throws Error when there is none */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((one, other) => one - other);
  const half = sorted.length >> 1;
  const upper = sorted[half];
  if (upper === undefined) throw new Error("There is no median of nothing.");
  return sorted.length % 2 === 1 ? upper : (sorted[half - 1]! + upper) / 2;
}

import { type Row, unclear } from "./report.js";
import { median, medianInterval } from "./statistics.js";

/**
 * Ours and references, measured in turns: a machine that slows down meanwhile slows all of them. What counts is the
 * ratio of ours to a reference round by round, for turns that follow each other meet the same machine.
 */

/** How many rounds are run. */
export interface Plan {
  /** At first, and again each time that the result is unclear. */
  readonly rounds: number;
  /** In all. */
  readonly most: number;
}

/** A figure that every round gives of every side. */
export interface Figure<Outcome> {
  readonly measure: string;
  readonly unit: string;
  readonly of: (outcome: Outcome) => number;
  /** Less of it is better. */
  readonly less?: boolean;
  /** Least ratio; absent: told for information. */
  readonly gate?: number;
  /** Which of the references it is compared with; default the first. */
  readonly reference?: number;
}

/**
 * Runs the sides in the order A B, B A, A B, … so that none always comes after the other. Before several rounds comes
 * a turn of each that does not count: compilers, caches and connections take that long to settle. All others count.
 *
 * Rounds are added while the noise of a figure leaves open on which side of its gate it lies. A figure that seems too
 * low gets no other chance than one that seems high enough: either would shift the result.
 */
export async function compare<Outcome>(
  { rounds, most }: Plan,
  ours: () => Promise<Outcome>,
  references: readonly (() => Promise<Outcome>)[],
  figures: readonly Figure<Outcome>[],
): Promise<Row[]> {
  const sides = [ours, ...references];
  const outcomes: Outcome[][] = sides.map(() => []);
  if (rounds > 1) for (const side of sides) await side();
  const turn = async (side: number) => outcomes[side]!.push(await sides[side]!());
  const order = [...sides.keys()];
  for (let done = 0; ; ) {
    for (const until = Math.min(most, done + rounds); done < until; done++) {
      for (const side of done % 2 === 0 ? order : order.toReversed()) await turn(side);
    }
    const rows = figures.map((figure) => rowOf(figure, most, outcomes));
    if (done >= most || !rows.some(unclear)) return rows;
  }
}

function rowOf<Outcome>(figure: Figure<Outcome>, most: number, outcomes: readonly Outcome[][]): Row {
  const { measure, unit, of, less, gate } = figure;
  const ours = outcomes[0]!.map(of);
  const reference = outcomes[1 + (figure.reference ?? 0)]!.map(of);
  const ratios = ours.map((value, round) => (less ? reference[round]! / value : value / reference[round]!));
  return {
    measure,
    unit,
    ours: median(ours),
    reference: median(reference),
    ratio: median(ratios),
    rounds: { done: ratios.length, most, interval: medianInterval(ratios) },
    ...(gate === undefined ? {} : { gate }),
  };
}

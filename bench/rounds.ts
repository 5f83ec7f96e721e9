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
  /** Undefined: the side does not tell. Ours always does. */
  readonly of: (outcome: Outcome) => number | undefined;
  /** Less of it is better. */
  readonly less?: boolean;
  /** Least ratio; absent: told for information. */
  readonly gate?: number;
  /** Which of the references it is compared with; default the first. */
  readonly reference?: number;
}

/**
 * Runs the sides, ours alone if there are no references, in the order A B, B A, A B, … so that none always comes after the other. Before several rounds comes
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
  const told = (side: readonly Outcome[] | undefined): readonly number[] => {
    const values = side?.map(of) ?? [];
    return values.every((value) => value !== undefined) ? values : [];
  };
  const ours = told(outcomes[0]);
  const reference = told(outcomes[1 + (figure.reference ?? 0)]);
  const row = { measure, unit, ours: median(ours), ...(gate === undefined ? {} : { gate }) };
  if (reference.length === 0)
    return { ...row, rounds: { done: ours.length, most, interval: undefined, range: undefined } };
  const ratios = ours.map((value, round) => (less ? reference[round]! / value : value / reference[round]!));
  return {
    ...row,
    reference: median(reference),
    ratio: median(ratios),
    rounds: {
      done: ratios.length,
      most,
      interval: medianInterval(ratios),
      range: { low: Math.min(...ratios), high: Math.max(...ratios) },
    },
  };
}

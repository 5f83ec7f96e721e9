import type { Interval } from "./statistics.js";

/** What the bench found, and whether it is good enough. */

export interface Row {
  readonly measure: string;
  readonly unit: string;
  /** Median of the rounds. */
  readonly ours: number;
  /** Absent: there is none, or it does not tell. */
  readonly reference?: number;
  /** How good ours is beside the reference: above 1 = better. The median of the rounds' ratios. */
  readonly ratio?: number;
  /** Absent: there was nothing to repeat. */
  readonly rounds?: Rounds;
  /** Least ratio; absent = told for information. */
  readonly gate?: number;
  /** The gate is not about time, so it holds on any machine and with any amount of data. */
  readonly exact?: boolean;
}

export interface Rounds {
  readonly done: number;
  /** More were not allowed. */
  readonly most: number;
  /** The noise: where the ratio lies with a certainty of 95 %; undefined after too few rounds to tell. */
  readonly interval: Interval | undefined;
  /** The least and the greatest ratio; undefined without a reference. */
  readonly range: Interval | undefined;
}

/** Whether the row's gate, if it has one, is kept. A ratio that is no number keeps none. */
const kept = (row: Row): boolean => row.gate === undefined || (row.ratio ?? Number.NaN) >= row.gate;

/** Whether the noise leaves open on which side of its gate a row lies. */
export function unclear({ gate, rounds }: Row): boolean {
  if (gate === undefined || !rounds) return false;
  const { interval } = rounds;
  return !interval || (interval.low < gate && interval.high >= gate);
}

/** Rows whose gate breaks; on a small set of data only those that are not about time count. */
export const broken = (rows: readonly Row[], small: boolean): Row[] =>
  rows.filter((row) => !kept(row) && (!small || row.exact === true));

/** The rows as lines of text in columns. */
export function table(rows: readonly Row[]): string {
  const cells = [
    ["measure", "unit", "ours", "reference", "ratio", "± (95 %)", "min–max", "rounds", "gate", "ok"],
    ...rows.map((row) => [
      row.measure,
      row.unit,
      figure(row.ours),
      row.reference === undefined ? none : figure(row.reference),
      row.ratio === undefined ? none : row.ratio.toFixed(2),
      fromTo(row.rounds?.interval),
      fromTo(row.rounds?.range),
      row.rounds ? `${row.rounds.done} of ${row.rounds.most}` : "",
      row.gate === undefined ? "" : `${row.exact ? "=" : "≥"} ${row.gate}`,
      verdict(row),
    ]),
  ];
  const widths = cells[0]!.map((_, column) => Math.max(...cells.map((line) => line[column]!.length)));
  return cells
    .map((line) =>
      line
        .map((cell, column) =>
          column >= 2 && column <= 4 ? cell.padStart(widths[column]!) : cell.padEnd(widths[column]!),
        )
        .join("  ")
        .trimEnd(),
    )
    .join("\n");
}

const none = "–";

const fromTo = (interval: Interval | undefined): string =>
  interval ? `${interval.low.toFixed(2)}–${interval.high.toFixed(2)}` : "";

/** The median decides; what the noise leaves open is said with it. */
function verdict(row: Row): string {
  if (row.gate === undefined) return "";
  return `${kept(row) ? "yes" : "NO"}${unclear(row) ? ", unsure" : ""}`;
}

const figure = (value: number): string =>
  value >= 1000
    ? Math.round(value).toLocaleString("en-US")
    : value.toFixed(value >= 100 || Number.isInteger(value) ? 0 : value >= 10 ? 1 : 2);

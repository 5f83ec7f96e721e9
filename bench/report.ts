import type { Sides } from "./rounds.js";

/** What the bench found, and whether it is good enough. */

export interface Row {
  readonly measure: string;
  readonly unit: string;
  readonly ours: number;
  readonly reference: number;
  /** How good ours is beside the reference: above 1 = better. */
  readonly ratio: number;
  /** Least ratio; absent = told for information. */
  readonly gate?: number;
  /** The gate is not about time, so it holds on any machine and with any amount of data. */
  readonly exact?: boolean;
}

/** A measure of which more is better. */
export const rate = (measure: string, unit: string, sides: Sides, gate?: number): Row => ({
  measure,
  unit,
  ...sides,
  ...(gate === undefined ? {} : { gate }),
});

/** A measure of which less is better. */
export const cost = (measure: string, unit: string, sides: Sides, gate?: number): Row =>
  rate(measure, unit, { ...sides, ratio: 1 / sides.ratio }, gate);

/** Whether the row's gate, if it has one, is kept. A ratio that is no number keeps none. */
export const kept = (row: Row): boolean => row.gate === undefined || row.ratio >= row.gate;

/** Rows whose gate breaks; on a small set of data only those that are not about time count. */
export const broken = (rows: readonly Row[], small: boolean): Row[] =>
  rows.filter((row) => !kept(row) && (!small || row.exact === true));

/** The rows as lines of text in columns. */
export function table(rows: readonly Row[]): string {
  const cells = [
    ["measure", "unit", "ours", "reference", "ratio", "gate", "ok"],
    ...rows.map((row) => [
      row.measure,
      row.unit,
      figure(row.ours),
      figure(row.reference),
      row.ratio.toFixed(2),
      row.gate === undefined ? "" : `${row.exact ? "=" : "≥"} ${row.gate}`,
      row.gate === undefined ? "" : kept(row) ? "yes" : "NO",
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

const figure = (value: number): string =>
  value >= 1000
    ? Math.round(value).toLocaleString("en-US")
    : value.toFixed(value >= 100 || Number.isInteger(value) ? 0 : 1);

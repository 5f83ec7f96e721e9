import type { Test } from "tap";
import type { Row } from "../../bench/report.js";

/** Little data, for a look at whether everything runs. */
export const small = { small: true, only: [], against: undefined, work: undefined };

export function haveFigures(t: Test, rows: readonly Row[]): void {
  for (const row of rows) {
    t.ok(row.ours > 0 && Number.isFinite(row.ours), `${row.measure} (${row.unit}): ours is a figure`);
    // Nothing to compare with.
    if (row.reference === undefined) continue;
    t.ok(
      row.reference > 0 && Number.isFinite(row.reference),
      `${row.measure} (${row.unit}): so is the reference`,
    );
  }
}

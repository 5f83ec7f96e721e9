import t from "tap";
import { bench } from "../../bench/bench.js";
import { broken } from "../../bench/report.js";

t.test("each measure of the bench runs and gives figures", async (t) => {
  const rows = await bench({ small: true, only: [], work: undefined, progress: (text) => t.comment(text) });
  t.equal(rows.length, 31, "there is a row for each figure");
  for (const row of rows) {
    t.ok(row.ours > 0 && Number.isFinite(row.ours), `${row.measure} (${row.unit}): ours is a figure`);
    t.ok(
      row.reference > 0 && Number.isFinite(row.reference),
      `${row.measure} (${row.unit}): so is the reference`,
    );
  }
  t.same(broken(rows, true), [], "the gates that are not about time are kept");
});

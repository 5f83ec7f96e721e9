import t from "tap";
import { bench } from "../../bench/bench.js";
import { broken } from "../../bench/report.js";
import { haveFigures, small } from "./support.js";

// It measures, so it takes long where the machine has other work.
t.setTimeout(1_500_000);

t.test("each measure of the bench runs and gives figures", async (t) => {
  const rows = await bench({ ...small, progress: (text) => t.comment(text) });
  t.equal(rows.length, 185, "there is a row for each figure");
  haveFigures(t, rows);
  t.same(broken(rows, true), [], "the gates that are not about time are kept");
});

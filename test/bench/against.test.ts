import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t from "tap";
import { ownFolder } from "../../bench/against/build.js";
import { bench } from "../../bench/bench.js";
import { haveFigures, small } from "./support.js";

// It measures, so it takes long where the machine has other work.
t.setTimeout(900_000);

t.test("each measure of the comparison with another build runs and gives figures", async (t) => {
  const rows = await bench({ ...small, against: ownFolder, progress: (text) => t.comment(text) });
  t.equal(rows.length, 29, "there is a row for each figure");
  haveFigures(t, rows);
});

t.test("a checkout that has not been built is named, before anything is measured", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "mapwright-unbuilt-"));
  t.teardown(() => rmSync(folder, { recursive: true }));
  await t.rejects(bench({ ...small, against: folder, progress: () => undefined }), {
    message: `There is no ${folder}/dist/src/main.js: build that checkout first.`,
  });
});

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import gdal from "gdal-async";
import t from "tap";
import { query } from "../../workers/transfer/readers/gdal-query.js";
import { writeGdalFile } from "../support/gdal-files.js";

/** How features come from GDAL. */

const folder = mkdtempSync(join(tmpdir(), "mapwright-test-"));
t.teardown(() => rmSync(folder, { recursive: true }));

t.test("results of SQL do not block the process when they are garbage", async (t) => {
  const features = Array.from({ length: 2_000 }, (_, n) => ({
    wkt: `POINT (${n % 90} 1)`,
    values: { a: n, b: "x" },
  }));
  const fields = { a: gdal.OFTInteger, b: gdal.OFTString };
  writeGdalFile(folder, { driver: "GPKG", extension: "gpkg", fields, features });
  const dataset = gdal.open(join(folder, "data.gpkg"));
  let read = 0;
  dataset.layers.get(0).features.forEach((feature) => {
    feature.fields.toArray();
    feature.getGeometry();
    if (read++ % 8 === 0)
      query(dataset, "pragma table_info(data)").features.forEach(({ fields }) => void fields.toArray());
  });
  dataset.close();
  t.equal(read, features.length);
});

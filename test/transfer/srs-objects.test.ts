import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import gdal from "gdal-async";
import t from "tap";
import { textOf } from "../../workers/transfer/srs.js";
import { newReference, readReference } from "../../workers/transfer/srs-objects.js";
import { collection, feature, point } from "../support/transfer.js";

const folder = mkdtempSync(join(tmpdir(), "srs-"));
t.teardown(() => rmSync(folder, { recursive: true }));

const codes = ["4258", "3857", "32633"];
for (const code of codes) {
  const crs = { type: "name", properties: { name: `urn:ogc:def:crs:EPSG::${code}` } };
  writeFileSync(
    join(folder, `${code}.geojson`),
    JSON.stringify({ ...collection(feature({}, point(1, 2))), crs }),
  );
}

t.test("datasets that are opened one after the other have the spatial reference of their file", async (t) => {
  const told: string[] = [];
  const made: string[] = [];
  for (let turn = 0; turn < 100; turn++) {
    for (const code of codes) {
      const dataset = gdal.open(join(folder, `${code}.geojson`), "r", "GeoJSON");
      const layer = dataset.layers.get(0);
      told.push(`${code} ${readReference(dataset, layer, textOf)}`);
      dataset.close();
      made.push(textOf(newReference(() => gdal.SpatialReference.fromEPSG(2056))));
    }
  }
  t.same([...new Set(told)].sort(), codes.map((code) => `${code} ${code}`).sort());
  t.same([...new Set(made)], ["2056"]);
});

t.test("layers of one dataset may share one", async (t) => {
  const dataset = gdal.open(join(folder, "3857.geojson"), "r", "GeoJSON");
  const layer = dataset.layers.get(0);
  t.equal(readReference(dataset, layer, textOf), "3857");
  t.equal(readReference(dataset, layer, textOf), "3857");
  dataset.close();
  t.equal(readReference(dataset, { srs: null }, textOf), undefined);
});

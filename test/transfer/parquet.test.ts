import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { parquetWriteBuffer } from "hyparquet-writer";
import t from "tap";
import { readColumns } from "../../src/catalog/column-rows.js";
import { failureOf, importBench } from "../support/transfer.js";

/** Parquet and GeoParquet. */

const bench = await importBench();
t.teardown(() => bench.stop());

type Columns = Parameters<typeof parquetWriteBuffer>[0];
const parquet = (options: Columns) => Buffer.from(parquetWriteBuffer(options));

/** WKB of a point. */
function point(x: number, y: number): Uint8Array {
  const bytes = Buffer.alloc(21);
  bytes[0] = 1;
  bytes.writeUInt32LE(1, 1);
  bytes.writeDoubleLE(x, 5);
  bytes.writeDoubleLE(y, 13);
  return new Uint8Array(bytes);
}

const geo = (column: object) => [
  { key: "geo", value: JSON.stringify({ primary_column: "geometry", columns: { geometry: column } }) },
];
const places = (crs?: unknown, data = [point(4198000, 7500000)]) =>
  parquet({
    columnData: [{ name: "geometry", data, type: "BYTE_ARRAY" }],
    kvMetadata: geo({ encoding: "WKB", ...(crs === undefined ? {} : { crs }) }),
  });

async function imported(content: Buffer, source: Parameters<typeof bench.import>[2] = {}) {
  const layer = await bench.layer();
  const { notes } = await bench.import(layer, content, { extension: "parquet", ...source });
  const types = Object.fromEntries(
    (await readColumns(bench.db, layer)).slice(2).map(({ code, type }) => [code, type]),
  );
  return { objects: await bench.objects(layer), notes, types };
}

t.test("a file of Apache Arrow is read with all its types", async (t) => {
  const fixtures = join(dirname(fileURLToPath(import.meta.url)), "../../../test/fixtures");
  const { objects, types, notes } = await imported(readFileSync(join(fixtures, "arrow.parquet")));
  t.match(types, {
    ...{ id: "string", u: "string", i: "number", f: "number", b: "bool", s: "string", cat: "string" },
    ...{ small: "number", large: "string", us: "datetime", utc: "datetime", ns: "datetime", day: "datetime" },
    ...{ time: "string", list: "json", deep: "json", bin: "string" },
  });
  t.match(objects, [
    {
      ...{ id: "1", u: "18446744073709551615", i: 1, f: 0.1, b: true, s: "Москва", cat: "a", small: 12.5 },
      ...{ large: "12345678901234567890.123456", us: "2024-02-29T12:30:00.123456+00:00" },
      ...{ utc: "2024-02-29T12:30:00.001+00:00", ns: "2024-02-29T12:30:00.123456+00:00" },
      ...{ day: "2024-02-29T00:00:00+00:00", time: "01:02:03.000004", deep: { a: "ü", b: [1.5, null] } },
      geom: "POINT(37.5 55.5)",
    },
    {
      ...{ id: "9007199254740993", u: "1", i: -2, f: -1e-7, b: false, s: "", cat: "b", small: -0.01 },
      ...{ large: "-1.000000", us: "1960-01-01T00:00:00+00:00", utc: "1969-12-31T23:59:59.999+00:00" },
      ...{ ns: "1970-01-01T00:00:00+00:00", day: "1900-01-01T00:00:00+00:00", time: "00:00:00" },
      ...{ list: [], deep: { a: null, b: null }, geom: "POINT(-1 2)" },
    },
    { id: null, u: null, s: null, large: null, us: null, list: null, deep: null, geom: null },
  ]);
  t.match(notes.join("\n"), /nanoseconds/);
  t.match(notes.join("\n"), /"bin" has binary values/);
});

t.test("the spatial reference is that of the metadata, unless the request names one", async (t) => {
  const moscow = [{ geom: /^POINT\(37\.71\d* 55\.7\d*\)$/ }];
  const mercator = { type: "ProjectedCRS", id: { authority: "EPSG", code: 3857 } };
  t.match((await imported(places(mercator))).objects, moscow);
  t.match((await imported(places(undefined), { srs: "3857" })).objects, moscow);
  t.match((await imported(places({ name: "own" }), { srs: "3857" })).objects, moscow);
  const crs84 = { type: "GeographicCRS", id: { authority: "OGC", code: "CRS84" } };
  for (const crs of [undefined, null, crs84, { id: { authority: "EPSG", code: 4326 } }])
    t.match((await imported(places(crs, [point(37.5, 55.5)]))).objects, [{ geom: "POINT(37.5 55.5)" }]);
  t.match(await failureOf(imported(places({ name: "own" }))), { code: "import_failed", message: /srs/ });
});

t.test("without metadata the geometry comes from columns as in other tables", async (t) => {
  const coordinates = parquet({
    columnData: [
      { name: "lat", data: [55.5, 2], type: "DOUBLE" },
      { name: "lon", data: [37.5, 1], type: "DOUBLE" },
      { name: "a", data: [1n, 2n], type: "INT64" },
    ],
  });
  const { objects, notes, types } = await imported(coordinates);
  t.match(objects, [
    { a: 1, geom: "POINT(37.5 55.5)" },
    { a: 2, geom: "POINT(1 2)" },
  ]);
  t.same(types, { a: "number" });
  t.match(notes.join(), /"lon" \(east\)/);
  const wkb = parquet({ columnData: [{ name: "geom", data: [point(1, 2)], type: "BYTE_ARRAY" }] });
  t.match((await imported(wkb)).objects, [{ geom: "POINT(1 2)" }]);
});

t.test("decimals in nested values are said to lose digits", async (t) => {
  const content = parquet({
    schema: [
      { name: "root", num_children: 1 },
      { name: "deep", num_children: 1, repetition_type: "OPTIONAL" },
      {
        ...{ name: "x", type: "INT64", converted_type: "DECIMAL", precision: 18, scale: 2 },
        repetition_type: "OPTIONAL",
      },
    ],
    columnData: [{ name: "deep", data: [{ x: 1250n }] }],
  });
  const { objects, notes } = await imported(content);
  t.match(objects, [{ deep: { x: 12.5 } }]);
  t.match(notes.join(), /nested values of "deep" have 15 digits at most/);
});

t.test("rows of several row groups and batches keep their order", async (t) => {
  const count = 25_000;
  const ids = Array.from({ length: count }, (_, index) => index);
  const content = parquet({
    columnData: [
      { name: "n", data: Int32Array.from(ids), type: "INT32" },
      { name: "s", data: ids.map((id) => `name ${id}`), type: "STRING" },
    ],
    rowGroupSize: [15_000, 7_000],
  });
  const { objects } = await imported(content);
  t.equal(objects.length, count);
  t.ok(objects.every(({ n, s }, index) => n === index && s === `name ${index}`));
});

t.test("damaged and hostile files are refused", async (t) => {
  for (const content of [
    Buffer.alloc(0),
    Buffer.from("a,b\n1,2\n"),
    Buffer.from("PAR1\xff\xff\xff\x7fPAR1", "latin1"),
  ])
    t.match(await failureOf(imported(content)), { code: "import_failed" });
  const good = places();
  for (let at = 4; at < good.length; at += Math.ceil(good.length / 20)) {
    const damaged = Buffer.from(good);
    damaged[at] = damaged[at]! ^ 0x55;
    const { code } = await failureOf(imported(damaged, { srs: "3857" }));
    t.ok(["none", "import_failed", "invalid_geometry"].includes(String(code)), `byte ${at}: ${code}`);
  }
  const elsewhere = parquet({
    columnData: [{ name: "a", data: [1] }],
    kvMetadata: geo({ encoding: "WKB" }),
  });
  t.match(await failureOf(imported(elsewhere)), { code: "import_failed", message: /does not have/ });
  const native = parquet({
    columnData: [{ name: "geometry", data: [1] }],
    kvMetadata: geo({ encoding: "point" }),
  });
  t.match(await failureOf(imported(native)), { code: "import_failed", message: /WKB/ });
});

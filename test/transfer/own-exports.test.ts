import t from "tap";
import { exportFormats } from "../../src/export/export-formats.js";
import { startServer } from "../support/server.js";

/** What any export writes can be imported again, whatever the geometries, into a layer with the same columns. */

const server = await startServer();
t.teardown(() => server.stop());
const token = await server.token("admin");
await server.api("POST", "", { token, body: { code: "m" } });

const columns = {
  ...{ s: "string", t: "text", n: "number", w: "number", d: "datetime", b: "bool", j: "json" },
} as const;

async function newLayer(code: string): Promise<void> {
  await server.api("POST", "m/layers/", { token, body: { code } });
  for (const [name, type] of Object.entries(columns))
    await server.api("POST", `m/layers/${code}/structure/`, { token, body: { code: name, type } });
}

const data = [
  { ключ: [1, null, "ü", { "a b": 1.5 }], id: "0e123-7e4567" },
  [],
  "text",
  "12",
  '{"a":1}',
  7.25,
  true,
  null,
  ["=1+1"],
  "true",
];
const texts = [
  'он сказал: "да"',
  "=1+1",
  "007",
  "true",
  "2020-01-01",
  "a;b,c",
  "it's",
  "1e5",
  '{"a": 1}',
  "NaN",
];
const numbers = [null, 0.1, -5, 1e15, 1234567890123456, -9007199254740991, 0, 123456789.125, 1e-7];
const square = (x: number) => [
  [x, 0],
  [x + 1, 0],
  [x + 1, 1],
  [x, 0],
];
const kinds: Readonly<Record<string, readonly unknown[]>> = {
  point: [{ type: "Point", coordinates: [37.5, 55.25] }],
  multipoint: [
    {
      type: "MultiPoint",
      coordinates: [
        [1, 2],
        [3, 4.5],
      ],
    },
    { type: "MultiPoint", coordinates: [[5, 6]] },
  ],
  line: [{ type: "LineString", coordinates: square(1) }],
  multiline: [
    { type: "MultiLineString", coordinates: [square(1), square(5)] },
    { type: "MultiLineString", coordinates: [square(1)] },
  ],
  polygon: [{ type: "Polygon", coordinates: [square(1)] }],
  multipolygon: [{ type: "MultiPolygon", coordinates: [[square(1)], [square(5)]] }],
  nothing: [null],
};
const collection = {
  type: "GeometryCollection",
  geometries: [kinds.point![0], kinds.line![0], kinds.multipoint![0]],
};
const mixed = [...Object.values(kinds).flat(), collection];
const empty = [
  ...["Point", "LineString", "Polygon", "MultiPoint", "MultiLineString", "MultiPolygon"].map((type) => ({
    type,
    coordinates: [],
  })),
  { type: "GeometryCollection", geometries: [] },
];
const layers: Readonly<Record<string, readonly unknown[]>> = {
  multipoint: kinds.multipoint!,
  nothing: kinds.nothing!,
  empty: empty.slice(0, 1),
  lines: [empty[4], ...kinds.multiline!, empty[4], ...kinds.multiline!],
  empties: [...mixed, ...empty],
};

/** The objects of a layer by the text `s`, which names them. */
async function objectsOf(code: string): Promise<Map<string, { fields: any; geom: any }>> {
  const { json } = await server.api("GET", `m/layers/${code}/objects/?fields=*&returnGeom=1`, { token });
  return new Map(json.map(({ fields, geom }: any) => [fields.s, { fields, geom }]));
}

for (const [name, geometries] of Object.entries(layers)) {
  await newLayer(name);
  const count = Math.max(data.length, geometries.length);
  const body = Array.from({ length: count }, (_, i) => ({
    op: "create",
    fields: {
      ...{ s: `object ${i}`, t: texts[i % texts.length], n: numbers[i % numbers.length], w: i * 1e12 + 1e15 },
      b: [true, false, null][i % 3],
      ...{ d: i % 2 === 0 ? "2020-02-03T04:05:06Z" : null, j: data[i % data.length] },
    },
    geom: geometries[i % geometries.length],
  }));
  const answer = await server.api("POST", `m/layers/${name}/objects/bulk/`, { token, body });
  if (answer.status !== 200) throw new Error(`${name}: ${answer.text}`);
}

t.test("numbers are written in full as far as doubles have them exactly", async (t) => {
  const read = async (path: string) =>
    (
      await fetch(`${server.url}/api/2.8/p/m/layers/empties/${path}`, { headers: { "x-token": token } })
    ).text();
  for (const path of [
    "objects/?fields=*",
    "export/?format=csv",
    "export/?format=kml",
    "export/?format=geojson",
  ]) {
    const text = await read(path);
    for (const number of ["1000000000000000", "1234567890123456", "-9007199254740991"])
      t.ok(new RegExp(`[^\\d]${number}[^\\d.]`).test(text), `${number}: ${path}`);
    t.notMatch(text, /\de\+1/, path);
  }
});

/** Formats in which every geometry of the layers has a place. (KML and GML have one kind of empty geometry.) */
const holdsAll = ["geojson", "csv", "parquet", "fgb", "gpkg", "xls", "xlsx"];

/** The others are images, or one of these under another name. */
const formats = exportFormats.filter((one) => !["geotif", "kmz", "xls"].includes(one));

for (const format of formats) {
  t.test(`what is exported as ${format} is imported again`, async (t) => {
    // GPX holds points and lines alone.
    for (const name of format === "gpx" ? ["multipoint"] : Object.keys(layers)) {
      const exported = await fetch(`${server.url}/api/2.8/p/m/layers/${name}/export/?format=${format}`, {
        headers: { "x-token": token },
      });
      const bytes = await exported.arrayBuffer();
      if (exported.status !== 200) {
        t.fail(`${name}: ${Buffer.from(bytes)}`);
        continue;
      }
      const copy = `${name}_${format}`;
      await newLayer(copy);
      const file = /filename="?([^";]+)/.exec(exported.headers.get("content-disposition") ?? "")?.[1];
      const answer = await fetch(`${server.url}/api/2.8/p/m/layers/${copy}/import/`, {
        method: "POST",
        headers: { "x-token": token, "x-filename": file! },
        body: bytes,
      });
      t.equal(answer.status, 200, `${name}: ${await answer.text()}`);
      const [wanted, found] = [await objectsOf(name), await objectsOf(copy)];
      t.same([...found.keys()].sort(), [...wanted.keys()].sort(), `${name}: all objects`);
      for (const [key, { fields, geom }] of wanted) {
        const back = found.get(key);
        for (const [column, value] of Object.entries(fields)) {
          if (column === "svc_id") continue;
          const given = back?.fields[column];
          // MapInfo has no missing numbers.
          const isMissing =
            value === null && column === "n" && given === 0 && ["mif", "tab"].includes(format);
          if (!isMissing) t.same(given, value, `${name}: ${column} of ${key}`);
        }
        if (!holdsAll.includes(format)) continue;
        const isEmpty = (geom?.coordinates ?? geom?.geometries)?.length === 0;
        t.ok(
          JSON.stringify(back?.geom) === JSON.stringify(geom) || (isEmpty && back?.geom === null),
          `${name}: geometry of ${key}: ${JSON.stringify(back?.geom)} of ${JSON.stringify(geom)}`,
        );
      }
    }
  });
}

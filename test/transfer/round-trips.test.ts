import t from "tap";
import { startServer } from "../support/server.js";

/** What an export writes, an import into a new layer gives back. */

const server = await startServer();
t.teardown(() => server.stop());
const token = await server.token("admin");
await server.api("POST", "", { token, body: { code: "m" } });

const columns = { s: "string", t: "text", n: "number", d: "datetime" } as const;
const texts = ['он сказал: "да"', "a\n\tb & <c>", " spaces ", "=1+1", "", null, "_x0041_ ]]>", "🌳 ж\u0301"];
const numbers = [0.1, -5, 9007199254740991, 1e-300, null, 0, 123456789.125, 1e21];
const dates = [
  "2020-02-03T04:05:06+00:00",
  "1900-01-01T00:00:00.123456+00:00",
  null,
  null,
  "0999-12-31T00:00:00+00:00",
];

async function layerOf(code: string, geometries: readonly unknown[]): Promise<void> {
  await server.api("POST", "m/layers/", { token, body: { code } });
  for (const [name, type] of Object.entries(columns))
    await server.api("POST", `m/layers/${code}/structure/`, { token, body: { code: name, type } });
  const features = geometries.map((geometry, i) => ({
    type: "Feature",
    geometry,
    properties: {
      s: texts[i % texts.length],
      t: `${"ж".repeat(400)}${i}`,
      n: numbers[i % numbers.length],
      d: dates[i % dates.length] ?? null,
    },
  }));
  const answer = await server.api("POST", `m/layers/${code}/import/`, {
    token,
    body: { type: "FeatureCollection", features },
  });
  if (answer.status !== 200) throw new Error(answer.text);
}

/** Values and geometries, in the order of the ids. */
const objectsOf = async (code: string) =>
  (
    await server.api("GET", `m/layers/${code}/objects/?fields=*&returnGeom=1&sort=svc_id`, { token })
  ).json.map(({ id, fields, geom }: any) => ({ id, fields, geom }));

/** The objects of a layer, those of a layer into which its export was imported, and the notes of the export. */
async function roundTrip(code: string, format: string) {
  const exported = await fetch(`${server.url}/api/2.8/p/m/layers/${code}/export/?format=${format}`, {
    headers: { "x-token": token },
  });
  const copy = `${code}_${format}`;
  await server.api("POST", "m/layers/", { token, body: { code: copy } });
  const answer = await fetch(`${server.url}/api/2.8/p/m/layers/${copy}/import/`, {
    method: "POST",
    headers: { "x-token": token, "x-filename": `x.${format}` },
    body: await exported.arrayBuffer(),
  });
  if (answer.status !== 200) throw new Error(await answer.text());
  const notes: string[] = JSON.parse(exported.headers.get("x-export-notes") ?? "[]");
  return { wanted: await objectsOf(code), found: await objectsOf(copy), notes };
}

const point = (...coordinates: number[]) => ({ type: "Point", coordinates });
const line = (...coordinates: number[][]) => ({ type: "LineString", coordinates });
const ring = [
  [0, 0],
  [9, 0],
  [9, 9],
  [0, 0],
];
const hole = [
  [1, 0.5],
  [2, 0.5],
  [2, 1],
  [1, 0.5],
];
const geometries = [
  point(37.6173, 55.755826),
  point(-179.999999999, -89.9),
  null,
  point(1, 2, 3.5),
  line([170, 60], [190, 61]),
  { type: "Polygon", coordinates: [ring, hole] },
  {
    type: "MultiPolygon",
    coordinates: [
      [ring, hole],
      [
        [
          [20, 0],
          [21, 0],
          [21, 1],
          [20, 0],
        ],
      ],
    ],
  },
  {
    type: "MultiLineString",
    coordinates: [
      [
        [0, 0],
        [1, 1],
      ],
      [
        [2, 2],
        [3, 3, 4],
      ],
    ],
  },
  {
    type: "MultiPoint",
    coordinates: [
      [0.12345678901234, 0],
      [1, 1],
    ],
  },
  { type: "GeometryCollection", geometries: [point(1, 2), line([0, 0], [1, 1])] },
];

await layerOf("all", geometries);
await layerOf(
  "lines",
  geometries.filter((g) => /^(Point|MultiLineString)$/.test(g?.type ?? "")),
);

for (const format of ["kml", "kmz", "xlsx"]) {
  t.test(`every value and vertex comes back in ${format}`, async (t) => {
    const { wanted, found } = await roundTrip("all", format);
    t.same(found, wanted);
  });
}

t.test("every value and vertex of points and lines comes back in gpx", async (t) => {
  const { wanted, found } = await roundTrip("lines", "gpx");
  t.same(found, wanted);
});

const richColumns = { ...columns, b: "bool", j: "json", big: "string" } as const;
/** Texts that look like something else. */
const likeOthers = ["007", "true", "2020-01-01", '{"a": 1}', "null", "NaN", "1e5", "'=1+1", "@x", "\r\n"];
const flags = [true, false, null];
const data = [{ ключ: [1, null, "ü", { "a b": 1e21 }] }, [], null, { n: 0.1 }];

/** Objects with values of every type, one at least for each geometry, and empty geometries. */
async function makeRich(): Promise<void> {
  await server.api("POST", "m/layers/", { token, body: { code: "rich" } });
  for (const [name, type] of Object.entries(richColumns))
    await server.api("POST", "m/layers/rich/structure/", { token, body: { code: name, type } });
  const empty = ["Point", "LineString", "Polygon", "MultiPoint", "GeometryCollection"].map((type) =>
    type === "GeometryCollection" ? { type, geometries: [] } : { type, coordinates: [] },
  );
  const across = {
    type: "Polygon",
    coordinates: [
      [
        ...[
          [170, 10],
          [190, 10],
          [190, 20],
          [170, 10],
        ],
      ],
    ],
  };
  const all = [...geometries, across, ...empty];
  const features = [...texts, ...likeOthers].map((s, i) => ({
    type: "Feature",
    geometry: all[i % all.length],
    properties: {
      ...{ s, t: `${"ж".repeat(400)}${i}`, n: numbers[i % numbers.length] },
      ...{ d: dates[i % dates.length] ?? null, b: flags[i % flags.length], j: data[i % data.length] },
      big: i % 3 === 0 ? null : String(9007199254740993n + BigInt(i)),
    },
  }));
  const answer = await server.api("POST", "m/layers/rich/import/", {
    token,
    body: { type: "FeatureCollection", features },
  });
  if (answer.status !== 200) throw new Error(answer.text);
}

await makeRich();

/** What becomes of an object in a format, and the notes that say so. */
interface Told {
  readonly notes: readonly RegExp[];
  readonly change?: (object: any) => unknown;
}

/** Without heights of 0. */
const flat = (value: any): unknown => {
  if (!Array.isArray(value)) {
    if (value?.geometries) return { ...value, geometries: value.geometries.map(flat) };
    return value && { ...value, coordinates: flat(value.coordinates) };
  }
  if (value.every((one) => typeof one === "number")) return value[2] === 0 ? value.slice(0, 2) : value;
  return value.map((one) => (Array.isArray(one) ? flat(one) : one));
};
const toJson = (text: unknown) => (typeof text === "string" ? JSON.parse(text) : text);
const heights = /geometries without heights got the height 0/;

const told: Readonly<Record<string, Told>> = {
  geojson: { notes: [] },
  csv: { notes: [] },
  parquet: { notes: [] },
  fgb: {
    notes: [heights],
    change: ({ fields, geom, ...rest }) => ({
      ...rest,
      fields: { ...fields, d: fields.d?.replace(/(\.\d{3})\d+Z$/, "$1Z") ?? null },
      geom: flat(geom),
    }),
  },
  gpkg: {
    notes: [/its times are written as texts/, /written as texts in JSON/, heights],
    change: ({ fields, geom, ...rest }) => ({
      ...rest,
      fields: { ...fields, j: toJson(fields.j) },
      geom: flat(geom),
    }),
  },
  gml: {
    notes: [
      /JSON is text/,
      /texts of digits for numbers/,
      /Readers may take empty texts for no value/,
      /Empty geometries/,
    ],
    change: ({ fields, geom, ...rest }) => ({
      ...rest,
      fields: { ...fields, j: toJson(fields.j), s: fields.s?.replace(/^\s+/, "") || null },
      geom: (geom?.coordinates ?? geom?.geometries)?.length === 0 ? null : geom,
    }),
  },
};

for (const [format, { notes: wantedNotes, change = (object: any) => object }] of Object.entries(told)) {
  t.test(`what comes back in ${format} is what went out, but for what the notes name`, async (t) => {
    const { wanted, found, notes } = await roundTrip("rich", format);
    t.equal(found.length, wanted.length);
    for (const [index, object] of wanted.entries()) t.same(change(found[index]), change(object));
    t.same(
      notes.filter((note) => !wantedNotes.some((one) => one.test(note))),
      [],
      "nothing else is said",
    );
    for (const note of wantedNotes) t.match(notes.join(" "), note);
  });
}

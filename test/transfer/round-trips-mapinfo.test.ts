import t from "tap";
import { startServer } from "../support/server.js";

/** What exports as Shapefile and to MapInfo write, imports into new layers give back, within the limits of the formats. */

const server = await startServer();
t.teardown(() => server.stop());
const token = await server.token("admin");
await server.api("POST", "", { token, body: { code: "m" } });

const types = {
  s: "string",
  t: "text",
  n: "number",
  w: "number",
  d: "datetime",
  b: "bool",
  e: "string",
} as const;

type Coordinates = number | readonly Coordinates[];
interface Geometry {
  readonly type: string;
  readonly coordinates?: Coordinates;
  readonly geometries?: readonly Geometry[];
}
interface Sample {
  readonly geom: Geometry | null;
  readonly fields: Readonly<Record<string, unknown>>;
}

const ring = (x: number, y: number, size: number) => [
  [x, y],
  [x + size, y],
  [x + size, y + size / 3],
  [x, y],
];
const hole = (x: number, y: number) => ring(x, y, 1).toReversed();

const polygon = { type: "Polygon", coordinates: [ring(0, 0, 9), hole(5, 0.5), hole(7, 1.1)] };
const polygons = {
  type: "MultiPolygon",
  coordinates: [[ring(0, 0, 9), hole(5, 0.5)], [ring(20.123456789012344, 0, 1)]],
};
const line = {
  type: "LineString",
  coordinates: [
    [170, 60],
    [190.00000000000003, 61],
    [200, 1 / 3],
  ],
};
const lines = {
  type: "MultiLineString",
  coordinates: [
    line.coordinates,
    [
      [2, 2],
      [3, 3],
    ],
  ],
};

/** Values that every format holds. */
const values = [
  {
    s: 'Улица "Мира"; №5, it\'s',
    t: "ж".repeat(127),
    n: 0.1,
    w: -2147483649,
    d: "2020-02-03T04:05:06.123456+00:00",
    b: true,
    e: "9007199254740993",
  },
  {
    s: '«—»,\\,\'""',
    t: "x\ty",
    n: -123456789.125,
    w: 9007199254740991,
    d: "0999-12-31T00:00:00+00:00",
    b: false,
    e: "007",
  },
  { s: "=1+1", t: "1 2", n: 0, w: 0, d: "1969-12-31T23:59:59+00:00", b: true, e: "NaN" },
];

const filled = (geometries: readonly (Geometry | null)[]): Sample[] =>
  geometries.map((geom, index) => ({ geom, fields: values[index % values.length]! }));

async function layerOf(code: string, samples: readonly Sample[]): Promise<void> {
  await server.api("POST", "m/layers/", { token, body: { code } });
  for (const [name, type] of Object.entries(types))
    await server.api("POST", `m/layers/${code}/structure/`, { token, body: { code: name, type } });
  const features = samples.map(({ geom, fields }) => ({
    type: "Feature",
    geometry: geom,
    properties: fields,
  }));
  const answer = await server.api("POST", `m/layers/${code}/import/`, {
    token,
    body: { type: "FeatureCollection", features },
  });
  if (answer.status !== 200) throw new Error(answer.text);
}

interface Found {
  readonly id: number;
  readonly fields: Readonly<Record<string, unknown>>;
  readonly geom: Geometry | null;
}

/** Values and geometries, in the order of the ids. */
const objectsOf = async (code: string): Promise<Found[]> =>
  (
    await server.api("GET", `m/layers/${code}/objects/?fields=*&returnGeom=1&sort=svc_id`, { token })
  ).json.map(({ id, fields, geom }: any) => ({ id, fields, geom }));

let copies = 0;
/** The objects of a layer, those of a layer into which its export was imported, and the export's notes. */
async function roundTrip(code: string, format: string) {
  const exported = await fetch(`${server.url}/api/2.8/p/m/layers/${code}/export/?format=${format}`, {
    headers: { "x-token": token },
  });
  const copy = `${code}_${++copies}`;
  await server.api("POST", "m/layers/", { token, body: { code: copy } });
  const answer = await fetch(`${server.url}/api/2.8/p/m/layers/${copy}/import/`, {
    method: "POST",
    headers: { "x-token": token, "x-filename": "x.zip" },
    body: await exported.arrayBuffer(),
  });
  if (answer.status !== 200) throw new Error(await answer.text());
  const notes: string[] = JSON.parse(exported.headers.get("x-export-notes") ?? "[]");
  return { wanted: await objectsOf(code), found: await objectsOf(copy), notes };
}

/** The geometry with each shell running counter-clockwise and each hole clockwise, and with sorted parts. */
function normal(geom: Geometry | null): unknown {
  if (geom === null) return null;
  if (geom.geometries) return { ...geom, geometries: geom.geometries.map(normal) };
  if (geom.type === "Polygon") return { ...geom, coordinates: (geom.coordinates as number[][][]).map(wound) };
  if (geom.type === "MultiPolygon") {
    const parts = (geom.coordinates as number[][][][]).map((rings) => JSON.stringify(rings.map(wound)));
    return { ...geom, coordinates: parts.sort() };
  }
  return geom;
}

function wound(positions: number[][], index: number): number[][] {
  let area = 0;
  for (let at = 1; at < positions.length; at++)
    area += positions[at - 1]![0]! * positions[at]![1]! - positions[at]![0]! * positions[at - 1]![1]!;
  return area > 0 === (index === 0) ? positions : positions.toReversed();
}

/** Bools come back as texts, which a note says. */
const asWritten = ({ fields, ...object }: Found) => ({
  ...object,
  fields: { ...fields, b: typeof fields.b === "boolean" ? String(fields.b) : fields.b },
  geom: normal(object.geom),
});

const point = (...coordinates: number[]) => ({ type: "Point", coordinates });
const across180 = { type: "Polygon", coordinates: [ring(175, 0, 10)] };
const multipoint = {
  type: "MultiPoint",
  coordinates: [
    [0.12345678901234, 0],
    [1, 1],
  ],
};
const collection = { type: "GeometryCollection", geometries: [polygon, line, multipoint] };

const exact: readonly [format: string, code: string, geometries: readonly (Geometry | null)[]][] = [
  ["shp", "points", [point(37.6173, 55.755826), point(-179.999999999, -1 / 3), null]],
  ["shp", "heights", [point(1, 2, 3.5), point(-1, -2, -1 / 3)]],
  ["shp", "multipoints", [multipoint]],
  ["shp", "lines", [line, lines, { type: "LineString", coordinates: line.coordinates.slice(1) }]],
  ["shp", "polygons", [polygon, polygons, across180]],
  ["shp", "kinds", [polygon, multipoint, line, null, point(1, 2), lines]],
  [
    "mif",
    "all",
    [point(37.6173, -1 / 3), line, lines, polygon, polygons, across180, multipoint, collection, null],
  ],
];

for (const [format, code, geometries] of exact)
  t.test(`every value and vertex of ${code} comes back in ${format}`, async (t) => {
    await layerOf(code, filled(geometries));
    const { wanted, found, notes } = await roundTrip(code, format);
    t.same(found.map(asWritten), wanted.map(asWritten));
    t.same(
      notes.filter((note) => !/^(Each kind of geometry|1 geometry collection:)/.test(note)),
      [
        'Column "d": its times are written as texts in ISO 8601.',
        'Column "b": its values are written as the texts true and false.',
      ],
    );
  });

t.test("every value comes back in tab, and coordinates as finely as the notes say", async (t) => {
  await layerOf("tab", filled([point(37.6173, -1 / 3), line, lines, polygon, polygons, across180, null]));
  const { wanted, found, notes } = await roundTrip("tab", "tab");
  const [, step] = /^Coordinates are rounded to (\S+) degrees\.$/.exec(notes[0]!)!;
  t.ok(Number(step) < 3e-7);
  const rounded = (geom: Geometry | null): Geometry | null =>
    JSON.parse(JSON.stringify(geom), (_, value) =>
      typeof value === "number" ? Math.round(value * 1e6) / 1e6 : value,
    );
  const near = (object: Found) => asWritten({ ...object, geom: rounded(object.geom) });
  t.same(found.map(near), wanted.map(near));
});

t.test("what became several rows of tab is one object again", async (t) => {
  await layerOf("parts", filled([multipoint, collection, multipoint, point(1, 2)]));
  const { wanted, found, notes } = await roundTrip("parts", "tab");
  t.ok(
    notes.some((note) => note.includes("a row for each part, which imports join again")),
    notes.join(),
  );
  t.same(
    found.map(({ id, fields }) => ({ id, s: fields.s, t: fields.t })),
    wanted.map(({ id, fields }) => ({ id, s: fields.s, t: fields.t })),
  );
  const kinds = found.map(({ geom }) => geom?.geometries?.map(({ type }) => type).sort() ?? geom?.type);
  t.same(kinds, ["MultiPoint", ["LineString", "Point", "Point", "Polygon"], "MultiPoint", "Point"]);
  t.same(
    (found[0]!.geom!.coordinates as number[][]).map((position) => position.map(Math.round)),
    [
      [0, 0],
      [1, 1],
    ],
  );
});

t.test("what comes back otherwise is what the notes name", async (t) => {
  await layerOf("beyond", [
    { geom: point(1, 2, 3), fields: { s: "", t: "a\r\nb", n: 1e300, w: null, d: null, b: null, e: " x " } },
    {
      geom: point(3, 4),
      fields: { s: "漢", t: "ж".repeat(400), n: 1e-300, w: 1e21, d: null, b: null, e: null },
    },
  ]);
  const { id } = (await server.api("GET", "m/layers/beyond/", { token })).json;
  for (const wkt of ["POINT EMPTY", "POLYGON EMPTY", "MULTILINESTRING EMPTY", "GEOMETRYCOLLECTION EMPTY"])
    await server.sql.query(`insert into layers.l${id} (geom) values (st_geomfromtext($1, 4326))`, [wkt]);
  const cut = (length: number) => "ж".repeat(length);
  const expected = {
    shp: {
      rows: [
        { s: null, t: "a\r\nb", n: "1e+300", w: null, e: "x" },
        { s: "漢", t: cut(127), n: "1e-300", w: 1e21, e: null },
      ],
      notes: [
        'Column "n": its numbers are written as texts, since the format would round them.',
        'Column "s": 1 empty text is read as no value.',
        'Column "e": 1 text loses the spaces around it.',
        "1 geometry without heights got the height 0.",
        'Column "t": 1 text was cut to 254 bytes.',
        "3 empty geometries were written as no geometry.",
        "1 geometry of several kinds was left out.",
      ],
    },
    mif: {
      rows: [
        { s: "", t: "a\\nb", n: "1e+300", w: "", e: " x " },
        { s: "?", t: cut(254), n: "1e-300", w: "1e+21", e: "" },
      ],
      notes: [
        'Column "n": its numbers are written as texts, since the format would round them.',
        'Column "w": 5 missing values became empty texts.',
        "1 geometry lost its heights.",
        'Column "t": line breaks of 1 text are written as \\n.',
        'Column "s": in 1 text, characters that are not in Windows-1251 became "?".',
        'Column "t": 1 text was cut to 254 characters.',
        'Column "e": 5 missing values became empty texts.',
        "4 empty geometries were written as no geometry.",
      ],
    },
    tab: {
      rows: [
        { s: "", t: "a\r\nb", n: 1e300, w: 0, e: " x " },
        { s: "?", t: cut(254), n: 1e-300, w: 1e21, e: "" },
      ],
      notes: [
        "1 geometry lost its heights.",
        'Column "w": 5 missing values are read as 0.',
        'Column "s": in 1 text, characters that are not in Windows-1251 became "?".',
        'Column "t": 1 text was cut to 254 characters.',
        'Column "e": 5 missing values became empty texts.',
        "4 empty geometries were written as no geometry.",
      ],
    },
  } as const;
  for (const [format, { rows, notes: wantedNotes }] of Object.entries(expected)) {
    const { found, notes } = await roundTrip("beyond", format);
    t.match(found.map(({ fields }) => fields).slice(0, 2), rows, format);
    const z = format === "shp";
    t.same(
      found.map(({ geom }) => geom),
      [z ? point(1, 2, 3) : point(1, 2), z ? point(3, 4, 0) : point(3, 4), null, null, null, null],
      format,
    );
    t.same(
      wantedNotes.filter((note) => !notes.includes(note)),
      [],
      `${format}: ${notes.join("\n")}`,
    );
  }
});

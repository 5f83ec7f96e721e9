import sharp from "sharp";
import t from "tap";
import type { MetatileRequest } from "../../src/hosts/messages.js";
import { xmlOf } from "../../src/style/mapnik-xml.js";
import type { RenderCalls } from "../../src/tile-path.js";
import { addObject, makeMap, makeStyledLayer, square } from "../support/maps.js";
import { startServer } from "../support/server.js";
import { fetchVectors } from "../support/vector-tiles.js";

/**
 * Tiles beside the 180th meridian: what is near it is drawn on both sides, on layers without objects beyond it. Each map has
 * a twin with the same objects half a turn away, where tiles go on; both have the same pixels.
 */

const server = await startServer();
t.teardown(() => server.stop());
const { api, sql } = server;
const token = await server.token("admin");
const node = server.nodes[0]!;

type Tap = Pick<typeof t, "ok" | "equal">;
type Position = readonly [lon: number, lat: number];
interface Geometry {
  readonly type: string;
  readonly coordinates: unknown;
}

/** An object's place near the middle of the world; `atAntimeridian` gives it half a turn away. */
const point = (lon: number, lat: number): Geometry => ({ type: "Point", coordinates: [lon, lat] });
const line = (...coordinates: Position[]): Geometry => ({ type: "LineString", coordinates });
const half = (lon: number): number => (lon > 0 ? lon - 180 : lon + 180);
const isPosition = (value: unknown): value is Position =>
  Array.isArray(value) && typeof value[0] === "number";
/** The same shape half a turn away. It lies on one side of the meridian. */
function atAntimeridian({ type, coordinates }: Geometry): Geometry {
  const isEast = JSON.stringify(coordinates)
    .match(/(?<=\[)-?[\d.e-]+(?=,)/g)!
    .some((lon) => Number(lon) > 0);
  const moved = (value: unknown): unknown =>
    isPosition(value)
      ? [value[0] === 0 ? (isEast ? -180 : 180) : half(value[0]), value[1]]
      : (value as unknown[]).map(moved);
  return { type, coordinates: moved(coordinates) };
}

/** Degrees from the meridian: some pixels at zooms 0, 2, 5, 12. Latitudes of different tiles at most zooms. */
const [far, near, close, beside] = [8, 2, 0.25, 0.002];
const latitudes = [40, 20, 5, -12, -33, 60] as const;
const points = [
  point(-far, 40),
  point(near, 20),
  point(-close, 5),
  point(beside, -12),
  point(-beside, -33),
  point(0, 60),
];

const maps = { antimeridian: "s", middle: "m" } as const;
for (const map of Object.values(maps)) await makeMap(server, map);
const both = Object.entries(maps) as ["antimeridian" | "middle", string][];

interface Layers {
  readonly antimeridian: number;
  readonly middle: number;
}

/** Makes a layer with these objects in both maps. @returns its ids */
async function layers(code: string, css: string, objects: readonly Geometry[]): Promise<Layers> {
  const ids: Record<string, number> = {};
  for (const [where, map] of both) {
    ids[where] = (await makeStyledLayer(server, map, code, css)).id;
    for (const each of objects)
      await addObject(server, code, where === "antimeridian" ? atAntimeridian(each) : each, { map });
  }
  return ids as unknown as Layers;
}

const must = async (method: string, path: string, body?: unknown) => {
  const answer = await api(method, path, { token, body });
  if (answer.status !== 200) throw new Error(`${method} ${path}: ${answer.status} ${answer.text}`);
  return answer.json;
};

/**
 * Adds objects by SQL in both maps.
 * @param geom SQL of a geometry in degrees with longitudes around 0, by `n` and `side`, which is -1 or 1
 */
async function fill({ antimeridian, middle }: Layers, objects: number, geom: string): Promise<void> {
  for (const [id, shift] of [
    [antimeridian, 180],
    [middle, 0],
  ])
    await sql.query(
      `insert into layers.l${id} (geom) select st_setsrid(st_translate(${geom}, -side * $2::float8, 0), 4326)
       from (select n, case when n % 2 = 0 then 1 else -1 end as side from generate_series(1, $1) n) one`,
      [objects, shift],
    );
  await node.services.changes.propagate();
}

const pixels = async (url: string): Promise<Buffer> => {
  const answer = await fetch(url);
  if (answer.status !== 200) throw new Error(`${answer.status} ${await answer.text()}`);
  return sharp(Buffer.from(await answer.arrayBuffer()))
    .ensureAlpha()
    .raw()
    .toBuffer();
};
const pixelsOf = (map: string, layer: number, [z, x, y]: readonly number[], query = "") =>
  pixels(`${server.url}/tms/p/${map}/${z}/${x}/${y}.png?base=0&layers=${layer}${query}`);

/** What rounding of coordinates that are half a turn apart makes, of 255. */
const rounding = 16;
/** Channels of all tiles of a zoom that may differ by more: at the ends of long lines, which are cut elsewhere. */
const most = 8;
function differing(one: Buffer, other: Buffer): number {
  let count = 0;
  for (let at = 0; at < one.length; at++) if (Math.abs(one[at]! - other[at]!) > rounding) count++;
  return count;
}
/** The columns of a square picture, those of one half before those of the other. */
function rolled(data: Buffer): Buffer {
  const side = Math.sqrt(data.length / 4);
  const moved = Buffer.alloc(data.length);
  for (let row = 0; row < side; row++) {
    const [start, middle] = [4 * side * row, 4 * side * row + 2 * side];
    data.copy(moved, start, middle, middle + 2 * side);
    data.copy(moved, middle, start, middle);
  }
  return moved;
}
const isPainted = (data: Buffer): boolean => data.some((value, at) => at % 4 === 3 && value > 0);

const rowOf = (lat: number, z: number): number =>
  Math.floor((0.5 - Math.log(Math.tan(Math.PI / 4 + (lat * Math.PI) / 360)) / (2 * Math.PI)) * 2 ** z);

interface Comparison {
  readonly zooms?: readonly number[];
  readonly lats?: readonly number[];
  readonly query?: string;
}

/** Compares the tiles on both sides of the 180th meridian with those on both sides of the first. */
async function compare(t: Tap, ids: Layers, { zooms, lats = latitudes, query = "" }: Comparison = {}) {
  for (const z of zooms ?? [0, 1, 2, 3, 4, 6, 13]) {
    const side = 2 ** z;
    const painted = { east: 0, west: 0 };
    let wrong = 0;
    for (const y of new Set(lats.map((lat) => rowOf(lat, z)))) {
      const shown = (which: keyof Layers, x: number) => pixelsOf(maps[which], ids[which], [z, x, y], query);
      const pairs =
        z === 0
          ? [[await shown("antimeridian", 0), rolled(await shown("middle", 0))] as const]
          : [
              [await shown("antimeridian", side - 1), await shown("middle", side / 2 - 1)] as const,
              [await shown("antimeridian", 0), await shown("middle", side / 2)] as const,
            ];
      for (const [index, [own, wanted]] of pairs.entries()) {
        wrong += differing(own, wanted);
        if (isPainted(wanted)) painted[index === 0 ? "west" : "east"]++;
      }
    }
    t.ok(wrong <= most, `zoom ${z}${query}: ${wrong}`);
    t.ok(painted.west > 0, `something is on it at zoom ${z}`);
    if (z > 0) t.ok(painted.east > 0, `and on the other side`);
  }
}

const face = "text-face-name: 'DejaVu Sans Book'; text-size: 12; text-fill: #000;";
const styles: Readonly<Record<string, readonly [css: string, objects: readonly Geometry[]]>> = {
  markers: ["marker-width: 40; marker-fill: #f00; marker-allow-overlap: true;", points],
  dots: ["marker-width: 9; marker-fill: #f00; marker-line-width: 1; marker-allow-overlap: true;", points],
  "markers that avoid each other": ["marker-width: 40; marker-fill: #f00;", points],
  labels: [`text-name: "'Meridian'"; text-allow-overlap: true; ${face}`, points],
  "labels that avoid each other": [
    `marker-width: 8; marker-fill: #00f; text-name: "'Meridian'"; text-dy: 10; ${face}`,
    [...points, point(-near, 20.05), point(close, 5.02), point(-beside, -12.001)],
  ],
  "wide lines": [
    "line-width: 30; line-color: #090; line-cap: round;",
    [
      line([-90, 40], [0, 40]),
      line([0, 20], [90, 21]),
      line([-close, 4], [-close, 6]),
      line([0, 61], [0, -34]),
    ],
  ],
  areas: [
    "polygon-fill: #fc0; line-width: 12; line-color: #a0a;",
    [
      square(-10, 38, 10),
      square(0, 18, 10),
      square(-0.3, 5, 0.3),
      square(beside, -12, 1),
      square(-60, -60, 60),
    ],
  ],
};

for (const [index, [name, [css, objects]]] of Object.entries(styles).entries()) {
  t.test(name, async (t) => {
    const ids = await layers(`a${index}`, `#a { ${css} }`, objects);
    await compare(t, ids);
    await compare(t, ids, { zooms: [5], query: "&retina=2" });
  });
}

t.test("objects beyond 180 degrees are whole at low zooms, in each copy of the world", async (t) => {
  const css = "#a { marker-width: 100; marker-fill: #f00; marker-allow-overlap: true; }";
  const { id } = await makeStyledLayer(server, maps.antimeridian, "beyond", css);
  const { id: other } = await makeStyledLayer(server, maps.antimeridian, "within", css);
  for (const lon of [181, 355, -200])
    await addObject(server, "beyond", point(lon, 20), { map: maps.antimeridian });
  for (const lon of [-179, -5, 160])
    await addObject(server, "within", point(lon, 20), { map: maps.antimeridian });
  for (const z of [0, 1, 2]) {
    for (let x = 0; x < 2 ** z; x++) {
      const tile = [z, x, rowOf(20, z)];
      const [one, two] = [
        await pixelsOf(maps.antimeridian, id, tile),
        await pixelsOf(maps.antimeridian, other, tile),
      ];
      t.ok(differing(one, two) <= most, tile.join("/"));
      t.ok(isPainted(one));
    }
  }
});

t.test("tiles away from the meridian are read by the statements that they had", async (t) => {
  const css = "#a { marker-width: 40; marker-fill: #f00; } ";
  const ids = await layers("away", css, [point(90, 10)]);
  const { render } = node.services as unknown as { render: RenderCalls };
  const { call } = render;
  t.teardown(() => {
    render.call = call;
  });
  let xml = "";
  render.call = ((kind: string, request: MetatileRequest, options: never) => {
    if (kind === "metatile")
      xml = request.parts.flatMap((part) => ("map" in part ? [xmlOf(part.map)] : []))[0]!;
    return (call as (...args: unknown[]) => unknown).call(render, kind, request, options);
  }) as RenderCalls["call"];
  /** Places of the world that the tile is read from. */
  const copies = async (z: number, x: number) => {
    await pixelsOf(maps.antimeridian, ids.antimeridian, [z, x, rowOf(10, z)]);
    return xml.split("!bbox!").length - 1;
  };
  for (const z of [4, 9, 14]) {
    t.equal(await copies(z, 2 ** z / 4), 1, `zoom ${z}`);
    t.equal(await copies(z, 0), 3, `beside the meridian, zoom ${z}`);
    t.equal(await copies(z, 2 ** z - 1), 3);
  }
});

t.test("a virtual layer", async (t) => {
  await layers("source", "#a { marker-width: 1; }", points);
  const ids: Record<string, number> = {};
  for (const [where, map] of both) {
    const css = "#a { marker-width: 40; marker-fill: #f00; marker-allow-overlap: true; }";
    const body = { code: "view", type: "virtual", css_style: css, source: { layer: "source" } };
    ids[where] = (await must("POST", `${map}/layers/`, body)).id;
  }
  await compare(t, ids as unknown as Layers, { zooms: [0, 3, 13] });
});

t.test("points that are thinned ahead of time", async (t) => {
  const css = "#a { marker-width: 9; marker-fill: #c33; marker-line-width: 1; marker-allow-overlap: true; }";
  const ids = await layers("thinned", css, []);
  for (const id of Object.values(ids))
    await sql.query("update layer set geometry_kind = 'Point' where id = $1", [id]);
  // Numbers that are exact in metres, so that the same points share pixels on both sides.
  await fill(ids, 20_500, "st_makepoint(side * (0.01 + (n / 2) % 101 * 0.0217), 4 + (n / 2) / 101 * 0.0193)");
  for (const id of Object.values(ids)) await sql.query("select generalize_layer($1)", [id]);
  await node.services.changes.propagate();
  await compare(t, ids, { zooms: [2, 4, 6, 8, 13], lats: [5] });
  const { rows } = await sql.query("select bands from thinning where layer_id = $1", [ids.antimeridian]);
  t.ok(rows[0].bands.length > 0);
});

t.test("lines and areas of large layers, whose small ones are drawn together", async (t) => {
  const css = "#a { line-width: 12; line-color: #a0a; polygon-fill: #fc0; }";
  const ids = await layers("large", css, []);
  const shape = `(select st_makeline(array_agg(st_point(side * (n % 40) * 0.05 + side * k * 0.0001, 4 + n / 400.0 + 0.01 * sin(k)) order by k))
    from generate_series(0, 99) k)`;
  await fill(ids, 800, `case when n % 4 < 2 then ${shape} else st_buffer(${shape}, 0.001) end`);
  for (const id of Object.values(ids)) await sql.query("select generalize_layer($1)", [id]);
  await node.services.changes.propagate();
  await compare(t, ids, { zooms: [2, 4, 6, 8, 12], lats: [5] });
  const { rows } = await sql.query("select bands from layer where id = $1", [ids.antimeridian]);
  t.ok(rows[0].bands.length > 0);
});

t.test("shapes of many vertices", async (t) => {
  const css = "#a { polygon-fill: #fc0; line-width: 20; line-color: #a0a; line-join: round; }";
  const ids = await layers("long", css, []);
  const ring = `select array_agg(st_point(side * (1 + cos(radians(k * 0.1)) * 1 + 0.0001 * (k % 2)), 5 + sin(radians(k * 0.1))) order by k)
    from generate_series(0, 3600) k`;
  await fill(ids, 2, `st_makepolygon(st_makeline((${ring})))`);
  await compare(t, ids, { zooms: [4, 8, 12], lats: [5] });
});

const kinds = {
  classes: { type: 1, columnCode: "n", classesCount: 2 },
  categories: {
    type: 2,
    columnCode: "n",
    pointSettings: { size: 30, sizeEnabled: true },
    classesSettings: { classes: [{ value: 10, color: "#ff0000" }] },
  },
  bubbles: { type: 3, columnCode: "n", classesSettings: { pointSizeMin: 20, pointSizeMax: 50 } },
  ...Object.fromEntries(
    [4, 5, 6].flatMap((type) =>
      [true, false].map((allowOverlap) => [
        `charts of type ${type}, ${allowOverlap ? "over each other" : "apart"}`,
        {
          type,
          classesSettings: {
            columns: [
              { code: "n", color: "#ff0000" },
              { code: "m", color: "#0000ff" },
            ],
            ...{ sizeType: 1, sizeValue: 50, showScale: true, allowOverlap },
          },
        },
      ]),
    ),
  ),
  "a heat map": { type: 7, classesSettings: { markerSize: 30 } },
};

t.test("visualizations", async (t) => {
  const ids = await layers("visual", "", []);
  const places = [...points, point(-near, 21), point(near + 1, 21), point(-close, 5.1), point(close, 4.9)];
  for (const [where, map] of both) {
    for (const code of ["n", "m"])
      await must("POST", `${map}/layers/visual/structure/`, { code, type: "number" });
    for (const [index, geom] of places.entries())
      await must("POST", `${map}/layers/visual/objects/`, {
        fields: { n: 10 * index, m: 20 },
        geom: where === "antimeridian" ? atAntimeridian(geom) : geom,
      });
  }
  for (const [name, visualSettings] of Object.entries(kinds)) {
    await t.test(name, async (t) => {
      for (const [, map] of both)
        await must("PUT", `${map}/layers/visual/visualization/`, { visualSettings });
      await compare(t, ids, { zooms: [0, 1, 2, 3, 5, 12] });
    });
  }
});

t.test("vector tiles hold what is in their buffer", async (t) => {
  const ids = await layers("vectors", "#a { line-width: 1; }", [
    point(-beside / 8, 20),
    point(beside / 8, 5),
    line([-close, 4], [0, 6]),
    square(0, 38, 10),
  ]);
  const features = async (map: string, [z, x, y]: readonly number[]) => {
    const id = ids[map === maps.antimeridian ? "antimeridian" : "middle"];
    const tile = await fetchVectors(`${server.url}/tms/p/${map}/${z}/${x}/${y}.mvt?layers=${id}`);
    t.equal(tile.status, 200);
    return (tile.layers.get("vectors") ?? []).map(({ type, geometry }) => ({ type, geometry }));
  };
  for (const z of [1, 3, 9, 12, 14]) {
    const side = 2 ** z;
    let found = 0;
    for (const y of new Set([20, 5, 40].map((lat) => rowOf(lat, z)))) {
      for (const x of [0, side / 2]) {
        const own = await features(maps.antimeridian, [z, (x + side / 2) % side, y]);
        const wanted = await features(maps.middle, [z, x, y]);
        t.same(own, wanted, `${z}/${x}/${y}`);
        found += wanted.length;
      }
    }
    t.ok(found > 0, `zoom ${z}`);
  }
});

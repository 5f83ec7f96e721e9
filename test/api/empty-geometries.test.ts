import sharp from "sharp";
import t from "tap";
import { exportFormats } from "../../src/export/export-formats.js";
import { kindNumbers } from "../../src/visual/kinds.js";
import { startServer } from "../support/server.js";
import { decodeTile } from "../support/vector-tiles.js";

/** Empty geometries are taken by every way in, given back, and drawn as nothing. */

const server = await startServer();
t.teardown(() => server.stop());
const token = await server.token("admin");
await server.api("POST", "", { token, body: { code: "m" } });
const api = (method: string, path: string, body?: unknown) => server.api(method, path, { token, body });

const types = ["Point", "LineString", "Polygon", "MultiPoint", "MultiLineString", "MultiPolygon"];
const empties = [
  ...types.map((type) => ({ type, coordinates: [] as unknown[] })),
  { type: "GeometryCollection", geometries: [] as unknown[] },
  { type: "GeometryCollection", geometries: [{ type: "Point", coordinates: [] }] },
];
/** What they come back as: a collection of nothing but empty geometries is an empty one. */
const given = empties.map((geom) =>
  geom.type === "GeometryCollection" ? { ...geom, geometries: [] } : geom,
);
const square = {
  type: "Polygon",
  coordinates: [
    [
      [1, 1],
      [30, 1],
      [30, 30],
      [1, 1],
    ],
  ],
};

async function newLayer(code: string): Promise<void> {
  await api("POST", "m/layers/", { code, name: code });
  await api("POST", `m/layers/${code}/structure/`, { code: "s", type: "string" });
}

/** Ways to write a geometry: each makes an object with it and gives its id. */
const ways: Readonly<Record<string, (code: string, geom: unknown) => Promise<number>>> = {
  POST: async (code, geom) =>
    (await ok(api("POST", `m/layers/${code}/objects/`, { fields: { s: "POST" }, geom }))).id,
  PUT: async (code, geom) => {
    const { id } = await ok(api("POST", `m/layers/${code}/objects/`, { fields: { s: "PUT" }, geom: square }));
    await ok(api("PUT", `m/layers/${code}/objects/${id}/`, { fields: { s: "PUT" }, geom }));
    return id;
  },
  geom: async (code, geom) => {
    const { id } = await ok(
      api("POST", `m/layers/${code}/objects/`, { fields: { s: "geom" }, geom: square }),
    );
    await ok(api("PUT", `m/layers/${code}/objects/${id}/geom/`, geom));
    return id;
  },
  bulk: async (code, geom) => {
    const [{ id }] = await ok(
      api("POST", `m/layers/${code}/objects/bulk/`, [{ op: "create", fields: { s: "bulk" }, geom }]),
    );
    return id;
  },
  import: async (code, geometry) => {
    const properties = { s: "import" };
    await ok(
      api("POST", `m/layers/${code}/import/`, {
        type: "FeatureCollection",
        features: [{ type: "Feature", properties, geometry }],
      }),
    );
    const list = await ok(api("GET", `m/layers/${code}/objects/?fields=s&fcode=s&fval=import`));
    return Math.max(...list.map(({ id }: { id: number }) => id));
  },
};

async function ok(answer: ReturnType<typeof api>): Promise<any> {
  const { status, json, text } = await answer;
  if (status !== 200 && status !== 201) throw new Error(`${status}: ${text}`);
  return json;
}

/** The objects of a layer in a list, and each as it is read alone. */
async function objectsOf(code: string, query: string): Promise<any[]> {
  const objects = `m/layers/${code}/objects/`;
  const list = await ok(api("GET", `${objects}?sort=svc_id&${query}`));
  const alone = await ok(api("GET", `${objects}${list.at(-1).id}/?${query}`));
  return [...list, alone];
}

const read = async (path: string) => {
  const answer = await fetch(`${server.url}${path}`);
  const bytes = Buffer.from(await answer.arrayBuffer());
  if (answer.status !== 200) throw new Error(`${path}: ${answer.status} ${bytes}`);
  return bytes;
};
const pixels = async () =>
  (
    await sharp(await read("/tms/p/m/2/2/1.png?base=0"))
      .ensureAlpha()
      .raw()
      .toBuffer()
  ).toString("base64");

for (const [way, write] of Object.entries(ways)) {
  t.test(`an empty geometry is taken by ${way} and given back`, async (t) => {
    const code = way.toLowerCase();
    await newLayer(code);
    for (const geom of empties) await write(code, geom);
    const wanted = [...given, given.at(-1)];
    for (const query of ["", "&geomSR=3857", "&geomZoom=3", "&geomZoom=3&geomSR=3857&bboxSR=3857"]) {
      const found = await objectsOf(code, `returnGeom=1&returnBbox=1${query}`);
      t.same(
        found.map(({ geom }) => geom),
        wanted,
        query,
      );
      t.same([...new Set(found.map(({ bbox }) => bbox))], [null], `no place ${query}`);
    }
    for (const query of ["", "&geomSR=3857"]) {
      const found = await ok(api("GET", `m/layers/${code}/objects/?returnGeom=1&returnCentroid=1${query}`));
      t.same([...new Set(found.map(({ geom }: any) => geom))], [null], "no point on it");
    }
    t.equal((await ok(api("GET", `m/layers/${code}/?returnBbox=1`))).bbox, null, "the layer has no place");
    t.same(
      await ok(api("GET", `m/layers/${code}/objects/?fbbox=-90,-180,90,180`)),
      [],
      "so none is in a box",
    );
  });
}

t.test("an empty geometry is drawn as nothing and harms nothing", async (t) => {
  const layers = Object.keys(ways).map((way) => way.toLowerCase());
  const before = await pixels();
  await newLayer("beside");
  await ok(api("POST", "m/layers/beside/objects/", { fields: { s: "beside" }, geom: square }));
  const drawn = await pixels();
  t.not(drawn, before);
  for (const geom of empties) await ways.POST!("beside", geom);
  t.equal(await pixels(), drawn, "only the square is drawn");
  const vector = decodeTile(await read("/tms/p/m/0/0/0.mvt"));
  t.same(
    [...vector].map(([name, features]) => [name, features.length]).filter(([, count]) => count),
    [["beside", 1]],
  );
  const found = await ok(api("GET", "m/identify/?point=10,20&zoom=2"));
  t.equal(found.length, 1);
  for (const code of [...layers, "beside"]) {
    await ok(api("POST", `m/layers/${code}/makevalid/`));
    const list = await ok(api("GET", `m/layers/${code}/objects/?returnGeom=1&sort=svc_id`));
    const wanted = code === "beside" ? [square, ...given] : given;
    t.same(
      list.map(({ geom }: any) => geom),
      wanted,
      `${code}: makevalid changes none`,
    );
    const geojson = JSON.parse(String(await read(`/api/2.8/p/m/layers/${code}/objects/?format=geojson`)));
    t.equal(geojson.features.length, wanted.length);
    for (const { id } of list)
      t.equal(
        (await read(`/api/2.8/p/m/layers/${code}/objects/${id}/?f=pdf`)).toString("latin1", 0, 4),
        "%PDF",
      );
  }
  const hits = await ok(api("GET", "m/search/?phrase=POST"));
  t.ok(hits.length > 0);
  const tree = await ok(api("GET", "m/layers/?type=full&returnBbox=1"));
  t.ok(JSON.stringify(tree).includes("beside"));
});

t.test("a large layer is thinned with empty geometries in it, and grows by them", async (t) => {
  for (const [code, geometryOf] of Object.entries({
    points: (i: number) => ({ type: "Point", coordinates: [(i % 300) / 10, Math.floor(i / 300) / 10] }),
    shapes: (i: number) => ({
      type: "LineString",
      coordinates: [
        [(i % 300) / 10, 0],
        [(i % 300) / 10, 1 + i / 1e3],
      ],
    }),
  })) {
    await newLayer(code);
    const features = Array.from({ length: 3_000 }, (_, i) => ({
      type: "Feature",
      properties: { s: `${i}` },
      geometry: i % 100 === 0 ? empties[(i / 100) % empties.length] : geometryOf(i),
    }));
    await ok(api("POST", `m/layers/${code}/import/`, { type: "FeatureCollection", features }));
    for (const zoom of ["0/0/0", "3/4/4"]) await read(`/tms/p/m/${zoom}.png?base=0`);
    for (const geom of empties) {
      const id = await ways.POST!(code, geom);
      await ok(api("PUT", `m/layers/${code}/objects/${id}/geom/`, geometryOf(7)));
      await ok(api("PUT", `m/layers/${code}/objects/${id}/geom/`, geom));
    }
    for (const zoom of ["0/0/0", "3/4/4"]) await read(`/tms/p/m/${zoom}.png?base=0`);
    const [{ count }] = (await server.sql.query("select count(*)::int from layer")).rows;
    t.ok(count > 0);
  }
});

const point = { type: "Point", coordinates: [10, 20] };
const line = {
  type: "LineString",
  coordinates: [
    [0, 0],
    [20, 20],
  ],
};
const nothing = (type: string) => ({ type, coordinates: [] });
const collection = (...geometries: unknown[]) => ({ type: "GeometryCollection", geometries });
/** Geometries of which a part is empty. */
const parted = [
  { type: "MultiPoint", coordinates: [[], point.coordinates] },
  { type: "MultiPoint", coordinates: [point.coordinates, [], []] },
  { type: "MultiLineString", coordinates: [line.coordinates, []] },
  { type: "MultiPolygon", coordinates: [[], square.coordinates] },
  ...[point, line, square].flatMap((whole) =>
    ["Point", "LineString", "Polygon", "MultiPoint"].flatMap((type) => [
      collection(nothing(type), whole),
      collection(whole, collection(collection(), nothing(type))),
    ]),
  ),
];

t.test("parts of geometries that are empty harm nothing, in whatever is made of them", async (t) => {
  await api("POST", "", { code: "parts" });
  await api("POST", "parts/layers/", { code: "l" });
  await api("POST", "parts/layers/l/structure/", { code: "n", type: "number" });
  const ops = parted.map((geom, n) => ({ op: "create", fields: { n }, geom }));
  await ok(api("POST", "parts/layers/l/objects/bulk/", ops as never));
  const objects = "parts/layers/l/objects/";
  for (const query of ["", "&geomSR=3857", "&geomZoom=3", "&format=geojson"])
    t.equal((await listOf(`${objects}?returnGeom=1${query}`)).length, parted.length, `as JSON ${query}`);
  for (const query of ["", "&geomSR=3857"]) {
    const found = await listOf(`${objects}?returnGeom=1&returnCentroid=1&sort=svc_id${query}`);
    for (const [at, { geom }] of found.entries())
      t.match(geom, { type: "Point", coordinates: [Number, Number] }, JSON.stringify(parted[at]));
  }
  for (const type of kindNumbers) {
    const classesSettings = { columns: [{ code: "n", color: "#ff0000" }] };
    const visualSettings = { type, columnCode: "n", ...(type > 3 && type < 7 && { classesSettings }) };
    await ok(api("PUT", "parts/layers/l/visualization/", { visualSettings }));
    for (const place of ["0/0/0.png", "2/2/1.png", "0/0/0.mvt"]) {
      const answer = await fetch(`${server.url}/tms/p/parts/${place}?base=0`);
      await answer.arrayBuffer();
      t.equal(answer.status, 200);
      t.equal(answer.headers.get("x-tile-incomplete"), null, `${type} ${place}`);
    }
  }
  await ok(api("POST", "parts/layers/l/makevalid/"));
  for (const format of exportFormats.filter((name) => name !== "geotif")) {
    const answer = await fetch(`${server.url}/api/2.8/p/parts/layers/l/export/?format=${format}`);
    const bytes = Buffer.from(await answer.arrayBuffer());
    if (!t.equal(answer.status, 200, format)) continue;
    await newLayer(`from-${format}`);
    const [, name = ""] = /filename="([^"]+)"/.exec(answer.headers.get("content-disposition") ?? "") ?? [];
    const taken = await fetch(`${server.url}/api/2.8/p/m/layers/from-${format}/import/`, {
      method: "POST",
      headers: { "x-token": token, "x-filename": name },
      body: bytes,
    });
    t.equal(taken.status, 200, `${format}: ${await taken.text()}`);
  }
});

async function listOf(path: string): Promise<any[]> {
  const { features, ...list } = JSON.parse(String(await read(`/api/2.8/p/${path}`)));
  return features ?? Object.values(list);
}

import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import gdal from "gdal-async";
import t from "tap";
import { setGrant } from "../../src/access/grants.js";
import { writeGdalFile } from "../support/gdal-files.js";
import { geoPackageOf } from "../support/many-tables.js";
import { startServer, waitFor } from "../support/server.js";
import { smallWorkbook } from "../support/xls.js";
import { rowsOf, xlsxOf } from "../support/xlsx.js";
import { zipOf } from "../support/zip.js";

/** Files of several tables: which there are, and the import of one of them. */

const server = await startServer();
t.teardown(() => server.stop());
const token = await server.token("editor");
await server.api("POST", "", { token: await server.token("admin"), body: { code: "m" } });
let layers = 0;

/** Imports a file into a new layer. @returns also what the layer has then */
async function imported(name: string, bytes: Uint8Array | string, query: Readonly<Record<string, string>>) {
  const layer = `l${++layers}`;
  await server.api("POST", "m/layers/", { token, body: { code: layer } });
  const answer = await fetch(
    `${server.url}/api/2.8/p/m/layers/${layer}/import/?${new URLSearchParams(query)}`,
    {
      method: "POST",
      headers: { "x-token": token, "x-filename": name, "content-type": "application/octet-stream" },
      body: bytes as never,
    },
  );
  const { import: done, ...refused } = (await answer.json()) as any;
  const { json: objects } = await server.api("GET", `m/layers/${layer}/objects/?returnGeom=1&fields=*`, {
    token,
  });
  return { status: answer.status, refused, done, objects: objects as any[] };
}

/** What there is, and what each of the tables gives. */
async function each(name: string, bytes: Uint8Array | string) {
  const { refused } = await imported(name, bytes, { one_table: "1" });
  const counts: Record<string, number> = {};
  for (const table of refused.data.tables) {
    if (table.features === 0) continue;
    const { done, refused: why } = await imported(name, bytes, { table: table.name });
    counts[table.name] = done?.features ?? why.message;
  }
  return { tables: refused.data.tables, message: refused.message as string, counts };
}

const line = "LINESTRING (1 1, 2 2)";
const point = "POINT (1 2)";

t.test("a GeoPackage is refused with its tables, and each of them can be imported", async (t) => {
  const bytes = geoPackageOf(
    { name: "trees", objects: [point, point, point] },
    { name: "roads", objects: [line, line], type: gdal.wkbLineString },
    { name: "none yet", objects: [] },
    { name: "prices", objects: [null], type: gdal.wkbNone },
  );
  const { tables, message, counts } = await each("city.gpkg", bytes);
  t.same(tables, [
    { name: "trees", format: "GeoPackage", geometry_type: "Point", features: 3 },
    { name: "roads", format: "GeoPackage", geometry_type: "LineString", features: 2 },
    { name: "none yet", format: "GeoPackage", geometry_type: "Point", features: 0 },
    { name: "prices", format: "GeoPackage", features: 1 },
  ]);
  t.match(message, /^The file has 4 tables: "trees", "roads", /);
  t.same(counts, { trees: 3, roads: 2, prices: 1 });
  const { objects, done } = await imported("city.gpkg", bytes, { table: "roads" });
  t.same(Object.keys(objects[0].fields).sort(), ["n", "svc_id"], "nothing tells which table it was");
  t.same(done.notes, []);
  t.equal(objects[0].geom.type, "LineString");
  const all = await imported("city.gpkg", bytes, {});
  t.equal(all.done.features, 5, "without a name all places are imported, as before");
});

t.test("a name that is not there is refused, and what is there is named", async (t) => {
  const bytes = geoPackageOf({ name: "trees", objects: [point] }, { name: "roads", objects: [point] });
  const { status, refused, objects } = await imported("city.gpkg", bytes, { table: "Trees" });
  t.not(status, 200);
  t.match(refused, {
    code: "invalid_value",
    message: 'There is no table "Trees" in the file. The file has 2 tables: "trees", "roads".',
    data: { parameter: "table", tables: [{ name: "trees" }, { name: "roads" }] },
  });
  t.same(objects, []);
});

t.test("a file of one table is imported at once, whatever else it has", async (t) => {
  const one = { one_table: "1" };
  const styled = geoPackageOf(
    { name: "trees", objects: [point] },
    { name: "empty", objects: [] },
    { name: "layer_styles", objects: [null], type: gdal.wkbNone },
  );
  t.match(await imported("trees.gpkg", styled, one), { status: 200, done: { features: 1 } });
  t.match(await imported("t.csv", "lon,lat\n1,2\n", one), { status: 200, done: { features: 1 } });
  t.match(
    await imported("t.csv", "lon,lat\n1,2\n", { table: "t" }),
    { status: 200 },
    "its name is the file's",
  );
  const book = await xlsxOf({
    sheets: {
      Trees: rowsOf([["name"], ["Oak"]]),
      Notes: rowsOf([["by hand"]]),
      ".Hidden": rowsOf([["a"], [1]]),
    },
  });
  t.match(await imported("trees.xlsx", book, one), { status: 200, done: { features: 1 } });
});

t.test("the visible sheets of a workbook", async (t) => {
  const book = await xlsxOf({
    sheets: {
      Trees: rowsOf([
        ["name", "lon", "lat"],
        ["Oak", 1, 2],
        ["Elm", 1, 3],
      ]),
      Дома: rowsOf([["street"], ["Long"]]),
      Blank: "",
      ".Hidden": rowsOf([["a"], [1]]),
    },
  });
  const { tables, counts } = await each("book.xlsx", book);
  t.same(tables, [
    { name: "Trees", format: "XLSX" },
    { name: "Дома", format: "XLSX" },
    { name: "Blank", format: "XLSX", features: 0 },
  ]);
  t.same(counts, { Trees: 2, Дома: 1 });
  const { objects } = await imported("book.xlsx", book, { table: "Дома" });
  t.match(objects, [{ fields: { street: "Long" } }]);
  t.match(await imported("book.xlsx", book, { table: "Blank" }), {
    refused: { message: /"Blank" is empty/ },
  });
});

t.test(
  "the shapefiles of an archive, with names from their folders where others have the same",
  async (t) => {
    const folder = mkdtempSync(join(tmpdir(), "mapwright-tables-"));
    t.teardown(() => rmSync(folder, { recursive: true }));
    const files = writeGdalFile(folder, {
      driver: "ESRI Shapefile",
      extension: "shp",
      fields: { name: gdal.OFTString },
      features: [{ values: { name: "Oak" }, wkt: point }],
    });
    const inFolder = (path: string) =>
      Object.fromEntries(
        Object.entries(files).map(([name, bytes]) => [`${path}${name.slice(name.indexOf("."))}`, bytes]),
      );
    const zip = await zipOf({
      ...inFolder("north/trees"),
      ...inFolder("south/trees"),
      ...inFolder("Ёлки"),
      "broken.shp": "no shapefile",
      "readme.txt": "Trees of all kinds",
    });
    const { tables, counts } = await each("trees.zip", zip);
    const shape = { format: "Shapefile", geometry_type: "Point", features: 1 };
    t.same(tables, [
      { name: "north/trees.shp", ...shape },
      { name: "south/trees.shp", ...shape },
      { name: "Ёлки", ...shape },
      { name: "broken", format: "Shapefile" },
    ]);
    t.match(counts, { "north/trees.shp": 1, "south/trees.shp": 1, Ёлки: 1, broken: /cannot be read/ });
  },
);

t.test("the folders of a KML document, and what is in none of them", async (t) => {
  const placemark = (name: string) =>
    `<Placemark><name>${name}</name><Point><coordinates>1,2</coordinates></Point></Placemark>`;
  const folder = (name: string, content: string) => `<Folder><name>${name}</name>${content}</Folder>`;
  const kml = `<kml xmlns="http://www.opengis.net/kml/2.2"><Document><name>All</name>${[
    folder("Trees", placemark("Oak") + folder("Old", placemark("Elm") + placemark("Ash"))),
    folder("Empty", ""),
    folder("Houses", placemark("<![CDATA[<Folder>]]>")),
    placemark("Alone"),
  ].join("")}</Document></kml>`;
  for (const [name, bytes] of [
    ["places.kml", kml],
    ["places.kmz", await zipOf({ "doc.kml": kml })],
  ] as const) {
    const { tables, counts } = await each(name, bytes);
    t.same(
      tables.map(({ name, features }: any) => [name, features]),
      [
        ["Trees", 1],
        ["Trees/Old", 2],
        ["Houses", 1],
        ["places", 1],
      ],
    );
    t.same(counts, { Trees: 1, "Trees/Old": 2, Houses: 1, places: 1 });
  }
  const { objects } = await imported("places.kml", kml, { table: "Trees/Old" });
  t.same(objects.map(({ fields }) => fields.name).sort(), ["Ash", "Elm"]);
  t.notOk("folder" in objects[0].fields, "there is one only");
});

t.test("the layers of a GML file, and a workbook of the older format", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "mapwright-tables-"));
  t.teardown(() => rmSync(folder, { recursive: true }));
  const path = join(folder, "many.gml");
  const dataset = gdal.open(path, "w", "GML", 0, 0, 0, gdal.GDT_Unknown);
  for (const name of ["trees", "roads"]) {
    const layer = dataset.layers.create(name, gdal.SpatialReference.fromEPSG(4326), gdal.wkbPoint);
    layer.fields.add(new gdal.FieldDefn("n", gdal.OFTInteger));
    const feature = new gdal.Feature(layer);
    feature.fields.set({ n: 1 });
    feature.setGeometry(gdal.Geometry.fromWKT(point));
    layer.features.add(feature);
  }
  dataset.close();
  const { tables, counts } = await each("many.gml", readFileSync(path));
  t.match(tables, [
    { name: "trees", format: "GML", features: 1 },
    { name: "roads", format: "GML", features: 1 },
  ]);
  t.same(counts, { trees: 1, roads: 1 });
  const book = smallWorkbook([
    ["name", "height"],
    ["Oak", 12],
  ]);
  t.match(await imported("old.xls", book, { one_table: "1" }), { status: 200, done: { features: 1 } });
  const { refused } = await imported("old.xls", book, { table: "none" });
  const [{ name }] = refused.data.tables;
  t.match(await imported("old.xls", book, { table: name }), { status: 200, done: { features: 1 } });
});

t.test("names that are none, the same, long or made to harm", async (t) => {
  const long = "x".repeat(5_000);
  const wild = [
    "a' or 1=1 --",
    'q"uote',
    "two\nlines \u202Eright",
    long,
    `${long}y`,
    "../../etc/passwd",
    "%s%n",
  ];
  const bytes = geoPackageOf(...wild.map((name) => ({ name, objects: [point] })));
  const { tables, counts } = await each("wild.gpkg", bytes);
  t.same(
    tables.map(({ name }: any) => name),
    [
      ...["a' or 1=1 --", 'q"uote', "twolines right"],
      ...["x".repeat(200), `${"x".repeat(200)} (2)`],
      ...["../../etc/passwd", "%s%n"],
    ],
  );
  t.ok(
    Object.values(counts).every((count) => count === 1),
    JSON.stringify(counts),
  );
  t.match(await imported("wild.gpkg", bytes, { table: "two\nlines \u202Eright" }), { status: 200 });
  const book = await xlsxOf({
    sheets: { "": rowsOf([["a"], [1]]), " ": rowsOf([["b"], [2]]), "&lt;b&gt;": rowsOf([["c"], [3]]) },
  });
  const sheets = await each("book.xlsx", book);
  t.same(sheets.counts, { book: 1, "book (2)": 1, "<b>": 1 });
});

t.test("an image has no tables", async (t) => {
  const { refused } = await imported("a.png", Buffer.from("89504e470d0a1a0a", "hex"), { table: "a" });
  t.match(refused.code, /invalid_value|import_failed/);
});

t.test("a file is sent once for several layers", async (t) => {
  const file = geoPackageOf(
    { name: "trees", objects: [point, point] },
    { name: "roads", objects: [line], type: gdal.wkbLineString },
    { name: "prices", objects: [null], type: gdal.wkbNone },
  );
  const admin = await server.token("admin");
  for (const code of ["trees", "roads", "prices"])
    await server.api("POST", "m/layers/", { token: admin, body: { code } });
  const send = async (parameters: Readonly<Record<string, string>>) => {
    const form = new FormData();
    for (const [name, value] of Object.entries(parameters)) form.append(name, value);
    form.append("file", new Blob([file as never]), "city.gpkg");
    const address = `${server.url}/api/2.8/p/m/layers/trees/import/`;
    const answer = await fetch(address, {
      method: "POST",
      headers: { "x-token": token, accept: "application/json" },
      body: form,
    });
    return { status: answer.status, json: (await answer.json()) as any };
  };
  const count = async (code: string) =>
    (await server.api("GET", `m/layers/${code}/count/?precise=1`, { token })).json;
  const sent = await send({
    ...{ async: "1", table: "trees", action: "1" },
    other_tables: JSON.stringify({ roads: "roads", prices: "prices", none: `l${layers}` }),
  });
  t.equal(sent.status, 202, JSON.stringify(sent.json));
  const { id: own, others } = sent.json;
  t.match(others, [
    { id: String, layer: "roads", table: "roads" },
    { id: String, layer: "prices", table: "prices" },
    { id: String, layer: `l${layers}`, table: "none" },
  ]);
  const ends: any[] = [];
  for (const { id, layer } of [{ id: own, layer: "trees" }, ...others]) {
    const job = async () => (await server.api("GET", `m/layers/${layer}/import/${id}/`, { token })).json;
    await waitFor(async () => (await job()).state !== "running");
    ends.push(await job());
  }
  t.same(
    ends.map(({ state, features }) => [state, features]),
    [
      ["done", 2],
      ["done", 1],
      ["done", 1],
      ["failed", 0],
    ],
  );
  t.equal(
    ends[3].error.code,
    "invalid_value",
    "there is no such table; the others are imported all the same",
  );
  t.same([await count("trees"), await count("roads"), await count("prices")], [2, 1, 1]);
  await waitFor(() => readdirSync(join(server.nodes[0]!.services.config.dataDir, "tmp")).length === 0);

  const refusals: [Record<string, string>, number, RegExp][] = [
    [{ other_tables: "roads" }, 500, /must be a JSON object/],
    [{ other_tables: '{"roads": null}' }, 500, /must be a JSON object/],
    [{ other_tables: '{"trees": "roads"}' }, 500, /named already, "trees"/],
    [{ other_tables: '{"roads": "trees"}' }, 500, /gives a layer two tables/],
    [{ other_tables: '{"roads": "roads", "prices": "roads"}' }, 500, /gives a layer two tables/],
    [{ other_tables: '{"roads": "nowhere"}' }, 404, /^/],
    [{ other_tables: '{"roads": "roads"}', async: "0" }, 500, /goes with async and table/],
    [{ other_tables: '{"roads": "roads"}', table: "" }, 500, /goes with async and table/],
    [
      { other_tables: JSON.stringify(Object.fromEntries(Array.from({ length: 101 }, (_, n) => [n, "x"]))) },
      500,
      /at most 100/,
    ],
  ];
  for (const [parameters, status, message] of refusals) {
    const { status: answered, json } = await send({ async: "1", table: "trees", ...parameters });
    t.equal(answered, status, JSON.stringify(parameters).slice(0, 80));
    t.match(json.message ?? "", message);
  }
  const { db, changes } = server.nodes[0]!.services;
  await setGrant(db, { project: "p", map: "m", layer: "roads", login: "editor" }, 0);
  await changes.propagate();
  const forbidden = await send({ async: "1", table: "trees", other_tables: '{"roads": "roads"}' });
  t.equal(forbidden.status, 403, "each of the layers must be one that its user may edit");
});

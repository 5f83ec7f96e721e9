import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import gdal from "gdal-async";
import { parquetMetadata, parquetReadObjects } from "hyparquet";
import t from "tap";
import { sweepExportFolders } from "../../src/export/export-folders.js";
import { startServer, waitFor } from "../support/server.js";

/** Exports that GDAL writes, read again through GDAL: every value and vertex, or a note that says what was lost. */

const server = await startServer();
const folder = mkdtempSync(join(tmpdir(), "mapwright-test-"));
t.teardown(async () => {
  rmSync(folder, { recursive: true, force: true });
  await server.stop();
});
const token = await server.token("admin");
const { files } = server.nodes[0]!.services;

async function must(method: string, path: string, body?: unknown) {
  const answer = await server.api(method, path, { token, body });
  if (answer.status !== 200) throw new Error(`${method} ${path}: ${answer.status} ${answer.text}`);
  return answer.json;
}
/** Folders of exports that are there now. */
const left = () => readdirSync(files.folder).filter((name) => name.startsWith("export-"));

await must("POST", "", { code: "m" });
await must("POST", "m/layers/", { code: "all" });
for (const [code, type, localized] of [
  ["name", "string", false],
  ["text", "text", false],
  ["number", "number", false],
  ["whole", "number", false],
  ["flag", "bool", false],
  ["moment", "datetime", false],
  ["data", "json", false],
  ["a_long_column_code", "string", false],
  ["a_long_column_name", "string", false],
  ["title", "string", true],
] as const)
  await must("POST", "m/layers/all/structure/", { code, type, localized_value: localized });

interface Sample {
  readonly wkt: string | null;
  readonly fields: Readonly<Record<string, unknown>>;
}
const long = "Ж".repeat(400);
const samples: readonly Sample[] = [
  {
    wkt: "POINT (30.123456789012 -50.000000000001)",
    fields: {
      name: 'Улица "Мира"; №5, it\'s',
      text: "first\nsecond",
      number: 0.1 + 0.2,
      whole: -2147483649,
      flag: true,
      moment: "2024-02-29T12:30:00.123456+03:00",
      data: { ключ: [1, null, "ü"] },
      a_long_column_code: "9007199254740993",
      a_long_column_name: "b",
    },
  },
  { wkt: "POINT (190 85)", fields: {} },
  { wkt: null, fields: { name: "", text: long, number: 1e-20, flag: false } },
  {
    wkt: "MULTIPOINT ((1 2),(3 4))",
    fields: { name: " around ", text: "ё 漢 🎄", number: 123456789.12345679 },
  },
  { wkt: "LINESTRING (170 10,190 20,200 30)", fields: { name: "x", moment: "1969-12-31T23:59:59Z" } },
  { wkt: "MULTILINESTRING ((1 2,3 4),(5 6,7 8,9 10))", fields: { name: "y", data: "text" } },
  { wkt: "POLYGON ((170 0,170 10,190 10,190 0,170 0),(175 2,180 2,180 5,175 2))", fields: { name: "hole" } },
  {
    wkt: "MULTIPOLYGON (((0 0,0 10,10 10,0 0),(1 2,2 3,1 3,1 2)),((20 20,20 30,30 30,20 20)))",
    fields: { name: "parts" },
  },
];
const ids: number[] = [];
const { id: layerId } = await must("GET", "m/layers/all/");
for (const [index, { fields, wkt }] of samples.entries()) {
  const { id } = await must("POST", "m/layers/all/objects/", { fields, geom: null });
  ids.push(id);
  if (wkt !== null)
    await server.sql.query(
      `update layers.l${layerId} set geom = st_geomfromtext($1, 4326) where svc_id = $2`,
      [wkt, id],
    );
  await must("PUT", `m/layers/all/objects/${id}/?lng=ru`, { fields: { title: `Имя ${index}` } });
}

interface Exported {
  /** Names of files. */
  readonly names: string[];
  readonly notes: string[];
  /** Rows of all files by id: values, and the geometry as WKT. */
  readonly rows: Map<number, Record<string, unknown>[]>;
}

let count = 0;
/** Exports the layer and reads the files again. */
async function exported(format: string, query = "", layer = "all"): Promise<Exported> {
  const answer = await fetch(`${server.url}/api/2.8/p/m/layers/${layer}/export/?format=${format}${query}`, {
    headers: { "x-token": token },
  });
  const bytes = Buffer.from(await answer.arrayBuffer());
  if (answer.status !== 200) throw new Error(`${answer.status} ${bytes.toString()}`);
  const place = join(folder, String(++count));
  mkdirSync(place);
  if (answer.headers.get("content-type") === "application/zip") {
    writeFileSync(join(folder, "file.zip"), bytes);
    execFileSync("unzip", ["-q", join(folder, "file.zip"), "-d", place]);
  } else writeFileSync(join(place, `all.${format}`), bytes);
  const rows: Exported["rows"] = new Map();
  for (const name of readdirSync(place).filter((one) => one.endsWith(`.${format}`))) {
    const dataset = gdal.open(join(place, name));
    const features = dataset.layers.get(0).features;
    for (let feature = features.first(); feature; feature = features.next()) {
      const values = feature.fields.toObject() as Record<string, unknown>;
      const id = Number(values.svc_id);
      const wkt = feature.getGeometry()?.toWKT() ?? null;
      rows.set(id, [...(rows.get(id) ?? []), { ...values, wkt }]);
    }
    dataset.close();
  }
  return {
    names: readdirSync(place).sort(),
    notes: JSON.parse(answer.headers.get("x-export-notes") ?? "[]"),
    rows,
  };
}
/** The row of an object that has one. */
const row = ({ rows }: Exported, index: number) => {
  const found = rows.get(ids[index]!);
  if (found?.length !== 1) throw new Error(`Object ${index} has ${found?.length} rows.`);
  return found[0]!;
};
const sameWkt = (wkt: string | null) => wkt && gdal.Geometry.fromWKT(wkt).toWKT();

t.test("GeoPackage and FlatGeobuf have every value and vertex", async (t) => {
  for (const format of ["gpkg", "fgb"]) {
    const file = await exported(format);
    t.equal(file.rows.size, samples.length, format);
    for (const [index, { wkt, fields }] of samples.entries()) {
      const found = row(file, index);
      const { data, moment, flag, ...same } = fields as Record<string, unknown>;
      for (const [name, value] of Object.entries(same))
        t.equal(found[name], value, `${format}: ${name} of object ${index}`);
      t.equal(found.flag, flag === undefined ? null : Number(flag));
      t.same(found.data === null ? undefined : JSON.parse(String(found.data)), data);
      t.equal(found.title_ru, `Имя ${index}`);
      t.equal(found.title_en, null);
      t.equal(found.wkt, sameWkt(wkt), `${format}: geometry of object ${index}`);
      for (const name of ["name", "number", "whole"]) t.equal(found[name], fields[name] ?? null);
    }
    if (format === "gpkg") {
      t.equal(row(file, 0).moment, "2024-02-29T09:30:00.123456Z");
      t.match(file.notes, [
        'Column "moment": it has times finer than a millisecond',
        'Column "data": its values are written as texts in JSON.',
      ]);
      t.equal(file.notes.length, 2);
    } else t.same(file.notes, []);
  }
});

t.test("a GeoPackage has a spatial index of all objects with geometry", async (t) => {
  const answer = await fetch(`${server.url}/api/2.8/p/m/layers/all/export/?format=gpkg`);
  const path = join(folder, "indexed.gpkg");
  writeFileSync(path, Buffer.from(await answer.arrayBuffer()));
  const dataset = gdal.open(path);
  const indexed = dataset.executeSQL("select count(*) as count from rtree_all_geom").features.first();
  t.equal(indexed.fields.get("count"), samples.filter(({ wkt }) => wkt !== null).length);
  dataset.close();
});

t.test("FlatGeobuf keeps times to the microsecond, and the order of the ids", async (t) => {
  const file = await exported("fgb");
  t.same([...file.rows.keys()], ids);
  const bytes = await fetch(`${server.url}/api/2.8/p/m/layers/all/export/?format=fgb`);
  t.match(Buffer.from(await bytes.arrayBuffer()).toString("latin1"), "2024-02-29T09:30:00.123456Z");
});

t.test("GeoParquet has every value and vertex in types of its own", async (t) => {
  const parquet = async (query = "", layer = "all") => {
    const path = `/api/2.8/p/m/layers/${layer}/export/?format=parquet${query}`;
    const answer = await fetch(`${server.url}${path}`, { headers: { "x-token": token } });
    t.equal(answer.headers.get("content-type"), "application/vnd.apache.parquet");
    t.equal(answer.headers.get("x-export-notes"), null);
    const file = await answer.arrayBuffer();
    const { key_value_metadata: pairs, schema } = parquetMetadata(file);
    const geo = JSON.parse(pairs!.find(({ key }) => key === "geo")!.value!);
    const parsers = { timestampFromMicroseconds: (value: bigint) => value };
    const found = await parquetReadObjects({ file, geoparquet: false, utf8: false, parsers });
    return { schema, geo, found };
  };
  const { schema, geo, found } = await parquet();
  t.match(Object.fromEntries(schema.slice(1).map(({ name, type }) => [name, type])), {
    ...{ svc_id: "INT64", number: "DOUBLE", flag: "BOOLEAN", moment: "INT64", data: "BYTE_ARRAY" },
    ...{ name: "BYTE_ARRAY", title_ru: "BYTE_ARRAY", geometry: "BYTE_ARRAY" },
  });
  t.match(schema.find(({ name }) => name === "moment")!.logical_type, {
    ...{ type: "TIMESTAMP", isAdjustedToUTC: true, unit: "MICROS" },
  });
  for (const [index, { wkt, fields }] of samples.entries()) {
    const { geometry, svc_id, moment, data, title_ru, title_en, ...values } = found[index]!;
    const { moment: time, data: json, ...same } = fields;
    const nothing = Object.fromEntries(Object.keys(values).map((name) => [name, null]));
    t.strictSame(values, { ...nothing, ...same }, `values of object ${index}`);
    t.equal(svc_id, BigInt(ids[index]!));
    t.equal(title_ru, `Имя ${index}`);
    t.equal(title_en, null);
    t.strictSame(data === null ? undefined : JSON.parse(Buffer.from(data).toString()), json);
    const microseconds = time === undefined ? null : BigInt(Date.parse(String(time))) * 1000n;
    t.equal(moment, microseconds && microseconds + (index === 0 ? 456n : 0n));
    const read = geometry && gdal.Geometry.fromWKB(Buffer.from(geometry)).toWKT();
    t.equal(read, sameWkt(wkt), `geometry of object ${index}`);
  }
  t.match(geo, {
    version: "1.1.0",
    primary_column: "geometry",
    columns: { geometry: { encoding: "WKB", bbox: [0, -50.000000000001, 200, 85] } },
  });
  t.same(geo.columns.geometry.geometry_types, [
    ...["LineString", "MultiLineString", "MultiPoint", "MultiPolygon", "Point", "Polygon"],
  ]);
  t.equal(geo.columns.geometry.crs, undefined, "longitude and latitude without a word");
  const metres = await parquet(`&geomSR=3857&feature_ids=${ids[0]}`);
  t.match(metres.geo.columns.geometry, { crs: { id: { authority: "EPSG", code: 3857 } } });
  t.match(
    gdal.Geometry.fromWKB(Buffer.from(metres.found[0]!.geometry)).toWKT(),
    /^POINT \(33533\d\d\.\d+ -64462\d\d\.\d+\)$/,
  );
  await must("POST", "m/layers/", { code: "flat" });
  t.same((await parquet("", "flat")).found, [], "an empty layer");
  const { id } = await must("GET", "m/layers/flat/");
  for (const wkt of ["POINT Z (1 2 3.5)", "POINT EMPTY", "POINT (3 4)", null])
    await server.sql.query(`insert into layers.l${id} (geom) values (st_geomfromtext($1, 4326))`, [wkt]);
  const heights = await parquet("", "flat");
  t.same(heights.geo.columns.geometry.geometry_types, ["Point", "Point Z"]);
  t.same(heights.geo.columns.geometry.bbox, [1, 2, 3.5, 3, 4, 3.5]);
  t.same(
    heights.found.map(({ geometry }) => geometry && gdal.Geometry.fromWKB(Buffer.from(geometry)).toWKT()),
    ["POINT (1 2 3.5)", "POINT EMPTY", "POINT (3 4)", null],
  );
});

t.test("shapefiles have one kind of geometry each, and notes tell what they lost", async (t) => {
  const file = await exported("shp");
  const kinds = ["lines", "multipoints", "points", "polygons"];
  const parts = ["cpg", "dbf", "prj", "shp", "shx"];
  t.same(file.names, ["README.txt", ...kinds.flatMap((kind) => parts.map((part) => `all-${kind}.${part}`))]);
  for (const [index, { wkt, fields }] of samples.entries()) {
    const found = row(file, index);
    t.equal(found.wkt, sameWkt(wkt), `geometry of object ${index}`);
    t.equal(found.number, fields.number === undefined ? null : String(fields.number));
    t.equal(found.whole, fields.whole ?? null);
    t.equal(found.flag, fields.flag === undefined ? null : String(fields.flag));
    t.equal(found.title_ru, `Имя ${index}`);
  }
  t.match(row(file, 0), {
    name: 'Улица "Мира"; №5, it\'s',
    text: "first\nsecond",
    moment: "2024-02-29T09:30:00.123456Z",
    a_long_col: "9007199254740993",
    a_long_c_2: "b",
  });
  t.equal(row(file, 2).text, "Ж".repeat(127));
  t.equal(row(file, 3).text, "ё 漢 🎄");
  t.strictSame(
    file.notes.sort(),
    [
      'Column "a_long_column_code": its name in the file is "a_long_col".',
      'Column "a_long_column_name": its name in the file is "a_long_c_2".',
      'Column "data": its values are written as texts in JSON.',
      'Column "flag": its values are written as the texts true and false.',
      'Column "moment": its times are written as texts in ISO 8601.',
      'Column "name": 1 text loses the spaces around it.',
      'Column "name": 1 empty text is read as no value.',
      'Column "number": its numbers are written as texts, since the format would round them.',
      'Column "text": 1 text was cut to 254 bytes.',
      "Each kind of geometry has files of its own: points, multipoints, lines, polygons. Objects without geometry are among the first.",
    ].sort(),
  );
});

t.test("MapInfo files are in Windows-1251, and notes tell what they lost", async (t) => {
  for (const format of ["mif", "tab"]) {
    const file = await exported(format);
    t.equal(file.rows.size, samples.length, format);
    for (const [index, { wkt, fields }] of samples.entries()) {
      const found = file.rows.get(ids[index]!)!;
      if (wkt?.startsWith("MULTIPOINT") && format === "tab") t.equal(found.length, 2);
      else
        t.ok(
          isClose(found[0]!.wkt as string | null, wkt),
          `${format}: geometry of object ${index}: ${found[0]!.wkt}`,
        );
      t.equal(found[0]!.whole, fields.whole ?? 0);
      t.equal(found[0]!.flag, fields.flag === undefined ? "" : String(fields.flag));
      t.equal(found[0]!.title_ru, `Имя ${index}`);
      if (format === "tab") t.equal(found[0]!.number, fields.number ?? 0);
      else t.equal(found[0]!.number, fields.number === undefined ? "" : String(fields.number));
    }
    t.match(row(file, 0), {
      name: 'Улица "Мира"; №5, it\'s',
      text: format === "tab" ? "first\nsecond" : "first\\nsecond",
      moment: "2024-02-29T09:30:00.123456Z",
      a_long_column_code: "9007199254740993",
    });
    t.equal(row(file, 2).text, "Ж".repeat(254));
    t.equal(file.rows.get(ids[3]!)![0]!.text, "ё ? ?");
    for (const note of [
      'Column "text": 1 text was cut to 254 characters.',
      'Column "text": in 1 text, characters that are not in Windows-1251 became "?".',
      'Column "name": 1 missing value became an empty text.',
      'Column "whole": 7 missing values are read as 0.',
    ])
      t.ok(file.notes.includes(note), `${format}: ${note}`);
    t.equal(
      file.notes.includes(
        "1 object of several points or kinds of geometry became a row for each part, which imports join again.",
      ),
      format === "tab",
    );
  }
});

/** Whether geometries are the same but for the last digits of coordinates, and where a ring begins. */
function isClose(one: string | null, other: string | null): boolean {
  if (one === null || other === null) return one === other;
  const [a, b] = [gdal.Geometry.fromWKT(one), gdal.Geometry.fromWKT(other)];
  const far = (x: gdal.Geometry, y: gdal.Geometry) => {
    const [p, q] = [x.getEnvelope(), y.getEnvelope()];
    return (["minX", "minY", "maxX", "maxY"] as const).some((side) => Math.abs(p[side] - q[side]) > 2e-7);
  };
  const positions = (text: string) => text.split(",").length;
  return a.wkbType === b.wkbType && positions(one) === positions(other) && !far(a, b);
}

t.test("heights are kept, and objects without geometry do not get lost", async (t) => {
  await must("POST", "m/layers/", { code: "high" });
  const { id } = await must("GET", "m/layers/high/");
  for (const wkt of ["POINT Z (1 2 3.5)", "POINT EMPTY", "POINT (3 4)"])
    await server.sql.query(`insert into layers.l${id} (geom) values (st_geomfromtext($1, 4326))`, [wkt]);
  await server.sql.query(`insert into layers.l${id} (geom) values (null)`);
  for (const format of ["gpkg", "fgb", "shp"]) {
    const file = await exported(format, "", "high");
    t.equal(file.rows.size, 4, format);
    t.ok(file.notes.includes("1 geometry without heights got the height 0."), format);
  }
  for (const format of ["mif", "tab"]) {
    const file = await exported(format, "", "high");
    t.equal(file.rows.size, 4, format);
    t.ok(file.notes.includes("1 geometry lost its heights."), format);
  }
});

t.test("an empty layer becomes a valid file without objects", async (t) => {
  await must("POST", "m/layers/", { code: "empty" });
  for (const format of ["gpkg", "fgb", "shp", "mif", "tab"])
    t.equal((await exported(format, "", "empty")).rows.size, 0, format);
});

t.test("only chosen objects, columns and languages are written, in Web Mercator when asked", async (t) => {
  const file = await exported("gpkg", `&feature_ids=${ids[0]}&fields=name,title&langs=ru&geomSR=3857`);
  t.equal(file.rows.size, 1);
  const { wkt, ...values } = row(file, 0);
  t.strictSame(values, { svc_id: ids[0], name: 'Улица "Мира"; №5, it\'s', title: "Имя 0" });
  t.match(wkt, /^POINT \(3353327\.8/);
  t.equal((await exported("fgb", "&filter=number>1")).rows.size, 1);
});

/** A layer whose export takes some seconds. */
async function manyObjects(): Promise<void> {
  await must("POST", "m/layers/", { code: "many" });
  const { id } = await must("GET", "m/layers/many/");
  await server.sql.query(
    `insert into layers.l${id} (geom) select st_setsrid(st_makepoint(n % 100, n % 80), 4326) from generate_series(1, 60000) n`,
  );
}
const running = () => waitFor(() => files.host.counts().running === 1 && left().length === 1);

t.test("a client that leaves ends its export, and nothing is left of it", async (t) => {
  await manyObjects();
  const leaving = new AbortController();
  const answer = fetch(`${server.url}/api/2.8/p/m/layers/many/export/?format=gpkg`, {
    signal: leaving.signal,
  });
  answer.catch(() => undefined);
  await running();
  leaving.abort();
  await t.rejects(answer, { name: "AbortError" });
  await waitFor(() => files.host.counts().running === 0 && left().length === 0);
  t.equal((await exported("fgb")).rows.size, samples.length, "the next export works");
});

t.test("an export whose host is killed fails, and nothing is left of it", async (t) => {
  const answer = server.api("GET", "m/layers/many/export/?format=gpkg");
  await running();
  process.kill(files.host.pid!, "SIGKILL");
  t.match(await answer, { status: 500, json: { code: "internal" } });
  t.same(left(), []);
  t.equal((await exported("gpkg")).rows.size, samples.length, "the next export works");
});

t.test("no folder is left after all of this, and old ones of a killed server are swept", async (t) => {
  await waitFor(() => left().length === 0);
  for (const name of ["export-old", "export-new"]) mkdirSync(join(files.folder, name));
  writeFileSync(join(files.folder, "export-old", "layer.shp"), "x");
  utimesSync(join(files.folder, "export-old"), 1, 1);
  await sweepExportFolders(files.folder);
  t.same(left(), ["export-new"]);
});

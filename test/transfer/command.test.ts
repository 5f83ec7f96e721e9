import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough, Readable } from "node:stream";
import gdal from "gdal-async";
import t from "tap";
import { createMap } from "../../src/catalog/maps.js";
import { createProject } from "../../src/catalog/projects.js";
import { buildProgram, runProgram } from "../../src/commands/program.js";
import { openDatabase } from "../../src/storage/postgres.js";
import { freshDatabase } from "../support/database.js";
import { writeGdalFile } from "../support/gdal-files.js";
import { quietLog } from "../support/log.js";
import { testRedisUrl } from "../support/redis.js";
import { collection, feature, point } from "../support/transfer.js";

const database = await freshDatabase();
const folder = mkdtempSync(join(tmpdir(), "mapwright-test-"));
const db = openDatabase({ ...database.at, connections: 2, statementTimeoutMs: 10_000, log: quietLog });
await createMap(db, await createProject(db, { code: "p" }), { code: "m" });
t.teardown(async () => {
  await db.close();
  await database.drop();
  rmSync(folder, { recursive: true, force: true });
});

function file(name: string, content: unknown): string {
  const path = join(folder, name);
  const isText = typeof content === "string" || Buffer.isBuffer(content);
  writeFileSync(path, isText ? content : JSON.stringify(content));
  return path;
}

const run = (...args: string[]) => runWith("", ...args);

/** @param input what standard input gives */
async function runWith(input: string, ...args: string[]) {
  const [stdout, stderr] = [new PassThrough(), new PassThrough()];
  const variables = { DATABASE_URL: database.url, REDIS_URL: testRedisUrl(), MAPWRIGHT_DATA_DIR: folder };
  const env = { stdin: Readable.from([input]), stdout, stderr, variables };
  const program = await buildProgram(env);
  const status = await runProgram(program, env, ["import", ...args]);
  const read = (stream: PassThrough) => (stream.read() as Buffer | null)?.toString() ?? "";
  return { status, stdout: read(stdout), stderr: read(stderr) };
}

const layers = async () =>
  (await db.query<{ code: string }>("select code from node where id > 0 order by code")).map(
    ({ code }) => code,
  );

t.test("a new layer has the title of its data, else the readable name of the file", async (t) => {
  const names: string[] = [];
  const add = async (code: string, path: string) => {
    const done = await run("p", "m", code, path);
    t.equal(done.status, 0, done.stderr);
    const [layer] = await db.query<{ id: number; name: string }>(
      "select id, name from node where code = $1",
      [code],
    );
    names.push(layer!.name);
    await db.execute("delete from node where id = $1", [layer!.id]);
  };
  const features = collection(feature({ a: 1 }, point(1, 2)));
  await add("a", file("admin_boundaries-2020.geojson", features));
  await add("b", file("x.geojson", { ...features, name: "bus_stops" }));
  await add("c", file("x.geojson", { ...features, title: "  Parks\nand gardens ", name: "parks" }));
  const placemark = "<Placemark><Point><coordinates>1,2</coordinates></Point></Placemark>";
  await add("d", file("x.kml", `<kml><Document><name>Wells of Ur</name>${placemark}</Document></kml>`));
  const made = mkdtempSync(join(folder, "gpkg-"));
  const data = { driver: "GPKG", extension: "gpkg", features: [{ wkt: "POINT (1 2)" }] };
  for (const options of [[], ["IDENTIFIER=Lakes, 2024"]]) {
    const files = writeGdalFile(mkdtempSync(join(made, "x-")), { ...data, options });
    await add("e", file("x.gpkg", files["data.gpkg"]));
  }
  t.strictSame(names, [
    "Admin boundaries 2020",
    "Bus stops",
    "Parks and gardens",
    "Wells of Ur",
    "Data",
    "Lakes, 2024",
  ]);
});

t.test("a new layer lies over those that would cover it", async (t) => {
  const order = async () =>
    (await db.query<{ code: string }>("select code from node where code ~ '^o[1-5]$' order by sort")).map(
      ({ code }) => code,
    );
  const shapes = {
    areas: {
      type: "Polygon",
      coordinates: [
        [
          [0, 0],
          [1, 0],
          [1, 1],
          [0, 0],
        ],
      ],
    },
    points: { type: "Point", coordinates: [1, 2] },
    lines: {
      type: "LineString",
      coordinates: [
        [0, 0],
        [1, 1],
      ],
    },
  };
  for (const [code, shape] of [
    ["o1", shapes.areas],
    ["o2", shapes.points],
    ["o3", shapes.lines],
    ["o4", shapes.points],
    ["o5", shapes.areas],
  ] as const) {
    const path = file(`${code}.geojson`, collection({ type: "Feature", properties: {}, geometry: shape }));
    t.equal((await run("p", "m", code, path)).status, 0);
  }
  t.strictSame(await order(), ["o2", "o4", "o3", "o1", "o5"]);
  await db.execute("delete from node where code ~ '^o[1-5]$'");
});

t.test("a file becomes a layer, which is made when there is none", async (t) => {
  const path = file("a.geojson", collection(feature({ a: 1 }, point(1, 2)), feature({ a: 2 })));
  const first = await run("p", "m", "roads", path);
  t.equal(first.status, 0, first.stderr);
  t.equal(first.stdout, "p/m/roads: 2 objects added, 0 changed\n");
  t.match(first.stderr, /2 features read\./);
  const one = await run("p", "m", "one", file("one.geojson", collection(feature({ a: 1 }, point(1, 2)))));
  t.match(one.stderr, /^1 feature read\.$/m);
  await db.execute("delete from node where code = 'one'");
  const second = await run("p", "m", "roads", path, "--action", "replace", "--json");
  t.match(JSON.parse(second.stdout), { inserted: 2, updated: 0, columns: [] });
  t.strictSame(await layers(), ["roads"]);
});

t.test("a sequence of features in another system is read too", async (t) => {
  const path = file("b.geojsonl", `${JSON.stringify(feature({}, point(1113194.90793, 6446275.84102)))}\n`);
  const odd = await run("p", "m", "web", path, "--srs", "klingon");
  t.match(odd, { status: 1, stderr: /^error: The reference system \(srs\) is neither/m });
  t.equal((await run("p", "m", "web", path, "--srs", "3857")).status, 0);
  const [{ id }] = (await db.query<{ id: number }>("select id from node where code = 'web'")) as [
    { id: number },
  ];
  const [place] = await db.query<{ x: number; y: number }>(
    `select round(st_x(geom)) as x, round(st_y(geom)) as y from layers.l${id}`,
  );
  t.match(place, { x: 10, y: 50 });
});

t.test("files that belong to the file are found beside it", async (t) => {
  const { "data.shp": shp, ...others } = writeGdalFile(mkdtempSync(join(folder, "gdal-")), {
    driver: "ESRI Shapefile",
    extension: "shp",
    fields: { name: gdal.OFTString },
    features: [{ values: { name: "oak" }, wkt: "POINT (1 2)" }],
  });
  const path = file("Trees.shp", shp);
  for (const [name, content] of Object.entries(others))
    file(name.replace("data", "TREES").toUpperCase(), content);
  file("other.dbf", "x");
  const { stdout, stderr, status } = await run("p", "m", "trees", path, "--json");
  t.equal(status, 0, stderr);
  t.match(JSON.parse(stdout), { inserted: 1, columns: [{ code: "name", name: "name" }] });
});

t.test("standard input is a file whose format is named", async (t) => {
  const lines = `${JSON.stringify(feature({ a: 1 }, point(1, 2)))}\n`;
  t.match(await runWith(lines, "p", "m", "input", "-", "--format", "geojsonl"), {
    status: 0,
    stdout: "p/m/input: 1 object added, 0 changed\n",
  });
  t.match(await runWith(lines, "p", "m", "input", "-"), { status: 2, stderr: /--format/ });
  t.equal((await run("p", "m", "input", "a.geojson", "--format", "geojson")).status, 2);
  t.match(await runWith("", "p", "m", "input", "-", "--format", "geojson"), { status: 1 });
  t.strictSame(readdirSync(join(folder, "tmp")), [], "nothing is left in the temporary folder");
});

t.test("a file that cannot be imported leaves nothing behind", async (t) => {
  const before = await layers();
  t.match(await run("p", "m", "new", file("c.geojson", "{")), {
    status: 1,
    stderr: /error: The file ends too early/,
  });
  t.match(await run("p", "m", "new", join(folder, "missing.geojson")), {
    status: 1,
    stderr: /There is no file \/.*missing\.geojson\./,
  });
  t.match(await run("p", "m", "new", file("c.doc", "a,b")), {
    status: 1,
    stderr: /"doc" cannot be imported/,
  });
  t.match(await run("p", "none", "new", file("d.geojson", collection())), {
    status: 1,
    stderr: /no map "none"/,
  });
  t.match(await run("none", "m", "new", file("d.geojson", collection())), {
    status: 1,
    stderr: /no project "none"/,
  });
  t.equal((await run("p", "m", "new", file("d.geojson", collection()), "--action", "guess")).status, 2);
  t.strictSame(await layers(), before);
});

t.test("features that cannot be imported are listed, or left out with --partial", async (t) => {
  const path = file("mixed.geojson", collection(feature({ Имя: "a" }), feature({}, { type: "Point" })));
  const before = await layers();
  const failed = await run("p", "m", "mixed", path);
  t.match(failed, { status: 1, stdout: "", stderr: /Feature 2: / });
  const dry = await run("p", "m", "mixed", path, "--partial", "--dry-run");
  t.match(dry, {
    status: 0,
    stdout: "p/m/mixed: 1 object added, 0 changed (dry run: nothing was changed)\n",
  });
  t.strictSame(await layers(), before);
  const done = await run("p", "m", "mixed", path, "--partial", "--json");
  t.match(JSON.parse(done.stdout), {
    inserted: 1,
    updated: 0,
    columns: [{ code: "Imia", name: "Имя" }],
    bad: 1,
    rows: [{ row: 2 }],
  });
  t.match(done.stderr, /New columns: Imia \("Имя"\)/);
  const keyed = await run("p", "m", "mixed", path, "--partial", "--key", "Imia");
  t.equal(keyed.stdout, "p/m/mixed: 0 objects added, 1 changed\n");
  const other = file("other.geojson", collection(feature({ Имя: "b" })));
  const added = await run("p", "m", "mixed", other, "--key", "Imia");
  t.match(added.stderr, /^1 of the added: no object had this Imia before\.$/m);
});

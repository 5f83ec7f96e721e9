import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough, Readable, Writable } from "node:stream";
import { fileURLToPath } from "node:url";
import pg from "pg";
import t from "tap";
import { buildProgram, runProgram } from "../../src/commands/program.js";
import { freshDatabase } from "../support/database.js";
import { makeLayer } from "../support/layers.js";
import { testRedisUrl } from "../support/redis.js";
import { waitFor } from "../support/server.js";
import { runCommand } from "./support.js";

const database = await freshDatabase();
const folder = await mkdtemp(join(tmpdir(), "mapwright-test-"));
const client = new pg.Client({
  connectionString: database.url,
  options: "-c search_path=mapwright,public",
});
await client.connect();
t.teardown(async () => {
  await client.end();
  await database.drop();
  await rm(folder, { recursive: true, force: true });
});
const made = await makeLayer(client, "p");
await client.query("update project set languages = '{en,ru}'");
const { rows: columns } = await client.query(
  "insert into layer_column (layer_id, code, type, sort, localized_value) values ($1, 'name', 'string', 3, true) returning id",
  [made.layerId],
);
const name = `c${columns[0].id}`;
await client.query(`alter table ${made.table} add column ${name} jsonb`);
await client.query(
  `insert into ${made.table} (geom, ${name}) select st_setsrid(st_makepoint(i % 90, 50), 4326),
     jsonb_build_object('en', 'n' || i, 'ru', 'и' || i) from generate_series(1, 20000) i`,
);
await client.query("insert into node (map_id, type, code) values ($1, 'external', 'outside')", [made.mapId]);

const variables = {
  DATABASE_URL: database.url,
  REDIS_URL: testRedisUrl(),
  MAPWRIGHT_DATA_DIR: join(folder, "data"),
};
const run = (...args: string[]) => runCommand(["export", ...args], { variables });
const at = (file: string) => join(folder, file);
const files = async () => (await readdir(folder)).filter((file) => file !== "data").sort();
const read = async (file: string) => JSON.parse(await readFile(at(file), "utf8"));

t.test("a layer becomes a file of the format that its extension says", async (t) => {
  const result = await run("p", "m", "l", at("a.geojson"));
  t.equal(result.status, 0, result.stderr);
  t.equal(result.stdout, "");
  t.match(result.stderr, /^p\/m\/l: 20000 objects written to .*a\.geojson\.\n$/);
  const { features } = await read("a.geojson");
  t.equal(features.length, 20_000);
  t.match(features[19_999], {
    geometry: { type: "Point" },
    properties: { name_en: "n20000", name_ru: "и20000" },
  });
  t.equal((await run("p", "m", "l", at("B.JSON"), "--langs", "ru", "--srs", "3857")).status, 0);
  const other = await read("B.JSON");
  t.match(other.features[0].properties, { name: "и1" });
  t.ok(other.features[0].geometry.coordinates[1] > 1e6);
  t.same(await files(), ["B.JSON", "a.geojson"]);
});

t.test("- is the standard output, which the data have for themselves", async (t) => {
  const collected: Buffer[] = [];
  const stdout = new Writable({
    highWaterMark: 1,
    write: (chunk: Buffer, _, done) => {
      collected.push(chunk);
      setImmediate(done);
    },
  });
  const stderr = new PassThrough();
  const env = { stdin: Readable.from([]), stdout, stderr, variables };
  const args = ["export", "p", "m", "l", "-", "--format", "geojson"];
  t.equal(await runProgram(await buildProgram(env), env, args), 0);
  t.equal(JSON.parse(Buffer.concat(collected).toString()).features.length, 20_000);
  t.notOk(stdout.writableEnded);
  t.match(String(stderr.read()), /standard output/);
});

t.test("a reader that goes away ends the command", async (t) => {
  const stdout = new Writable({
    write: (_chunk, _encoding, done) => done(new Error("write EPIPE")),
  });
  const stderr = new PassThrough();
  const env = { stdin: Readable.from([]), stdout, stderr, variables };
  const args = ["export", "p", "m", "l", "-", "--format", "geojson"];
  t.equal(await runProgram(await buildProgram(env), env, args), 1);
  t.match(String(stderr.read()), /EPIPE/);
});

t.test("on a terminal it tells how far it is", async (t) => {
  const stderr = Object.assign(new PassThrough(), { isTTY: true });
  const env = { stdin: Readable.from([]), stdout: new PassThrough(), stderr, variables };
  t.equal(await runProgram(await buildProgram(env), env, ["export", "p", "m", "l", at("a.geojson")]), 0);
  const said = String(stderr.read()).split("\r\x1b[K");
  t.equal(said.length, 2, "and clears the line");
  t.match(said[0], /^\r\d+ objects …/);
  t.match(said[1], /^p\/m\/l: 20000 objects/);
});

t.test("a zip holds the file", async (t) => {
  t.equal((await run("p", "m", "l", at("a.zip"), "--format", "geojson", "--zip")).status, 0);
  const bytes = await readFile(at("a.zip"));
  t.equal(bytes.toString("latin1", 0, 2), "PK");
  t.ok(bytes.includes("l.geojson"));
  await rm(at("a.zip"));
});

t.test("the extension of the file is true to what is in it", async (t) => {
  const before = await files();
  for (const [args, reason] of [
    [[at("x.geojson"), "--zip"], /named \.zip: .*x\.geojson\.zip/],
    [[at("x.json"), "--zip"], /named \.zip/],
    [[at("x.csv"), "--format", "geojson"], /extension of csv, but the format is geojson/],
    [[at("x.csv.zip"), "--format", "geojson"], /extension of csv/],
    [[at("x.zip")], /--format must be given/],
    [[at("x.txt")], /--format must be given: .*of a known format \(shp, .*geojson/],
    [[at("x.geojson"), "--bbox", "1,2,3"], /--bbox/],
    [[at("x.geojson"), "--bbox", "3,2,1,4"], /--bbox/],
    [[at("x.geojson"), "--ids", "1,x"], /--ids/],
  ] as const) {
    const result = await run("p", "m", "l", ...args);
    t.match(result, { status: 2, stdout: "", stderr: reason }, args.join(" "));
  }
  t.same(await files(), before);
  for (const [file, ...options] of [
    ["x.geojson.zip"],
    ["x.json.zip", "--zip"],
    ["x.zip", "--format", "geojson"],
    ["x.dat", "--format", "geojson", "--zip"],
  ] as const) {
    t.equal((await run("p", "m", "l", at(file), ...options, "--ids", "1")).status, 0, file);
    t.equal((await readFile(at(file))).toString("latin1", 0, 2), "PK", file);
    await rm(at(file));
  }
});

t.test("what the format cannot hold is said on the standard error", async (t) => {
  const noted = await run("p", "m", "l", "-", "--format", "gpx", "--srs", "3857", "--ids", "1");
  t.match(noted, { status: 0, stdout: /<wpt lat="50" lon="1">/ });
  t.match(noted.stderr, /^The geometry is in EPSG:4326, .*\.\np\/m\/l: 1 object written/);
  const bytes = await run("p", "m", "l", "-", "--format", "csv", "--ids", "2", "--encoding", "latin1");
  t.match(bytes, { stdout: 'svc_id;name_en;name_ru;wkt\r\n2;"n2";"?2";"POINT(2 50)"\r\n' });
  t.match(bytes.stderr, /^Characters that iso-8859-1 lacks are written as "\?": name_ru \(1 object\)\.$/m);
  t.match(await run("p", "m", "l", "-", "--format", "csv", "--encoding", "none"), { status: 2 });
});

t.test("objects and columns are chosen by options", async (t) => {
  const chosen = async (...options: string[]) => {
    const result = await run("p", "m", "l", "-", "--format", "geojson", ...options);
    t.equal(result.status, 0, result.stderr);
    return JSON.parse(result.stdout).features.map((feature: any) => feature.properties);
  };
  t.same(await chosen("--ids", "3, 1", "--fields", ""), [{ svc_id: 1 }, { svc_id: 3 }]);
  t.match(await chosen("--filter", "name = 'n7'", "--langs", "en"), [{ name: "n7" }]);
  t.equal((await chosen("--bbox", "49,0.5,51,1.5", "--filter", "svc_id < 100")).length, 2);
  const [west, south, east, north] = [55_000, 6_440_000, 170_000, 6_460_000];
  const box = ["--bbox", [south, west, north, east].join(","), "--bbox-srs", "3857"];
  t.equal((await chosen(...box, "--filter", "svc_id < 100")).length, 2);
  t.match(await run("p", "m", "l", "-", "--format", "geojson", "--fields", "none"), { status: 1 });
});

t.test("a failure leaves what was there, and nothing else", async (t) => {
  await writeFile(at("kept.geojson"), "as it was");
  const before = await files();
  await client.query(
    `alter table ${made.table} alter ${name} type text using case when svc_id = 15000 then 'no json' else ${name}::text end`,
  );
  const broken = await run("p", "m", "l", at("kept.geojson"));
  await client.query(
    `alter table ${made.table} alter ${name} type jsonb using case when svc_id = 15000 then null else ${name}::jsonb end`,
  );
  t.equal(broken.status, 1);
  t.equal(await readFile(at("kept.geojson"), "utf8"), "as it was");
  for (const [args, reason] of [
    [["p", "m", "none", at("x.geojson")], /no layer "none"/],
    [["p", "none", "l", at("x.geojson")], /no map "none"/],
    [["none", "m", "l", at("x.geojson")], /no project "none"/],
    [["p", "m", "outside", at("x.geojson")], /no objects/],
    [["p", "m", "l", at("missing/x.geojson")], /cannot be written: there is no folder \/.*missing\.$/m],
    [["p", "m", "l", folder, "--format", "geojson"], /not an ordinary file/],
    [["p", "m", "l", "/dev/null", "--format", "geojson"], /not an ordinary file/],
  ] as const) {
    const result = await run(...args);
    t.match(result, { status: 1, stdout: "", stderr: reason }, args.join(" "));
  }
  t.same(await files(), before);
});

t.test("Ctrl-C and SIGTERM leave what was there, and nothing else", async (t) => {
  const program = fileURLToPath(new URL("../../src/main.js", import.meta.url));
  const before = await files();
  const isPart = (file: string) => file.endsWith(".part");
  await client.query("begin");
  await client.query(`lock table ${made.table} in access exclusive mode`);
  t.teardown(() => client.query("rollback"));
  const waiting = async () =>
    (
      await client.query(
        "select from pg_locks where relation = $1::regclass and not granted and mode = 'AccessShareLock'",
        [made.table],
      )
    ).rows.length > 0;
  for (const [signal, status, target] of [
    ["SIGINT", 130, at("kept.geojson")],
    ["SIGTERM", 143, at("new.geojson")],
    ["SIGINT", 130, "-"],
  ] as const) {
    const args = [program, "export", "p", "m", "l", target, "--format", "geojson"];
    const env = { PATH: process.env.PATH ?? "", ...variables };
    const child = spawn(process.execPath, args, { env, stdio: "ignore" });
    t.teardown(() => child.kill("SIGKILL"));
    const exit = once(child, "exit");
    await waitFor(waiting);
    t.equal((await files()).filter(isPart).length, target === "-" ? 0 : 1, "it is at work");
    child.kill(signal);
    t.same(await exit, [status, null], `${signal} ${target}`);
    t.same(await files(), before);
  }
  t.equal(await readFile(at("kept.geojson"), "utf8"), "as it was");
});

t.test("a reader that has enough ends a command without a word", async (t) => {
  const program = fileURLToPath(new URL("../../src/main.js", import.meta.url));
  const env = { PATH: process.env.PATH ?? "", ...variables };
  for (const args of [
    ["export", "p", "m", "l", "-", "--format", "geojson"],
    ["config", "print"],
  ]) {
    const child = spawn(process.execPath, [program, ...args], { env, stdio: ["ignore", "pipe", "pipe"] });
    t.teardown(() => child.kill("SIGKILL"));
    let told = "";
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      told += text;
    });
    const exit = once(child, "close");
    if (args[0] === "export") await once(child.stdout, "readable");
    child.stdout.destroy();
    t.same(await exit, [141, null], args.join(" "));
    t.equal(told, "", args.join(" "));
  }
});

t.test("a result in JSON is no part of a file on standard output", async (t) => {
  const written = await run("p", "m", "l", at("json.geojson"), "--json");
  t.match(JSON.parse(written.stdout), { project: "p", map: "m", layer: "l", objects: 20_000, notes: [] });
  t.equal(written.stderr, "");
  const piped = await run("p", "m", "l", "-", "--format", "geojson", "--ids", "1", "--json");
  t.equal(JSON.parse(piped.stdout).features.length, 1);
  t.match(JSON.parse(piped.stderr), { objects: 1, file: "-" });
  await rm(at("json.geojson"));
});

t.test("a link leads to the file that is replaced", async (t) => {
  await mkdir(at("deep"));
  await writeFile(at("deep/real.geojson"), "old");
  await symlink("deep/real.geojson", at("link.geojson"));
  t.equal((await run("p", "m", "l", at("link.geojson"))).status, 0);
  t.equal((await read("deep/real.geojson")).type, "FeatureCollection");
  t.same(await readdir(at("deep")), ["real.geojson"]);
});

t.test("what is not understood ends with status 2", async (t) => {
  for (const args of [
    ["p", "m", "l"],
    ["p", "m", "l", "-"],
    ["p", "m", "l", at("x.txt")],
    ["p", "m", "l", at("x")],
    ["p", "m", "l", at("x.geojson"), "--format", "pdf"],
    ["p", "m", "l", at("x.geojson"), "--srs", "1"],
    ["p", "m", "l", at("x.geojson"), "--langs", "r;"],
  ])
    t.match(await run(...args), { status: 2, stdout: "" }, args.join(" "));
  t.match(await run("--help"), { status: 0, stdout: /Examples:\n {2}\$ / });
});

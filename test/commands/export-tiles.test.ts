import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough, Readable, Writable } from "node:stream";
import { fileURLToPath } from "node:url";
import { PMTiles, type Source } from "pmtiles";
import t from "tap";
import { setGrant } from "../../src/access/grants.js";
import { buildProgram, runProgram } from "../../src/commands/program.js";
import { addObject, makeMap, makeStyledLayer, square } from "../support/maps.js";
import { startServer, waitFor } from "../support/server.js";
import { runCommand } from "./support.js";

/** `mapwright export` of a map's tiles, beside a server that shows the same. */

const server = await startServer();
const folder = await mkdtemp(join(tmpdir(), "mapwright-test-"));
t.teardown(async () => {
  await server.stop();
  await rm(folder, { recursive: true, force: true });
});
const { services } = server.nodes[0]!;
await makeMap(server, "m");
await makeStyledLayer(server, "m", "green", "#a { polygon-fill: #00ff00; }");
await makeStyledLayer(server, "m", "red", "#a { polygon-fill: #ff0000; }");
await addObject(server, "green", square(5, 5, 10), { map: "m" });
await addObject(server, "red", square(5, 5, 30), { map: "m" });
await setGrant(services.db, { project: "p", map: "m", layer: "red", login: null }, 0);
await services.changes.propagate();

const { config } = services;
const variables = {
  DATABASE_URL: config.databaseUrl,
  MAPWRIGHT_DATABASE_DIRECT_URL: config.databaseDirectUrl,
  REDIS_URL: config.redisUrl,
  MAPWRIGHT_REDIS_PREFIX: config.redisPrefix,
  MAPWRIGHT_DATA_DIR: join(folder, "data"),
};
const run = (...args: string[]) => runCommand(["export", ...args], { variables });
const at = (file: string) => join(folder, file);
const files = async () => (await readdir(folder)).filter((file) => file !== "data").sort();
const temporary = () => readdir(join(folder, "data", "exports")).catch(() => []);

async function archive(file: string): Promise<PMTiles> {
  const bytes = await readFile(file);
  const source: Source = {
    getKey: () => file,
    getBytes: async (offset, length) => ({
      data: Uint8Array.from(bytes.subarray(offset, offset + length)).buffer,
    }),
  };
  return new PMTiles(source);
}

const tile = async (query = "") =>
  Buffer.from(await (await fetch(`${server.url}/tms/p/m/4/8/7.png${query}`)).arrayBuffer());

t.test("the tiles of a map are those that an administrator, or everybody, is shown", async (t) => {
  const all = await run("p", "m", at("a.pmtiles"), "--zoom", "0-4");
  t.equal(all.status, 0, all.stderr);
  t.equal(all.stdout, "");
  t.match(
    all.stderr,
    /^p\/m: \d+ tiles written to .*a\.pmtiles\. \d+ more tiles, where nothing is drawn, left out\.\n$/,
  );
  const own = await archive(at("a.pmtiles"));
  t.match(await own.getHeader(), { minZoom: 0, maxZoom: 4, maxLon: 35 });
  const admin = await server.token("admin");
  t.same(Buffer.from((await own.getZxy(4, 8, 7))!.data), await tile(`?token=${admin}`));
  t.equal((await run("p", "m", at("b.pmtiles"), "--zoom", "4", "--public")).status, 0);
  const open = await archive(at("b.pmtiles"));
  t.match(await open.getHeader(), { minZoom: 4, maxZoom: 4, maxLon: 15 });
  t.same(Buffer.from((await open.getZxy(4, 8, 7))!.data), await tile());
  t.same(await temporary(), []);
});

t.test("layers, box and format are chosen by options; on a terminal it tells how far it is", async (t) => {
  const collected: Buffer[] = [];
  const stdout = new Writable({
    write: (chunk: Buffer, _, done) => {
      collected.push(chunk);
      done();
    },
  });
  const stderr = Object.assign(new PassThrough(), { isTTY: true });
  const env = { stdin: Readable.from([]), stdout, stderr, variables };
  const options = ["--format", "mbtiles", "--zoom", "3-4", "--layers", "green", "--no-base"];
  t.equal(await runProgram(await buildProgram(env), env, ["export", "p", "m", "-", ...options]), 0);
  t.match(Buffer.concat(collected).toString("latin1"), /^SQLite format 3/);
  const [progress, end] = String(stderr.read()).split("\r\x1b[K");
  t.match(progress, /^\r\d+ of \d+ tiles …/);
  t.match(end, /^p\/m: \d+ tiles written to the standard output\.( \d.*)?\n$/);
  const boxed = await run("p", "m", at("a.pmtiles"), "--zoom", "5", "--bbox", "6,6,10,10", "--no-base");
  t.equal(boxed.status, 0, boxed.stderr);
  const wide = await run(
    "p",
    "m",
    at("b.pmtiles"),
    "--zoom",
    "5",
    "--bbox",
    "-60,-60,10,10",
    "--no-base",
    "--json",
  );
  const { tiles: told } = JSON.parse(wide.stdout);
  const { numAddressedTiles: held } = await (await archive(at("b.pmtiles"))).getHeader();
  t.equal(told, held, "what the file has is told, not what was looked at");
  t.ok(held < 30, String(held));
  const words = await run("p", "m", at("b.pmtiles"), "--zoom", "5", "--bbox", "-60,-60,10,10", "--no-base");
  t.match(words.stderr, /\d more tiles, where nothing is drawn, left out\.$/m);
  const tiles = await archive(at("a.pmtiles"));
  t.match(await tiles.getHeader(), { minLon: 6, maxLat: 10, numAddressedTiles: 1 });
  t.match(await tiles.getMetadata(), { type: "overlay" });
});

t.test("what is not understood ends with status 2, and what cannot be with 1", async (t) => {
  const before = await files();
  for (const [args, status, reason] of [
    [["p", "m", "red"], 2, /<project> <map> <layer> <file>/],
    [["p", "m", at("x.geojson")], 2, /\.pmtiles or \.mbtiles/],
    [["p", "m", at("x.pmtiles"), "--format", "mbtiles"], 2, /extension \.mbtiles/],
    [["p", "m", at("x.pmtiles"), "--zip"], 2, /zip archive/],
    [["p", "m", at("x.pmtiles"), "--zoom", "5-3"], 2, /--zoom/],
    [["p", "m", at("x.pmtiles"), "--zoom", "0-23"], 2, /--zoom/],
    [["p", "m", at("x.pmtiles"), "--langs", "en,ru"], 2, /one language/],
    [["p", "m", "red", at("x.pmtiles")], 2, /no layer is named/],
    [["p", "none", at("x.pmtiles")], 1, /no map "none"/],
    [["p", "m", at("x.pmtiles"), "--layers", "none"], 1, /no layer "none"/],
    [["p", "m", at("x.pmtiles"), "--zoom", "0-20"], 1, /tiles, and may have 250000\. .*zooms up to/],
  ] as const) {
    const result = await run(...args);
    t.match(result, { status, stdout: "", stderr: reason }, args.join(" "));
  }
  t.same(await files(), before);
  t.match(await run("--help"), { stdout: /\[layer\] <file>[\s\S]*city\.pmtiles --zoom 0-14/ });
});

t.test("Ctrl-C leaves what was there, and nothing else", async (t) => {
  await writeFile(at("kept.pmtiles"), "as it was");
  const before = await files();
  const program = fileURLToPath(new URL("../../src/main.js", import.meta.url));
  const args = [program, "export", "p", "m", at("kept.pmtiles"), "--zoom", "5-11", "--no-base"];
  const env = { PATH: process.env.PATH ?? "", ...variables };
  const child = spawn(process.execPath, args, { env, stdio: "ignore" });
  t.teardown(() => child.kill("SIGKILL"));
  const exit = once(child, "exit");
  await waitFor(async () => (await temporary()).length > 0);
  child.kill("SIGINT");
  t.same(await exit, [130, null]);
  t.same(await files(), before);
  t.same(await temporary(), []);
  t.equal(await readFile(at("kept.pmtiles"), "utf8"), "as it was");
});

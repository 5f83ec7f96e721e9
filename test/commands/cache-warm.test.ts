import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import t from "tap";
import { setGrant } from "../../src/access/grants.js";
import { addObject, makeMap, makeStyledLayer, square } from "../support/maps.js";
import { startServer, waitFor } from "../support/server.js";
import { runCommand } from "./support.js";

/** `mapwright cache warm`, beside a server that serves what it drew. */

const server = await startServer();
const folder = await mkdtemp(join(tmpdir(), "mapwright-test-"));
t.teardown(async () => {
  await server.stop();
  await rm(folder, { recursive: true, force: true });
});
const { services } = server.nodes[0]!;
await makeMap(server, "m");
await makeStyledLayer(server, "m", "green", "#a { polygon-fill: #00ff00; }");
await makeStyledLayer(server, "m", "hidden", "#a { polygon-fill: #ff0000; }");
const green = await addObject(server, "green", square(5, 5, 30), { map: "m" });
await addObject(server, "hidden", square(-100, 5, 30), { map: "m" });
await setGrant(services.db, { project: "p", map: "m", layer: "hidden", login: null }, 0);
await services.changes.propagate();

const { config } = services;
const variables = {
  DATABASE_URL: config.databaseUrl,
  MAPWRIGHT_DATABASE_DIRECT_URL: config.databaseDirectUrl,
  REDIS_URL: config.redisUrl,
  MAPWRIGHT_REDIS_PREFIX: config.redisPrefix,
  MAPWRIGHT_DATA_DIR: join(folder, "data"),
};
const run = (...args: string[]) => runCommand(["cache", "warm", ...args], { variables });

/** Metatiles that the server itself draws for these tiles. */
async function drawnFor(...places: string[]): Promise<number> {
  const before = services.tiles.rendered;
  for (const place of places) {
    const answer = await fetch(`${server.url}/tms/p/m/${place}`);
    t.equal(answer.status, 200);
    await answer.arrayBuffer();
  }
  return services.tiles.rendered - before;
}

t.test("what it draws the server need not draw, and nothing is drawn twice", async (t) => {
  const first = await run("p", "m", "--zoom", "0-4", "--no-base");
  t.match(first, { status: 0, stdout: "" }, first.stderr);
  const [, drawn, all] = /^p\/m: (\d+) of (\d+) tiles drawn, 0 were there\.\n$/.exec(first.stderr) ?? [];
  t.equal(drawn, all, first.stderr);
  t.equal(await drawnFor("0/0/0.png?base=0", "3/4/3.png?base=0", "4/8/7.png?base=0"), 0);
  t.equal(await drawnFor("4/8/7.png", "4/8/7.webp?base=0", "5/17/15.png?base=0"), 2, "other tiles");
  const second = await run(
    "p",
    "m",
    "--zoom",
    "0-5",
    "--no-base",
    "--formats",
    "png,webp",
    "--retina",
    "1,2",
  );
  t.match(second.stderr, / tiles drawn, ([1-9]\d*) were there/);
  t.equal(await drawnFor("4/8/7@2x.webp?base=0", "5/18/15.png?base=0"), 0);
  t.match(await run("p", "m", "--zoom", "0-4", "--no-base"), {
    stderr: `p/m: 0 of ${all} tiles drawn, ${all} were`,
  });
});

t.test(
  "after an edit what it touches is drawn, which --changed-since finds without looking at the others",
  async (t) => {
    const token = await server.token("editor");
    const geom = square(5, 5, 31);
    await server.sql.query("update mapwright.layer_change set changed_at = now() - interval '3 hours'");
    await server.sql.query("update mapwright.layer set changed_at = now() - interval '3 hours'");
    t.match(await run("p", "m", "--zoom", "4", "--no-base", "--changed-since", "1h"), {
      status: 0,
      stderr: "p/m: 0 of 0 tiles drawn",
    });
    await server.api("PUT", `m/layers/green/objects/${green}/`, { token, body: { fields: {}, geom } });
    const changed = await run("p", "m", "--zoom", "4-6", "--no-base", "--changed-since", "1h");
    t.equal(changed.status, 0, changed.stderr);
    const [, drawn, all] = /^p\/m: (\d+) of (\d+) tiles/.exec(changed.stderr)!.map(Number);
    t.ok(drawn! > 0 && all! < 120, changed.stderr);
    t.equal(await drawnFor("4/8/7.png?base=0", "4/9/6.png?base=0"), 0);
    // The log does not go back so far, so that it may have been anywhere.
    await server.sql.query("delete from mapwright.layer_change");
    const whole = await run("p", "m", "--zoom", "4", "--no-base", "--changed-since", "2d");
    t.match(whole.stderr, /^p\/m: 0 of [1-9]\d* tiles drawn/);
  },
);

t.test("of an object beside 180 degrees, tiles on both sides are drawn", async (t) => {
  const geom = square(179.9, 10, 0.09);
  const old = "now() - interval '3 hours'";
  await run("p", "m", "--zoom", "6", "--no-base");
  await server.sql.query(`update mapwright.layer_change set changed_at = ${old}`);
  await server.sql.query(`update mapwright.layer set changed_at = ${old}`);
  await addObject(server, "green", geom, { map: "m" });
  const changed = await run("p", "m", "--zoom", "6", "--no-base", "--changed-since", "1h");
  t.match(changed, { status: 0, stderr: /^p\/m: [1-9]\d? of [1-9]\d? tiles drawn/ }, changed.stderr);
  t.equal(await drawnFor("6/63/30.png?base=0", "6/0/30.png?base=0"), 0);
});

t.test("a polygon chooses tiles; layers that not everybody sees are drawn if that is said", async (t) => {
  const file = join(folder, "area.geojson");
  const geometry = square(10, 10, 1);
  await writeFile(
    file,
    JSON.stringify({ type: "FeatureCollection", features: [{ type: "Feature", geometry }] }),
  );
  const some = await run("p", "m", "--zoom", "6", "--no-base", "--polygon", file);
  t.match(some, { status: 0, stderr: /^p\/m: \d of [1-4] tiles/ }, some.stderr);
  const own = await run("p", "m", "--zoom", "4", "--no-base", "--all-layers", "--bbox", "6,-99,30,-71");
  t.match(own, { status: 0, stderr: /^p\/m: [1-9]\d* of/ }, own.stderr);
  const admin = await server.token("admin");
  t.equal(await drawnFor(`4/4/7.png?base=0&token=${admin}`), 0);
});

t.test("what is not understood ends with status 2, and what cannot be with 1", async (t) => {
  const broken = join(folder, "broken.geojson");
  await writeFile(broken, '{"type":"Polygon","coordinates":[[[1,2],[3,"x"]]]}');
  for (const [args, status, reason] of [
    [["p"], 2, /missing required argument/],
    [["p", "m", "--zoom", "5-3"], 2, /--zoom/],
    [["p", "m", "--retina", "4"], 2, /--retina/],
    [["p", "m", "--formats", "gif"], 2, /no format gif/],
    [["p", "m", "--jobs", "0"], 2, /--jobs/],
    [["p", "m", "--changed-since", "yesterday"], 2, /--changed-since/],
    [["p", "m", "--bbox", "1,2,3"], 2, /--bbox/],
    [["p", "none"], 1, /no map "none"/],
    [["p", "m", "--polygon", broken], 1, /no GeoJSON with polygons/],
    [["p", "m", "--polygon", join(folder, "none")], 1, /ENOENT|no such file/],
  ] as const)
    t.match(await run(...args), { status, stdout: "", stderr: reason }, args.join(" "));
  const kept = { ...variables, MAPWRIGHT_TILES_REDIS_SECONDS: "0" };
  t.match(await runCommand(["cache", "warm", "p", "m"], { variables: kept }), {
    status: 1,
    stderr: /redisSeconds/,
  });
  t.match(await run("--help"), { stdout: /cache warm city main --zoom 0-12/ });
});

t.test("a run that was interrupted goes on where it was", async (t) => {
  const program = fileURLToPath(new URL("../../src/main.js", import.meta.url));
  const range = ["p", "m", "--zoom", "9", "--no-base", "--bbox", "4,4,16,16"];
  const env = { PATH: process.env.PATH ?? "", ...variables };
  const child = spawn(process.execPath, [program, "cache", "warm", ...range, "--jobs", "1"], {
    env,
    stdio: "ignore",
  });
  t.teardown(() => child.kill("SIGKILL"));
  const exit = once(child, "exit");
  const keys = () => services.redis.keys(`${config.redisPrefix}t:*/9/*`);
  await waitFor(async () => (await keys()).length >= 32);
  child.kill("SIGINT");
  t.same(await exit, [130, null]);
  const again = await run(...range);
  const [, drawn, all, found] = /^p\/m: (\d+) of (\d+) tiles drawn, (\d+) were/
    .exec(again.stderr)!
    .map(Number);
  t.ok(found! > 0 && drawn! + found! === all!, again.stderr);
});

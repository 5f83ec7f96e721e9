import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough, Readable } from "node:stream";
import sharp from "sharp";
import t from "tap";
import { createMap } from "../../src/catalog/maps.js";
import { createProject } from "../../src/catalog/projects.js";
import { buildProgram, runProgram } from "../../src/commands/program.js";
import { openDatabase } from "../../src/storage/postgres.js";
import { freshDatabase } from "../support/database.js";
import { quietLog } from "../support/log.js";
import { readImage } from "../support/rasters.js";
import { testRedisUrl } from "../support/redis.js";

/** Images by `mapwright import` and `mapwright export`. */

const database = await freshDatabase();
const folder = mkdtempSync(join(tmpdir(), "mapwright-test-"));
const dataDir = join(folder, "data");
const db = openDatabase({ ...database.at, connections: 2, statementTimeoutMs: 10_000, log: quietLog });
await createMap(db, await createProject(db, { code: "p" }), { code: "m" });
t.teardown(async () => {
  await db.close();
  await database.drop();
  rmSync(folder, { recursive: true, force: true });
});

async function run(...args: string[]) {
  const [stdout, stderr] = [new PassThrough(), new PassThrough()];
  const variables = { DATABASE_URL: database.url, REDIS_URL: testRedisUrl(), MAPWRIGHT_DATA_DIR: dataDir };
  const env = { stdin: Readable.from([]), stdout, stderr, variables };
  const program = await buildProgram(env);
  const status = await runProgram(program, env, args);
  const read = (stream: PassThrough) => (stream.read() as Buffer | null)?.toString() ?? "";
  return { status, stdout: read(stdout), stderr: read(stderr) };
}

const png = await sharp({ create: { width: 40, height: 20, channels: 3, background: "#336699" } })
  .png()
  .toBuffer();
const plan = join(folder, "plan.png");
writeFileSync(plan, png);
const box = "BOX(37 55,38 56)";
const layers = async () =>
  (await db.query<{ code: string }>("select code from node where map_id <> 0")).map(({ code }) => code);

t.test("an image becomes a raster layer, and stays where it was", async (t) => {
  const none = await run("import", "p", "m", "plan", plan);
  t.equal(none.status, 1);
  t.match(none.stderr, /of the command --raster-bbox/);
  t.same(await layers(), [], "no empty layer is left behind");
  t.equal((await run("import", "p", "m", "plan", plan, "--raster-bbox", "1,2,3,4")).status, 2);
  const made = await run("import", "p", "m", "plan", plan, "--raster-bbox", box);
  t.equal(made.status, 0, made.stderr);
  t.equal(made.stdout, "p/m/plan: image of 40 × 20 pixels\n");
  t.ok(readFileSync(plan).equals(png));
  const again = await run("import", "p", "m", "plan", plan, "--raster-bbox", box, "--json");
  t.match(JSON.parse(again.stdout), { raster: { width: 40, height: 20, bands: 3 } });
  t.same(readdirSync(join(dataDir, "tmp")), []);
});

t.test("it is exported as it was, or as it was processed, under a true name", async (t) => {
  const copy = join(folder, "copy.png");
  const first = await run("export", "p", "m", "plan", copy);
  t.equal(first.status, 0, first.stderr);
  t.match(first.stderr, /in a zip archive it has a world file beside it/);
  t.ok(readFileSync(copy).equals(png));
  const wrong = await run("export", "p", "m", "plan", join(folder, "wrong.tif"));
  t.equal(wrong.status, 1);
  t.match(wrong.stderr, /image\/png/);
  const processed = join(folder, "processed.tif");
  t.equal((await run("export", "p", "m", "plan", processed, "--processed")).status, 0);
  t.match(readImage(readFileSync(processed)), { driver: "GTiff", epsg: "3857" });
  const archive = join(folder, "plan.tif.zip");
  t.equal((await run("export", "p", "m", "plan", archive)).status, 0);
  const back = await run("import", "p", "m", "back", archive);
  t.equal(back.status, 0, back.stderr);
  t.equal((await run("export", "p", "m", "plan", join(folder, "a.geojson"))).status, 1);
});

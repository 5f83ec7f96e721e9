import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import t from "tap";
import { layerTable } from "../../src/catalog/layer-table.js";
import { configSchema } from "../../src/config.js";
import { ensureBaseMap, groundLayers } from "../../src/demo/base-map.js";
import { createTransferHost } from "../../src/hosts/transfer.js";
import { loadLock } from "../../src/storage/advisory-locks.js";
import { openDatabase } from "../../src/storage/postgres.js";
import { freshDatabase, settingsOf } from "../support/database.js";
import { quietLog } from "../support/log.js";
import { putSomeNames } from "./catalogues.support.js";

const database = await freshDatabase();
const dataDir = mkdtempSync(join(tmpdir(), "mapwright-test-"));
const db = openDatabase({ ...database.at, connections: 4, statementTimeoutMs: 60_000, log: quietLog });
const config = configSchema.parse({ ...settingsOf(database), dataDir });
const transfer = createTransferHost(config, quietLog);
const translations = join(dataDir, "translations");
const deps = { db, transfer, log: quietLog, config, translations };
t.teardown(async () => {
  await transfer.stop();
  await db.close();
  await database.drop();
  rmSync(dataDir, { recursive: true, force: true });
});

const interrupted = new Error("interrupted");
const interrupt = (): void => {
  throw interrupted;
};
const ignore = (): void => undefined;
const projects = () =>
  db.query<{ code: string; hidden: boolean }>("select code, hidden from project where id <> 0 order by code");
const layers = () =>
  db.query<{ place: string; kind: string }>(
    `select p.code || '/' || m.code || '/' || n.code as place, l.geometry_kind as kind
     from node n join layer l using (id) join map m on m.id = n.map_id join project p on p.id = m.project_id order by 1`,
  );

/** As another process that loads. */
async function holdLock(): Promise<{ end(): Promise<void> }> {
  const client = await db.dedicated();
  await client.query(`select pg_advisory_lock(${loadLock("$1")})`, ["base map"]);
  return client;
}

t.test("the base map is loaded once, hidden, and its styles are the program's", async (t) => {
  let steps = 0;
  const count = (): void => void steps++;
  await t.rejects(ensureBaseMap(deps, interrupt), interrupted);
  t.equal(await ensureBaseMap(deps, count, groundLayers), false, "there is more to load");
  t.strictSame(
    (await layers()).filter(({ kind }) => kind !== "Unknown").map(({ place }) => place),
    ["_base/world/borders", "_base/world/land"],
    "what is needed first comes first",
  );
  const [ended, wait] = [new AbortController(), await holdLock()];
  const waiting = ensureBaseMap({ ...deps, signal: ended.signal }, count);
  const isWaiting = async () =>
    (await db.query("select from pg_locks where locktype = 'advisory' and not granted")).length > 0;
  while (!(await isWaiting())) await setTimeout(20);
  ended.abort(interrupted);
  await t.rejects(waiting, "a wait for another process ends");
  await wait.end();
  const abort = new AbortController();
  const stopped = ensureBaseMap({ ...deps, signal: abort.signal }, () => abort.abort(interrupted));
  await t.rejects(stopped, interrupted);
  t.equal(await ensureBaseMap(deps, count), true);
  const told = steps;
  t.equal(told, 2);
  await db.execute("update node set css_style = 'old' where code = 'land'");
  t.equal(await ensureBaseMap(deps, count, groundLayers), true, "no more has to be looked for");
  t.equal(steps, told, "what is there is not loaded again");
  const base = (await layers()).filter(({ place }) => place.startsWith("_base/"));
  t.strictSame(base, [
    { place: "_base/world/borders", kind: "LineString" },
    { place: "_base/world/lakes", kind: "Polygon" },
    { place: "_base/world/land", kind: "Polygon" },
    { place: "_base/world/places", kind: "Point" },
    { place: "_base/world/rivers", kind: "LineString" },
  ]);
  const [style] = await db.query(
    "select n.css_style from node n join map m on m.id = n.map_id join project p on p.id = m.project_id where p.code = '_base' and n.code = 'land'",
  );
  t.match(style, { css_style: /polygon-fill/ });
  t.ok((await projects()).find((project) => project.code === "_base")!.hidden);
  t.strictSame(readdirSync(join(dataDir, "tmp")), [], "no temporary files are left");
});

const base = () =>
  db.query<{ id: number; languages: string[] }>("select id, languages from project where code = '_base'");

/** What a town of the base map is called, by language. */
async function namesOf(town: string): Promise<object | undefined> {
  const [column] = await db.query<{ id: number; layer: number }>(
    `select c.id, c.layer_id as layer from layer_column c join node n on n.id = c.layer_id
     where n.code = 'places' and c.code = 'name'`,
  );
  const name = `c${column!.id}`;
  const [found] = await db.query<{ name: object }>(
    `select ${name} as name from ${layerTable(column!.layer)} where ${name} ->> 'en' = $1`,
    [town],
  );
  return found?.name;
}

t.test("towns have names in many languages from the start after these are there", async (t) => {
  const [before] = await base();
  t.strictSame(before!.languages, ["en"]);
  t.strictSame(await namesOf("Munich"), { en: "Munich" }, "without translations");
  t.equal(await namesOf("Lucerne"), undefined, "as GeoNames lists it");
  putSomeNames(translations);
  t.equal(await ensureBaseMap(deps, ignore), true);
  const [translated] = await base();
  t.not(translated!.id, before!.id);
  t.strictSame(translated!.languages.slice(0, 3), ["en", "de", "fr"]);
  t.strictSame(await namesOf("Lucerne"), { en: "Lucerne", de: "Luzern", ru: "Люцерн" });
  t.strictSame(await namesOf("London"), { en: "London" });
  rmSync(translations, { recursive: true });
  t.equal(await ensureBaseMap(deps, interrupt), true);
  t.strictSame(await base(), [translated], "they stay, as another machine of the installation may have them");
});

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t from "tap";
import { authenticate } from "../../src/access/accounts.js";
import { layerTable } from "../../src/catalog/layer-table.js";
import { projectId } from "../../src/catalog/projects.js";
import { configSchema } from "../../src/config.js";
import { loadDemo } from "../../src/demo/load.js";
import { createTransferHost } from "../../src/hosts/transfer.js";
import { loadSettings } from "../../src/search/settings.js";
import { openDatabase } from "../../src/storage/postgres.js";
import { freshDatabase, settingsOf } from "../support/database.js";
import { quietLog } from "../support/log.js";
import { putSomeNames } from "./catalogues.support.js";

const database = await freshDatabase();
const dataDir = mkdtempSync(join(tmpdir(), "mapwright-test-"));
const db = openDatabase({ ...database.at, connections: 4, statementTimeoutMs: 60_000, log: quietLog });
const config = configSchema.parse({ ...settingsOf(database), dataDir });
const transfer = createTransferHost(config, quietLog);
const translations = putSomeNames(join(dataDir, "translations"));
const deps = { db, transfer, log: quietLog, config, translations };
t.teardown(async () => {
  await transfer.stop();
  await db.close();
  await database.drop();
  rmSync(dataDir, { recursive: true, force: true });
});

const ignore = (): void => undefined;
const interrupted = new Error("interrupted");
const interrupt = (): void => {
  throw interrupted;
};
const projects = () =>
  db.query<{ code: string; hidden: boolean }>("select code, hidden from project where id > 0 order by code");
const layers = () =>
  db.query<{ place: string; kind: string }>(
    `select p.code || '/' || m.code || '/' || n.code as place, l.geometry_kind as kind
     from node n join layer l using (id) join map m on m.id = n.map_id join project p on p.id = m.project_id where p.id > 0 order by 1`,
  );

/** Physical names of columns of a layer of the demo's map of the world, by code, and its table. */
async function tableOf(layer: string): Promise<{ table: string; columns: Record<string, string> }> {
  const [found] = await db.query<{ id: number; columns: Record<string, string> }>(
    `select n.id, json_object_agg(c.code, 'c' || c.id) as columns from node n join layer_column c on c.layer_id = n.id
     where n.code = $1 group by n.id`,
    [layer],
  );
  return { table: layerTable(found!.id), columns: found!.columns };
}

async function townsCalled(name: string): Promise<object[]> {
  const { table, columns } = await tableOf("cities");
  const shown = ["name", "english", "country", "kind", "other_names"].map(
    (code) => `${columns[code]} as ${code}`,
  );
  return db.query(`select ${shown.join()} from ${table} where ${columns.other_names} ~ $1`, [
    `(^|; )${name}(;|$)`,
  ]);
}

async function countryNames(iso: string): Promise<object[]> {
  const { table, columns } = await tableOf("countries");
  const rows = await db.query<{ name: object }>(
    `select ${columns.name} as name from ${table} where ${columns.iso} = $1`,
    [iso],
  );
  return rows.map(({ name }) => name);
}

t.test("a demo whose loading was interrupted is seen by nobody and loaded anew", async (t) => {
  await t.rejects(loadDemo(deps, interrupt), interrupted);
  t.strictSame(await projects(), [{ code: "demo", hidden: true }]);
  const accounts = await loadDemo(deps, ignore);
  t.strictSame(
    accounts.map(({ login }) => login),
    ["admin", "editor", "viewer"],
  );
  t.strictSame(await projects(), [{ code: "demo", hidden: false }]);
  for (const { login, password } of accounts) {
    t.ok(await authenticate(db, await projectId(db, "demo"), login, password), login);
  }
  t.strictSame(await layers(), [
    { place: "demo/draft/islands", kind: "Polygon" },
    { place: "demo/world/cities", kind: "Point" },
    { place: "demo/world/countries", kind: "Polygon" },
  ]);
  const map = await db.query<{ id: number }>("select id from map where code = 'world'");
  t.match(await loadSettings(db, map[0]!.id), [
    { weightColumnId: null, detailColumnId: null },
    { weightColumnId: Number, detailColumnId: Number },
    { weightColumnId: Number, detailColumnId: Number },
  ]);
  t.strictSame(
    await townsCalled("Köln"),
    [
      {
        name: { en: "Cologne", de: "Köln", ru: "Кёльн" },
        english: "Cologne",
        country: { en: "Germany", de: "Deutschland", ru: "Германия", fr: "Allemagne", es: "Alemania" },
        kind: { en: "town", de: "Stadt", ru: "город", fr: "ville", es: "ciudad" },
        other_names: "Köln; Kolonia; Кёльн",
      },
    ],
    "what GeoNames calls a town is one of its names",
  );
  t.match(await townsCalled("Monachium"), [{ name: { en: "Munich", de: "München", ru: "Мюнхен" } }]);
  const list = "select languages from project where code = 'demo'";
  t.strictSame(await db.query(list), [{ languages: ["en", "ru", "de", "fr", "es"] }]);
  t.strictSame(await countryNames("DE"), [
    { en: "Germany", de: "Deutschland", ru: "Германия", fr: "Allemagne", es: "Alemania" },
  ]);
  const [draft] = await db.query("select has_publication from map where code = 'draft'");
  t.match(draft, { has_publication: false });
  t.strictSame(await loadDemo(deps, interrupt), [], "an installation with a project gets no demo");
});

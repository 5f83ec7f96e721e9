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
import { freshDatabase } from "../support/database.js";
import { quietLog } from "../support/log.js";

const database = await freshDatabase();
const dataDir = mkdtempSync(join(tmpdir(), "mapwright-test-"));
const db = openDatabase({ url: database.url, connections: 4, statementTimeoutMs: 60_000, log: quietLog });
const config = configSchema.parse({ databaseUrl: database.url, dataDir });
const transfer = createTransferHost(config, quietLog);
const deps = { db, transfer, log: quietLog, config };
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
  db.query<{ code: string; hidden: boolean }>("select code, hidden from project where id <> 0 order by code");
const layers = () =>
  db.query<{ place: string; kind: string }>(
    `select p.code || '/' || m.code || '/' || n.code as place, l.geometry_kind as kind
     from node n join layer l using (id) join map m on m.id = n.map_id join project p on p.id = m.project_id order by 1`,
  );

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
  const [other] = await db.query<{ id: number; layer: number }>(
    "select id, layer_id as layer from layer_column where code = 'other_names'",
  );
  const named = `select * from ${layerTable(other!.layer)} where c${other!.id} ~ '(^|; )Köln(;|$)'`;
  t.equal((await db.query(named)).length, 1, "what GeoNames calls a town is one of its names");
  const [draft] = await db.query("select has_publication from map where code = 'draft'");
  t.match(draft, { has_publication: false });
  t.strictSame(await loadDemo(deps, interrupt), [], "an installation with a project gets no demo");
});

import { mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import t, { type Test } from "tap";
import { exportFile } from "../../workers/transfer/export/export-file.js";
import { freshDatabase } from "../support/database.js";
import { waitFor } from "../support/server.js";

/** Among its own: the folders beside it count as other exports. */
function exportFolder(t: Test): string {
  const exports = mkdtempSync(join(tmpdir(), "mapwright-test-"));
  t.teardown(() => rmSync(exports, { recursive: true }));
  const folder = join(exports, "one");
  mkdirSync(folder);
  return folder;
}

t.test("PostgreSQL waits for the disk of an export as long as that takes", async (t) => {
  const database = await freshDatabase();
  t.teardown(() => database.drop());
  const folder = exportFolder(t);
  // Also while its rows are not read.
  const settings = ["idle_in_transaction_session_timeout", "tcp_user_timeout"];
  const values = settings.map((name, index) => `current_setting('${name}') as v${index}`);
  const made = await exportFile({
    ...{ databaseUrl: database.url, statementTimeoutMs: 30_000, srid: 4326, format: "mif", layer: "a" },
    ...{ folder, maxBytes: 1e6, maxTotalBytes: 1e6 },
    source: { text: `select 1::bigint as svc_id, st_makepoint(1, 2) as g, ${values.join(",")}`, values: [] },
    columns: settings.map((_, index) => ({ name: `v${index}`, type: "text" })),
  });
  if (!made.ok) throw new Error(made.error);
  const { path } = made.files.find(({ ending }) => ending.endsWith(".mid"))!;
  t.match(readFileSync(path, "utf8"), /10min.*600000/);
});

t.test("an export that begins while its table is written anew has all objects", async (t) => {
  const database = await freshDatabase();
  t.teardown(() => database.drop());
  const [changing, looking] = [0, 1].map(() => new pg.Client({ connectionString: database.url }));
  for (const client of [changing!, looking!]) {
    await client.connect();
    t.teardown(() => client.end());
  }
  await changing!.query(
    "create table layers.l1 (svc_id bigint, name text); insert into layers.l1 values (1, 'kept')",
  );
  await changing!.query("begin; alter table layers.l1 alter column name type varchar(70)");
  const exported = exportFile({
    ...{ databaseUrl: database.url, statementTimeoutMs: 30_000, srid: 4326, format: "mif", layer: "a" },
    ...{ folder: exportFolder(t), maxBytes: 1e6, maxTotalBytes: 1e6, table: "layers.l1" },
    source: { text: "select svc_id, st_makepoint(1, 2) as g, name::text as v0 from layers.l1", values: [] },
    columns: [{ name: "v0", type: "text" }],
  });
  await waitFor(
    async () =>
      (await looking!.query("select from pg_locks where not granted and relation = 'layers.l1'::regclass"))
        .rows.length > 0,
  );
  await changing!.query("commit");
  t.match(await exported, { ok: true, objects: 1 });
});

t.test(
  "an export whose connection is lost, or cannot be opened, says that the database is away",
  async (t) => {
    const database = await freshDatabase();
    t.teardown(() => database.drop());
    const folder = exportFolder(t);
    const value = "pg_terminate_backend(pg_backend_pid())::text as v0";
    for (const databaseUrl of [database.url, "postgresql://127.0.0.1:1,127.0.0.1:2/none"])
      t.match(
        await exportFile({
          ...{ databaseUrl, statementTimeoutMs: 30_000, srid: 4326, format: "mif", layer: "a" },
          ...{ folder, maxBytes: 1e6, maxTotalBytes: 1e6 },
          source: { text: `select 1::bigint as svc_id, st_makepoint(1, 2) as g, ${value}`, values: [] },
          columns: [{ name: "v0", type: "text" }],
        }),
        { ok: false, reason: "away" },
      );
  },
);

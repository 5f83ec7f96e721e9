import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import t from "tap";
import { startFileSweep } from "../../src/catalog/file-sweep.js";
import { FolderBlobStore } from "../../src/storage/folder-blob-store.js";
import { migrate, pendingMigrations } from "../../src/storage/migrate.js";
import { openDatabase } from "../../src/storage/postgres.js";
import { freshDatabase } from "../support/database.js";
import { quietLog } from "../support/log.js";
import { waitFor } from "../support/server.js";

/** A database that a newer version has brought to its schema. */

const database = await freshDatabase();
const client = new pg.Client({ connectionString: database.url });
await client.connect();
t.teardown(async () => {
  await client.end();
  await database.drop();
});

const none = { pending: [], isEmpty: false, later: [] };
const bring = (name: string, expands: boolean) =>
  client.query("insert into mapwright.migration (name, expands) values ($1, $2)", [name, expands]);
const takeBack = () => client.query("delete from mapwright.migration where name ~ '^99'");
/** Data to stdout, messages to stderr. */
const mapwright = (...args: string[]) =>
  spawnSync(process.execPath, ["dist/src/main.js", "--database-url", database.url, ...args], {
    encoding: "utf8",
  });

t.test("a schema of a newer version is refused by name, and left as it is", async (t) => {
  t.same(await pendingMigrations(client), none);
  await bring("998_later.sql", true);
  await bring("999_last.sql", false);
  const refusal = { message: /schema of a newer version.*998_later\.sql, 999_last\.sql/ };
  await t.rejects(migrate(client), refusal);
  await t.rejects(pendingMigrations(client), refusal);
  const { status, stderr } = mapwright("upgrade", "--check");
  t.equal(status, 1);
  t.match(stderr, refusal.message);
  await takeBack();
  t.same(await migrate(client), []);
});

t.test("one that only adds is gone on with, and nothing of it is touched", async (t) => {
  await bring("998_later.sql", true);
  await client.query(
    "update mapwright.function_file set digest = 'newer' where name = (select min(name) from mapwright.function_file)",
  );
  t.same(await pendingMigrations(client), { ...none, later: ["998_later.sql"] });
  t.same(await migrate(client), [], "newer functions stay, too");
  const { rowCount } = await client.query("select from mapwright.function_file where digest = 'newer'");
  t.equal(rowCount, 1);
  t.match(mapwright("upgrade", "--check").stdout, /newer version's \(998_later\.sql\)/);

  // A blob that only tables of the newer version name.
  const folder = mkdtempSync(join(tmpdir(), "mapwright-newer-"));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  const blobs = new FolderBlobStore(folder);
  const key = await blobs.put([Buffer.from("of the newer version")] as unknown as AsyncIterable<Uint8Array>);
  await blobs.setAside(key);
  const db = openDatabase({ ...database.at, connections: 2, statementTimeoutMs: 10_000, log: quietLog });
  t.teardown(() => db.close());
  const warned: string[] = [];
  const log = { ...quietLog, warn: (_: object, text: string) => void warned.push(text) } as typeof quietLog;
  const sweep = () => startFileSweep(db, blobs, { store: { isOurs: async () => true }, log });
  sweep().stop();
  await waitFor(() => warned.length > 0);
  t.match(warned[0], /newer version's: no file is tidied up/);
  await takeBack();
});

t.test("upgrade does what a start does, and says before what it will be", async (t) => {
  t.equal(mapwright("upgrade").stdout, "");
  await client.query("delete from mapwright.migration where name = '055_search_detail.sql'");
  await client.query("alter table mapwright.search_setting drop column detail_column_id");
  const checked = mapwright("upgrade", "--check", "--json");
  t.same(
    JSON.parse(checked.stdout).pending.map(({ name }: { name: string }) => name),
    ["055_search_detail.sql"],
  );
  t.equal(JSON.parse(checked.stdout).olderNodesGoOn, false);
  t.match(mapwright("upgrade", "--check").stdout, /055_search_detail\.sql +must be stopped/);
  t.match(mapwright("upgrade").stderr, /1 step\b/);
  t.same(await pendingMigrations(client), none);
});

t.test("a step does not keep others waiting behind a lock that it waits for", async (t) => {
  await client.query("delete from mapwright.migration where name = '055_search_detail.sql'");
  await client.query("alter table mapwright.search_setting drop column detail_column_id");
  const holder = new pg.Client({ connectionString: database.url });
  await holder.connect();
  t.teardown(() => holder.end());
  await holder.query("begin; lock table mapwright.search_setting in access share mode");
  const upgraded = migrate(client);
  const reader = new pg.Client({ connectionString: database.url });
  await reader.connect();
  t.teardown(() => reader.end());
  for (let look = 0; look < 3; look++) {
    await reader.query("select count(*) from mapwright.search_setting");
    await new Promise((resolve) => setTimeout(resolve, 700));
  }
  await holder.query("commit");
  t.same(await upgraded, ["055_search_detail.sql"]);
});

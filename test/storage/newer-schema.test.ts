import pg from "pg";
import t from "tap";
import { migrate, pendingMigrations } from "../../src/storage/migrate.js";
import { freshDatabase } from "../support/database.js";

/** A database that a newer version has brought to its schema. */

const database = await freshDatabase();
const client = new pg.Client({ connectionString: database.url });
await client.connect();
t.teardown(async () => {
  await client.end();
  await database.drop();
});

t.test("a schema of a newer version is refused by name, and left as it is", async (t) => {
  t.same(await pendingMigrations(client), { pending: [], empty: false });
  await client.query("insert into mapwright.migration (name) values ('998_later.sql'), ('999_last.sql')");
  const refusal = { message: /schema of a newer version.*998_later\.sql, 999_last\.sql/ };
  await t.rejects(migrate(client), refusal);
  await t.rejects(pendingMigrations(client), refusal);
  await client.query("delete from mapwright.migration where name ~ '^99'");
  t.same(await migrate(client), []);
});

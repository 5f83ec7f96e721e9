import pg from "pg";
import t from "tap";
import { migrate } from "../../src/storage/migrate.js";
import { freshDatabase } from "../support/database.js";
import { DatabaseLink } from "../support/database-link.js";

/** A start whose connection is lost says in what, and the next one goes on from there. */

for (const [text, message] of [
  ["insert into migration (name, expands)", /^Migration 001_\w+\.sql failed: Connection terminated/],
  ["insert into function_file", /^Connection terminated/],
] as const)
  t.test(`a connection that is lost at "${text}"`, async (t) => {
    const database = await freshDatabase({ bare: true });
    const link = await DatabaseLink.to(database.url);
    t.teardown(async () => {
      await link.close();
      await database.drop();
    });
    const connect = async () => {
      const client = new pg.Client({ connectionString: link.url });
      client.on("error", () => undefined);
      await client.connect();
      return client;
    };
    const lost = await connect();
    link.severAt(text, { before: true });
    await t.rejects(migrate(lost), { message });
    const again = await connect();
    t.ok((await migrate(again)).length > 0);
    t.same(await migrate(again), []);
    await again.end();
  });

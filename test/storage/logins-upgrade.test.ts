import pg from "pg";
import t from "tap";
import { addMember, authenticate, listAccounts } from "../../src/access/accounts.js";
import { hashPassword } from "../../src/access/passwords.js";
import { migrate } from "../../src/storage/migrate.js";
import { openDatabase } from "../../src/storage/postgres.js";
import { freshDatabase } from "../support/database.js";
import { quietLog } from "../support/log.js";

/** Installations whose logins were those of all projects keep what they have: shared accounts stay shared. */

const database = await freshDatabase({ before: "048" });
t.teardown(() => database.drop());
const client = new pg.Client({ connectionString: database.url });
await client.connect();
t.teardown(() => client.end());
await client.query("set search_path = mapwright, public");
const idOf = async (text: string, values: unknown[]) =>
  (await client.query(text, values)).rows[0].id as number;
const project = (code: string) => idOf("insert into project (code) values ($1) returning id", [code]);
const [first, second] = [await project("first"), await project("second")];
const anna = await idOf("insert into account (login, password_hash) values ('anna', $1) returning id", [
  await hashPassword("secret"),
]);
await client.query("insert into account (login, password_hash) values ('alone', '')");
await client.query(
  "insert into membership (project_id, account_id, role) values ($1, $3, 'admin'), ($2, $3, 'viewer')",
  [first, second, anna],
);

t.test("an account of several projects is one after the upgrade, and new ones are apart", async (t) => {
  await migrate(client);
  const db = openDatabase({ ...database.at, connections: 2, statementTimeoutMs: 10_000, log: quietLog });
  t.teardown(() => db.close());
  t.match(await listAccounts(db), [
    { login: "alone", project: null },
    { login: "anna", project: "first", role: "admin", account: anna },
    { login: "anna", project: "second", role: "viewer", account: anna },
  ]);
  for (const id of [first, second]) t.match(await authenticate(db, id, "anna", "secret"), { id: anna });
  const third = await project("third");
  const made = await addMember(db, { login: "anna", password: "third", projectId: third, role: "viewer" });
  t.not(made.id, anna);
  await t.rejects(
    client.query("insert into membership (project_id, account_id, role) values ($1, $2, 'admin')", [
      third,
      anna,
    ]),
    { code: "23505" },
    "a login is one user of a project, whoever writes it",
  );
});

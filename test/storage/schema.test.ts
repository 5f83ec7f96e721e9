import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import pg from "pg";
import t from "tap";
import { functionFiles } from "../../src/storage/functions.js";
import { migrate, pendingMigrations } from "../../src/storage/migrate.js";
import { freshDatabase } from "../support/database.js";

/** The schema: what each of its files may hold, and that an upgrade of any earlier version makes what a new installation has. */

const folder = join(process.cwd(), "src/storage/migrations");
const names = readdirSync(folder).sort();
/** Migrations as versions before this one had them. */
const published = readdirSync(join(process.cwd(), "test/fixtures/migrations")).sort();

async function connect(t: { teardown(end: () => unknown): void }, url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  t.teardown(() => client.end());
  await client.query("set search_path = mapwright, public");
  return client;
}

async function databaseOf(t: { teardown(end: () => unknown): void }): Promise<string> {
  const database = await freshDatabase();
  t.teardown(() => database.drop());
  return database.url;
}

/** All that the schema consists of, a line each: columns in their order, constraints, indexes, views, functions, triggers. */
async function schemaOf(client: pg.Client): Promise<string[]> {
  const { rows } = await client.query<{ line: string }>(`
    with own as (select c.* from pg_class c where relnamespace = 'mapwright'::regnamespace)
    select format('%s %s', relkind, relname) || coalesce(' ' || obj_description(oid), '') || relpersistence::text as line from own
    union all
    select format('column %s %s %s %s %s %s %s', relname, row_number() over (partition by own.oid order by attnum), attname,
        format_type(atttypid, atttypmod), attnotnull, attidentity, pg_get_expr(adbin, adrelid))
      from own join pg_attribute a on attrelid = own.oid and attnum > 0 and not attisdropped
      left join pg_attrdef on adrelid = attrelid and adnum = attnum
    union all
    select format('constraint %s %s', conrelid::regclass, pg_get_constraintdef(oid)) from pg_constraint
      where connamespace = 'mapwright'::regnamespace
    union all
    select pg_get_indexdef(oid) from own where relkind = 'i'
    union all
    select pg_get_viewdef(oid) from own where relkind = 'v'
    union all
    select pg_get_functiondef(oid) from pg_proc where pronamespace = 'mapwright'::regnamespace
    union all
    select pg_get_triggerdef(t.oid) || tgenabled::text from pg_trigger t join own on tgrelid = own.oid where not tgisinternal
    order by 1`);
  return rows.map(({ line }) => line);
}

t.test(
  "files of migrations have numbers of their own, and leave functions and triggers to theirs",
  async (t) => {
    const numbers = names.map((name) => name.slice(0, 4));
    t.same([...new Set(numbers)], numbers);
    for (const name of names) {
      t.match(name, /^\d{3}_[a-z_]+\.sql$/);
      t.notMatch(
        readFileSync(join(folder, name), "utf8"),
        /\bcreate (or replace )?(function|procedure|(constraint )?trigger)\b/i,
        name,
      );
    }
  },
);

t.test(
  "a file of functions is named as its function, has what may be applied again, and there are no others",
  async (t) => {
    const made = new Set<string>();
    for (const { name, text } of functionFiles()) {
      const [, own] = /^functions\/[a-z-]+\/([a-z_]+)\.sql$/.exec(name) ?? [];
      const functions = [...text.matchAll(/^ *create or replace (?:function|procedure) ([a-z_]+)\(/gm)].map(
        (found) => found[1],
      );
      t.same([...new Set(functions)], [own], name);
      t.match(text, /^--/, `${name} begins with what it is for`);
      t.notMatch(text, /^create (?!or replace |constraint trigger)/m, name);
      for (const [, trigger, table] of text.matchAll(/^create constraint trigger (\S+) .*? on (\S+)/gm))
        t.ok(text.includes(`drop trigger if exists ${trigger} on ${table};`), name);
      made.add(own!);
    }
    const client = await connect(t, await databaseOf(t));
    const { rows } = await client.query<{ name: string }>(
      "select distinct proname as name from pg_proc where pronamespace = 'mapwright'::regnamespace",
    );
    t.same(rows.map(({ name }) => name).toSorted(), [...made].toSorted());
  },
);

t.test(
  "changed functions come with a migration, by which older versions know that they are not theirs",
  async (t) => {
    const digest = createHash("md5")
      .update(
        functionFiles()
          .map((file) => file.digest)
          .join(),
      )
      .digest("hex");
    const lines = names.flatMap(
      (name) => /^-- functions: ([0-9a-f]{32})$/m.exec(readFileSync(join(folder, name), "utf8"))?.[1] ?? [],
    );
    t.equal(
      lines.at(-1),
      digest,
      "add a file to src/storage/migrations that says why, with this line: -- functions: DIGEST",
    );
  },
);

t.test("an upgrade from each earlier schema ends with that of a new installation", async (t) => {
  const expected = await schemaOf(await connect(t, await databaseOf(t)));
  t.ok(expected.length > 300);
  for (const before of [...published.slice(1), "999"]) {
    const database = await freshDatabase({ before });
    const client = new pg.Client({ connectionString: database.url });
    await client.connect();
    try {
      await migrate(client);
      t.same(await schemaOf(client), expected, `from before ${before}`);
      t.same(await pendingMigrations(client), { pending: [], isEmpty: false, later: [] });
    } finally {
      await client.end();
      await database.drop();
    }
  }
});

import { readdirSync, readFileSync } from "node:fs";
import type pg from "pg";
import { workLock } from "./advisory-locks.js";
import { applyFunctions, changedFunctions } from "./functions.js";

/**
 * Brings the database's schema to this version: SQL files in `migrations/`, each once, in the order of their numbers, which
 * change tables and rows; and the functions and triggers in `functions/` (see functions.ts).
 *
 * A file whose first lines say `-- after functions` needs some of these, and runs when they are there, after all others. Each
 * file is one transaction, but for those with the line `-- no transaction`: one statement that commits by itself as it goes, and
 * that can be run again after an interruption.
 */

const folder = new URL("./migrations/", import.meta.url);

interface Migration {
  readonly name: string;
  readonly text: string;
  readonly isAfterFunctions: boolean;
  readonly isTransaction: boolean;
}

function migrations(): Migration[] {
  return readdirSync(folder)
    .filter((file) => file.endsWith(".sql"))
    .sort()
    .map((name) => {
      const text = readFileSync(new URL(name, folder), "utf8");
      const has = (line: string) => text.startsWith(`${line}\n`) || text.includes(`\n${line}\n`);
      return {
        name,
        text,
        isAfterFunctions: has("-- after functions"),
        isTransaction: !has("-- no transaction"),
      };
    });
}

/** Files that have been divided or have another number now, by the names that databases know. */
const formerly: Readonly<Record<string, readonly string[]>> = {
  "024_antimeridian.sql": ["024_crossing_layers.sql", "030_antimeridian_objects.sql"],
  "025_thinned_points.sql": ["022_thinned_points.sql"],
  "035_large_shapes_tables.sql": ["036_large_shapes_tables.sql"],
  "043_line_bends.sql": ["043_line_bends_column.sql", "044_line_bends.sql"],
};

const numberOf = (name: string): number => Number.parseInt(name, 10);

/**
 * Names of the migrations that the database has seen.
 * @throws Error when the schema is that of a newer version, which this one would read and write wrongly
 */
async function seen(client: pg.ClientBase, own: readonly Migration[]): Promise<ReadonlySet<string>> {
  const rows = (await client.query<{ name: string }>("select name from mapwright.migration order by name"))
    .rows;
  const known = new Set(own.map(({ name }) => name));
  const newest = Math.max(...own.map(({ name }) => numberOf(name)));
  // Some earlier migrations have no file any more.
  const later = rows.filter(({ name }) => !known.has(name) && !(numberOf(name) < newest));
  if (later.length > 0)
    throw new Error(
      `The database has the schema of a newer version of this program (${later.map(({ name }) => name).join(", ")}). Start that ` +
        "version, or restore a backup that this one has made.",
    );
  return new Set(rows.flatMap(({ name }) => [name, ...(formerly[name] ?? [])]));
}

/**
 * Names of the files that the database lacks; `empty`: it has no schema of ours at all.
 * @throws Error when the schema is that of a newer version
 */
export async function pendingMigrations(
  client: pg.ClientBase,
): Promise<{ pending: string[]; empty: boolean }> {
  const own = migrations();
  const found = await client.query<{ found: boolean }>(
    "select to_regclass('mapwright.migration') is not null as found",
  );
  if (!found.rows[0]?.found) return { pending: own.map(({ name }) => name), empty: true };
  const done = await seen(client, own);
  const pending = own.map(({ name }) => name).filter((name) => !done.has(name));
  const functions = (await changedFunctions(client)).map(({ name }) => name);
  return { pending: [...pending, ...functions], empty: false };
}

/**
 * Names of the files that were applied now. Safe to call from several processes at once.
 * @throws Error when the schema is that of a newer version, and when a file fails
 */
export async function migrate(client: pg.ClientBase): Promise<string[]> {
  await client.query(`select pg_advisory_lock(${workLock.migration})`);
  try {
    await requireExtensions(client);
    await client.query(
      "create schema if not exists mapwright; create schema if not exists layers; create schema if not exists staging",
    );
    await client.query("set search_path = mapwright, public");
    await client.query(
      "create table if not exists migration (name text primary key, applied_at timestamptz not null default now())",
    );
    const own = migrations();
    const done = await seen(client, own);
    const pending = own.filter(({ name }) => !done.has(name));
    const [first, after] = [false, true].map((is) => pending.filter((one) => one.isAfterFunctions === is));
    for (const one of first!) await apply(client, one);
    const functions = await applyFunctions(client);
    for (const one of after!) await apply(client, one);
    return [...first!.map(({ name }) => name), ...functions, ...after!.map(({ name }) => name)];
  } finally {
    // Without its connection it is free.
    await client.query(`select pg_advisory_unlock(${workLock.migration})`).catch(() => undefined);
  }
}

async function apply(client: pg.ClientBase, { name, text, isTransaction }: Migration): Promise<void> {
  if (isTransaction) await client.query("begin");
  try {
    await client.query(text);
    await client.query("insert into migration (name) values ($1)", [name]);
    if (isTransaction) await client.query("commit");
  } catch (error) {
    if (isTransaction) await client.query("rollback").catch(() => undefined);
    throw new Error(`Migration ${name} failed: ${(error as Error).message}`, { cause: error });
  }
}

/** Extensions need rights that the server's own role should not have, so an administrator may have to add them. */
async function requireExtensions(client: pg.ClientBase): Promise<void> {
  for (const extension of ["postgis", "pg_trgm", "unaccent"]) {
    const present = await client.query("select 1 from pg_extension where extname = $1", [extension]);
    if (present.rowCount) continue;
    try {
      await client.query(`create extension ${extension}`);
    } catch (error) {
      throw new Error(
        `The database lacks the extension ${extension}, and this role cannot add it (${(error as Error).message}). ` +
          `As a superuser of that database run: CREATE EXTENSION ${extension};`,
        { cause: error },
      );
    }
  }
}

import { readdirSync, readFileSync } from "node:fs";
import type pg from "pg";
import { workLock } from "./advisory-locks.js";

/**
 * Brings the database's schema to this version: SQL files in `migrations/`, each once, in the order of their names. Each is
 * one transaction, but for those that begin with the line `-- no transaction`: one statement that commits by itself as it
 * goes, and that can be run again after an interruption.
 */

const folder = new URL("./migrations/", import.meta.url);

const names = (): string[] =>
  readdirSync(folder)
    .filter((file) => file.endsWith(".sql"))
    .sort();

/** @throws Error when the schema is that of a newer version, which this one would read and write wrongly */
function requireKnown(done: ReadonlySet<string>): void {
  const own = new Set(names());
  const later = [...done].filter((name) => !own.has(name)).sort();
  if (later.length === 0) return;
  throw new Error(
    `The database has the schema of a newer version of this program (${later.join(", ")}). Start that version, or restore a ` +
      "backup that this one has made.",
  );
}

/**
 * Names of the migrations that the database lacks; `empty`: it has no schema of ours at all.
 * @throws Error when the schema is that of a newer version
 */
export async function pendingMigrations(
  client: pg.ClientBase,
): Promise<{ pending: string[]; empty: boolean }> {
  const found = await client.query<{ found: boolean }>(
    "select to_regclass('mapwright.migration') is not null as found",
  );
  if (!found.rows[0]?.found) return { pending: names(), empty: true };
  const rows = (await client.query<{ name: string }>("select name from mapwright.migration")).rows;
  const done = new Set(rows.map((row) => row.name));
  requireKnown(done);
  return { pending: names().filter((name) => !done.has(name)), empty: false };
}

/**
 * Names of the migrations that were applied now. Safe to call from several processes at once.
 * @throws Error when the schema is that of a newer version, and when a migration fails
 */
export async function migrate(client: pg.ClientBase): Promise<string[]> {
  const applied: string[] = [];
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
    const done = new Set(
      (await client.query<{ name: string }>("select name from migration")).rows.map((row) => row.name),
    );
    requireKnown(done);
    for (const name of names()) {
      if (done.has(name)) continue;
      const text = readFileSync(new URL(name, folder), "utf8");
      const transaction = !text.startsWith("-- no transaction\n");
      if (transaction) await client.query("begin");
      try {
        await client.query(text);
        await client.query("insert into migration (name) values ($1)", [name]);
        if (transaction) await client.query("commit");
      } catch (error) {
        if (transaction) await client.query("rollback");
        throw new Error(`Migration ${name} failed: ${(error as Error).message}`, { cause: error });
      }
      applied.push(name);
    }
  } finally {
    await client.query(`select pg_advisory_unlock(${workLock.migration})`);
  }
  return applied;
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

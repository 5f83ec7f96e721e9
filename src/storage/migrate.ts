import { readdirSync, readFileSync } from "node:fs";
import type pg from "pg";
import { workLock } from "./advisory-locks.js";
import { applyFunctions, changedFunctions } from "./functions.js";
import type { Queryable } from "./postgres.js";

/**
 * Brings the database's schema to this version: SQL files in `migrations/`, each once, in the order of their numbers, which
 * change tables and rows; and the functions and triggers in `functions/` (see functions.ts).
 *
 * A file whose first lines say `-- after functions` needs some of these, and runs when they are there, after all others. Each
 * file is one transaction, but for those with the line `-- no transaction`: one statement that commits by itself as it goes, and
 * that can be run again after an interruption.
 *
 * A file with the line `-- expands` leaves everything as older versions of the program know it: these go on with the new schema,
 * beside newer nodes and after a way back, and keep their hands off what they do not know. What old versions cannot live with
 * comes a release later, in a file without that line.
 */

const folder = new URL("./migrations/", import.meta.url);

interface Migration {
  readonly name: string;
  readonly text: string;
  readonly isAfterFunctions: boolean;
  readonly isTransaction: boolean;
  /** Whether older versions can go on. */
  readonly expands: boolean;
}

export interface PendingMigrations {
  /** Files that the database lacks, in their order. */
  readonly pending: readonly { readonly name: string; readonly expands: boolean }[];
  /** It has no schema of ours at all. */
  readonly isEmpty: boolean;
  /** What a newer version has done, which this one can go on with. Nothing is pending then. */
  readonly later: readonly string[];
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
        expands: has("-- expands"),
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

interface Seen {
  /** Names of the migrations that the database has seen. */
  readonly done: ReadonlySet<string>;
  /** Those of them that a newer version has brought. */
  readonly later: readonly string[];
}

export interface MigrationRow {
  readonly name: string;
  readonly expands: boolean;
}

/** Databases of earlier versions lack the column. */
export const migrationsSql =
  "select name, coalesce((to_jsonb(m) ->> 'expands')::boolean, false) as expands from mapwright.migration m order by name";

/** @throws Error when the schema is that of a newer version, which this one would read and write wrongly */
async function seen(client: Pick<pg.ClientBase, "query">, own: readonly Migration[]): Promise<Seen> {
  const { rows } = await client.query<MigrationRow>(migrationsSql);
  const later = laterOf(rows, own);
  requireExpanding(later);
  return {
    done: new Set(rows.flatMap(({ name }) => [name, ...(formerly[name] ?? [])])),
    later: later.map(({ name }) => name),
  };
}

/** Those of the migrations that this version does not know, as a newer one brought them. */
export function laterOf(
  rows: readonly MigrationRow[],
  own: readonly Migration[] = migrations(),
): MigrationRow[] {
  const known = new Set(own.map(({ name }) => name));
  const newest = Math.max(...own.map(({ name }) => numberOf(name)));
  // Some earlier migrations have no file any more.
  return rows.filter(({ name }) => !known.has(name) && !(numberOf(name) < newest));
}

/** Rows of the table of migrations, as a backup has them. @throws Error when they are those of a newer version, as `migrate` does */
export function requireKnown(rows: readonly MigrationRow[]): void {
  requireExpanding(laterOf(rows));
}

function requireExpanding(later: readonly MigrationRow[]): void {
  if (!later.every(({ expands }) => expands))
    throw new Error(
      `The database has the schema of a newer version of this program (${later.map(({ name }) => name).join(", ")}). Start that ` +
        "version, or give this one an empty database, and restore a backup that it has made.",
    );
}

/** What a newer version has done to the schema since this process has started, or before: names of its migrations. */
export async function laterMigrations(db: Pick<Queryable, "query">): Promise<string[]> {
  return laterOf(await db.query<MigrationRow>(migrationsSql)).map(({ name }) => name);
}

/** @throws Error when the schema is that of a newer version, which this one cannot go on with */
export async function pendingMigrations(client: pg.ClientBase): Promise<PendingMigrations> {
  const own = migrations();
  const found = await client.query<{ found: boolean }>(
    "select to_regclass('mapwright.migration') is not null as found",
  );
  const named = (list: readonly Migration[]) => list.map(({ name, expands }) => ({ name, expands }));
  if (!found.rows[0]?.found) return { pending: named(own), isEmpty: true, later: [] };
  const { done, later } = await seen(client, own);
  if (later.length > 0) return { pending: [], isEmpty: false, later };
  const functions = (await changedFunctions(client)).map(({ name }) => ({ name, expands: true }));
  return {
    pending: [...named(own.filter(({ name }) => !done.has(name))), ...functions],
    isEmpty: false,
    later,
  };
}

/**
 * Names of the files that were applied now: none where a newer version was there before. Safe to call from several processes
 * at once, and while nodes work.
 * @throws Error when the schema is that of a newer version, which this one cannot go on with, and when a file fails
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
    const { done, later } = await seen(client, own);
    if (later.length > 0) return [];
    await withoutWaiting(client, () => addExpands(client));
    const pending = own.filter(({ name }) => !done.has(name));
    const [first, after] = [false, true].map((is) => pending.filter((one) => one.isAfterFunctions === is));
    for (const one of first!) await apply(client, one);
    const functions = await withoutWaiting(client, () => applyFunctions(client));
    for (const one of after!) await apply(client, one);
    return [...first!.map(({ name }) => name), ...functions, ...after!.map(({ name }) => name)];
  } finally {
    // Without its connection it is free.
    await client.query(`select pg_advisory_unlock(${workLock.migration})`).catch(() => undefined);
  }
}

async function apply(client: pg.ClientBase, migration: Migration): Promise<void> {
  const { name, text, isTransaction, expands } = migration;
  const once = async () => {
    if (isTransaction) await client.query("begin");
    try {
      await client.query(text);
      await client.query("insert into migration (name, expands) values ($1, $2)", [name, expands]);
      if (isTransaction) await client.query("commit");
    } catch (error) {
      if (isTransaction) await client.query("rollback").catch(() => undefined);
      throw error;
    }
  };
  try {
    // What is not a transaction waits for others without being in their way.
    await (isTransaction ? withoutWaiting(client, once) : once());
  } catch (error) {
    throw new Error(`Migration ${name} failed: ${(error as Error).message}`, { cause: error });
  }
}

/** Not where it is there: the lock for it would wait for a backup. */
async function addExpands(client: pg.ClientBase): Promise<void> {
  const there = await client.query(
    "select from pg_attribute where attrelid = 'migration'::regclass and attname = 'expands'",
  );
  if (there.rowCount === 0)
    await client.query(
      "alter table migration add column if not exists expands boolean not null default false",
    );
}

/** How long a step waits for a lock, behind which all others wait who use the table, and how often it tries. */
const lockMs = 1_000;
const lockTries = 120;
/** Others get their turns meanwhile. */
const pauseMs = 4_000;

/** Runs a transaction again until it gets its locks quickly. */
async function withoutWaiting<T>(client: pg.ClientBase, transaction: () => Promise<T>): Promise<T> {
  await client.query(`set lock_timeout = ${lockMs}`);
  try {
    for (let left = lockTries; ; left--)
      try {
        return await transaction();
      } catch (error) {
        // lock_not_available, deadlock_detected
        if (left === 0 || !["55P03", "40P01"].includes(String(causeOf(error).code))) throw error;
        await new Promise((resolve) => setTimeout(resolve, pauseMs));
      }
  } finally {
    await client.query("set lock_timeout = default").catch(() => undefined);
  }
}

const causeOf = (error: unknown): { readonly code?: string } => {
  const { cause } = error as Error;
  return (cause ?? error) as { code?: string };
};

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

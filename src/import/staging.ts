import { randomBytes } from "node:crypto";
import { importLock, stagingLock } from "../storage/advisory-locks.js";
import { connectionLost } from "../storage/connection-errors.js";
import type { Database } from "../storage/postgres.js";
import { importOf } from "./filled-table.js";

/**
 * Staging tables, one per import. An advisory lock is held while the import runs, so that a table whose lock is free is
 * known to be unused.
 */

/** The advisory locks of an import, on a connection of their own: they end with the import or with its process. */
export interface StagingLock {
  readonly table: string;
  /** Aborted when the connection ends, and the locks with it: another import may write to the layer then. */
  readonly lost: AbortSignal;
  /** Takes the lock of the layer, so that one import at a time writes to it. */
  lockLayer(layerId: number, signal?: AbortSignal): Promise<void>;
  /** Drops the table and releases the locks. Never throws: a table that remains is dropped at the next start. */
  release(): Promise<void>;
}

/** Locks the name of a new staging table. The transfer host creates the table. */
export async function lockStaging(db: Database): Promise<StagingLock> {
  const table = `i${Date.now().toString(36)}_${process.pid}_${randomBytes(4).toString("hex")}`;
  const session = await db.working();
  const lost = new AbortController();
  session.onLost((error) => lost.abort(connectionLost(error)));
  try {
    await session.lock(stagingLock("$1"), [table]);
  } catch (error) {
    await session.end();
    throw error;
  }
  return {
    table,
    lost: lost.signal,
    lockLayer: (layerId, signal) => session.lock(importLock("$1"), [layerId], signal),
    release: async () => {
      // A transfer host may still write to the table; it finishes or is killed soon.
      await session
        .set({ lock_timeout: "10s" })
        .then(() => session.query(`drop table if exists staging.${table}`))
        .catch(() => undefined)
        .then(() => session.end());
    },
  };
}

/**
 * Removes staging tables and physical columns (without a row in the catalogue) of imports that did not finish. What is
 * locked by a running import stays.
 * @returns names of the removed tables and columns
 */
export async function sweepStaging(db: Database): Promise<string[]> {
  const removed: string[] = [];
  const session = await db.working();
  try {
    await session.set({ lock_timeout: "2s" });
    const drop = async (key: string, holder: string | number, statement: string): Promise<boolean> => {
      if (!(await session.tryLock(key, [holder]))) return false;
      try {
        await session.query(statement);
        return true;
      } catch {
        // In use; retried at the next start.
        return false;
      } finally {
        await session.unlock(key, [holder]);
      }
    };
    const tables = await session.query<{ name: string }>(
      "select relname as name from pg_class where relnamespace = 'staging'::regnamespace and relkind = 'r' and relname ~ '^i[a-z0-9_]+$'",
    );
    for (const { name } of tables.rows) {
      if (await drop(stagingLock("$1"), importOf(name), `drop table if exists staging.${name}`))
        removed.push(`staging.${name}`);
    }
    const columns = await session.query<{ layer: string; name: string }>(
      `select substr(c.relname, 2) as layer, a.attname as name
       from pg_class c join pg_attribute a on a.attrelid = c.oid
       where c.relnamespace = 'layers'::regnamespace and c.relkind = 'r' and c.relname ~ '^l[0-9]+$'
         and a.attname ~ '^c[0-9]+$' and not a.attisdropped
         and not exists (select 1 from layer_column k
           where k.layer_id = substr(c.relname, 2)::bigint and k.id = substr(a.attname, 2)::bigint)`,
    );
    for (const { layer, name } of columns.rows) {
      // Checked again under the lock: an import may have finished in the meantime.
      const statement = `do $$ begin
          if not exists (select 1 from layer_column where id = ${Number(name.slice(1))}) then
            alter table layers.l${Number(layer)} drop column if exists ${name};
          end if;
        end $$`;
      if (await drop(importLock("$1"), Number(layer), statement)) removed.push(`layers.l${layer}.${name}`);
    }
  } finally {
    await session.end();
  }
  return removed;
}

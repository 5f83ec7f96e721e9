import { randomBytes } from "node:crypto";
import { importLock, stagingLock } from "../storage/advisory-locks.js";
import type { Database } from "../storage/postgres.js";

/**
 * Staging tables: one an import, held by an advisory lock for as long as the import lives, so that whoever finds a
 * table without its lock knows that nobody needs it.
 */

/** A connection's hold on what an import works with; ends with the import or with its process. */
export interface StagingHold {
  readonly table: string;
  /** Waits until no other import writes to the layer, and keeps the next one waiting. */
  holdLayer(layerId: number): Promise<void>;
  /** Drops the table and lets go. Never throws: what is left behind is swept at the next start. */
  release(): Promise<void>;
}

/** Names a new staging table and holds it. The table itself is made by the transfer host. */
export async function holdStaging(db: Database): Promise<StagingHold> {
  const table = `i${Date.now().toString(36)}_${process.pid}_${randomBytes(4).toString("hex")}`;
  const client = await db.dedicated();
  client.on("error", () => undefined);
  try {
    await client.query(`select pg_advisory_lock(${stagingLock("$1")})`, [table]);
  } catch (error) {
    await client.end().catch(() => undefined);
    throw error;
  }
  return {
    table,
    holdLayer: async (layerId) => {
      await client.query(`select pg_advisory_lock(${importLock("$1")})`, [layerId]);
    },
    release: async () => {
      // A host that still writes to the table holds it up; it is killed or done within moments.
      await client
        .query(`set lock_timeout = '10s'; drop table if exists staging.${table}`)
        .catch(() => undefined)
        .then(() => client.end())
        .catch(() => undefined);
    },
  };
}

/**
 * Removes what dead imports left behind: staging tables, and physical columns that no catalogue row knows. What a
 * running import holds stays.
 * @returns names of what was removed
 */
export async function sweepStaging(db: Database): Promise<string[]> {
  const removed: string[] = [];
  const client = await db.dedicated();
  try {
    await client.query("set lock_timeout = '2s'");
    const drop = async (key: string, holder: string, statement: string): Promise<boolean> => {
      const { rows } = await client.query<{ ours: boolean }>(`select pg_try_advisory_lock(${key}) as ours`, [
        holder,
      ]);
      if (!rows[0]!.ours) return false;
      try {
        await client.query(statement);
        return true;
      } catch {
        // Somebody reads or writes it just now; the next start tries again.
        return false;
      } finally {
        await client.query(`select pg_advisory_unlock(${key})`, [holder]);
      }
    };
    const tables = await client.query<{ name: string }>(
      "select relname as name from pg_class where relnamespace = 'staging'::regnamespace and relkind = 'r' and relname ~ '^i[a-z0-9_]+$'",
    );
    for (const { name } of tables.rows) {
      if (await drop(stagingLock("$1"), name, `drop table if exists staging.${name}`))
        removed.push(`staging.${name}`);
    }
    const columns = await client.query<{ layer: string; name: string }>(
      `select substr(c.relname, 2) as layer, a.attname as name
       from pg_class c join pg_attribute a on a.attrelid = c.oid
       where c.relnamespace = 'layers'::regnamespace and c.relkind = 'r' and c.relname ~ '^l[0-9]+$'
         and a.attname ~ '^c[0-9]+$' and not a.attisdropped
         and not exists (select 1 from layer_column k
           where k.layer_id = substr(c.relname, 2)::bigint and k.id = substr(a.attname, 2)::bigint)`,
    );
    for (const { layer, name } of columns.rows) {
      // Asked again under the lock: an import may have finished meanwhile.
      const statement = `do $$ begin
          if not exists (select 1 from layer_column where id = ${Number(name.slice(1))}) then
            alter table layers.l${Number(layer)} drop column if exists ${name};
          end if;
        end $$`;
      if (await drop(importLock("$1"), layer, statement)) removed.push(`layers.l${layer}.${name}`);
    }
  } finally {
    await client.end();
  }
  return removed;
}

import type { Database } from "../../src/storage/postgres.js";
import { asSuperuser } from "./database.js";

/**
 * Holds work on a database at a step: before a change of the schema, before a write to a table of the catalogue, and before
 * the commit of such a write. Triggers count the steps, and the one that is asked for waits for a lock.
 */

export interface Steps {
  /**
   * Starts the work, and calls `then` with the id of the backend when it waits at the step of that number; then it goes on.
   * @returns false when the work ends before
   */
  hold(
    step: number,
    work: () => Promise<unknown>,
    then: (backend: number) => void | Promise<void>,
  ): Promise<boolean>;
  stop(): Promise<void>;
}

/** Of the advisory lock that work waits for. */
export const stepsKey = 77_012;
const tables = ["layer", "layer_column", "layer_change", "node", "import_job", "raster"];
const deadlineMs = 60_000;

export async function watchSteps(db: Database): Promise<Steps> {
  const name = new URL(db.directUrl).pathname.slice(1);
  const counted = `if nextval('steps.count') = (select held from steps.held) then
      perform pg_advisory_lock_shared(${stepsKey});
      perform pg_advisory_unlock_shared(${stepsKey});
    end if;`;
  await asSuperuser(name, async (client) => {
    await client.query(`
      create schema steps;
      create sequence steps.count;
      create table steps.held (held bigint);
      insert into steps.held values (0);
      create function steps.schema() returns event_trigger language plpgsql security definer as $$ begin
        ${counted} end $$;
      create function steps.write() returns trigger language plpgsql security definer as $$ begin
        ${counted} return null; end $$;
      grant usage on schema steps to public;
      grant select, update on sequence steps.count to public;
      grant select, update on steps.held to public`);
    for (const table of tables)
      await client.query(`
        create trigger step before insert or update or delete on mapwright.${table}
          for each statement execute function steps.write();
        create constraint trigger last_step after insert or update on mapwright.${table}
          deferrable initially deferred for each row execute function steps.write()`);
    await client.query("create event trigger steps on ddl_command_start execute function steps.schema()");
  });
  const client = await db.dedicated();
  const waiting = async (): Promise<number | undefined> => {
    const { rows } = await client.query<{ pid: number }>(
      `select l.pid from pg_locks l join pg_stat_activity a using (pid)
       where l.locktype = 'advisory' and l.objid = ${stepsKey} and not l.granted and a.datname = current_database()`,
    );
    return rows[0]?.pid;
  };
  return {
    async hold(step, work, then) {
      await client.query(`select pg_advisory_lock(${stepsKey})`);
      try {
        await client.query("select setval('steps.count', 1, false)");
        await client.query("update steps.held set held = $1", [step]);
        let hasEnded = false;
        void work().finally(() => {
          hasEnded = true;
        });
        for (const until = Date.now() + deadlineMs; Date.now() < until; ) {
          const backend = await waiting();
          if (backend !== undefined) {
            await then(backend);
            return true;
          }
          if (hasEnded) return false;
          await new Promise((resolve) => setTimeout(resolve, 5));
        }
        throw new Error(`Step ${step} was not reached within a minute.`);
      } finally {
        await client.query("update steps.held set held = 0");
        await client.query(`select pg_advisory_unlock(${stepsKey})`);
      }
    },
    stop: () => client.end(),
  };
}

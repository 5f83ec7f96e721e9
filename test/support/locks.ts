import type pg from "pg";
import { waitFor } from "./server.js";

/** Waits until at least `count` statements wait for locks in the client's database. The client may be in a transaction. */
export const lockWaiters = (sql: pg.ClientBase, count = 1): Promise<void> =>
  waitFor(async () => {
    // Within a transaction the sessions of its first look would be told for ever, without those that came since.
    await sql.query("select pg_stat_clear_snapshot()");
    const { rows } = await sql.query(
      "select from pg_locks l join pg_stat_activity a using (pid) where not l.granted and a.datname = current_database()",
    );
    return rows.length >= count;
  });

import type pg from "pg";
import { waitFor } from "./server.js";

/** Waits until at least `count` statements wait for locks in the client's database. */
export const lockWaiters = (sql: pg.ClientBase, count = 1): Promise<void> =>
  waitFor(async () => {
    const { rows } = await sql.query(
      "select from pg_locks l join pg_stat_activity a using (pid) where not l.granted and a.datname = current_database()",
    );
    return rows.length >= count;
  });

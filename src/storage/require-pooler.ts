import type pg from "pg";
import { UnfitSession } from "./own-session.js";
import { beginSetting } from "./setting-query.js";
import { settingStatement } from "./transaction-settings.js";

/**
 * Behind a pooler, whichever it is: a transaction has one session, on the server of the direct connections, and takes what is set in
 * it. How sessions are handed out to transactions makes no difference.
 * @param server as `serverSql` has it
 * @throws UnfitSession
 */
export async function requirePooler(client: pg.ClientBase, server: string): Promise<void> {
  try {
    await beginSetting(client, settingStatement({ search_path: "mapwright,public" }, server));
    const seen = new Set<string>();
    for (let statement = 0; statement < statements; statement++) {
      const { rows } = await client.query<{ session: string }>(
        "select pg_backend_pid() || ' ' || current_setting('search_path') as session",
      );
      seen.add(rows[0]!.session);
    }
    await client.query("commit");
    if (seen.size !== 1) throw byStatement();
  } catch (error) {
    // PgBouncer's words, which it says in English only.
    if (/not allowed in statement pooling/i.test((error as Error).message)) throw byStatement();
    throw error;
  }
}

/** Statements of a transaction that are asked whose session they have. */
const statements = 3;

const byStatement = (): UnfitSession =>
  new UnfitSession(
    "a pooler hands out the sessions of PostgreSQL for a statement each, so that there are no transactions",
    "Let it hand them out for a transaction each (PgBouncer: pool_mode = transaction).",
  );

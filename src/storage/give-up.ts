import { setTimeout as sleep } from "node:timers/promises";
import type pg from "pg";
import type { Queryable } from "./postgres.js";

/** Between two requests to cancel what runs. */
const repeatMs = 500;

/** Work in the background on a connection of its own. */
export interface BackgroundWork {
  /** Undefined = it does nothing now. */
  readonly running: Promise<void> | undefined;
  readonly client: pg.Client | undefined;
}

/**
 * Cancels the statements of work that begins no more of them, until it has ended. Again and again, as a request that comes
 * between two statements cancels neither.
 */
export async function giveUp(db: Pick<Queryable, "query">, work: () => BackgroundWork): Promise<void> {
  for (let { running, client } = work(); running; { running, client } = work()) {
    const pid = (client as unknown as { processID?: number | null } | undefined)?.processID;
    if (pid) await db.query("select pg_cancel_backend($1)", [pid]).catch(() => undefined);
    await Promise.race([running, sleep(repeatMs, undefined, { ref: false })]);
  }
}

import { workLock } from "../storage/advisory-locks.js";
import type { Database } from "../storage/postgres.js";
import { versionStep } from "./layer-version.js";

/** Prunes the change log by age, and by number of changes for each layer. A tile older than the log is rendered again. */

/** How long changes are kept, as an interval of PostgreSQL. */
export const keptFor = "1 day";
export const keptOfEachLayer = 2_000;

/** Layers whose log may have grown since a pass that ended well: passes are a minute apart. */
const recently = "1 hour";

/** One pass. Does nothing while another node prunes. */
export async function pruneChangeLog(db: Database): Promise<void> {
  await db.transaction(async (tx) => {
    const [lock] = await tx.query<{ free: boolean }>(
      `select pg_try_advisory_xact_lock(${workLock.pruning}) as free`,
    );
    if (!lock?.free) return;
    await tx.execute(`delete from layer_change where changed_at < now() - $1::interval`, [keptFor]);
    await tx.execute(
      `delete from layer_change c using layer l
       where l.changed_at > now() - $2::interval and l.id = c.layer_id and c.version <= l.version - $1::bigint`,
      [keptOfEachLayer * versionStep, recently],
    );
  });
}

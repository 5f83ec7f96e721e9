import { loadLock } from "../storage/advisory-locks.js";
import type { Database } from "../storage/postgres.js";

/** Runs work that only one process of the installation may do at a time; the others wait for it. */
export async function exclusively<T>(db: Database, what: string, work: () => Promise<T>): Promise<T> {
  const client = await db.dedicated();
  try {
    await client.query(`select pg_advisory_lock(${loadLock("$1")})`, [what]);
    return await work();
  } finally {
    await client.end();
  }
}

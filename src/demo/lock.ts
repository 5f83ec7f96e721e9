import { loadLock } from "../storage/advisory-locks.js";
import type { Database } from "../storage/postgres.js";

/**
 * Runs work that only one process of the installation may do at a time; the others wait for it.
 * Aborting the signal ends the wait with an error.
 */
export async function exclusively<T>(
  { db, signal }: { readonly db: Database; readonly signal?: AbortSignal },
  what: string,
  work: () => Promise<T>,
): Promise<T> {
  const client = await db.dedicated();
  const leave = (): void => void client.end();
  try {
    signal?.throwIfAborted();
    signal?.addEventListener("abort", leave);
    await client
      .query(`select pg_advisory_lock(${loadLock("$1")})`, [what])
      .finally(() => signal?.removeEventListener("abort", leave));
    signal?.throwIfAborted();
    return await work();
  } finally {
    await client.end();
  }
}

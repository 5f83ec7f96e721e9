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
  const session = await db.working();
  try {
    await session.lock(loadLock("$1"), [what], signal);
    return await work();
  } finally {
    await session.end();
  }
}

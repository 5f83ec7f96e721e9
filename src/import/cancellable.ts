import type { Database, Queryable } from "../storage/postgres.js";

/** A transaction of an import: long, and ended when the import is cancelled. */

export interface LongTransaction {
  /** Bound of each statement. */
  readonly timeoutMs: number;
  /** Aborting it cancels the running statement; then the transaction is rolled back, and its reason thrown. */
  readonly signal?: AbortSignal | undefined;
}

/** @throws what `work` throws; the reason of the signal */
export function longTransaction<T>(
  db: Database,
  { timeoutMs, signal }: LongTransaction,
  work: (tx: Queryable) => Promise<T>,
): Promise<T> {
  return db.transaction(async (tx) => {
    signal?.throwIfAborted();
    await tx.execute(`set local statement_timeout = ${timeoutMs}`);
    if (!signal) return work(tx);
    // It may have been aborted since it was looked at, and will not say so again.
    signal.throwIfAborted();
    const stopCancelling = tx.cancelWhen?.(signal);
    try {
      const result = await work(tx);
      signal.throwIfAborted();
      return result;
    } catch (error) {
      // Errors after it are caused by it.
      signal.throwIfAborted();
      throw error;
    } finally {
      await stopCancelling?.();
    }
  });
}

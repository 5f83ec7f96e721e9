import type { Database, Queryable } from "../storage/postgres.js";

/** A transaction of an import: long, and ended when the import is cancelled. */

/** How often the running statement is cancelled until the transaction has ended. */
const repeatMs = 500;

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
    const [backend] = await tx.query<{ pid: number }>("select pg_backend_pid() as pid");
    // It may have been aborted since it was looked at, and will not say so again.
    signal.throwIfAborted();
    const stopCancelling = cancelWhenAborted(db.apart, backend!.pid, signal);
    try {
      const result = await work(tx);
      signal.throwIfAborted();
      return result;
    } catch (error) {
      // Errors after it are caused by it.
      signal.throwIfAborted();
      throw error;
    } finally {
      await stopCancelling();
    }
  });
}

/**
 * Cancels what the backend runs from the abort of the signal on, which has not been aborted yet.
 * @returns a function that ends it; when it resolves, the next statement of the backend is safe
 */
export function cancelWhenAborted(db: Queryable, pid: number, signal: AbortSignal): () => Promise<void> {
  let cancelling = Promise.resolve();
  const cancel = () => {
    cancelling = cancelling
      .then(() => db.query("select pg_cancel_backend($1)", [pid]))
      .then(
        () => undefined,
        () => undefined,
      );
  };
  let timer: NodeJS.Timeout | undefined;
  const abort = () => {
    cancel();
    // Between two statements there is nothing to cancel.
    timer = setInterval(cancel, repeatMs);
  };
  signal.addEventListener("abort", abort, { once: true });
  return () => {
    signal.removeEventListener("abort", abort);
    clearInterval(timer);
    return cancelling;
  };
}

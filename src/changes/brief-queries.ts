import type { Clock } from "../clock.js";

/** Far more than a query of a few rows takes; a database that hangs is waited for ten times as long by others. */
const briefMs = 2_000;

/**
 * Queries of a node that has lost the notifications of its database, and could answer without them. Nobody waits for a database
 * that hangs: the first ones wait briefly, and the others not at all until a late one has ended.
 */
export class BriefQueries {
  private readonly late = new Set<Promise<unknown>>();

  constructor(private readonly clock: Pick<Clock, "after">) {}

  /** @throws what the query throws; Error when it takes too long, or another one does: it may go on all the same */
  run<T>(query: () => Promise<T>): Promise<T> {
    const silent = () => new Error("The database does not answer.");
    if (this.late.size > 0) return Promise.reject(silent());
    return new Promise((resolve, reject) => {
      const running = query();
      const cancel = this.clock.after(briefMs, () => {
        this.late.add(running);
        reject(silent());
      });
      const end = () => {
        cancel();
        this.late.delete(running);
      };
      running.then(
        (result) => {
          end();
          resolve(result);
        },
        (error: unknown) => {
          end();
          reject(error);
        },
      );
    });
  }
}

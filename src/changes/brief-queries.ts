import type { Clock } from "../clock.js";

/** Far more than a query of a few rows takes; a database that hangs is waited for ten times as long by others. */
const briefMs = 2_000;

/** Each may have a connection as long as a statement takes. */
const mostLate = 3;

/**
 * Queries of a node that has lost the notifications of its database, and could answer without them. Nobody waits for a database
 * that hangs: the first ones wait briefly. Once one of them is late only one at a time finds out whether others are answered,
 * and the rest wait not at all.
 */
export class BriefQueries {
  private readonly late = new Set<Promise<unknown>>();
  private isSilent = false;
  private isTrying = false;

  constructor(private readonly clock: Pick<Clock, "after">) {}

  /** @throws what the query throws; Error when it takes too long, or another one does: it may go on all the same */
  run<T>(query: () => Promise<T>): Promise<T> {
    const silent = () => new Error("The database does not answer.");
    const isTrial = this.isSilent;
    if (isTrial && (this.isTrying || this.late.size >= mostLate)) return Promise.reject(silent());
    this.isTrying ||= isTrial;
    return new Promise((resolve, reject) => {
      const running = query();
      const tried = () => {
        if (isTrial) this.isTrying = false;
      };
      const cancel = this.clock.after(briefMs, () => {
        this.late.add(running);
        this.isSilent = true;
        tried();
        reject(silent());
      });
      const end = () => {
        cancel();
        // Also a late one: the database answers again.
        this.isSilent = false;
        if (!this.late.delete(running)) tried();
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

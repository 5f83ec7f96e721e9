import { ServerError } from "../map-server.js";

/** Largest number of changes that wait for their turn. */
const mostWaiting = 50;

/** Changes that are made one after the other, each of what the one before has left. */
export class Turns {
  private last: Promise<unknown> = Promise.resolve();
  private waiting = 0;

  /** Whether nothing waits, and nothing is done just now. */
  get areOver(): boolean {
    return this.waiting === 0;
  }

  /** Resolves when nothing waits, and nothing is done any more. */
  async end(): Promise<void> {
    while (!this.areOver) await this.last;
  }

  /** Does something when all that was begun before is done. @throws ServerError 503 when too much waits */
  take<T>(work: () => Promise<T>): Promise<T> {
    if (this.waiting >= mostWaiting) return Promise.reject(new ServerError(503, undefined));
    this.waiting++;
    const done = this.last.then(work).finally(() => {
      this.waiting--;
    });
    this.last = done.catch(() => undefined); // told where it was begun
    return done;
  }
}

import { type Clock, systemClock } from "../clock.js";
import { clientOwners, networkOf } from "../queues/clients.js";
import { FairQueue } from "../queues/fair-queue.js";

/** For how long requests that have arrived may begin before the event loop goes on to what else waits, in ms. */
const turnMs = 20;

/**
 * Fair queue of requests. They may begin within a limited time of each turn of the event loop; those that come when it is spent
 * begin in later turns, clients as often as each other. The library hands over all requests that it has read before anything else
 * runs: 512 KiB of a connection that sends thousands without waiting for an answer, of each connection.
 *
 * (The library closes a connection that sends another request while one waits. So a client that sends that many at once has to
 * send what was not answered again, as RFC 9112, section 9.3.2, tells clients to.)
 */
export class RequestQueue {
  private readonly waiting = new FairQueue<() => void>();
  /** When requests that arrive in this turn have to wait; undefined = none has come in this turn. */
  private until: number | undefined;

  constructor(private readonly clock: Pick<Clock, "now" | "turn"> = systemClock) {}

  /** Whether the time of this turn, which begins when this is first asked in it, is spent: what arrives now has to wait. */
  isTurnSpent(): boolean {
    const now = this.clock.now();
    if (this.until === undefined) {
      this.until = now + turnMs;
      void this.clock.turn().then(this.end);
    }
    return now >= this.until;
  }

  /**
   * Calls `begin` in a later turn. As many may wait as there are connections.
   * @param client its address
   */
  wait(client: string, begin: () => void): void {
    this.waiting.add(clientOwners(networkOf(client)), begin);
  }

  private readonly end = (): void => {
    this.until = undefined;
    // What begins here takes of the time of the turn that comes.
    if (this.waiting.length > 0) this.beginNext();
  };

  private readonly beginNext = (): void => {
    if (this.isTurnSpent()) return;
    const next = this.waiting.take();
    if (!next) return;
    const begun = this.clock.now();
    next.task();
    // What a request does before it first waits for something is done when the microtasks are, and counts.
    queueMicrotask(() =>
      process.nextTick(() => {
        this.waiting.leave(next.owners, this.clock.now() - begun);
        this.beginNext();
      }),
    );
  };
}

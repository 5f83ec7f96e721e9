import { type Clock, systemClock } from "../clock.js";
import { clientOwners, networkOf } from "../queues/clients.js";
import { FairQueue } from "../queues/fair-queue.js";

/**
 * Fair queue of bodies that have brought or sent much: in a turn of the event loop one of them goes on, clients as often as each
 * other. The library hands over all that has arrived on each connection, and fast sockets take all that they are given, which can
 * be megabytes of each of hundreds, before anything else runs.
 */
export class BodyQueue {
  private readonly waiting = new FairQueue<() => void>();
  /** Whether the turn that comes is a body's. */
  private isTaken = false;

  constructor(private readonly clock: Pick<Clock, "turn"> = systemClock) {}

  /**
   * Calls `goOn` before the turn that is the body's. As many may wait as there are connections.
   * @param client its address
   */
  wait(client: string, goOn: () => void): void {
    this.waiting.add(clientOwners(networkOf(client)), goOn);
    if (!this.isTaken) this.give();
  }

  private readonly give = (): void => {
    const next = this.waiting.take();
    this.isTaken = next !== undefined;
    if (!next) return;
    next.task();
    this.waiting.leave(next.owners, 1);
    void this.clock.turn().then(this.give);
  };
}

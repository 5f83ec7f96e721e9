import type { Clock } from "../clock.js";
import { FairQueue } from "./fair-queue.js";

/** How long a part of a work may hold the event loop, beside the pieces that it ends in. */
const sliceMs = 5;

/** To be awaited between the pieces of a work. */
export type Pause = () => Promise<void>;

/**
 * Works that take long hold the event loop for a slice each, one of them in a turn, and owners as often as each other. What
 * is short does not wait at all.
 */
export class Slices {
  private readonly waiting = new FairQueue<() => void>();
  private isReleasing = false;

  constructor(private readonly clock: Pick<Clock, "now" | "turn">) {}

  /**
   * A work begins now.
   * @param owner whose it is: the project
   */
  begin(owner: string): Pause {
    let until = this.clock.now() + sliceMs;
    let turn: Promise<void> | undefined;
    const take = async () => {
      await this.next(owner);
      until = this.clock.now() + sliceMs;
      turn = undefined;
    };
    return async () => {
      // What of the work goes on side by side waits for the same turn: many pieces are no more in the queue than one.
      if (this.clock.now() < until) return;
      turn ??= take();
      await turn;
    };
  }

  /** Resolves in a turn of its own. */
  private next(owner: string): Promise<void> {
    return new Promise((resolve) => {
      this.waiting.add([owner], resolve);
      if (!this.isReleasing) void this.release();
    });
  }

  private async release(): Promise<void> {
    this.isReleasing = true;
    while (this.waiting.length > 0) {
      await this.clock.turn();
      const next = this.waiting.take();
      next?.task();
      // Each turn counts as one: what else the event loop does meanwhile is not the work's.
      if (next) this.waiting.leave(next.owners, 1);
    }
    this.isReleasing = false;
  }
}

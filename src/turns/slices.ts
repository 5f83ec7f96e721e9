import type { Clock } from "../clock.js";

/** How long a part of a work may hold the event loop, beside the pieces that it ends in. */
const sliceMs = 5;

/** To be awaited between the pieces of a work. */
export type Pause = () => Promise<void>;

/** Works that take long hold the event loop for a slice each, one of them in a turn. What is short does not wait at all. */
export class Slices {
  private readonly waiting: (() => void)[] = [];

  constructor(private readonly clock: Pick<Clock, "now" | "turn">) {}

  /** A work begins now. */
  begin(): Pause {
    let until = this.clock.now() + sliceMs;
    let turn: Promise<void> | undefined;
    const take = async () => {
      await this.next();
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
  private next(): Promise<void> {
    return new Promise((resolve) => {
      if (this.waiting.push(resolve) === 1) void this.release();
    });
  }

  private async release(): Promise<void> {
    while (this.waiting.length > 0) {
      await this.clock.turn();
      this.waiting.shift()?.();
    }
  }
}

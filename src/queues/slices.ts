import type { Clock } from "../clock.js";
import { FairQueue } from "./fair-queue.js";

/** How long parts of works may hold the event loop in a turn, beside the pieces that they end in. */
const sliceMs = 5;

/** To be awaited between the pieces of a work. */
export type Pause = () => Promise<void>;

/**
 * Works that take long hold the event loop for a slice each, one of them in a turn, and owners as often as each other. What
 * is short does not wait at all.
 */
export class Slices {
  /** What is to be done in turns to come. */
  private readonly waiting = new FairQueue<() => void>();
  /** What has been done of this turn by pieces that are whole, in ms. */
  private usedMs = 0;
  private isReleasing = false;

  constructor(private readonly clock: Pick<Clock, "now" | "turn">) {}

  /**
   * A work begins now.
   * @param owner whose it is: a project, or a client
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

  /**
   * Does a work of one piece: at once, unless others took their slice of this turn already, such as the same of many clients.
   * @param owner whose it is: a project, or a client
   * @throws what it throws; then it rejects, if it waited
   */
  whole<T>(owner: string, work: () => T): Promise<T> | T {
    if (this.waiting.length === 0 && this.usedMs < sliceMs) return this.do(work);
    return new Promise<T>((resolve, reject) => {
      this.wait(owner, () => {
        try {
          resolve(this.do(work));
        } catch (error) {
          reject(error);
        }
      });
    });
  }

  private do<T>(work: () => T): T {
    const begun = this.clock.now();
    try {
      return work();
    } finally {
      this.usedMs += this.clock.now() - begun;
      if (this.usedMs >= sliceMs) this.release();
    }
  }

  /** Resolves in a turn of its own. */
  private next(owner: string): Promise<void> {
    return new Promise((resolve) => {
      this.wait(owner, () => {
        // What it does goes on when this has ended.
        this.usedMs += sliceMs;
        resolve();
      });
    });
  }

  private wait(owner: string, work: () => void): void {
    this.waiting.add([owner], work);
    this.release();
  }

  private release(): void {
    if (this.isReleasing) return;
    this.isReleasing = true;
    void this.releaseInTurns();
  }

  private async releaseInTurns(): Promise<void> {
    do {
      await this.clock.turn();
      this.usedMs = 0;
      while (this.usedMs < sliceMs) {
        const next = this.waiting.take();
        if (!next) break;
        const before = this.usedMs;
        next.task();
        this.waiting.leave(next.owners, this.usedMs - before);
      }
    } while (this.waiting.length > 0 || this.usedMs >= sliceMs);
    this.isReleasing = false;
  }
}

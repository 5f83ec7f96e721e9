import { type Clock, delay } from "../clock.js";
import { FairSemaphore, type PermitRequest } from "../queues/fair-semaphore.js";

/**
 * Lets exports draw what others leave of a node's render host: one metatile at a time, while nobody else's waits. Projects
 * take turns, and the exports of each.
 */

export interface RenderQueueOptions {
  /** Tasks of the render host, of everybody. */
  readonly load: () => { readonly waiting: number; readonly running: number };
  /** Tasks that it works on at once. */
  readonly concurrency: number;
  /** Longest wait for other exports. */
  readonly timeoutMs: number;
  readonly clock: Clock;
}

/** However busy the host is, an export gets its turn after this time, so that it comes to an end. */
const patienceMs = 1_000;
const pollMs = 10;

export class RenderQueue {
  private readonly semaphore: FairSemaphore;

  constructor(private readonly options: RenderQueueOptions) {
    const { timeoutMs, clock } = options;
    this.semaphore = new FairSemaphore({
      permits: 1,
      mostWaiting: 64,
      timeoutMs,
      refusal: "Too many exports draw tiles now.",
      clock,
    });
  }

  /** Does the work when it is its turn. @throws Failure busy; the signal's reason; what the work throws */
  async run<Result>(
    work: () => Promise<Result>,
    { owners, signal }: Required<PermitRequest>,
  ): Promise<Result> {
    const release = await this.semaphore.acquire({ owners, signal });
    try {
      await this.untilIdle(signal);
      return await work();
    } finally {
      release();
    }
  }

  private async untilIdle(signal: AbortSignal): Promise<void> {
    const { load, concurrency, clock } = this.options;
    const until = clock.now() + patienceMs;
    for (;;) {
      const { waiting, running } = load();
      if ((waiting === 0 && running < concurrency) || clock.now() >= until) return;
      await delay(clock, pollMs);
      signal.throwIfAborted();
    }
  }
}

import { type Clock, systemClock } from "../clock.js";
import { noAnswer, type S3Failure } from "./s3-failure.js";

const defaultMs = 5_000;

export interface BriefOptions {
  /**
   * How long in ms such a request may take in all, with its repetitions, and a read until it begins and from one piece to the
   * next; default: 5 s.
   */
  readonly briefMs?: number | undefined;
}

/**
 * Requests for which viewers wait, and which a store that is well answers at once: of a few bytes. One that is silent would
 * hold up each tile otherwise, for as long as large requests are waited for, and once for each image on it.
 */
export class BriefRequests {
  private silent: { readonly failure: S3Failure; readonly until: number } | undefined;

  constructor(
    readonly ms = defaultMs,
    private readonly clock: Pick<Clock, "now"> = systemClock,
  ) {}

  /**
   * After one that was not answered, all fail for the same time.
   * @param send what goes on when it has returned is not bounded: the rest of an answer
   * @throws S3Failure; what `send` throws in time
   */
  async call<T>(operation: string, send: (abortSignal: AbortSignal) => Promise<T>): Promise<T> {
    if (this.silent && this.clock.now() < this.silent.until) throw this.silent.failure;
    const late = new AbortController();
    const timer = setTimeout(() => late.abort(), this.ms);
    try {
      return await send(late.signal);
    } catch (error) {
      if (!late.signal.aborted) throw error;
      const failure = noAnswer(operation, this.ms);
      this.silent = { failure, until: this.clock.now() + this.ms };
      throw failure;
    } finally {
      clearTimeout(timer);
    }
  }
}

import { setTimeout as pause } from "node:timers/promises";
import { batches, type PurgeService, send } from "./purge-service.js";

/**
 * Cloudflare, by cache tags: https://developers.cloudflare.com/cache/how-to/purge-cache/
 * It counts requests in a bucket, whose size and refill depend on the plan. While few are left, less is told: whole layers.
 */

export const cloudflareApi = "https://api.cloudflare.com/client/v4";

/** Tags that it takes at once. */
const mostInRequest = 100;
/** Requests in a row that every plan allows. */
const mostInRow = 25;
/** Wait after an answer 429 that does not say how long, and the longest. */
const retryMs = 12_000;
const longestRetryMs = 60_000;

export interface CloudflareOptions {
  readonly api: string;
  readonly zone: string;
  readonly token: string;
  readonly repeatMs: number;
  /** Requests that the plan allows. */
  readonly perMinute: number;
}

export class Cloudflare implements PurgeService {
  readonly repeatMs: number;
  private left = mostInRow;
  /** When `left` was right, in ms of `performance.now()`. */
  private leftAt = performance.now();
  /** No request is taken before. */
  private readyAt = 0;

  constructor(private readonly options: CloudflareOptions) {
    this.repeatMs = options.repeatMs;
  }

  /** Half of what is left, so that the next changes find some too. */
  get mostKeys(): number {
    return mostInRequest * Math.max(1, Math.floor(this.requestsLeft() / 2));
  }

  async purge(keys: readonly string[], signal: AbortSignal): Promise<void> {
    for (const tags of batches(keys, { most: mostInRequest })) await this.post({ tags }, signal);
  }

  forget(keys: readonly string[], signal: AbortSignal): Promise<void> {
    return this.purge(keys, signal);
  }

  private async post(body: object, signal: AbortSignal): Promise<void> {
    const { api, zone, token } = this.options;
    await this.turn(signal);
    const text = await send(`${api}/zones/${zone}/purge_cache`, {
      method: "POST",
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      body: JSON.stringify(body),
      signal,
      onRefused: ({ status, headers }) => {
        if (status !== 429) return;
        const seconds = Number(headers.get("retry-after") ?? Number.NaN);
        const ms = seconds > 0 ? Math.min(seconds * 1_000, longestRetryMs) : retryMs;
        this.readyAt = performance.now() + ms;
      },
    });
    const { success } = JSON.parse(text) as { success?: boolean };
    if (success !== true) throw new Error(`Cloudflare did not purge: ${text.slice(0, 300)}`);
  }

  private requestsLeft(): number {
    const now = performance.now();
    this.left = Math.min(mostInRow, this.left + ((now - this.leftAt) / 60_000) * this.options.perMinute);
    this.leftAt = now;
    return this.left;
  }

  private async turn(signal: AbortSignal): Promise<void> {
    const refillMs = (Math.max(0, 1 - this.requestsLeft()) / this.options.perMinute) * 60_000;
    const waitMs = Math.max(refillMs, this.readyAt - performance.now());
    if (waitMs > 0) await pause(waitMs, undefined, { signal });
    this.left = this.requestsLeft() - 1;
  }
}

import type { Log } from "../log.js";
import type { Redis } from "../storage/redis.js";
import type { Touched } from "./changes.js";

/**
 * Word between nodes about edits, so that an edit's answer is sent only when every node that can be reached knows
 * of it. PostgreSQL's notifications say the same milliseconds later; this closes that gap. Without Redis they are
 * what remains.
 */

/** A node that does not answer in this time is taken to hang; its notifications tell it when it wakes. */
const answerMs = 250;

export interface PeersOptions {
  readonly redis: Redis;
  readonly prefix: string;
  readonly nodeId: string;
  readonly log: Log;
  readonly apply: (touched: Touched) => Promise<void>;
}

interface Word {
  readonly from: string;
  readonly id: number;
  readonly touched: Touched;
}

interface Waiting {
  needed: number;
  answered: number;
  done: () => void;
}

export class Peers {
  private subscriber: Redis | undefined;
  private nextId = 1;
  private readonly waiting = new Map<number, Waiting>();
  private readonly channel: string;
  private readonly inbox: string;
  /** Each word of this node's own begins so. */
  private readonly ownStart: string;

  constructor(private readonly options: PeersOptions) {
    this.ownStart = JSON.stringify({ from: options.nodeId }).slice(0, -1);
    this.channel = `${options.prefix}changes`;
    this.inbox = `${options.prefix}changes:${options.nodeId}`;
  }

  async start(): Promise<void> {
    // Subscriptions are made again by the client after each reconnection.
    const subscriber = this.options.redis.duplicate({ enableOfflineQueue: true, autoResubscribe: true });
    this.subscriber = subscriber;
    subscriber.on("error", () => undefined);
    subscriber.on("message", (channel: string, text: string) => {
      if (channel === this.inbox) this.answered(Number(text));
      else if (!text.startsWith(this.ownStart)) void this.heard(JSON.parse(text) as Word);
    });
    try {
      await subscriber.connect();
    } catch {
      // It goes on trying; until then there is no word from others.
    }
    const subscribed = subscriber.subscribe(this.channel, this.inbox).catch((error: Error) => {
      this.options.log.warn({ err: error }, "no word from other nodes");
    });
    if (subscriber.status === "ready") await subscribed;
  }

  async stop(): Promise<void> {
    this.subscriber?.disconnect();
    for (const waiting of this.waiting.values()) waiting.done();
  }

  /** Tells the others and waits until each has answered, or for a quarter of a second. */
  async tell(touched: Touched): Promise<void> {
    const id = this.nextId++;
    const waiting: Waiting = { needed: Number.POSITIVE_INFINITY, answered: 0, done: () => undefined };
    this.waiting.set(id, waiting);
    let timer: NodeJS.Timeout | undefined;
    try {
      const word: Word = { from: this.options.nodeId, id, touched };
      const receivers = await this.options.redis.publish(this.channel, JSON.stringify(word));
      // This node hears itself too, and says nothing to that.
      const listening = this.subscriber?.status === "ready" ? 1 : 0;
      waiting.needed = Math.max(0, receivers - listening);
      if (waiting.answered >= waiting.needed) return;
      await new Promise<void>((resolve) => {
        timer = setTimeout(resolve, answerMs);
        waiting.done = resolve;
      });
    } catch {
      // Redis is away: notifications tell the others.
    } finally {
      clearTimeout(timer);
      this.waiting.delete(id);
    }
  }

  private answered(id: number): void {
    const waiting = this.waiting.get(id);
    if (!waiting) return;
    waiting.answered++;
    if (waiting.answered >= waiting.needed) waiting.done();
  }

  private async heard(word: Word): Promise<void> {
    try {
      await this.options.apply(word.touched);
    } catch (error) {
      // Not knowing the change, this node may not claim that it does: no answer.
      this.options.log.warn({ err: error }, "a change told by another node could not be read");
      return;
    }
    await this.options.redis
      .publish(`${this.options.prefix}changes:${word.from}`, String(word.id))
      .catch(() => undefined);
  }
}

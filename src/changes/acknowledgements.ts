import type { Clock } from "../clock.js";
import type { Log } from "../log.js";
import type { Redis } from "../storage/redis.js";
import type { Mark } from "./notification.js";

/**
 * Tells nodes that their transactions' notifications were heard here: by Redis, which costs the database nothing, or by
 * the database where Redis does not carry it in time.
 */

export interface AcknowledgementOptions {
  readonly redis: Redis;
  readonly prefix: string;
  readonly nodeId: string;
  readonly clock: Clock;
  readonly log: Log;
  /** Somebody has heard these marks of ours. */
  readonly acknowledged: (from: string, receipts: readonly string[]) => void;
  /** Notifies the node by the database. */
  readonly notify: (node: string, receipts: readonly string[]) => Promise<void>;
}

/** Redis has this long to carry a word. */
const redisMs = 100;
/** Receipts in one word: a notification holds 8,000 bytes. */
const receiptsAtOnce = 300;

export class Acknowledgements {
  private subscriber: Redis | undefined;
  /** What is to be said at the end of this turn, by node. */
  private readonly outgoing = new Map<string, string[]>();

  constructor(private readonly options: AcknowledgementOptions) {}

  async start(): Promise<void> {
    const { redis, prefix, nodeId, log } = this.options;
    // Subscriptions are made again by the client after each reconnection.
    const subscriber = redis.duplicate({ enableOfflineQueue: true, autoResubscribe: true });
    this.subscriber = subscriber;
    subscriber.on("error", () => undefined);
    subscriber.on("message", (_channel: string, text: string) => {
      const [from = "", ...receipts] = text.split(" ");
      this.options.acknowledged(from, receipts);
    });
    try {
      await subscriber.connect();
    } catch {
      // It goes on trying; until then the database carries the word.
    }
    const subscribed = subscriber.subscribe(inbox(prefix, nodeId)).catch((error: Error) => {
      log.warn({ err: error }, "other nodes are heard by the database only");
    });
    if (subscriber.status === "ready") await subscribed;
  }

  async stop(): Promise<void> {
    this.subscriber?.disconnect();
  }

  /** Says that this was heard; together with what else is heard in this turn. */
  send({ node, receipt }: Mark): void {
    if (this.outgoing.size === 0) void this.options.clock.turn().then(() => this.sendAll());
    const receipts = this.outgoing.get(node);
    if (receipts) receipts.push(receipt);
    else this.outgoing.set(node, [receipt]);
  }

  private sendAll(): void {
    const all = [...this.outgoing];
    this.outgoing.clear();
    for (const [node, receipts] of all) {
      for (let at = 0; at < receipts.length; at += receiptsAtOnce)
        void this.sendTo(node, receipts.slice(at, at + receiptsAtOnce));
    }
  }

  private async sendTo(node: string, receipts: readonly string[]): Promise<void> {
    const { redis, prefix, nodeId, clock, log, notify } = this.options;
    let cancel = (): void => undefined;
    const tooLate = new Promise<number>((resolve) => {
      cancel = clock.after(redisMs, () => resolve(0));
    });
    const published = redis.publish(inbox(prefix, node), [nodeId, ...receipts].join(" ")).catch(() => 0);
    const receivers = await Promise.race([published, tooLate]);
    cancel();
    if (receivers > 0) return;
    await notify(node, receipts).catch((error: Error) =>
      // The node waits until this one no longer trusts what it remembers.
      log.debug({ err: error }, "a node could not be told that it was heard"),
    );
  }
}

const inbox = (prefix: string, node: string): string => `${prefix}heard:${node}`;

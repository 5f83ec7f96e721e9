import type { Redis as Connection } from "ioredis";
import type { Clock } from "../clock.js";
import type { Log } from "../log.js";
import { connectInTime, type Redis } from "../storage/redis.js";
import type { Mark } from "./notification.js";

/**
 * Acknowledges notifications of other nodes' transactions: through Redis, which spares the database, or through the
 * database if Redis does not deliver in time. A cluster does not say whether somebody heard, so that there it is always the database.
 */

export interface AcknowledgementOptions {
  readonly redis: Redis;
  readonly prefix: string;
  readonly nodeId: string;
  readonly clock: Clock;
  readonly log: Log;
  /** Node `from` has received these marks of this node. */
  readonly acknowledged: (from: string, receipts: readonly string[]) => void;
  /** Acknowledges through the database. */
  readonly notify: (node: string, receipts: readonly string[]) => Promise<void>;
}

const redisTimeoutMs = 100;
/** For so long the start of a node waits to be heard through Redis. */
const startMs = 1_000;
/** Between two connections that are made anew as nothing was heard. */
const renewMs = 5_000;
/** A notification of PostgreSQL holds 8,000 bytes. */
const maxReceiptsPerMessage = 300;

export class Acknowledgements {
  private subscriber: Connection | undefined;
  /** Receipts to be sent at the end of this turn of the event loop, by node, and whether through the database. */
  private readonly outgoing = new Map<string, { readonly receipts: string[]; isAgain: boolean }>();
  private renewedAt = Number.NEGATIVE_INFINITY;

  constructor(private readonly options: AcknowledgementOptions) {}

  async start(): Promise<void> {
    const { redis, prefix, nodeId } = this.options;
    const subscriber = redis.listener();
    if (!subscriber) return;
    this.subscriber = subscriber;
    subscriber.on("error", () => undefined);
    subscriber.on("message", (_channel: string, text: string) => {
      const [from = "", ...receipts] = text.split(" ");
      this.options.acknowledged(from, receipts);
    });
    // Until there is a connection acknowledgements arrive through the database.
    const subscribe = () => subscriber.subscribe(channelOf(prefix, nodeId)).catch(() => undefined);
    subscriber.on("ready", subscribe);
    await connectInTime(subscriber, startMs).catch(() => undefined);
    const subscribed = subscribe();
    if (subscriber.status === "ready") await subscribed;
  }

  async stop(): Promise<void> {
    this.subscriber?.disconnect();
  }

  /** What others say through Redis may not arrive: its connection may be gone without a word. */
  renew(): void {
    const now = this.options.clock.now();
    if (now - this.renewedAt < renewMs) return;
    this.renewedAt = now;
    this.subscriber?.disconnect(true);
  }

  /** Acknowledges a mark; all marks of one turn of the event loop are sent together. */
  send({ node, receipt, isAgain = false }: Mark): void {
    if (this.outgoing.size === 0) void this.options.clock.turn().then(() => this.sendAll());
    const known = this.outgoing.get(node);
    if (known) {
      known.receipts.push(receipt);
      known.isAgain ||= isAgain;
    } else this.outgoing.set(node, { receipts: [receipt], isAgain });
  }

  private sendAll(): void {
    const all = [...this.outgoing];
    this.outgoing.clear();
    for (const [node, { receipts, isAgain }] of all) {
      for (let at = 0; at < receipts.length; at += maxReceiptsPerMessage)
        void this.sendTo(node, receipts.slice(at, at + maxReceiptsPerMessage), isAgain);
    }
  }

  private async sendTo(node: string, receipts: readonly string[], isAgain: boolean): Promise<void> {
    const { log, notify } = this.options;
    if (!isAgain && this.subscriber && (await this.isHeard(node, receipts))) return;
    await notify(node, receipts).catch((error: Error) =>
      // The node then waits until this one's lease has expired.
      log.debug({ err: error }, "a notification could not be acknowledged"),
    );
  }

  /** Acknowledges through Redis. @returns whether the node has heard of it in time */
  private async isHeard(node: string, receipts: readonly string[]): Promise<boolean> {
    const { redis, prefix, nodeId, clock } = this.options;
    let cancel = (): void => undefined;
    const timeout = new Promise<number>((resolve) => {
      cancel = clock.after(redisTimeoutMs, () => resolve(0));
    });
    const published = redis.publish(channelOf(prefix, node), [nodeId, ...receipts].join(" ")).catch(() => 0);
    const receivers = await Promise.race([published, timeout]);
    cancel();
    return receivers > 0;
  }
}

const channelOf = (prefix: string, node: string): string => `${prefix}heard:${node}`;

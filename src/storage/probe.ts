import { type Clock, systemClock } from "../clock.js";
import type { Database } from "./postgres.js";
import type { ProbeConnection } from "./probe-connection.js";

/**
 * Whether PostgreSQL answers, and takes writes: asked over a connection of its own, so that what users do keeps nobody from knowing it. The
 * connection stays open; one that is lost or silent is replaced.
 */

export interface ProbeOptions {
  readonly db: Pick<Database, "probing">;
  /** Longest wait for an answer; half of it for that of the connection that is open. */
  readonly timeoutMs?: number;
  /** How long an answer holds. */
  readonly sharedMs?: number;
  readonly clock?: Clock;
}

export class DatabaseProbe {
  private readonly db: Pick<Database, "probing">;
  private readonly timeoutMs: number;
  private readonly sharedMs: number;
  private readonly clock: Clock;
  private client: ProbeConnection | undefined;
  private running: Promise<boolean> | undefined;
  private last: { readonly isThere: boolean; readonly until: number } | undefined;
  private isClosed = false;

  constructor({ db, timeoutMs = 2_000, sharedMs = 500, clock = systemClock }: ProbeOptions) {
    this.db = db;
    this.timeoutMs = timeoutMs;
    this.sharedMs = sharedMs;
    this.clock = clock;
  }

  /** Never rejects. Those who ask at the same time, or soon after each other, share an answer. */
  isThere(): Promise<boolean> {
    if (this.last && this.clock.now() < this.last.until) return Promise.resolve(this.last.isThere);
    this.running ??= this.ask().then((isThere) => {
      this.running = undefined;
      this.last = { isThere, until: this.clock.now() + this.sharedMs };
      return isThere;
    });
    return this.running;
  }

  /** The next answer is that of a new connection. */
  renew(): void {
    this.last = undefined;
    this.drop(this.client);
  }

  close(): void {
    this.isClosed = true;
    this.drop(this.client);
  }

  private async ask(): Promise<boolean> {
    const half = this.timeoutMs / 2;
    const { client } = this;
    return (client !== undefined && (await this.within(half, client))) || this.within(half, undefined);
  }

  /** @param open undefined = a new connection */
  private within(ms: number, open: ProbeConnection | undefined): Promise<boolean> {
    return new Promise((resolve) => {
      let client = open;
      let isOver = false;
      const end = (isThere: boolean) => {
        if (isOver) return;
        isOver = true;
        cancel();
        if (!isThere) this.drop(client);
        resolve(isThere);
      };
      const cancel = this.clock.after(ms, () => end(false));
      const work = async () => {
        client ??= await this.connect();
        // A connection that comes too late takes no other's place.
        if (isOver || this.isClosed) return this.drop(client);
        this.client = client;
        await client.ask();
      };
      work().then(
        () => end(true),
        () => end(false),
      );
    });
  }

  private async connect(): Promise<ProbeConnection> {
    const client = await this.db.probing();
    client.onLost(() => this.drop(client));
    return client;
  }

  /** Closes it without a word: who does not answer takes none. */
  private drop(client: ProbeConnection | undefined): void {
    if (this.client === client) this.client = undefined;
    client?.destroy();
  }
}

import type pg from "pg";
import type { Log } from "../log.js";
import type { Database } from "../storage/postgres.js";

/** The connection that listens to PostgreSQL's notifications, made anew whenever it is lost. */

export interface ListenerEvents {
  /** Notifications arrive from now on; what was missed has to be read. Connected counts only when this resolved. */
  connected(): Promise<void>;
  notified(payload: string): void;
}

/** A connection that says nothing for this long is asked; one that does not answer is given up. */
const heartbeatMs = 1_000;
const answerMs = 2_000;

export class Listener {
  private client: pg.Client | undefined;
  private heartbeat: NodeJS.Timeout | undefined;
  private retry: NodeJS.Timeout | undefined;
  private attempts = 0;
  private stopped = false;
  connected = false;

  constructor(
    private readonly db: Database,
    private readonly log: Log,
    private readonly events: ListenerEvents,
  ) {}

  /** Resolves after the first attempt, whether it succeeded or not. */
  async start(): Promise<void> {
    if (this.stopped) return;
    try {
      const client = await this.db.dedicated();
      this.client = client;
      let lost = false;
      const lose = (error?: Error) => {
        if (lost) return;
        lost = true;
        this.lose(client, error);
      };
      client.on("error", lose);
      client.on("end", () => lose());
      client.on("notification", (message) => this.events.notified(message.payload ?? ""));
      await client.query("set application_name = 'mapwright listener'");
      await client.query("listen mapwright");
      await this.events.connected();
      if (lost || this.stopped) return;
      this.connected = true;
      this.attempts = 0;
      this.heartbeat = setInterval(() => this.beat(client, lose), heartbeatMs);
      this.heartbeat.unref();
    } catch (error) {
      this.lose(this.client, error as Error);
    }
  }

  async stop(): Promise<void> {
    this.stopped = true;
    clearTimeout(this.retry);
    clearInterval(this.heartbeat);
    this.connected = false;
    await this.client?.end().catch(() => undefined);
  }

  private beat(client: pg.Client, lose: (error: Error) => void): void {
    const timer = setTimeout(() => lose(new Error("the database does not answer")), answerMs);
    client.query("select 1").then(
      () => clearTimeout(timer),
      (error: Error) => {
        clearTimeout(timer);
        lose(error);
      },
    );
  }

  private lose(client: pg.Client | undefined, error?: Error): void {
    clearInterval(this.heartbeat);
    if (this.stopped) return;
    const was = this.connected;
    this.connected = false;
    if (was || this.attempts === 0)
      this.log.warn(
        { err: error },
        "the notification connection is lost; tiles are checked against the database",
      );
    client?.end().catch(() => undefined);
    if (this.client === client) this.client = undefined;
    clearTimeout(this.retry);
    this.retry = setTimeout(() => void this.start(), Math.min(50 * 2 ** this.attempts++, 1_000));
    this.retry.unref();
  }
}

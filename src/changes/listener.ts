import type { Clock } from "../clock.js";
import type { Log } from "../log.js";
import type { ListeningConnection } from "../storage/postgres.js";
import { channel } from "./notification.js";

export interface ListenerOptions {
  readonly connect: () => Promise<ListeningConnection>;
  readonly clock: Clock;
  readonly log: Log;
  /** Notifications arrive from now on; what was missed has to be read. They count only when this resolved. */
  readonly opened: () => Promise<void>;
  readonly notified: (payload: string) => void;
  /** The connection is lost. */
  readonly lost: () => void;
  /**
   * Asks the database something on the listening connection, from time to time. PostgreSQL hands over what was committed
   * before the question came first, so its answer proves that nothing older is outstanding.
   */
  readonly prove: () => Promise<void>;
}

/** By this name the database's administrator, and other nodes, know the connection. */
export const listenerName = "mapwright listener";

const beatMs = 500;
/** All that is read when a connection is opened. */
const openMs = 30_000;
/** A connection that has not answered for this long is given up. */
const answerMs = 2_000;
/**
 * A node believes that it is up to date for this long after a question that was answered. Whoever changes something waits
 * at most a little longer for a node that does not answer, which by then no longer trusts what it remembers.
 */
export const leaseMs = 2_000;

/** The connection that listens to PostgreSQL's notifications, made anew whenever it is lost. */
export class Listener {
  private connection: ListeningConnection | undefined;
  private open = false;
  /** When the last question was sent that has its answer, on the clock. */
  private provenAt = Number.NEGATIVE_INFINITY;
  private cancelBeat = (): void => undefined;
  private cancelRetry = (): void => undefined;
  private attempts = 0;
  private stopped = false;
  private trustedThisTurn = false;

  constructor(private readonly options: ListenerOptions) {}

  /** Whether what this node knows is all that was committed until a moment ago. Also false after the process stood still. */
  get trusted(): boolean {
    return this.trustedThisTurn || this.trustedNow();
  }

  /**
   * Looks at the clock once in a turn of the event loop, since that costs cached tiles more than finding them does. What
   * is read in a turn was sent before it began.
   */
  private trustedNow(): boolean {
    const { clock } = this.options;
    if (!this.open || clock.now() - this.provenAt >= leaseMs) return false;
    this.trustedThisTurn = true;
    void clock.turn().then(() => {
      this.trustedThisTurn = false;
    });
    return true;
  }

  /** Resolves after the first attempt, whether it succeeded or not. */
  async start(): Promise<void> {
    if (this.stopped) return;
    const { log, clock } = this.options;
    let connection: ListeningConnection | undefined;
    let cancel = (): void => undefined;
    try {
      connection = await this.options.connect();
      if (this.stopped) return void connection.end().catch(() => undefined);
      this.connection = connection;
      const own = connection;
      cancel = clock.after(openMs, () => this.lose(own, new Error("The database does not answer.")));
      own.onLost((error) => this.lose(own, error));
      own.onNotification((payload) => {
        if (this.connection === own) this.options.notified(payload);
      });
      await own.query(`set application_name = '${listenerName}'`);
      await own.query(`listen ${channel}`);
      await this.options.opened();
      const sentAt = clock.now();
      await this.options.prove();
      if (this.connection !== own) return;
      this.provenAt = sentAt;
      this.open = true;
      this.attempts = 0;
      this.scheduleBeat(own);
    } catch (error) {
      if (connection === undefined || this.connection === connection) this.lose(connection, error as Error);
      else log.debug({ err: error }, "a notification connection was given up while it was opened");
    } finally {
      cancel();
    }
  }

  async stop(): Promise<void> {
    this.stopped = true;
    this.open = this.trustedThisTurn = false;
    this.cancelRetry();
    this.cancelBeat();
    const { connection } = this;
    this.connection = undefined;
    await connection?.end().catch(() => undefined);
  }

  /** Runs a statement on the listening connection, which no other work can keep from it. @throws Error while there is none */
  async query<Row extends object>(text: string, values: readonly unknown[] = []): Promise<Row[]> {
    if (!this.connection) throw new Error("The notification connection is lost.");
    return (await this.connection.query(text, [...values])).rows as Row[];
  }

  /** Gives the connection up and makes another, which reads what was missed. */
  renew(reason: string): void {
    if (this.connection) this.lose(this.connection, new Error(reason));
  }

  private scheduleBeat(connection: ListeningConnection): void {
    this.cancelBeat = this.options.clock.after(beatMs, () => void this.beat(connection));
  }

  private async beat(connection: ListeningConnection): Promise<void> {
    const { clock } = this.options;
    const cancel = clock.after(answerMs, () =>
      this.lose(connection, new Error("The database does not answer.")),
    );
    const sentAt = clock.now();
    try {
      await this.options.prove();
      if (this.connection !== connection) return;
      this.provenAt = sentAt;
      this.scheduleBeat(connection);
    } catch (error) {
      this.lose(connection, error as Error);
    } finally {
      cancel();
    }
  }

  /** @param connection undefined = none could be made */
  private lose(connection: ListeningConnection | undefined, error?: Error): void {
    if (this.stopped || this.connection !== connection) return;
    const { clock, log } = this.options;
    this.connection = undefined;
    this.options.lost();
    this.cancelBeat();
    if (this.open || this.attempts === 0)
      log.warn({ err: error }, "the notification connection is lost; tiles are checked against the database");
    this.open = this.trustedThisTurn = false;
    connection?.end().catch(() => undefined);
    this.cancelRetry();
    this.cancelRetry = clock.after(Math.min(50 * 2 ** this.attempts++, 1_000), () => void this.start());
  }
}

import type { Clock } from "../clock.js";
import type { Log } from "../log.js";
import type { ListeningConnection } from "../storage/postgres.js";
import { channel } from "./notification.js";

export interface ListenerOptions {
  readonly connect: () => Promise<ListeningConnection>;
  readonly clock: Clock;
  readonly log: Log;
  /** Notifications arrive from now on. Reads what was missed; the node is up to date when this resolves. */
  readonly opened: () => Promise<void>;
  readonly notified: (payload: string) => void;
  /** The connection is lost. */
  readonly lost: () => void;
  /**
   * Sends a query on the listening connection, at regular intervals. PostgreSQL delivers notifications of earlier commits
   * before the answer, so the answer proves that all of them have arrived.
   */
  readonly verify: () => Promise<void>;
}

/** `application_name` of the connection, for the database's administrator and for other nodes. */
export const listenerName = "mapwright listener";

const heartbeatMs = 500;
/** Between two attempts to connect. After a failover edits wait for it: they are answered when all nodes hear of them. */
const longestPauseMs = 500;
/** Timeout for opening a connection, including the queries for what was missed. */
const openTimeoutMs = 30_000;
/** Timeout of a heartbeat; the connection is then closed. */
const answerTimeoutMs = 2_000;
/**
 * Lease: a node may answer from its caches for this long after it sent a heartbeat that was answered. Writers wait a
 * little longer than this for a node that does not acknowledge their changes.
 */
export const leaseMs = 2_000;

/** In milliseconds of both clocks. */
interface Moment {
  readonly now: number;
  readonly wall: number;
}

const momentOf = (clock: Clock): Moment => ({ now: clock.now(), wall: clock.wall() });

/**
 * Whether the lease is over by either clock: the monotonic one stands still while the machine is suspended, the one on the wall
 * may be set.
 */
const hasExpired = (clock: Clock, { now, wall }: Moment): boolean =>
  clock.now() - now >= leaseMs || Math.abs(clock.wall() - wall) >= leaseMs;

/** The connection that listens to PostgreSQL's notifications. It reconnects when it is lost. */
export class Listener {
  private connection: ListeningConnection | undefined;
  private open = false;
  /** When the last heartbeat was sent that has been answered. */
  private verifiedAt: Moment = { now: Number.NEGATIVE_INFINITY, wall: Number.NEGATIVE_INFINITY };
  private cancelHeartbeat = (): void => undefined;
  private cancelRetry = (): void => undefined;
  private attempts = 0;
  private stopped = false;
  private trustedThisTurn = false;

  constructor(private readonly options: ListenerOptions) {}

  /** Whether this node has received all changes committed until shortly before. False after the process was suspended. */
  get trusted(): boolean {
    return this.trustedThisTurn || this.trustedNow();
  }

  /**
   * Reads the clock once per turn of the event loop: it costs more than finding a cached tile. Requests that are read in a
   * turn were sent before it began.
   */
  private trustedNow(): boolean {
    const { clock } = this.options;
    if (!this.open || hasExpired(clock, this.verifiedAt)) return false;
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
      cancel = clock.after(openTimeoutMs, () => this.lose(own, new Error("The database does not answer.")));
      own.onLost((error) => this.lose(own, error));
      own.onNotification((payload) => {
        if (this.connection === own) this.options.notified(payload);
      });
      await own.query(`set application_name = '${listenerName}'`);
      await own.query(`listen ${channel}`);
      await this.options.opened();
      const sentAt = momentOf(clock);
      await this.options.verify();
      if (this.connection !== own) return;
      this.verifiedAt = sentAt;
      this.open = true;
      this.attempts = 0;
      this.scheduleHeartbeat(own);
    } catch (error) {
      if (connection === undefined || this.connection === connection) this.lose(connection, error as Error);
      else log.debug({ err: error }, "a notification connection was closed while it was opened");
    } finally {
      cancel();
    }
  }

  async stop(): Promise<void> {
    this.stopped = true;
    this.open = this.trustedThisTurn = false;
    this.cancelRetry();
    this.cancelHeartbeat();
    const { connection } = this;
    this.connection = undefined;
    await connection?.end().catch(() => undefined);
  }

  /** Runs a statement on the listening connection, so without waiting for the pool. @throws Error while disconnected */
  async query<Row extends object>(text: string, values: readonly unknown[] = []): Promise<Row[]> {
    if (!this.connection) throw new Error("The notification connection is lost.");
    return (await this.connection.query(text, [...values])).rows as Row[];
  }

  /** Reconnects, and reads what was missed. */
  renew(reason: string): void {
    if (this.connection) this.lose(this.connection, new Error(reason));
  }

  private scheduleHeartbeat(connection: ListeningConnection): void {
    this.cancelHeartbeat = this.options.clock.after(heartbeatMs, () => void this.heartbeat(connection));
  }

  private async heartbeat(connection: ListeningConnection): Promise<void> {
    const { clock } = this.options;
    const cancel = clock.after(answerTimeoutMs, () =>
      this.lose(connection, new Error("The database does not answer.")),
    );
    const sentAt = momentOf(clock);
    try {
      await this.options.verify();
      if (this.connection !== connection) return;
      this.verifiedAt = sentAt;
      this.scheduleHeartbeat(connection);
    } catch (error) {
      this.lose(connection, error as Error);
    } finally {
      cancel();
    }
  }

  /** @param connection undefined if connecting failed */
  private lose(connection: ListeningConnection | undefined, error?: Error): void {
    if (this.stopped || this.connection !== connection) return;
    const { clock, log } = this.options;
    this.connection = undefined;
    this.options.lost();
    this.cancelHeartbeat();
    if (this.open || this.attempts === 0)
      log.warn({ err: error }, "the notification connection is lost; tiles are checked against the database");
    this.open = this.trustedThisTurn = false;
    connection?.end().catch(() => undefined);
    this.cancelRetry();
    this.cancelRetry = clock.after(
      Math.min(50 * 2 ** this.attempts++, longestPauseMs),
      () => void this.start(),
    );
  }
}

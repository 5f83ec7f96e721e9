import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import type { DatabaseHost, HostAddress } from "../database-hosts.js";
import type { Log } from "../log.js";
import { FairSemaphore } from "../queues/fair-semaphore.js";
import { AbandonedReads } from "./abandoned-reads.js";
import { CancelRequests } from "./cancel-requests.js";
import { connectFailed, isReadOnly } from "./connection-errors.js";
import {
  ConnectionSlots,
  mostSlowOf,
  type Purpose,
  type PurposeCounts,
  type SlotOwner,
  type SlotWait,
} from "./connection-slots.js";
import { sharedCores } from "./database-cores.js";
import { DirectConnections } from "./direct-connections.js";
import { connectionOf, destroy, HoldingClient, isReady } from "./heartbeat.js";
import { LockKeeper } from "./lock-keeper.js";
import { OpenConnections } from "./open-connections.js";
import { followReports, Primary, refusalOf } from "./primary.js";
import { ProbeConnection } from "./probe-connection.js";
import { requirePooler } from "./require-pooler.js";
import { keptAlive, sessionOptions, silenceMs } from "./session-settings.js";
import { AnotherServer } from "./setting-query.js";
import { SessionStatements, type Statements, TransactionStatements } from "./statements.js";
import { Watchdog } from "./watchdog.js";
import { DirectWork, PooledWork, type WorkSession } from "./work-sessions.js";

/** The connections of a node: opened when needed, watched, and handed out by purpose. */

export interface DatabaseOptions {
  readonly url: string;
  /** Past the pooler that `url` leads to, which hands out a session for each transaction; "" or absent = `url` is no pooler's. */
  readonly directUrl?: string | undefined;
  /** Behind a pooler: another server takes writes than before, or it was restarted; or it is known for the first time. */
  readonly onServerChanged?: () => void;
  /** Set as `mapwright.node` in the sessions of the pool, so that changes are attributed to this node. */
  readonly nodeId?: string;
  /** Whether triggers write what changes to the history; default: they do. */
  readonly keepsHistory?: boolean;
  readonly connections: number;
  readonly statementTimeoutMs: number;
  readonly log: Log;
}

export interface DatabaseCounts {
  /** Open connections, and those of them that are idle. */
  readonly total: number;
  readonly idle: number;
  /** Requests that wait for a slot, whatever for. */
  readonly waiting: number;
  readonly purposes: Readonly<Record<Purpose, PurposeCounts>>;
  /** Requests to cancel a statement that were sent. */
  readonly cancelRequests: number;
}

/**
 * Settings of each session. JIT is off, because it makes short queries slower; parallel workers are, because the connections
 * are shared among clients, and a slot is to be one core of the database's.
 */
const settingsOf = (
  timeoutMs: number,
  { nodeId = "", keepsHistory = true }: Pick<DatabaseOptions, "nodeId" | "keepsHistory"> = {},
) => ({
  search_path: "mapwright,public",
  jit: "off",
  max_parallel_workers_per_gather: 0,
  statement_timeout: timeoutMs,
  timezone: "UTC",
  client_min_messages: "warning",
  "mapwright.node": nodeId,
  ...(!keepsHistory && { "mapwright.history": "off" }),
});

/** Behind a pooler the timeouts of a machine that is gone are between it and the server: only this one is of the transaction. */
const ofTransactions = { idle_in_transaction_session_timeout: silenceMs } as const;

/** Time to wait for a response beyond the statement timeout of the server. */
const responseGraceMs = 5_000;
/** Batches of lists that may wait for their turn. */
const mostBatches = 1_000;
/** As long as a statement may take. */
const batchWaitMs = 30_000;
/** Longest wait for the end of the pool's connections. */
const endMs = 2_000;

/** A connection that was handed out. */
export interface Lease {
  readonly client: pg.ClientBase;
  /** Gives it back, once. @param broken closes it: it must not be used again */
  release(broken?: Error): void;
}

export interface LeaseRequest extends SlotWait {
  readonly purpose: Purpose;
  readonly owner: SlotOwner;
  /** Takes a slot without waiting, even if there is none. */
  readonly atOnce?: boolean;
}

export class Connections {
  readonly cancels = new CancelRequests();
  readonly slots: ConnectionSlots;
  /** Semaphore of lists, each admitted for a batch: a slot for one costs PostgreSQL nothing while its reader is busy. */
  readonly batches: FairSemaphore;
  readonly abandoned = new AbandonedReads();
  readonly statements: Statements;
  private readonly direct: DirectConnections;
  private readonly keeper = new LockKeeper(() => this.direct.dedicated());
  private pool: pg.Pool;
  private readonly primary: Primary;
  readonly isPooled: boolean;
  private readonly watchdog = new Watchdog<pg.ClientBase>(destroy);
  private readonly open = new OpenConnections();
  /** Connections of the present pool. */
  private pooled = new WeakSet<pg.ClientBase>();
  private readonly mostSilenceMs: number;
  private readonly log: Log;

  constructor(readonly options: DatabaseOptions) {
    this.log = options.log;
    this.mostSilenceMs = options.statementTimeoutMs + responseGraceMs;
    const { connections, url, directUrl = "", statementTimeoutMs } = options;
    const mostSlow = mostSlowOf(connections, sharedCores(directUrl || url));
    this.slots = new ConnectionSlots(connections, undefined, undefined, mostSlow);
    this.batches = new FairSemaphore({
      permits: connections,
      mostOfOne: mostSlow,
      mostWaiting: mostBatches,
      timeoutMs: batchWaitMs,
      refusal: "Too many long lists are being read now.",
    });
    const { open } = this;
    const follows = {
      onMoved: (to: DatabaseHost, from: Primary) => this.moved(to, from),
      onGone: (host: DatabaseHost) => open.closeThoseOf((other) => other === host),
    };
    const settings = settingsOf(statementTimeoutMs, options);
    this.isPooled = directUrl !== "";
    this.primary = new Primary(url, { ...follows, isPooled: this.isPooled });
    const direct = this.isPooled ? new Primary(directUrl, follows) : this.primary;
    this.direct = new DirectConnections(
      direct,
      open,
      settingsOf(0),
      this.isPooled ? (isFirst) => this.serverChanged(isFirst) : undefined,
    );
    const { server } = this.direct;
    this.statements = server
      ? new TransactionStatements({ ...settings, ...ofTransactions }, () => server.current)
      : new SessionStatements();
    this.pool = this.openPool();
  }

  get address(): HostAddress {
    const { server } = this.direct;
    return { databaseUrl: this.primary.ordered, ...(server && { databaseServer: server.last }) };
  }

  /** The address of PostgreSQL itself, of several servers first that which takes writes. */
  get directUrl(): string {
    return this.direct.url;
  }

  private openPool(): pg.Pool {
    const { primary, open, isPooled } = this;
    const { connections, statementTimeoutMs } = this.options;
    /** To the server that takes writes when it is opened. */
    class PrimaryClient extends pg.Client {
      constructor(options: pg.ClientConfig) {
        const host = primary.latest;
        super({ ...options, connectionString: host.url });
        followReports(this);
        open.add(this, host);
      }
    }
    const pooled = new WeakSet<pg.ClientBase>();
    this.pooled = pooled;
    const pool = new pg.Pool({
      Client: PrimaryClient as unknown as new () => pg.ClientBase,
      verify: (client, done) => done(refusalOf(client)),
      max: connections,
      ...(!isPooled && { options: sessionOptions(settingsOf(statementTimeoutMs, this.options)) }),
      application_name: "mapwright",
      connectionTimeoutMillis: 5_000,
      ...keptAlive,
    });
    pool.on("acquire", (client) => this.expectAnswer(client));
    pool.on("release", (_error, client) => this.expectNothing(client));
    // The pool removes an idle connection that breaks (server restart); the next query opens a new one.
    pool.on("error", (error) => this.log.warn({ err: error }, "a database connection broke"));
    // If a connection breaks while in use, its statement fails. Without a listener, the event would end the process.
    pool.on("connect", (client) => {
      client.on("error", () => undefined);
      pooled.add(client);
      if (open.isCut) destroy(client);
    });
    return pool;
  }

  /** Closes the connection unless the server answers within the usual time. */
  expectAnswer(client: pg.ClientBase): void {
    this.watchdog.expect(client, this.mostSilenceMs);
  }

  expectNothing(client: pg.ClientBase): void {
    this.watchdog.stopExpecting(client);
  }

  /** @throws Failure busy; the signal's reason when it aborts */
  async lease(request: LeaseRequest): Promise<Lease> {
    const { purpose, owner, atOnce = false } = request;
    const isRead = purpose === "reads" || purpose === "lists";
    if (isRead && this.abandoned.owes(owner.client))
      await this.abandoned.wait(purpose, owner.client, request.signal);
    const leave =
      this.slots.tryEnter(purpose, owner) ??
      (atOnce ? this.slots.force(purpose, owner) : await this.slots.wait(purpose, owner, request));
    let client: pg.PoolClient;
    try {
      client = await this.primary.connect(() => this.pool.connect());
    } catch (error) {
      leave();
      return connectFailed(error);
    }
    return {
      client,
      release: (broken) => {
        this.giveBack(client, broken, leave);
      },
    };
  }

  /**
   * Returns the connection to the pool. A statement that fails is told before the server is ready for the next one: a request
   * that got the connection in between would wait for that, and pg takes no second statement meanwhile.
   */
  private giveBack(client: pg.PoolClient, failed: Error | undefined, leave: () => void): void {
    const connection = connectionOf(client);
    const broken = failed ?? refusalOf(client);
    if (broken && (isReadOnly(broken) || refusalOf(client))) this.demoted(client, broken);
    const done = (error: Error | undefined) => {
      connection.off("readyForQuery", ready);
      client.off("end", ended);
      client.release(error);
      leave();
    };
    const ready = () => done(undefined);
    const ended = () => done(new Error("The connection was lost."));
    if (broken || isReady(client)) {
      done(broken);
      return;
    }
    this.expectAnswer(client);
    connection.once("readyForQuery", ready);
    client.once("end", ended);
  }

  /** @throws Failure busy, also when it is no session of its own */
  dedicated(): Promise<pg.Client> {
    return this.direct.dedicated();
  }

  /** @throws Failure busy when the server cannot be reached */
  async working(): Promise<WorkSession> {
    const { server } = this.direct;
    if (!server) return new DirectWork(await this.dedicated());
    await server.current;
    return new PooledWork({
      keeper: this.keeper,
      settings: { ...settingsOf(0), ...ofTransactions },
      connect: () => this.openClient(),
      connectPast: () => this.dedicated(),
      currentServer: () => server.current,
    });
  }

  /** Behind a pooler, that it can be lived with. @throws Failure busy, caused by UnfitSession */
  async requirePooler(): Promise<void> {
    const { server } = this.direct;
    if (!server) return;
    const current = await server.current;
    const client = await this.openClient();
    try {
      await requirePooler(client, current);
    } catch (error) {
      connectFailed(error);
    } finally {
      await client.end().catch(() => undefined);
    }
  }

  /** @throws Failure busy when the server cannot be reached */
  async probing(): Promise<ProbeConnection> {
    const { statements } = this;
    const client = this.isPooled ? await this.openClient() : await this.dedicated();
    return new ProbeConnection(client, (text) => statements.run(client, text, [], false));
  }

  /** A connection to the pooler, beside the pool. */
  private openClient(): Promise<pg.Client> {
    const open = async (host: DatabaseHost) => {
      const client = await new HoldingClient(host.url, undefined).open();
      this.open.add(client, host);
      if (this.open.isCut) destroy(client);
      return client;
    };
    return this.primary.connect(open).catch(connectFailed);
  }

  /** After a statement that has met another server than that of the direct connections, which may have changed. Never rejects. */
  async askAgain(error: unknown): Promise<void> {
    if (error instanceof AnotherServer)
      await Promise.resolve(this.direct.server?.again()).catch(() => undefined);
  }

  private serverChanged(isFirst: boolean): void {
    if (!isFirst) this.log.warn("the database was restarted, or another server has taken its place");
    this.options.onServerChanged?.();
  }

  /** @throws UnfitSession when the server has said that it takes no writes */
  requireWritable(client: pg.ClientBase): void {
    const refusal = refusalOf(client);
    if (refusal) throw refusal;
  }

  renew(): void {
    const { pool } = this;
    this.pool = this.openPool();
    pool.end().catch((error: Error) => this.log.warn({ err: error }, "closing connections failed"));
  }

  /** Another server is the primary: what the one before says does not count any more, and it may never say it. */
  private moved(to: DatabaseHost, primary: Primary): void {
    this.log.warn({ server: to.name }, "another server of DATABASE_URL takes writes now");
    if (primary === this.primary) this.renew();
    this.open.closeThoseOf((host) => host !== to && primary.hosts.includes(host));
  }

  /** The server of this connection takes no writes any more: no other connection to it is used again. */
  private demoted(client: pg.ClientBase, error: Error): void {
    const host = this.open.hostOf(client);
    if (host) this.primary.lose(host);
    // Of connections to a pooler none has a server of its own.
    if (this.pooled.has(client) && !(error instanceof AnotherServer)) this.renew();
  }

  counts(): DatabaseCounts {
    const { pool, slots, cancels, abandoned } = this;
    const counts = slots.counts();
    const owing = (purpose: Purpose) => abandoned.waiting(purpose);
    const withOwing = (purpose: Purpose) => ({
      ...counts[purpose],
      waiting: counts[purpose].waiting + owing(purpose),
    });
    return {
      total: pool.totalCount,
      idle: pool.idleCount,
      // The pool's own waiting: requests that have a slot which another one has already left.
      waiting: slots.waiting + pool.waitingCount + owing("reads") + owing("lists"),
      purposes: { ...counts, reads: withOwing("reads"), lists: withOwing("lists") },
      cancelRequests: cancels.sent,
    };
  }

  /** Closes all connections at once, and each that is opened yet: requests that wait for the database fail. */
  cut(): void {
    this.open.cut();
  }

  async close(): Promise<void> {
    const ended = this.pool.end();
    if (!(await isDone(ended, endMs))) {
      this.cut();
      await isDone(ended, endMs);
    }
    this.watchdog.stop();
    this.keeper.rest();
  }
}

/** Whether it resolves within that time. */
async function isDone(work: Promise<unknown>, ms: number): Promise<boolean> {
  const controller = new AbortController();
  const { signal } = controller;
  const late = sleep(ms, false, { signal }).catch(() => false);
  const isInTime = await Promise.race([work.then(() => true), late]);
  controller.abort();
  return isInTime;
}

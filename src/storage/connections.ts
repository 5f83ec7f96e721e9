import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import type { Log } from "../log.js";
import { FairSemaphore } from "../queues/fair-semaphore.js";
import { AbandonedReads } from "./abandoned-reads.js";
import { CancelRequests } from "./cancel-requests.js";
import { connectFailed } from "./connection-errors.js";
import {
  ConnectionSlots,
  mostSlowOf,
  type Purpose,
  type PurposeCounts,
  type SlotOwner,
  type SlotWait,
} from "./connection-slots.js";
import { sharedCores } from "./database-cores.js";
import { connectionOf, destroy, HoldingClient, isReady } from "./heartbeat.js";
import { requireOwnSession } from "./own-session.js";
import { keptAlive, sessionOptions } from "./session-settings.js";
import { Watchdog } from "./watchdog.js";

/** The connections of a node: opened when needed, watched, and handed out by purpose. */

export interface DatabaseOptions {
  readonly url: string;
  /** Set as `mapwright.node` in the sessions of the pool, so that changes are attributed to this node. */
  readonly nodeId?: string;
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
const settingsOf = (timeoutMs: number, nodeId = "") => ({
  search_path: "mapwright,public",
  jit: "off",
  max_parallel_workers_per_gather: 0,
  statement_timeout: timeoutMs,
  timezone: "UTC",
  client_min_messages: "warning",
  "mapwright.node": nodeId,
});

/** Maximum number of prepared statements per connection; each takes some 50 kB on the server. */
const statementsPerConnection = 200;
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
  private pool: pg.Pool;
  private readonly statementNames = new Map<string, string>();
  private statementCount = 0;
  /** Names of the statements that a connection has prepared. */
  private readonly prepared = new WeakMap<pg.ClientBase, Set<string>>();
  private readonly watchdog = new Watchdog<pg.ClientBase>(destroy);
  /** All that are open, of the pool and beside it. */
  private readonly open = new Set<pg.ClientBase>();
  private isCut = false;
  private readonly mostSilenceMs: number;
  private readonly log: Log;

  constructor(readonly options: DatabaseOptions) {
    this.log = options.log;
    this.mostSilenceMs = options.statementTimeoutMs + responseGraceMs;
    const { connections, url } = options;
    const mostSlow = mostSlowOf(connections, sharedCores(url));
    this.slots = new ConnectionSlots(connections, undefined, undefined, mostSlow);
    this.batches = new FairSemaphore({
      permits: connections,
      mostOfOne: mostSlow,
      mostWaiting: mostBatches,
      timeoutMs: batchWaitMs,
      refusal: "Too many long lists are being read now.",
    });
    this.pool = this.openPool();
  }

  private openPool(): pg.Pool {
    const { url, connections, statementTimeoutMs, nodeId } = this.options;
    const pool = new pg.Pool({
      connectionString: url,
      max: connections,
      options: sessionOptions(settingsOf(statementTimeoutMs, nodeId)),
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
      this.note(client);
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
      client = await this.pool.connect();
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
  private giveBack(client: pg.PoolClient, broken: Error | undefined, leave: () => void): void {
    const connection = connectionOf(client);
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

  /** Runs a statement on a connection, as a prepared statement if requested. */
  async run<Row extends object>(
    client: pg.ClientBase,
    text: string,
    values: readonly unknown[],
    prepare: boolean,
  ): Promise<Row[]> {
    if (!prepare) return (await client.query<Row>(text, values as unknown[])).rows;
    let name = this.statementNames.get(text);
    if (name === undefined) {
      if (this.statementNames.size >= 4 * statementsPerConnection) this.statementNames.clear();
      name = `mw${++this.statementCount}`;
      this.statementNames.set(text, name);
    }
    let names = this.prepared.get(client);
    if (!names) {
      names = new Set();
      this.prepared.set(client, names);
    }
    if (!names.has(name)) {
      if (names.size >= statementsPerConnection) {
        await client.query("deallocate all");
        // pg caches the names of prepared statements and would not prepare them again.
        (client as unknown as { connection: { parsedStatements: object } }).connection.parsedStatements = {};
        names.clear();
      }
      names.add(name);
    }
    return (await client.query<Row>({ name, text, values: values as unknown[] })).rows;
  }

  /** @throws Failure busy, also when it is no session of its own */
  async dedicated(): Promise<pg.Client> {
    const open = () => new HoldingClient(this.options.url, settingsOf(0)).open();
    const client = await open().catch(connectFailed);
    this.note(client);
    try {
      await requireOwnSession(client, open);
    } catch (error) {
      await client.end().catch(() => undefined);
      connectFailed(error);
    }
    return client;
  }

  private note(client: pg.Client | pg.PoolClient): void {
    this.open.add(client);
    client.once("end", () => this.open.delete(client));
    if (this.isCut) destroy(client);
  }

  renew(): void {
    const { pool } = this;
    this.pool = this.openPool();
    pool.end().catch((error: Error) => this.log.warn({ err: error }, "closing connections failed"));
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
    this.isCut = true;
    for (const client of this.open) destroy(client);
  }

  async close(): Promise<void> {
    const ended = this.pool.end();
    if (!(await isDone(ended, endMs))) {
      this.cut();
      await isDone(ended, endMs);
    }
    this.watchdog.stop();
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

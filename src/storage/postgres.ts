import pg from "pg";
import type { HostAddress } from "../database-hosts.js";
import { outcomeUnknown } from "../errors.js";
import type { Cancelling } from "./cancel-requests.js";
import { committed } from "./commit.js";
import {
  connectionLost,
  endsConnection,
  isConnectionLost,
  isUndone,
  markCancelled,
} from "./connection-errors.js";
import type { Purpose, SlotOwner } from "./connection-slots.js";
import { Connections, type DatabaseCounts, type DatabaseOptions, type Lease } from "./connections.js";
import { startHeartbeat } from "./heartbeat.js";
import { type Lookup, Lookups } from "./lookups.js";
import type { ProbeConnection } from "./probe-connection.js";
import type { RawBatch } from "./raw-rows.js";
import {
  type BytesOptions,
  type StreamOptions,
  type StreamUse,
  streamBytes,
  streamRows,
} from "./row-stream.js";
import { AnotherServer } from "./setting-query.js";
import type { WorkSession } from "./work-sessions.js";

/** PostgreSQL: connection pool, transactions, and cursors for large results. */

// Ids are bigint (int8, OID 20). They are always below 2^53, so they are parsed as numbers.
pg.types.setTypeParser(20, Number);

/** Options of a statement. */
export interface QueryOptions {
  /** Use a prepared statement on each connection, for statements that are often repeated with other values. */
  readonly prepare?: boolean;
  /** Aborting it cancels the statement, and the call rejects. Not supported in transactions. */
  readonly signal?: AbortSignal;
  /** Longest time for the statement, without the wait for a connection, if that is less than that of the use. Nor in them. */
  readonly timeoutMs?: number;
}

/** Runs statements; values are always bound parameters. */
export interface Queryable {
  query<Row extends object>(
    text: string,
    values?: readonly unknown[],
    options?: QueryOptions,
  ): Promise<Row[]>;
  /** As `query`, for a statement that writes. @throws Failure outcome_unknown when the connection is lost meanwhile */
  write<Row extends object>(
    text: string,
    values?: readonly unknown[],
    options?: Pick<QueryOptions, "prepare">,
  ): Promise<Row[]>;
  /** As `write`; returns the number of affected rows. */
  execute(text: string, values?: readonly unknown[]): Promise<number>;
  /** The row with that key. Simultaneous lookups are combined in one statement. */
  lookup<Row extends object>(lookup: Lookup, key: number): Promise<Row | undefined>;
  /**
   * In a transaction: cancels what it runs from the abort of the signal on, which has not been aborted yet.
   * @returns ends that; when it resolves, the next statement is safe
   */
  cancelWhen?(signal: AbortSignal): () => Promise<void>;
}

export interface TransactionOptions {
  /** Its statements read what there is at one moment, and write nothing. */
  readonly ofOneMoment?: boolean;
}

/** A connection for LISTEN. Statements that are sent at once run one after the other. */
export interface ListeningConnection {
  query(text: string, values?: unknown[]): Promise<{ readonly rows: object[] }>;
  /** Called when the connection is lost, possibly twice. */
  onLost(listener: (error?: Error) => void): void;
  onNotification(listener: (payload: string) => void): void;
  end(): Promise<void>;
}

/** For whom a database is used, and how that is bounded. */
export interface DatabaseUse extends SlotOwner {
  /** Purpose of all statements but streams and lookups; default: `reads` for queries, `writes` for everything else. */
  readonly purpose?: Purpose;
  /** Purpose of writes and transactions, where it is not `purpose`. */
  readonly writing?: Purpose;
  /** Aborting it ends the wait for the first slot to write. What has begun to write goes on: its outcome would not be known. */
  readonly signal?: () => AbortSignal;
  /** Aborting the signal also ends queries and streams. */
  readonly endsReads?: boolean;
  /** The use is one task, such as a request: what it writes while it writes already finds a slot at once. */
  readonly isTask?: boolean;
  /** Longest query in ms, and longest time for a batch of a stream, if that is less than the longest statement. */
  readonly readTimeoutMs?: () => number | undefined;
  /** Who does what it writes, for the history, as far as that is known by then. */
  readonly author?: () => string | undefined;
}

export interface Database extends Queryable {
  /** For processes that work for this one. */
  readonly address: HostAddress;
  /** Whether a pooler may be before it. */
  readonly isPooled: boolean;
  /** The address of PostgreSQL itself, of several servers first that which takes writes. */
  readonly directUrl: string;
  /** The same connections, used for somebody. Without it the statements are those of the server. */
  for(use: DatabaseUse): Database;
  /**
   * The database outside of the current `SingleTransaction`, if any: writes through it are not rolled back with that.
   */
  readonly apart: Database;
  /**
   * Runs `work` after that transaction was committed or rolled back, or immediately without one. `work` must not throw.
   */
  afterwards(work: () => Promise<void>): Promise<void>;
  /**
   * Runs `work` in one transaction; an error rolls everything back. Statements that `work` leaves behind fail.
   * @throws Failure outcome_unknown when the connection is lost while it is committed
   */
  transaction<T>(work: (tx: Queryable) => Promise<T>, options?: TransactionOptions): Promise<T>;
  /**
   * Rows in batches through a cursor, so that memory use does not depend on the size of the result. When the
   * consumer stops early, stalls or `signal` aborts, the query is cancelled and its connection goes back to the
   * pool. Each batch may take as long as a statement; the stream may take longer. Streams take at most half of the
   * pool, so that slow readers cannot exhaust it.
   * @throws Failure busy when too many streams run already
   */
  stream<Row extends object>(
    text: string,
    values: readonly unknown[],
    options: StreamOptions<Row>,
  ): AsyncGenerator<Row[], void, undefined>;
  /** As `stream`, the first column's bytes, as they are for a text. PostgreSQL works ahead, as far as the network takes it. */
  streamBytes(
    text: string,
    values: readonly unknown[],
    options: BytesOptions,
  ): AsyncGenerator<RawBatch, void, undefined>;
  /**
   * A connection outside of the pool, for locks. When its process stands still, or its machine is gone, it ends within half a
   * minute, and what it holds is free. The caller must end it.
   * @throws Failure busy when the server cannot be reached, or does not answer within 5 s
   */
  dedicated(): Promise<pg.Client>;
  /** A session outside of the pool for work that holds locks. The caller must end it. @throws Failure busy */
  working(): Promise<WorkSession>;
  /** Behind a pooler, that it can be lived with. @throws Failure busy, caused by an UnfitSession that says why it cannot */
  requirePooler(): Promise<void>;
  /** A connection outside of the pool that asks whether the database is there. @throws Failure busy */
  probing(): Promise<ProbeConnection>;
  /** A connection outside of the pool for notifications. The caller must end it. */
  listening(): Promise<ListeningConnection>;
  /** Replaces the pool, for example after a failover. Connections in use are closed when they are released. */
  renew(): void;
  counts(): DatabaseCounts;
  /** Closes all connections at once, and each that is opened yet: requests that wait for the database fail. */
  cut(): void;
  /** Ends the pool, within a few seconds. */
  close(): Promise<void>;
}

/** Statements of one connection run one after the other, also those that are sent at once. */
interface StatementQueue {
  /** Never rejects. */
  last: Promise<unknown>;
  /** The connection may be another's by now: no statement begins any more. */
  hasEnded?: boolean;
  /** A request to cancel one may still be on its way. */
  isUnsafe?: boolean;
}

/** How often a write is sent that was certainly not executed: another server may have taken the place of the first one. */
const mostAttempts = 2;

/** Statements on connections of the pool, for one use. */
class PooledDatabase implements Database {
  readonly apart: Database = this;
  /** Slots of one task in which it writes. */
  private writing = 0;
  private hasWritten = false;

  constructor(
    private readonly connections: Connections,
    private readonly lookups: Lookups,
    private readonly use: DatabaseUse,
  ) {}

  get address(): HostAddress {
    return this.connections.address;
  }

  get isPooled(): boolean {
    return this.connections.isPooled;
  }

  get directUrl(): string {
    return this.connections.directUrl;
  }

  for(use: DatabaseUse): Database {
    return new PooledDatabase(this.connections, this.lookups, use);
  }

  async listening(): Promise<ListeningConnection> {
    const client = await this.dedicated();
    const queue: StatementQueue = { last: Promise.resolve() };
    return {
      query: (text, values) => {
        const done = queue.last.then(() => client.query(text, values));
        queue.last = done.catch(() => undefined);
        return done;
      },
      onLost: (listener) => {
        client.on("error", listener);
        client.on("end", () => listener());
      },
      onNotification: (listener) => {
        client.on("notification", ({ payload }) => listener(payload ?? ""));
      },
      end: () => client.end(),
    };
  }

  renew(): void {
    this.connections.renew();
  }

  query<Row extends object>(
    text: string,
    values: readonly unknown[] = [],
    { signal = this.readSignal(), prepare = false, timeoutMs }: QueryOptions = {},
  ): Promise<Row[]> {
    const { connections } = this;
    return this.reading(
      signal,
      (client) => connections.statements.run<Row>(client, text, values, prepare),
      timeoutMs,
    );
  }

  lookup<Row extends object>(lookup: Lookup, key: number): Promise<Row | undefined> {
    return this.lookups.find(lookup, key) as Promise<Row | undefined>;
  }

  afterwards(work: () => Promise<void>): Promise<void> {
    return work();
  }

  write<Row extends object>(
    text: string,
    values: readonly unknown[] = [],
    { prepare = false }: Pick<QueryOptions, "prepare"> = {},
  ): Promise<Row[]> {
    return this.autocommit((client, author) =>
      this.connections.statements.run<Row>(client, text, values, prepare, author),
    );
  }

  execute(text: string, values: readonly unknown[] = []): Promise<number> {
    return this.autocommit((client, author) =>
      this.connections.statements.execute(client, text, values, author),
    );
  }

  private readSignal(): AbortSignal | undefined {
    return this.use.endsReads ? this.use.signal?.() : undefined;
  }

  /** Runs what only reads; it is cancelled when the signal aborts, or the time of the use is up. */
  private async reading<T>(
    signal: AbortSignal | undefined,
    work: (client: pg.ClientBase) => Promise<T>,
    ownTimeoutMs = Number.POSITIVE_INFINITY,
    isRepeated = false,
  ): Promise<T> {
    const { connections, use } = this;
    const { client, release } = await connections.lease({
      purpose: use.purpose ?? "reads",
      owner: use,
      signal,
    });
    if (signal?.aborted) {
      release();
      throw signal.reason;
    }
    let broken: Error | undefined;
    let cancelling: Cancelling | undefined;
    const cancel = () => {
      cancelling ??= connections.cancels.start(client);
    };
    const begun = performance.now();
    const timeoutMs = Math.min(ownTimeoutMs, use.readTimeoutMs?.() ?? Number.POSITIVE_INFINITY);
    const timer = Number.isFinite(timeoutMs) ? setTimeout(cancel, timeoutMs) : undefined;
    signal?.addEventListener("abort", cancel, { once: true });
    try {
      return await work(client);
    } catch (error) {
      if (endsConnection(error)) broken = error as Error;
      if (cancelling) markCancelled(error);
      if (!(error instanceof AnotherServer) || isRepeated)
        throw isConnectionLost(error) ? connectionLost(error) : error;
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener("abort", cancel);
      if (signal?.aborted) connections.abandoned.note(use.client, performance.now() - begun);
      // The request must have arrived before another statement runs on this connection.
      if (cancelling && !(await cancelling.end())) broken ??= new Error("A cancel request is on its way.");
      release(broken);
    }
    // It may have been restarted.
    await connections.askAgain(broken);
    return this.reading(signal, work, ownTimeoutMs, true);
  }

  /** A connection to write. */
  private async writer(): Promise<Lease> {
    const { connections, use } = this;
    const { client, release } = await connections.lease({
      purpose: use.writing ?? use.purpose ?? "writes",
      owner: use,
      // A task that has begun to write goes on.
      signal: this.hasWritten ? undefined : use.signal?.(),
      // Two tasks that hold a slot each could else wait for each other.
      atOnce: use.isTask === true && this.writing > 0,
    });
    this.writing++;
    this.hasWritten = true;
    return {
      client,
      release: (broken) => {
        this.writing--;
        release(broken);
      },
    };
  }

  /** Runs a single statement with autocommit. */
  private async autocommit<T>(
    statement: (client: pg.ClientBase, author: string | undefined) => Promise<T>,
  ): Promise<T> {
    for (let attempt = 1; ; attempt++) {
      const { client, release } = await this.writer();
      let broken: Error | undefined;
      try {
        return await committed(client, () => statement(client, this.use.author?.()));
      } catch (error) {
        if (endsConnection(error)) broken = error as Error;
        if (!isConnectionLost(error)) throw error;
        if (!isUndone(error)) throw outcomeUnknown(error);
        if (attempt === mostAttempts) throw connectionLost(error);
        await this.connections.askAgain(error);
      } finally {
        release(broken);
      }
    }
  }

  /** A connection on which a transaction has begun. */
  private async begun(ofOneMoment: boolean): Promise<Lease> {
    const { connections } = this;
    for (let attempt = 1; ; attempt++) {
      const lease = await this.writer();
      try {
        await connections.statements.begin(lease.client, ofOneMoment, this.use.author?.());
        // A server that is kept from writing says so with its answer.
        connections.requireWritable(lease.client);
        return lease;
      } catch (error) {
        lease.release(error as Error);
        if (!isConnectionLost(error)) throw error;
        if (attempt === mostAttempts) throw connectionLost(error);
        await connections.askAgain(error);
      }
    }
  }

  async transaction<T>(
    work: (tx: Queryable) => Promise<T>,
    { ofOneMoment = false }: TransactionOptions = {},
  ): Promise<T> {
    const { client, release } = await this.begun(ofOneMoment);
    let broken: Error | undefined;
    let committing = false;
    const queue: StatementQueue = { last: Promise.resolve() };
    // Between its statements the process may have to do something else for long.
    const stopHeartbeat = startHeartbeat(client);
    try {
      const result = await work(this.inside(client, queue));
      await queue.last;
      queue.hasEnded = true;
      committing = true;
      const { command } = await committed(client, () => client.query("commit"));
      // If `work` ignored a failed statement, PostgreSQL rolls back instead of committing.
      if (command !== "COMMIT") throw new Error("A statement of the transaction had failed.");
      return result;
    } catch (error) {
      queue.hasEnded = true;
      await queue.last;
      if (isConnectionLost(error)) broken = error as Error;
      await client.query("rollback").catch((failure: Error) => {
        broken ??= failure;
      });
      if (!isConnectionLost(error)) throw error;
      throw committing && !isUndone(error) ? outcomeUnknown(error) : connectionLost(error);
    } finally {
      stopHeartbeat();
      if (queue.isUnsafe) broken ??= new Error("A cancel request is on its way.");
      release(broken);
    }
  }

  private inside(client: pg.ClientBase, queue: StatementQueue): Queryable {
    const { connections } = this;
    /** Whether the transaction has set a statement timeout of its own. */
    let hasOwnTimeout = false;
    const expectAnswer = (text: string) => {
      if (text.includes("statement_timeout")) hasOwnTimeout = !text.includes("statement_timeout to default");
      if (hasOwnTimeout) connections.expectNothing(client);
      else connections.expectAnswer(client);
    };
    const inTurn = <T>(text: string, work: () => Promise<T>): Promise<T> => {
      const done = queue.last.then(() => {
        if (queue.hasEnded) throw new Error("The transaction has ended.");
        expectAnswer(text);
        return work();
      });
      queue.last = done.catch(() => undefined);
      return done;
    };
    const query = <Row extends object>(
      text: string,
      values: readonly unknown[] = [],
      options?: QueryOptions,
    ): Promise<Row[]> =>
      inTurn(text, () =>
        connections.statements.runInside<Row>(client, text, values, options?.prepare === true),
      );
    return {
      query,
      write: query,
      execute: (text, values = []) =>
        inTurn(text, () => connections.statements.executeInside(client, text, values)),
      lookup: async <Row extends object>({ text, values }: Lookup, key: number): Promise<Row | undefined> =>
        (await query<Row>(text, [[key], ...values], { prepare: true }))[0],
      cancelWhen: (signal) => {
        let cancelling: Cancelling | undefined;
        const cancel = () => {
          cancelling ??= connections.cancels.start(client);
        };
        signal.addEventListener("abort", cancel, { once: true });
        return async () => {
          signal.removeEventListener("abort", cancel);
          if (cancelling && !(await cancelling.end())) queue.isUnsafe = true;
        };
      },
    };
  }

  stream<Row extends object>(
    text: string,
    values: readonly unknown[],
    options: StreamOptions<Row>,
  ): AsyncGenerator<Row[], void, undefined> {
    return streamRows<Row>(this.connections, { ...options, text, values, ...this.streamUse(options) });
  }

  streamBytes(
    text: string,
    values: readonly unknown[],
    options: BytesOptions,
  ): AsyncGenerator<RawBatch, void, undefined> {
    return streamBytes(this.connections, { ...options, text, values, ...this.streamUse(options) });
  }

  private streamUse({ signal }: { readonly signal?: AbortSignal }): StreamUse {
    const { connections, use } = this;
    const { statementTimeoutMs } = connections.options;
    return {
      owner: use,
      signal: signal ?? this.readSignal(),
      batchTimeoutMs: Math.min(statementTimeoutMs, use.readTimeoutMs?.() ?? statementTimeoutMs),
    };
  }

  dedicated(): Promise<pg.Client> {
    return this.connections.dedicated();
  }

  working(): Promise<WorkSession> {
    return this.connections.working();
  }

  requirePooler(): Promise<void> {
    return this.connections.requirePooler();
  }

  probing(): Promise<ProbeConnection> {
    return this.connections.probing();
  }

  counts(): DatabaseCounts {
    return this.connections.counts();
  }

  cut(): void {
    this.connections.cut();
  }

  close(): Promise<void> {
    return this.connections.close();
  }
}

const server: DatabaseUse = { client: "", project: "", purpose: "quick" };

/** Creates the pool; connections are opened when needed. */
export function openDatabase(options: DatabaseOptions): Database {
  const connections = new Connections(options);
  const lookups: Lookups = new Lookups((text, values) => database.query(text, values, { prepare: true }));
  const database = new PooledDatabase(connections, lookups, server);
  return database;
}

import pg from "pg";
import Cursor from "pg-cursor";
import { outcomeUnknown } from "../errors.js";
import type { Log } from "../log.js";
import { connectFailed, connectionLost, endsConnection, isConnectionLost } from "./connection-errors.js";
import { type Lookup, Lookups } from "./lookups.js";
import { Semaphore } from "./semaphore.js";
import { Watchdog } from "./watchdog.js";

/** PostgreSQL: connection pool, transactions, and cursors for large results. */

// Ids are bigint (int8, OID 20). They are always below 2^53, so they are parsed as numbers.
pg.types.setTypeParser(20, Number);

/** Options of a statement. */
export interface QueryOptions {
  /** Use a prepared statement on each connection, for statements that are often repeated with other values. */
  readonly prepare?: boolean;
  /** Aborting it cancels the statement, and the call rejects. Not supported in transactions. */
  readonly signal?: AbortSignal;
}

/** Options of a streamed result. */
export interface StreamOptions {
  /** Number of rows per batch; a function is called before each batch. */
  readonly batch: number | (() => number);
  readonly signal?: AbortSignal;
  /** How long the consumer may take for a batch before the stream is closed; default 30 s. */
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
}

/** A connection for LISTEN. */
export interface ListeningConnection {
  query(text: string, values?: unknown[]): Promise<{ readonly rows: object[] }>;
  /** Called when the connection is lost, possibly twice. */
  onLost(listener: (error?: Error) => void): void;
  onNotification(listener: (payload: string) => void): void;
  end(): Promise<void>;
}

export interface Database extends Queryable {
  readonly url: string;
  /**
   * The database outside of the current `SingleTransaction`, if any: writes through it are not rolled back with that.
   */
  readonly apart: Database;
  /**
   * Runs `work` after that transaction was committed or rolled back, or immediately without one. `work` must not throw.
   */
  afterwards(work: () => Promise<void>): Promise<void>;
  /**
   * Runs `work` in one transaction; an error rolls everything back.
   * @throws Failure outcome_unknown when the connection is lost while it is committed
   */
  transaction<T>(work: (tx: Queryable) => Promise<T>): Promise<T>;
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
    options: StreamOptions,
  ): AsyncGenerator<Row[], void, undefined>;
  /** A connection outside of the pool (for locks, COPY). The caller must end it. */
  dedicated(): Promise<pg.Client>;
  /** A connection outside of the pool for notifications. The caller must end it. */
  listening(): Promise<ListeningConnection>;
  /** Replaces the pool, for example after a failover. Connections in use are closed when they are released. */
  renew(): void;
  /** Number of connections, of idle ones, and of waiting requests. */
  counts(): { readonly total: number; readonly idle: number; readonly waiting: number };
  close(): Promise<void>;
}

export interface DatabaseOptions {
  readonly url: string;
  /** Set as `mapwright.node` in the sessions of the pool, so that changes are attributed to this node. */
  readonly nodeId?: string;
  readonly connections: number;
  readonly statementTimeoutMs: number;
  readonly log: Log;
}

/** Settings of each session. JIT is off, because it makes short queries slower. */
const sessionOptions = (timeoutMs: number, nodeId = ""): string =>
  `-c search_path=mapwright,public -c jit=off -c statement_timeout=${timeoutMs} -c timezone=UTC -c client_min_messages=warning -c mapwright.node=${nodeId}`;

/** Maximum number of prepared statements per connection; each takes some 50 kB on the server. */
const statementsPerConnection = 200;
const stallMs = 30_000;
/** Time after which the server ends the statement of a stream, should this process be gone. */
const longestStreamMs = 3_600_000;
/** Time to wait for a response beyond the statement timeout of the server. */
const responseGraceMs = 5_000;

class PooledDatabase implements Database {
  readonly url: string;
  readonly apart: Database = this;
  private pool: pg.Pool;
  private readonly streams: Semaphore;
  private readonly lookups = new Lookups((text, values) => this.query(text, values, { prepare: true }));
  private readonly statementNames = new Map<string, string>();
  private statementCount = 0;
  /** Names of the statements that a connection has prepared. */
  private readonly prepared = new WeakMap<pg.ClientBase, Set<string>>();
  private readonly watchdog = new Watchdog<pg.ClientBase>((client) => socketOf(client).destroy());
  private readonly mostSilenceMs: number;

  constructor(private readonly options: DatabaseOptions) {
    this.url = options.url;
    this.mostSilenceMs = options.statementTimeoutMs + responseGraceMs;
    this.streams = new Semaphore(
      Math.max(1, Math.floor(options.connections / 2)),
      5_000,
      "Too many long lists are being read now.",
    );
    this.pool = this.openPool();
  }

  private openPool(): pg.Pool {
    const { url, connections, statementTimeoutMs, nodeId, log } = this.options;
    const pool = new pg.Pool({
      connectionString: url,
      max: connections,
      options: sessionOptions(statementTimeoutMs, nodeId),
      application_name: "mapwright",
      connectionTimeoutMillis: 5_000,
      keepAlive: true,
    });
    pool.on("acquire", (client) => this.watchdog.expect(client, this.mostSilenceMs));
    pool.on("release", (_error, client) => this.watchdog.stopExpecting(client));
    // The pool removes an idle connection that breaks (server restart); the next query opens a new one.
    pool.on("error", (error) => log.warn({ err: error }, "a database connection broke"));
    // If a connection breaks while in use, its statement fails. Without a listener, the event would end the process.
    pool.on("connect", (client) => client.on("error", () => undefined));
    return pool;
  }

  async listening(): Promise<ListeningConnection> {
    const client = await this.dedicated();
    return {
      query: (text, values) => client.query(text, values),
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
    const { pool } = this;
    this.pool = this.openPool();
    pool.end().catch((error: Error) => this.options.log.warn({ err: error }, "closing connections failed"));
  }

  async query<Row extends object>(
    text: string,
    values: readonly unknown[] = [],
    options?: QueryOptions,
  ): Promise<Row[]> {
    if (!options) return (await this.pool.query<Row>(text, values as unknown[]).catch(connectFailed)).rows;
    const { signal, prepare = false } = options;
    signal?.throwIfAborted();
    const client = await this.pool.connect().catch(connectFailed);
    if (signal?.aborted) {
      client.release();
      throw signal.reason;
    }
    let broken: Error | undefined;
    let cancelled: Promise<void> | undefined;
    const cancel =
      signal &&
      (() => {
        cancelled ??= this.cancel(client);
      });
    if (cancel) signal.addEventListener("abort", cancel, { once: true });
    try {
      return await this.run<Row>(client, text, values, prepare);
    } catch (error) {
      if (endsConnection(error)) broken = error as Error;
      throw isConnectionLost(error) ? connectionLost(error) : error;
    } finally {
      if (cancel) {
        signal.removeEventListener("abort", cancel);
        // The cancel request must arrive before another statement runs on this connection.
        await cancelled;
      }
      client.release(broken);
    }
  }

  /** Runs a statement on a connection, as a prepared statement if requested. */
  private async run<Row extends object>(
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
    return this.autocommit((client) => this.run<Row>(client, text, values, prepare));
  }

  execute(text: string, values: readonly unknown[] = []): Promise<number> {
    return this.autocommit(async (client) => (await client.query(text, values as unknown[])).rowCount ?? 0);
  }

  /** Runs a single statement with autocommit. */
  private async autocommit<T>(statement: (client: pg.ClientBase) => Promise<T>): Promise<T> {
    const client = await this.pool.connect().catch(connectFailed);
    let broken: Error | undefined;
    try {
      return await statement(client);
    } catch (error) {
      if (endsConnection(error)) broken = error as Error;
      throw isConnectionLost(error) ? outcomeUnknown(error) : error;
    } finally {
      client.release(broken);
    }
  }

  async transaction<T>(work: (tx: Queryable) => Promise<T>): Promise<T> {
    const client = await this.pool.connect().catch(connectFailed);
    let broken: Error | undefined;
    let committing = false;
    try {
      await client.query("begin");
      const result = await work(this.inside(client));
      committing = true;
      const { command } = await client.query("commit");
      // If `work` ignored a failed statement, PostgreSQL rolls back instead of committing.
      if (command !== "COMMIT") throw new Error("A statement of the transaction had failed.");
      return result;
    } catch (error) {
      await client.query("rollback").catch((failure: Error) => {
        broken = failure;
      });
      if (!isConnectionLost(error)) throw error;
      throw committing ? outcomeUnknown(error) : connectionLost(error);
    } finally {
      client.release(broken);
    }
  }

  private inside(client: pg.ClientBase): Queryable {
    /** Whether the transaction has set a statement timeout of its own. */
    let hasOwnTimeout = false;
    const expectAnswer = (text: string) => {
      if (text.includes("statement_timeout")) hasOwnTimeout = !text.includes("statement_timeout to default");
      if (hasOwnTimeout) this.watchdog.stopExpecting(client);
      else this.watchdog.expect(client, this.mostSilenceMs);
    };
    const query = <Row extends object>(
      text: string,
      values: readonly unknown[] = [],
      options?: QueryOptions,
    ): Promise<Row[]> => {
      expectAnswer(text);
      return this.run<Row>(client, text, values, options?.prepare === true);
    };
    return {
      query,
      write: query,
      execute: async (text, values = []) => {
        expectAnswer(text);
        return (await client.query(text, values as unknown[])).rowCount ?? 0;
      },
      lookup: async <Row extends object>({ text, values }: Lookup, key: number): Promise<Row | undefined> =>
        (await query<Row>(text, [[key], ...values], { prepare: true }))[0],
    };
  }

  async *stream<Row extends object>(
    text: string,
    values: readonly unknown[],
    options: StreamOptions,
  ): AsyncGenerator<Row[], void, undefined> {
    const { signal, batch } = options;
    const release = await this.streams.acquire(signal);
    const client = await this.pool.connect().catch((error: unknown) => {
      release();
      return connectFailed(error);
    });
    if (signal?.aborted) {
      client.release();
      release();
      return;
    }
    // PostgreSQL would count the time of all batches together, and of the consumer between them; `read` limits each batch. A
    // failure is one of the cursor too.
    client.query(`set statement_timeout = ${longestStreamMs}`).catch(() => undefined);
    const cursor = client.query(new Cursor<Row>(text, values as unknown[]));
    let running = false;
    let failed = false;
    let stalled = false;
    let timer: NodeJS.Timeout | undefined;
    let cancelled: Promise<void> | undefined;
    let finished: Promise<void> | undefined;
    let lost: Error | undefined;
    const finish = () => {
      finished ??= (async () => {
        clearTimeout(timer);
        signal?.removeEventListener("abort", abort);
        await cancelled;
        // A failed cursor is already closed; closing it again would wait until the timeout.
        lost ??= failed ? undefined : await closeCursor(cursor);
        if (!lost)
          await client.query("reset statement_timeout").catch((error: Error) => {
            lost = error;
          });
        client.release(lost);
        release();
      })();
      return finished;
    };
    // A running query must be cancelled on the server; a cursor that waits for its consumer is closed immediately.
    const abort = () => {
      if (running) cancelled ??= this.cancel(client);
      else void finish();
    };
    signal?.addEventListener("abort", abort, { once: true });
    const { statementTimeoutMs } = this.options;
    try {
      while (!signal?.aborted) {
        running = true;
        timer = setTimeout(() => {
          cancelled ??= this.cancel(client);
        }, statementTimeoutMs);
        this.watchdog.expect(client, this.mostSilenceMs);
        const rows = await cursor
          .read(typeof batch === "number" ? batch : batch())
          .catch((error: unknown) => {
            failed = true;
            throw error;
          })
          .finally(() => {
            running = false;
            clearTimeout(timer);
          });
        // A batch that came just before it was cancelled: the next one must not be cancelled in its place.
        await cancelled;
        cancelled = undefined;
        if (rows.length === 0) return;
        // Now waiting for the consumer, which has a separate timeout.
        this.watchdog.stopExpecting(client);
        timer = setTimeout(() => {
          stalled = true;
          void finish();
        }, options.timeoutMs ?? stallMs);
        yield rows;
        clearTimeout(timer);
        if (stalled) throw new Error("The reader of a long result stalled.");
      }
    } catch (error) {
      if (endsConnection(error)) lost = error as Error;
      if (!signal?.aborted) throw isConnectionLost(error) ? connectionLost(error) : error;
    } finally {
      await finish();
    }
  }

  /** Cancels the statement of `client`, over a new connection, because the pool may be exhausted. */
  private async cancel(client: pg.ClientBase): Promise<void> {
    const pid = (client as unknown as { processID: number | null }).processID;
    if (pid === null) return;
    try {
      const other = await this.dedicated();
      await other.query("select pg_cancel_backend($1)", [pid]).finally(() => other.end());
    } catch {
      // If the server accepts no more connections, the statement timeout ends the statement.
    }
  }

  async dedicated(): Promise<pg.Client> {
    const client = new pg.Client({
      connectionString: this.url,
      options: sessionOptions(0),
      application_name: "mapwright",
      connectionTimeoutMillis: 5_000,
      keepAlive: true,
    });
    await client.connect();
    return client;
  }

  counts() {
    return { total: this.pool.totalCount, idle: this.pool.idleCount, waiting: this.pool.waitingCount };
  }

  async close(): Promise<void> {
    await this.pool.end();
    this.watchdog.stop();
  }
}

const socketOf = (client: pg.ClientBase): { destroy(): void } =>
  (client as unknown as { connection: { stream: { destroy(): void } } }).connection.stream;

/** Closes a cursor. Returns an error if its connection is unusable. */
async function closeCursor(cursor: Cursor): Promise<Error | undefined> {
  let timer: NodeJS.Timeout | undefined;
  try {
    // After a lost connection, the server never responds to the close.
    await Promise.race([
      cursor.close(),
      new Promise((_, reject) => {
        timer = setTimeout(() => reject(new Error("The cursor did not close in time.")), 5_000);
      }),
    ]);
    return undefined;
  } catch (error) {
    return error as Error;
  } finally {
    clearTimeout(timer);
  }
}

/** Creates the pool; connections are opened when needed. */
export const openDatabase = (options: DatabaseOptions): Database => new PooledDatabase(options);

import pg from "pg";
import Cursor from "pg-cursor";
import type { Log } from "../log.js";

/** PostgreSQL: a pool, transactions, and cursors for results of any length. */

// Ids are bigint (int8, OID 20): they stay below 2^53 by construction, so they arrive as numbers.
pg.types.setTypeParser(20, Number);

/** Something that runs one statement; values are always bound. */
export interface Queryable {
  query<Row extends object>(text: string, values?: readonly unknown[]): Promise<Row[]>;
  /** As `query`, with the number of rows that a write touched. */
  execute(text: string, values?: readonly unknown[]): Promise<number>;
}

export interface Database extends Queryable {
  readonly url: string;
  /** Runs `work` in one transaction; an error rolls everything back. */
  transaction<T>(work: (tx: Queryable) => Promise<T>): Promise<T>;
  /**
   * Rows in batches through a cursor, so that memory does not depend on the length of the result. When the
   * consumer stops early or `signal` aborts, the query is cancelled and its connection goes back to the pool.
   */
  stream<Row extends object>(
    text: string,
    values: readonly unknown[],
    options: { readonly batch: number; readonly signal?: AbortSignal; readonly timeoutMs?: number },
  ): AsyncGenerator<Row[], void, undefined>;
  /** A connection of its own outside the pool (LISTEN, locks, COPY). The caller ends it. */
  dedicated(): Promise<pg.Client>;
  /** Connections in use, idle and waited for. */
  counts(): { readonly total: number; readonly idle: number; readonly waiting: number };
  close(): Promise<void>;
}

export interface DatabaseOptions {
  readonly url: string;
  readonly connections: number;
  readonly statementTimeoutMs: number;
  readonly log: Log;
}

/** Settings of every session: names resolve in our schema first; JIT costs more than it gives on short queries. */
const sessionOptions = (timeoutMs: number): string =>
  `-c search_path=mapwright,public -c jit=off -c statement_timeout=${timeoutMs} -c timezone=UTC`;

class PooledDatabase implements Database {
  readonly url: string;
  private readonly pool: pg.Pool;

  constructor(options: DatabaseOptions) {
    this.url = options.url;
    this.pool = new pg.Pool({
      connectionString: options.url,
      max: options.connections,
      options: sessionOptions(options.statementTimeoutMs),
      application_name: "mapwright",
      connectionTimeoutMillis: 5_000,
    });
    // An idle connection that breaks (server restart) is dropped by the pool; the next query opens another.
    this.pool.on("error", (error) => options.log.warn({ err: error }, "a database connection broke"));
  }

  async query<Row extends object>(text: string, values: readonly unknown[] = []): Promise<Row[]> {
    return (await this.pool.query<Row>(text, values as unknown[])).rows;
  }

  async execute(text: string, values: readonly unknown[] = []): Promise<number> {
    return (await this.pool.query(text, values as unknown[])).rowCount ?? 0;
  }

  async transaction<T>(work: (tx: Queryable) => Promise<T>): Promise<T> {
    const client = await this.pool.connect();
    let broken: Error | undefined;
    try {
      await client.query("begin");
      const result = await work({
        query: async <Row extends object>(text: string, values: readonly unknown[] = []) =>
          (await client.query<Row>(text, values as unknown[])).rows,
        execute: async (text, values = []) => (await client.query(text, values as unknown[])).rowCount ?? 0,
      });
      await client.query("commit");
      return result;
    } catch (error) {
      await client.query("rollback").catch((failure: Error) => {
        broken = failure;
      });
      throw error;
    } finally {
      client.release(broken);
    }
  }

  async *stream<Row extends object>(
    text: string,
    values: readonly unknown[],
    options: { readonly batch: number; readonly signal?: AbortSignal; readonly timeoutMs?: number },
  ): AsyncGenerator<Row[], void, undefined> {
    const client = await this.pool.connect();
    const cursor = client.query(new Cursor<Row>(text, values as unknown[]));
    let running = false;
    let broken: Error | undefined;
    // A running query is cancelled by the server's own cancel request, on a connection of its own.
    const cancel = () => {
      if (running) void this.cancel(client);
    };
    options.signal?.addEventListener("abort", cancel, { once: true });
    try {
      while (!options.signal?.aborted) {
        running = true;
        const rows = await cursor.read(options.batch).finally(() => {
          running = false;
        });
        if (rows.length === 0) break;
        yield rows;
      }
    } catch (error) {
      if (!options.signal?.aborted) throw error;
    } finally {
      options.signal?.removeEventListener("abort", cancel);
      await cursor.close().catch((failure: Error) => {
        broken = failure;
      });
      client.release(broken);
    }
  }

  private async cancel(client: pg.PoolClient): Promise<void> {
    const pid = (client as unknown as { processID: number | null }).processID;
    if (pid !== null) await this.pool.query("select pg_cancel_backend($1)", [pid]).catch(() => undefined);
  }

  async dedicated(): Promise<pg.Client> {
    const client = new pg.Client({
      connectionString: this.url,
      options: sessionOptions(0),
      application_name: "mapwright",
      connectionTimeoutMillis: 5_000,
    });
    await client.connect();
    return client;
  }

  counts() {
    return { total: this.pool.totalCount, idle: this.pool.idleCount, waiting: this.pool.waitingCount };
  }

  async close(): Promise<void> {
    await this.pool.end();
  }
}

/** Opens the pool; connections are made when they are needed. */
export const openDatabase = (options: DatabaseOptions): Database => new PooledDatabase(options);

import { AsyncLocalStorage } from "node:async_hooks";
import pg from "pg";
import { parseNotification } from "../../src/changes/notification.js";
import { Failure } from "../../src/errors.js";
import type { Database, Queryable } from "../../src/storage/postgres.js";
import { asSuperuser } from "../support/database.js";
import type { TestServer } from "../support/server.js";
import { changeUses } from "../support/uses.js";

/** Changes of the catalogue at chosen moments of a request. */

/** Something that another client of the database does in one transaction. */
export type Change = (db: Database) => Promise<unknown>;

/** Another client of the database, which can be stopped before it commits. */
export class Rival {
  private constructor(
    private readonly client: pg.Client,
    private readonly watcher: pg.Client,
    private readonly pid: number,
  ) {}

  static async connect(server: TestServer): Promise<Rival> {
    // Of two that wait for each other one is told so after this time: here the rival, who comes again.
    const name = new URL(server.database.url).pathname.slice(1);
    await asSuperuser("postgres", (client) =>
      client.query(`alter database ${name} set deadlock_timeout = '20ms'`),
    );
    const connect = async () => {
      const client = new pg.Client({
        connectionString: server.database.url,
        options: "-c search_path=mapwright,public",
      });
      await client.connect();
      return client;
    };
    const client = await connect();
    const { rows } = await client.query("select pg_backend_pid() as pid");
    return new Rival(client, await connect(), rows[0].pid);
  }

  async end(): Promise<void> {
    await Promise.all([this.client.end(), this.watcher.end()]);
  }

  /**
   * Makes the change; `beforeCommit` is waited for with all its locks held.
   * @returns false when it had to give way to somebody who waited for it in turn, or had nothing to change
   */
  async make(change: Change, beforeCommit?: () => Promise<unknown>): Promise<boolean> {
    const { client } = this;
    const query: Queryable["query"] = async (text, values) =>
      (await client.query(text, values as unknown[])).rows as never;
    const tx: Queryable = {
      query,
      write: query,
      execute: async (text, values) => (await client.query(text, values as unknown[])).rowCount ?? 0,
      lookup: () => Promise.reject(new Error("no change of the catalogue looks objects up")),
    };
    const transaction = async <T>(work: (tx: Queryable) => Promise<T>): Promise<T> => {
      await client.query("begin");
      try {
        const made = await work(tx);
        await beforeCommit?.();
        await client.query("commit");
        return made;
      } catch (error) {
        await client.query("rollback");
        throw error;
      }
    };
    try {
      await change({ ...tx, transaction } as Database);
      return true;
    } catch (error) {
      if (error instanceof Failure || (error as { code?: string }).code === "40P01") return false;
      throw error;
    }
  }

  /**
   * Whether the change waits for the lock of a request that is held up between its statements. Others, such as those of
   * notifications and of the autovacuum, are soon given back.
   */
  async isBlocked(): Promise<boolean> {
    const { rows } = await this.watcher.query(
      `select exists (select from pg_stat_activity
         where pid = any(pg_blocking_pids($1)) and state = 'idle in transaction') as blocked`,
      [this.pid],
    );
    return rows[0].blocked;
  }

  /** Whether somebody waits for a lock of the change. */
  async blocks(): Promise<boolean> {
    const { rows } = await this.watcher.query(
      "select exists (select from pg_stat_activity where datname = current_database() and $1 = any(pg_blocking_pids(pid))) as blocks",
      [this.pid],
    );
    return rows[0].blocks;
  }
}

/** Whether a statement has nothing to do with what may be deleted: it sets something up, or looks at staged rows alone. */
const isAside = (text: string): boolean =>
  /^\s*(set |savepoint |select set_config|select nextval)/.test(text) ||
  (text.includes("staging.") && !text.includes("layers."));

/** Whether the running code was begun by the node's start and not by a request: it removes what was deleted, from time to time. */
const nodeStart = new AsyncLocalStorage<true>();

/** Starts nodes whose own statements, unlike those of requests, are not intercepted. */
export const startIntercepted = <T>(start: () => Promise<T>): Promise<T> => nodeStart.run(true, start);

/**
 * Calls `before` with the number, from 1, of each statement that a node is about to send for a request, until the
 * returned function is called.
 */
export function interceptStatements(db: Database, before: (statement: number) => Promise<void>): () => void {
  let statements = 0;
  const next = async (text: string) => {
    if (!nodeStart.getStore() && !isAside(text)) await before(++statements);
  };
  const within = (tx: Queryable): Queryable => ({
    query: async (...args: Parameters<Queryable["query"]>) => {
      await next(args[0]);
      return tx.query(...args) as never;
    },
    write: async (...args: Parameters<Queryable["write"]>) => {
      await next(args[0]);
      return tx.write(...args) as never;
    },
    execute: async (...args) => {
      await next(args[0]);
      return tx.execute(...args);
    },
    lookup: async (...args: Parameters<Queryable["lookup"]>) => {
      await next(args[0].text);
      return tx.lookup(...args) as never;
    },
  });
  return changeUses(db, (used) => {
    const { query, write, execute, transaction, stream, streamBytes } = used;
    // Lookups end in queries.
    const intercepted = within({
      query: query.bind(used),
      write: write.bind(used),
      execute: execute.bind(used),
      lookup: used.lookup.bind(used),
    });
    return {
      query: intercepted.query,
      write: intercepted.write,
      execute: intercepted.execute,
      transaction: (work) => transaction.call(used, (tx) => work(within(tx))) as never,
      stream: async function* (...args: Parameters<Database["stream"]>) {
        await next(args[0]);
        yield* stream.apply(used, args);
      } as Database["stream"],
      streamBytes: async function* (...args: Parameters<Database["streamBytes"]>) {
        await next(args[0]);
        yield* streamBytes.apply(used, args);
      },
    };
  });
}

/**
 * Keeps the database's notifications from a node until the returned function is called, or one comes that a write waits
 * for: before that all earlier ones come, as the database sends them.
 */
export function holdNotifications(node: TestServer["nodes"][number]): () => void {
  const changes = node.services.changes as unknown as { notified(payload: string): void };
  const { notified } = changes;
  const held: string[] = [];
  const deliver = () => {
    for (const payload of held.splice(0)) notified.call(changes, payload);
  };
  changes.notified = (payload) => {
    const notification = parseNotification(payload);
    held.push(payload);
    const isAwaited = notification !== undefined && "mark" in notification && notification.mark !== undefined;
    if (isAwaited) deliver();
  };
  return () => {
    changes.notified = notified;
    deliver();
  };
}

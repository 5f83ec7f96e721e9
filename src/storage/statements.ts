import type pg from "pg";
import { PreparedStatements } from "./prepared-statements.js";
import { beginSetting, runSetting } from "./setting-query.js";
import {
  authorSetting,
  authorStatement,
  settingStatement,
  type TransactionSettings,
} from "./transaction-settings.js";

/** How statements get the settings that they need: those of their session, or behind a pooler those of their transaction. */

export interface Statements {
  /**
   * A statement that is a transaction by itself.
   * @param author for the history; a prepared statement that writes objects names its author itself
   */
  run<Row extends object>(
    client: pg.ClientBase,
    text: string,
    values: readonly unknown[],
    prepare: boolean,
    author?: string,
  ): Promise<Row[]>;
  /** As `run`; the number of affected rows. */
  execute(client: pg.ClientBase, text: string, values: readonly unknown[], author?: string): Promise<number>;
  /** Begins a transaction. @param ofOneMoment its statements read what there is at one moment, and write nothing */
  begin(client: pg.ClientBase, ofOneMoment: boolean, author?: string): Promise<void>;
  /** As `run`, in a transaction. */
  runInside<Row extends object>(
    client: pg.ClientBase,
    text: string,
    values: readonly unknown[],
    prepare: boolean,
  ): Promise<Row[]>;
  executeInside(client: pg.ClientBase, text: string, values: readonly unknown[]): Promise<number>;
  /** Before a long result is read, and after it. @throws Error when the connection is unusable */
  beginReading(client: pg.ClientBase): Promise<void> | undefined;
  endReading(client: pg.ClientBase): Promise<void>;
}

/** Bounds of the server on a long result. */
const streamTimes = {
  /** After it the server ends the statement, should this process be gone. */
  longestMs: 3_600_000,
  /**
   * For so long a part of a batch may lie unread: while its consumer takes what came before, and then waits for its turn. To the
   * server's kernel it looks as if this machine were gone.
   */
  longestUnreadMs: 120_000,
} as const;

const countOf = ({ rowCount }: pg.QueryResult): number => rowCount ?? 0;

/** Each connection is a session with all settings. */
export class SessionStatements implements Statements {
  private readonly prepared = new PreparedStatements();

  async run<Row extends object>(
    client: pg.ClientBase,
    text: string,
    values: readonly unknown[],
    prepare: boolean,
    author?: string,
  ): Promise<Row[]> {
    if (author === undefined || prepare) return this.prepared.run<Row>(client, text, values, prepare);
    return (await runSetting<Row>(client, authorStatement(author), text, values)).rows;
  }

  async execute(
    client: pg.ClientBase,
    text: string,
    values: readonly unknown[],
    author?: string,
  ): Promise<number> {
    if (author === undefined) return countOf(await client.query(text, values as unknown[]));
    return countOf(await runSetting(client, authorStatement(author), text, values));
  }

  async begin(client: pg.ClientBase, ofOneMoment: boolean, author?: string): Promise<void> {
    const begin = ofOneMoment ? "begin isolation level repeatable read read only" : "begin";
    await client.query(author === undefined ? begin : `${begin}; ${authorStatement(author)}`);
  }

  readonly runInside = this.run;
  readonly executeInside = this.execute;

  beginReading(client: pg.ClientBase): undefined {
    const { longestMs, longestUnreadMs } = streamTimes;
    // A failure is one of what follows, too.
    client
      .query(`set statement_timeout = ${longestMs}; set tcp_user_timeout = ${longestUnreadMs}`)
      .catch(() => undefined);
    return undefined;
  }

  async endReading(client: pg.ClientBase): Promise<void> {
    await client.query("reset statement_timeout; reset tcp_user_timeout");
  }
}

/** As the server has said with its last answer. */
const isInTransaction = (client: pg.ClientBase): boolean => client.getTransactionStatus() !== "I";

/** Behind a pooler: whatever is set ends with its transaction, and no statement has a name. */
export class TransactionStatements implements Statements {
  private server: string | undefined;
  private ordinary = "";
  private forReading = "";

  /**
   * @param settings of each transaction
   * @param currentServer as `serverSql` has it
   */
  constructor(
    private readonly settings: TransactionSettings & { readonly statement_timeout: number },
    private readonly currentServer: () => Promise<string> | string,
  ) {}

  async run<Row extends object>(
    client: pg.ClientBase,
    text: string,
    values: readonly unknown[],
    _prepare: boolean,
    author?: string,
  ): Promise<Row[]> {
    return (await runSetting<Row>(client, await this.setting(author), text, values)).rows;
  }

  async execute(
    client: pg.ClientBase,
    text: string,
    values: readonly unknown[],
    author?: string,
  ): Promise<number> {
    return countOf(await runSetting(client, await this.setting(author), text, values));
  }

  async begin(client: pg.ClientBase, ofOneMoment: boolean, author?: string): Promise<void> {
    const begin = ofOneMoment ? "begin isolation level repeatable read" : "begin";
    await beginSetting(client, await this.setting(author), begin);
  }

  async runInside<Row extends object>(
    client: pg.ClientBase,
    text: string,
    values: readonly unknown[],
  ): Promise<Row[]> {
    return (await client.query<Row>(this.toDefaults(text), values as unknown[])).rows;
  }

  async executeInside(client: pg.ClientBase, text: string, values: readonly unknown[]): Promise<number> {
    return countOf(await client.query(this.toDefaults(text), values as unknown[]));
  }

  async beginReading(client: pg.ClientBase): Promise<void> {
    await this.setting();
    await beginSetting(client, this.forReading);
  }

  async endReading(client: pg.ClientBase): Promise<void> {
    if (isInTransaction(client)) await client.query("commit");
  }

  private async setting(author?: string): Promise<string> {
    const server = await this.currentServer();
    if (author !== undefined) return settingStatement({ ...this.settings, [authorSetting]: author }, server);
    if (server !== this.server) {
      this.server = server;
      this.ordinary = settingStatement(this.settings, server);
      this.forReading = settingStatement(
        {
          ...this.settings,
          statement_timeout: streamTimes.longestMs,
          idle_in_transaction_session_timeout: streamTimes.longestUnreadMs,
        },
        server,
      );
    }
    return this.ordinary;
  }

  /** The default of a session is the pooler's, and not what the transaction began with. */
  private toDefaults(text: string): string {
    return text.replaceAll(
      "statement_timeout to default",
      `statement_timeout = ${this.settings.statement_timeout}`,
    );
  }
}

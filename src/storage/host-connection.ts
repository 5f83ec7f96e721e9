import pg from "pg";
import type { HostAddress } from "../database-hosts.js";
import { Primary } from "./primary.js";
import { keptAlive, sessionOptions } from "./session-settings.js";
import { beginSetting } from "./setting-query.js";
import { settingStatement, type TransactionSettings } from "./transaction-settings.js";

/** Connections to the database of processes that work for a node. */

export interface HostConnectionOptions {
  readonly application: string;
  readonly settings: TransactionSettings;
  /** Of a session only: behind a pooler they would be those of its own connection. */
  readonly ofConnection?: TransactionSettings;
  /** Whether its transactions take no writes. */
  readonly isReadOnly?: boolean;
}

export class HostConnection {
  private constructor(
    readonly client: pg.Client,
    /** Undefined = the session has the settings. */
    private readonly setting: string | undefined,
  ) {}

  /** Connects to the server that takes writes. @throws Error when there is none */
  static open(
    { databaseUrl, databaseServer }: HostAddress,
    { application, settings, ofConnection, isReadOnly = false }: HostConnectionOptions,
  ): Promise<HostConnection> {
    const isPooled = databaseServer !== undefined;
    return new Primary(databaseUrl, { isPooled }).connect(async ({ url }) => {
      const client = new pg.Client({
        connectionString: url,
        ...(!isPooled && { options: sessionOptions({ ...settings, ...ofConnection }) }),
        application_name: application,
        connectionTimeoutMillis: 5_000,
        ...keptAlive,
      });
      // The running command rejects as well when the connection breaks.
      client.on("error", () => undefined);
      await client.connect();
      return new HostConnection(
        client,
        isPooled ? settingStatement(settings, databaseServer || undefined, isReadOnly) : undefined,
      );
    });
  }

  /** Begins a transaction. @param mode what follows `begin` */
  async begin(mode = ""): Promise<void> {
    const begin = `begin ${mode}`;
    if (this.setting !== undefined) await beginSetting(this.client, this.setting, begin);
    else await this.client.query(begin);
  }

  /** Before a statement that needs the settings, and no transaction. */
  async take(): Promise<void> {
    if (this.setting !== undefined) await this.begin();
  }

  /** After it. */
  async give(): Promise<void> {
    if (this.setting !== undefined) await this.client.query("commit");
  }

  /** Runs a statement by itself. */
  async run(text: string, values: readonly unknown[] = []): Promise<void> {
    await this.take();
    await this.client.query(text, [...values]);
    await this.give();
  }
}

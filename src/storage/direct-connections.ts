import type pg from "pg";
import type { DatabaseHost } from "../database-hosts.js";
import { connectFailed } from "./connection-errors.js";
import { destroy, HoldingClient } from "./heartbeat.js";
import { askServer, KnownServer } from "./known-server.js";
import type { OpenConnections } from "./open-connections.js";
import { requireOwnSession } from "./own-session.js";
import type { Primary } from "./primary.js";
import type { TransactionSettings } from "./transaction-settings.js";

/** Longest wait for what a server says of a session that it has just begun. */
const answerMs = 5_000;

/** Connections beside the pool, each of them a session of PostgreSQL by itself. */
export class DirectConnections {
  /** Of which server they are; undefined = there is no pooler that could lead to another one. */
  readonly server: KnownServer | undefined;
  private readonly servers = new WeakMap<pg.Client, string>();

  /**
   * @param settings of each session
   * @param serverChanged behind a pooler: another server takes writes, or it was restarted; or it is known for the first time
   */
  constructor(
    private readonly primary: Primary,
    private readonly open: OpenConnections,
    private readonly settings: TransactionSettings,
    serverChanged: ((isFirst: boolean) => void) | undefined,
  ) {
    if (!serverChanged) return;
    this.server = new KnownServer(
      () => this.ask(),
      (server, isFirst) => {
        // A listener on the connection before would hear nothing of this one.
        open.closeThoseOf((_host, client) => (this.servers.get(client as pg.Client) ?? server) !== server);
        serverChanged(isFirst);
      },
    );
  }

  get url(): string {
    return this.primary.ordered;
  }

  /** @throws Failure busy, also when it is no session of its own */
  dedicated(): Promise<pg.Client> {
    return this.primary.connect((host) => this.openOwn(host)).catch(connectFailed);
  }

  private async openOwn(host: DatabaseHost): Promise<pg.Client> {
    const { open } = this;
    const opened: pg.Client[] = [];
    const connect = async () => {
      const one = await new HoldingClient(host.url, this.settings).open();
      opened.push(one);
      return one;
    };
    const client = await connect();
    open.add(client, host);
    if (open.isCut) destroy(client);
    // Nothing else watches it while it is asked: a server that falls silent now would be waited for by locks and the listener.
    const late = setTimeout(() => opened.forEach(destroy), answerMs);
    try {
      await requireOwnSession(client, connect, this.server !== undefined);
      if (this.server) await this.note(client);
      return client;
    } catch (error) {
      await client.end().catch(() => undefined);
      throw error;
    } finally {
      clearTimeout(late);
    }
  }

  private async note(client: pg.Client): Promise<string> {
    const { rows } = await client.query<{ server: string }>(askServer);
    const { server } = rows[0]!;
    this.servers.set(client, server);
    this.server?.note(server);
    return server;
  }

  /** Of one that is open, if it answers: as long as it is, its server is the same. */
  private async ask(): Promise<string> {
    const client = await this.dedicated();
    try {
      return this.servers.get(client)!;
    } finally {
      await client.end().catch(() => undefined);
    }
  }
}

import type { Socket } from "node:net";
import pg from "pg";
import type { DatabaseHost } from "../../../src/database-hosts.js";
import { followReports, isStandby, Primary } from "../../../src/storage/primary.js";
import { keptAlive } from "../../../src/storage/session-settings.js";

/** Connections to PostgreSQL that statements of Mapnik take in turns. */

const connectMs = 5_000;

export interface Backend {
  readonly socket: Socket;
}

export interface BackendOptions {
  readonly url: string;
  /** Settings of the sessions, as in PGOPTIONS; undefined = they are a pooler's. */
  readonly settings: string | undefined;
  /** Behind a pooler: the statement that sets them in each transaction. */
  readonly setting?: string | undefined;
  /** Most connections. */
  readonly most: number;
}

interface Waiter {
  resolve(backend: Backend): void;
  reject(error: Error): void;
}

export class Backends {
  /** The one that was used last is used next: the others may be closed by whatever is between here and the server. */
  private readonly idle: Backend[] = [];
  private readonly waiting: Waiter[] = [];
  private open = 0;
  private readonly primary: Primary;

  constructor(private readonly options: BackendOptions) {
    this.primary = new Primary(options.url, { isPooled: options.settings === undefined });
  }

  /** A connection that nobody else uses, to be released. @throws when none can be opened */
  async acquire(): Promise<Backend> {
    for (let idle = this.idle.pop(); idle; idle = this.idle.pop()) if (!idle.socket.destroyed) return idle;
    if (this.open >= this.options.most)
      return new Promise((resolve, reject) => this.waiting.push({ resolve, reject }));
    this.open++;
    try {
      return await this.primary.connect((host) => this.connect(host));
    } catch (error) {
      this.closed();
      throw error;
    }
  }

  /** @param isUsable false: an unfinished statement or transaction is left on it */
  release(backend: Backend, isUsable: boolean): void {
    if (!isUsable) backend.socket.destroy();
    if (backend.socket.destroyed) return;
    const next = this.waiting.shift();
    if (next) next.resolve(backend);
    else this.idle.push(backend);
  }

  closeIdle(): void {
    for (const { socket } of this.idle) socket.destroy();
  }

  /** pg authenticates; then the connection is used without it. */
  private async connect(host: DatabaseHost): Promise<Backend> {
    const client = new pg.Client({
      connectionString: host.url,
      ...(this.options.settings !== undefined && { options: this.options.settings }),
      application_name: "mapwright render",
      connectionTimeoutMillis: connectMs,
      ...keptAlive,
    });
    // Without a listener, the event would end the process.
    client.on("error", () => undefined);
    followReports(client);
    await client.connect();
    const socket = (client as unknown as { connection: { stream: Socket } }).connection.stream;
    if (socket.destroyed) throw new Error("The connection was closed.");
    if (isStandby(client)) {
      socket.destroy();
      throw new Error("The server is a standby.");
    }
    socket.removeAllListeners("data");
    const backend = { socket };
    // What the server says unasked, such as that it shuts down, is for nobody.
    socket.resume();
    socket.once("close", () => {
      const index = this.idle.indexOf(backend);
      if (index >= 0) this.idle.splice(index, 1);
      this.closed();
    });
    return backend;
  }

  /** A connection is gone: those who wait for one can have another. */
  private closed(): void {
    this.open--;
    const next = this.waiting.shift();
    if (next) this.acquire().then(next.resolve, next.reject);
  }
}

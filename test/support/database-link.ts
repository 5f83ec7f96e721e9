import { once } from "node:events";
import net from "node:net";

/** A TCP proxy between a node and its database that simulates network failures. */

interface Connection {
  readonly client: net.Socket;
  readonly server: net.Socket;
  /** Whether it has sent LISTEN. */
  listens: boolean;
  /** All data is dropped, while the connection stays open. */
  silent: boolean;
  /** The connection is closed when the server sends its next response. */
  severed: boolean;
}

export class DatabaseLink {
  /** New connections are refused. */
  private isCut = false;
  /** Connections that send LISTEN are closed. */
  private refusesListening = false;
  /** Delay of data on connections that listen. */
  listeningDelayMs = 0;
  /** Delay of the server's word that it is ready for the next statement. Under load it comes apart from the answer. */
  readyDelayMs = 0;
  /** New connections are taken, and nothing is heard of them. */
  private isHole = false;
  private severing: { readonly text: string; readonly before: boolean } | undefined;
  /** The connection of the next statement with this text falls silent. */
  private silencing: string | undefined;
  private readonly connections = new Set<Connection>();
  private readonly proxy: net.Server;

  private constructor(private readonly target: URL) {
    this.proxy = net.createServer((client) => this.connect(client));
  }

  static async to(databaseUrl: string): Promise<DatabaseLink> {
    const link = new DatabaseLink(new URL(databaseUrl));
    link.proxy.listen(0, "127.0.0.1");
    await once(link.proxy, "listening");
    return link;
  }

  /** URL of the database through this link. */
  get url(): string {
    const url = new URL(this.target);
    url.hostname = "127.0.0.1";
    url.port = String((this.proxy.address() as net.AddressInfo).port);
    return url.href;
  }

  /**
   * Closes the connection of the next statement with this text, after it was executed but before its response arrives.
   * @param before closes it before the statement is sent
   */
  severAt(text: string, { before = false } = {}): void {
    this.severing = { text, before };
  }

  /** Closes all connections and refuses new ones until `restore`. */
  cut(): void {
    this.isCut = true;
    for (const connection of this.connections) end(connection);
  }

  /** Closes connections that listen, and others as soon as they send LISTEN, until `restore`. */
  cutListening(): void {
    this.refusesListening = true;
    for (const connection of this.connections) if (connection.listens) end(connection);
  }

  /** Drops all data on the existing connections; new ones work. */
  silence(): void {
    for (const connection of this.connections) connection.silent = true;
  }

  /** Drops all data on the connection of the next statement with this text, from that on. */
  silenceAt(text: string): void {
    this.silencing = text;
  }

  /** As `silence`, of new connections, too. */
  swallow(): void {
    this.isHole = true;
    this.silence();
  }

  restore(): void {
    this.isCut = false;
    this.isHole = false;
    this.refusesListening = false;
    this.listeningDelayMs = 0;
    this.readyDelayMs = 0;
  }

  async close(): Promise<void> {
    for (const connection of this.connections) end(connection);
    this.proxy.close();
    await once(this.proxy, "close");
  }

  private connect(client: net.Socket): void {
    if (this.isCut) return void client.destroy();
    const server = net.connect(Number(this.target.port || 5432), this.target.hostname);
    const connection: Connection = { client, server, listens: false, silent: this.isHole, severed: false };
    this.connections.add(connection);
    for (const socket of [client, server]) {
      socket.on("error", () => socket.destroy());
      socket.on("close", () => {
        this.connections.delete(connection);
        end(connection);
      });
    }
    client.on("data", (data) => this.toServer(connection, data));
    server.on("data", (data) => this.toClient(connection, data));
  }

  private toServer(connection: Connection, data: Buffer): void {
    const { severing, silencing } = this;
    if (silencing !== undefined && data.includes(silencing)) {
      this.silencing = undefined;
      connection.silent = true;
    }
    if (connection.silent) return;
    if (data.includes("listen mapwright")) {
      connection.listens = true;
      if (this.refusesListening) {
        end(connection);
        return;
      }
    }
    if (severing && data.includes(severing.text)) {
      this.severing = undefined;
      if (severing.before) {
        end(connection);
        return;
      }
      connection.severed = true;
    }
    connection.server.write(data);
  }

  private toClient(connection: Connection, data: Buffer): void {
    if (connection.silent) return;
    // The response means that the statement was executed.
    if (connection.severed) end(connection);
    else if (connection.listens && this.listeningDelayMs > 0)
      setTimeout(() => connection.client.write(data), this.listeningDelayMs);
    else if (this.readyDelayMs > 0 && data.subarray(-6, -1).equals(readyForQuery)) {
      connection.client.write(data.subarray(0, -6));
      setTimeout(() => connection.client.write(data.subarray(-6)), this.readyDelayMs).unref();
    } else connection.client.write(data);
  }
}

/** ReadyForQuery of PostgreSQL's protocol; one byte follows. */
const readyForQuery = Buffer.from("Z\0\0\0\x05");

function end({ client, server }: Connection): void {
  client.destroy();
  server.destroy();
}

import { once } from "node:events";
import net from "node:net";

/** A network between a node and its database, which breaks as the test says. */

interface Connection {
  readonly client: net.Socket;
  readonly server: net.Socket;
  /** Whether notifications come over it. */
  listens: boolean;
  /** Nothing arrives any more, and nobody is told. */
  silent: boolean;
  /** The server's next answer is not to arrive. */
  severed: boolean;
}

export class DatabaseLink {
  /** New connections are refused. */
  private isCut = false;
  /** Connections that begin to listen are broken. */
  private refusesListening = false;
  /** How long notifications take. */
  listeningDelayMs = 0;
  private severing: { readonly text: string; readonly before: boolean } | undefined;
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

  /** The database's address over this link. */
  get url(): string {
    const url = new URL(this.target);
    url.hostname = "127.0.0.1";
    url.port = String((this.proxy.address() as net.AddressInfo).port);
    return url.href;
  }

  /**
   * The next statement with this text breaks its connection: once it was done, and nobody hears of that.
   * @param before the statement does not arrive either
   */
  severAt(text: string, { before = false } = {}): void {
    this.severing = { text, before };
  }

  /** Breaks all connections and lets no new ones through until `restore`. */
  cut(): void {
    this.isCut = true;
    for (const connection of this.connections) end(connection);
  }

  /** Breaks connections that listen, and each that begins to, until `restore`. */
  cutListening(): void {
    this.refusesListening = true;
    for (const connection of this.connections) if (connection.listens) end(connection);
  }

  /** Nothing arrives any more over the connections that there are; new ones work. */
  silence(): void {
    for (const connection of this.connections) connection.silent = true;
  }

  restore(): void {
    this.isCut = false;
    this.refusesListening = false;
    this.listeningDelayMs = 0;
  }

  async close(): Promise<void> {
    for (const connection of this.connections) end(connection);
    this.proxy.close();
    await once(this.proxy, "close");
  }

  private connect(client: net.Socket): void {
    if (this.isCut) return void client.destroy();
    const server = net.connect(Number(this.target.port || 5432), this.target.hostname);
    const connection: Connection = { client, server, listens: false, silent: false, severed: false };
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
    const { severing } = this;
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
    // The server has done it when it says so.
    if (connection.severed) end(connection);
    else if (connection.listens && this.listeningDelayMs > 0)
      setTimeout(() => connection.client.write(data), this.listeningDelayMs);
    else connection.client.write(data);
  }
}

function end({ client, server }: Connection): void {
  client.destroy();
  server.destroy();
}

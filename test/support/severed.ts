import { once } from "node:events";
import net from "node:net";

/** A way to a database that breaks when the test says so: at a statement's answer, which then nobody hears. */
export class SeveredDatabase {
  /** What a message to the server holds whose answer is not to arrive. */
  private watched: { readonly text: string; readonly before: boolean } | undefined;
  private readonly sockets = new Set<net.Socket>();
  private readonly server: net.Server;

  private constructor(private readonly target: URL) {
    this.server = net.createServer((client) => this.connect(client));
  }

  static async at(databaseUrl: string): Promise<SeveredDatabase> {
    const way = new SeveredDatabase(new URL(databaseUrl));
    way.server.listen(0, "127.0.0.1");
    await once(way.server, "listening");
    return way;
  }

  /** The database's address over this way. */
  get url(): string {
    const url = new URL(this.target);
    url.hostname = "127.0.0.1";
    url.port = String((this.server.address() as net.AddressInfo).port);
    return url.href;
  }

  /**
   * The next statement with this text breaks its connection: once it was done, and nobody hears of that.
   * @param before the statement does not arrive either
   */
  severAt(text: string, { before = false } = {}): void {
    this.watched = { text, before };
  }

  async close(): Promise<void> {
    for (const socket of this.sockets) socket.destroy();
    this.server.close();
    await once(this.server, "close");
  }

  private connect(client: net.Socket): void {
    const server = net.connect(Number(this.target.port || 5432), this.target.hostname);
    let severed = false;
    for (const [one, other] of [
      [client, server],
      [server, client],
    ] as const) {
      this.sockets.add(one);
      one.on("error", () => one.destroy());
      one.on("close", () => {
        this.sockets.delete(one);
        other.destroy();
      });
    }
    client.on("data", (data) => {
      const { watched } = this;
      if (watched && data.includes(watched.text)) {
        this.watched = undefined;
        severed = true;
        if (watched.before) {
          client.destroy();
          return;
        }
      }
      server.write(data);
    });
    server.on("data", (data) => {
      // The server has done it when it says so.
      if (severed) client.destroy();
      else client.write(data);
    });
  }
}

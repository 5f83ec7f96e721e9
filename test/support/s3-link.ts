import { once } from "node:events";
import net from "node:net";

/** A TCP proxy before an S3 server that simulates failures of the network and of the server. */

/** What is wrong. Bytes are those of all connections together, counted from when it is set. */
export interface Fault {
  /** The connection of this byte that the client sends, or is sent, is closed instead of passing it on. */
  readonly sent?: number;
  readonly received?: number;
  /** All connections are closed then, and no new ones taken. */
  readonly forGood?: boolean;
  /** So many connections are answered with this status in place of the server; each has one request then. */
  readonly status?: number;
  readonly times?: number;
  /** What is asked for by GET is answered with this in place of the server. */
  readonly answer?: string;
  /** Nothing is passed on any more. */
  readonly silent?: boolean;
  /** Delay of all that the server sends. */
  readonly delayMs?: number;
}

export class S3Link {
  private fault: Fault = {};
  private sent = 0;
  private received = 0;
  private refused = 0;
  private isCut = false;
  /** Connections that the fault has met. */
  met = 0;
  private readonly sockets = new Set<net.Socket>();
  /** Of these nothing is passed on any more. */
  private readonly dead = new WeakSet<net.Socket>();

  private constructor(
    private readonly target: number,
    private readonly proxy: net.Server,
  ) {
    proxy.on("connection", (client) => this.connect(client));
  }

  static async to(url: string): Promise<S3Link> {
    const proxy = net.createServer().listen(0, "127.0.0.1");
    await once(proxy, "listening");
    return new S3Link(Number(new URL(url).port), proxy);
  }

  get url(): string {
    return `http://127.0.0.1:${(this.proxy.address() as net.AddressInfo).port}`;
  }

  /** @param fault default: none */
  set(fault: Fault = {}): void {
    this.fault = fault;
    this.sent = this.received = this.refused = this.met = 0;
    this.isCut = false;
    // Those that are open have one request after another.
    if (fault.status !== undefined) this.end();
  }

  /** Nothing is passed on any more of the connections that are open, and nobody is told. */
  silenceOpen(): void {
    for (const socket of this.sockets) this.dead.add(socket);
  }

  /** Bytes that clients have sent since the fault was set. */
  get bytesSent(): number {
    return this.sent;
  }

  get bytesReceived(): number {
    return this.received;
  }

  async close(): Promise<void> {
    this.end();
    this.proxy.close();
    await once(this.proxy, "close");
  }

  private end(): void {
    for (const socket of this.sockets) socket.destroy();
  }

  private connect(client: net.Socket): void {
    const { fault } = this;
    if (this.isCut) return void client.destroy();
    this.sockets.add(client);
    client.on("error", () => client.destroy());
    client.on("close", () => this.sockets.delete(client));
    if (fault.status !== undefined && this.refused < (fault.times ?? 1)) {
      this.refused++;
      this.met++;
      client.once("data", () =>
        client.end(`HTTP/1.1 ${fault.status} No\r\ncontent-length: 0\r\nconnection: close\r\n\r\n`),
      );
      return;
    }
    const server = net.connect(this.target, "127.0.0.1");
    this.sockets.add(server);
    server.on("error", () => server.destroy());
    server.on("close", () => {
      this.sockets.delete(server);
      client.destroy();
    });
    client.on("close", () => server.destroy());
    client.on("data", (data) => this.pass(data, { from: client, to: server, isSent: true }));
    server.on("data", (data) => this.pass(data, { from: server, to: client, isSent: false }));
  }

  private pass(
    data: Buffer,
    { from, to, isSent }: { from: net.Socket; to: net.Socket; isSent: boolean },
  ): void {
    const { fault } = this;
    if (fault.silent || this.dead.has(from)) return;
    if (fault.answer !== undefined && isSent && data.subarray(0, 4).equals(Buffer.from("GET "))) {
      this.met++;
      from.end(fault.answer);
      return;
    }
    const before = isSent ? this.sent : this.received;
    if (isSent) this.sent += data.length;
    else this.received += data.length;
    const at = isSent ? fault.sent : fault.received;
    if (at !== undefined && before <= at && at < before + data.length) {
      this.met++;
      // What came before it arrives.
      to.end(data.subarray(0, at - before));
      from.destroy();
      if (fault.forGood) {
        this.isCut = true;
        setImmediate(() => this.end());
      }
      return;
    }
    const write = () => {
      if (to.destroyed) return;
      if (!to.write(data)) {
        from.pause();
        to.once("drain", () => from.resume());
      }
    };
    if (fault.delayMs !== undefined && !isSent) setTimeout(write, fault.delayMs);
    else write();
  }
}

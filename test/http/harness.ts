import { mkdtemp, readdir, rm } from "node:fs/promises";
import net from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { loadConfig } from "../../src/config.js";
import { createServer, type Server, type ServerOptions } from "../../src/http/server.js";
import type { Route } from "../../src/http/types.js";
import { createLog, type Log } from "../../src/log.js";

/** A server on a free port with its own folder, and sockets that say exactly what they are told to. */

export interface TestServer {
  readonly server: Server;
  readonly port: number;
  readonly url: string;
  readonly logLines: string[];
  readonly answered: { route: string; method: string; status: number }[];
  /** Names of the files in the folder for temporary files. */
  tempFiles(): Promise<string[]>;
  close(): Promise<void>;
}

export interface TestServerOptions {
  readonly config?: Readonly<Record<string, unknown>>;
  /** Default: a new folder. The caller removes its own. */
  readonly dataDir?: string;
  readonly cached?: ServerOptions<undefined>["cached"];
}

export async function startServer(
  routes: readonly Route<undefined>[],
  options: TestServerOptions = {},
): Promise<TestServer> {
  const dataDir = options.dataDir ?? (await mkdtemp(join(tmpdir(), "mapwright-http-")));
  const logLines: string[] = [];
  const log: Log = createLog("debug", "test", { write: (line: string) => void logLines.push(line) });
  const answered: TestServer["answered"] = [];
  const server = createServer<undefined>({
    routes,
    services: undefined,
    log,
    config: loadConfig({ environment: {}, flags: { dataDir, ...options.config } }),
    onAnswered: (route, method, status) => void answered.push({ route, method, status }),
    ...(options.cached ? { cached: options.cached } : {}),
  });
  const port = await server.listen("127.0.0.1", 0);
  return {
    server,
    port,
    url: `http://127.0.0.1:${port}`,
    logLines,
    answered,
    tempFiles: () => readdir(join(dataDir, "tmp")).catch(() => []),
    async close() {
      await server.close(1000);
      if (options.dataDir === undefined) await rm(dataDir, { recursive: true, force: true });
    },
  };
}

/** A connection whose bytes are all kept. */
export class Wire {
  private readonly socket: net.Socket;
  private text = "";
  private waiters: (() => void)[] = [];
  closed = false;

  constructor(port: number) {
    this.socket = net.connect(port, "127.0.0.1");
    this.socket.setNoDelay(true);
    this.socket.on("data", (chunk) => {
      this.text += chunk.toString("latin1");
      this.wake();
    });
    this.socket.on("error", () => undefined);
    this.socket.on("close", () => {
      this.closed = true;
      this.wake();
    });
  }

  private wake(): void {
    for (const waiter of this.waiters.splice(0)) waiter();
  }

  /** What has come so far, one character a byte. */
  get received(): string {
    return this.text;
  }

  /** Sends bytes; settles when the system has taken them. */
  send(bytes: string | Uint8Array): Promise<void> {
    return new Promise((resolve) => {
      this.socket.write(typeof bytes === "string" ? Buffer.from(bytes, "latin1") : bytes, () => resolve());
    });
  }

  /** Waits until what has come satisfies, or the other side closes. */
  async until(satisfied: (received: string) => boolean): Promise<string> {
    while (!satisfied(this.text) && !this.closed)
      await new Promise<void>((resolve) => this.waiters.push(resolve));
    return this.text;
  }

  /** Waits for the other side to close. */
  untilClosed(): Promise<string> {
    return this.until(() => false);
  }

  pause(): void {
    this.socket.pause();
  }

  resume(): void {
    this.socket.resume();
  }

  /** Leaves without a word. */
  leave(): void {
    this.socket.destroy();
  }
}

/** Sends raw bytes and gives all that comes back until the server closes. */
export async function speak(port: number, bytes: string | Uint8Array): Promise<string> {
  const wire = new Wire(port);
  await wire.send(bytes);
  const text = await wire.untilClosed();
  wire.leave();
  return text;
}

/** Status of a raw answer. */
export const statusOf = (answer: string): number => Number(/^HTTP\/1\.1 (\d{3})/.exec(answer)?.[1] ?? 0);

/** Waits until something holds; the test runner's own limit ends what never does. */
export async function eventually(holds: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await holds())) await new Promise((resolve) => setTimeout(resolve, 5));
}

/** A port that nobody listens on. */
export async function freePort(): Promise<number> {
  const holder = net.createServer();
  await new Promise<void>((resolve) => holder.listen(0, "127.0.0.1", resolve));
  const { port } = holder.address() as net.AddressInfo;
  await new Promise((resolve) => holder.close(resolve));
  return port;
}

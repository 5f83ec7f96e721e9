import { once } from "node:events";
import net from "node:net";
import tls from "node:tls";
import type pg from "pg";

/** Cancels statements by cancel requests of PostgreSQL's protocol, which need no session of their own. */

/** Connections that cancel at once: many aborted statements must not become many connections. */
const mostAtOnce = 2;
/** Longest time that a cancel request takes. */
const timeoutMs = 5_000;
/** After this time a statement that still runs is cancelled again: it may not have begun when the first request came. */
const repeatMs = 500;

/** The cancelling of what runs on one connection. */
export interface Cancelling {
  /**
   * To be called once the statement has ended. A request that was not sent yet is dropped.
   * @returns whether another statement may run on the connection: false when a request may still reach the server
   */
  end(): Promise<boolean>;
}

interface Task {
  readonly client: pg.ClientBase;
  hasEnded: boolean;
  /** The request that is being sent. */
  sending: Promise<void> | undefined;
  isSafe: boolean;
  timer: NodeJS.Timeout | undefined;
}

export class CancelRequests {
  private readonly waiting = new Set<Task>();
  private running = 0;
  private sentRequests = 0;

  /** Requests that were sent. */
  get sent(): number {
    return this.sentRequests;
  }

  /** Cancels the running statement of the connection, until `end` is called. At most one `Cancelling` for each connection. */
  start(client: pg.ClientBase): Cancelling {
    const task: Task = { client, hasEnded: false, sending: undefined, isSafe: true, timer: undefined };
    this.add(task);
    return {
      end: async () => {
        task.hasEnded = true;
        clearTimeout(task.timer);
        this.waiting.delete(task);
        await task.sending;
        return task.isSafe;
      },
    };
  }

  private add(task: Task): void {
    this.waiting.add(task);
    this.sendNext();
  }

  private sendNext(): void {
    if (this.running >= mostAtOnce) return;
    const [task] = this.waiting;
    if (!task) return;
    this.waiting.delete(task);
    this.running++;
    task.sending = this.send(task).finally(() => {
      this.running--;
      task.sending = undefined;
      if (!task.hasEnded) task.timer = setTimeout(() => this.add(task), repeatMs).unref();
      this.sendNext();
    });
  }

  private async send(task: Task): Promise<void> {
    const address = addressOf(task.client);
    if (!address) return;
    this.sentRequests++;
    try {
      await sendRequest(address);
    } catch {
      // The server may have got the request and not have acted on it. Else the statement timeout ends the statement.
      task.isSafe = false;
    }
  }
}

interface Address {
  readonly path?: string;
  readonly host: string;
  readonly port: number;
  readonly ssl: boolean | tls.ConnectionOptions;
  readonly processId: number;
  readonly secretKey: number;
}

/** What `pg.Client` knows beyond its types. */
interface ClientInternals {
  readonly host: string;
  readonly port: number;
  readonly ssl: boolean | tls.ConnectionOptions;
  readonly processID: number | null;
  readonly secretKey: number | null;
}

/** Undefined when there is no session yet. */
function addressOf(client: pg.ClientBase): Address | undefined {
  const { host, port, ssl, processID, secretKey } = client as unknown as ClientInternals;
  if (processID === null || secretKey === null) return undefined;
  const known = { host, port, ssl, processId: processID, secretKey };
  return host.startsWith("/") ? { ...known, path: `${host}/.s.PGSQL.${port}` } : known;
}

const message = (...words: readonly number[]): Buffer => {
  const bytes = Buffer.alloc(4 + 4 * words.length);
  for (const [at, word] of [bytes.length, ...words].entries()) bytes.writeInt32BE(word, 4 * at);
  return bytes;
};
const cancelCode = 80877102;
const sslCode = 80877103;

/**
 * Sends a cancel request. The server closes the connection when it has signalled the session, so that a statement which
 * begins after this has resolved is not cancelled.
 * @throws Error when it is not known what became of the request
 */
async function sendRequest({ path, host, port, ssl, processId, secretKey }: Address): Promise<void> {
  const raw = path === undefined ? net.connect(port, host) : net.connect(path);
  const signal = AbortSignal.timeout(timeoutMs);
  let socket: net.Socket = raw;
  try {
    await once(raw, "connect", { signal });
    if (ssl && path === undefined) {
      raw.write(message(sslCode));
      const [reply] = (await once(raw, "data", { signal })) as [Buffer];
      if (reply.toString() !== "S") throw new Error("The server does not encrypt connections.");
      const options = ssl === true ? {} : ssl;
      socket = tls.connect({
        ...options,
        socket: raw,
        host,
        ...(net.isIP(host) ? {} : { servername: host }),
      });
      await once(socket, "secureConnect", { signal });
    }
    const closed = once(socket, "close", { signal });
    socket.resume();
    socket.write(message(cancelCode, processId, secretKey));
    await closed;
  } finally {
    socket.destroy();
    raw.destroy();
  }
}

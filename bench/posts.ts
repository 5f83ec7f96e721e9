import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { answerParent } from "./child.js";
import type { Done } from "./throughput.js";

/**
 * Clients that post JSON, one request after the other on a connection each, in a process of their own that stays the
 * same from round to round. They do as little as pgbench, which they are compared with: the requests are bytes that are
 * ready, and of an answer its status and length are looked at.
 */

export interface PostsRequest {
  readonly host: string;
  readonly port: number;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Posted in turn. */
  readonly bodies: readonly string[];
  readonly clients: number;
  readonly seconds: number;
}

function requestBytes({ host, port, path, headers }: PostsRequest, body: string): Buffer {
  const lines = Object.entries({ ...headers, "content-length": Buffer.byteLength(body) });
  const head = lines.map(([name, value]) => `${name}: ${value}\r\n`).join("");
  return Buffer.from(`POST ${path} HTTP/1.1\r\nhost: ${host}:${port}\r\n${head}\r\n${body}`);
}

/** Sends one request and waits for the whole answer. @throws Error when it is not 200 */
function post(socket: Socket, request: Buffer): Promise<void> {
  return new Promise((resolve, reject) => {
    let received: Buffer | undefined;
    const settle = (error?: Error) => {
      socket.removeAllListeners("data").removeAllListeners("close");
      if (error) reject(error);
      else resolve();
    };
    socket.on("close", () => settle(new Error("The server closed a connection.")));
    socket.on("data", (chunk: Buffer) => {
      received = received ? Buffer.concat([received, chunk]) : chunk;
      const end = received.indexOf("\r\n\r\n");
      if (end < 0) return;
      const head = received.toString("latin1", 0, end);
      const length = Number(/\r\ncontent-length: (\d+)/i.exec(head)?.[1]);
      if (received.length < end + 4 + length) return;
      settle(head.startsWith("HTTP/1.1 200 ") ? undefined : new Error(received.toString()));
    });
    socket.write(request);
  });
}

answerParent<PostsRequest, Done>(async (asked) => {
  const requests = asked.bodies.map((body) => requestBytes(asked, body));
  const started = performance.now();
  const until = started + asked.seconds * 1000;
  let answers = 0;
  const client = async () => {
    const socket = connect({ host: asked.host, port: asked.port, noDelay: true });
    socket.on("error", () => undefined); // told by `close`
    try {
      await once(socket, "connect");
      do {
        await post(socket, requests[answers % requests.length]!);
        answers++;
      } while (performance.now() < until);
    } finally {
      socket.destroy();
    }
  };
  await Promise.all(Array.from({ length: asked.clients }, client));
  return { count: answers, seconds: (performance.now() - started) / 1000 };
});

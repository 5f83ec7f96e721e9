import { createServer, type IncomingHttpHeaders } from "node:http";

/** An HTTP server that notes what it is sent, in place of a service of the internet. */

export interface Sent {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  /** Parsed JSON; undefined when there is no body. */
  readonly body: any;
  /** In ms of `performance.now()`. */
  readonly at: number;
}

export interface Answered {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
}

export interface NotingServer {
  readonly url: string;
  readonly sent: Sent[];
  /** What it answers; changed by tests. */
  answer: (sent: Sent) => Answered | Promise<Answered>;
  stop(): Promise<void>;
}

export async function startNoting(): Promise<NotingServer> {
  const sent: Sent[] = [];
  const noting = { sent, answer: (): Answered => ({ status: 200, body: { success: true } }) } as unknown as {
    -readonly [Key in keyof NotingServer]: NotingServer[Key];
  };
  const server = createServer(async (request, response) => {
    let text = "";
    for await (const chunk of request) text += chunk;
    const { method = "", url = "", headers } = request;
    const one = {
      ...{ method, path: url, headers },
      body: text === "" ? undefined : JSON.parse(text),
      at: performance.now(),
    };
    sent.push(one);
    const { status, headers: answered, body } = await noting.answer(one);
    response.writeHead(status, { "content-type": "application/json", ...answered });
    response.end(body === undefined ? "" : JSON.stringify(body));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  noting.url = `http://127.0.0.1:${(server.address() as { port: number }).port}`;
  noting.stop = () =>
    new Promise((resolve) => {
      server.close(() => resolve());
      server.closeAllConnections();
    });
  return noting;
}

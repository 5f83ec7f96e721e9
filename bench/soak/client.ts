import { Agent, request } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import type { Tally } from "./tally.js";

/** A well-behaved client: its requests are sent again as the documentation tells. */

export interface Ask {
  /** Class that its time counts for. */
  readonly as: string;
  readonly path: string;
  readonly method?: string;
  /** Sent as JSON. */
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly token?: boolean;
  /** A code of errors after which nothing was done, and it may be sent again. */
  readonly undone?: string;
}

export interface Answer {
  readonly status: number;
  readonly body: Buffer;
}

export interface ClientOptions {
  /** Of the nodes, the one that it prefers first. */
  readonly urls: readonly string[];
  /** Address that it comes from, as the proxy tells. */
  readonly address: string;
  readonly tally: Tally;
  /** Path of the sign-in, and who signs in. */
  readonly login: { readonly path: string; readonly user: string; readonly pass: string };
}

/** A request that is not answered by then, with all its retries, is lost. */
const patienceMs = 60_000;
/** After a connection that was refused or broke. */
const pauseMs = 100;

/** Why a request did not succeed, and after which pause it may be sent again; undefined = not at all. */
interface Refusal {
  readonly reason: string;
  readonly againMs: number | undefined;
}

export class Client {
  private readonly agent = new Agent({ keepAlive: true, maxSockets: 4 });
  private token: string | undefined;
  private node = 0;

  constructor(private readonly options: ClientOptions) {}

  /** Sends a request until it is answered 200. @returns undefined when it is lost, which is counted */
  async ask(ask: Ask): Promise<Answer | undefined> {
    const { tally } = this.options;
    const asked = performance.now();
    let retries = 0;
    for (;;) {
      const left = patienceMs - (performance.now() - asked);
      const result = await this.attempt(ask, left);
      if (!("againMs" in result)) {
        tally.done(ask.as, performance.now() - asked, retries);
        return result;
      }
      if (result.againMs === undefined || left < result.againMs) {
        tally.lost(ask.as, `${ask.method ?? "GET"} ${ask.path}: ${result.reason}, after ${retries} retries`);
        return undefined;
      }
      retries++;
      await sleep(result.againMs);
    }
  }

  /** The answer as JSON; undefined when the request is lost. */
  async json<T>(ask: Ask): Promise<T | undefined> {
    const answer = await this.ask(ask);
    return answer && (JSON.parse(answer.body.toString()) as T);
  }

  /** Opens a session anew with the next request that needs one. */
  forget(): void {
    this.token = undefined;
  }

  /** The token of its session. @throws Error when it cannot sign in */
  async signedIn(): Promise<string> {
    this.token ??= await this.signIn();
    if (this.token === undefined) throw new Error(`${this.options.login.user} cannot sign in`);
    return this.token;
  }

  close(): void {
    this.agent.destroy();
  }

  private async attempt(ask: Ask, left: number): Promise<Answer | Refusal> {
    if (ask.token) this.token ??= await this.signIn();
    let sent: { status: number; retryAfter: string | undefined; body: Buffer };
    try {
      sent = await this.send(ask, left);
    } catch (error) {
      // A load balancer would take the other node, too.
      this.node++;
      return { reason: (error as Error).message, againMs: pauseMs };
    }
    const { status, retryAfter, body } = sent;
    if (status === 200) return { status, body };
    const reason = `${status} ${body.toString("utf8", 0, 300)}`;
    if (status === 503) return { reason, againMs: 1000 * (Number(retryAfter) || 1) };
    if (status === 401 && ask.token) {
      this.token = undefined;
      return { reason, againMs: 0 };
    }
    if (status === 500 && ask.undone !== undefined && codeOf(body) === ask.undone)
      return { reason, againMs: pauseMs };
    return { reason, againMs: undefined };
  }

  /** Opens a session. @returns its token; undefined when the request is lost */
  async signIn(): Promise<string | undefined> {
    const { path, user, pass } = this.options.login;
    const answer = await this.json<{ token: string }>({
      as: "login",
      path,
      method: "POST",
      body: { user, pass },
    });
    return answer?.token;
  }

  private send(ask: Ask, timeoutMs: number) {
    const { urls, address } = this.options;
    const url = urls[this.node % urls.length]! + ask.path;
    const body = ask.body === undefined ? undefined : Buffer.from(JSON.stringify(ask.body));
    const headers = {
      "x-forwarded-for": address,
      ...(ask.token && this.token !== undefined ? { "x-token": this.token } : {}),
      ...(body ? { "content-type": "application/json", "content-length": String(body.length) } : {}),
      ...ask.headers,
    };
    return new Promise<{ status: number; retryAfter: string | undefined; body: Buffer }>(
      (resolve, reject) => {
        const sent = request(url, { method: ask.method ?? "GET", agent: this.agent, headers }, (response) => {
          const chunks: Buffer[] = [];
          response.on("data", (chunk: Buffer) => chunks.push(chunk));
          response.on("error", reject);
          response.on("end", () =>
            resolve({
              status: response.statusCode ?? 0,
              retryAfter: response.headers["retry-after"],
              body: Buffer.concat(chunks),
            }),
          );
        });
        sent.on("error", reject);
        sent.setTimeout(Math.max(1, timeoutMs), () => sent.destroy(new Error("no answer in time")));
        sent.end(body);
      },
    );
  }
}

function codeOf(body: Buffer): unknown {
  try {
    return (JSON.parse(body.toString()) as { code?: unknown }).code;
  } catch {
    return undefined;
  }
}

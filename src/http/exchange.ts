import type { HttpResponse } from "uWebSockets.js";
import { Failure, notFound, tooLarge } from "../errors.js";
import type { Log } from "../log.js";
import { clientName, isPlain, RequestBody } from "./body.js";
import { Channel } from "./channel.js";
import { errorAnswer } from "./errors.js";
import { addressText, type ForwardedReader } from "./forwarded.js";
import { type OwnHeaders, ownHeaders } from "./headers.js";
import { ClientLeft, IncomingBody } from "./incoming.js";
import { parseQuery } from "./query.js";
import { BrokenStream, type ReplyContext, sendReply, sendWhole } from "./reply.js";
import { HandledRequest, type RequestHead } from "./request.js";
import type { Router } from "./router.js";
import type { Headers, Method } from "./types.js";
import { TempFiles } from "./uploads.js";

/** What answering a request needs of its server. */
export interface ExchangeContext<S> {
  readonly router: Router<S>;
  readonly services: S;
  readonly log: Log;
  readonly forwarded: ForwardedReader;
  /** Path prefix under which the server is known outside, "" or `/geo`. */
  readonly prefix: string;
  /** Folder for temporary files. */
  readonly tempDir: string;
  readonly maxBodyBytes: number;
  readonly maxUploadBytes: number;
}

/** A request as the library hands it over. */
export interface Arrival {
  readonly id: string;
  readonly res: HttpResponse;
  readonly head: RequestHead;
  /** The server is closing: the answer asks the client not to send more on its connection. */
  readonly last: boolean;
}

/** What became of a request. */
export interface Outcome {
  /** Path of its route; "" when none was found. */
  readonly route: string;
  /** 499 when the client left before there was an answer. */
  readonly status: number;
}

const closes = /(^|,)\s*close\s*(,|$)/i;
const allMethods: readonly Method[] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];

/**
 * One request on its way from the route to the last byte of its answer. Never rejects.
 * Until its first `await` it runs in the tick in which the request arrived, where the library wants its listeners.
 */
export const answerRequest = <S>(context: ExchangeContext<S>, arrival: Arrival): Promise<Outcome> =>
  new Exchange(context, arrival).answer();

class Exchange<S> implements ReplyContext {
  readonly channel: Channel;
  readonly own: OwnHeaders;
  private readonly request: RequestHead;
  private readonly header: (name: string) => string | undefined;
  private readonly incoming: IncomingBody;
  private readonly temp: TempFiles;
  private readonly peer: string;
  private route = "";

  constructor(
    private readonly context: ExchangeContext<S>,
    private readonly arrival: Arrival,
  ) {
    const { id, res, head, last } = arrival;
    this.request = head;
    this.header = (name) => head.headers.get(name);
    this.channel = new Channel(res);
    this.incoming = new IncomingBody(res, head.bodyBytes);
    this.channel.onLeft(() => this.incoming.abort());
    this.peer = addressText(new Uint8Array(res.getRemoteAddress()));
    this.temp = new TempFiles(context.tempDir, head.headers.has("idempotency-key"));
    this.own = ownHeaders(id, last);
  }

  get head(): boolean {
    return this.request.method === "HEAD";
  }

  get ifNoneMatch(): string | undefined {
    const { method } = this.request;
    // A write that was done is answered, whatever the client has.
    return method === "GET" || method === "HEAD" ? this.header("if-none-match") : undefined;
  }

  restOfBody(): Promise<void> | undefined {
    if (this.incoming.complete || !closes.test(this.header("connection") ?? "")) return undefined;
    return this.incoming.untilEnd();
  }

  starting(): void {
    this.incoming.drop();
  }

  async answer(): Promise<Outcome> {
    try {
      const sent = await this.handle();
      return { route: this.route, status: this.channel.left ? 499 : sent };
    } catch (error) {
      return { route: this.route, status: await this.fail(error) };
    } finally {
      if (!this.temp.empty) await this.removeFiles();
    }
  }

  private async handle(): Promise<number> {
    const { context, request, incoming, header } = this;
    const found = context.router.find(withoutPrefix(request.path, context.prefix), request.method);
    if (request.method === "OPTIONS") return sendWhole(204, "", preflight(found), this);
    if (!("route" in found)) {
      if (found.length === 0) throw notFound("such address");
      return this.sendError(
        new Failure("method_not_allowed", undefined, "This address does not know that method."),
        { allow: found.join(", ") },
      );
    }
    this.route = found.route.path;
    if (!incoming.empty && !isPlain(header("content-encoding"))) {
      throw new Failure("unsupported_encoding", undefined, "Compressed bodies are not accepted.");
    }
    if ((request.bodyBytes ?? 0) > Math.max(context.maxBodyBytes, context.maxUploadBytes)) {
      throw tooLarge("The body is larger than this server accepts.");
    }
    const handled = new HandledRequest({
      id: this.arrival.id,
      head: request,
      params: found.params,
      query: parseQuery(request.query),
      header,
      body: new RequestBody(
        incoming,
        { contentType: header("content-type") ?? "", clientName: clientName(header("x-filename")) },
        { memoryBytes: context.maxBodyBytes, fileBytes: context.maxUploadBytes, temp: this.temp },
        found.route.takes,
      ),
      client: context.forwarded.read(this.peer, header),
      channel: this.channel,
    });
    // Handlers may answer at once or later, and may throw either way.
    return sendReply(await found.route.handler(handled, context.services), this);
  }

  private sendError(error: unknown, extra: Headers = {}): Promise<number> | number {
    const { id } = this.arrival;
    const answer = errorAnswer(error, { requestId: id, accept: this.header("accept") });
    if (answer.unexpected) this.context.log.error({ err: error, request: id }, "a request failed");
    return sendWhole(answer.status, answer.body, { ...answer.headers, ...extra }, this);
  }

  /** Answers an error as far as that can still be done. @returns the status that the request counts under */
  private async fail(error: unknown): Promise<number> {
    const { channel, context } = this;
    const request = this.arrival.id;
    if (error instanceof BrokenStream) {
      context.log.error({ err: error.cause, request }, "an answer broke off");
      return 500;
    }
    if (!channel.open) {
      // A handler that fails because its client left has nothing to say; any other failure is worth knowing.
      if (!channel.left || !isConsequenceOfLeaving(error))
        context.log.warn({ err: error, request }, "failed after the end");
      return 499;
    }
    try {
      return await this.sendError(error);
    } catch (failure) {
      context.log.error({ err: failure, request }, "an error could not be answered");
      channel.destroy();
      return 500;
    }
  }

  private async removeFiles(): Promise<void> {
    await this.temp.remove().catch((error: unknown) => {
      this.context.log.warn({ err: error, request: this.arrival.id }, "temporary files could not be removed");
    });
  }
}

const isConsequenceOfLeaving = (error: unknown): boolean =>
  error instanceof ClientLeft ||
  error instanceof Failure ||
  (error instanceof Error && error.name === "AbortError") ||
  (typeof error === "object" && error !== null && "code" in error && error.code === "57014");

/** The path as routes know it: a proxy may pass the public prefix on, or take it away. */
function withoutPrefix(path: string, prefix: string): string {
  if (prefix === "" || !path.startsWith(prefix)) return path;
  const rest = path.slice(prefix.length);
  return rest === "" ? "/" : rest.startsWith("/") ? rest : path;
}

function preflight<S>(found: ReturnType<Router<S>["find"]>): Headers {
  const methods = "route" in found ? found.route.methods : found.length > 0 ? found : allMethods;
  const allowed = methods.join(", ");
  return {
    allow: allowed,
    "access-control-allow-methods": allowed,
    // The asterisk does not cover Authorization, and older browsers do not know it.
    "access-control-allow-headers":
      "Accept, Accept-Language, Authorization, Content-Type, Idempotency-Key, If-Match, If-None-Match, X-Filename, X-Requested-With, X-Token, *",
    "access-control-max-age": "86400",
    "cache-control": "no-store",
  };
}

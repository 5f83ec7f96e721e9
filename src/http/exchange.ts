import type { HttpResponse } from "uWebSockets.js";
import { Failure, notFound, tooLarge } from "../errors.js";
import type { Log } from "../log.js";
import { clientName, isUncompressed, RequestBody } from "./body.js";
import type { BodyQueue } from "./body-queue.js";
import { type CachedReply, cachedRoute, keptFor, sendKept } from "./cached.js";
import { errorResponse, isCancelledQuery } from "./errors.js";
import { addressText, type ForwardedReader, pathPrefix } from "./forwarded.js";
import { asksToClose, type BaseHeaders, baseHeaders } from "./headers.js";
import { ClientDisconnected, IncomingBody } from "./incoming.js";
import { parseQuery } from "./query.js";
import type { Receiving } from "./receiving.js";
import { type ReplyContext, StreamError, sendReply, sendWhole } from "./reply.js";
import { HandledRequest, type RequestHead } from "./request.js";
import type { RequestQueue } from "./request-queue.js";
import { ResponseWriter } from "./response-writer.js";
import type { Router } from "./router.js";
import type { TempSpace } from "./temp-space.js";
import { type Headers, isReading, type Method } from "./types.js";
import { TempFiles } from "./uploads.js";

/** What handling a request needs of its server. */
export interface ExchangeContext<S> {
  readonly router: Router<S>;
  readonly services: S;
  readonly log: Log;
  /** The cached public response of a raw path and query. */
  readonly cached: (path: string, query: string) => CachedReply | undefined;
  readonly forwarded: ForwardedReader;
  /** Path prefix of the public URL, "" or for example `/geo`. */
  readonly prefix: string;
  /** Folder for temporary files. */
  readonly tempDir: string;
  readonly maxBodyBytes: number;
  readonly maxUploadBytes: number;
  /** Memory of all bodies. */
  readonly receiving: Receiving;
  readonly bodyQueue: BodyQueue;
  /** Disk of all uploaded files. */
  readonly tempSpace: TempSpace;
}

/** A request as the library delivers it. */
export interface IncomingRequest {
  readonly id: string;
  readonly res: HttpResponse;
  readonly head: RequestHead;
  /** The server is closing, or the client asked to: the response has `Connection: close`. */
  readonly last: boolean;
}

/** The result of a request, for logs and metrics. */
export interface Outcome {
  /** Path of the route; "" when none was found. */
  readonly route: string;
  /** 499 when the client disconnected before the end of the response. */
  readonly status: number;
}

const allMethods: readonly Method[] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];

/**
 * Handles one request, from the route to the last byte of the response. Never rejects.
 * Must be called synchronously in the request handler of the library, where listeners must be added.
 * @param queue in which it waits to begin; absent = it begins at once
 */
export function handleRequest<S>(
  context: ExchangeContext<S>,
  incomingRequest: IncomingRequest,
  queue?: RequestQueue,
): Promise<Outcome> {
  const exchange = new Exchange(context, incomingRequest);
  if (!queue) return exchange.answer();
  return new Promise((resolve) => {
    queue.wait(exchange.client, () => resolve(exchange.answer({ hasWaited: true })));
  });
}

class Exchange<S> implements ReplyContext {
  readonly writer: ResponseWriter;
  readonly base: BaseHeaders;
  private readonly request: RequestHead;
  private readonly header: (name: string) => string | undefined;
  private readonly incoming: IncomingBody;
  private readonly temp: TempFiles;
  private readonly peer: string;
  private route = "";

  constructor(
    private readonly context: ExchangeContext<S>,
    private readonly incomingRequest: IncomingRequest,
  ) {
    const { id, res, head, last } = incomingRequest;
    this.request = head;
    this.header = (name) => head.headers.get(name);
    const turn = () => new Promise<void>((goOn) => context.bodyQueue.wait(this.client, goOn));
    this.writer = new ResponseWriter(res, turn);
    this.incoming = new IncomingBody(res, head.bodyBytes, {
      receiving: context.receiving,
      bodyQueue: context.bodyQueue,
      client: () => this.client,
    });
    this.writer.onDisconnect(() => this.incoming.abort());
    this.peer = addressText(new Uint8Array(res.getRemoteAddress()));
    this.temp = new TempFiles(context.tempDir, context.tempSpace, head.headers.has("idempotency-key"));
    this.base = baseHeaders(id, last);
  }

  /** The client's address. */
  get client(): string {
    return this.context.forwarded.read(this.peer, this.header).remoteAddress;
  }

  get head(): boolean {
    return this.request.method === "HEAD";
  }

  get ifNoneMatch(): string | undefined {
    const { method } = this.request;
    // Not for writes: their response is always sent.
    return isReading(method) ? this.header("if-none-match") : undefined;
  }

  get acceptEncoding(): string | undefined {
    return this.header("accept-encoding");
  }

  restOfBody(): Promise<void> | undefined {
    if (this.incoming.complete || !asksToClose(this.header("connection"))) return undefined;
    return this.incoming.untilEnd();
  }

  beforeSend(): void {
    this.incoming.discard();
  }

  async answer({ hasWaited = false } = {}): Promise<Outcome> {
    try {
      const sent = await ((hasWaited ? this.sendKept() : undefined) ?? this.handle());
      return { route: this.route, status: this.writer.disconnected ? 499 : sent };
    } catch (error) {
      return { route: this.route, status: await this.fail(error) };
    } finally {
      this.incoming.release();
      if (!this.temp.empty) await this.removeFiles();
    }
  }

  /** Sends what is kept for the address, which was not looked for when the request came. */
  private sendKept(): Promise<number> | number | undefined {
    const { request, writer } = this;
    // It left while it waited to begin.
    if (writer.disconnected) throw new ClientDisconnected();
    const reply = keptFor(request, this.context.cached);
    if (!reply) return undefined;
    this.route = cachedRoute;
    this.beforeSend();
    return sendKept({ head: request, writer, last: this.incomingRequest.last }, reply);
  }

  private async handle(): Promise<number> {
    const { context, request, incoming, header } = this;
    const found = context.router.find(withoutPrefix(request.path, context.prefix), request.method);
    if (request.method === "OPTIONS") return sendWhole(204, "", preflight(found), this);
    if (!("route" in found)) {
      if (found.length === 0) throw notFound("such address");
      const allow = found.join(", ");
      return this.sendError(
        new Failure("method_not_allowed", undefined, `This address supports only ${allow}.`),
        { allow },
      );
    }
    this.route = found.route.path;
    if (!incoming.empty && !isUncompressed(header("content-encoding"))) {
      throw new Failure("unsupported_encoding", undefined, "Compressed bodies are not accepted.");
    }
    if ((request.bodyBytes ?? 0) > Math.max(context.maxBodyBytes, context.maxUploadBytes)) {
      throw tooLarge("The body is larger than this server accepts.");
    }
    const handled = new HandledRequest({
      id: this.incomingRequest.id,
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
      writer: this.writer,
    });
    // Handlers may be synchronous or asynchronous.
    return sendReply(await found.route.handler(handled, context.services), this);
  }

  private sendError(error: unknown, extra: Headers = {}): Promise<number> | number {
    const { id } = this.incomingRequest;
    const header = (name: string) => this.header(name);
    const prefix = pathPrefix(this.context.forwarded.read(this.peer, header).baseUrl);
    const answer = errorResponse(error, { requestId: id, accept: header("accept"), prefix });
    if (answer.unexpected)
      this.context.log[error instanceof Failure ? "warn" : "error"](
        { err: error, request: id },
        "a request failed",
      );
    return sendWhole(answer.status, answer.body, { ...answer.headers, ...extra }, this);
  }

  /** Sends an error response if that is still possible. @returns the status for logs and metrics */
  private async fail(error: unknown): Promise<number> {
    const { writer, context } = this;
    const request = this.incomingRequest.id;
    if (error instanceof StreamError) {
      const level = isCancelledQuery(error.cause) ? "warn" : "error";
      context.log[level]({ err: error.cause, request }, "a response stream failed");
      return 500;
    }
    if (!writer.open) {
      // Errors that follow from the disconnection are not logged.
      if (!writer.disconnected || !followsDisconnect(error))
        context.log.warn({ err: error, request }, "a request failed after its response had ended");
      return 499;
    }
    try {
      return await this.sendError(error);
    } catch (failure) {
      context.log.error({ err: failure, request }, "an error response could not be sent");
      writer.destroy();
      return 500;
    }
  }

  private async removeFiles(): Promise<void> {
    await this.temp.remove().catch((error: unknown) => {
      this.context.log.warn(
        { err: error, request: this.incomingRequest.id },
        "temporary files could not be removed",
      );
    });
  }
}

const followsDisconnect = (error: unknown): boolean =>
  error instanceof ClientDisconnected ||
  error instanceof Failure ||
  (error instanceof Error && error.name === "AbortError") ||
  isCancelledQuery(error);

/** The path without the public prefix, which a proxy may keep or remove. */
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
    // The wildcard does not cover Authorization, and older browsers do not support it.
    "access-control-allow-headers":
      "Accept, Accept-Language, Authorization, Content-Type, Idempotency-Key, If-Match, If-None-Match, If-Range, Range, X-Filename, X-Requested-With, X-Token, X-Unattended, *",
    "access-control-max-age": "86400",
    "cache-control": "no-store",
  };
}

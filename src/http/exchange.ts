import type { HttpResponse } from "uWebSockets.js";
import { Failure, notFound, tooLarge } from "../errors.js";
import type { Log } from "../log.js";
import { clientName, isPlain, RequestBody } from "./body.js";
import { Channel } from "./channel.js";
import { errorAnswer } from "./errors.js";
import { addressText, type ForwardedReader } from "./forwarded.js";
import { commonHeaders } from "./headers.js";
import { ClientLeft, IncomingBody } from "./incoming.js";
import { parseQuery } from "./query.js";
import { BrokenStream, type ReplyContext, sendReply, sendWhole } from "./reply.js";
import { makeRequest, type RequestHead } from "./request.js";
import type { Router } from "./router.js";
import type { Headers, Method, Reply, Request } from "./types.js";
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

const allMethods: readonly Method[] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];

/**
 * One request on its way from the route to the last byte of its answer. Never rejects.
 * Until its first `await` it runs in the tick in which the request arrived, where the library wants its listeners.
 */
export async function answerRequest<S>(context: ExchangeContext<S>, arrival: Arrival): Promise<Outcome> {
  const { log } = context;
  const { id, res, head, last } = arrival;
  const channel = new Channel(res);
  const incoming = new IncomingBody(res, head.bodyBytes);
  channel.onLeft(() => incoming.abort());
  const peer = addressText(new Uint8Array(res.getRemoteAddress()));
  const temp = new TempFiles(context.tempDir);
  const reply: ReplyContext = {
    channel,
    head: head.method === "HEAD",
    ifNoneMatch: head.headers.get("if-none-match"),
    own: last
      ? { ...commonHeaders, "x-request-id": id, connection: "close" }
      : { ...commonHeaders, "x-request-id": id },
    starting: () => incoming.drop(),
  };
  let route = "";

  const handle = async (): Promise<number> => {
    const found = context.router.find(withoutPrefix(head.path, context.prefix), head.method);
    if (head.method === "OPTIONS") return sendWhole(204, "", preflight(found), reply);
    if (!("route" in found)) {
      if (found.length === 0) throw notFound("such address");
      return sendError(
        new Failure("method_not_allowed", undefined, "This address does not know that method."),
        {
          allow: found.join(", "),
        },
      );
    }
    route = found.route.path;
    if (!incoming.empty && !isPlain(head.headers.get("content-encoding"))) {
      throw new Failure("unsupported_encoding", undefined, "Compressed bodies are not accepted.");
    }
    if ((head.bodyBytes ?? 0) > Math.max(context.maxBodyBytes, context.maxUploadBytes)) {
      throw tooLarge("The body is larger than this server accepts.");
    }
    const request = makeRequest({
      id,
      head,
      params: found.params,
      query: parseQuery(head.query),
      body: new RequestBody(
        incoming,
        {
          contentType: head.headers.get("content-type") ?? "",
          clientName: clientName(head.headers.get("x-filename")),
        },
        { memoryBytes: context.maxBodyBytes, fileBytes: context.maxUploadBytes },
        temp,
      ),
      ...context.forwarded.read(peer, (name) => head.headers.get(name)),
      channel,
    });
    return sendReply(await run(found.route.handler, request, context.services), reply);
  };

  const sendError = async (error: unknown, extra: Headers = {}): Promise<number> => {
    const answer = errorAnswer(error, { requestId: id, accept: head.headers.get("accept") });
    if (answer.unexpected) log.error({ err: error, request: id }, "a request failed");
    return sendWhole(answer.status, answer.body, { ...answer.headers, ...extra }, reply);
  };

  try {
    const status = await handle();
    return { route, status: channel.left ? 499 : status };
  } catch (error) {
    if (error instanceof BrokenStream) {
      log.error({ err: error.cause, request: id }, "an answer broke off");
      return { route, status: 500 };
    }
    if (!channel.open) {
      // A handler that fails because its client left has nothing to say; any other failure is worth knowing.
      if (!channel.left || !isConsequenceOfLeaving(error))
        log.warn({ err: error, request: id }, "failed after the end");
      return { route, status: 499 };
    }
    try {
      return { route, status: await sendError(error) };
    } catch (failure) {
      log.error({ err: failure, request: id }, "an error could not be answered");
      channel.destroy();
      return { route, status: 500 };
    }
  } finally {
    await temp.remove().catch((error: unknown) => {
      log.warn({ err: error, request: id }, "temporary files could not be removed");
    });
  }
}

/** Handlers may answer at once or later, and may throw either way. */
async function run<S>(
  handler: (request: Request, services: S) => Promise<Reply> | Reply,
  request: Request,
  services: S,
): Promise<Reply> {
  return handler(request, services);
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
      "Accept, Accept-Language, Authorization, Content-Type, If-None-Match, X-Filename, X-Requested-With, X-Token, *",
    "access-control-max-age": "86400",
    "cache-control": "no-store",
  };
}

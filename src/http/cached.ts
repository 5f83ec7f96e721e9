import type { HttpRequest, HttpResponse } from "uWebSockets.js";
import {
  acceptsGzip,
  asksToClose,
  commonHeaders,
  matchesEtag,
  notModifiedHeaders,
  responseHead,
} from "./headers.js";
import type { RequestHead } from "./request.js";
import type { ResponseWriter } from "./response-writer.js";
import { statusLine } from "./status.js";
import { type Headers, isReading } from "./types.js";

/** Fast path: cached public responses, found by the raw URL and sent without parsing the request. */

/** Status line and headers of the 200 and the 304, as bytes. */
export interface PrebuiltHeaders {
  readonly head200: Uint8Array;
  readonly head304: Uint8Array;
}

/** A response whose bytes are all ready. */
export interface CachedReply extends PrebuiltHeaders {
  /** With quotes. */
  readonly etag: string;
  /** Must not be a view of a pooled buffer. */
  readonly body: Uint8Array;
  /** How the body is compressed; absent = it is not. */
  readonly encoding?: "gzip" | undefined;
}

/**
 * Encodes the headers of a cached response, with the common headers.
 * @param headers of the 200 with lower-case names, including `etag` and `content-type`
 * @throws Error when a name is not a token or a value has characters other than printable ASCII
 */
export function prebuildHeaders(headers: Headers): PrebuiltHeaders {
  const whole = { ...headers, ...commonHeaders };
  return {
    head200: responseHead(statusLine(200), whole),
    head304: responseHead(statusLine(304), notModifiedHeaders(whole)),
  };
}

/** A cached response whose headers are encoded when it is first sent, since many tiles are requested only once. */
export class CachedAnswer implements CachedReply {
  private heads: PrebuiltHeaders | undefined;

  /** @param headers as for `prebuildHeaders`, whose errors are thrown when the response is sent */
  constructor(
    readonly etag: string,
    readonly body: Uint8Array,
    readonly headers: Headers,
    readonly encoding?: "gzip",
  ) {}

  get head200(): Uint8Array {
    this.heads ??= prebuildHeaders(this.headers);
    return this.heads.head200;
  }

  get head304(): Uint8Array {
    this.heads ??= prebuildHeaders(this.headers);
    return this.heads.head304;
  }
}

// As bytes, since the library converts strings on each call (measured: five conversions add 25 % CPU time to a request).
const name = (text: string) => new Uint8Array(Buffer.from(text));
const authorization = name("authorization");
const xToken = name("x-token");
const contentLength = name("content-length");
const transferEncoding = name("transfer-encoding");
const ifNoneMatch = name("if-none-match");
const acceptEncoding = name("accept-encoding");
const connection = name("connection");
const close = name("close");

/** Route name of cached responses, for metrics. */
export const cachedRoute = "(cached)";

/** Whether the request may get a cached response: it has no token and no body. */
export function mayBeCached(req: HttpRequest): boolean {
  return (
    req.getHeader(authorization) === "" &&
    req.getHeader(xToken) === "" &&
    req.getHeader(contentLength) === "" &&
    req.getHeader(transferEncoding) === ""
  );
}

/** Whether the client takes the body as it is. */
export const takes = (req: HttpRequest, { encoding }: CachedReply): boolean =>
  encoding === undefined || acceptsGzip(req.getHeader(acceptEncoding));

/**
 * Sends a cached response, synchronously in the request handler.
 * @param last as of `baseHeaders`
 * @returns the status
 */
export function sendCached(
  res: HttpResponse,
  req: HttpRequest,
  reply: CachedReply,
  { head, last }: { readonly head: boolean; readonly last: boolean },
): 200 | 304 {
  const closes = last || asksToClose(req.getHeader(connection));
  const tags = req.getHeader(ifNoneMatch);
  if (tags !== "" && matchesEtag(tags, reply.etag)) {
    res.writeStatus(reply.head304);
    if (closes) res.writeHeader(connection, close);
    res.endWithoutBody();
    return 304;
  }
  const { body } = reply;
  res.writeStatus(reply.head200);
  if (closes) res.writeHeader(connection, close);
  if (head) {
    // uWebSockets.js 20.49 never answers a HEAD when the length is passed to `endWithoutBody`.
    res.writeHeader(contentLength, String(body.byteLength)).endWithoutBody();
  } else if (body.byteLength === 0) {
    res.end();
  } else if (!res.tryEnd(body, body.byteLength)[0]) {
    // `end` would buffer what the socket does not take, without limit for a client that sends requests but reads nothing.
    res.onAborted(() => undefined);
    res.onWritable((offset) => {
      let sent = false;
      res.cork(() => {
        sent = res.tryEnd(body.subarray(offset), body.byteLength)[0];
      });
      return sent;
    });
  }
  return 200;
}

/** A request whose head was copied, as it had to wait. */
export interface WaitingRequest {
  readonly head: RequestHead;
  readonly writer: ResponseWriter;
  /** As of `baseHeaders`. */
  readonly last: boolean;
}

const unkept = ["authorization", "x-token", "content-length", "transfer-encoding"];

/** The cached response to a request that had to wait, if it may get it. */
export function keptFor(
  { method, path, query, headers }: RequestHead,
  cached: (path: string, query: string) => CachedReply | undefined,
): CachedReply | undefined {
  if (!isReading(method) || unkept.some((one) => headers.has(one))) return undefined;
  const reply = cached(path, query);
  return reply?.encoding === undefined || acceptsGzip(headers.get("accept-encoding")) ? reply : undefined;
}

/** Sends a cached response to it. @returns the status, as `sendReply` */
export function sendKept(
  { head, writer, last }: WaitingRequest,
  reply: CachedReply,
): Promise<number> | number {
  const linesOf = (bytes: Uint8Array): string => {
    const text = Buffer.from(bytes).toString("latin1");
    return `${text.slice(text.indexOf("\r\n") + 2)}${last ? "\r\nconnection: close" : ""}`;
  };
  const tags = head.headers.get("if-none-match");
  if (tags && matchesEtag(tags, reply.etag)) {
    writer.sendHead(304, linesOf(reply.head304));
    return 304;
  }
  const { body } = reply;
  const lines = linesOf(reply.head200);
  if (head.method === "HEAD") {
    writer.sendHead(200, `${lines}\r\ncontent-length: ${body.byteLength}`);
    return 200;
  }
  return writer.sendBytes(200, lines, body)?.then(() => 200) ?? 200;
}

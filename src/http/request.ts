import type { HttpRequest } from "uWebSockets.js";
import type { Forwarded } from "./forwarded.js";
import type { ResponseWriter } from "./response-writer.js";
import type { Body, Method, Parameters, Request } from "./types.js";

/** The head of a request, copied because the library's HttpRequest is only valid within its handler. */
export interface RequestHead {
  readonly method: string;
  /** Not decoded. */
  readonly path: string;
  /** Not decoded; "" when there is none. */
  readonly query: string;
  /** By lower-case name; repeated headers are joined by commas. */
  readonly headers: ReadonlyMap<string, string>;
  /** Length of the body; undefined = chunked. */
  readonly bodyBytes: number | undefined;
  /** The length of the body is ambiguous (request smuggling): the connection must be closed. */
  readonly hasAmbiguousLength: boolean;
}

/**
 * Copies and checks the head. uWebSockets.js 20.49 checks Content-Length only after the handler, treats any
 * Transfer-Encoding as chunked and uses the first of two lengths, so these are checked here.
 */
export function readHead(req: HttpRequest): RequestHead {
  const headers = new Map<string, string>();
  let lengths = 0;
  let transferEncodings = 0;
  let hosts = 0;
  req.forEach((name, value) => {
    if (name === "content-length") lengths++;
    else if (name === "transfer-encoding") transferEncodings++;
    else if (name === "host") hosts++;
    const earlier = headers.get(name);
    headers.set(name, earlier === undefined ? value : `${earlier}, ${value}`);
  });
  const length = headers.get("content-length") ?? "";
  const hasClearLength =
    hosts === 1 &&
    lengths + transferEncodings <= 1 &&
    (lengths === 0 || /^\d{1,15}$/.test(length)) &&
    (transferEncodings === 0 || headers.get("transfer-encoding")?.toLowerCase() === "chunked");
  return {
    method: req.getCaseSensitiveMethod(),
    path: req.getUrl(),
    query: req.getQuery() ?? "",
    headers,
    bodyBytes: transferEncodings > 0 ? undefined : Number(length),
    hasAmbiguousLength: !hasClearLength,
  };
}

export interface RequestParts {
  readonly id: string;
  readonly head: RequestHead;
  readonly params: Readonly<Record<string, string>>;
  readonly query: Parameters;
  readonly header: (name: string) => string | undefined;
  readonly body: Body;
  readonly client: Forwarded;
  readonly writer: ResponseWriter;
}

/** A request for handlers. (A class, since an object literal with an accessor takes ten times as long to create.) */
export class HandledRequest implements Request {
  readonly id: string;
  readonly method: Method;
  readonly path: string;
  readonly rawQuery: string;
  readonly params: Readonly<Record<string, string>>;
  readonly query: Parameters;
  /** Does not depend on `this`. */
  readonly header: (name: string) => string | undefined;
  readonly body: Body;
  readonly remoteAddress: string;
  readonly baseUrl: string;
  private readonly writer: ResponseWriter;

  constructor(parts: RequestParts) {
    const { head } = parts;
    this.id = parts.id;
    this.method = head.method as Method;
    this.path = head.path;
    this.rawQuery = head.query;
    this.params = parts.params;
    this.query = parts.query;
    this.header = parts.header;
    this.body = parts.body;
    this.remoteAddress = parts.client.remoteAddress;
    this.baseUrl = parts.client.baseUrl;
    this.writer = parts.writer;
  }

  get signal(): AbortSignal {
    return this.writer.signal;
  }
}

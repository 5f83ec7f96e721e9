import type { HttpRequest } from "uWebSockets.js";
import type { Channel } from "./channel.js";
import type { Forwarded } from "./forwarded.js";
import type { Body, Method, Parameters, Request } from "./types.js";

/** The head of a request, copied out of the library's memory, which is gone when its handler returns. */
export interface RequestHead {
  readonly method: string;
  /** As it came. */
  readonly path: string;
  /** As it came; "" when there is none. */
  readonly query: string;
  /** Lower-case names; several lines of one name joined by commas. */
  readonly headers: ReadonlyMap<string, string>;
  /** Length of the body; undefined = chunked. */
  readonly bodyBytes: number | undefined;
  /** Set when the head leaves open where the body ends: such a connection is not to be read any further. */
  readonly unframed: boolean;
}

/**
 * Copies the head. The library checks Content-Length only after the handler, takes any Transfer-Encoding for chunked
 * and the first of two lengths (its version 20.49), so that is checked here, before anything runs.
 */
export function readHead(req: HttpRequest): RequestHead {
  const headers = new Map<string, string>();
  let lengths = 0;
  let codings = 0;
  let hosts = 0;
  req.forEach((name, value) => {
    if (name === "content-length") lengths++;
    else if (name === "transfer-encoding") codings++;
    else if (name === "host") hosts++;
    const earlier = headers.get(name);
    headers.set(name, earlier === undefined ? value : `${earlier}, ${value}`);
  });
  const length = headers.get("content-length") ?? "";
  const framed =
    hosts === 1 &&
    lengths + codings <= 1 &&
    (lengths === 0 || /^\d{1,15}$/.test(length)) &&
    (codings === 0 || headers.get("transfer-encoding")?.toLowerCase() === "chunked");
  return {
    method: req.getCaseSensitiveMethod(),
    path: req.getUrl(),
    query: req.getQuery() ?? "",
    headers,
    bodyBytes: codings > 0 ? undefined : Number(length),
    unframed: !framed,
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
  readonly channel: Channel;
}

/** A request as handlers see it. (A class, since an object literal with an accessor costs ten times as much.) */
export class HandledRequest implements Request {
  readonly id: string;
  readonly method: Method;
  readonly path: string;
  readonly rawQuery: string;
  readonly params: Readonly<Record<string, string>>;
  readonly query: Parameters;
  /** May be handed on by itself. */
  readonly header: (name: string) => string | undefined;
  readonly body: Body;
  readonly remoteAddress: string;
  readonly baseUrl: string;
  private readonly channel: Channel;

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
    this.channel = parts.channel;
  }

  get signal(): AbortSignal {
    return this.channel.signal;
  }
}

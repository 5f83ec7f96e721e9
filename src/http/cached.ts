import type { HttpRequest, HttpResponse } from "uWebSockets.js";
import { answerHead, commonHeaders, matchesEtag, notModifiedHeaders } from "./headers.js";
import { statusLine } from "./status.js";
import type { Headers } from "./types.js";

/** The fast way: public answers that are ready, found by their raw address and sent without parsing it. */

/** Heads that are ready, of the whole answer and of the one that says that nothing changed. */
export interface PrebuiltHeaders {
  readonly head200: Uint8Array;
  readonly head304: Uint8Array;
}

/** A prebuilt answer: all its bytes are ready. */
export interface CachedReply extends PrebuiltHeaders {
  /** With its quotes. */
  readonly etag: string;
  /** Has memory of its own: it is no window into a buffer that is used again. */
  readonly body: Uint8Array;
}

/**
 * Prepares the headers of a cached answer; the common ones come with them.
 * @param headers of the 200, lower-case names, `etag` and `content-type` among them
 * @throws Error when a name is no token or a value holds anything but printable ASCII
 */
export function prebuildHeaders(headers: Headers): PrebuiltHeaders {
  const whole = { ...headers, ...commonHeaders };
  return {
    head200: answerHead(statusLine(200), whole),
    head304: answerHead(statusLine(304), notModifiedHeaders(whole)),
  };
}

/** A cached answer whose heads are made when they are first sent: many tiles are asked for once. */
export class CachedAnswer implements CachedReply {
  private heads: PrebuiltHeaders | undefined;

  /** @param headers as for `prebuildHeaders`; what it throws would be thrown while the answer is sent */
  constructor(
    readonly etag: string,
    readonly body: Uint8Array,
    readonly headers: Headers,
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

// As bytes: handing a JavaScript string to the library costs a conversion each time (measured: five of them add a quarter to a request's
// CPU time).
const name = (text: string) => new Uint8Array(Buffer.from(text));
const authorization = name("authorization");
const xToken = name("x-token");
const contentLength = name("content-length");
const transferEncoding = name("transfer-encoding");
const ifNoneMatch = name("if-none-match");
const contentLengthName = name("content-length");

/** Whether the request may be given a cached answer: no token that decides, no body that needs checking. */
export function mayBeCached(req: HttpRequest): boolean {
  return (
    req.getHeader(authorization) === "" &&
    req.getHeader(xToken) === "" &&
    req.getHeader(contentLength) === "" &&
    req.getHeader(transferEncoding) === ""
  );
}

/**
 * Sends a cached answer in the tick of its request.
 * @returns the status that was sent
 */
export function sendCached(
  res: HttpResponse,
  req: HttpRequest,
  reply: CachedReply,
  head: boolean,
): 200 | 304 {
  const tags = req.getHeader(ifNoneMatch);
  if (tags !== "" && matchesEtag(tags, reply.etag)) {
    res.writeStatus(reply.head304).endWithoutBody();
    return 304;
  }
  const { body } = reply;
  res.writeStatus(reply.head200);
  if (head) {
    // The library's own way to report a length leaves a HEAD unanswered (its version 20.49): the header is ours.
    res.writeHeader(contentLengthName, String(body.byteLength)).endWithoutBody();
  } else if (body.byteLength === 0) {
    res.end();
  } else if (!res.tryEnd(body, body.byteLength)[0]) {
    // `end` would copy what the socket does not take, without bound for a client that asks on without reading.
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

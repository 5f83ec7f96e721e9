import { inTime } from "../in-time.js";
import { compressed, compressedHeaders, compressedStream, mayCompress, varied } from "./compress.js";
import {
  acceptsGzip,
  type BaseHeaders,
  matchesEtag,
  notModifiedHeaders,
  responseHeaders,
} from "./headers.js";
import type { ResponseWriter } from "./response-writer.js";
import type { Headers, Reply } from "./types.js";

/** Sends the reply of a handler. */

export interface ReplyContext {
  readonly writer: ResponseWriter;
  /** The method is HEAD: no body is sent. */
  readonly head: boolean;
  readonly ifNoneMatch: string | undefined;
  readonly acceptEncoding: string | undefined;
  readonly base: BaseHeaders;
  /**
   * A promise of the end of the request body, if it is still being received and the client sent `Connection: close`; else
   * undefined.
   */
  restOfBody(): Promise<void> | undefined;
  /** Called once before the first byte. */
  beforeSend(): void;
}

/** A stream failed after its headers were sent. The connection has been closed; no error response is possible. */
export class StreamError extends Error {
  constructor(override readonly cause: unknown) {
    super("The response stream failed after its headers were sent.");
    this.name = "StreamError";
  }
}

const jsonHeaders: Headers = {
  "content-type": "application/json; charset=utf-8",
  "cache-control": "no-store",
};

/** The headers, of an answer that no cache keeps unless they say so. Their order stays: nginx obeys the first that tells how long. */
const notStored = (headers: Headers | undefined): Headers =>
  headers?.["cache-control"] === undefined ? { ...headers, "cache-control": "no-store" } : headers;

/**
 * Sends a reply.
 * @returns the status; a promise of it only when the socket does not take everything at once, because each promise adds
 *   about the cost of a header to a request
 * @throws StreamError; before anything was sent, what the reply's source or its headers threw
 */
export function sendReply(reply: Reply, context: ReplyContext): Promise<number> | number {
  switch (reply.kind) {
    case "json":
      return sendWhole(
        200,
        JSON.stringify(reply.value) ?? "null",
        { ...jsonHeaders, ...reply.headers },
        context,
      );
    case "json_text":
      return sendWhole(200, reply.text, { ...jsonHeaders, ...reply.headers }, context);
    case "bytes":
      return sendWhole(reply.status ?? 200, reply.body, notStored(reply.headers), context);
    case "stream":
      return sendStream(reply, context);
  }
}

/** Sends a response with a complete body, as `sendReply`. Parts of a text have a character for each byte. A 200 whose ETag matches If-None-Match becomes a 304. */
export function sendWhole(
  status: number,
  content: Uint8Array | string | readonly string[],
  given: Headers,
  context: ReplyContext,
): Promise<number> | number {
  const { writer, head, ifNoneMatch, base } = context;
  const body = typeof content === "string" ? Buffer.from(content) : content;
  const isCompressible = mayCompress(status, given, lengthOf(body));
  const headers = isCompressible ? varied(given) : given;
  if (status === 200 && ifNoneMatch && headers.etag && matchesEtag(ifNoneMatch, headers.etag)) {
    const lines = responseHeaders(notModifiedHeaders(headers), base);
    context.beforeSend();
    writer.sendHead(304, lines);
    return 304;
  }
  if (isCompressible && !head && acceptsGzip(context.acceptEncoding))
    return sendCompressed(body, given, context);
  const lines = responseHeaders(headers, base);
  context.beforeSend();
  if (status === 204 || status === 304) writer.sendHead(status, lines);
  else if (head) writer.sendHead(status, `${lines}\r\ncontent-length: ${lengthOf(body)}`);
  else {
    const rest = context.restOfBody();
    if (rest) return sendEarly(writer, { status, lines, body: wholeOf(body) }, rest);
    const sending =
      body instanceof Uint8Array
        ? writer.sendBytes(status, lines, body)
        : writer.sendParts(status, lines, body);
    if (sending) return sending.then(() => status);
  }
  return status;
}

async function sendCompressed(
  body: Uint8Array | readonly string[],
  given: Headers,
  context: ReplyContext,
): Promise<number> {
  if (!(body instanceof Uint8Array)) return sendStream({ headers: given, chunks: bytesOf(body) }, context);
  const bytes = await compressed(body);
  return sendWhole(200, bytes, compressedHeaders(varied(given)), context);
}

async function* bytesOf(parts: readonly string[]): AsyncGenerator<Uint8Array, void, undefined> {
  for (const part of parts) yield Buffer.from(part, "latin1");
}

const lengthOf = (body: Uint8Array | readonly string[]): number =>
  body instanceof Uint8Array ? body.length : body.reduce((sum, { length }) => sum + length, 0);

const wholeOf = (body: Uint8Array | readonly string[]): Uint8Array =>
  body instanceof Uint8Array ? body : Buffer.concat(body.map((part) => Buffer.from(part, "latin1")));

/** Maximum time that the end of an early response waits for the end of the request. */
const lingerMs = 5_000;

/**
 * Sends a response while the request body is still being received. The end of the response closes the connection, and
 * closing it while the client sends would lose the response; so the end waits for the end of the request.
 */
async function sendEarly(
  writer: ResponseWriter,
  { status, lines, body }: { readonly status: number; readonly lines: string; readonly body: Uint8Array },
  rest: Promise<void>,
): Promise<number> {
  await writer.startStream(status, lines);
  await writer.write(body);
  await inTime(rest, lingerMs, () => undefined);
  writer.endStream();
  return status;
}

/** However it goes, the source is read to its end or told that nobody reads on. */
async function sendStream(
  { chunks, headers: given, status = 200, bytes }: Omit<Extract<Reply, { kind: "stream" }>, "kind">,
  context: ReplyContext,
): Promise<number> {
  const { writer, head, base } = context;
  let source = chunks[Symbol.asyncIterator]();
  let finished = false;
  let started = false;
  const stop = () => {
    if (finished) return;
    finished = true;
    // Errors of `return` are ignored; errors of the stream itself are thrown below.
    Promise.resolve(source.return?.()).catch(() => undefined);
  };
  try {
    const isCompressible = mayCompress(status, given, bytes);
    const isZipped = isCompressible && !head && acceptsGzip(context.acceptEncoding);
    const headers = isCompressible ? varied(given) : given;
    const lines = responseHeaders(notStored(isZipped ? compressedHeaders(headers) : headers), base);
    if (head) {
      context.beforeSend();
      writer.sendHead(status, bytes === undefined ? lines : `${lines}\r\ncontent-length: ${bytes}`);
      return status;
    }
    // It left before the source was made.
    if (writer.disconnected) return status;
    writer.onDisconnect(stop);
    if (isZipped) source = compressedStream(source);
    // Nothing is sent before the first chunk, so that a source that fails immediately gets an error response.
    let next = await source.next();
    started = true;
    context.beforeSend();
    await writer.startStream(status, lines);
    while (!next.done && (await writer.write(next.value))) next = await source.next();
    if (next.done) finished = true;
    writer.endStream();
    return status;
  } catch (error) {
    if (!started || writer.disconnected) throw error;
    writer.destroy();
    throw new StreamError(error);
  } finally {
    stop();
  }
}

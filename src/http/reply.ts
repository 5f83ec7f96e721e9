import type { Channel } from "./channel.js";
import { answerLines, matchesEtag, notModifiedHeaders, type OwnHeaders } from "./headers.js";
import type { Headers, Reply } from "./types.js";

/** Turns what a handler answers into what is sent. */

export interface ReplyContext {
  readonly channel: Channel;
  /** HEAD: everything but the body. */
  readonly head: boolean;
  readonly ifNoneMatch: string | undefined;
  readonly own: OwnHeaders;
  /**
   * Settles with the end of a request that is still coming, whose connection the client wants to be closed after the
   * answer; undefined for any other.
   */
  restOfBody(): Promise<void> | undefined;
  /** Called once before the first byte. */
  starting(): void;
}

/** A stream broke after its head was sent: the connection was cut, and there is nothing left to answer. */
export class BrokenStream extends Error {
  constructor(override readonly cause: unknown) {
    super("The answer's source failed in mid-stream.");
    this.name = "BrokenStream";
  }
}

const jsonHeaders: Headers = {
  "content-type": "application/json; charset=utf-8",
  "cache-control": "no-store",
};

/**
 * Sends a reply.
 * @returns the status that was sent; a promise of it only when the socket does not take it all at once, for each
 *   promise on the way costs a request about as much as one of its headers
 * @throws BrokenStream, or before anything was sent whatever the reply's source or its headers threw
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
      return sendWhole(
        reply.status ?? 200,
        reply.body,
        { "cache-control": "no-store", ...reply.headers },
        context,
      );
    case "stream":
      return sendStream(reply.chunks, { "cache-control": "no-store", ...reply.headers }, context);
  }
}

/** Sends an answer whose body is at hand, as `sendReply`; a 200 with an ETag that the client has becomes a 304. */
export function sendWhole(
  status: number,
  content: Uint8Array | string,
  headers: Headers,
  context: ReplyContext,
): Promise<number> | number {
  const { channel, head, ifNoneMatch, own } = context;
  const body = typeof content === "string" ? Buffer.from(content) : content;
  if (status === 200 && ifNoneMatch && headers.etag && matchesEtag(ifNoneMatch, headers.etag)) {
    const lines = answerLines(notModifiedHeaders(headers), own);
    context.starting();
    channel.sendHead(304, lines);
    return 304;
  }
  const lines = answerLines(headers, own);
  context.starting();
  if (status === 204 || status === 304) channel.sendHead(status, lines);
  else if (head) channel.sendHead(status, `${lines}\r\ncontent-length: ${body.length}`);
  else {
    const rest = context.restOfBody();
    if (rest) return sendEarly(channel, { status, lines, body }, rest);
    const sending = channel.sendBytes(status, lines, body);
    if (sending) return sending.then(() => status);
  }
  return status;
}

/** How long the end of an early answer waits for the end of the request. */
const lingerMs = 5_000;

/**
 * Sends an answer while the request still comes. Its last byte closes the connection, and on a connection that is closed
 * while the client sends, the answer is lost; so the last byte waits for the client to be done.
 */
async function sendEarly(
  channel: Channel,
  { status, lines, body }: { readonly status: number; readonly lines: string; readonly body: Uint8Array },
  rest: Promise<void>,
): Promise<number> {
  await channel.startStream(status, lines);
  await channel.write(body);
  let timer: NodeJS.Timeout | undefined;
  const patience = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, lingerMs);
  });
  await Promise.race([rest, patience]);
  clearTimeout(timer);
  channel.endStream();
  return status;
}

async function sendStream(
  chunks: AsyncIterable<Uint8Array | string>,
  headers: Headers,
  context: ReplyContext,
): Promise<number> {
  const { channel, head, own } = context;
  const lines = answerLines(headers, own);
  const source = chunks[Symbol.asyncIterator]();
  let finished = false;
  let started = false;
  const stop = () => {
    if (finished) return;
    finished = true;
    // What a source says to being stopped concerns nobody; an error of the stream itself is thrown below.
    Promise.resolve(source.return?.()).catch(() => undefined);
  };
  if (head) {
    context.starting();
    channel.sendHead(200, lines);
    stop();
    return 200;
  }
  channel.onLeft(stop);
  try {
    // Before the first bytes are there nothing is sent: a source that fails at once still gets a proper error.
    let next = await source.next();
    started = true;
    context.starting();
    await channel.startStream(200, lines);
    while (!next.done && (await channel.write(next.value))) next = await source.next();
    if (next.done) finished = true;
    channel.endStream();
    return 200;
  } catch (error) {
    finished = true;
    if (!started || channel.left) throw error;
    channel.destroy();
    throw new BrokenStream(error);
  } finally {
    stop();
  }
}

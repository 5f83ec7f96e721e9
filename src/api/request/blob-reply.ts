import { matchesEtag } from "../../http/headers.js";
import { allowsRange, requestedRange } from "../../http/range.js";
import type { Headers, Reply, Request } from "../../http/types.js";
import { networkOf } from "../../queues/clients.js";
import { type BlobStore, maxChunkBytes } from "../../storage/blob-store.js";
import { exactBytes } from "../../storage/exact-bytes.js";

/** Sends a blob as a download, whole or in part. */

export interface SentBlob {
  /** Its key, which is also its ETag: the content of a blob never changes. */
  readonly blob: string;
  readonly bytes: number;
  readonly headers: Headers;
}

/**
 * The blob as a stream; 304 for a client that has it, 206 for a range, 416 for one beyond its end. The headers keep browsers
 * from rendering it on this origin.
 */
export async function blobReply(
  request: Request,
  blobs: BlobStore,
  { blob, bytes, headers: given }: SentBlob,
): Promise<Reply> {
  const etag = `"${blob}"`;
  const headers = {
    "content-security-policy": "default-src 'none'; sandbox",
    "accept-ranges": "bytes",
    etag,
    ...given,
  };
  if (matchesEtag(request.header("if-none-match") ?? "", etag)) {
    return { kind: "bytes", status: 304, body: "", headers };
  }
  const range =
    request.method === "GET" && allowsRange(request.header("if-range"), etag)
      ? requestedRange(request.header("range"), bytes)
      : undefined;
  if (range === "unsatisfiable") {
    return {
      kind: "bytes",
      status: 416,
      body: "",
      headers: { "accept-ranges": "bytes", "content-range": `bytes */${bytes}` },
    };
  }
  const length = range ? range.last - range.first + 1 : bytes;
  const reader = networkOf(request.remoteAddress);
  const chunks = exactBytes(blobs.read(blob, { range, signal: request.signal, reader }), length);
  const status = range ? 206 : 200;
  const sent = range
    ? { ...headers, "content-range": `bytes ${range.first}-${range.last}/${bytes}` }
    : headers;
  if (length <= maxBufferedBytes)
    return { kind: "bytes", status, body: await concatenated(chunks), headers: sent };
  return { kind: "stream", status, bytes: length, chunks, headers: sent };
}

/** Bodies up to this size are not streamed. */
const maxBufferedBytes = maxChunkBytes;

async function concatenated(chunks: AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  const all: Uint8Array[] = [];
  for await (const chunk of chunks) all.push(chunk);
  return all.length === 1 ? all[0]! : Buffer.concat(all);
}

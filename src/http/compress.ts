import { Readable } from "node:stream";
import { promisify } from "node:util";
import { constants, createGzip, gzip } from "node:zlib";
import type { Headers } from "./types.js";

/** Compression of answers for clients that ask for it (RFC 9110, 8.4), off the event loop. */

/** Below this it would not save a packet. */
const leastBytes = 1_400;

const compressible =
  /^(?:text\/(?!event-stream)|application\/(?:[\w.-]+\+)?(?:json|xml|json-seq|x-ndjson|javascript)\b|image\/svg\+xml)/;

/** Whether the answer becomes smaller, and may: parts of it cannot be asked for. */
export const mayCompress = (status: number, headers: Headers, bytes: number | undefined): boolean =>
  status === 200 &&
  (bytes === undefined || bytes >= leastBytes) &&
  headers["content-encoding"] === undefined &&
  headers["accept-ranges"] === undefined &&
  compressible.test(headers["content-type"] ?? "");

/** Said also where a client does not ask for it: caches keep both kinds. */
export const varied = (headers: Headers): Headers => ({
  ...headers,
  vary: headers.vary === undefined ? "Accept-Encoding" : `${headers.vary}, Accept-Encoding`,
});

/** Headers of the compressed answer. Other bytes have another ETag, unless that is weak. */
export const compressedHeaders = (headers: Headers): Headers => ({
  ...headers,
  "content-encoding": "gzip",
  ...(headers.etag?.startsWith('"') && { etag: `${headers.etag.slice(0, -1)}-gzip"` }),
});

const compress = promisify(gzip);

/** What is sent again and again, such as files of pages, is compressed once, for as long as it is there. */
const zipped = new WeakMap<Uint8Array, Promise<Uint8Array>>();

export function compressed(body: Uint8Array): Promise<Uint8Array> {
  let bytes = zipped.get(body);
  if (!bytes) {
    bytes = compress(body, { level: 6 });
    bytes.catch(() => zipped.delete(body));
    zipped.set(body, bytes);
  }
  return bytes;
}

/** Long answers are compressed less: that is several times as fast, and most of what can be saved. 100 kB for each. */
const streamOptions = { level: constants.Z_BEST_SPEED, memLevel: 7, windowBits: 14, chunkSize: 32 * 1024 };

/** The stream, compressed. Its errors and its end are passed on in both directions. */
export async function* compressedStream(
  chunks: AsyncIterator<Uint8Array | string>,
): AsyncGenerator<Uint8Array, void, undefined> {
  const source = Readable.from(
    { [Symbol.asyncIterator]: () => chunks },
    { objectMode: false, highWaterMark: 64 * 1024 },
  );
  const zip = createGzip(streamOptions);
  source.once("error", (error) => zip.destroy(error));
  try {
    yield* source.pipe(zip);
  } finally {
    source.destroy();
    zip.destroy();
  }
}

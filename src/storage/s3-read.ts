import type { Readable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { BlobNotFound, maxChunkBytes, type ReadOptions } from "./blob-store.js";
import { S3Failure } from "./s3-failure.js";

const defaultIdleMs = 2_000;
/** How often a read that brings nothing new is begun. */
const attempts = 4;
const pauseMs = 100;

/** What one answer has of an object. */
export interface ObjectContent {
  readonly body: Readable;
  /** The position after its last byte. */
  readonly end: number;
}

export interface IdleOptions {
  /** A connection that nobody has read from for so long is given to others: there are only so many. */
  readonly idleMs?: number | undefined;
}

/**
 * The bytes of an object. Where an answer ends early, the rest is asked for.
 * @param open asks for the bytes from a position on; undefined = there are none
 * @throws S3Failure; what `open` throws; the signal's reason
 */
export async function* readObject(
  open: (first: number) => Promise<ObjectContent | undefined>,
  { range, signal, idleMs = defaultIdleMs }: ReadOptions & IdleOptions,
): AsyncGenerator<Uint8Array, void, undefined> {
  signal?.throwIfAborted();
  let position = range?.first ?? 0;
  let reason: unknown;
  for (let failures = 0; failures < attempts; failures++) {
    if (failures > 0) await sleep(pauseMs * 2 ** failures, undefined, { ...(signal && { signal }) });
    try {
      const content = await open(position);
      if (!content) return;
      // Some send more than they are asked for.
      const end = Math.min(content.end, (range?.last ?? Number.POSITIVE_INFINITY) + 1);
      for await (const piece of pieces(content.body, { signal, idleMs })) {
        const wanted = piece.subarray(0, end - position);
        position += wanted.length;
        failures = 0;
        if (wanted.length > 0) yield wanted;
        if (wanted.length < piece.length) return;
      }
      if (position >= end) return;
    } catch (error) {
      signal?.throwIfAborted();
      if (error instanceof BlobNotFound || (error instanceof S3Failure && !mayPass(error))) throw error;
      reason = error;
    }
    signal?.throwIfAborted();
  }
  if (reason instanceof S3Failure) throw reason;
  const { code = "ended early", message = "its answer ended early" } = (reason ??
    {}) as NodeJS.ErrnoException;
  throw new S3Failure("GetObject", code, undefined, message);
}

/** Something is being done to the object: Swift has its parts no more before it has deleted it. */
const mayPass = ({ status }: S3Failure): boolean => status === 409;

async function* pieces(
  body: Readable,
  { signal, idleMs }: { readonly signal: AbortSignal | undefined; readonly idleMs: number },
): AsyncGenerator<Uint8Array, void, undefined> {
  const leave = () => body.destroy();
  signal?.addEventListener("abort", leave, { once: true });
  try {
    for await (const chunk of body as AsyncIterable<Uint8Array>)
      for (let at = 0; at < chunk.length; at += maxChunkBytes) {
        const idle = setTimeout(leave, idleMs);
        try {
          yield chunk.subarray(at, at + maxChunkBytes);
        } finally {
          clearTimeout(idle);
        }
      }
  } finally {
    signal?.removeEventListener("abort", leave);
  }
}

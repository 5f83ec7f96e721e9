import type { Readable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { Failure } from "../errors.js";
import { BlobNotFound, maxChunkBytes, type ReadOptions } from "./blob-store.js";
import { noAnswer, S3Failure } from "./s3-failure.js";

const defaultIdleMs = 250;
/** Pieces in a row that a slow reader takes without a pause, until it counts as a quick one. */
const quickPieces = 8;
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
  /**
   * A reader that takes nothing for so long is a slow one. Its connection is given to others, of which there are only so many,
   * and what the network has fetched for it in advance is lost; from then on each piece is fetched by itself, at once.
   */
  readonly idleMs?: number | undefined;
}

interface TurnOptions {
  /** Whether others wait for a connection: then it is given back after each piece. */
  readonly isCrowded?: (() => boolean) | undefined;
}

interface SilenceOptions {
  /** How long in ms the store may send nothing; default: as long as its connection allows. */
  readonly silenceMs?: number | undefined;
}

/**
 * The bytes of an object. Where an answer ends early, the rest is asked for.
 * @param open asks for the bytes from a position to another one, at most; undefined = there are none
 * @throws S3Failure; BlobNotFound and Failure as `open` throws them; the signal's reason
 */
export async function* readObject(
  open: (first: number, last: number) => Promise<ObjectContent | undefined>,
  {
    range,
    signal,
    idleMs = defaultIdleMs,
    silenceMs,
    isCrowded = () => false,
  }: ReadOptions & IdleOptions & SilenceOptions & TurnOptions,
): AsyncGenerator<Uint8Array, void, undefined> {
  signal?.throwIfAborted();
  const last = range?.last ?? Number.POSITIVE_INFINITY;
  const pace = new Pace(idleMs);
  let position = range?.first ?? 0;
  let reason: unknown;
  for (let failures = 0; failures < attempts; failures++) {
    if (failures > 0) await sleep(pauseMs * 2 ** failures, undefined, { ...(signal && { signal }) });
    try {
      const isByPiece = pace.isSlow || isCrowded();
      const wanted = isByPiece ? Math.min(last, position + maxChunkBytes - 1) : last;
      const content = await open(position, wanted);
      if (!content) return;
      // Some send more than they are asked for.
      const end = Math.min(content.end, wanted + 1);
      const most = end - position;
      const body = { source: content.body, silenceMs };
      let makesRoom = false;
      for await (const piece of isByPiece
        ? wholePiece(body, { signal, most, pace })
        : pieces(body, { signal, pace })) {
        const taken = piece.subarray(0, end - position);
        position += taken.length;
        failures = 0;
        if (taken.length > 0) yield taken;
        makesRoom = !isByPiece && isCrowded();
        if (makesRoom || taken.length < piece.length) break;
      }
      // Of a whole piece there may be a next one.
      if (position >= end && (end <= wanted || wanted === last)) return;
      if (makesRoom || position >= end) failures = -1;
    } catch (error) {
      signal?.throwIfAborted();
      if (
        error instanceof BlobNotFound ||
        error instanceof Failure ||
        (error instanceof S3Failure && !mayPass(error))
      )
        throw error;
      reason = error;
    }
    if (pace.hasLeft()) failures = -1;
    signal?.throwIfAborted();
  }
  if (reason instanceof S3Failure) throw reason;
  const { code = "ended early", message = "its answer ended early" } = (reason ??
    {}) as NodeJS.ErrnoException;
  throw new S3Failure("GetObject", code, undefined, message);
}

/** Something is being done to the object: Swift has its parts no more before it has deleted it. */
const mayPass = ({ status }: S3Failure): boolean => status === 409;

/** How fast somebody reads. */
class Pace {
  private quick = quickPieces;
  private isLeft = false;

  constructor(readonly idleMs: number) {}

  get isSlow(): boolean {
    return this.quick < quickPieces;
  }

  /** A connection was left because of a slow reader. */
  leave(): void {
    this.isLeft = true;
    this.quick = 0;
  }

  /** Whether one was left since this was asked. */
  hasLeft(): boolean {
    const { isLeft } = this;
    this.isLeft = false;
    return isLeft;
  }

  /** A piece was taken after so many milliseconds. */
  took(ms: number): void {
    this.quick = ms < this.idleMs ? this.quick + 1 : 0;
  }
}

interface Body extends SilenceOptions {
  readonly source: Readable;
}

/**
 * What a body has as it comes. @throws S3Failure when nothing has come in time; Error when nothing more has: that may be its
 * connection
 */
async function* chunksOf({ source, silenceMs }: Body): AsyncGenerator<Uint8Array, void, undefined> {
  let hasCome = false;
  const end = () =>
    source.destroy(hasCome ? new Error("its answer stopped") : noAnswer("GetObject", silenceMs!));
  const wait = () => (silenceMs === undefined ? undefined : setTimeout(end, silenceMs));
  let timer = wait();
  try {
    for await (const chunk of source as AsyncIterable<Uint8Array>) {
      clearTimeout(timer);
      hasCome = true;
      yield chunk;
      timer = wait();
    }
  } finally {
    clearTimeout(timer);
  }
}

async function* pieces(
  body: Body,
  { signal, pace }: { readonly signal: AbortSignal | undefined; readonly pace: Pace },
): AsyncGenerator<Uint8Array, void, undefined> {
  const leave = () => body.source.destroy();
  signal?.addEventListener("abort", leave, { once: true });
  try {
    for await (const chunk of chunksOf(body))
      for (let at = 0; at < chunk.length; at += maxChunkBytes) {
        const idle = setTimeout(() => {
          pace.leave();
          leave();
        }, pace.idleMs);
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

/** All that an answer has, up to so many bytes, when its connection is free again. */
async function* wholePiece(
  body: Body,
  {
    signal,
    most,
    pace,
  }: { readonly signal: AbortSignal | undefined; readonly most: number; readonly pace: Pace },
): AsyncGenerator<Uint8Array, void, undefined> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  const leave = () => body.source.destroy();
  signal?.addEventListener("abort", leave, { once: true });
  try {
    for await (const chunk of chunksOf(body)) {
      chunks.push(chunk);
      bytes += chunk.length;
      // To its end, so that the connection can be used again.
      if (bytes > most) break;
    }
  } finally {
    signal?.removeEventListener("abort", leave);
  }
  if (bytes === 0) return;
  const began = performance.now();
  for (let chunk = chunks.shift(); chunk; chunk = chunks.shift()) yield chunk;
  pace.took(performance.now() - began);
}

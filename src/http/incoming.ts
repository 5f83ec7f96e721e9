import type { HttpResponse } from "uWebSockets.js";
import { type Failure, tooLarge } from "../errors.js";
import type { BodyQueue } from "./body-queue.js";
import type { Receiving, Share } from "./receiving.js";

/** The bytes of a request body as they arrive, with backpressure. */

/** The client disconnected, so that no response can be sent. */
export class ClientDisconnected extends Error {
  constructor() {
    super("The client disconnected.");
    this.name = "ClientDisconnected";
  }
}

/**
 * After so many bytes the socket is paused until those are read and it is this body's turn. What has arrived by then comes all at
 * once.
 */
const mostOfTurn = 128 * 1024;

export interface BodyContext {
  /** In memory. */
  readonly receiving: Receiving;
  readonly bodyQueue: BodyQueue;
  /** Address of the client. */
  readonly client: () => string;
}

export class IncomingBody {
  private queue: Buffer[] = [];
  private received = 0;
  /** Received since the socket was resumed. */
  private ofTurn = 0;
  private ended: boolean;
  private disconnected = false;
  private discarding = false;
  private paused = false;
  private pausing = false;
  private waiting = false;
  private wake: (() => void) | undefined;
  private finished: (() => void) | undefined;
  private refused: Failure | undefined;
  /** Absent when there is no body. */
  private readonly share: Share | undefined;

  /**
   * Must be created synchronously in the request handler, where the library requires `onData`.
   * @param declaredBytes Content-Length; undefined = chunked; 0 = no body
   */
  constructor(
    private readonly res: HttpResponse,
    readonly declaredBytes: number | undefined,
    private readonly context: BodyContext,
  ) {
    this.ended = declaredBytes === 0;
    if (this.ended) return;
    this.share = context.receiving.share((reason) => this.refuse(reason));
    res.onData((chunk, last) => this.accept(chunk, last));
    if ((declaredBytes ?? 0) > mostOfTurn) this.pauseSoon();
  }

  /** True when there is no body, or an empty one has ended. */
  get empty(): boolean {
    return this.ended && this.received === 0;
  }

  /** Bytes received so far. */
  get receivedBytes(): number {
    return this.received;
  }

  private accept(chunk: ArrayBuffer, last: boolean): void {
    if (last) {
      this.ended = true;
      if (this.share) this.share.coming = false;
      this.finished?.();
    }
    if (chunk.byteLength > 0 && !this.discarding) {
      this.received += chunk.byteLength;
      this.ofTurn += chunk.byteLength;
      // The library reuses the chunk's memory after this call.
      this.queue.push(Buffer.from(chunk.slice(0)));
      if (this.ofTurn > mostOfTurn) this.pauseSoon();
      this.share?.take(chunk.byteLength);
    }
    this.wake?.();
  }

  /** Ends the reading of the body. What still comes is discarded. */
  private refuse(reason: Failure): void {
    this.refused = reason;
    this.discard();
    this.wake?.();
  }

  /** Tells that so many bytes of what was read are no longer in memory. */
  letGo(bytes: number): void {
    this.share?.drop(bytes);
  }

  /** Must be called when the request has been answered and nothing of the body is needed any more. */
  release(): void {
    this.share?.end();
  }

  /**
   * Pauses the socket after the library has parsed the bytes of the current read. An immediate pause could come just before
   * the end of the body in the same read; the timeout that `resume` starts would then never be cleared.
   */
  private pauseSoon(): void {
    if (this.pausing || this.paused) return;
    this.pausing = true;
    setImmediate(() => {
      this.pausing = false;
      if (this.ended || this.disconnected || this.discarding) return;
      this.paused = true;
      this.res.pause();
      this.waitForTurn();
    });
  }

  /** Resumes the socket when what has come is read and it is this body's turn. */
  private waitForTurn(): void {
    if (!this.paused || this.waiting || this.queue.length > 0) return;
    this.waiting = true;
    this.context.bodyQueue.wait(this.context.client(), () => {
      this.waiting = false;
      this.resume();
    });
  }

  private resume(): void {
    if (!this.paused) return;
    this.paused = false;
    this.ofTurn = 0;
    if (!this.disconnected) this.res.resume();
  }

  /**
   * The next chunk; undefined at the end. One reader at a time.
   * @throws ClientDisconnected; Failure busy when the process holds too much
   */
  async next(): Promise<Buffer | undefined> {
    for (;;) {
      if (this.refused) throw this.refused;
      const chunk = this.queue.shift();
      if (chunk) {
        this.waitForTurn();
        return chunk;
      }
      if (this.disconnected) throw new ClientDisconnected();
      if (this.ended) return undefined;
      await new Promise<void>((resolve) => {
        this.wake = resolve;
      });
      this.wake = undefined;
    }
  }

  /**
   * All chunks, in order.
   * @throws Failure too_large as soon as the declared or the received length exceeds `limit`
   * @throws ClientDisconnected
   */
  async *chunks(limit: number): AsyncGenerator<Buffer, void, undefined> {
    this.requireAtMost(limit, this.declaredBytes ?? 0);
    let bytes = 0;
    for (let chunk = await this.next(); chunk; chunk = await this.next()) {
      bytes += chunk.length;
      this.requireAtMost(limit, bytes);
      yield chunk;
    }
  }

  /** The whole body in memory, each part in memory of its own. @throws as `chunks` */
  async parts(limit: number): Promise<Buffer[]> {
    this.requireAtMost(limit, this.declaredBytes ?? 0);
    const chunks: Buffer[] = [];
    let bytes = 0;
    for (let chunk = await this.next(); chunk; chunk = await this.next()) {
      bytes += chunk.length;
      this.requireAtMost(limit, bytes);
      chunks.push(chunk);
    }
    return chunks;
  }

  private requireAtMost(limit: number, bytes: number): void {
    if (bytes <= limit) return;
    this.discard();
    throw tooLarge(`The body is larger than ${limit} bytes.`);
  }

  /** Whether the whole body has been received. */
  get complete(): boolean {
    return this.ended;
  }

  /** Resolves when the whole body has been received or the client has disconnected. */
  untilEnd(): Promise<void> {
    return new Promise((resolve) => {
      if (this.ended || this.disconnected) resolve();
      else this.finished = resolve;
    });
  }

  /** Discards the rest of the body. Must be called before the response: a paused socket would never be read again. */
  discard(): void {
    this.discarding = true;
    this.queue = [];
    this.resume();
  }

  /** Called when the client has disconnected. */
  abort(): void {
    this.disconnected = true;
    this.queue = [];
    this.finished?.();
    this.wake?.();
  }
}

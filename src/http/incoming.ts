import type { HttpResponse } from "uWebSockets.js";
import { tooLarge } from "../errors.js";

/** The bytes of a request's body as they come, held back while nobody reads them. */

/** The client left before its request was done; nobody is there to be told. */
export class ClientLeft extends Error {
  constructor() {
    super("The client left.");
    this.name = "ClientLeft";
  }
}

/** Unread bytes from which on the socket is no longer read. One read of the socket brings up to 512 KiB at once. */
const highWaterBytes = 128 * 1024;

export class IncomingBody {
  private queue: Buffer[] = [];
  private queuedBytes = 0;
  private received = 0;
  private ended: boolean;
  private left = false;
  private dropping = false;
  private paused = false;
  private pausing = false;
  private wake: (() => void) | undefined;
  private finished: (() => void) | undefined;

  /**
   * Must be made in the tick in which the request arrived: the server library gives its bytes to whom listens then.
   * @param declaredBytes value of Content-Length; undefined = chunked. 0 = no body.
   */
  constructor(
    private readonly res: HttpResponse,
    readonly declaredBytes: number | undefined,
  ) {
    this.ended = declaredBytes === 0;
    if (!this.ended) res.onData((chunk, last) => this.accept(chunk, last));
  }

  /** True when there is no body, or an empty one has come to its end. */
  get empty(): boolean {
    return this.ended && this.received === 0;
  }

  /** What has come so far. */
  get receivedBytes(): number {
    return this.received;
  }

  private accept(chunk: ArrayBuffer, last: boolean): void {
    if (last) {
      this.ended = true;
      this.finished?.();
    }
    if (chunk.byteLength > 0 && !this.dropping) {
      this.received += chunk.byteLength;
      this.queuedBytes += chunk.byteLength;
      // The library takes its memory back when this call returns.
      this.queue.push(Buffer.from(chunk.slice(0)));
      if (this.queuedBytes > highWaterBytes) this.pauseSoon();
    }
    this.wake?.();
  }

  /**
   * Stops reading the socket once the bytes at hand are parsed. A pause in the middle of them could hit a body that
   * ends in the same read, and resuming arms a timeout that only more body disarms.
   */
  private pauseSoon(): void {
    if (this.pausing || this.paused) return;
    this.pausing = true;
    setImmediate(() => {
      this.pausing = false;
      if (this.ended || this.left || this.dropping || this.queuedBytes <= highWaterBytes) return;
      this.paused = true;
      this.res.pause();
    });
  }

  private resume(): void {
    if (!this.paused) return;
    this.paused = false;
    if (!this.left) this.res.resume();
  }

  /**
   * The next bytes; undefined at the end. One reader at a time.
   * @throws ClientLeft
   */
  async next(): Promise<Buffer | undefined> {
    for (;;) {
      const chunk = this.queue.shift();
      if (chunk) {
        this.queuedBytes -= chunk.length;
        if (this.queue.length === 0) this.resume();
        return chunk;
      }
      if (this.left) throw new ClientLeft();
      if (this.ended) return undefined;
      await new Promise<void>((resolve) => {
        this.wake = resolve;
      });
      this.wake = undefined;
    }
  }

  /**
   * All bytes up to a limit, in order.
   * @throws Failure too_large, as soon as the declared or the received length passes `limit`
   * @throws ClientLeft
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

  /** The whole body in memory. @throws as `chunks` */
  async whole(limit: number): Promise<Buffer> {
    this.requireAtMost(limit, this.declaredBytes ?? 0);
    const chunks: Buffer[] = [];
    let bytes = 0;
    for (let chunk = await this.next(); chunk; chunk = await this.next()) {
      bytes += chunk.length;
      this.requireAtMost(limit, bytes);
      chunks.push(chunk);
    }
    return chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks);
  }

  private requireAtMost(limit: number, bytes: number): void {
    if (bytes <= limit) return;
    this.drop();
    throw tooLarge(`The body is larger than ${limit} bytes.`);
  }

  /** Whether all has come. */
  get complete(): boolean {
    return this.ended;
  }

  /** Settles when all has come, or the client has left. */
  untilEnd(): Promise<void> {
    return new Promise((resolve) => {
      if (this.ended || this.left) resolve();
      else this.finished = resolve;
    });
  }

  /** Lets what is still to come go by unread. To be called before the answer: a paused socket would never be read again. */
  drop(): void {
    this.dropping = true;
    this.queue = [];
    this.queuedBytes = 0;
    this.resume();
  }

  /** The connection is gone. */
  abort(): void {
    this.left = true;
    this.queue = [];
    this.finished?.();
    this.wake?.();
  }
}

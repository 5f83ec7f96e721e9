import type { HttpResponse } from "uWebSockets.js";
import { statusLine } from "./status.js";

/**
 * The answering side of one request. It alone writes to the server library's response, which must not be touched once
 * the client has left or the answer is through, and only inside `cork`.
 */

/**
 * Bytes handed over at once. With the library's 16 KiB cork buffer every slice fits beside its framing: larger ones are
 * lost when the socket is full (fixed in the library after the version that we have).
 */
const sliceBytes = 15_000;
const firstSliceBytes = 8_000;
/** After a slice that the socket did not take, small ones find out whether it has room again. */
const probeBytes = 1_000;
/** A reader that never catches up in this time is dropped; one that takes nothing at all the library drops after 10 s. */
const stallMs = 30_000;

export class Channel {
  private usable = true;
  private controller: AbortController | undefined;
  private listeners: (() => void)[] = [];
  private head: (() => void) | undefined;
  private writable: (() => void) | undefined;
  private full = false;
  private stalledSince = 0;

  /** Must be made in the tick in which the request arrived. */
  constructor(private readonly res: HttpResponse) {
    res.onAborted(() => this.leave());
  }

  /** True when the client left before its answer was through. */
  left = false;

  /** False when the client has left or the answer is through. */
  get open(): boolean {
    return this.usable;
  }

  /** Aborts when the client leaves. */
  get signal(): AbortSignal {
    this.controller ??= new AbortController();
    if (this.left) this.controller.abort();
    return this.controller.signal;
  }

  /** Calls back when the client leaves. */
  onLeft(listener: () => void): void {
    this.listeners.push(listener);
  }

  private leave(): void {
    if (!this.usable) return;
    this.usable = false;
    this.left = true;
    for (const listener of this.listeners) listener();
    this.controller?.abort();
    this.writable?.();
  }

  /** Closes the connection at once: a client in the middle of an answer sees that it is cut. */
  destroy(): void {
    if (this.usable) this.res.close();
    // `close` has called `leave` already, unless the library had nothing to abort.
    this.leave();
  }

  /** The library takes it all for the status: one text to hand over instead of one for each header and value. */
  private writeHead(status: number, headers: string): void {
    this.res.writeStatus(`${statusLine(status)}\r\n${headers}`);
  }

  /** Sends an answer without body (HEAD, 204, 304). */
  sendHead(status: number, headers: string): void {
    if (!this.usable) return;
    this.res.cork(() => {
      this.writeHead(status, headers);
      this.res.endWithoutBody();
    });
    this.usable = false;
  }

  /**
   * Sends a whole answer.
   * @returns undefined when the socket has taken it; else settles when it has, or the client has left
   */
  sendBytes(status: number, headers: string, body: Uint8Array): Promise<void> | undefined {
    if (!this.usable) return undefined;
    let sent = false;
    this.res.cork(() => {
      this.writeHead(status, headers);
      if (body.length === 0) this.res.end();
      else sent = this.res.tryEnd(body, body.length)[0];
    });
    if (sent || body.length === 0) {
      this.usable = false;
      return undefined;
    }
    return new Promise<void>((resolve) => {
      this.writable = resolve;
      this.res.onWritable((offset) => {
        this.res.cork(() => {
          sent = this.res.tryEnd(body.subarray(offset), body.length)[0];
        });
        if (sent) {
          this.usable = false;
          resolve();
        }
        return sent;
      });
    });
  }

  /** Begins an answer of unknown length. Its head goes out with the first bytes. */
  async startStream(status: number, headers: string): Promise<void> {
    this.head = () => this.writeHead(status, headers);
    // While the request's own bytes are being parsed all writes share one cork buffer: slices must have it alone.
    await new Promise((resolve) => setImmediate(resolve));
    if (!this.usable) return;
    this.res.onWritable(() => {
      // With a handler of ours the library does not send what it holds for the socket: an empty cork does.
      this.res.cork(() => undefined);
      this.writable?.();
      return true;
    });
  }

  /** Writes a part of the stream; settles when there is room for more. False = the client has left. */
  async write(chunk: Uint8Array | string): Promise<boolean> {
    const bytes = typeof chunk === "string" ? Buffer.from(chunk) : chunk;
    for (let offset = 0; offset < bytes.length; ) {
      if (!this.usable) return false;
      const size = this.full ? probeBytes : this.head ? firstSliceBytes : sliceBytes;
      const slice = bytes.subarray(offset, offset + size);
      offset += slice.length;
      this.res.cork(() => {
        this.sendPendingHead();
        this.full = !this.res.write(slice);
      });
      if (!this.full) this.stalledSince = 0;
      else if (!(await this.untilWritable())) return false;
    }
    return this.usable;
  }

  /** Waits for room in the socket. False = the client has left, or was dropped for reading too slowly. */
  private async untilWritable(): Promise<boolean> {
    const now = Date.now();
    if (this.stalledSince === 0) this.stalledSince = now;
    else if (now - this.stalledSince > stallMs) this.destroy();
    if (!this.usable) return false;
    await new Promise<void>((resolve) => {
      this.writable = resolve;
    });
    this.writable = undefined;
    return this.usable;
  }

  private sendPendingHead(): void {
    this.head?.();
    this.head = undefined;
  }

  /** Ends the stream. */
  endStream(): void {
    if (!this.usable) return;
    this.res.cork(() => {
      this.sendPendingHead();
      this.res.end();
    });
    this.usable = false;
  }
}

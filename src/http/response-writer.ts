import type { HttpResponse } from "uWebSockets.js";
import { statusLine } from "./status.js";

/**
 * Writes the response of one request. Only this class uses uWebSockets' HttpResponse, which must not be used after the
 * client has disconnected or the response has ended, and must be written to within `cork`.
 */

/**
 * Maximum bytes per write. A slice and its chunk framing must fit the 16 KiB cork buffer: uWebSockets.js 20.49 loses larger
 * slices when the socket is full.
 */
const sliceBytes = 15_000;
const firstSliceBytes = 8_000;
/** Size of writes after one that the socket did not take at once. */
const probeBytes = 1_000;
/** What one response may hand to a fast socket before it waits for its turn to go on: with its making it takes a millisecond. */
const turnBytes = 256 * 1024;
/** Before it waits for its first turn: many begin in one. */
const startBytes = 64 * 1024;
/** Backpressure for longer than this closes the connection. (The library itself closes it when the client reads nothing for 10 s.) */
const stallMs = 30_000;

export class ResponseWriter {
  private usable = true;
  private controller: AbortController | undefined;
  private listeners: (() => void)[] = [];
  private pendingHead: (() => void) | undefined;
  private writable: (() => void) | undefined;
  private backpressure = false;
  private stalledSince = 0;
  /** Handed over since its last turn. */
  private turnSent = turnBytes - startBytes;

  /**
   * Must be created synchronously in the request handler.
   * @param turn resolves when it is the turn of this response to send on
   */
  constructor(
    private readonly res: HttpResponse,
    private readonly turn: () => Promise<void>,
  ) {
    res.onAborted(() => this.disconnect());
  }

  /** Whether the client disconnected before the end of the response. */
  disconnected = false;

  /** False when the client has disconnected or the response has ended. */
  get open(): boolean {
    return this.usable;
  }

  /** Aborts when the client disconnects. */
  get signal(): AbortSignal {
    this.controller ??= new AbortController();
    if (this.disconnected) this.controller.abort();
    return this.controller.signal;
  }

  /** Adds a listener for the client's disconnection. */
  onDisconnect(listener: () => void): void {
    this.listeners.push(listener);
  }

  private disconnect(): void {
    if (!this.usable) return;
    this.usable = false;
    this.disconnected = true;
    for (const listener of this.listeners) listener();
    this.controller?.abort();
    this.writable?.();
  }

  /** Closes the connection immediately, so that the client sees that the response is incomplete. */
  destroy(): void {
    if (this.usable) this.res.close();
    // `close` usually calls `disconnect` through `onAborted`.
    this.disconnect();
  }

  /** Passes status and headers as one string, which is faster than a call per header. */
  private writeHead(status: number, headers: string): void {
    this.res.writeStatus(`${statusLine(status)}\r\n${headers}`);
  }

  /** Sends a response without body (HEAD, 204, 304). */
  sendHead(status: number, headers: string): void {
    if (!this.usable) return;
    this.res.cork(() => {
      this.writeHead(status, headers);
      this.res.endWithoutBody();
    });
    this.usable = false;
  }

  /**
   * Sends a complete response.
   * @returns undefined when the socket took all of it; else a promise that resolves when it has, or the client has
   *   disconnected
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

  /**
   * Sends a complete response in parts, with a character for each byte. Resolves when the socket has taken it, or the client
   * has disconnected.
   */
  async sendParts(status: number, headers: string, parts: readonly string[]): Promise<void> {
    if (!this.usable) return;
    const length = parts.reduce((sum, part) => sum + part.length, 0);
    let taken = 0;
    this.pendingHead = () => this.writeHead(status, headers);
    this.res.onWritable((offset) => {
      taken = offset;
      this.writable?.();
      return true;
    });
    let start = 0;
    for (const part of parts) {
      const bytes = Buffer.from(part, "latin1");
      for (let at = 0; at < bytes.length; at = taken - start) {
        if (!this.usable) return;
        const [isTaken, isDone] = this.tryEnd(bytes.subarray(at), length);
        if (isDone) {
          this.usable = false;
          return;
        }
        if (isTaken) break;
        await new Promise<void>((resolve) => {
          this.writable = resolve;
        });
      }
      start += bytes.length;
      if (this.isTurnOver(bytes.length)) await this.turn();
    }
  }

  private tryEnd(bytes: Uint8Array, length: number): [boolean, boolean] {
    let outcome: [boolean, boolean] = [false, false];
    this.res.cork(() => {
      this.sendPendingHead();
      outcome = this.res.tryEnd(bytes, length);
    });
    return outcome;
  }

  /** Begins a response of unknown length. Status and headers are sent with the first bytes. */
  async startStream(status: number, headers: string): Promise<void> {
    this.pendingHead = () => this.writeHead(status, headers);
    // While the library parses the request, all writes share one cork buffer; slices need the whole buffer.
    await new Promise((resolve) => setImmediate(resolve));
    if (!this.usable) return;
    this.res.onWritable(() => {
      // With an onWritable handler the library does not flush its own buffer; an empty cork does.
      this.res.cork(() => undefined);
      this.writable?.();
      return true;
    });
  }

  /** Writes a chunk of the stream; resolves when the socket can take more. False = the client has disconnected. */
  async write(chunk: Uint8Array | string): Promise<boolean> {
    const bytes = typeof chunk === "string" ? Buffer.from(chunk) : chunk;
    for (let offset = 0; offset < bytes.length; ) {
      if (!this.usable) return false;
      const size = this.backpressure ? probeBytes : this.pendingHead ? firstSliceBytes : sliceBytes;
      const slice = bytes.subarray(offset, offset + size);
      offset += slice.length;
      this.res.cork(() => {
        this.sendPendingHead();
        this.backpressure = !this.res.write(slice);
      });
      if (!this.backpressure) this.stalledSince = 0;
      else if (!(await this.untilWritable())) return false;
      if (this.isTurnOver(slice.length)) await this.turn();
    }
    return this.usable;
  }

  /** Whether so much was sent, with this, that others have their turn first. */
  private isTurnOver(bytes: number): boolean {
    this.turnSent += bytes;
    if (this.turnSent < turnBytes) return false;
    this.turnSent = 0;
    return true;
  }

  /** Waits for the end of backpressure. False = the client has disconnected, or read too slowly and was disconnected. */
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
    this.pendingHead?.();
    this.pendingHead = undefined;
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

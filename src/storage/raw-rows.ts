import type { Duplex } from "node:stream";
import pg from "pg";

/**
 * The first column of a statement's rows as the bytes that PostgreSQL sends: no string and no object is made of a row, and a
 * row of many megabytes is taken in the pieces in which it comes. PostgreSQL is asked for a portion of rows at a time, as by a
 * cursor, which may be of several batches where nobody else waits: it works on while a batch is dealt with. The connection is
 * read as rows are wanted. The messages are those of https://www.postgresql.org/docs/current/protocol-message-formats.html.
 */

export interface RawRowsOptions {
  /** Between rows, also between those of two batches. */
  readonly separator: string;
  /** The separator comes before the first row, too. */
  readonly isContinued?: boolean;
  /** Whether PostgreSQL may work on while a batch is dealt with. */
  readonly mayWorkAhead: () => boolean;
}

/** Some rows. */
export interface RawBatch {
  /** The rows with what is between them. They are the reader's: nothing else uses the memory. */
  readonly chunks: readonly Buffer[];
  /** How many rows. */
  readonly count: number;
  /** How the last row begins, as Latin-1, perhaps with the separator before it. */
  readonly lastHead: string;
}

/** What `pg` has beyond its types. */
interface Connection {
  readonly stream: Duplex;
  sync(): void;
}
interface Internals {
  submit(connection: Connection): Error | null;
  /** Asks for rows. */
  _getRows(connection: Connection, rows: number): void;
  handleError(error: Error): void;
  handlePortalSuspended(): void;
  handleReadyForQuery(): void;
}

const Base = pg.Query as unknown as new (config: {
  readonly text: string;
  readonly values: readonly unknown[];
  /** How many are asked for at first. */
  readonly rows: number;
}) => Internals;

const dataRow = "D".charCodeAt(0);
const commandComplete = "C".charCodeAt(0);
const errorResponse = "E".charCodeAt(0);
/** Type and length of a message. */
const headerBytes = 5;
/** Those of a row, the number of its columns, and the length of the first. */
const rowHeaderBytes = headerBytes + 2 + 4;
/** In which the id of an object stands in all texts of objects. */
const lastHeadBytes = 200;
/** Of the first portion: nothing is known of the rows yet. */
const firstRows = 20;
const mostRows = 20_000;
/** Of a portion, where PostgreSQL may work ahead. */
const aheadBytes = 2 * 1024 ** 2;
/** A portion that takes longer is for one batch: a reader that stops would have to wait for it. */
const quickMs = 50;
/** While less than this has come at once, PostgreSQL is slower than this process: it reads less often, and more each time. */
const fullChunkBytes = 32 * 1024;
const readAgainMs = 1;

export class RawRows extends Base {
  private connection: Connection | undefined;
  /** Of `pg`, which is given all messages but the rows. */
  private others: ((bytes: Buffer) => void) | undefined;
  private readonly separator: Buffer;
  private readonly mayWorkAhead: () => boolean;

  /** Of the current message: its header, as far as it has come. */
  private readonly header = Buffer.alloc(rowHeaderBytes);
  private headerLength = 0;
  /** Bytes of the current value, and those after it in its message, that have not come. */
  private valueLeft = 0;
  private restLeft = 0;
  private isInRow = false;
  /** Pieces of a message that is no row. */
  private message: Buffer[] | undefined;
  private messageLeft = 0;

  /** Whole rows that nobody has taken. */
  private chunks: Buffer[] = [];
  private bytes = 0;
  private count = 0;
  private lastHead = "";
  /** The last of them: where it begins, while that is in one piece. */
  private lastIn: Buffer | undefined;
  private lastStart = 0;
  private lastEnd = 0;
  /** Pieces of a row that has not come as a whole, with the separator before it. */
  private held: Buffer[] = [];
  private heldBytes = 0;
  private isFirst: boolean;

  private isDone = false;
  /** Nothing is asked for: PostgreSQL has sent a portion. */
  private isSuspended = false;
  private portion = firstRows;
  /** How long was waited for what has come of the portion. */
  private waitedMs = 0;
  /** The same of the last one that came as a whole. */
  private portionMs = Number.POSITIVE_INFINITY;
  private timer: NodeJS.Timeout | undefined;
  private error: Error | undefined;
  private isDiscarding = false;
  private wanted: { readonly bytes: number; readonly settle: () => void } | undefined;
  private whenDone: (() => void)[] = [];

  constructor(
    text: string,
    values: readonly unknown[],
    { separator, isContinued = false, mayWorkAhead }: RawRowsOptions,
  ) {
    super({ text, values, rows: firstRows });
    this.separator = Buffer.from(separator);
    this.isFirst = !isContinued;
    this.mayWorkAhead = mayWorkAhead;
  }

  /** Whether rows that were asked for will take long. Before it is closed, the statement is to be cancelled. */
  get isPartial(): boolean {
    return !this.isDone && !this.isSuspended && this.portionMs > quickMs;
  }

  /** Rows of some so many bytes, or all that are left; fewer at first. @returns undefined at the end */
  async next(bytes: number): Promise<RawBatch | undefined> {
    while (!this.isDone && this.bytes < bytes && !(this.isSuspended && this.count > 0)) {
      if (this.isSuspended) this.ask();
      const begun = performance.now();
      await new Promise<void>((settle) => {
        this.wanted = { bytes, settle };
        this.connection?.stream.resume();
      });
      this.waitedMs += performance.now() - begun;
      if (this.isSuspended) this.portionMs = this.waitedMs;
    }
    if (this.count === 0) {
      if (this.error) throw this.error;
      return undefined;
    }
    const { chunks, count, bytes: length } = this;
    const lastHead = this.lastIn
      ? headOf([this.lastIn.subarray(this.lastStart, this.lastEnd)])
      : this.lastHead;
    this.chunks = [];
    this.bytes = 0;
    this.count = 0;
    const wanted = this.portionMs < quickMs && this.mayWorkAhead() ? aheadBytes : bytes;
    const fitting = Math.floor((wanted * count) / (length + 1));
    this.portion = Math.max(1, Math.min(mostRows, fitting, this.portion * 4));
    return { chunks, count, lastHead };
  }

  private ask(): void {
    this.isSuspended = false;
    this.waitedMs = 0;
    this._getRows(this.connection!, this.portion);
  }

  /** What has not come is not wanted any more. */
  discard(): void {
    this.isDiscarding = true;
    this.connection?.stream.resume();
  }

  /** Resolves when PostgreSQL has ended the statement. */
  close(): Promise<void> {
    if (this.isDone) return Promise.resolve();
    this.discard();
    if (this.isSuspended) this.connection!.sync();
    return new Promise((resolve) => {
      this.whenDone.push(resolve);
    });
  }

  /** Called by `pg` when it is the statement's turn on the connection. */
  override submit(connection: Connection): Error | null {
    this.connection = connection;
    const { stream } = connection;
    const listeners = stream.listeners("data");
    if (listeners.length !== 1) return new Error("Somebody else reads from the connection.");
    this.others = listeners[0] as (bytes: Buffer) => void;
    stream.off("data", this.others);
    stream.on("data", this.take);
    return super.submit(connection);
  }

  override handleError(error: Error): void {
    this.error = error;
    // PostgreSQL takes nothing else before.
    this.connection?.sync();
    this.end();
  }

  override handlePortalSuspended(): void {
    this.isSuspended = true;
    if (this.isDiscarding) this.connection!.sync();
  }

  override handleReadyForQuery(): void {
    this.end();
  }

  private end(): void {
    clearTimeout(this.timer);
    this.leave();
    this.isDone = true;
    this.settle();
    for (const done of this.whenDone.splice(0)) done();
  }

  private settle(): void {
    const { wanted } = this;
    this.wanted = undefined;
    wanted?.settle();
  }

  /** Whatever comes now is for `pg`. */
  private leave(): void {
    const { connection, others } = this;
    if (!connection || !others) return;
    this.others = undefined;
    connection.stream.off("data", this.take);
    connection.stream.on("data", others);
    connection.stream.resume();
  }

  /** Takes the rows out of a chunk, which is overwritten with them, and passes everything else on. */
  private readonly take = (chunk: Buffer): void => {
    /** Where it is read, and where written, which is never ahead of that. */
    let at = 0;
    let to = 0;
    /** Where the current row begins, if not in a chunk before; the end of whole rows; the end of what `chunks` has. */
    let start = 0;
    let whole = 0;
    let from = 0;
    const keep = () => {
      if (whole === from) return;
      this.chunks.push(chunk.subarray(from, whole));
      this.bytes += whole - from;
      from = whole;
    };
    for (;;) {
      if (this.message) {
        const end = Math.min(chunk.length, at + this.messageLeft);
        this.message.push(chunk.subarray(at, end));
        this.messageLeft -= end - at;
        at = end;
        if (this.messageLeft > 0) break;
        const message = Buffer.concat(this.message);
        this.message = undefined;
        if (message[0] !== commandComplete && message[0] !== errorResponse) {
          this.others?.(message);
          continue;
        }
        keep();
        // No row follows: what else has come is for `pg`, too.
        const { others } = this;
        this.leave();
        others?.(Buffer.concat([message, chunk.subarray(at)]));
        return;
      }
      if (!this.isInRow) {
        if (at === chunk.length) break;
        at += this.readHeader(chunk, at);
        if (!this.isInRow) continue;
        start = to;
        if (this.isFirst || this.isDiscarding) continue;
        const { separator } = this;
        if (at - to >= separator.length) {
          to += separator.copy(chunk, to);
          start = to;
        } else {
          // The header came with the chunk before: there is no room for it in this one.
          keep();
          this.hold(separator);
        }
        continue;
      }
      const end = Math.min(chunk.length, at + this.valueLeft);
      if (!this.isDiscarding) {
        if (to !== at) chunk.copyWithin(to, at, end);
        to += end - at;
      }
      this.valueLeft -= end - at;
      const rest = Math.min(chunk.length - end, this.restLeft);
      this.restLeft -= rest;
      at = end + rest;
      if (this.valueLeft > 0 || this.restLeft > 0) break;
      this.isInRow = false;
      this.isFirst = false;
      if (this.isDiscarding) continue;
      this.count++;
      whole = to;
      if (this.held.length > 0) {
        // Its beginning came before.
        this.lastHead = headOf([...this.held, chunk.subarray(from, to)]);
        this.lastIn = undefined;
        for (const piece of this.held) this.chunks.push(piece);
        this.bytes += this.heldBytes;
        this.held = [];
        this.heldBytes = 0;
      } else {
        this.lastIn = chunk;
        this.lastStart = start;
        this.lastEnd = to;
      }
    }
    keep();
    if (to > from) this.hold(chunk.subarray(from, to));
    if (this.isDiscarding) return;
    const isWaiting = this.wanted && this.bytes < this.wanted.bytes && !this.isSuspended;
    if (isWaiting && chunk.length >= fullChunkBytes) return;
    this.connection?.stream.pause();
    if (isWaiting) this.timer = setTimeout(this.readAgain, readAgainMs);
    else this.settle();
  };

  private readonly readAgain = (): void => {
    if (this.wanted) this.connection?.stream.resume();
  };

  private hold(piece: Buffer): void {
    this.held.push(piece);
    this.heldBytes += piece.length;
  }

  /** @returns bytes of the chunk that belong to the header of the message */
  private readHeader(chunk: Buffer, at: number): number {
    if (this.headerLength === 0 && chunk[at] === dataRow && chunk.length - at >= rowHeaderBytes) {
      this.beginRow(chunk, at);
      return rowHeaderBytes;
    }
    const { header } = this;
    const type = this.headerLength > 0 ? header[0]! : chunk[at]!;
    const length = type === dataRow ? rowHeaderBytes : headerBytes;
    const taken = chunk.copy(header, this.headerLength, at, at + length - this.headerLength);
    this.headerLength += taken;
    if (this.headerLength < length) return taken;
    this.headerLength = 0;
    if (type === dataRow) this.beginRow(header, 0);
    else {
      this.message = [Buffer.from(header.subarray(0, headerBytes))];
      this.messageLeft = header.readUInt32BE(1) + 1 - headerBytes;
    }
    return taken;
  }

  private beginRow(bytes: Buffer, at: number): void {
    this.isInRow = true;
    // null has -1; the length of the message counts itself.
    this.valueLeft = Math.max(0, bytes.readInt32BE(at + headerBytes + 2));
    this.restLeft = bytes.readUInt32BE(at + 1) + 1 - rowHeaderBytes - this.valueLeft;
  }
}

/** How what these pieces have together begins. */
function headOf(pieces: readonly Buffer[]): string {
  let head = "";
  for (const piece of pieces) {
    head += piece.toString("latin1", 0, lastHeadBytes - head.length);
    if (head.length === lastHeadBytes) break;
  }
  return head;
}

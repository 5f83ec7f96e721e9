import type pg from "pg";
import type { Cancelling } from "./cancel-requests.js";
import { connectionLost, endsConnection, isConnectionLost, markCancelled } from "./connection-errors.js";
import { ownersOf, type SlotOwner } from "./connection-slots.js";
import type { Connections, Lease } from "./connections.js";
import { openCursor } from "./partial-cursor.js";
import { type RawBatch, RawRows } from "./raw-rows.js";

/** Reads long results in batches, as rows or as their bytes. */

const stallMs = 30_000;
/** How long a consumer may take for a batch while others wait for a slot, if its stream can be continued later. */
const patienceMs = 1_000;
/**
 * How often a stream that cannot be continued waits for its consumer as long as it may, all its batches together, before it is
 * closed if other lists wait for a slot.
 */
const longestWaits = 2;
/** Options of a streamed result of which `Last` is known at the end of each batch. */
interface Streaming<Last> {
  readonly signal?: AbortSignal;
  /** How long the consumer may take for a batch before the stream is closed; default 30 s. */
  readonly timeoutMs?: number;
  /**
   * The statement of the rows after this one. With it, a consumer that is slow while others wait for a connection loses
   * its own, and the stream goes on with another when it comes for more. Then the rows are not of one snapshot.
   */
  readonly resume?: (last: Last) => Statement;
  /** What is slow; default 1 s. */
  readonly patienceMs?: number;
}

/** Options of streamed rows. A batch of large rows is smaller than was asked for. */
export interface StreamOptions<Row = object> extends Streaming<Row> {
  /** Number of rows per batch; a function is called before each batch. */
  readonly batch: number | (() => number);
}

/** Options of streamed bytes. */
export interface BytesOptions extends Streaming<string> {
  /** Between rows. */
  readonly separator: string;
}

interface Statement {
  readonly text: string;
  readonly values: readonly unknown[];
}

/** For whom a result is read, and for how long. */
export interface StreamUse {
  readonly owner: SlotOwner;
  readonly signal: AbortSignal | undefined;
  /** Longest time for a batch. */
  readonly batchTimeoutMs: number;
}

type StreamRequest<Options> = Omit<Options, "signal"> & Statement & StreamUse;

/** The rows; see `Database.stream`. */
export const streamRows = <Row extends object>(
  connections: Connections,
  request: StreamRequest<StreamOptions<Row>>,
): AsyncGenerator<Row[], void, undefined> => {
  const { batch, resume, ...rest } = request;
  return streamBatches<Row[], Row>(connections, {
    ...rest,
    size: typeof batch === "number" ? () => batch : batch,
    ...(resume && { resume }),
    lastOf: (rows) => rows.at(-1)!,
    open: ({ client }, { text, values }) => openCursor<Row>(client, text, [...values]),
  });
};

/** A statement that is closed and has not ended after this time is cancelled. */
const lateEndMs = 200;
/** What is read of bytes at once. */
const batchBytes = 256 * 1024;

/** The rows' bytes; see `Database.streamBytes`. */
export function streamBytes(
  connections: Connections,
  request: StreamRequest<BytesOptions>,
): AsyncGenerator<RawBatch, void, undefined> {
  const { separator, ...rest } = request;
  let isContinued = false;
  // Nobody waits for a connection, and no other list for its batch.
  const mayWorkAhead = () => connections.slots.waiting === 0 && connections.batches.waiting === 0;
  return streamBatches<RawBatch, string>(connections, {
    ...rest,
    size: () => batchBytes,
    lastOf: ({ lastHead }) => lastHead,
    open: ({ client }, { text, values }) => {
      const rows = new RawRows(text, values, { separator, isContinued, mayWorkAhead });
      isContinued = true;
      client.query(rows as unknown as pg.Submittable);
      return rows;
    },
  });
}

/** A statement that runs, and what has come of it. */
interface BatchReader<Batch> {
  /** Whether something was asked for that has not come. Before it is closed, the statement is to be cancelled. */
  readonly isPartial: boolean;
  /** @param size how much is wanted: rows or bytes. @returns undefined at the end */
  next(size: number): Promise<Batch | undefined>;
  /** What was asked for is not wanted any more. */
  discard(): void;
  close(): Promise<void>;
}

interface BatchRequest<Batch> extends Omit<Streaming<unknown>, "signal" | "resume">, Statement, StreamUse {
  readonly size: () => number;
  readonly open: (lease: Lease, statement: Statement) => BatchReader<Batch>;
}

interface Resuming<Batch, Last> {
  /** What of a batch is kept while its reader has it. */
  readonly lastOf: (batch: Batch) => Last;
  readonly resume?: (last: Last) => Statement;
}

async function* streamBatches<Batch, Last>(
  connections: Connections,
  request: BatchRequest<Batch> & Resuming<Batch, Last>,
): AsyncGenerator<Batch, void, undefined> {
  const { owner, signal, size, lastOf, resume } = request;
  let statement: Statement = request;
  for (;;) {
    if (signal?.aborted) return;
    // A reader who has got something is not refused soon.
    const timeoutMs = statement === request ? undefined : stallMs;
    const lease = await connections.lease({ purpose: "lists", owner, signal, timeoutMs });
    if (signal?.aborted) {
      lease.release();
      return;
    }
    const reading = new Reading<Batch>(connections, lease, statement, {
      ...request,
      canBeResumed: resume !== undefined,
    });
    let last: Last | undefined;
    let wasPaused = false;
    try {
      while (!signal?.aborted) {
        const batch = await reading.read(size());
        // With its client gone, the connection may be another's by now.
        if (!batch || signal?.aborted) return;
        last = lastOf(batch);
        reading.waitForConsumer();
        yield batch;
        if (reading.endWait()) {
          wasPaused = true;
          break;
        }
      }
    } catch (error) {
      if (!signal?.aborted) throw isConnectionLost(error) ? connectionLost(error) : error;
    } finally {
      await reading.finish();
    }
    if (!wasPaused || !resume) return;
    statement = resume(last!);
  }
}

class Reading<Batch> {
  /** Opened when PostgreSQL may work on it: also what looks at its statement and locks its tables takes time. */
  private reader: BatchReader<Batch> | undefined;
  /** Behind a pooler, the beginning of the transaction. */
  private beginning: Promise<void> | undefined;
  private isRunning = false;
  /** How long the last batch took. */
  private batchMs = 0;
  private hasFailed = false;
  private ended: "stalled" | "paused" | undefined;
  private timer: NodeJS.Timeout | undefined;
  private cancelling: Cancelling | undefined;
  private finished: Promise<void> | undefined;
  private lost: Error | undefined;
  /** A request to cancel it was sent: a statement that goes on may fail of it later. */
  private wasCancelled = false;
  /** How long it has waited for the consumer of all batches, and since when it does. */
  private waitedMs = 0;
  private waitsSince = 0;

  constructor(
    private readonly connections: Connections,
    private readonly lease: Lease,
    private readonly statement: Statement,
    private readonly request: BatchRequest<Batch> & { readonly canBeResumed: boolean },
  ) {
    const { client } = lease;
    // PostgreSQL would count the time of all batches together, and of the consumer between them; `read` limits each batch.
    this.beginning = connections.statements.beginReading(client);
    this.beginning?.catch(() => undefined);
    // Others' batches may keep it waiting for its first turn for longer than PostgreSQL may be silent.
    connections.expectNothing(client);
    request.signal?.addEventListener("abort", this.abort, { once: true });
  }

  /** The next batch; undefined at the end. */
  async read(size: number): Promise<Batch | undefined> {
    const { connections, lease, statement, request } = this;
    // A list that has its turn must have a session: a pooler may have none for it until others have had theirs.
    if (this.beginning) await this.begun(this.beginning);
    const leave = await this.turn();
    if (this.finished) {
      // The client left as its turn came: the connection is for others by now.
      leave();
      return undefined;
    }
    const begun = performance.now();
    this.isRunning = true;
    this.timer = setTimeout(() => this.cancel(), request.batchTimeoutMs);
    connections.expectAnswer(lease.client);
    try {
      this.reader ??= request.open(lease, statement);
      return await this.reader.next(size);
    } catch (error) {
      this.hasFailed = true;
      if (this.wasCancelled) markCancelled(error);
      if (endsConnection(error)) this.lost = error as Error;
      throw error;
    } finally {
      this.isRunning = false;
      this.batchMs = performance.now() - begun;
      clearTimeout(this.timer);
      leave();
      // A batch that came just before it was cancelled: the next one must not be cancelled in its place.
      await this.endCancelling();
    }
  }

  private async begun(beginning: Promise<void>): Promise<void> {
    const { connections, lease } = this;
    connections.expectAnswer(lease.client);
    try {
      await beginning;
    } catch (error) {
      this.hasFailed = true;
      // Whether there is a transaction by now is not known.
      this.lost = error as Error;
      throw error;
    } finally {
      this.beginning = undefined;
      connections.expectNothing(lease.client);
    }
  }

  /** Of who reads for the server there may be any number. */
  private turn(): Promise<() => void> | (() => void) {
    const { owner, signal } = this.request;
    if (owner.client === "") return () => undefined;
    return this.connections.batches.acquire({ owners: ownersOf(owner), ...(signal && { signal }) });
  }

  /** The consumer has the rows, and a time of its own for them. */
  waitForConsumer(): void {
    const { request, connections, lease } = this;
    connections.expectNothing(lease.client);
    const since = performance.now();
    const longestMs = request.timeoutMs ?? stallMs;
    const patience = Math.min(request.patienceMs ?? patienceMs, longestMs);
    this.waitsSince = since;
    const look = () => {
      const ms = performance.now() - since;
      const { slots } = connections;
      if (ms >= longestMs - 1) this.end("stalled");
      else if (request.canBeResumed && slots.waiting > 0) this.end("paused");
      else if (
        !request.canBeResumed &&
        this.waitedMs + ms >= longestWaits * longestMs &&
        slots.counts().lists.waiting > 0
      )
        this.end("stalled");
      else this.timer = setTimeout(look, Math.min(patience, longestMs - (performance.now() - since)));
    };
    this.timer = setTimeout(look, patience);
  }

  private end(how: "stalled" | "paused"): void {
    this.ended = how;
    void this.finish();
  }

  /**
   * The consumer wants more.
   * @returns whether the slot was given to others meanwhile
   * @throws Error when the consumer took too long
   */
  endWait(): boolean {
    clearTimeout(this.timer);
    this.waitedMs += performance.now() - this.waitsSince;
    if (this.ended === "stalled") throw new Error("The reader of a long result stalled.");
    return this.ended === "paused";
  }

  /** Gives the connection back. */
  finish(): Promise<void> {
    this.finished ??= this.close();
    return this.finished;
  }

  private async close(): Promise<void> {
    const { connections, lease, request } = this;
    clearTimeout(this.timer);
    connections.expectAnswer(lease.client);
    request.signal?.removeEventListener("abort", this.abort);
    // What came before it the client has taken.
    if (request.signal?.aborted) connections.abandoned.note(request.owner.client, this.batchMs);
    // The connection must not go back with a transaction that begins later.
    if (this.beginning) await this.begun(this.beginning).catch(() => undefined);
    const { reader } = this;
    if (reader?.isPartial && !this.hasFailed) {
      this.cancel();
      reader.discard();
    } else await this.endCancelling();
    // It was expected to end by itself.
    const late = setTimeout(() => this.cancel(), lateEndMs);
    // What has failed is already closed; closing it again would wait until the timeout.
    this.lost ??= this.hasFailed || !reader ? undefined : await closeReader(reader);
    clearTimeout(late);
    await this.endCancelling();
    if (!this.lost)
      await connections.statements.endReading(lease.client).catch((error: Error) => {
        this.lost = error;
      });
    lease.release(this.lost);
  }

  /** A running query must be cancelled on the server; what waits for its consumer is closed immediately. */
  private readonly abort = (): void => {
    if (this.isRunning) this.cancel();
    else void this.finish();
  };

  private cancel(): void {
    this.wasCancelled = true;
    this.cancelling ??= this.connections.cancels.start(this.lease.client);
  }

  private async endCancelling(): Promise<void> {
    const { cancelling } = this;
    if (!cancelling) return;
    if (!(await cancelling.end())) this.lost ??= new Error("A cancel request may still be on its way.");
    this.cancelling = undefined;
  }
}

/** @returns an error if its connection is unusable */
async function closeReader(reader: BatchReader<unknown>): Promise<Error | undefined> {
  let timer: NodeJS.Timeout | undefined;
  try {
    // After a lost connection, the server never responds to the close.
    await Promise.race([
      reader.close(),
      new Promise((_, reject) => {
        timer = setTimeout(() => reject(new Error("The statement did not end in time.")), 5_000);
      }),
    ]);
    return undefined;
  } catch (error) {
    return error as Error;
  } finally {
    clearTimeout(timer);
  }
}

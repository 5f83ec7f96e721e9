import type { Duplex } from "node:stream";
import type pg from "pg";
import Cursor from "pg-cursor";

/**
 * A cursor whose batches are bounded in bytes, too: rows may have many megabytes, and those before tell nothing of them.
 * PostgreSQL knows no such bound and sends all that was asked for: beyond it the connection is not read from, so that
 * PostgreSQL waits with what is left.
 */

/** Of a batch, but for its last row. */
const mostBytes = 8 * 1024 ** 2;

/** What `pg-cursor` has beyond its types. */
interface Internals<Row> {
  state: "initialized" | "submitted" | "idle" | "busy" | "done" | "error";
  readonly connection: { readonly stream: Duplex };
  /** The reader that waits for rows. */
  _cb: ((error: Error | null, rows: Row[]) => void) | null;
  _rows: Row[];
  /** Called at the end of what was asked for. */
  _sendRows(): void;
  handleDataRow(message: { readonly length: number }): void;
  read(count: number): Promise<Row[]>;
  close(): Promise<void>;
}

const Base = Cursor as unknown as new (...given: ConstructorParameters<typeof Cursor>) => Internals<object>;

class PartialCursor<Row extends object> extends Base {
  private bytes = 0;
  /** PostgreSQL waits with rows that were asked for. */
  private waits = false;
  private isDiscarding = false;
  /** What has come since a part was handed over. */
  private left: object[] = [];

  /** Whether rows that were asked for have not come yet. Before it is closed, the statement is to be cancelled. */
  get isPartial(): boolean {
    return this.waits;
  }

  /** Rows, at most so many; fewer when they are large; undefined at the end. */
  async next(count: number): Promise<Row[] | undefined> {
    const { left } = this;
    if (left.length > 0) {
      this.left = [];
      return left as Row[];
    }
    this.bytes = 0;
    // It came with the part before, too; `read` throws it.
    if (this.state === "error") this.resume();
    const rows = await (this.waits ? this.rest() : this.read(count));
    if (rows.length > 0) return rows as Row[];
    // The last of those that were asked for had already come.
    return this.state === "done" ? undefined : this.next(count);
  }

  /** What was asked for is not wanted any more. */
  discard(): void {
    this.isDiscarding = true;
    this.resume();
  }

  override handleDataRow(message: { readonly length: number }): void {
    if (this.isDiscarding) return;
    super.handleDataRow(message);
    this.bytes += message.length;
    if (this.bytes < mostBytes || !this._cb) return;
    this.waits = true;
    this.connection.stream.pause();
    const { _cb: handOver, _rows: rows } = this;
    this._cb = null;
    this._rows = [];
    handOver(null, rows);
  }

  override _sendRows(): void {
    const { waits } = this;
    this.resume();
    if (this._cb) {
      super._sendRows();
      return;
    }
    // They have come with the part before, which is not dealt with yet.
    if (waits) this.left = this._rows;
    this._rows = [];
    this.state = "idle";
  }

  private rest(): Promise<object[]> {
    return new Promise((resolve, reject) => {
      this._cb = (error, rows) => (error ? reject(error) : resolve(rows));
      this.connection.stream.resume();
    });
  }

  private resume(): void {
    this.waits = false;
    this.connection.stream.resume();
  }
}

/** Sends a statement, whose rows then come as they are asked for. */
export function openCursor<Row extends object>(
  client: pg.ClientBase,
  ...given: ConstructorParameters<typeof Cursor>
): PartialCursor<Row> {
  const cursor = new PartialCursor<Row>(...given);
  client.query(cursor as unknown as pg.Submittable);
  return cursor;
}

import type { Database } from "../storage/postgres.js";
import type { Statement } from "./sql.js";
import { readFailed } from "./statement-failure.js";

/** Runs list statements: short lists in one round trip, others through a cursor with memory that does not depend on their length. */

export interface ListText {
  readonly opening: string;
  readonly closing: string;
}

/** Rows that are fetched without a cursor, with and without geometry (whose size nobody knows beforehand). */
const shortRows = { plain: 1_000, withGeometry: 100 } as const;
const firstBatch = { plain: 500, withGeometry: 50 } as const;
const batchBytes = 256 * 1024;
const chunkCharacters = 16 * 1024;

export interface ListSource {
  readonly statement: Statement;
  /** Greatest number of rows that can come; undefined = any number. */
  readonly limit: number | undefined;
  readonly hasGeometry: boolean;
  readonly text: ListText;
  /** Rewrites each object's JSON text. */
  readonly rewrite?: ((object: string) => string) | undefined;
  readonly signal: AbortSignal;
  /** Told of each batch of a long list how many objects it has. */
  readonly onObjects?: ((count: number) => void) | undefined;
}

/**
 * The list as JSON text, or as the chunks of it when it is long. The first rows have been read when this returns, so a
 * statement that fails at once fails here.
 */
export async function readList(
  db: Database,
  source: ListSource,
): Promise<string | AsyncIterableIterator<string>> {
  const kind = source.hasGeometry ? "withGeometry" : "plain";
  if (source.limit !== undefined && source.limit <= shortRows[kind])
    return shortList(db, source).catch(readFailed);
  const chunks = longList(db, source, firstBatch[kind]);
  const first = await chunks.next().catch(readFailed);
  return first.done ? `${source.text.opening}${source.text.closing}` : resumed(first.value, chunks);
}

/** PostgreSQL joins the rows: one value to carry instead of a thousand. */
async function shortList(db: Database, { statement, text, rewrite, signal }: ListSource): Promise<string> {
  if (rewrite) {
    const rows = await db.query<{ o: string }>(statement.text, statement.values, { signal });
    return `${text.opening}${rows.map(({ o }) => rewrite(o)).join(",")}${text.closing}`;
  }
  const joined = `select coalesce(string_agg(o,','),'') as o from (${statement.text}) list`;
  const [row] = await db.query<{ o: string }>(joined, statement.values, { signal });
  return `${text.opening}${row?.o ?? ""}${text.closing}`;
}

async function* longList(db: Database, source: ListSource, first: number): AsyncGenerator<string, void> {
  const { statement, signal, text, rewrite } = source;
  let rows = first;
  const batches = db.stream<{ o: string }>(statement.text, statement.values, { batch: () => rows, signal });
  let pending = text.opening;
  let separator = "";
  for await (const batch of batches) {
    source.onObjects?.(batch.length);
    let characters = 0;
    for (const { o } of batch) {
      characters += o.length;
      pending += separator + (rewrite ? rewrite(o) : o);
      separator = ",";
      if (pending.length < chunkCharacters) continue;
      yield pending;
      pending = "";
    }
    // The next batch is as long as this one's rows were short, and grows no faster than fourfold.
    const fitting = Math.floor(batchBytes / (characters / batch.length + 1));
    rows = Math.max(1, Math.min(2_000, fitting, batch.length * 4));
  }
  signal.throwIfAborted();
  yield pending + text.closing;
}

/** The chunks with the first one before them. No generator: one that was never asked for a value ignores `return`. */
function resumed(first: string, rest: AsyncGenerator<string, void>): AsyncIterableIterator<string> {
  let waiting: string | undefined = first;
  return {
    [Symbol.asyncIterator]() {
      return this;
    },
    async next() {
      if (waiting === undefined) return rest.next();
      const value = waiting;
      waiting = undefined;
      return { done: false, value };
    },
    async return() {
      waiting = undefined;
      await rest.return();
      return { done: true, value: undefined };
    },
  };
}

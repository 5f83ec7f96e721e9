import type { Database } from "../storage/postgres.js";
import type { Statement } from "./sql.js";
import { readFailed } from "./statement-failure.js";

/** Runs list statements: short lists in one round trip, others through a cursor, so that memory use does not depend on their length. */

export interface ListText {
  readonly opening: string;
  readonly closing: string;
}

/** Largest limit of a list that is fetched without a cursor; geometries may be large. */
const shortRows = { plain: 1_000, withGeometry: 100 } as const;
const firstBatch = { plain: 500, withGeometry: 50 } as const;
const batchBytes = 256 * 1024;
const chunkCharacters = 16 * 1024;

export interface ListSource {
  readonly statement: Statement;
  /** Maximum number of rows; undefined = unlimited. */
  readonly limit: number | undefined;
  readonly hasGeometry: boolean;
  readonly text: ListText;
  /** Rewrites each object's JSON text. */
  readonly rewrite?: ((object: string) => string) | undefined;
  readonly signal: AbortSignal;
  /** Called with the number of objects of each batch of a long list. */
  readonly onObjects?: ((count: number) => void) | undefined;
}

/**
 * The list as JSON text, or as chunks of it when it is long. The first batch is read before this resolves, so that a
 * statement that fails immediately rejects here.
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
  return first.done ? `${source.text.opening}${source.text.closing}` : prepend(first.value, chunks);
}

/** PostgreSQL joins the rows to one value, which is faster to transfer and decode than many. */
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
    // The size of the next batch follows from the average row size of this one; it grows at most fourfold.
    const fitting = Math.floor(batchBytes / (characters / batch.length + 1));
    rows = Math.max(1, Math.min(2_000, fitting, batch.length * 4));
  }
  signal.throwIfAborted();
  yield pending + text.closing;
}

/** Prepends the first chunk. Not a generator: `return` of a generator that has not started does not reach `rest`. */
function prepend(first: string, rest: AsyncGenerator<string, void>): AsyncIterableIterator<string> {
  let pending: string | undefined = first;
  return {
    [Symbol.asyncIterator]() {
      return this;
    },
    async next() {
      if (pending === undefined) return rest.next();
      const value = pending;
      pending = undefined;
      return { done: false, value };
    },
    async return() {
      pending = undefined;
      await rest.return();
      return { done: true, value: undefined };
    },
  };
}

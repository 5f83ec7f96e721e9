import { LRUCache } from "lru-cache";
import type { Database } from "../storage/postgres.js";
import { literal, type Statement } from "./sql.js";
import { readFailed } from "./statement-failure.js";

/** Runs list statements: short lists in one round trip, others through a cursor, so that memory use does not depend on their length. */

export interface ListText {
  readonly opening: string;
  readonly closing: string;
  /** Between objects; default: a comma. */
  readonly separator?: string;
}

/** Largest limit of a list that is fetched without a cursor; geometries may be large. */
const shortRows = { plain: 1_000, withGeometry: 100 } as const;
/** The most that is read so: 1 MB holds the event loop for 2 ms. */
const shortBytes = 4 * 1024 ** 2;
/** Statements of lists that were longer lately: PostgreSQL need not find that out again, which costs as much as the list. */
const longLately = new LRUCache<string, true>({
  max: 200,
  maxSize: 1024 ** 2,
  sizeCalculation: (_, statement) => statement.length,
  ttl: 60_000,
});
/** Nothing is known of their sizes yet. */
const firstBatch = 20;
const batchBytes = 256 * 1024;
const chunkCharacters = 16 * 1024;

/** Objects that are read through a cursor. */
export interface RowSource {
  readonly statement: Statement;
  readonly signal: AbortSignal;
  /**
   * The statement of the objects after the one with this id, of which `read` were read before. For lists in the order of
   * their ids: while others wait, a reader who does not read holds no connection. An object that is created, changed or
   * deleted meanwhile is there as it is then; none is there twice, and none is missing that existed all the time.
   */
  readonly resume?: ((afterId: number, read: number) => Statement) | undefined;
  /** The id of an object, from its text; default: of JSON. */
  readonly idOf?: ((text: string) => number) | undefined;
  /** Called with the number of objects of each batch. */
  readonly onObjects?: ((count: number) => void) | undefined;
}

export interface ListSource extends RowSource {
  /** Maximum number of rows; undefined = unlimited. */
  readonly limit: number | undefined;
  readonly hasGeometry: boolean;
  readonly text: ListText;
  /** Single objects may be larger than other lists: a short list, too, is not read in one round trip. */
  readonly hasLargeObjects?: boolean;
  /** Rewrites each object's JSON text. */
  readonly rewrite?: ((object: string) => string) | undefined;
}

/**
 * The list as JSON text, or as chunks of it when it is long. The first batch is read before this resolves, so that a
 * statement that fails immediately rejects here.
 */
export async function readList(
  db: Database,
  source: ListSource,
): Promise<string | AsyncIterableIterator<string | Uint8Array>> {
  if (isShort(source) && !longLately.has(source.statement.text)) {
    const text = await shortList(db, source).catch(readFailed);
    if (text !== undefined) return text;
    longLately.set(source.statement.text, true);
  }
  return readChunks(db, source);
}

/** Whether a list of so many objects is read in one round trip. */
const isShort = ({
  limit,
  hasGeometry,
  hasLargeObjects,
}: Pick<ListSource, "limit" | "hasGeometry" | "hasLargeObjects">): boolean =>
  !hasLargeObjects && limit !== undefined && limit <= shortRows[hasGeometry ? "withGeometry" : "plain"];

type Unlimited = Omit<ListSource, "limit" | "hasGeometry">;

/** What a page of a list is read with. */
export interface PageSource extends Omit<ListSource, "statement" | "resume"> {
  readonly limit: number;
  /** The statement of the list with other bounds, in the order of ids. */
  readonly bounded: (bounds: PageBounds) => Statement;
  /** The ids of the list with this limit and offset. */
  readonly ids: (bounds: { readonly limit: number; readonly offset: number }) => Statement;
  /** Objects that are left out. */
  readonly offset: number;
}

/** What is not given is as of the page. */
export interface PageBounds {
  readonly after?: number;
  readonly upTo?: number;
  readonly offset?: number;
  /** null = unlimited. */
  readonly limit?: number | null;
  readonly withIds?: boolean;
}

export interface Page {
  readonly text: string | AsyncIterableIterator<string | Uint8Array>;
  /** Id of its last object, if there are more. */
  readonly next: number | undefined;
}

/**
 * A page of a list in the order of ids, as `readList`. Pages that follow each other have each object once that exists all the
 * time: the end of a long one is found before it is read.
 */
export async function readPage(db: Database, source: PageSource): Promise<Page> {
  const { bounded, ids, limit, offset, signal } = source;
  // As a short one that is too long for that is.
  const isLarge = isShort(source);
  if (isLarge) {
    const statement = bounded({ limit: limit + 1, withIds: true });
    if (!longLately.has(statement.text)) {
      const { text, next } = await shortPage(db, source, statement).catch(readFailed);
      if (text !== undefined) return { text, next };
      longLately.set(statement.text, true);
      return pageUpTo(db, { ...source, hasLargeObjects: true }, next);
    }
  }
  const found = ids({ limit: 2, offset: offset + limit - 1 });
  const ends = await db.query<{ id: number }>(found.text, found.values, { signal }).catch(readFailed);
  const last = ends.length === 2 ? ends[0]!.id : undefined;
  return pageUpTo(db, isLarge ? { ...source, hasLargeObjects: true } : source, last);
}

/** @param last its last object, if there are more */
async function pageUpTo(db: Database, source: PageSource, last: number | undefined): Promise<Page> {
  const { bounded, limit } = source;
  const page: PageBounds = last === undefined ? {} : { upTo: last, limit: null };
  const text = await readList(db, {
    ...source,
    limit: last === undefined ? limit : undefined,
    statement: bounded(page),
    resume: (after, read) =>
      bounded({ ...page, after, offset: 0, limit: last === undefined ? Math.max(0, limit - read) : null }),
  });
  return { text, next: last };
}

/** As `shortList`, with one object more, which tells whether there is a next page. */
async function shortPage(db: Database, source: PageSource, { text, values }: Statement) {
  const { limit, signal } = source;
  const within = `filter (where n <= ${Math.trunc(limit)})`;
  const joined =
    `select ${joinedSql(source, within)} as o, max(id) ${within} as last, count(*) > ${Math.trunc(limit)} as more ` +
    `from (select o, id, row_number() over () as n from (${text}) list) numbered`;
  const [row] = await db.query<JoinedRow & { last: number; more: boolean }>(joined, values, { signal });
  return { text: joinedText(source, row!), next: row!.more ? row!.last : undefined };
}

/** All objects as chunks of text, of which the first is ready. */
export const readChunks = (
  db: Database,
  source: Unlimited,
): Promise<AsyncIterableIterator<string | Uint8Array>> =>
  started<string | Uint8Array>(
    source.rewrite ? rewritten(db, source, source.rewrite) : asTheyCome(db, source),
  );

/** Runs a generator to its first value, so that a statement that fails immediately rejects here. */
export async function started<T>(generator: AsyncGenerator<T, void>): Promise<AsyncIterableIterator<T>> {
  const first = await generator.next().catch(readFailed);
  return first.done ? generator : prepend([first.value], generator);
}

/** @returns undefined when it is too long to be read at once */
async function shortList(db: Database, source: ListSource): Promise<string | undefined> {
  const { statement, signal } = source;
  const joined = `select ${joinedSql(source)} as o from (${statement.text}) list`;
  const [row] = await db.query<JoinedRow>(joined, statement.values, { signal });
  return joinedText(source, row!);
}

type Joining = Pick<ListSource, "text" | "rewrite">;

interface JoinedRow {
  readonly o: string | null;
}

/** No JSON text has it as it is. */
const unitSeparator = "\x1f";

/** PostgreSQL joins the rows to one value, which is faster to transfer and decode than many; null when it is too long. */
function joinedSql({ text: { separator = "," }, rewrite }: Joining, within = ""): string {
  const between = literal(rewrite ? unitSeparator : separator);
  return (
    `case when coalesce(sum(octet_length(o)) ${within},0) <= ${shortBytes} ` +
    `then coalesce(string_agg(o,${between}) ${within},'') end`
  );
}

function joinedText({ text, rewrite }: Joining, { o }: JoinedRow): string | undefined {
  if (o === null) return undefined;
  const { opening, closing, separator = "," } = text;
  const objects = rewrite && o !== "" ? o.split(unitSeparator).map(rewrite).join(separator) : o;
  return `${opening}${objects}${closing}`;
}

/** The list in the chunks in which PostgreSQL sends it: nothing is made of an object on its way. */
async function* asTheyCome(
  db: Database,
  { statement, text, signal, onObjects, resume, idOf = idOfJson }: Unlimited,
): AsyncGenerator<string | Uint8Array, void> {
  const { opening, closing, separator = "," } = text;
  let read = 0;
  const batches = db.streamBytes(statement.text, statement.values, {
    separator,
    signal,
    ...(resume && { resume: (lastHead: string) => resume(idOf(lastHead), read) }),
  });
  for await (const { chunks, count } of batches) {
    if (read === 0) yield opening;
    read += count;
    onObjects?.(count);
    yield* chunks;
  }
  signal.throwIfAborted();
  yield read === 0 ? opening + closing : closing;
}

async function* rewritten(
  db: Database,
  source: Unlimited,
  rewrite: (object: string) => string,
): AsyncGenerator<string, void> {
  const { opening, closing, separator = "," } = source.text;
  let pending = opening;
  let before = "";
  for await (const batch of readBatches(db, source)) {
    for (const o of batch) {
      pending += before + rewrite(o);
      before = separator;
      if (pending.length < chunkCharacters) continue;
      yield pending;
      pending = "";
    }
  }
  yield pending + closing;
}

/** The objects' texts in batches of some 256 kB. */
export async function* readBatches(
  db: Database,
  { statement, signal, onObjects, resume, idOf = idOfJson }: RowSource,
): AsyncGenerator<readonly string[], void> {
  let rows = firstBatch;
  let read = 0;
  const batches = db.stream<{ o: string }>(statement.text, statement.values, {
    batch: () => rows,
    signal,
    ...(resume && { resume: ({ o }) => resume(idOf(o), read) }),
  });
  for await (const batch of batches) {
    read += batch.length;
    onObjects?.(batch.length);
    const texts = batch.map(({ o }) => o);
    yield texts;
    const characters = texts.reduce((sum, o) => sum + o.length, 0);
    // The size of the next batch follows from the average row size of this one; it grows at most fourfold.
    const fitting = Math.floor(batchBytes / (characters / batch.length + 1));
    rows = Math.max(1, Math.min(2_000, fitting, batch.length * 4));
  }
  signal.throwIfAborted();
}

/** The id of an item of the API's list, or of a Feature, which is the first number in either. */
const idOfJson = (text: string): number => Number(/"id":(-?\d+)/.exec(text)![1]);

/**
 * Prepends the first values. Not a generator: `return` of a generator that has not started does not reach `rest`.
 * @param left called with each of the first values that is not held any longer
 */
export function prepend<T>(
  first: readonly T[],
  rest: AsyncIterableIterator<T>,
  left?: (value: T) => void,
): AsyncIterableIterator<T> {
  const pending = first.toReversed();
  return {
    [Symbol.asyncIterator]() {
      return this;
    },
    async next() {
      if (pending.length === 0) return rest.next();
      const value = pending.pop()!;
      left?.(value);
      return { done: false, value };
    },
    async return() {
      for (const value of pending.splice(0)) left?.(value);
      await rest.return?.();
      return { done: true, value: undefined };
    },
  };
}

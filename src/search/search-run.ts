import { isLocalised } from "../features/column-sql.js";
import type { Statement } from "../features/sql.js";
import type { Queryable } from "../storage/postgres.js";
import { type ColumnStatistics, indexedValues, readStatistics } from "./column-statistics.js";
import type { SearchEntry } from "./entries.js";
import { type Estimate, estimateOf } from "./estimate.js";
import type { Found } from "./found.js";
import { lettered } from "./phrase.js";
import {
  type Explained,
  estimateStatement,
  type FoundRow,
  type SearchStrategy,
  searchStatement,
  type TextQuery,
} from "./statements.js";

/** No statement is started after this time; the results so far are returned. */
const startLimitMs = 600;
/** Maximum number of values (rows × weight) scanned without an index: per column, and in total. */
const tableValues = 20_000;
const allTableValues = 60_000;
/** Maximum candidates: from the index, first in sort order, per prefix, and from a sample. (5 µs each.) */
const indexValues = 500;
const orderValues = 250;
const startValues = 125;
const sampleValues = 2_000;
/** Minimum number of rows, also of very long values. */
const minRows = 25;
/** If more rows are expected, a needle or phrase is frequent. (An index scan of so many takes less than 10 ms.) */
const frequentRows = 50_000;
/** Maximum number of words used as prefixes. */
const maxStarts = 4;

/** A searched column with its statistics. */
interface SearchedColumn extends ColumnStatistics {
  readonly entry: SearchEntry;
}

interface IndexedColumn extends SearchedColumn {
  /** Whether the first values in sort order gave enough results with some of the words. */
  firstHaveSome: boolean;
  estimate?: Estimate;
}

/** A virtual layer may have the indexes of its source. */
const mayHaveIndexes = ({ virtual, indexed, rows }: ColumnStatistics): boolean =>
  virtual ? rows >= indexedValues : indexed;

/**
 * One search of the entries, in its own transaction. In indexed columns it finds exact matches first. Then, for all
 * words, and after that for some words if there are too few results, it tries in turn: the first values in sort order,
 * values that begin with a frequent word, a sample for frequent words, and the index of words. Statements that time out
 * are skipped.
 */
export class SearchRun {
  private readonly deadline = performance.now() + startLimitMs;
  /** Remaining number of values that may be scanned without an index. */
  private valuesLeft = allTableValues;
  /** Whether a layer or column was dropped or changed during the search. */
  isStale = false;

  constructor(
    private readonly tx: Queryable,
    private readonly signal: AbortSignal,
    private readonly found: Found,
    private readonly query: TextQuery,
  ) {}

  /** Searches the entries until there are enough results; returns whether an index is missing. */
  async run(entries: readonly SearchEntry[]): Promise<boolean> {
    // After a failed statement, for example a timeout, the search continues from this savepoint.
    await this.tx.execute("savepoint search");
    const { limit, phrase } = this.query;
    const indexed: IndexedColumn[] = [];
    let indexMissing = false;
    const places = entries.map(({ layer, search }) => ({ layerId: layer.id, ...search }));
    const statistics = await readStatistics(places, (statement) => this.attempt(statement));
    for (const [i, entry] of entries.entries()) {
      const column = { ...statistics[i]!, entry };
      if (this.found.count(30) >= limit) return false;
      if (mayHaveIndexes(column) && (await this.find(column, { by: "exact" }))) {
        indexed.push({ ...column, firstHaveSome: false });
        continue;
      }
      await this.scan(column);
      indexMissing ||= !column.virtual && column.rows * column.weight >= indexedValues;
    }
    for (const match of ["all", "some"] as const) {
      if (this.found.count(20) >= limit || (match === "some" && phrase.needles.length === 1)) break;
      for (const column of indexed) await this.findMatches(column, match);
    }
    return indexMissing;
  }

  /** Scans a column without indexes, up to the limits. */
  private async scan(column: SearchedColumn): Promise<void> {
    const values = Math.min(tableValues, this.valuesLeft);
    if (values === 0) return;
    this.valuesLeft -= Math.min(values, Math.ceil(column.rows * column.weight));
    await this.find(column, { by: "scan", rows: rowsOf(values, column) });
  }

  /** Finds values with all (or some) words in a column with indexes. */
  private async findMatches(column: IndexedColumn, match: "all" | "some"): Promise<void> {
    if (match === "all" ? await this.findFirst(column) : column.firstHaveSome) return;
    column.estimate ??= await this.estimate(column);
    const needles = match === "all" ? column.estimate.needles : lettered(column.estimate.needles);
    const expected = column.estimate[match];
    if (expected >= frequentRows && (await this.findFrequent(column, match, expected))) return;
    const rows = Math.max(rowsOf(indexValues, column), 2 * this.query.limit);
    await this.find(column, { by: "index", match, needles, rows });
  }

  /** Searches the first values in sort order; returns whether enough of these have all words. */
  private async findFirst(column: IndexedColumn): Promise<boolean> {
    if (isLocalised(column.entry.search)) return false;
    const first = await this.find(column, { by: "order", start: "", rows: rowsOf(orderValues, column) });
    column.firstHaveSome = this.isEnough(first, "some");
    return this.isEnough(first, "all");
  }

  /** Finds values that begin with the phrase (or a word), else those in a sample; returns whether these are enough. */
  private async findFrequent(
    column: IndexedColumn,
    match: "all" | "some",
    expected: number,
  ): Promise<boolean> {
    const { limit, phrase } = this.query;
    if (!isLocalised(column.entry.search)) {
      const starts = match === "all" ? [phrase.folded] : lettered(phrase.needles).slice(0, maxStarts);
      const rows = rowsOf(startValues, column);
      const begin: FoundRow[] = [];
      for (const start of starts) {
        begin.push(...((await this.find(column, { by: "order", start, rows })) ?? []));
      }
      if (this.isEnough(begin, match)) return true;
    }
    // TABLESAMPLE does not work on views.
    if (column.virtual) return false;
    // The planner cannot estimate how often several words occur together, so a small sample is tried first.
    const wanted = match === "all" && phrase.needles.length > 1 ? 8 * limit : indexValues;
    const rows = rowsOf(Math.min(sampleValues, (wanted * column.rows) / expected), column);
    const percent = Math.min(100, (100 * rows) / column.rows);
    return this.isEnough(await this.find(column, { by: "scan", percent, rows }), match);
  }

  /** Whether enough distinct objects have all (or some) words. */
  private isEnough(rows: readonly FoundRow[] | undefined, match: "all" | "some"): boolean {
    const matching = rows?.filter(({ priority }) => match === "some" || priority >= 20);
    return new Set(matching?.map(({ id }) => id)).size >= this.query.limit;
  }

  private async estimate({ entry, rows }: SearchedColumn): Promise<Estimate> {
    const { needles } = this.query.phrase;
    if (needles.length === 1 && rows < frequentRows) return { all: 0, some: 0, needles };
    const [explained] = (await this.attempt<Explained>(estimateStatement(entry, needles))) ?? [];
    const counts = explained?.["QUERY PLAN"][0].Plan.Plans.map((plan) => plan["Plan Rows"]) ?? [];
    return estimateOf(needles, counts, rows);
  }

  /** Adds and returns the rows of a statement; undefined when it was not run or failed. */
  private async find(
    { entry }: SearchedColumn,
    strategy: SearchStrategy,
  ): Promise<readonly FoundRow[] | undefined> {
    if (performance.now() > this.deadline || this.signal.aborted) return undefined;
    const rows = await this.attempt<FoundRow>(searchStatement(entry, this.query, strategy));
    if (rows) this.found.addObjects(entry, rows);
    return rows;
  }

  private async attempt<Row extends object>({ text, values }: Statement): Promise<Row[] | undefined> {
    try {
      return await this.tx.query<Row>(text, values);
    } catch (error) {
      const { code = "" } = error as { code?: string };
      // undefined_table, undefined_column, datatype_mismatch
      if (["42P01", "42703", "42804"].includes(code)) this.isStale = true;
      // query_canceled: out of time
      else if (code !== "57014") throw error;
      await this.tx.execute("rollback to savepoint search");
      return undefined;
    }
  }
}

/** Number of rows of a column for a number of values (rows × weight). */
const rowsOf = (values: number, { weight }: ColumnStatistics): number =>
  Math.max(minRows, Math.floor(values / weight));

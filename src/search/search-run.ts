import { isLocalised } from "../features/columns.js";
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

/** No statement begins after this time: what was found by then is the answer. */
const beginMs = 600;
/** Values without an index that are compared, long ones counting as several: of one column, and of all together. */
const tableValues = 20_000;
const allTableValues = 60_000;
/** Candidates by the index, the first in their order, those with one beginning, and of a sample. (5 µs each.) */
const indexValues = 500;
const orderValues = 250;
const startValues = 125;
const sampleValues = 2_000;
/** Of very long values at least so many. */
const leastRows = 25;
/** Rows that the index lists in less than 10 ms. With more expected, a needle or phrase is frequent. */
const listedRows = 50_000;
/** Words that values are looked for that begin with them. */
const maxStarts = 4;

/** A column that is searched, and how much there is in it. */
interface SearchedColumn extends ColumnStatistics {
  readonly entry: SearchEntry;
}

interface IndexedColumn extends SearchedColumn {
  /** Whether enough of its first values have some words. */
  firstHaveSome: boolean;
  estimate?: Estimate;
}

/** A virtual layer has its source's, if any. */
const mayHaveIndexes = ({ virtual, indexed, rows }: ColumnStatistics): boolean =>
  virtual ? rows >= indexedValues : indexed;

/**
 * One search of the entries, in a transaction of its own. Of columns with indexes come exact values first. For all words,
 * and then for some if these are not enough, it tries in turn the first values in their order, what begins with a frequent
 * word, a sample for frequent words, and the index of words. Statements that take too long are left out.
 */
export class SearchRun {
  private readonly until = performance.now() + beginMs;
  /** Values without an index that may still be compared. */
  private valuesLeft = allTableValues;
  /** Whether a layer or column turned out to have gone or changed a moment ago. */
  overtaken = false;

  constructor(
    private readonly tx: Queryable,
    private readonly signal: AbortSignal,
    private readonly found: Found,
    private readonly query: TextQuery,
  ) {}

  /** Searches the entries until enough was found; gives whether one of them lacks indexes that it should have. */
  async run(entries: readonly SearchEntry[]): Promise<boolean> {
    // What fails, such as by taking too long, is left out; the rest of the search goes on from here.
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

  /** Compares so many values of a column without indexes as there is time for. */
  private async scan(column: SearchedColumn): Promise<void> {
    const values = Math.min(tableValues, this.valuesLeft);
    if (values === 0) return;
    this.valuesLeft -= Math.min(values, Math.ceil(column.rows * column.weight));
    await this.find(column, { by: "scan", rows: rowsOf(values, column) });
  }

  /** Finds what has all (or some) words in a column with indexes. */
  private async findMatches(column: IndexedColumn, match: "all" | "some"): Promise<void> {
    if (match === "all" ? await this.findFirst(column) : column.firstHaveSome) return;
    column.estimate ??= await this.estimate(column);
    const needles = match === "all" ? column.estimate.needles : lettered(column.estimate.needles);
    const expected = column.estimate[match];
    if (expected >= listedRows && (await this.findFrequent(column, match, expected))) return;
    const rows = Math.max(rowsOf(indexValues, column), 2 * this.query.limit);
    await this.find(column, { by: "index", match, needles, rows });
  }

  /** Finds what is among the first values in their order; gives whether enough of these have all words. */
  private async findFirst(column: IndexedColumn): Promise<boolean> {
    if (isLocalised(column.entry.search)) return false;
    const first = await this.find(column, { by: "order", start: "", rows: rowsOf(orderValues, column) });
    column.firstHaveSome = this.isEnough(first, "some");
    return this.isEnough(first, "all");
  }

  /** Finds what begins with the phrase (or a word), or else is in a sample; gives whether that is enough. */
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
    // A view has no sample.
    if (column.virtual) return false;
    // Of several words the planner does not know how often they meet: a small sample tells.
    const wanted = match === "all" && phrase.needles.length > 1 ? 8 * limit : indexValues;
    const rows = rowsOf(Math.min(sampleValues, (wanted * column.rows) / expected), column);
    const percent = Math.min(100, (100 * rows) / column.rows);
    return this.isEnough(await this.find(column, { by: "scan", percent, rows }), match);
  }

  /** Whether so many objects as are asked for have all (or some) words. */
  private isEnough(rows: readonly FoundRow[] | undefined, match: "all" | "some"): boolean {
    const matching = rows?.filter(({ priority }) => match === "some" || priority >= 20);
    return new Set(matching?.map(({ id }) => id)).size >= this.query.limit;
  }

  private async estimate({ entry, rows }: SearchedColumn): Promise<Estimate> {
    const { needles } = this.query.phrase;
    if (needles.length === 1 && rows < listedRows) return { all: 0, some: 0, needles };
    const [explained] = (await this.attempt<Explained>(estimateStatement(entry, needles))) ?? [];
    const counts = explained?.["QUERY PLAN"][0].Plan.Plans.map((plan) => plan["Plan Rows"]) ?? [];
    return estimateOf(needles, counts, rows);
  }

  /** Adds what a statement finds, and gives it; undefined when it could not be run to its end. */
  private async find(
    { entry }: SearchedColumn,
    strategy: SearchStrategy,
  ): Promise<readonly FoundRow[] | undefined> {
    if (performance.now() > this.until || this.signal.aborted) return undefined;
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
      if (["42P01", "42703", "42804"].includes(code)) this.overtaken = true;
      // query_canceled: out of time
      else if (code !== "57014") throw error;
      await this.tx.execute("rollback to savepoint search");
      return undefined;
    }
  }
}

/** How many rows of a column have so many usual values. */
const rowsOf = (values: number, { weight }: ColumnStatistics): number =>
  Math.max(leastRows, Math.floor(values / weight));

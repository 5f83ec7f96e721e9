import { isLocalised } from "../features/column-sql.js";
import type { Statement } from "../features/sql.js";
import type { Queryable } from "../storage/postgres.js";
import { type ColumnStatistics, indexedValues, readStatistics } from "./column-statistics.js";
import { type SearchEntry, weighTogether } from "./entries.js";
import { type Estimate, estimateOf } from "./estimate.js";
import type { Found } from "./found.js";
import type { NearWord } from "./near-words.js";
import { lettered, type Phrase, telling } from "./phrase.js";
import { rankOfBeginnings, rankOfWholes } from "./rank.js";
import {
  type Explained,
  estimateStatement,
  type FoundRow,
  looksAround,
  type SearchStrategy,
  searchStatement,
  type TextQuery,
} from "./statements.js";

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
/** Of the time of a search, what is left for the order of the results once there are enough. */
const orderPart = 0.25;
/** Maximum number of words used as prefixes. */
const maxStarts = 4;

/** What values are to have: all words as whole words, words that begin with them, all words, or some. */
type Match = "whole" | "beginning" | "all" | "some";

/** What is looked for one after the other, and the rank that no more than enough results may have to go on. */
function stagesOf(phrase: Phrase): readonly { readonly match: Match; readonly isEnough?: number }[] {
  const { needles } = phrase;
  // Then what begins with them is all.
  const areShort = needles.every((needle) => needle.startsWith(" "));
  return [
    { match: "whole" },
    ...(areShort ? [] : [{ match: "beginning", isEnough: rankOfWholes(phrase) } as const]),
    { match: "all", isEnough: areShort ? rankOfWholes(phrase) : rankOfBeginnings(phrase) },
    ...(needles.length > 1 ? [{ match: "some", isEnough: 0 } as const] : []),
  ];
}

/** A searched column with its statistics. */
interface SearchedColumn extends ColumnStatistics {
  readonly entry: SearchEntry;
}

interface IndexedColumn extends SearchedColumn {
  /** The matches among the first values in sort order; none = not looked for. */
  first?: readonly FoundRow[];
  /** Whether more values have all words than were looked at. */
  hasMore?: boolean;
  estimate?: Estimate;
}

/** A virtual layer may have the indexes of its source. */
const mayHaveIndexes = ({ virtual, indexed, rows }: ColumnStatistics): boolean =>
  virtual ? rows >= indexedValues : indexed;

/**
 * One search of the entries, in its own transaction. In indexed columns it finds exact matches first, then values with all
 * words as whole words, and those where words begin with them. Then, for all words, and after that for some words if there
 * are too few results, it tries in turn: the first values in sort order,
 * values that begin with a frequent word, a sample for frequent words, and the index of words. Statements that time out
 * are skipped.
 */
export class SearchRun {
  private deadline: number;
  /** Remaining number of values that may be scanned without an index. */
  private valuesLeft = allTableValues;
  /** Whether every statement was run to its end. */
  private isComplete = true;
  private indexed: readonly IndexedColumn[] = [];
  private readonly scanned: SearchedColumn[] = [];
  /** Whether a layer or column was dropped or changed during the search. */
  isStale = false;
  /** Whether time, or columns without indexes, left values that nobody looked at. */
  isCut = false;

  /** @param startMs no statement is started after this time; the results so far count */
  constructor(
    private readonly tx: Queryable,
    private readonly signal: AbortSignal,
    private readonly found: Found,
    private readonly query: TextQuery,
    private readonly startMs: number,
  ) {
    this.deadline = performance.now() + startMs;
  }

  /** Searches the entries until there are enough results; returns whether an index is missing. */
  async run(entries: readonly SearchEntry[]): Promise<boolean> {
    // After a failed statement, for example a timeout, the search continues from this savepoint.
    await this.tx.execute("savepoint search");
    const { limit, phrase } = this.query;
    const indexed: IndexedColumn[] = [];
    let indexMissing = false;
    const places = entries.map(({ layer, search }) => ({ layerId: layer.id, ...search }));
    const statistics = await readStatistics(places, (statement) => this.attempt(statement));
    let isEnough = false;
    let wasCut = false;
    const searched: SearchEntry[] = [];
    for (const [i, entry] of entries.entries()) {
      const column = { ...statistics[i]!, entry };
      if (!isEnough && this.found.count(30) >= limit) {
        isEnough = true;
        wasCut = this.isCut;
        this.deadline = Math.min(this.deadline, performance.now() + orderPart * this.startMs);
      }
      if (isEnough && this.isOver()) break;
      // Another name of a heavier object is worth more.
      if (isEnough && !searched.some((one) => weighTogether(one, entry))) continue;
      searched.push(entry);
      if (mayHaveIndexes(column) && (await this.find(column, { by: "exact" }))) {
        indexed.push(column);
        continue;
      }
      await this.scan(column);
      indexMissing ||= !column.virtual && column.rows * column.weight >= indexedValues;
    }
    this.indexed = indexed;
    if (isEnough) {
      for (const column of indexed) await this.findListed(column);
      // There are as many as were asked for, whatever time left of the rest.
      this.isCut = wasCut;
      return indexMissing;
    }
    for (const { match, isEnough } of stagesOf(phrase)) {
      if (isEnough !== undefined && this.found.count(20, isEnough) >= limit) break;
      for (const column of indexed) await this.findMatches(column, match);
    }
    return indexMissing;
  }

  /** Adds values with words like those of the phrase, in the same entries, if it is sure that they have none better. */
  async findNear(words: readonly NearWord[], found: Found): Promise<void> {
    if (words.length === 0 || !this.isComplete) return;
    for (const column of this.indexed)
      await this.find(column, { by: "near", words, indexed: true, rows: rowsOf(indexValues, column) }, found);
    this.valuesLeft = allTableValues;
    for (const column of this.scanned) {
      const values = this.valuesToScan(column);
      if (values > 0)
        await this.find(column, { by: "near", words, indexed: false, rows: rowsOf(values, column) }, found);
    }
  }

  /** Scans a column without indexes, up to the limits. */
  private async scan(column: SearchedColumn): Promise<void> {
    const values = this.valuesToScan(column);
    this.isCut ||= rowsOf(values, column) < column.rows;
    if (values === 0) return;
    this.scanned.push(column);
    await this.find(column, { by: "scan", rows: rowsOf(values, column) });
  }

  /** How many values of a column may be scanned; these count as scanned then. */
  private valuesToScan({ rows, weight }: SearchedColumn): number {
    const values = Math.min(tableValues, this.valuesLeft);
    this.valuesLeft -= Math.min(values, Math.ceil(rows * weight));
    return values;
  }

  /** Finds values with all (or some) words in a column with indexes. */
  private async findMatches(column: IndexedColumn, match: Match): Promise<void> {
    if (await this.isFirst(column, match)) return;
    column.estimate ??= await this.estimate(column);
    if (match === "some") {
      const { some, needles } = column.estimate;
      if (some >= frequentRows && (await this.findFrequent(column, match, some))) return;
      await this.findByIndex(column, "some", lettered(telling(needles)));
    } else if (column.estimate.all < frequentRows) await this.findSelective(column, match);
    else if (match === "all") {
      if (await this.findFrequent(column, match, column.estimate.all)) return;
      await this.findByIndex(column, "all", column.estimate.needles);
    } else if (!isLocalised(column.entry.search)) {
      const rows = rowsOf(startValues, column);
      const start = this.query.phrase.folded;
      await this.find(column, { by: "order", start, isWord: match === "whole", rows });
    }
  }

  /**
   * Finds values with all words, as whole words, or where words begin with them. If the index has no more that match at all than
   * are looked at, they are looked at once.
   */
  private async findSelective(column: IndexedColumn, match: "whole" | "beginning" | "all"): Promise<void> {
    const { needles } = column.estimate!;
    column.hasMore ??= await this.findByIndex(column, "all", needles);
    if (!column.hasMore) return;
    if (match === "whole") await this.findByIndex(column, "whole", needles);
    if (match === "beginning") {
      const beginnings = needles.map((needle) => ` ${needle.trim()}`);
      await this.findByIndex(column, "all", beginnings);
    }
  }

  /**
   * Finds heavier objects of which the phrase is one of several names in a value, which `exact` does not find; localised values have no
   * such names. Of a frequent phrase the index would give any.
   */
  private async findListed(column: IndexedColumn): Promise<void> {
    if (!column.entry.weight || isLocalised(column.entry.search) || this.isOver()) return;
    column.estimate ??= await this.estimate(column);
    if (column.estimate.all < frequentRows) await this.findByIndex(column, "whole", column.estimate.needles);
  }

  /** Returns whether there may be more that match than were looked at. */
  private async findByIndex(
    column: IndexedColumn,
    match: "whole" | "all" | "some",
    needles: readonly string[],
  ): Promise<boolean> {
    const rows = Math.max(rowsOf(indexValues, column), 2 * this.query.limit);
    const found = await this.find(column, { by: "index", match, needles, rows });
    return found === undefined || (found[0]?.total ?? 0) >= rows;
  }

  /** Whether enough of the first values in sort order match so; of equal worth they are the first results. */
  private async isFirst(column: IndexedColumn, match: Match): Promise<boolean> {
    const { search, weight } = column.entry;
    if (isLocalised(search) || weight) return false;
    column.first ??=
      (await this.find(column, { by: "order", start: "", rows: rowsOf(orderValues, column) })) ?? [];
    return this.isEnough(column, column.first, match);
  }

  /** Finds values that begin with the phrase (or a word), else those in a sample; returns whether these are enough. */
  private async findFrequent(
    column: IndexedColumn,
    match: "all" | "some",
    expected: number,
  ): Promise<boolean> {
    const { limit, phrase } = this.query;
    if (!isLocalised(column.entry.search)) {
      const starts =
        match === "all" ? [phrase.folded] : lettered(telling(phrase.needles)).slice(0, maxStarts);
      const rows = rowsOf(startValues, column);
      const begin: FoundRow[] = [];
      for (const start of starts) {
        begin.push(...((await this.find(column, { by: "order", start, rows })) ?? []));
      }
      if (this.isEnough(column, begin, match)) return true;
    }
    // TABLESAMPLE does not work on views.
    if (column.virtual) return false;
    // The planner cannot estimate how often several words occur together, so a small sample is tried first.
    const wanted = match === "all" && phrase.needles.length > 1 ? 8 * limit : indexValues;
    const rows = rowsOf(Math.min(sampleValues, (wanted * column.rows) / expected), column);
    const percent = Math.min(100, (100 * rows) / column.rows);
    return this.isEnough(column, await this.find(column, { by: "scan", percent, rows }), match);
  }

  /** Whether enough distinct objects match so. */
  private isEnough({ entry }: SearchedColumn, rows: readonly FoundRow[] | undefined, match: Match): boolean {
    const { phrase, limit } = this.query;
    // The rest of their words may be around others.
    const anyIsEnough = match === "some" && !looksAround(entry, phrase);
    const leastRank =
      match === "whole" ? rankOfWholes(phrase) : match === "beginning" ? rankOfBeginnings(phrase) : 0;
    const matching = rows?.filter(
      ({ priority, rank }) => anyIsEnough || (priority >= 20 && rank >= leastRank),
    );
    return new Set(matching?.map(({ id }) => id)).size >= limit;
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
    found = this.found,
  ): Promise<readonly FoundRow[] | undefined> {
    if (this.isOver()) {
      this.isComplete = false;
      this.isCut = true;
      return undefined;
    }
    const rows = await this.attempt<FoundRow>(searchStatement(entry, this.query, strategy));
    if (rows) found.addObjects(entry, rows);
    return rows;
  }

  /** Whether no statement is to be started any more. */
  private isOver(): boolean {
    return performance.now() > this.deadline || this.signal.aborted;
  }

  private async attempt<Row extends object>({ text, values }: Statement): Promise<Row[] | undefined> {
    try {
      return await this.tx.query<Row>(text, values);
    } catch (error) {
      const { code = "" } = error as { code?: string };
      // undefined_table, undefined_column, datatype_mismatch
      if (["42P01", "42703", "42804"].includes(code)) this.isStale = true;
      // query_canceled: out of time
      else if (code === "57014") this.isCut = true;
      else throw error;
      this.isComplete = false;
      await this.tx.execute("rollback to savepoint search");
      return undefined;
    }
  }
}

/** Number of rows of a column for a number of values (rows × weight). */
const rowsOf = (values: number, { weight }: ColumnStatistics): number =>
  Math.max(minRows, Math.floor(values / weight));

import { layerTable, type Statement } from "../features/sql.js";
import type { Queryable } from "../storage/postgres.js";
import type { SearchEntry } from "./entries.js";
import type { Found } from "./found.js";
import { indexedValues, indexNames, rowsSql, weightSql } from "./index-names.js";
import { isSpoken } from "./phrase.js";
import {
  estimateStatement,
  type FoundRow,
  frequencyStatement,
  type SearchStrategy,
  searchStatement,
  severalLanguages,
  type TextQuery,
  type WordFrequency,
} from "./statements.js";
import { rarestFirst } from "./terms.js";

/** How the columns of a search are gone through: by their indexes or without, within bounds of time and of rows. */

/** No statement begins after this time: what was found by then is the answer. */
const beginMs = 600;
/** Values without an index that are looked at, long ones counting as several: of one column, and of all together. */
const tableValues = 20_000;
const allTableValues = 60_000;
/** Values that are looked at closely of those that the index finds, in their order, and of a sample. (5 µs each.) */
const wordValues = 500;
const orderValues = 250;
const sampleValues = 2_000;
/** Rows that the index lists in less than 10 ms. */
const listedRows = 50_000;
/** Words whose beginnings are looked at where there are more rows. */
const beginnings = 4;
/** Of very long values at least so many. */
const leastRows = 25;

/** A column that is searched, as the search finds it. */
interface ColumnStatistics {
  readonly entry: SearchEntry;
  /** Whether it has indexes. A virtual layer has its source's, so that it only turns out. */
  indexed: boolean;
  readonly virtual: boolean;
  /** Objects of the layer, estimated. */
  readonly rows: number;
  /** How many usual values one of its values counts as. */
  readonly weight: number;
  /** Whether enough of its first values alone have some words. */
  frequent: boolean;
}

/**
 * One search's way through the entries, in a transaction of its own. Statements that take too long are left out.
 */
export class SearchRun {
  private readonly until = performance.now() + beginMs;
  /** Values without an index that may still be looked at. */
  private valuesLeft = allTableValues;
  /** Whether a layer or column turned out to have gone or changed a moment ago. */
  overtaken = false;

  constructor(
    private readonly tx: Queryable,
    private readonly signal: AbortSignal,
    private readonly found: Found,
    private readonly query: TextQuery,
  ) {}

  /** Looks through the entries until enough was found; gives whether one of them lacks indexes that it should have. */
  async run(entries: readonly SearchEntry[]): Promise<boolean> {
    // What fails, such as by taking too long, is left out; the rest of the search goes on from here.
    await this.tx.execute("savepoint looking");
    const standings = await this.columnStatistics(entries);
    const { limit, phrase } = this.query;
    for (const standing of standings) {
      if (this.found.count(30) >= limit) return false;
      if (standing.indexed) standing.indexed = !!(await this.add(standing.entry, { by: "whole" }));
      if (!standing.indexed) await this.scan(standing);
    }
    const indexed = standings.filter((standing) => standing.indexed);
    if (this.found.count(20) < limit) for (const column of indexed) await this.addAll(column);
    if (this.found.count(20) < limit && phrase.needles.length > 1) {
      for (const column of indexed) await this.addSome(column);
    }
    return standings.some(
      ({ indexed, virtual, rows, weight }) => !indexed && !virtual && rows * weight >= indexedValues,
    );
  }

  /**
   * What has all words, of a column with indexes. The first values in their order come first: where the words are
   * frequent these hold enough of them, and the index need not list what it has. Of what else is frequent come the values
   * that begin with the phrase, or those among rows from all over the table.
   */
  private async addAll(column: ColumnStatistics): Promise<void> {
    const { entry } = column;
    const { limit, phrase } = this.query;
    const isEnough = (rows: readonly FoundRow[] | undefined) =>
      !!rows && rows.filter((row) => row.priority >= 20).length >= limit;
    if (!severalLanguages(entry.search)) {
      const first = await this.add(entry, { by: "order", rows: rowsOf(orderValues, column) });
      column.frequent = !!first && first.length >= limit;
      if (isEnough(first)) return;
    }
    const share = await this.frequentShare(column, "all");
    if (share) {
      const rows = rowsOf(orderValues / 2, column);
      const ordered = !severalLanguages(entry.search);
      if (ordered && isEnough(await this.add(entry, { by: "beginning", text: phrase.folded, rows }))) return;
      // Of several words the planner does not know how often they meet: a small sample tells.
      const wanted = phrase.needles.length === 1 ? wordValues : 8 * limit;
      if (isEnough(await this.addSample(column, share, wanted))) return;
    }
    const rows = Math.max(rowsOf(wordValues, column), 2 * limit);
    await this.add(entry, { by: "all", needles: await this.ordered(entry), rows });
  }

  /** The needles in the order in which they are found soonest in a column. */
  private async ordered(entry: SearchEntry): Promise<readonly string[]> {
    const { phrase } = this.query;
    if (phrase.needles.length === 1) return phrase.needles;
    const shares = (await this.attempt<WordFrequency>(frequencyStatement(entry, phrase))) ?? [];
    return rarestFirst(phrase.needles, new Map(shares.map(({ word, share }) => [word, share])));
  }

  /**
   * What has some words. Where so many values have them that the index cannot list them in time, those that begin with
   * one of them stand for all, or those among rows from all over the table.
   */
  private async addSome(column: ColumnStatistics): Promise<void> {
    const { entry, frequent } = column;
    const { limit, phrase } = this.query;
    if (frequent) return;
    const share = await this.frequentShare(column, "some");
    if (share) {
      const ids = new Set<number>();
      if (!severalLanguages(entry.search)) {
        for (const text of phrase.needles.filter(isSpoken).slice(0, beginnings)) {
          const rows = rowsOf(orderValues / 2, column);
          for (const { id } of (await this.add(entry, { by: "beginning", text, rows })) ?? []) ids.add(id);
        }
        if (ids.size >= limit) return;
      }
      if (((await this.addSample(column, share, wordValues))?.length ?? 0) >= limit) return;
    }
    await this.add(entry, { by: "some", rows: Math.max(rowsOf(wordValues, column), 2 * limit) });
  }

  /** Adds what is found in so many rows from all over the table that at this share some `wanted` are found. */
  private async addSample(
    column: ColumnStatistics,
    share: number,
    wanted: number,
  ): Promise<readonly FoundRow[] | undefined> {
    // A view has no sample.
    if (column.virtual) return undefined;
    const rows = rowsOf(Math.min(sampleValues, wanted / share), column);
    return this.add(column.entry, { by: "sample", percent: Math.min(100, (100 * rows) / column.rows), rows });
  }

  /**
   * What share of the rows has all (or some) words, as the planner expects; undefined when these are few enough for the
   * index to list them.
   */
  private async frequentShare(
    { entry, rows }: ColumnStatistics,
    by: "all" | "some",
  ): Promise<number | undefined> {
    if (rows < listedRows) return undefined;
    const [estimate] =
      (await this.attempt<{ "QUERY PLAN": [{ Plan: { "Plan Rows": number } }] }>(
        estimateStatement(entry, this.query.phrase, by),
      )) ?? [];
    const expected = estimate?.["QUERY PLAN"][0].Plan["Plan Rows"] ?? 0;
    return expected >= listedRows ? Math.min(1, expected / rows) : undefined;
  }

  private async scan(column: ColumnStatistics): Promise<void> {
    const values = Math.min(tableValues, this.valuesLeft);
    if (values === 0) return;
    this.valuesLeft -= Math.min(values, Math.ceil(column.rows * column.weight));
    await this.add(column.entry, { by: "table", rows: rowsOf(values, column) });
  }

  /** Adds what a statement finds, and gives it; undefined when it could not be run to its end. */
  private async add(entry: SearchEntry, reach: SearchStrategy): Promise<readonly FoundRow[] | undefined> {
    if (performance.now() > this.until || this.signal.aborted) return undefined;
    const rows = await this.attempt<FoundRow>(searchStatement(entry, this.query, reach));
    if (rows) this.found.addObjects(entry, rows);
    return rows;
  }

  /** The weight of each entry's values. */
  private async weights(entries: readonly SearchEntry[]): Promise<readonly number[]> {
    const weights = entries.map(({ layer, search }) => weightSql(layerTable(layer.id), search.physical));
    const rows = await this.attempt<{ weights: number[] }>({
      text: `select array[${weights.join(",")}]::float8[] as weights`,
      values: [],
    });
    return rows?.[0]?.weights ?? [];
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
      await this.tx.execute("rollback to savepoint looking");
      return undefined;
    }
  }

  private async columnStatistics(entries: readonly SearchEntry[]): Promise<ColumnStatistics[]> {
    const rows = await this.tx.query<{ virtual: boolean; rows: number; indexes: number }>(
      `select c.relkind = 'v' as virtual, ${rowsSql("t")} as rows,
         (select count(*)::int from pg_class s join pg_index i on i.indexrelid = s.oid and i.indisvalid
          where s.relnamespace = c.relnamespace and s.relname = any(array[e.words, e.exact])) as indexes
       from jsonb_to_recordset($1::jsonb) e (place int, layer text, words text, exact text)
       left join pg_class c on c.oid = to_regclass('layers.' || e.layer)
       -- The table of a virtual layer is its source's.
       left join pg_class t on t.oid = case when c.relkind <> 'v' then c.oid else (
         select d.refobjid from pg_rewrite r join pg_depend d on d.classid = 'pg_rewrite'::regclass
           and d.objid = r.oid and d.refclassid = 'pg_class'::regclass and d.refobjid <> c.oid
         where r.ev_class = c.oid limit 1) end
       order by place`,
      [
        JSON.stringify(
          entries.map(({ layer, search }, place) => ({
            place,
            layer: `l${layer.id}`,
            ...indexNames(search.id),
          })),
        ),
      ],
    );
    const weights = await this.weights(entries);
    return entries.map((entry, i): ColumnStatistics => {
      const { virtual, rows: count, indexes } = rows[i]!;
      const indexed = virtual ? count >= indexedValues : indexes === 2;
      return {
        entry,
        indexed,
        virtual: virtual === true,
        rows: count ?? 0,
        weight: weights[i] ?? 1,
        frequent: false,
      };
    });
  }
}

/** How many rows of a column have so many usual values. */
const rowsOf = (values: number, { weight }: ColumnStatistics): number =>
  Math.max(leastRows, Math.floor(values / weight));

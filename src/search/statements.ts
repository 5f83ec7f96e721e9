import type { Column } from "../catalog/state.js";
import { definitionOf } from "../column-types/column-types.js";
import { isLocalised, type Languages, readableValue } from "../features/column-sql.js";
import { layerTable, type Statement, Values } from "../features/sql.js";
import { foldOf, keyLength, orderOf, termsOf, valuesOf } from "./column-indexes.js";
import type { SearchEntry } from "./entries.js";
import { containing, type Phrase } from "./phrase.js";
import { needsTrigrams, requiredTerms } from "./terms.js";

/** SQL statements that search one column of a layer. */

/** A row of a search statement. */
export interface FoundRow {
  readonly id: number;
  readonly priority: 30 | 20 | 10;
  /** Prefix of the searched value, folded; results are sorted by it. */
  readonly key: string;
  /** The searched value and the object's name in the request's language. */
  readonly value: string | null;
  readonly name: string | null;
}

/**
 * How candidate rows of a column are selected, whose values are then compared with the phrase. Each strategy is the
 * best for some phrases. Times are CPU times of PostgreSQL, for ten results among a million names (localised: 300,000).
 */
export type SearchStrategy =
  /**
   * Values that equal the phrase. (The index of words returns any 500 values with the words of the phrase, possibly
   * without an exact match.) One result takes 2 ms; without this strategy 14 to 22 ms.
   */
  | { readonly by: "exact" }
  /**
   * The first values in sort order, of those that begin with `start` ("" = of all). Only for non-localised values. For
   * a part of a word that occurs in 40 % of the names: 5 ms (a sample: 8 ms, and not the first results). With `start`,
   * a hundred results of such a word take 7 ms (a sample: 11 ms, the index: 46 ms).
   */
  | { readonly by: "order"; readonly start: string; readonly rows: number }
  /**
   * Any values with all (or some) needles, from the index of words, which is scanned in the order of the needles. The
   * only strategy for rare words. Three frequent words that never occur together take 23 ms with the rarest first, 36
   * ms in the order of the phrase.
   */
  | {
      readonly by: "index";
      readonly match: "all" | "some";
      readonly needles: readonly string[];
      readonly rows: number;
    }
  /**
   * Any values, if there is no index, or from a random sample of `percent` of the table. A sample is used for frequent
   * words that are not at the beginning of values, or are in localised values: two letters take 10 ms (the index: 30
   * ms), a frequent word in localised values 11 ms (28 ms).
   */
  | { readonly by: "scan"; readonly percent?: number; readonly rows: number };

export interface TextQuery {
  readonly phrase: Phrase;
  readonly languages: Languages;
  /** Maximum number of results. */
  readonly limit: number;
}

/** The statement that finds the best `limit` objects of an entry among the candidates. */
export function searchStatement(entry: SearchEntry, query: TextQuery, strategy: SearchStrategy): Statement {
  const values = new Values();
  const { search, name } = entry;
  const { phrase, languages, limit } = query;
  const names = [...new Set(["svc_id", search.physical, name.physical])].join(",");
  const value = textOf(search, languages, values);
  const candidates =
    `select ${names},${foldOf(search)} as folded from ${layerTable(entry.layer.id)}` +
    candidatesOf(search, query, strategy, values);
  const whole = `${values.bind(phrase.folded)}::text`;
  const isWhole = isLocalised(search) ? `position(e'\\n'||${whole}||e'\\n' in folded)>0` : `folded=${whole}`;
  const patterns = `${values.bind(phrase.needles.map(containing))}::text[]`;
  const key = isLocalised(search) ? `left(mapwright.search_fold(${value}),200)` : `left(folded,200)`;
  return {
    text:
      `select svc_id as id,priority,key,${value} as value,${textOf(name, languages, values)} as name ` +
      `from (select c.*,${key} as key,case when ${isWhole} then 30 when folded like all(${patterns}) then 20 ` +
      `when folded like any(${patterns}) then 10 end as priority ` +
      `from (${candidates}) c) found where priority is not null ` +
      `order by priority desc,key collate "C",svc_id limit ${values.bind(limit)}::bigint`,
    values: values.list,
  };
}

/** SQL after the table in FROM. */
function candidatesOf(
  column: Column,
  { phrase, limit }: TextQuery,
  strategy: SearchStrategy,
  values: Values,
): string {
  const limitTo = (rows: number) => ` limit ${values.bind(rows)}::bigint`;
  const order = orderOf(column);
  switch (strategy.by) {
    case "exact": {
      const beginning = `left(${values.bind(phrase.folded)}::text,${keyLength})`;
      if (isLocalised(column))
        return ` where ${valuesOf(column)} @> array[${beginning}]${limitTo(1_000 + limit)}`;
      const isWhole = `${foldOf(column)}=${values.bind(phrase.folded)}`;
      return ` where ${order}=${beginning} and ${isWhole} order by ${order},svc_id${limitTo(limit)}`;
    }
    case "order": {
      const { start, rows } = strategy;
      // Folded values have a space before each word. U+10FFFF sorts last. (`^@` would fold each value again.)
      const first = start && `${values.bind(` ${start.trim()}`)}::text`;
      const range = first && ` where ${order}>=${first} and ${order}<${first}||U&'\\+10FFFF'`;
      return `${range} order by ${order},svc_id${limitTo(rows)}`;
    }
    case "index": {
      const { match, needles, rows } = strategy;
      const condition =
        match === "all"
          ? containsAll(column, needles, values)
          : needles.map((needle) => `(${containsAll(column, [needle], values)})`).join(" or ");
      return ` where ${condition}${limitTo(rows)}`;
    }
    case "scan": {
      const { percent, rows } = strategy;
      const sample = percent ? ` tablesample system (${values.bind(percent)}::float8) repeatable (0)` : "";
      return sample + limitTo(rows);
    }
  }
}

/** Indexable SQL condition that values with all needles meet. */
function containsAll(column: Column, needles: readonly string[], values: Values): string {
  const terms = requiredTerms(needles);
  return [
    ...(terms.length > 0 ? [`${termsOf(column)} @> ${values.bind(terms)}::text[]`] : []),
    ...needles
      .filter(needsTrigrams)
      .map((needle) => `${foldOf(column)} like ${values.bind(containing(needle))}`),
  ].join(" and ");
}

/**
 * The statement that returns the planner's estimate of rows for each needle. Its only row is an `Explained`, with a
 * plan for each needle.
 */
export function estimateStatement(entry: SearchEntry, needles: readonly string[]): Statement {
  const values = new Values();
  const rows = needles.map(
    (needle) =>
      `array(select 1 from ${layerTable(entry.layer.id)} where ${containsAll(entry.search, [needle], values)})`,
  );
  return { text: `explain (format json) select ${rows.join(",")}`, values: values.list };
}

/** Output of EXPLAIN (FORMAT JSON). */
export interface Explained {
  readonly "QUERY PLAN": readonly [{ readonly Plan: { readonly Plans: readonly { "Plan Rows": number }[] } }];
}

/** SQL of a value as display text. */
function textOf(column: Column, languages: Languages, values: Values): string {
  const value = readableValue(column, languages, values);
  const { isText, searchText } = definitionOf(column);
  if (isLocalised(column)) return isText ? value : `${value}#>>'{}'`;
  return searchText ? searchText(value) : `${value}::text`;
}

import type { Column } from "../catalog/state.js";
import { definitionOf } from "../column-types/column-types.js";
import { isLocalised, type Languages, readableValue } from "../features/columns.js";
import { layerTable, type Statement, Values } from "../features/sql.js";
import { foldOf, keyLength, orderOf, termsOf, valuesOf } from "./column-indexes.js";
import type { SearchEntry } from "./entries.js";
import { containing, type Phrase } from "./phrase.js";
import { needsTrigrams, requiredTerms } from "./terms.js";

/** The statements that search one column of one layer. */

/** What a statement's row has. */
export interface FoundRow {
  readonly id: number;
  readonly priority: 30 | 20 | 10;
  /** The beginning of the searched value, folded: what results are ordered by. */
  readonly key: string;
  /** The searched value and the object's name in the request's language. */
  readonly value: string | null;
  readonly name: string | null;
}

/**
 * Which rows of a column are candidates: their values are compared with the phrase. Each strategy serves phrases that the
 * others do not. The times are of PostgreSQL's processor, for ten results of a million names (localised: of 300,000).
 */
export type SearchStrategy =
  /**
   * Those whose value is the phrase. The index of words gives any 500 that have the words of a phrase, and a value that is
   * the phrase need not be among them. One result takes 2 ms, and without this strategy 14 to 22 ms.
   */
  | { readonly by: "exact" }
  /**
   * The first in the order of their values, of those that begin with the words of `start` ("" = of all). Of plain values
   * only. The first that have a part of a word that four names in ten have take 5 ms; a sample takes 8 ms and gives others.
   * With `start` a hundred results of such a word take 7 ms, by a sample 11 ms, by the index 46 ms.
   */
  | { readonly by: "order"; readonly start: string; readonly rows: number }
  /**
   * Any that hold all (or some) needles, by the index of words, which is read in the order of the needles: the only way to
   * rare words. Three frequent words that never meet take 23 ms the rarest first, and 36 ms as they were typed.
   */
  | {
      readonly by: "index";
      readonly match: "all" | "some";
      readonly needles: readonly string[];
      readonly rows: number;
    }
  /**
   * Any: where there is no index, or from a random sample of `percent` of the table. A sample finds frequent words that
   * begin no value, or that are in values without an order: two letters in 10 ms, and 30 ms by the index; a frequent word
   * of localised values in 11 ms, and 28 ms.
   */
  | { readonly by: "scan"; readonly percent?: number; readonly rows: number };

export interface TextQuery {
  readonly phrase: Phrase;
  readonly languages: Languages;
  /** Most results. */
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

/** What follows FROM. */
function candidatesOf(
  column: Column,
  { phrase, limit }: TextQuery,
  strategy: SearchStrategy,
  values: Values,
): string {
  const most = (rows: number) => ` limit ${values.bind(rows)}::bigint`;
  const order = orderOf(column);
  switch (strategy.by) {
    case "exact": {
      const beginning = `left(${values.bind(phrase.folded)}::text,${keyLength})`;
      if (isLocalised(column))
        return ` where ${valuesOf(column)} @> array[${beginning}]${most(1_000 + limit)}`;
      const isWhole = `${foldOf(column)}=${values.bind(phrase.folded)}`;
      return ` where ${order}=${beginning} and ${isWhole} order by ${order},svc_id${most(limit)}`;
    }
    case "order": {
      const { start, rows } = strategy;
      // A space stands before every word, and no character comes after U+10FFFF. (`^@` would fold each value again.)
      const first = start && `${values.bind(` ${start.trim()}`)}::text`;
      const range = first && ` where ${order}>=${first} and ${order}<${first}||U&'\\+10FFFF'`;
      return `${range} order by ${order},svc_id${most(rows)}`;
    }
    case "index": {
      const { match, needles, rows } = strategy;
      const condition =
        match === "all"
          ? holdsAll(column, needles, values)
          : needles.map((needle) => `(${holdsAll(column, [needle], values)})`).join(" or ");
      return ` where ${condition}${most(rows)}`;
    }
    case "scan": {
      const { percent, rows } = strategy;
      const sample = percent ? ` tablesample system (${values.bind(percent)}::float8) repeatable (0)` : "";
      return sample + most(rows);
    }
  }
}

/** SQL of what the index tells of values that hold all needles. */
function holdsAll(column: Column, needles: readonly string[], values: Values): string {
  const terms = requiredTerms(needles);
  return [
    ...(terms.length > 0 ? [`${termsOf(column)} @> ${values.bind(terms)}::text[]`] : []),
    ...needles
      .filter(needsTrigrams)
      .map((needle) => `${foldOf(column)} like ${values.bind(containing(needle))}`),
  ].join(" and ");
}

/**
 * The statement that tells how many rows hold each needle, as the planner expects. Its one row is an `Explained`, of a
 * plan for each needle.
 */
export function estimateStatement(entry: SearchEntry, needles: readonly string[]): Statement {
  const values = new Values();
  const rows = needles.map(
    (needle) =>
      `array(select 1 from ${layerTable(entry.layer.id)} where ${holdsAll(entry.search, [needle], values)})`,
  );
  return { text: `explain (format json) select ${rows.join(",")}`, values: values.list };
}

/** What EXPLAIN gives. */
export interface Explained {
  readonly "QUERY PLAN": readonly [{ readonly Plan: { readonly Plans: readonly { "Plan Rows": number }[] } }];
}

/** SQL of a value as the text that a reader sees. */
function textOf(column: Column, languages: Languages, values: Values): string {
  const value = readableValue(column, languages, values);
  const { isText, searchText } = definitionOf(column);
  if (isLocalised(column)) return isText ? value : `${value}#>>'{}'`;
  return searchText ? searchText(value) : `${value}::text`;
}

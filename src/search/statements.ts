import type { Column } from "../catalog/state.js";
import { definitionOf } from "../column-types/column-types.js";
import { isLocalised, type Languages, readableValue } from "../features/column-sql.js";
import { layerTable, type Statement, Values } from "../features/sql.js";
import { foldOf, keyLength, orderOf, termsOf, valuesOf } from "./column-indexes.js";
import type { SearchEntry } from "./entries.js";
import type { NearWord } from "./near-words.js";
import { containing, type Phrase, telling } from "./phrase.js";
import { rankOfWholes, rankSql } from "./rank.js";
import { needsTrigrams, requiredTerms } from "./terms.js";

/** SQL statements that search one column of a layer. */

/** A row of a search statement. */
export interface FoundRow {
  readonly id: number;
  readonly priority: 30 | 20 | 10;
  /** See rank.ts. */
  readonly rank: number;
  readonly weight: number | null;
  /** How many of the candidates match, at least. */
  readonly total: number;
  /** Prefix of the searched value, folded; results are sorted by it. */
  readonly key: string;
  /** The searched value and the object's name in the request's language. */
  readonly value: string | null;
  readonly name: string | null;
  /** What tells it apart from others of its name; null also where the entry has no such column. */
  readonly detail: string | null;
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
   * The first values in sort order, of those that begin with `start` ("" = of all), `isWord` as with a whole word. Only for
   * non-localised values. For
   * a part of a word that occurs in 40 % of the names: 5 ms (a sample: 8 ms, and not the first results). With `start`,
   * a hundred results of such a word take 7 ms (a sample: 11 ms, the index: 46 ms).
   */
  | { readonly by: "order"; readonly start: string; readonly isWord?: boolean; readonly rows: number }
  /**
   * Any values with all (or some) needles, from the index of words, which is scanned in the order of the needles. The
   * only strategy for rare words. Three frequent words that never occur together take 23 ms with the rarest first, 36
   * ms in the order of the phrase.
   */
  | {
      readonly by: "index";
      /** `whole`: with all needles as whole words, of which the index knows each. */
      readonly match: "whole" | "all" | "some";
      readonly needles: readonly string[];
      readonly rows: number;
    }
  /**
   * Any values, if there is no index, or from a random sample of `percent` of the table. A sample is used for frequent
   * words that are not at the beginning of values, or are in localised values: two letters take 10 ms (the index: 30
   * ms), a frequent word in localised values 11 ms (28 ms).
   */
  | { readonly by: "scan"; readonly percent?: number; readonly rows: number }
  /** Values with words like those of the phrase, from the index of words, or of the first rows of a table. */
  | {
      readonly by: "near";
      readonly words: readonly NearWord[];
      readonly indexed: boolean;
      readonly rows: number;
    };

export interface TextQuery {
  readonly phrase: Phrase;
  readonly languages: Languages;
  /** Maximum number of results. */
  readonly limit: number;
}

/** The statement that finds the best `limit` objects of an entry among the candidates. */
export function searchStatement(entry: SearchEntry, query: TextQuery, strategy: SearchStrategy): Statement {
  const values = new Values();
  const { search, name, weight: weighing, details } = entry;
  const { phrase, languages, limit } = query;
  const names = [
    ...new Set([
      "svc_id",
      ...[search, name, weighing ?? [], details].flat(2).map(({ physical }) => physical),
    ]),
  ].join(",");
  const value = textOf(search, languages, values);
  const weight = weighing ? `nullif(${weighing.physical}::float8,'NaN')` : "null::float8";
  const choice = choiceOf(entry, query, strategy, values);
  const rows = `select ${names} from ${layerTable(entry.layer.id)}${candidatesOf(entry, query, strategy, choice !== "", values)}`;
  const candidates =
    // Values are folded after that.
    choice !== "" && "rows" in strategy
      ? `select * from (${rows}) more order by ${choice} limit ${values.bind(strategy.rows)}::bigint`
      : rows;
  const folded = `select c.*,${foldOf(search)} as folded,${weight} as weight from (${candidates}) c offset 0`;
  const isAround = strategy.by !== "near" && looksAround(entry, phrase);
  const seen = isAround
    ? `select c.*,${aroundSql(entry, query, values)} as around from (${folded}) c offset 0`
    : folded;
  const key = isLocalised(search) ? `left(mapwright.search_fold(${value}),200)` : `left(folded,200)`;
  return {
    // OFFSET: a value is folded once.
    text:
      `select svc_id as id,priority,rank,weight,count(*) over () as total,key,${value} as value,${textOf(name, languages, values)} as name,` +
      `${details.length > 0 ? detailSql(details, languages, values) : "null"} as detail ` +
      `from (select c.*,${key} as key,${priorityAndRank(search, phrase, strategy, isAround ? "around" : "folded", values)} ` +
      `from (${seen}) c) found ` +
      "where priority is not null order by priority desc,rank desc,weight desc nulls last," +
      `key collate "C",svc_id limit ${values.bind(limit)}::bigint`,
    values: values.list,
  };
}

/** Characters. */
const detailLength = 200;

/** SQL of the details as one text; null if an object has none. */
function detailSql(details: SearchEntry["details"], languages: Languages, values: Values): string {
  const joined = (texts: readonly string[], between: string) =>
    texts.length === 1
      ? texts[0]!
      : `nullif(concat_ws('${between}',${texts.map((text) => `nullif(${text},'')`).join(",")}),'')`;
  const parts = details.map((part) =>
    joined(
      part.map((column) => textOf(column, languages, values)),
      " ",
    ),
  );
  return `left(${joined(parts, ", ")},${detailLength})`;
}

/** Whether words that the searched value lacks are looked for in what tells objects of one name apart, as in an address. */
export const looksAround = ({ details }: SearchEntry, { needles }: Phrase): boolean =>
  details.length > 0 && needles.length > 1;

/** The columns beside the searched one that are looked at then. */
const columnsAround = ({ search, name, details }: SearchEntry): readonly Column[] =>
  [...new Set([name, ...details.flat()])].filter((column) => column !== search);

/** SQL of the folded value with what is around it. Others are not looked at where it has no word that tells. */
function aroundSql(entry: SearchEntry, { phrase, languages }: TextQuery, values: Values): string {
  const texts = columnsAround(entry).map(
    (column) => `left(${textOf(column, languages, values)},${detailLength})`,
  );
  const tells = `folded like any(${values.bind(telling(phrase.needles).map(containing))}::text[])`;
  return `case when ${tells} then folded||mapwright.search_fold(concat_ws(' ',${texts.join(",")})) else folded end`;
}

/** Of values around, a number has to be the whole one: 5 is neither 51 nor a postcode. */
const wholeNumber = (needle: string): string => (/^ ?\p{N}/u.test(needle) ? ` ${needle.trim()} ` : needle);

/**
 * SQL of the priority, null = no match, and the rank of the column `folded`.
 * @param around the column that may have all words
 */
function priorityAndRank(
  search: Column,
  phrase: Phrase,
  strategy: SearchStrategy,
  around: "folded" | "around",
  values: Values,
): string {
  if (strategy.by === "near") {
    const patterns = strategy.words.map(({ pattern }) => `folded ~ ${values.bind(pattern)}`);
    // A value that has the phrase as a part of its words is no misspelt one.
    const hasAll = `folded like all(${values.bind(phrase.needles.map(containing))}::text[])`;
    return `case when ${patterns.join(" and ")} and not ${hasAll} then 10 end as priority,${rankOfWholes(phrase)} as rank`;
  }
  const whole = `${values.bind(phrase.folded)}::text`;
  const isWhole = isLocalised(search)
    ? `position(e'\\n'||${whole}||e'\\n' in folded)>0`
    : // Or one of several that the value lists; folded texts have spaces around their words and signs.
      `position(' ;'||${whole}||'; ' in ' ;'||folded||'; ')>0`;
  const patternsOf = (needles: readonly string[]) => `${values.bind(needles.map(containing))}::text[]`;
  const hasAllAround =
    around === "around" ? `or around like all(${patternsOf(phrase.needles.map(wholeNumber))}) ` : "";
  return (
    `case when ${isWhole} then 30 when folded like all(${patternsOf(phrase.needles)}) ${hasAllAround}then 20 when folded like any(${patternsOf(telling(phrase.needles))}) then 10 end ` +
    `as priority,${rankSql(around, phrase, values)} as rank`
  );
}

/** How many more rows are read where the heaviest of them, or those of an address, count. */
const weighedRows = 20;
/** Whether the rows are any of those that match. */
const isWeighed = ({ by }: SearchStrategy): boolean => by === "index" || by === "order" || by === "near";

/** By what the best of the rows are chosen before they are folded: SQL after ORDER BY; "" = not at all. */
function choiceOf(
  entry: SearchEntry,
  { phrase }: TextQuery,
  strategy: SearchStrategy,
  values: Values,
): string {
  const { weight } = entry;
  const isSome =
    (strategy.by === "index" && strategy.match === "some") ||
    (strategy.by === "order" && strategy.start !== "");
  const around =
    isSome && looksAround(entry, phrase) ? columnsAround(entry).filter((column) => !isLocalised(column)) : [];
  // PostgreSQL refuses a value that is bound and not used.
  const words =
    around.length > 0 ? `${values.bind(phrase.needles.map((needle) => needle.trim()))}::text[]` : "";
  // Not folded, which takes longer: numbers are the same, and most towns.
  const fits = around.map(({ physical }) => `coalesce((lower(${physical}::text)=any(${words}))::int,0)`);
  return [
    ...(fits.length > 0 ? [`${fits.join("+")} desc`] : []),
    ...(weight && isWeighed(strategy) ? [`${weight.physical} desc nulls last`] : []),
  ].join(",");
}

/** SQL after the table in FROM. @param isChosen whether the best of more rows are chosen */
function candidatesOf(
  { search: column, weight }: SearchEntry,
  { phrase, limit }: TextQuery,
  strategy: SearchStrategy,
  isChosen: boolean,
  values: Values,
): string {
  const limitTo = (rows: number) => ` limit ${values.bind(isChosen ? weighedRows * rows : rows)}::bigint`;
  const order = orderOf(column);
  switch (strategy.by) {
    case "exact": {
      const beginning = `left(${values.bind(phrase.folded)}::text,${keyLength})`;
      if (isLocalised(column))
        return ` where ${valuesOf(column)} @> array[${beginning}]${limitTo(1_000 + limit)}`;
      const isWhole = `${foldOf(column)}=${values.bind(phrase.folded)}`;
      if (weight)
        return ` where ${order}=${beginning} and ${isWhole} order by ${weight.physical} desc nulls last,svc_id${limitTo(limit)}`;
      return ` where ${order}=${beginning} and ${isWhole} order by ${order},svc_id${limitTo(limit)}`;
    }
    case "order": {
      const { start, isWord, rows } = strategy;
      // Folded values have a space before each word. U+10FFFF sorts last. (`^@` would fold each value again.)
      const first = start && `${values.bind(` ${start.trim()}${isWord ? " " : ""}`)}::text`;
      const range = first && ` where ${order}>=${first} and ${order}<${first}||U&'\\+10FFFF'`;
      return `${range} order by ${order},svc_id${limitTo(rows)}`;
    }
    case "index": {
      const { match, needles, rows } = strategy;
      if (match === "whole") {
        const words = needles.flatMap((needle) => needle.split(" ").filter(Boolean));
        return ` where ${termsOf(column)} @> ${values.bind([...new Set(words)])}::text[]${limitTo(rows)}`;
      }
      const condition =
        match === "all"
          ? containsAll(column, needles, values)
          : needles.map((needle) => `(${containsAll(column, [needle], values)})`).join(" or ");
      return ` where ${condition}${limitTo(rows)}`;
    }
    case "near": {
      const { words, indexed, rows } = strategy;
      if (!indexed) return limitTo(rows);
      const conditions = words.map(({ array }) => `${termsOf(column)} && ${values.bind(array)}::text[]`);
      return ` where ${conditions.join(" and ")}${limitTo(rows)}`;
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

import { type Column, isId } from "../catalog/state.js";
import { definitionOf } from "../column-types/column-types.js";
import { type Languages, readableValue } from "../features/columns.js";
import { layerTable, type Statement, Values } from "../features/sql.js";
import type { SearchEntry } from "./entries.js";
import { indexNames } from "./index-names.js";
import { containing, isSpoken, type Phrase } from "./phrase.js";
import { isOpen, sureTerms, wholeTerms } from "./terms.js";

/** The statements that look through one column of one layer. */

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

/** Which rows are looked at closely, of the many that there are. */
export type SearchStrategy =
  /** Values that are the phrase, by the index. */
  | { readonly by: "whole" }
  /** Values with all of these needles, or with some of the words, by the index; any `rows` of them when there are more. */
  | { readonly by: "all"; readonly needles: readonly string[]; readonly rows: number }
  | { readonly by: "some"; readonly rows: number }
  /** The first values in their order. */
  | { readonly by: "order"; readonly rows: number }
  /** The first values in their order that begin with a folded text. */
  | { readonly by: "beginning"; readonly text: string; readonly rows: number }
  /** Any rows. */
  | { readonly by: "table"; readonly rows: number }
  /** Rows from all over the table, about so many percent of them. */
  | { readonly by: "sample"; readonly percent: number; readonly rows: number };

/** Characters of a folded value that are in the index of whole values. */
const keyLength = 100;

export interface TextQuery {
  readonly phrase: Phrase;
  readonly languages: Languages;
  /** Most results. */
  readonly limit: number;
}

/** The statement that finds the best `limit` objects of an entry among the rows that `reach` names. */
export function searchStatement(entry: SearchEntry, look: TextQuery, reach: SearchStrategy): Statement {
  const values = new Values();
  const { search, name } = entry;
  const { phrase, languages, limit } = look;
  const names = [...new Set(["svc_id", search.physical, name.physical])].join(",");
  const fold = foldOf(search);
  const value = textOf(search, languages, values);
  const rows =
    `select ${names},${fold} as folded from ${layerTable(entry.layer.id)}` +
    reached(search, phrase, { reach, limit }, values);
  const whole = `${values.bind(phrase.folded)}::text`;
  const isWhole = severalLanguages(search)
    ? `position(e'\\n'||${whole}||e'\\n' in folded)>0`
    : `folded=${whole}`;
  const patterns = `${values.bind(phrase.needles.map(containing))}::text[]`;
  const key = severalLanguages(search) ? `left(mapwright.search_fold(${value}),200)` : `left(folded,200)`;
  return {
    text:
      `select svc_id as id,priority,key,${value} as value,${textOf(name, languages, values)} as name ` +
      `from (select c.*,${key} as key,case when ${isWhole} then 30 when folded like all(${patterns}) then 20 ` +
      `when folded like any(${patterns}) then 10 end as priority ` +
      `from (${rows}) c) found where priority is not null ` +
      `order by priority desc,key collate "C",svc_id limit ${values.bind(limit)}::bigint`,
    values: values.list,
  };
}

/**
 * The statement that tells how many rows have all (or some) words, as the planner expects; its row is that of EXPLAIN in
 * JSON.
 */
export function estimateStatement(entry: SearchEntry, phrase: Phrase, by: "all" | "some"): Statement {
  const values = new Values();
  const condition = (by === "all" ? allOf : someOf)(entry.search, phrase.needles, values);
  return {
    text: `explain (format json) select from ${layerTable(entry.layer.id)} where ${condition}`,
    values: values.list,
  };
}

/**
 * The statement that tells what share of an entry's values has words of the phrase as wholes, of words that are among
 * the most frequent; the rows' type is `WordShare`.
 */
export function frequencyStatement(entry: SearchEntry, phrase: Phrase): Statement {
  const values = new Values();
  const index = values.bind(indexNames(entry.search.id).words);
  return {
    text:
      "select word,share from pg_stats s,unnest(s.most_common_elems::text::text[],s.most_common_elem_freqs) u(word,share) " +
      `where schemaname='layers' and tablename=${index} and attname='search_terms' ` +
      `and word=any(${values.bind(wholeTerms(phrase.needles))}::text[])`,
    values: values.list,
  };
}

export interface WordFrequency {
  readonly word: string;
  readonly share: number;
}

/** What comes after FROM, so that only the rows in reach are read. */
function reached(
  column: Column,
  phrase: Phrase,
  { reach, limit }: { readonly reach: SearchStrategy; readonly limit: number },
  values: Values,
): string {
  const fold = foldOf(column);
  const beginning = () => `left(${values.bind(phrase.folded)}::text,${keyLength})`;
  switch (reach.by) {
    case "whole":
      return severalLanguages(column)
        ? ` where mapwright.search_values(${column.physical}) @> array[${beginning()}] limit ${values.bind(1_000 + limit)}::bigint`
        : ` where ${orderOf(column)}=${beginning()} and ${fold}=${values.bind(phrase.folded)}` +
            ` order by ${orderOf(column)},svc_id limit ${values.bind(limit)}::bigint`;
    case "order":
      return ` order by ${orderOf(column)},svc_id limit ${values.bind(reach.rows)}::bigint`;
    case "beginning": {
      // A space stands before every word, and no character comes after U+10FFFF.
      const start = `${values.bind(` ${reach.text.trim()}`)}::text`;
      const order = orderOf(column);
      return (
        ` where ${order}>=${start} and ${order}<${start}||U&'\\+10FFFF'` +
        ` order by ${order},svc_id limit ${values.bind(reach.rows)}::bigint`
      );
    }
    case "table":
      return ` limit ${values.bind(reach.rows)}::bigint`;
    case "sample":
      return ` tablesample system (${values.bind(reach.percent)}::float8) repeatable (0) limit ${values.bind(reach.rows)}::bigint`;
    case "all":
      return ` where ${allOf(column, reach.needles, values)} limit ${values.bind(reach.rows)}::bigint`;
    case "some":
      return ` where ${someOf(column, phrase.needles, values)} limit ${values.bind(reach.rows)}::bigint`;
  }
}

/** SQL of what the index tells of values that hold all needles. */
function allOf(column: Column, needles: readonly string[], values: Values): string {
  const sure = sureTerms(needles);
  const holds = needles
    .filter(isOpen)
    .map((needle) => `${foldOf(column)} like ${values.bind(containing(needle))}`);
  return [...(sure.length > 0 ? [hasTerms(column, sure, values)] : []), ...holds].join(" and ");
}

/** The same for some needle. Signs beside words are left to the closer look: nearly every value has one. */
function someOf(column: Column, needles: readonly string[], values: Values): string {
  const spoken = needles.filter(isSpoken);
  return (spoken.length > 0 ? spoken : needles)
    .map((needle) => `(${allOf(column, [needle], values)})`)
    .join(" or ");
}

const hasTerms = (column: Column, terms: readonly string[], values: Values): string =>
  `${termsOf(column)} @> ${values.bind(terms)}::text[]`;

/** Whether a value is an object of languages. */
export const severalLanguages = (column: Column): boolean => column.localizedValue && !isId(column);

/** SQL of what is compared; the text of the index expression. */
export const foldOf = (column: Pick<Column, "physical">): string =>
  `mapwright.search_fold(${column.physical})`;

/** SQL of what is told of a value beside its trigrams; the text of the index expression. */
export const termsOf = (column: Pick<Column, "physical">): string =>
  `mapwright.search_terms(${foldOf(column)})`;

/** SQL of what values are ordered and found by as a whole; the text of the index expression. */
export const orderOf = (column: Pick<Column, "physical">): string =>
  `left(${foldOf(column)},${keyLength}) collate "C"`;

/** SQL of a value as the text that a reader sees. */
function textOf(column: Column, languages: Languages, values: Values): string {
  const value = readableValue(column, languages, values);
  const { isText, searchText } = definitionOf(column);
  if (severalLanguages(column)) return isText ? value : `${value}#>>'{}'`;
  return searchText ? searchText(value) : `${value}::text`;
}

import type { Column } from "../catalog/state.js";
import { comparable, isId, type Languages } from "../features/columns.js";
import { layerTable, type Statement, Values } from "../features/sql.js";
import type { SearchEntry } from "./entries.js";
import { holding, isIndexable, type Phrase } from "./phrase.js";

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
export type Reach =
  /** Values that are the phrase, by the index. */
  | { readonly by: "whole" }
  /** Values with all (or some) of the words, by the index; any `rows` of them when there are more. */
  | { readonly by: "all" | "some"; readonly rows: number }
  /** The first values in their order. */
  | { readonly by: "order"; readonly rows: number }
  /** The first values in their order that begin with a word. */
  | { readonly by: "beginning"; readonly needle: string; readonly rows: number }
  /** Any rows. */
  | { readonly by: "table"; readonly rows: number }
  /** Any rows whose value holds the signs. */
  | { readonly by: "signs"; readonly rows: number };

/** Characters of a folded value that are in the index of whole values. */
const keyLength = 100;

export interface Look {
  readonly phrase: Phrase;
  readonly languages: Languages;
  /** Most results. */
  readonly limit: number;
}

/** The statement that finds the best `limit` objects of an entry among the rows that `reach` names. */
export function lookStatement(entry: SearchEntry, look: Look, reach: Reach): Statement {
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
  const patterns = `${values.bind(patternsOf(phrase))}::text[]`;
  const source = phrase.signs ? rawOf(search) : "folded";
  const key = severalLanguages(search) ? `left(mapwright.search_fold(${value}),200)` : `left(folded,200)`;
  return {
    text:
      `select svc_id as id,priority,key,${value} as value,${textOf(name, languages, values)} as name ` +
      `from (select c.*,${key} as key,case when ${isWhole} then 30 when ${source} like all(${patterns}) then 20 ` +
      `when ${source} like any(${patterns}) then 10 end as priority ` +
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
  const condition = reached(entry.search, phrase, { reach: { by, rows: 1 }, limit: 1 }, values);
  const where = condition.slice(0, condition.lastIndexOf(" limit "));
  return {
    text: `explain (format json) select from ${layerTable(entry.layer.id)}${where}`,
    values: values.list.slice(0, -1),
  };
}

const patternsOf = (phrase: Phrase): string[] => (phrase.signs ?? phrase.needles).map(holding);

/** What comes after FROM, so that only the rows in reach are read. */
function reached(
  column: Column,
  phrase: Phrase,
  { reach, limit }: { readonly reach: Reach; readonly limit: number },
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
      const start = `${values.bind(` ${reach.needle.trimStart()}`)}::text`;
      const order = orderOf(column);
      return (
        ` where ${order}>=${start} and ${order}<${start}||U&'\\+10FFFF'` +
        ` order by ${order},svc_id limit ${values.bind(reach.rows)}::bigint`
      );
    }
    case "table":
      return ` limit ${values.bind(reach.rows)}::bigint`;
    case "signs": {
      const signs = (phrase.signs ?? []).map((sign) => `${rawOf(column)} like ${values.bind(holding(sign))}`);
      return ` where ${signs.join(" or ") || "false"} limit ${values.bind(reach.rows)}::bigint`;
    }
    default: {
      // Signs beside words are left to the closer look: the index would have to go through all of its rows for them.
      const needles = phrase.needles.filter(isIndexable);
      const terms = needles.map((needle) => `${fold} like ${values.bind(holding(needle))}`);
      const condition = terms.join(reach.by === "all" ? " and " : " or ") || "false";
      return ` where ${condition} limit ${values.bind(reach.rows)}::bigint`;
    }
  }
}

/** Whether a value is an object of languages. */
export const severalLanguages = (column: Column): boolean => column.localizedValue && !isId(column);

/** SQL of what is compared; the text of the index expression. */
export const foldOf = (column: Pick<Column, "physical">): string =>
  `mapwright.search_fold(${column.physical})`;

/** SQL of what values are ordered and found by as a whole; the text of the index expression. */
export const orderOf = (column: Pick<Column, "physical">): string =>
  `left(${foldOf(column)},${keyLength}) collate "C"`;

const rawOf = (column: Column): string => `${column.physical}::text`;

/** SQL of a value as the text that a reader sees. */
function textOf(column: Column, languages: Languages, values: Values): string {
  const value = comparable(column, languages, values);
  if (column.type === "datetime" && !severalLanguages(column)) {
    return `replace(to_json(${value})#>>'{}','+00:00','Z')`;
  }
  return severalLanguages(column) && column.type !== "string" && column.type !== "text"
    ? `${value}#>>'{}'`
    : `${value}::text`;
}

import { isText } from "../column-types/column-types.js";
import type { Column } from "./state.js";

/** Values in several languages, for people. */

/** The request's language, and the map's main one, which stands in. */
export interface Languages {
  readonly own: string;
  readonly main: string;
}

/**
 * SQL of what people read of a localised value, null where it is empty in all languages: the request's language, else
 * the main one, else any. It is text for columns of texts, and jsonb for others.
 * @param name the column
 * @param bind makes a placeholder or a constant of a text
 */
export function readableSql(
  column: Pick<Column, "type">,
  name: string,
  { own, main }: Languages,
  bind: (text: string) => string,
): string {
  const [get, each, empty] = isText(column)
    ? ["->>", "jsonb_each_text", "''"]
    : ["->", "jsonb_each", "'null'"];
  const choices = [...new Set([own, main])].map(
    (code) => `nullif(${name}${get}${bind(code)}::text,${empty})`,
  );
  const any = `select e.value from ${each}(${name}) e where e.value <> ${empty} limit 1`;
  return `coalesce(${choices.join(",")},(${any}))`;
}

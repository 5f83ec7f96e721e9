import { isText } from "../column-types/column-types.js";
import type { Column } from "./state.js";

/** Localised values in the language of a request. */

/** The request's language, and the project's main language, which is the fallback. */
export interface Languages {
  readonly own: string;
  readonly main: string;
}

/**
 * SQL of a localised value in the request's language, else in the main language, else in any; null if it is empty in all.
 * The value is text for text columns, and jsonb for others.
 * @param name of the column
 * @param bind returns a placeholder or a constant for a text
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

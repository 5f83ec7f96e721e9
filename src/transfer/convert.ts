import { definitionOf, isText } from "../column-types/column-types.js";
import type { Matched } from "./match.js";

/**
 * SQL that turns staged text (`s.p<index>`) into values of a column, and SQL that tells which text cannot be. The
 * rules are those of saving an object: what would lose something is refused.
 */

/** The property's text in staging. Blank text in a column of another kind is no value, as everywhere in the API. */
function stagedText({ index, field, column }: Matched): string {
  const text = `s.p${index}`;
  return isText(field) && definitionOf(column).imported.fits ? `nullif(btrim(${text}), '')` : text;
}

/** SQL of the value for the column, of the column's own type; `language` is the placeholder of a localised value's. */
export function valueSql(matched: Matched, language: () => string): string {
  const { field, column, index } = matched;
  const { imported, toJsonb } = definitionOf(column);
  const value = imported.value(stagedText(matched), { type: field.type, isText: isText(field), index });
  if (!column.localizedValue) return value;
  return `case when ${value} is not null then jsonb_build_object(${language()}::text, ${toJsonb(value)}) end`;
}

/** SQL that is true for staged text which becomes a value of the column; undefined when all of it does. */
export function fitsSql(matched: Matched): string | undefined {
  const { field, column } = matched;
  if (column.type === field.type) return undefined;
  return definitionOf(column).imported.fits?.(stagedText(matched));
}

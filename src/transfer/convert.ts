import { definitionOf, isText } from "../column-types/column-types.js";
import type { Matched } from "./match.js";

/**
 * SQL that converts staged text (`s.p<index>`) to values of a column, and SQL that finds text that cannot be converted.
 * The rules are those of saving an object: conversions that would lose data are refused.
 */

/** The staged text of a property. Blank text is null for columns that are not text, as elsewhere in the API. */
function stagedText({ index, field, column }: Matched): string {
  const text = `s.p${index}`;
  return isText(field) && definitionOf(column).imported.fits ? `nullif(btrim(${text}), '')` : text;
}

/** SQL of the value in the column's SQL type; `language` returns the placeholder of a localised value's language. */
export function valueSql(matched: Matched, language: () => string): string {
  const { field, column, index } = matched;
  const { imported, toJsonb } = definitionOf(column);
  const value = imported.value(stagedText(matched), { type: field.type, isText: isText(field), index });
  if (!column.localizedValue) return value;
  return `case when ${value} is not null then jsonb_build_object(${language()}::text, ${toJsonb(value)}) end`;
}

/** SQL that is true for staged text that can be converted; undefined when all text can. */
export function fitsSql(matched: Matched): string | undefined {
  const { field, column } = matched;
  if (column.type === field.type) return undefined;
  return definitionOf(column).imported.fits?.(stagedText(matched));
}

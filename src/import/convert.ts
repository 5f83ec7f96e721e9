import { type ColumnType, definitionOf, isText } from "../column-types/column-types.js";
import { markOfText, type Notation } from "../hosts/import-messages.js";
import type { FileField, Matched } from "./match.js";

/**
 * SQL that converts staged text (`s.p<index>`) to values of a column, and SQL that finds text that cannot be converted.
 * The rules are those of saving an object: conversions that would lose data are refused.
 */

/** A property, and the column that its values are for. */
export interface Staged {
  readonly index: number;
  readonly field: FileField;
  readonly column: { readonly type: ColumnType; readonly code: string };
}

/** The staged text of a property. Blank text is null for columns that are not text, as elsewhere in the API. */
function stagedText({ index, field, column }: Staged): string {
  const text = `s.p${index}`;
  if (isText(column)) return text;
  if (field.notation !== undefined) {
    const usual = usualText(index, field, field.notation);
    const isDate =
      (field.isDoubtful || column.type !== "datetime") &&
      field.type === "datetime" &&
      field.notation !== "loose";
    return `nullif(${isDate ? padded(usual) : usual}, '')`;
  }
  return isText(field) && definitionOf(column).imported.fits ? `nullif(btrim(${text}), '')` : text;
}

/** What `String.prototype.trim` removes. */
const spaces =
  " \t\n\v\f\r\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000\ufeff";

const trimmedSql = (text: string): string => `btrim(${text}, '${spaces}')`;

/** SQL of whether the property has a text that is not blank. */
export const isFilledSql = (index: number): string => `coalesce(${trimmedSql(`s.p${index}`)}, '') <> ''`;

/** As files write values that are numbers there. */
const plainNumber = "-?\\d+(\\.\\d+)?([eE][+-]?\\d+)?";

/** SQL of the text of a property in the notation of the API. */
function usualText(index: number, { type, hasNumbers }: FileField, notation: Notation): string {
  const trimmed = trimmedSql(`s.p${index}`);
  switch (notation) {
    case "loose":
      if (type === "bool") return `lower(${trimmed})`;
      return type === "number" ? `regexp_replace(${trimmed}, '^(-?)\\.', '\\10.')` : trimmed;
    case "decimal comma": {
      const written = `translate(${trimmed}, ', .\u00a0\u202f', '.')`;
      return hasNumbers
        ? `case when ${trimmed} ~ '^${plainNumber}$' and not ${isTextSql(index)} then ${trimmed} else ${written} end`
        : written;
    }
    case "grouped":
      return `translate(${trimmed}, ' ,\u00a0\u202f', '')`;
    case "year first":
      return dateText(trimmed, "(\\d{4})([./])(\\d{1,2})\\2(\\d{1,2})", "\\1-\\3-\\4");
    case "day first":
      return dateText(trimmed, "(\\d{1,2})([./])(\\d{1,2})\\2(\\d{4})", "\\4-\\3-\\1");
    case "month first":
      return dateText(trimmed, "(\\d{1,2})([./])(\\d{1,2})\\2(\\d{4})", "\\4-\\1-\\3");
  }
}

/** SQL of whether a property that looks like a number is a text in the file, as far as it is another number then. */
const isTextSql = (index: number): string =>
  `coalesce(s.texts && array[${index}, ${markOfText(index)}]::smallint[], false)`;

const dateText = (text: string, pattern: string, date: string): string =>
  `regexp_replace(${text}, '^${pattern},?', '${date}')`;

/** Two digits for the month, the day and the hour: PostgreSQL reads one, too, but the test of values does not. */
const padded = (text: string): string =>
  `regexp_replace(regexp_replace(${text}, '-(\\d)(?!\\d)', '-0\\1', 'g'), ' (\\d:)', ' 0\\1')`;

const time = "(,? \\d{1,2}:\\d\\d(:\\d\\d(\\.\\d{1,6})?)?)?";
const yearLast = "(\\d{1,2}\\.\\d{1,2}\\.\\d{4}|\\d{1,2}/\\d{1,2}/\\d{4})";
/** As the API writes dates, which no other notation has: those of a file that are none of its texts, too. */
const plainDate = "\\d{4}-\\d{1,2}-\\d{1,2}([ T].*)?";
/** Groups of digits with one kind of sign between them: 0.125 and 1 234.567 are none with a decimal comma. */
const groups = (sign: string): string => `[1-9]\\d{0,2}(${sign}\\d{3})+`;
const space = "[ \u00a0\u202f]";
const exponent = "([eE][+-]?\\d{1,2})?";
/** Texts that `usualText` makes into the same value in the notation of the API. */
const writtenPatterns: Readonly<Partial<Record<Notation, string>>> = {
  "decimal comma": `[+-]?(${groups("\\.")}|${groups(space)}|\\d*)(,\\d+)?${exponent}`,
  grouped: `[+-]?(${groups(",")}|${groups(space)}|\\d*)(\\.\\d+)?${exponent}`,
  "year first": `(\\d{4}\\.\\d{1,2}\\.\\d{1,2}|\\d{4}/\\d{1,2}/\\d{1,2})${time}|${plainDate}`,
  "day first": `${yearLast}${time}|${plainDate}`,
  "month first": `${yearLast}${time}|${plainDate}`,
};

/** SQL of the value in the column's SQL type; `language` returns the placeholder of a localised value's language. */
export function valueSql(matched: Matched, language: () => string): string {
  const { field, column, index } = matched;
  const { imported, toJsonb } = definitionOf(column);
  const value = imported.value(stagedText(matched), { type: field.type, isText: isText(field), index });
  if (!column.localizedValue) return value;
  return `case when ${value} is not null then jsonb_build_object(${language()}::text, ${toJsonb(value)}) end`;
}

/** SQL that is true for staged text that can be converted; undefined when all text can. */
export function fitsSql(staged: Staged): string | undefined {
  const { field, column, index } = staged;
  if (column.type === field.type && !field.isDoubtful) return undefined;
  const fits = definitionOf(column).imported.fits?.(stagedText(staged));
  const written = field.isDoubtful && field.notation && writtenPatterns[field.notation];
  if (!fits || !written || isText(column)) return fits;
  const pattern = field.hasNumbers && field.type === "number" ? `${written}|${plainNumber}` : written;
  return `(${trimmedSql(`s.p${index}`)} ~ '^(${pattern})?$' and (${fits}))`;
}

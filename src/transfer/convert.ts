import type { Column } from "../catalog/state.js";
import type { ImportedField } from "../hosts/messages.js";
import type { Matched } from "./match.js";

/**
 * SQL that turns staged text (`s.p<index>`) into values of a column, and SQL that tells which text cannot be. The
 * rules are those of saving an object: what would lose something is refused.
 */

/** Whole numbers to 15 digits, and what a double holds of the rest. */
const numberPattern = "^[+-]?(\\d{1,15}|\\d{0,15}\\.\\d{1,30}|\\d{1,15}\\.)([eE][+-]?\\d{1,2})?$";
const momentPattern =
  "^(?!0000)\\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\\d|3[01])([T ]([01]\\d|2[0-3]):[0-5]\\d(:[0-5]\\d(\\.\\d{1,6})?)?(Z|[+-](0\\d|1[0-5])(:?[0-5]\\d)?)?)?$";

/** Text of JSON that is no string; how objects and arrays go on has been checked. */
const jsonPattern = "^([[{]|(true|false|-?(0|[1-9]\\d*)(\\.\\d+)?([eE][+-]?\\d{1,3})?)$)";

type FieldType = ImportedField["type"];

const isText = (type: FieldType): boolean => type === "string" || type === "text";

/** The property's text in staging. Blank text in a column of another kind is no value, as everywhere in the API. */
const staged = ({ index, field, column }: Matched): string =>
  isText(field.type) && column.type !== "string" && column.type !== "text" && column.type !== "json"
    ? `nullif(btrim(s.p${index}), '')`
    : `s.p${index}`;

/** SQL of the value for the column, of the column's own type; `language` is the placeholder of a localised value's. */
export function valueSql(matched: Matched, language: () => string): string {
  const value = plainSql(matched);
  const { type, localizedValue } = matched.column;
  if (!localizedValue) return value;
  const kept =
    type === "datetime"
      ? `moment_text(${value})`
      : type === "file"
        ? `array_to_string(${value}, ',')`
        : value;
  return `case when ${value} is not null then jsonb_build_object(${language()}::text, ${kept}) end`;
}

function plainSql(matched: Matched): string {
  const text = staged(matched);
  const { field, column } = matched;
  switch (column.type) {
    case "number":
      return `${text}::double precision`;
    case "bool":
      return `${text}::boolean`;
    case "datetime":
      return `${text}::timestamptz`;
    case "json":
      if (field.type === "datetime") return `to_jsonb(${text})`;
      if (!isText(field.type)) return `${text}::jsonb`;
      // Values of several kinds: staging tells which of those that look like JSON are strings.
      return `case when ${text} ~ '${jsonPattern}' and ${matched.index} = any(s.texts) is not true then ${text}::jsonb else to_jsonb(${text}) end`;
    case "file":
      return `string_to_array(${text}, ',')::bigint[]`;
    default:
      return text;
  }
}

/** SQL that is true for staged text which becomes a value of the column; undefined when all of it does. */
export function fitsSql(matched: Matched): string | undefined {
  const text = staged(matched);
  const { field, column } = matched;
  if (column.type === field.type || takesAll(column)) return undefined;
  switch (column.type) {
    case "number":
      return `${text} is null or ${text} ~ '${numberPattern}'`;
    case "bool":
      return `${text} is null or ${text} in ('true', 'false', '1', '0')`;
    case "datetime":
      // The day is compared with the month's last only where the pattern holds.
      return (
        `${text} is null or case when ${text} ~ '${momentPattern}' then substr(${text}, 9, 2)::int <= ` +
        `extract(day from (substr(${text}, 1, 7) || '-01')::date + interval '1 month - 1 day') else false end`
      );
    case "file":
      return `${text} is null or ${text} ~ '^\\d{1,15}(,\\d{1,15})*$'`;
    default:
      return `${text} is null`;
  }
}

const takesAll = (column: Column): boolean =>
  column.type === "string" || column.type === "text" || column.type === "json";

import { accept, type ColumnTypeDefinition, type ColumnValue, empty, refuse } from "./definition.js";
import { readDatetime } from "./iso-8601.js";

/** Timestamps in UTC with microseconds. Database sessions have the time zone UTC (storage/postgres.ts). */

/** In imported files: text that `timestamptz` reads unambiguously; `fits` also checks the day of the month. */
const importedPattern =
  "^(?!0000)\\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\\d|3[01])([T ]([01]\\d|2[0-3]):[0-5]\\d(:[0-5]\\d(\\.\\d{1,6})?)?(Z|[+-](0\\d|1[0-5])(:?[0-5]\\d)?)?)?$";

function read(value: unknown): ColumnValue {
  if (value === "") return empty;
  const datetime = typeof value === "string" ? readDatetime(value) : undefined;
  return datetime === undefined ? refuse("This is not a date and time in ISO 8601.") : accept(datetime);
}

const seconds = (value: string): string => `extract(epoch from ${value})::float8`;

function shown(secondsSince1970: number): number | string {
  const date = new Date(Math.round(secondsSince1970 * 1000));
  return Number.isNaN(date.getTime()) ? secondsSince1970 : date.toISOString().replace(".000Z", "Z");
}

export const datetime: ColumnTypeDefinition = {
  description: "a date and time in ISO 8601, kept in UTC to the microsecond",
  sqlType: "timestamptz",
  isText: false,
  isComparable: true,
  isOrdered: true,
  isSearchable: false,
  read,
  jsonText: (value) => `coalesce(replace(to_json(${value})::text,'+00:00','Z'),'null')`,
  fileText: (value) => `replace(to_json(${value})#>>'{}','+00:00','Z')`,
  toJsonb: (value) => `to_jsonb(moment_text(${value}))`,
  fromJsonb: (json) => `(${json} #>> '{}')::timestamptz`,
  searchText: (value) => `replace(to_json(${value})#>>'{}','+00:00','Z')`,
  styleValue: (value) => `to_char(${value}, 'YYYY-MM-DD"T"HH24:MI:SS"Z"')`,
  measure: {
    number: seconds,
    finiteNumber: (value) => `case when isfinite(${value}) then ${seconds(value)} end`,
    shown,
  },
  imported: {
    value: (text) => `${text}::timestamptz`,
    // `case` makes sure that dates are only computed of text that matches the pattern.
    fits: (text) =>
      `${text} is null or case when ${text} ~ '${importedPattern}' then substr(${text}, 9, 2)::int <= ` +
      `extract(day from (substr(${text}, 1, 7) || '-01')::date + interval '1 month - 1 day') else false end`,
  },
};

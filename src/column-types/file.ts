import { type ColumnTypeDefinition, type ColumnValue, empty, refuse } from "./definition.js";

/** Ids of the object's files. Whether the files belong to the object is checked in the database (catalog/files.ts). */

function read(value: unknown): ColumnValue {
  if (value === "" || (Array.isArray(value) && value.length === 0)) return empty;
  const ids = fileIds(Array.isArray(value) ? value.join(",") : String(value));
  if (!ids) return refuse("This is not a comma-separated list of file ids.");
  const own = [...new Set(ids)];
  return { ok: true, json: own.join(","), bound: own };
}

/** As `read`, but keeps duplicate ids: stored values have none, so such a filter matches no object. */
function readFilter(text: string): ColumnValue {
  const ids = fileIds(text);
  return ids ? { ok: true, json: ids.join(","), bound: ids } : refuse("These are not file ids.");
}

function fileIds(text: string): number[] | undefined {
  const ids = text.split(",").map((id) => (/^\s*\d{1,15}\s*$/.test(id) ? Number(id) : undefined));
  return ids.every((id) => id !== undefined) ? ids : undefined;
}

export const file: ColumnTypeDefinition = {
  description: "ids of files of the object, with commas between",
  sqlType: "bigint[]",
  isText: false,
  isComparable: false,
  isOrdered: false,
  isSearchable: false,
  emptyConstant: "'{}'",
  read,
  readFilter,
  jsonText: (value) => `coalesce('"'||array_to_string(${value},',')||'"','null')`,
  fileText: (value) => `nullif(array_to_string(${value},','),'')`,
  toJsonb: (value) => `to_jsonb(array_to_string(${value}, ','))`,
  fromJsonb: (json) => `string_to_array(${json} #>> '{}', ',')::bigint[]`,
  categoryText: (value) => `array_to_string(${value}, ',')`,
  styleValue: (value) => `${value}::text`,
  imported: {
    value: (text) => `string_to_array(${text}, ',')::bigint[]`,
    fits: (text) => `${text} is null or ${text} ~ '^\\d{1,15}(,\\d{1,15})*$'`,
  },
};

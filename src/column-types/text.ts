import { accept, type ColumnTypeDefinition, type ColumnValue, refuse, unstorable } from "./definition.js";

/** Text: `string` for one line, `text` for several. They differ only in how clients show them. */

function read(value: unknown): ColumnValue {
  const text = typeof value === "number" && Number.isFinite(value) ? String(value) : value;
  if (typeof text !== "string") return refuse("This is not a text.");
  if (unstorable.test(text)) return refuse("The text holds a NUL or half of a surrogate pair.");
  return accept(text);
}

export const string: ColumnTypeDefinition = {
  description: "text of one line",
  sqlType: "text",
  isText: true,
  isComparable: true,
  isOrdered: true,
  isSearchable: true,
  emptyConstant: "''",
  read,
  jsonText: (value) => `coalesce(to_json(${value})::text,'null')`,
  fileText: (value) => value,
  toJsonb: (value) => `to_jsonb(${value})`,
  fromJsonb: (json) => `${json} #>> '{}'`,
  styleValue: (value) => value,
  imported: { value: (text) => text },
};

export const text: ColumnTypeDefinition = { ...string, description: "text of any length" };

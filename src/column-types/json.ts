import { type ColumnTypeDefinition, type ColumnValue, refuse, unstorable } from "./definition.js";

/** Any JSON value. */

const maxCharacters = 4 * 1024 * 1024;
const maxDepth = 100;

function read(value: unknown): ColumnValue {
  const problem = problemOf(value);
  if (problem) return refuse(problem);
  const text = JSON.stringify(value);
  if (text.length > maxCharacters) return refuse("The JSON value is too long.");
  return { ok: true, json: value, bound: text };
}

function readFilter(text: string): ColumnValue {
  try {
    return read(JSON.parse(text));
  } catch {
    return refuse("This is not JSON.");
  }
}

/** Why PostgreSQL cannot store a JSON value; undefined if it can. */
function problemOf(root: unknown): string | undefined {
  let level: unknown[] = [root];
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > maxDepth) return "The JSON value is nested too deeply.";
    const below: unknown[] = [];
    for (const value of level) {
      if (typeof value === "string" && unstorable.test(value)) {
        return "A text in the JSON value holds a NUL or half of a surrogate pair.";
      }
      if (typeof value === "number" && !Number.isFinite(value))
        return "A number in the JSON value is not finite.";
      if (typeof value !== "object" || value === null) continue;
      if (Array.isArray(value)) {
        for (const item of value) below.push(item);
      } else {
        for (const [key, item] of Object.entries(value)) below.push(key, item);
      }
    }
    level = below;
  }
  return undefined;
}

export const json: ColumnTypeDefinition = {
  description: "any JSON value",
  sqlType: "jsonb",
  isText: false,
  isComparable: false,
  isOrdered: false,
  isSearchable: false,
  read,
  readFilter,
  jsonText: (value) => `coalesce(${value}::text,'null')`,
  fileText: (value) => `${value}::text`,
  toJsonb: (value) => value,
  fromJsonb: (json) => json,
  categoryText: (value) => `${value} #>> '{}'`,
  styleValue: (value) => `${value}::text`,
  imported: {
    value: (text, { type, isText, index }) => {
      if (type === "datetime") return `to_jsonb(${text})`;
      if (!isText) return `${text}::jsonb`;
      // Formats without JSON have it as text. In those with it, `s.texts` says which values are strings that look like it.
      return `case when ${index} = any(s.texts) then to_jsonb(${text}) else json_of(${text}) end`;
    },
  },
};

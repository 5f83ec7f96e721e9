import type { Column } from "../catalog/state.js";
import { isId } from "./columns.js";
import { readDatetime } from "./datetime.js";

/** Values of one column: from what a client sent to what is bound. */

/** A value that a column takes: as JSON would show it, and as it is bound. `null` empties the column. */
export type ColumnValue =
  | { readonly ok: true; readonly json: unknown; readonly bound: unknown }
  | { readonly ok: false; readonly reason: string };

const refuse = (reason: string): ColumnValue => ({ ok: false, reason });
const accept = (value: unknown): ColumnValue => ({ ok: true, json: value, bound: value });
const empty = accept(null);

/** SQL type that a bound value of the column has; localised columns hold jsonb. */
export function boundType(column: Column): string {
  if (isId(column)) return "bigint";
  switch (column.type) {
    case "number":
      return "double precision";
    case "datetime":
      return "timestamptz";
    case "bool":
      return "boolean";
    case "file":
      return "bigint[]";
    case "json":
      return "jsonb";
    default:
      return "text";
  }
}

const maxJsonCharacters = 4 * 1024 * 1024;
const maxJsonDepth = 100;
const numberPattern = /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?$/i;
const badText = /\0|\p{Surrogate}/u;

/** Reads a value for a column by its type, apart from languages. */
export function readValue(column: Column, value: unknown): ColumnValue {
  if (value === null || value === undefined) return empty;
  switch (column.type) {
    case "number":
      return readNumber(value);
    case "datetime":
      return value === "" ? empty : readMoment(value);
    case "bool":
      return value === "" ? empty : readBool(value);
    case "json":
      return readJson(value);
    case "file":
      return readFiles(value);
    default:
      return readText(value);
  }
}

function readNumber(value: unknown): ColumnValue {
  if (value === "") return empty;
  let number = value;
  if (typeof value === "string") {
    const text = value.trim();
    if (!numberPattern.test(text)) return refuse("This is not a number.");
    number = Number(text);
  }
  if (typeof number !== "number" || !Number.isFinite(number)) return refuse("This is not a finite number.");
  if (Number.isInteger(number) && !Number.isSafeInteger(number)) {
    return refuse("Whole numbers beyond 2^53 cannot be kept exactly.");
  }
  return accept(number);
}

function readText(value: unknown): ColumnValue {
  const text = typeof value === "number" && Number.isFinite(value) ? String(value) : value;
  if (typeof text !== "string") return refuse("This is not a text.");
  if (badText.test(text)) return refuse("The text holds a NUL or half of a surrogate pair.");
  return accept(text);
}

function readMoment(value: unknown): ColumnValue {
  const moment = typeof value === "string" ? readDatetime(value) : undefined;
  return moment === undefined ? refuse("This is not a date and time in ISO 8601.") : accept(moment);
}

function readBool(value: unknown): ColumnValue {
  if (value === true || value === 1 || value === "true" || value === "1") return accept(true);
  if (value === false || value === 0 || value === "false" || value === "0") return accept(false);
  return refuse("This is neither true nor false.");
}

function readJson(value: unknown): ColumnValue {
  const flaw = jsonFlaw(value);
  if (flaw) return refuse(flaw);
  const text = JSON.stringify(value);
  if (text.length > maxJsonCharacters) return refuse("The JSON value is too long.");
  return { ok: true, json: value, bound: text };
}

/** Why PostgreSQL could not keep a JSON value; undefined when it can. */
function jsonFlaw(root: unknown): string | undefined {
  let level: unknown[] = [root];
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > maxJsonDepth) return "The JSON value is nested too deeply.";
    const below: unknown[] = [];
    for (const value of level) {
      if (typeof value === "string" && badText.test(value)) {
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

/** Ids in a file column, each once. Whether they are files of the object is for the database to say. */
function readFiles(value: unknown): ColumnValue {
  if (value === "" || (Array.isArray(value) && value.length === 0)) return empty;
  const ids = fileIds(Array.isArray(value) ? value.join(",") : String(value));
  if (!ids) return refuse("This is not a comma-separated list of file ids.");
  const own = [...new Set(ids)];
  return { ok: true, json: own.join(","), bound: own };
}

function fileIds(text: string): number[] | undefined {
  const ids = text.split(",").map((id) => (/^\s*\d{1,15}\s*$/.test(id) ? Number(id) : undefined));
  return ids.every((id) => id !== undefined) ? ids : undefined;
}

/** What a column is compared with: the bound value, and the SQL around its placeholder. */
export interface Comparison {
  readonly value: unknown;
  readonly wrap: (placeholder: string) => string;
}

/** A filter's text as a value of the column; undefined when no value of the column can equal it. */
export function readComparison(column: Column, text: string): Comparison | undefined {
  if (isId(column)) {
    const id = numberPattern.test(text.trim()) ? Number(text) : Number.NaN;
    return Number.isSafeInteger(id) ? { value: id, wrap: (at) => `${at}::bigint` } : undefined;
  }
  const value = comparedValue(column, text);
  if (!value.ok || value.json === null) return undefined;
  const textual = column.type === "string" || column.type === "text";
  if (column.localizedValue && !textual) {
    return { value: JSON.stringify(value.json), wrap: (at) => `${at}::text::jsonb` };
  }
  return { value: value.bound, wrap: (at) => `${at}::${boundType(column)}` };
}

function comparedValue(column: Column, text: string): ColumnValue {
  if (column.type === "json") {
    try {
      return readJson(JSON.parse(text));
    } catch {
      return refuse("This is not JSON.");
    }
  }
  if (column.type === "file") {
    const ids = fileIds(text);
    return ids ? { ok: true, json: ids.join(","), bound: ids } : refuse("These are not file ids.");
  }
  return readValue(column, text);
}

import { isLanguageTag } from "../catalog/codes.js";
import { mustBeFilled } from "../catalog/required.js";
import { type Column, isId, type LayerNode } from "../catalog/state.js";
import { hasValues } from "../column-types/column-types.js";
import type { ColumnValue } from "../column-types/definition.js";
import { failed, Reasons, refusedValues, required } from "../errors.js";
import { findColumn, type Languages, unknownColumns } from "./column-sql.js";
import type { Values } from "./sql.js";
import { boundType, readValue } from "./values.js";

/** The `fields` of an object to save: all are checked, then written as SQL. */

/** The new value of one column. */
export type Assignment =
  /** A value that is not localised. */
  | { readonly column: Column; readonly kind: "set"; readonly bound: unknown }
  /** A localised column: replaces the values of all languages. `json` is the JSON text of `texts`; null = none are left. */
  | {
      readonly column: Column;
      readonly kind: "replace";
      readonly texts: Readonly<Record<string, unknown>>;
      readonly json: string | Buffer | null;
    }
  /** A localised column: sets the value of one language, `json` as JSON text; null removes it. */
  | {
      readonly column: Column;
      readonly kind: "merge";
      readonly language: string;
      readonly value: unknown;
      readonly json: string | Buffer | null;
    };

export interface FieldsInput {
  /** As the client sent it. */
  readonly fields: unknown;
  readonly languages: Languages;
  /** The object to update; undefined = a new object, for which all required columns must be given. */
  readonly id?: number | undefined;
}

/** Maximum number of columns that an error lists. */
const maxReported = 100;

/**
 * Checks all fields.
 * @throws Failure required_parameters, unknown_column, invalid_value (data.columns = code → reason)
 */
export function readFields(
  layer: Pick<LayerNode, "columns">,
  { fields, languages, id }: FieldsInput,
): Assignment[] {
  if (fields === undefined || fields === null) throw required(["fields"]);
  if (typeof fields !== "object" || Array.isArray(fields)) {
    throw failed("invalid_value", "fields must be an object of column codes and values.");
  }
  const unknown = new Reasons();
  const invalid = new Reasons(maxReported);
  const assignments: Assignment[] = [];
  for (const [code, value] of Object.entries(fields)) {
    const column = findColumn(layer, code);
    if (!column) unknown.add(code, "The layer has no such column.");
    else if (!hasValues(column))
      invalid.add(code, `A column of the type ${column.type} has no value in fields.`);
    else if (isId(column)) {
      if (!isSameId(value, id))
        invalid.add(code, "The object id is assigned by the server and cannot be changed.");
    } else {
      const assignment = assign(column, value, languages);
      if (typeof assignment === "string") invalid.add(code, assignment);
      else if (column.required && isEmpty(assignment, id)) invalid.add(code, mustBeFilled);
      else assignments.push(assignment);
    }
  }
  if (!unknown.empty) throw unknownColumns(layer, unknown);
  const missing: string[] = [];
  if (id === undefined) {
    for (const column of layer.columns) {
      if (!column.required || !hasValues(column) || isId(column) || Object.hasOwn(fields, column.code))
        continue;
      missing.push(column.code);
      invalid.add(column.code, mustBeFilled);
    }
  }
  if (!invalid.empty) {
    throw refusedValues(invalid, missing.length > 0 ? { required: missing.slice(0, maxReported) } : {});
  }
  return assignments;
}

/** A new object has no id yet; an update may repeat the object's id. */
function isSameId(value: unknown, id: number | undefined): boolean {
  if (value === null || value === undefined) return id === undefined;
  return id !== undefined && (value === id || value === String(id));
}

const isBlank = (value: unknown): boolean => value === null || value === "";

function isEmpty(assignment: Assignment, id: number | undefined): boolean {
  if (assignment.kind === "set") return isBlank(assignment.bound);
  if (assignment.kind === "replace") return Object.values(assignment.texts).every(isBlank);
  // On update other languages may still have a value, see `mayBecomeEmpty`.
  return id === undefined && isBlank(assignment.value);
}

/** Required columns from which these assignments remove one language. Whether another is left must be checked on the row. */
export const mayBecomeEmpty = (assignments: readonly Assignment[]): readonly Column[] =>
  assignments.flatMap((assignment) => {
    const { column, kind } = assignment;
    return kind === "merge" && column.required && isBlank(assignment.value) ? [column] : [];
  });

/** The assignment, or the reason why the value is not valid. */
function assign(column: Column, value: unknown, languages: Languages): Assignment | string {
  if (!column.localizedValue) {
    const read = readValue(column, value);
    return read.ok ? { column, kind: "set", bound: read.bound } : read.reason;
  }
  // A JSON value may itself be an object, so it is set for one language at a time.
  if (column.type !== "json" && typeof value === "object" && value !== null && !Array.isArray(value)) {
    return assignLanguages(column, value);
  }
  if (!isLanguageTag(languages.own)) return "The language of the request (lng) is not a language code.";
  const read: ColumnValue = readValue(column, value);
  if (!read.ok) return read.reason;
  const json = read.json === null ? null : JSON.stringify(read.json);
  return { column, kind: "merge", language: languages.own, value: read.json, json };
}

const maxLanguages = 100;

function assignLanguages(column: Column, value: object): Assignment | string {
  const entries = Object.entries(value);
  if (entries.length > maxLanguages) return "These are too many languages.";
  const texts: Record<string, unknown> = Object.create(null);
  for (const [language, text] of entries) {
    if (!isLanguageTag(language)) return `"${language.slice(0, 40)}" is not a language code.`;
    const read = readValue(column, text);
    if (!read.ok) return `${language}: ${read.reason}`;
    if (read.json !== null) texts[language] = read.json;
  }
  return {
    column,
    kind: "replace",
    texts,
    json: Object.keys(texts).length > 0 ? JSON.stringify(texts) : null,
  };
}

/** File ids that the assignments give to file columns; they must belong to the same object. Columns without ids are left out. */
export function listedFiles(
  assignments: readonly Assignment[],
): { readonly column: Column; readonly ids: readonly number[] }[] {
  return assignments.flatMap((assignment) => {
    const { column } = assignment;
    if (column.type !== "file") return [];
    const values =
      assignment.kind === "set"
        ? [assignment.bound]
        : assignment.kind === "merge"
          ? [assignment.value]
          : Object.values(assignment.texts);
    // Values are comma-separated ids.
    const ids = values.flatMap((value) => (value === null ? [] : String(value).split(",").map(Number)));
    return ids.length > 0 ? [{ column, ids }] : [];
  });
}

/** SQL of the column's new value; `old` is the SQL of the previous value, 'null' for a new object. */
export function assignedValue(assignment: Assignment, old: string, values: Values): string {
  if (assignment.kind === "set") return `${values.bind(assignment.bound)}::${boundType(assignment.column)}`;
  if (assignment.kind === "replace") return `${values.bind(assignment.json)}::text::jsonb`;
  const language = `${values.bind(assignment.language)}::text`;
  if (assignment.json === null) return `nullif(coalesce(${old}::jsonb,'{}')-${language},'{}')`;
  const value = `${values.bind(assignment.json)}::text::jsonb`;
  return `coalesce(${old}::jsonb,'{}')||jsonb_build_object(${language},${value})`;
}

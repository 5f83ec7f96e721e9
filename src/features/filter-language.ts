import { plainValue } from "../catalog/plain-value.js";
import { canCompile, patternTimeoutMs, seenText, wholeValue } from "../catalog/regular-expression.js";
import { type Column, isId } from "../catalog/state.js";
import { definitionOf, hasValues, isText } from "../column-types/column-types.js";
import { failed, Reasons } from "../errors.js";
import type { Database } from "../storage/postgres.js";
import { comparable, noValueColumn } from "./column-sql.js";
import { type Comparator, expressionsOf, type Filter, type Literal, parseFilter } from "./filter-parser.js";
import type { Values } from "./sql.js";
import { boundType, readValue } from "./values.js";

/** Translates the filter language to SQL over a layer's table. */

export interface FilterContext {
  /** Columns that the filter may name. */
  readonly columns: readonly Column[];
  /** Language in which values of localised columns are compared. */
  readonly language: string;
  readonly values: Values;
}

/**
 * SQL of a filter, with physical column names and bound values. Does not check that PostgreSQL can compile its regular
 * expressions: call `requireExpressions` before a filter is stored.
 * @throws Failure invalid_value (`data.position`, or `data.columns` = code → reason), unknown_column
 */
export function filterSql(text: string, context: FilterContext): string {
  return sqlOf(parseFilter(text), context);
}

/**
 * Checks that PostgreSQL can compile the regular expressions of a filter.
 * @throws Failure invalid_value
 */
export async function requireExpressions(db: Database, text: string): Promise<void> {
  const expressions = expressionsOf(parseFilter(text));
  if (expressions.length === 0) return;
  const valid = await db.transaction(async (tx) => {
    await tx.execute(`set local statement_timeout = ${patternTimeoutMs}`);
    return canCompile(tx, expressions);
  });
  if (!valid)
    throw failed("invalid_value", "A regular expression of the filter cannot be used.", {
      parameter: "filter",
    });
}

function sqlOf(filter: Filter, context: FilterContext): string {
  switch (filter.kind) {
    case "and":
    case "or":
      return `(${filter.terms.map((term) => sqlOf(term, context)).join(` ${filter.kind} `)})`;
    case "not":
      return `(not ${sqlOf(filter.term, context)})`;
    case "null":
      return `(${columnSql(requireColumn(filter.column, context), context)} is null)`;
    case "like": {
      const column = requireColumn(filter.column, context);
      if (!isText(column)) throw mismatch(column, "like needs a text column.");
      return `(${operand(column, context)} like ${context.values.bind(filter.pattern)}::text)`;
    }
    case "matches": {
      const column = requireColumn(filter.column, context);
      if (!isText(column)) throw mismatch(column, "matches needs a text column.");
      const text = seenText(operand(column, context), filter.expression);
      return `(${text} ~ ${context.values.bind(wholeValue(filter.expression))}::text)`;
    }
    case "in": {
      const column = requireColumn(filter.column, context);
      const members = filter.literals.map((literal) => value(column, literal, context));
      return `(${operand(column, context)} in (${members.join(",")}))`;
    }
    case "compare": {
      const column = requireColumn(filter.column, context);
      const ordered = isOrdered(column, filter.comparator);
      const literal = value(ordered ? { ...column, localizedValue: false } : column, filter.literal, context);
      return `(${operand(column, context, ordered)} ${filter.comparator} ${literal})`;
    }
    case "columns": {
      const column = requireColumn(filter.column, context);
      const other = requireColumn(filter.other, context, "Is it a text? Texts stand in single quotes.");
      const ordered = isOrdered(column, filter.comparator);
      if (family(column) !== family(other) || column.localizedValue !== other.localizedValue)
        throw mismatch(other, `It cannot be compared with ${column.code}.`);
      return `(${operand(column, context, ordered)} ${filter.comparator} ${operand(other, context, ordered)})`;
    }
  }
}

function requireColumn(code: string, context: FilterContext, hint?: string): Column {
  const column = context.columns.find((one) => one.code === code);
  if (column && column.type !== "title") return column;
  const reason = column ? "A title has no value." : "The layer has no such column.";
  const failure = noValueColumn(context, code, reason);
  throw hint ? failed("unknown_column", `${failure.message} ${hint}`, failure.data) : failure;
}

const mismatch = (column: Column, reason: string) =>
  failed(
    "invalid_value",
    `The filter does not fit the column ${column.code}: ${reason}`,
    Reasons.of(column.code, reason).data,
  );

/** Columns of the same family can be compared with each other. */
const family = (column: Column): string => (isText(column) ? "text" : column.type);

/** Whether values of the column can be compared. */
const isComparable = (column: Column): boolean => hasValues(column) && definitionOf(column).isComparable;

function requireComparable(column: Column): void {
  if (!isComparable(column)) throw mismatch(column, "Its values can only be compared with is null.");
}

/** SQL of the value, for columns of any type. */
const columnSql = (column: Column, { language, values }: FilterContext): string =>
  comparable(column, language, values);

/**
 * SQL of a column as an operand of a comparison.
 * @param ordered whether the comparison needs an order; a localised value is then cast to its column's type, because
 *   jsonb does not sort like it
 */
function operand(column: Column, context: FilterContext, ordered = false): string {
  requireComparable(column);
  const value = columnSql(column, context);
  return ordered ? plainValue(column, value) : value;
}

/** Whether the comparison needs an order. @throws Failure invalid_value when the column's values have none */
function isOrdered(column: Column, comparator: Comparator): boolean {
  if (comparator === "=" || comparator === "<>") return false;
  if (isComparable(column) && !definitionOf(column).isOrdered)
    throw mismatch(column, "Its values have no order.");
  return true;
}

/** SQL of a literal as a value of the column. @throws Failure invalid_value */
function value(column: Column, literal: Literal, { values }: FilterContext): string {
  if (isId(column)) {
    if (!Number.isSafeInteger(literal)) throw mismatch(column, "An object id is a whole number.");
    return `${values.bind(literal)}::bigint`;
  }
  requireComparable(column);
  if ((typeof literal === "boolean") !== (column.type === "bool"))
    throw mismatch(column, column.type === "bool" ? "It is true or false." : "It is neither true nor false.");
  const read = readValue(column, literal);
  if (!read.ok) throw mismatch(column, read.reason);
  if (read.json === null)
    throw mismatch(column, "A comparison needs a value; use is null to compare with null.");
  if (column.localizedValue && !isText(column))
    return `${values.bind(JSON.stringify(read.json))}::text::jsonb`;
  return `${values.bind(read.bound)}::${boundType(column)}`;
}

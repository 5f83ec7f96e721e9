import { canCompile, patternTimeoutMs, wholeValue } from "../catalog/regular-expression.js";
import { type Column, isId } from "../catalog/state.js";
import { definitionOf, hasValues, isText } from "../column-types/column-types.js";
import { failed, Reasons } from "../errors.js";
import type { Database } from "../storage/postgres.js";
import { comparable, unknownColumns } from "./columns.js";
import { type Comparator, expressionsOf, type Filter, type Literal, parseFilter } from "./filter-parser.js";
import { plainValue } from "./plain-value.js";
import type { Values } from "./sql.js";
import { boundType, readValue } from "./values.js";

/** Filters of the filter language as SQL over a layer's table. */

export interface FilterContext {
  /** Whose columns the codes are. */
  readonly columns: readonly Column[];
  /** Language whose value of a localised column counts. */
  readonly language: string;
  readonly values: Values;
}

/**
 * SQL of a filter: its columns by physical names, its values bound. Regular expressions in it may be none that
 * PostgreSQL can compile; what is to be kept is asked of `requireExpressions` first.
 * @throws Failure invalid_value (`data.position`, or `data.columns` = code → reason), unknown_column
 */
export function filterSql(text: string, context: FilterContext): string {
  return sqlOf(parseFilter(text), context);
}

/**
 * Lets PostgreSQL compile the regular expressions of a filter; without any nothing is asked.
 * @throws Failure invalid_value
 */
export async function requireExpressions(db: Database, text: string): Promise<void> {
  const expressions = expressionsOf(parseFilter(text));
  if (expressions.length === 0) return;
  const fit = await db.transaction(async (tx) => {
    await tx.execute(`set local statement_timeout = ${patternTimeoutMs}`);
    return canCompile(tx, expressions);
  });
  if (!fit)
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
      return `(${stored(columnOf(filter.column, context), context)} is null)`;
    case "like": {
      const column = columnOf(filter.column, context);
      if (!isText(column)) throw unfit(column, "Only texts are compared with like.");
      return `(${side(column, context)} like ${context.values.bind(filter.pattern)}::text)`;
    }
    case "matches": {
      const column = columnOf(filter.column, context);
      if (!isText(column)) throw unfit(column, "Only texts are compared with regular expressions.");
      return `(${side(column, context)} ~ ${context.values.bind(wholeValue(filter.expression))}::text)`;
    }
    case "in": {
      const column = columnOf(filter.column, context);
      const members = filter.literals.map((literal) => value(column, literal, context));
      return `(${side(column, context)} in (${members.join(",")}))`;
    }
    case "compare": {
      const column = columnOf(filter.column, context);
      const ordered = isOrdered(column, filter.comparator);
      const literal = value(ordered ? { ...column, localizedValue: false } : column, filter.literal, context);
      return `(${side(column, context, ordered)} ${filter.comparator} ${literal})`;
    }
    case "columns": {
      const column = columnOf(filter.column, context);
      const other = columnOf(filter.other, context);
      const ordered = isOrdered(column, filter.comparator);
      if (family(column) !== family(other) || column.localizedValue !== other.localizedValue)
        throw unfit(other, `It cannot be compared with ${column.code}.`);
      return `(${side(column, context, ordered)} ${filter.comparator} ${side(other, context, ordered)})`;
    }
  }
}

function columnOf(code: string, { columns }: FilterContext): Column {
  const column = columns.find((one) => one.code === code);
  if (column && column.type !== "title") return column;
  const reason = column ? "A title has no value." : "The layer has no such column.";
  throw unknownColumns(Reasons.of(code, reason));
}

const unfit = (column: Column, reason: string) =>
  failed(
    "invalid_value",
    `The filter does not fit the column ${column.code}: ${reason}`,
    Reasons.of(column.code, reason).data,
  );

/** Columns of one family compare with each other. */
const family = (column: Column): string => (isText(column) ? "text" : column.type);

/** Whether its values are equal to others or not. */
const isCompared = (column: Column): boolean => hasValues(column) && definitionOf(column).isComparable;

function requireCompared(column: Column): void {
  if (!isCompared(column)) throw unfit(column, "It can only be asked whether it is null.");
}

/** SQL of the value, for columns of any type. */
const stored = (column: Column, { language, values }: FilterContext): string =>
  comparable(column, language, values);

/**
 * SQL of what stands beside a comparison.
 * @param ordered whether a localised value has to be one of its own type, which its JSON has no order of
 */
function side(column: Column, context: FilterContext, ordered = false): string {
  requireCompared(column);
  const value = stored(column, context);
  return ordered ? plainValue(column, value) : value;
}

/** Whether values are compared by their order. */
function isOrdered(column: Column, comparator: Comparator): boolean {
  if (comparator === "=" || comparator === "<>") return false;
  if (isCompared(column) && !definitionOf(column).isOrdered) throw unfit(column, "Its values have no order.");
  return true;
}

/** SQL of a literal as a value of the column. */
function value(column: Column, literal: Literal, { values }: FilterContext): string {
  if (isId(column)) {
    if (!Number.isSafeInteger(literal)) throw unfit(column, "An object id is a whole number.");
    return `${values.bind(literal)}::bigint`;
  }
  requireCompared(column);
  if ((typeof literal === "boolean") !== (column.type === "bool"))
    throw unfit(column, column.type === "bool" ? "It is true or false." : "It is neither true nor false.");
  const read = readValue(column, literal);
  if (!read.ok) throw unfit(column, read.reason);
  if (read.json === null) throw unfit(column, "A comparison needs a value; null is asked for with is null.");
  if (column.localizedValue && !isText(column))
    return `${values.bind(JSON.stringify(read.json))}::text::jsonb`;
  return `${values.bind(read.bound)}::${boundType(column)}`;
}

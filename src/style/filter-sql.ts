import { type ComparisonOperator, type Expression, mirrored } from "./expression.js";
import { parseExpression } from "./expression-parser.js";
import { StyleError } from "./lexer.js";

/** A column in SQL. */
export interface SqlColumn {
  /** A trusted expression, such as a physical column name. */
  readonly sql: string;
  readonly type: "number" | "text" | "bool" | "other";
}
export type ColumnLookup = (code: string) => SqlColumn | undefined;

/**
 * A checked Mapnik filter as an SQL boolean that is true for the same rows and never null; undefined when it contains
 * something that SQL evaluates differently. Needs `standard_conforming_strings`, PostgreSQL's default.
 *
 * Mapnik's comparisons: null equals only null and has no order; values of different types (text and
 * number) are never equal; `!= ''` is false for null.
 */
export function filterToSql(filter: string, columnOf: ColumnLookup): string | undefined {
  let expression: Expression;
  try {
    expression = parseExpression(filter);
  } catch (error) {
    if (error instanceof StyleError) return undefined;
    throw error;
  }
  return condition(expression, columnOf);
}

function condition(expression: Expression, columnOf: ColumnLookup): string | undefined {
  switch (expression.kind) {
    case "and":
    case "or": {
      const left = condition(expression.left, columnOf);
      const right = left === undefined ? undefined : condition(expression.right, columnOf);
      return right === undefined ? undefined : `(${left} ${expression.kind} ${right})`;
    }
    case "not": {
      const of = condition(expression.of, columnOf);
      return of === undefined ? undefined : `(not ${of})`;
    }
    case "boolean":
      return String(expression.value);
    case "field": {
      const column = columnOf(expression.name);
      return column?.type === "bool" ? `coalesce(${column.sql}, false)` : undefined;
    }
    case "comparison":
      return comparison(expression, columnOf);
    default:
      return undefined;
  }
}

/** A comparison of a column with a literal. */
function comparison(
  expression: Expression & { kind: "comparison" },
  columnOf: ColumnLookup,
): string | undefined {
  const { operator, left, right } = expression;
  if (left.kind === "field") return columnComparison(left.name, operator, right, columnOf);
  if (right.kind === "field") return columnComparison(right.name, mirrored[operator], left, columnOf);
  return undefined;
}

function columnComparison(
  code: string,
  operator: ComparisonOperator,
  literal: Expression,
  columnOf: ColumnLookup,
): string | undefined {
  const column = columnOf(code);
  if (!column) return undefined;
  const { sql, type } = column;
  const same = operator === "=";
  if (!same && operator !== "!=") return type === "number" ? order(sql, operator, literal) : undefined;
  switch (literal.kind) {
    case "null":
      return `(${sql} is ${same ? "" : "not "}null)`;
    case "number":
      if (type === "number") return equality(`(${sql})::float8`, same, `${literal.value}::float8`);
      return type === "text" ? String(!same) : undefined;
    case "string":
      if (type === "text" && literal.value === "" && !same) return `coalesce(${sql} <> '', false)`;
      if (type === "text") return equality(sql, same, textLiteral(literal.value));
      return undefined;
    case "boolean":
      return type === "bool" ? equality(sql, same, String(literal.value)) : undefined;
    default:
      return undefined;
  }
}

function order(sql: string, operator: ComparisonOperator, literal: Expression): string | undefined {
  return literal.kind === "number"
    ? `coalesce((${sql})::float8 ${operator} ${literal.value}::float8, false)`
    : undefined;
}

const equality = (left: string, same: boolean, right: string): string =>
  same ? `coalesce(${left} = ${right}, false)` : `(${left} is distinct from ${right})`;

/**
 * A text in a statement that Mapnik sends. In a standard string only the quote needs an escape. `!` is written as chr(33),
 * as Mapnik replaces tokens such as !bbox! in its queries, even within strings.
 */
export const textLiteral = (value: string): string =>
  `('${value.replaceAll("'", "''").replaceAll("!", "' || chr(33) || '")}')`;

/**
 * Mapnik expressions that styles may use: fields, literals, arithmetic, comparison and logic. No functions: `match`
 * and `replace` run regular expressions on the data, which can take for ever.
 */

export type ComparisonOperator = "=" | "!=" | "<" | "<=" | ">" | ">=";

/** What a comparison is when its sides change places. */
export const mirrored: Readonly<Record<ComparisonOperator, ComparisonOperator>> = {
  "=": "=",
  "!=": "!=",
  "<": ">",
  "<=": ">=",
  ">": "<",
  ">=": "<=",
};
export type ArithmeticOperator = "+" | "-" | "*" | "/" | "%";

export type Expression =
  | { readonly kind: "field"; readonly name: string }
  | { readonly kind: "geometryType" }
  | { readonly kind: "number"; readonly value: number }
  | { readonly kind: "string"; readonly value: string }
  | { readonly kind: "boolean"; readonly value: boolean }
  | { readonly kind: "null" }
  | { readonly kind: "negate" | "not"; readonly of: Expression }
  | {
      readonly kind: "arithmetic";
      readonly operator: ArithmeticOperator;
      readonly left: Expression;
      readonly right: Expression;
    }
  | {
      readonly kind: "comparison";
      readonly operator: ComparisonOperator;
      readonly left: Expression;
      readonly right: Expression;
    }
  | { readonly kind: "and" | "or"; readonly left: Expression; readonly right: Expression };

const escapeString = (value: string): string =>
  `'${value
    .replace(/[\\']/g, (character) => `\\${character}`)
    .replaceAll("\n", "\\n")
    .replaceAll("\t", "\\t")}'`;

/** Writes an expression for Mapnik, with brackets wherever precedence could matter. */
export function printExpression(expression: Expression): string {
  switch (expression.kind) {
    case "field":
      return `[${expression.name}]`;
    case "geometryType":
      return "[mapnik::geometry_type]";
    case "number":
      return printNumber(expression.value);
    case "string":
      return escapeString(expression.value);
    case "boolean":
      return String(expression.value);
    case "null":
      return "null";
    case "negate":
      return `-${part(expression.of)}`;
    case "not":
      return `not ${part(expression.of)}`;
    case "arithmetic":
      return printArithmetic(expression);
    case "comparison":
      return `${part(expression.left)} ${expression.operator} ${part(expression.right)}`;
    case "and":
    case "or":
      return `${leftPart(expression)} ${expression.kind} ${part(expression.right)}`;
  }
}

/** Left operands of the same operator need no brackets: Mapnik is left-associative too. */
function leftPart(expression: Expression & { readonly left: Expression }): string {
  const { left } = expression;
  const same = expression.kind !== "comparison" && left.kind === expression.kind;
  if (!same) return part(left);
  const sums = (of: Expression) => of.kind !== "arithmetic" || of.operator === "+" || of.operator === "-";
  return sums(left) && sums(expression) ? printExpression(left) : part(left);
}

function printArithmetic(expression: Expression & { readonly kind: "arithmetic" }): string {
  const { operator, left, right } = expression;
  // Dividing the smallest integer by -1 crashes Mapnik as dividing by 0 does. Unless the divisor is known, doubles are divided.
  const safe = operator !== "/" || (right.kind === "number" && right.value > 0);
  return `${safe ? leftPart(expression) : `(${part(left)} * 1.0)`} ${operator} ${part(right)}`;
}

const simple: ReadonlySet<Expression["kind"]> = new Set([
  "field",
  "geometryType",
  "string",
  "boolean",
  "null",
]);

function part(expression: Expression): string {
  const text = printExpression(expression);
  return simple.has(expression.kind) || (expression.kind === "number" && expression.value >= 0)
    ? text
    : `(${text})`;
}

/** Whole numbers stay whole, which matters to division. */
export const printNumber = (value: number): string => String(value);

/** The suffix of the names of columns whose values are shown as labels write them (tiles/datasource.ts). */
export const labelColumn = (code: string): string => `${code}$label`;

/**
 * A label's expression that shows columns as labels write them, since Mapnik writes numbers with six digits. Those that it
 * calculates with stay numbers.
 * @param into to which their codes are added
 */
export function shownInLabel(expression: Expression, into: Set<string>): Expression {
  const { kind } = expression;
  // Whole numbers are written in full.
  if (kind === "field" && expression.name !== "svc_id") {
    into.add(expression.name);
    return { kind, name: labelColumn(expression.name) };
  }
  if (kind !== "arithmetic" || !isJoined(expression)) return expression;
  const { left, right } = expression;
  return { ...expression, left: shownInLabel(left, into), right: shownInLabel(right, into) };
}

/** Whether a sum has a text in it, so that Mapnik joins its parts. */
const isJoined = (expression: Expression): boolean =>
  expression.kind === "string" ||
  (expression.kind === "arithmetic" &&
    expression.operator === "+" &&
    (isJoined(expression.left) || isJoined(expression.right)));

/** Adds the codes of the columns that the expression reads. */
export function collectFields(expression: Expression, into: Set<string>): void {
  switch (expression.kind) {
    case "field":
      into.add(expression.name);
      break;
    case "negate":
    case "not":
      collectFields(expression.of, into);
      break;
    case "arithmetic":
    case "comparison":
    case "and":
    case "or":
      collectFields(expression.left, into);
      collectFields(expression.right, into);
  }
}

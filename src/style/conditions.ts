import type { ComparisonOperator, Expression } from "./expression.js";

/** Filters as conditions that an object must all meet, to tell which of two filters is the wider one. */

export interface Condition {
  readonly text: string;
  readonly bound: Bound | undefined;
}

/** Of a filter those that are joined by `and`; none of no filter. */
export function conditionsOf(filter: Expression | undefined): Condition[] {
  if (filter === undefined) return [];
  if (filter.kind === "and") return [...conditionsOf(filter.left), ...conditionsOf(filter.right)];
  return [{ text: JSON.stringify(filter), bound: boundOf(filter) }];
}

/** Whether what meets the given conditions is known to meet the wanted ones. */
export const meetsAll = (given: readonly Condition[], wanted: readonly Condition[]): boolean =>
  wanted.every((one) => given.some((other) => implies(other, one)));

function implies({ text, bound: from }: Condition, { text: wanted, bound: to }: Condition): boolean {
  if (text === wanted) return true;
  return from !== undefined && to !== undefined && from.field === to.field && isInside(from, to);
}

interface Bound {
  readonly field: string;
  readonly operator: ComparisonOperator;
  readonly value: number;
}

/** A field compared with a number, which no text and no null meets. */
function boundOf(expression: Expression): Bound | undefined {
  if (expression.kind !== "comparison" || expression.operator === "!=") return undefined;
  const { left, operator, right } = expression;
  if (left.kind !== "field" || right.kind !== "number") return undefined;
  return { field: left.name, operator, value: right.value };
}

/** Operators of bounds that lie wholly below, or above, a bound of these directions with a suitable number. */
const below: readonly ComparisonOperator[] = ["<", "<=", "="];
const above: readonly ComparisonOperator[] = [">", ">=", "="];

function isInside(from: Bound, to: Bound): boolean {
  const isStrict = to.operator === "<" || to.operator === ">";
  const mayTouch = !isStrict || from.operator === to.operator;
  if (from.value === to.value && !mayTouch) return false;
  if (to.operator === "<" || to.operator === "<=")
    return below.includes(from.operator) && from.value <= to.value;
  if (to.operator === ">" || to.operator === ">=")
    return above.includes(from.operator) && from.value >= to.value;
  return false;
}

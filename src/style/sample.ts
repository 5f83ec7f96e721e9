import { type ComparisonOperator, type Expression, mirrored } from "./expression.js";

/** A made-up object that a filter selects, to draw the symbols of legends with, and which filters select it. */

export type SampleValue = string | number | boolean | null;

export interface Sample {
  /** By the codes of columns; others are null. */
  readonly values: ReadonlyMap<string, SampleValue>;
  /** As Mapnik numbers them: 1 = point, 2 = line, 3 = area; undefined = any. */
  readonly geometryType: number | undefined;
}

/** An object that the filter selects, as far as that can be told from its comparisons with constants. */
export function sampleOf(filter: Expression | undefined): Sample {
  const values = new Map<string, SampleValue>();
  let geometryType: number | undefined;
  const add = (expression: Expression): void => {
    switch (expression.kind) {
      case "and":
        add(expression.left);
        add(expression.right);
        break;
      case "or":
        add(expression.left);
        break;
      case "field":
        values.set(expression.name, true);
        break;
      case "comparison": {
        const found = comparisonOf(expression);
        if (!found) break;
        const { of, operator, constant } = found;
        if (of.kind === "geometryType") {
          if (operator === "=" && typeof constant === "number") geometryType = constant;
        } else values.set(of.name, valueFor(operator, constant, values.get(of.name)));
      }
    }
  };
  if (filter) add(filter);
  return { values, geometryType };
}

interface ConstantComparison {
  readonly of: Extract<Expression, { kind: "field" | "geometryType" }>;
  readonly operator: ComparisonOperator;
  readonly constant: SampleValue;
}

/** A comparison of a column, or of the type of the geometry, with a constant, in this order; undefined = another one. */
export function comparisonOf(
  expression: Extract<Expression, { kind: "comparison" }>,
): ConstantComparison | undefined {
  const { left, right, operator } = expression;
  const [of, other, turned] =
    left.kind === "field" || left.kind === "geometryType"
      ? [left, right, operator]
      : [right, left, mirrored[operator]];
  if (of.kind !== "field" && of.kind !== "geometryType") return undefined;
  const constant = constantOf(other);
  return constant === undefined ? undefined : { of, operator: turned, constant };
}

function constantOf(expression: Expression): SampleValue | undefined {
  switch (expression.kind) {
    case "number":
    case "string":
    case "boolean":
      return expression.value;
    case "null":
      return null;
    case "negate":
      return expression.of.kind === "number" ? -expression.of.value : undefined;
    default:
      return undefined;
  }
}

/** @param known a value that comparisons before this one need, which is kept where it fits */
function valueFor(operator: ComparisonOperator, constant: SampleValue, known?: SampleValue): SampleValue {
  if (known !== undefined && compared(operator, known, constant)) return known;
  const isNumber = typeof constant === "number";
  switch (operator) {
    case "!=":
      if (isNumber) return constant + 1;
      return typeof constant === "boolean" ? !constant : constant === null ? "Abc" : `${constant}…`;
    case "<":
    case ">": {
      if (!isNumber) return constant;
      const step = Math.max(1, Math.abs(constant)) / 1_000_000;
      const next = operator === "<" ? constant - step : constant + step;
      // Between two bounds there may be less room.
      return typeof known === "number" && operator === "<" && next < known ? (known + constant) / 2 : next;
    }
    default:
      return constant;
  }
}

/** Whether a filter selects the object; undefined = that cannot be told. Values are compared as Mapnik does. */
export function selects(filter: Expression, sample: Sample): boolean | undefined {
  switch (filter.kind) {
    case "boolean":
      return filter.value;
    case "field":
      return sample.values.get(filter.name) === true;
    case "not": {
      const of = selects(filter.of, sample);
      return of === undefined ? undefined : !of;
    }
    case "and":
    case "or": {
      const [left, right] = [selects(filter.left, sample), selects(filter.right, sample)];
      const decides = filter.kind === "or";
      if (left === decides || right === decides) return decides;
      return left === undefined || right === undefined ? undefined : !decides;
    }
    case "comparison": {
      const found = comparisonOf(filter);
      if (!found) return undefined;
      const { of, operator, constant } = found;
      if (of.kind === "field") return compared(operator, sample.values.get(of.name) ?? null, constant);
      return sample.geometryType === undefined
        ? undefined
        : compared(operator, sample.geometryType, constant);
    }
    default:
      return undefined;
  }
}

function compared(operator: ComparisonOperator, value: SampleValue, constant: SampleValue): boolean {
  if (operator === "=") return value === constant;
  if (operator === "!=") return value !== constant && !(value === null && constant === "");
  if (typeof value !== "number" || typeof constant !== "number") return false;
  switch (operator) {
    case "<":
      return value < constant;
    case "<=":
      return value <= constant;
    case ">":
      return value > constant;
    case ">=":
      return value >= constant;
  }
}

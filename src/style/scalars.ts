import type { ValueRule } from "./allowed.js";
import { collectFields, printExpression, printNumber, shownInLabel } from "./expression.js";
import { parseExpression } from "./expression-parser.js";
import { StyleError } from "./lexer.js";

/** Checks of numbers, colours and expressions. Each writes the parsed value anew; the text of the style is never passed on. */

/** A value is refused. */
export class ValueError extends StyleError {
  constructor(
    message: string,
    /** As the compiler of CartoCSS wrote it. */
    readonly value: string,
  ) {
    super(message);
    this.name = "ValueError";
  }
}

export type RuleOf<K extends ValueRule["kind"]> = Extract<ValueRule, { kind: K }>;

/** The property whose value is checked. */
export interface ValueContext {
  readonly property: string;
  /** Column codes are added as expressions use them. */
  readonly fields: Set<string>;
}

const short = (text: string): string => (text.length > 60 ? `${text.slice(0, 60)}…` : text);

export const wrong = ({ property }: ValueContext, expected: string, text: string): StyleError =>
  new ValueError(`${property} must be ${expected}, not ${short(text)}.`, text);

export const plainNumber = /^[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?$/;

export function constant(text: string): number | undefined {
  const trimmed = text.trim();
  return plainNumber.test(trimmed) ? Number(trimmed) : undefined;
}

export function checkNumber(rule: RuleOf<"number">, text: string, context: ValueContext): string {
  const expected = `a ${rule.whole ? "whole " : ""}number from ${rule.min} to ${rule.max}`;
  const value = constant(text);
  if (value !== undefined) {
    if (value < rule.min || value > rule.max || (rule.whole && !Number.isInteger(value))) {
      throw wrong(context, expected, text);
    }
    return printNumber(value);
  }
  if (!rule.expression) throw wrong(context, expected, text);
  // Clamped, as the result depends on the data; Mapnik takes what is not a number as 0.
  return `min(${printNumber(rule.max)},max(${printNumber(rule.min)},${checkExpression(text, context)}))`;
}

/** An expression for Mapnik. The columns that it uses are added to `fields`. */
export const checkExpression = (text: string, { property, fields }: ValueContext): string =>
  ofProperty(property, () => {
    const expression = parseExpression(text);
    collectFields(expression, fields);
    return printExpression(expression);
  });

/** As `checkExpression`. @param labelFields to which the codes of columns are added that the label shows */
export const checkLabel = (
  text: string,
  { property, fields }: ValueContext,
  labelFields: Set<string>,
): string =>
  ofProperty(property, () => {
    const expression = shownInLabel(parseExpression(text), labelFields);
    const read = new Set<string>();
    collectFields(expression, read);
    // Names of our own have a `$`.
    for (const code of read) if (!code.includes("$")) fields.add(code);
    return printExpression(expression);
  });

function ofProperty<T>(property: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (error instanceof StyleError) throw new StyleError(`${property}: ${error.message}`);
    throw error;
  }
}

export function checkColor(text: string, context: ValueContext): string {
  const hex = /^#(?:[0-9a-fA-F]{3}|[0-9a-fA-F]{6}|[0-9a-fA-F]{8})$/;
  if (hex.test(text)) return text.toLowerCase();
  if (text === "transparent") return "rgba(0,0,0,0)";
  const parts = /^rgba?\(([^()]*)\)$/
    .exec(text)?.[1]
    ?.split(",")
    .map((part) => constant(part));
  if (parts && (parts.length === 3 || parts.length === 4) && parts.every((part) => part !== undefined)) {
    const [red, green, blue, alpha = 1] = parts as number[];
    const channel = (value = 0): number => Math.round(Math.min(255, Math.max(0, value)));
    const opacity = Math.round(Math.min(1, Math.max(0, alpha)) * 1000) / 1000;
    return `rgba(${channel(red)},${channel(green)},${channel(blue)},${opacity})`;
  }
  throw wrong(context, "a color such as #aabbcc or rgba(10, 20, 30, 0.5)", text);
}

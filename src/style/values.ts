import type { ValueRule } from "./allowed.js";
import {
  collectFields,
  type Expression,
  parseExpression,
  printExpression,
  printNumber,
} from "./expression.js";
import { StyleError } from "./lexer.js";

/** Checks of single values. Each gives the value anew from what was understood, never the text that came. */

type RuleOf<K extends ValueRule["kind"]> = Extract<ValueRule, { kind: K }>;

/** What a value was checked against: its property's name, and where columns and icons are looked up. */
export interface ValueContext {
  readonly property: string;
  /** Files that `url()` may name: icons/<name>.svg or .png. */
  readonly icons: ReadonlySet<string>;
  /** Column codes are added as expressions use them. */
  readonly fields: Set<string>;
}

const short = (text: string): string => (text.length > 60 ? `${text.slice(0, 60)}…` : text);

/**
 * The value in Mapnik's notation; undefined when the property is to be left out.
 * @throws StyleError naming the property and what it may be
 */
export function checkValue(rule: ValueRule, text: string, context: ValueContext): string | undefined {
  switch (rule.kind) {
    case "number":
      return checkNumber(rule, text, context);
    case "keyword":
      if (rule.values.includes(text)) return text;
      throw wrong(context, `one of ${rule.values.join(", ")}`, text);
    case "boolean":
      if (text === "true" || text === "false") return text;
      throw wrong(context, "true or false", text);
    case "color":
      return checkColor(text, context);
    case "dashes":
      return checkDashes(text, context);
    case "transform":
      return checkTransform(text, context);
    case "icon":
      if (text === "none") return undefined;
      if (context.icons.has(text)) return text;
      throw new StyleError(`${context.property} must name an icon of this installation, not ${short(text)}.`);
    case "placements":
      return checkPlacements(text, context);
    case "character":
      if (/^[\p{L}\p{N}\p{P}\p{S} ]$/u.test(text)) return text;
      throw wrong(context, "one character", text);
    case "imageFilters":
      return checkImageFilters(text, context);
    case "featureSettings":
      return checkFeatureSettings(text, context);
    case "ignored":
      checkValue(rule.value, text, context);
      return undefined;
    case "text":
    case "face":
    case "stops":
      throw new StyleError(`${context.property} cannot be used here.`);
  }
}

const wrong = ({ property }: ValueContext, expected: string, text: string): StyleError =>
  new StyleError(`${property} must be ${expected}, not ${short(text)}.`);

const plainNumber = /^[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?$/;

function constant(text: string): number | undefined {
  const trimmed = text.trim();
  return plainNumber.test(trimmed) ? Number(trimmed) : undefined;
}

function checkNumber(rule: RuleOf<"number">, text: string, context: ValueContext): string {
  const expected = `a ${rule.whole ? "whole " : ""}number from ${rule.least} to ${rule.most}`;
  const value = constant(text);
  if (value !== undefined) {
    if (value < rule.least || value > rule.most || (rule.whole && !Number.isInteger(value))) {
      throw wrong(context, expected, text);
    }
    return printNumber(value);
  }
  if (!rule.expression) throw wrong(context, expected, text);
  const expression = readExpression(text, context);
  collectFields(expression, context.fields);
  // Whatever the data hold, Mapnik gets a number in the range; what is no number counts as 0.
  return `min(${printNumber(rule.most)},max(${printNumber(rule.least)},${printExpression(expression)}))`;
}

function readExpression(text: string, { property }: ValueContext): Expression {
  try {
    return parseExpression(text);
  } catch (error) {
    if (error instanceof StyleError) throw new StyleError(`${property}: ${error.message}`);
    throw error;
  }
}

/** A label's text: an expression. */
export function checkText(text: string, context: ValueContext): string {
  const expression = readExpression(text, context);
  collectFields(expression, context.fields);
  return printExpression(expression);
}

function checkColor(text: string, context: ValueContext): string {
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

function checkDashes(text: string, context: ValueContext): string {
  const numbers = text.split(",").map((part) => constant(part));
  const bounded = numbers.every((value) => value !== undefined && value >= 0 && value <= 1000);
  const sum = numbers.reduce((total: number, value) => total + (value ?? 0), 0);
  // A pattern of no length would never come to the line's end.
  if (numbers.length > 16 || !bounded || sum < 1) {
    throw wrong(context, "at most 16 lengths from 0 to 1000, together at least 1", text);
  }
  return numbers.map((value) => printNumber(value as number)).join(",");
}

const transforms: Readonly<Record<string, { readonly counts: readonly number[]; readonly most: number }>> = {
  matrix: { counts: [6], most: 256 },
  translate: { counts: [1, 2], most: 256 },
  scale: { counts: [1, 2], most: 8 },
  rotate: { counts: [1, 3], most: 3600 },
  skewX: { counts: [1], most: 80 },
  skewY: { counts: [1], most: 80 },
};

function checkTransform(text: string, context: ValueContext): string {
  const calls = splitCalls(text);
  if (!calls || calls.length === 0 || calls.length > 8) {
    throw wrong(context, "transformations such as rotate(45) or translate(2, 3)", text);
  }
  let growth = 1;
  const written = calls.map(({ name, args }) => {
    const known = Object.hasOwn(transforms, name) ? transforms[name] : undefined;
    if (!known?.counts.includes(args.length))
      throw wrong(context, "transformations such as rotate(45) or translate(2, 3)", text);
    const values = args.map((arg) => constant(arg));
    if (name === "rotate" && values[0] === undefined) {
      // Arrows that point where a column says. Any result is an angle.
      const angle = readExpression(args[0] as string, context);
      collectFields(angle, context.fields);
      return `rotate(${[printExpression(angle), ...values.slice(1).map((value) => bounded(value, 256))].join(",")})`;
    }
    if (name === "scale") growth *= Math.max(...values.map((value) => Math.abs(value ?? 0)));
    if (name === "matrix") growth *= matrixGrowth(values, context, text);
    if (name === "scale" && values.some((value) => Math.abs(value ?? 0) < 0.01))
      throw wrong(context, "a scale of at least 0.01", text);
    return `${name}(${values.map((value) => bounded(value, known.most)).join(",")})`;
  });
  if (growth > 8) throw wrong(context, "a transformation that enlarges at most 8 times", text);
  return written.join(" ");

  function bounded(value: number | undefined, most: number): string {
    if (value === undefined || Math.abs(value) > most)
      throw wrong(context, `transformations by numbers of at most ${most}`, text);
    return printNumber(value);
  }
}

function matrixGrowth(values: readonly (number | undefined)[], context: ValueContext, text: string): number {
  const [a = 0, b = 0, c = 0, d = 0] = values;
  if (Math.abs(a * d - b * c) < 1e-4) throw wrong(context, "a matrix that can be inverted", text);
  return Math.max(Math.abs(a), Math.abs(b), Math.abs(c), Math.abs(d));
}

/** `name(a, b) name, …` → names with their arguments' texts; undefined when it has another shape. */
function splitCalls(text: string): { name: string; args: string[] }[] | undefined {
  const calls: { name: string; args: string[] }[] = [];
  let rest = text.trim();
  while (rest !== "") {
    const name = /^[A-Za-z][A-Za-z-]*/.exec(rest)?.[0];
    if (!name) return undefined;
    rest = rest.slice(name.length).trimStart();
    const args: string[] = [];
    if (rest.startsWith("(")) {
      const end = closingBracket(rest);
      if (end < 0) return undefined;
      args.push(...splitArguments(rest.slice(1, end)));
      rest = rest.slice(end + 1);
    }
    calls.push({ name, args });
    rest = rest.replace(/^[\s,]+/, "");
  }
  return calls;
}

function closingBracket(text: string): number {
  let depth = 0;
  for (let index = 0; index < text.length; index++) {
    if (text[index] === "(") depth++;
    else if (text[index] === ")" && --depth === 0) return index;
  }
  return -1;
}

/** Arguments apart by commas, or by spaces when there are none, as SVG allows. */
function splitArguments(text: string): string[] {
  const parts: string[] = [];
  let depth = 0;
  let start = 0;
  for (let index = 0; index <= text.length; index++) {
    if (text[index] === "(") depth++;
    else if (text[index] === ")") depth--;
    else if (index === text.length || (text[index] === "," && depth === 0)) {
      parts.push(text.slice(start, index).trim());
      start = index + 1;
    }
  }
  if (parts.length === 1) {
    if (parts[0] === "") return [];
    const spaced = (parts[0] as string).split(/\s+/);
    if (spaced.every((part) => plainNumber.test(part))) return spaced;
  }
  return parts;
}

function checkPlacements(text: string, context: ValueContext): string {
  const parts = text.split(",").map((part) => part.trim());
  const firstSize = parts.findIndex((part) => /^\d+$/.test(part));
  const places = firstSize < 0 ? parts : parts.slice(0, firstSize);
  const sizes = firstSize < 0 ? [] : parts.slice(firstSize).map((part) => constant(part) ?? 0);
  const fine =
    parts.length <= 16 &&
    places.every((place) => /^(?:X|N|S|E|W|NE|NW|SE|SW)$/.test(place)) &&
    sizes.every((size) => Number.isInteger(size) && size >= 1 && size <= 256);
  if (!fine) throw wrong(context, 'places and sizes such as "N,S,E,W,12,10"', text);
  return parts.join(",");
}

const filtersWithoutArguments: ReadonlySet<string> = new Set([
  ...["emboss", "blur", "gray", "sobel", "edge-detect", "x-gradient", "y-gradient", "invert", "sharpen"],
  ...["color-blind-protanope", "color-blind-deuteranope", "color-blind-tritanope"],
]);

function checkImageFilters(text: string, context: ValueContext): string {
  const calls = splitCalls(text);
  if (!calls || calls.length === 0 || calls.length > 6) throw wrong(context, "at most 6 image filters", text);
  return calls.map(({ name, args }) => imageFilter(name, args, context)).join(" ");
}

function imageFilter(name: string, args: readonly string[], context: ValueContext): string {
  const numbers = (count: number, rule: RuleOf<"number">): string => {
    if (args.length !== count) throw wrong(context, `${name} with ${count} numbers`, `${args.length}`);
    return `${name}(${args.map((arg) => checkNumber(rule, arg, { ...context, property: name })).join(",")})`;
  };
  const colors = (least: number, most: number): string => {
    if (args.length < least || args.length > most)
      throw wrong(context, `${name} with ${least} to ${most} colors`, `${args.length}`);
    return `${name}(${args.map((arg) => checkColor(arg, { ...context, property: name })).join(",")})`;
  };
  switch (name) {
    case "agg-stack-blur":
      return numbers(2, { kind: "number", least: 0, most: 32, whole: true });
    case "scale-hsla":
      return numbers(8, { kind: "number", least: 0, most: 1 });
    case "color-to-alpha":
      return colors(1, 1);
    case "colorize-alpha":
      return colors(1, 10);
  }
  if (!filtersWithoutArguments.has(name) || args.length > 0)
    throw wrong(context, "image filters that exist", name);
  return name;
}

function checkFeatureSettings(text: string, context: ValueContext): string {
  const settings = text.split(",").map((part) => part.trim().replace(/^(['"])([A-Za-z0-9]{4})\1/, "$2"));
  if (
    settings.length > 16 ||
    !settings.every((part) => /^[A-Za-z0-9]{4}(?:(?:=| )(?:\d{1,3}|on|off))?$/.test(part))
  ) {
    throw wrong(context, 'OpenType features such as "kern 1, liga 0"', text);
  }
  return settings.join(", ");
}

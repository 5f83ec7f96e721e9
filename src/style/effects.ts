import { printNumber } from "./expression.js";
import {
  checkColor,
  checkExpression,
  checkNumber,
  constant,
  plainNumber,
  type RuleOf,
  type ValueContext,
  wrong,
} from "./scalars.js";

/** Checks of transformations and image filters: lists of calls. */

const transforms: Readonly<Record<string, { readonly counts: readonly number[]; readonly max: number }>> = {
  matrix: { counts: [6], max: 256 },
  translate: { counts: [1, 2], max: 256 },
  scale: { counts: [1, 2], max: 8 },
  rotate: { counts: [1, 3], max: 3600 },
  skewX: { counts: [1], max: 80 },
  skewY: { counts: [1], max: 80 },
};

/** Transformations as SVG has them. */
export function checkTransform(text: string, context: ValueContext): string {
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
      // An expression, so that arrows can point in the direction of a column. Any number is an angle.
      const angle = checkExpression(args[0] as string, context);
      return `rotate(${[angle, ...values.slice(1).map((value) => bounded(value, 256))].join(",")})`;
    }
    if (name === "scale") growth *= Math.max(...values.map((value) => Math.abs(value ?? 0)));
    if (name === "matrix") growth *= matrixGrowth(values, context, text);
    if (name === "scale" && values.some((value) => Math.abs(value ?? 0) < 0.01))
      throw wrong(context, "a scale of at least 0.01", text);
    return `${name}(${values.map((value) => bounded(value, known.max)).join(",")})`;
  });
  if (growth > 8) throw wrong(context, "a transformation that enlarges at most 8 times", text);
  return written.join(" ");

  function bounded(value: number | undefined, max: number): string {
    if (value === undefined || Math.abs(value) > max)
      throw wrong(context, `transformations by numbers of at most ${max}`, text);
    return printNumber(value);
  }
}

function matrixGrowth(values: readonly (number | undefined)[], context: ValueContext, text: string): number {
  const [a = 0, b = 0, c = 0, d = 0] = values;
  if (Math.abs(a * d - b * c) < 1e-4) throw wrong(context, "a matrix that can be inverted", text);
  return Math.max(Math.abs(a), Math.abs(b), Math.abs(c), Math.abs(d));
}

const filtersWithoutArguments: ReadonlySet<string> = new Set([
  ...["emboss", "blur", "gray", "sobel", "edge-detect", "x-gradient", "y-gradient", "invert", "sharpen"],
  ...["color-blind-protanope", "color-blind-deuteranope", "color-blind-tritanope"],
]);

export function checkImageFilters(text: string, context: ValueContext): string {
  const calls = splitCalls(text);
  if (!calls || calls.length === 0 || calls.length > 6) throw wrong(context, "at most 6 image filters", text);
  return calls.map(({ name, args }) => imageFilter(name, args, context)).join(" ");
}

function imageFilter(name: string, args: readonly string[], context: ValueContext): string {
  const numbers = (count: number, rule: RuleOf<"number">): string => {
    if (args.length !== count) throw wrong(context, `${name} with ${count} numbers`, `${args.length}`);
    return `${name}(${args.map((arg) => checkNumber(rule, arg, { ...context, property: name })).join(",")})`;
  };
  const colors = (min: number, max: number): string => {
    if (args.length < min || args.length > max)
      throw wrong(context, `${name} with ${min} to ${max} colors`, `${args.length}`);
    return `${name}(${args.map((arg) => checkColor(arg, { ...context, property: name })).join(",")})`;
  };
  switch (name) {
    case "agg-stack-blur":
      return numbers(2, { kind: "number", min: 0, max: 32, whole: true });
    case "scale-hsla":
      return numbers(8, { kind: "number", min: 0, max: 1 });
    case "color-to-alpha":
      return colors(1, 1);
    case "colorize-alpha":
      return colors(1, 10);
  }
  if (!filtersWithoutArguments.has(name) || args.length > 0)
    throw wrong(context, "image filters that exist", name);
  return name;
}

/** `name(a, b) name, …` → names with their arguments' texts; undefined when the text has another form. */
function splitCalls(text: string): { name: string; args: string[] }[] | undefined {
  const calls: { name: string; args: string[] }[] = [];
  let rest = text.trim();
  while (rest !== "") {
    const name = /^[A-Za-z][A-Za-z-]*/.exec(rest)?.[0];
    if (!name) return undefined;
    rest = rest.slice(name.length).trimStart();
    let args: string[] = [];
    if (rest.startsWith("(")) {
      const end = closingBracket(rest);
      if (end < 0) return undefined;
      args = splitArguments(rest.slice(1, end));
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

/** Arguments separated by commas, or by spaces when there are no commas, as in SVG. */
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

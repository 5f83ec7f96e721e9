import type { ArithmeticOperator, ComparisonOperator, Expression } from "./expression.js";
import { forbiddenCharacter, StyleError } from "./lexer.js";

const maxLength = 8_000;
const maxDepth = 64;

const pattern =
  /\s*(?:(\[[^[\]]*\])|('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")|(\d+\.?\d*(?:[eE][-+]?\d+)?|\.\d+(?:[eE][-+]?\d+)?)|([A-Za-z_][A-Za-z0-9_]*)|(!=|<>|<=|>=|==|&&|\|\||[-+*/%()=<>!]))/y;

interface Lexeme {
  readonly kind: "field" | "string" | "number" | "identifier" | "operator";
  readonly text: string;
}

function lexemes(text: string): Lexeme[] {
  const found: Lexeme[] = [];
  const trimmed = text.trimEnd();
  pattern.lastIndex = 0;
  while (pattern.lastIndex < trimmed.length) {
    const match = pattern.exec(trimmed);
    if (!match) throw new StyleError(`The expression ${quote(text)} cannot be read.`);
    const [, field, string, number, identifier, operator] = match;
    if (field !== undefined) found.push({ kind: "field", text: field });
    else if (string !== undefined) found.push({ kind: "string", text: string });
    else if (number !== undefined) found.push({ kind: "number", text: number });
    else if (identifier !== undefined) found.push({ kind: "identifier", text: identifier });
    else found.push({ kind: "operator", text: operator as string });
  }
  return found;
}

const quote = (text: string): string => (text.length > 80 ? `${text.slice(0, 80)}…` : text);

const comparisons: Readonly<Record<string, ComparisonOperator>> = {
  "=": "=",
  "==": "=",
  eq: "=",
  "!=": "!=",
  "<>": "!=",
  neq: "!=",
  "<": "<",
  lt: "<",
  "<=": "<=",
  le: "<=",
  ">": ">",
  gt: ">",
  ">=": ">=",
  ge: ">=",
};

/** Mapnik's names of the geometry types, as `[mapnik::geometry_type] = polygon` compares them. */
const geometryTypes: Readonly<Record<string, number>> = {
  point: 1,
  linestring: 2,
  polygon: 3,
  collection: 4,
};

/**
 * Reads a Mapnik expression.
 * @throws StyleError when it is not valid, or uses what styles may not use
 */
export function parseExpression(text: string): Expression {
  if (text.length > maxLength) throw new StyleError(`An expression is longer than ${maxLength} characters.`);
  const input = lexemes(text);
  let position = 0;
  let depth = 0;

  const fail = (): StyleError => new StyleError(`The expression ${quote(text)} cannot be read.`);
  const operator = (...texts: string[]): string | undefined => {
    const next = input[position];
    if (next && (next.kind === "operator" || next.kind === "identifier") && texts.includes(next.text)) {
      position++;
      return next.text;
    }
    return undefined;
  };
  const nested = <T>(read: () => T): T => {
    if (++depth > maxDepth) throw new StyleError("An expression is nested too deeply.");
    const result = read();
    depth--;
    return result;
  };
  const chain = (
    next: () => Expression,
    join: () => ((left: Expression, right: Expression) => Expression) | undefined,
    max = 50,
  ): Expression => {
    let left = next();
    for (let count = 0; ; count++) {
      const make = join();
      if (!make) return left;
      if (count >= max) throw new StyleError("An expression has too many parts.");
      left = make(left, next());
    }
  };

  const or = (): Expression =>
    chain(
      and,
      () => (operator("or", "||") ? (left, right) => ({ kind: "or", left, right }) : undefined),
      500,
    );
  const and = (): Expression =>
    chain(
      not,
      () => (operator("and", "&&") ? (left, right) => ({ kind: "and", left, right }) : undefined),
      500,
    );
  const not = (): Expression => (operator("not", "!") ? { kind: "not", of: nested(not) } : comparison());
  const comparison = (): Expression => {
    const left = sum();
    const found = operator(...Object.keys(comparisons));
    if (!found) return left;
    const right = sum();
    return { kind: "comparison", operator: comparisons[found] as ComparisonOperator, left, right };
  };
  const arithmetic =
    (...operators: ArithmeticOperator[]) =>
    () => {
      const found = operator(...operators) as ArithmeticOperator | undefined;
      return (
        found &&
        ((left: Expression, right: Expression): Expression => {
          if (found === "%") checkDivisor(right);
          return { kind: "arithmetic", operator: found, left, right };
        })
      );
    };
  const sum = (): Expression => chain(product, arithmetic("+", "-"));
  const product = (): Expression => chain(unary, arithmetic("*", "/", "%"));
  const unary = (): Expression => {
    if (!operator("-")) return operator("+") ? nested(unary) : primary();
    const of = nested(unary);
    return of.kind === "number" ? { kind: "number", value: -of.value } : { kind: "negate", of };
  };
  const primary = (): Expression => {
    const next = input[position++];
    switch (next?.kind) {
      case "field":
        return field(next.text.slice(1, -1).trim());
      case "number":
        return number(next.text);
      case "string":
        return { kind: "string", value: unescapeString(next.text.slice(1, -1)) };
      case "identifier":
        return identifier(next.text);
      case "operator":
        if (next.text === "(") {
          const inner = nested(or);
          if (operator(")")) return inner;
        }
    }
    throw fail();
  };
  const identifier = (text: string): Expression => {
    if (text === "true" || text === "false") return { kind: "boolean", value: text === "true" };
    if (text === "null") return { kind: "null" };
    if (Object.hasOwn(geometryTypes, text)) return { kind: "number", value: geometryTypes[text] as number };
    throw new StyleError(
      `The word ${quote(text)} has no meaning in an expression; texts stand in quotes, columns in brackets, functions are not supported.`,
    );
  };

  const result = or();
  if (position !== input.length) throw fail();
  return result;
}

/** A whole number modulo 0 crashes Mapnik (SIGFPE). */
function checkDivisor(right: Expression): void {
  if (right.kind !== "number" || !(right.value >= 1)) {
    throw new StyleError("The right side of % must be a number of at least 1.");
  }
}

function field(name: string): Expression {
  if (name === "mapnik::geometry_type") return { kind: "geometryType" };
  // No column has such a name, as `tower:type` of other databases: it is never set.
  if (name.length <= 100 && /^[A-Za-z0-9_]+(?:[:.-][A-Za-z0-9_]+)+$/.test(name)) return { kind: "null" };
  if (!/^[A-Za-z0-9_]{1,44}$/.test(name)) {
    throw new StyleError(`[${quote(name)}] cannot be a column: codes are made of letters, digits and _.`);
  }
  return { kind: "field", name };
}

function number(text: string): Expression {
  const value = Number(text);
  if (value > 1e15) throw new StyleError(`The number ${quote(text)} is too large.`);
  return { kind: "number", value };
}

const escapes: Readonly<Record<string, string>> = {
  a: "\x07",
  b: "\b",
  f: "\f",
  n: "\n",
  r: "\r",
  t: "\t",
  v: "\v",
  "\\": "\\",
  "'": "'",
  '"': '"',
};

function unescapeString(text: string): string {
  const value = text.replace(
    /\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|([abfnrtv\\'"]))/g,
    (_all, hex: string | undefined, unicode: string | undefined, letter: string | undefined) =>
      letter === undefined
        ? String.fromCharCode(Number.parseInt(hex ?? unicode ?? "", 16))
        : (escapes[letter] as string),
  );
  if (forbiddenCharacter.test(value)) {
    throw new StyleError("A string holds a character that is not allowed.");
  }
  return value;
}

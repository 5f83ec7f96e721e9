import { isLinearTimePattern, maxExpressionLength } from "../catalog/regular-expression.js";
import { failed } from "../errors.js";

/**
 * Parser of the filter language, used for example in the `source.filter` of a layer. It is close to an SQL condition:
 *
 *     population >= 10000 and (kind in ('city', 'town') or not name like 'New %') and closed is null
 *     and code matches '[A-Z]{2}-[0-9]+'
 *
 * Columns are written as their codes (in double quotes when a code is a keyword), strings and timestamps in single
 * quotes ('' = a quote), numbers and true/false without quotes. Keywords are case-insensitive. `like` takes an SQL
 * pattern, `matches` a PostgreSQL regular expression for the whole value, without back references and with at most one
 * lookahead or lookbehind. Comparisons with null give unknown, as in SQL: neither a condition nor its negation selects
 * such a row.
 */

export type Comparator = "=" | "<>" | "<" | "<=" | ">" | ">=";
export type Literal = string | number | boolean;

/** Syntax tree of a filter; column codes are not resolved yet. */
export type Filter =
  | { readonly kind: "and" | "or"; readonly terms: readonly Filter[] }
  | { readonly kind: "not"; readonly term: Filter }
  | {
      readonly kind: "compare";
      readonly column: string;
      readonly comparator: Comparator;
      readonly literal: Literal;
    }
  | {
      readonly kind: "columns";
      readonly column: string;
      readonly comparator: Comparator;
      readonly other: string;
    }
  | { readonly kind: "in"; readonly column: string; readonly literals: readonly Literal[] }
  | { readonly kind: "like"; readonly column: string; readonly pattern: string }
  | { readonly kind: "matches"; readonly column: string; readonly expression: string }
  | { readonly kind: "null"; readonly column: string };

const maxLength = 100_000;
const maxDepth = 50;
const maxConditions = 500;
const maxMembers = 1_000;
/** Matching time grows with the number of wildcards. */
const maxPatternLength = 200;
/** PostgreSQL caches about 30 compiled expressions; with more, each is compiled again for every row. */
const maxExpressions = 20;

interface Token {
  readonly kind: "column" | "word" | "text" | "number" | "sign" | "end";
  readonly text: string;
  /** Character position in the filter, from 1. */
  readonly at: number;
}

const keywords = new Set(["and", "or", "not", "in", "like", "matches", "is", "null", "true", "false"]);
const tokenPattern =
  /\s*(?:([A-Za-z_][A-Za-z0-9_]*)|"([A-Za-z_][A-Za-z0-9_]*)"|('(?:[^']|'')*')|([+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?(?![A-Za-z0-9_.]))|(<=|>=|<>|!=|==|[=<>(),]))/y;

const refuse = (reason: string, at: number) =>
  failed("invalid_value", `The filter cannot be read at character ${at}: ${reason}.`, { position: at });

function tokensOf(text: string): Token[] {
  const tokens: Token[] = [];
  const trimmed = text.trimEnd();
  tokenPattern.lastIndex = 0;
  while (tokenPattern.lastIndex < trimmed.length) {
    const from = tokenPattern.lastIndex;
    const match = tokenPattern.exec(trimmed);
    const at = from + 1 + (trimmed.slice(from).search(/\S/) || 0);
    if (!match) throw refuse("unexpected character", at);
    const [, name, quoted, string, number, sign] = match;
    if (name !== undefined) {
      const lower = name.toLowerCase();
      tokens.push(
        keywords.has(lower) ? { kind: "word", text: lower, at } : { kind: "column", text: name, at },
      );
    } else if (quoted !== undefined) tokens.push({ kind: "column", text: quoted, at });
    else if (string !== undefined)
      tokens.push({ kind: "text", text: string.slice(1, -1).replaceAll("''", "'"), at });
    else if (number !== undefined) tokens.push({ kind: "number", text: number, at });
    else tokens.push({ kind: "sign", text: sign as string, at });
  }
  tokens.push({ kind: "end", text: "", at: trimmed.length + 1 });
  return tokens;
}

const comparators: Readonly<Record<string, Comparator>> = {
  "=": "=",
  "==": "=",
  "<>": "<>",
  "!=": "<>",
  "<": "<",
  "<=": "<=",
  ">": ">",
  ">=": ">=",
};
const mirrored: Readonly<Record<Comparator, Comparator>> = {
  "=": "=",
  "<>": "<>",
  "<": ">",
  "<=": ">=",
  ">": "<",
  ">=": "<=",
};

/**
 * Parses a filter of at most 100 000 characters, 50 levels, 500 conditions and 20 different regular expressions. Does not
 * check that the regular expressions compile.
 * @throws Failure invalid_value with `data.position` of the first error (from 1)
 */
export function parseFilter(text: string): Filter {
  if (text.length > maxLength) throw refuse(`a filter has at most ${maxLength} characters`, maxLength + 1);
  return new Parser(tokensOf(text)).filter();
}

class Parser {
  private position = 0;
  private depth = 0;
  private conditions = 0;
  private readonly expressions = new Set<string>();

  constructor(private readonly tokens: readonly Token[]) {}

  filter(): Filter {
    const filter = this.or();
    if (this.next.kind !== "end") throw this.unexpected("the end, and, or or");
    return filter;
  }

  private get next(): Token {
    return this.tokens[this.position]!;
  }

  /** Consumes the next token if it is this keyword or symbol. */
  private take(text: string): boolean {
    const { kind, text: found } = this.next;
    if ((kind !== "word" && kind !== "sign") || found !== text) return false;
    this.position++;
    return true;
  }

  private expect(text: string): void {
    if (!this.take(text)) throw this.unexpected(text);
  }

  private unexpected(expected: string) {
    return refuse(`${expected} is expected here`, this.next.at);
  }

  private or(): Filter {
    return this.chain("or", () => this.chain("and", () => this.not()));
  }

  private chain(word: "and" | "or", term: () => Filter): Filter {
    const first = term();
    if (!this.take(word)) return first;
    const terms = [first];
    do terms.push(term());
    while (this.take(word));
    return { kind: word, terms };
  }

  private not(): Filter {
    if (!this.take("not")) return this.primary();
    return this.nested(() => ({ kind: "not", term: this.not() }));
  }

  private nested(read: () => Filter): Filter {
    if (++this.depth > maxDepth) throw refuse(`a filter has at most ${maxDepth} levels`, this.next.at);
    const filter = read();
    this.depth--;
    return filter;
  }

  private primary(): Filter {
    if (this.take("(")) {
      const inner = this.nested(() => this.or());
      this.expect(")");
      return inner;
    }
    if (++this.conditions > maxConditions)
      throw refuse(`a filter has at most ${maxConditions} conditions`, this.next.at);
    if (this.next.kind === "column") return this.condition(this.column());
    const literal = this.literal("a column, a value, not or (");
    const comparator = this.comparator();
    return { kind: "compare", column: this.column(), comparator: mirrored[comparator], literal };
  }

  private condition(column: string): Filter {
    if (this.take("is")) {
      const negated = this.take("not");
      this.expect("null");
      return negate(negated, { kind: "null", column });
    }
    const negated = this.take("not");
    if (this.take("in")) return negate(negated, { kind: "in", column, literals: this.members() });
    if (this.take("like")) return negate(negated, { kind: "like", column, pattern: this.likePattern() });
    if (this.take("matches"))
      return negate(negated, { kind: "matches", column, expression: this.expression() });
    if (negated) throw this.unexpected("in, like or matches");
    const comparator = this.comparator();
    if (this.next.kind === "column") return { kind: "columns", column, comparator, other: this.column() };
    return { kind: "compare", column, comparator, literal: this.literal("a value or a column") };
  }

  private column(): string {
    if (this.next.kind !== "column") throw this.unexpected("a column");
    return this.tokens[this.position++]!.text;
  }

  private comparator(): Comparator {
    const found = this.next.kind === "sign" ? comparators[this.next.text] : undefined;
    if (!found) throw this.unexpected("a comparison such as = or <");
    this.position++;
    return found;
  }

  private literal(expected: string): Literal {
    const { kind, text, at } = this.next;
    if (kind === "text") {
      if (/\0|\p{Surrogate}/u.test(text)) throw refuse("the string has characters that cannot be stored", at);
    } else if (kind === "number") {
      if (!Number.isFinite(Number(text))) throw refuse("the number is too large", at);
    } else if (kind !== "word" || (text !== "true" && text !== "false")) {
      if (kind === "word" && text === "null") throw refuse("use is null to compare with null", at);
      throw this.unexpected(expected);
    }
    this.position++;
    return kind === "text" ? text : kind === "number" ? Number(text) : text === "true";
  }

  private members(): Literal[] {
    this.expect("(");
    const literals: Literal[] = [];
    do {
      if (literals.length >= maxMembers) throw refuse(`in takes at most ${maxMembers} values`, this.next.at);
      literals.push(this.literal("a value"));
    } while (this.take(","));
    this.expect(")");
    return literals;
  }

  private likePattern(): string {
    const { kind, text, at } = this.next;
    if (kind !== "text") throw this.unexpected("a pattern in quotes");
    if (text.length > maxPatternLength)
      throw refuse(`a pattern has at most ${maxPatternLength} characters`, at);
    // PostgreSQL refuses a pattern whose last backslash escapes nothing.
    if (/(?:^|[^\\])(?:\\\\)*\\$/.test(text)) throw refuse("the pattern ends in a lone backslash", at);
    return String(this.literal("a pattern in quotes"));
  }

  private expression(): string {
    const { kind, text, at } = this.next;
    if (kind !== "text") throw this.unexpected("a regular expression in quotes");
    if (text === "" || text.length > maxExpressionLength)
      throw refuse(`a regular expression has 1 to ${maxExpressionLength} characters`, at);
    // A slow expression would block every reader of the layer and load the database.
    if (!isLinearTimePattern(text))
      throw refuse(
        "a regular expression has no back references, and one lookahead or lookbehind at most",
        at,
      );
    if (this.expressions.add(text).size > maxExpressions)
      throw refuse(`a filter has at most ${maxExpressions} regular expressions`, at);
    return String(this.literal("a regular expression in quotes"));
  }
}

/** The different regular expressions of a filter. */
export function expressionsOf(filter: Filter): string[] {
  const found = new Set<string>();
  const visit = (part: Filter): void => {
    if (part.kind === "matches") found.add(part.expression);
    else if (part.kind === "not") visit(part.term);
    else if (part.kind === "and" || part.kind === "or") part.terms.forEach(visit);
  };
  visit(filter);
  return [...found];
}

const negate = (negated: boolean, filter: Filter): Filter =>
  negated ? { kind: "not", term: filter } : filter;

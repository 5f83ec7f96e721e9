import { didYouMean } from "../near-name.js";
import { type Place, StyleError, type Token, tokenize } from "./lexer.js";
import type { Block, Declaration, Part, Stylesheet } from "./stylesheet.js";

/** Properties and functions that a style may use, besides `url()`. */
export interface Vocabulary {
  readonly properties: ReadonlySet<string>;
  readonly functions: ReadonlySet<string>;
}

/**
 * Larger than the styles of whole world maps. How long compiling takes, and how much memory, is bounded where it runs; what
 * nests is bounded here, as compilers call themselves for it.
 */
const limits = { bytes: 1024 ** 2, blockDepth: 24, bracketDepth: 16 } as const;

/**
 * Reads a stylesheet and checks its shape.
 * @throws StyleError naming the place
 */
export function readStylesheet(css: string, vocabulary: Vocabulary): Stylesheet {
  // A character has three bytes at most; the editor of styles reads them too, where there is no other way to count.
  if (css.length > limits.bytes / 3 && new TextEncoder().encode(css).length > limits.bytes) {
    throw new StyleError(`A style is larger than ${limits.bytes / 1024 ** 2} MB.`);
  }
  return new Reader(tokenize(css), vocabulary).read();
}

const closing: ReadonlyMap<string, string> = new Map([
  ["(", ")"],
  ["[", "]"],
]);

class Reader {
  private position = 0;
  private readonly parts: Part[] = [];
  private readonly declarations: Declaration[] = [];
  private readonly ids = new Set<string>();
  private readonly variables = new Map<string, readonly string[]>();
  private readonly blocks: Block[] = [];
  private hasMap = false;

  constructor(
    private readonly tokens: readonly Token[],
    private readonly vocabulary: Vocabulary,
  ) {}

  read(): Stylesheet {
    this.block(0);
    const { parts, declarations, variables, ids, blocks, hasMap } = this;
    return { parts, declarations, variables, ids, blocks, hasMap };
  }

  /** Of the current token; at the end, of the last one. */
  private get place(): Place {
    const { line, column } = this.tokens[this.position] ?? this.tokens.at(-1) ?? { line: 1, column: 1 };
    return { line, column };
  }

  /** The token `ahead` positions further, not counting spaces and comments. */
  private peek(ahead = 0): Token | undefined {
    for (let index = this.position; index < this.tokens.length; index++) {
      const token = this.tokens[index] as Token;
      if (token.type !== "space" && token.type !== "comment" && ahead-- === 0) return token;
    }
    return undefined;
  }

  /** Copies spaces and the line ends of comments. @returns the next significant token */
  private skip(): Token | undefined {
    for (; ; this.position++) {
      const token = this.tokens[this.position];
      if (token?.type === "space") this.emit(token.text.replaceAll("\u00a0", " "));
      else if (token?.type === "comment") this.emit(token.text.replace(/[^\n]+/g, " "));
      else return token;
    }
  }

  private emit(text: string, role: Part["role"] = "text"): void {
    this.parts.push({ role, text, place: this.place });
  }

  private block(depth: number): void {
    if (depth > limits.blockDepth)
      throw new StyleError(`Blocks are nested deeper than ${limits.blockDepth}.`, this.place);
    for (;;) {
      const token = this.skip();
      if (!token) {
        if (depth > 0) throw new StyleError("A block is not closed with }.", this.place);
        return;
      }
      if (token.text === "}") {
        if (depth === 0) throw new StyleError("There is a } without its {.", token);
        return;
      }
      if (token.text === ";") this.position++;
      else if (token.type === "variable") this.variable(depth);
      else if (this.isDeclaration()) this.declaration(depth);
      else this.rule(depth);
    }
  }

  private isDeclaration(): boolean {
    if (this.peek()?.type !== "identifier") return false;
    const second = this.peek(1)?.text;
    return (
      second === ":" || (second === "/" && this.peek(2)?.type === "identifier" && this.peek(3)?.text === ":")
    );
  }

  private variable(depth: number): void {
    const token = this.peek() as Token;
    const { text } = token;
    if (this.peek(1)?.text !== ":") {
      throw new StyleError(
        text === "@import"
          ? "@import is not supported: a style is one text."
          : `${text} has no meaning here.`,
        token,
      );
    }
    if (depth > 0) throw new StyleError(`The variable ${text} must be set outside of all blocks.`, token);
    const start = this.parts.length;
    this.copy(2);
    const value = this.value();
    if (value.length === 0) throw new StyleError(`The variable ${text} has no value.`, token);
    this.variables.set(text, value);
    for (let index = start; index < this.parts.length; index++)
      this.parts[index] = { ...(this.parts[index] as Part), role: "variable" };
  }

  private declaration(depth: number): void {
    const first = this.peek() as Token;
    const named = this.peek(1)?.text === "/" ? (this.peek(2) as Token) : first;
    const property = named.text;
    if (depth === 0)
      throw new StyleError(`${property} stands outside of a block such as #layer { … }.`, first);
    if (!this.vocabulary.properties.has(property))
      throw new StyleError(this.unknownProperty(property), named);
    this.copy(named === first ? 2 : 4);
    const value = this.value();
    if (value.length === 0) throw new StyleError(`${property} has no value.`, named);
    const { line, column } = named;
    this.declarations.push({ property, value: value.join(" "), place: { line, column } });
  }

  private unknownProperty(property: string): string {
    const { properties } = this.vocabulary;
    // As in CSS and SVG: what has one colour calls it fill.
    const fill = property.replace(/colou?r$/, "fill");
    const end = properties.has(fill) ? `; did you mean ${fill}?` : didYouMean(property, properties);
    return `There is no property ${property}${end}`;
  }

  /** Copies that many significant tokens, with spaces and comments between them. */
  private copy(count: number): void {
    for (; count > 0; count--) {
      const token = this.skip();
      if (token) this.emit(token.text);
      this.position++;
    }
  }

  /** Copies the value of a declaration with its closing `;`. @returns the texts of its tokens */
  private value(): string[] {
    const open: string[] = [];
    const texts: string[] = [];
    for (;;) {
      const token = this.skip();
      if (open.length === 0 && (!token || token.text === ";" || token.text === "}")) {
        if (token?.text === ";") this.position++;
        this.emit(";");
        return texts;
      }
      if (!token || token.text === "{" || token.text === "}" || token.text === ";") {
        const missing = open.at(-1);
        throw new StyleError(
          missing ? `A bracket is not closed with ${missing}.` : "A ; is missing.",
          token ?? this.place,
        );
      }
      if (token.text === ":" && open.length === 0)
        throw new StyleError("A ; is missing before this property.", token);
      this.bracket(token, open);
      this.checkFunction(token);
      this.emit(token.type === "string" ? plainString(token.text, "'") : token.text);
      texts.push(token.text);
      this.position++;
    }
  }

  private bracket(token: Token, open: string[]): void {
    const close = closing.get(token.text);
    if (close) {
      if (open.push(close) > limits.bracketDepth) {
        throw new StyleError(`Brackets are nested deeper than ${limits.bracketDepth}.`, token);
      }
    } else if (token.text === ")" || token.text === "]") {
      if (open.pop() !== token.text)
        throw new StyleError(`There is a ${token.text} without its opening bracket.`, token);
    }
  }

  private checkFunction(token: Token): void {
    if (token.type !== "identifier" || this.tokens[this.position + 1]?.text !== "(") return;
    if (token.text === "url") throw new StyleError("The address in url() cannot be read.", token);
    if (!this.vocabulary.functions.has(token.text))
      throw new StyleError(`There is no function ${token.text}().`, token);
  }

  private rule(depth: number): void {
    const start = this.place;
    const first = this.parts.length;
    const selectors: string[][] = [[]];
    let read = 0;
    for (;;) {
      const token = this.skip();
      if (!token) throw new StyleError("A selector is not followed by a block.", start);
      if (token.text === "{" && read > 0) break;
      if (token.text === ",") selectors.push([]);
      if (token.type === "hash") selectors.at(-1)?.push(token.text.slice(1));
      this.selectorToken(token);
      read++;
    }
    this.emit("{");
    this.position++;
    this.block(depth + 1);
    this.emit("}");
    this.position++;
    if (depth === 0) this.blocks.push({ first, end: this.parts.length, selectors });
  }

  private selectorToken(token: Token): void {
    this.position++;
    switch (token.type) {
      case "hash":
        this.ids.add(token.text.slice(1));
        this.emit(token.text.slice(1), "id");
        return;
      case "class":
        this.emit(token.text.slice(1), "class");
        return;
      case "identifier":
        if (token.text !== "Map") break;
        this.hasMap = true;
        this.emit(token.text);
        return;
      case "attachment":
        this.attachment(token);
        return;
      case "punctuation":
        if (token.text === "[") {
          this.filter(token);
          return;
        }
        if (token.text === "," || token.text === "*") {
          this.emit(token.text);
          return;
        }
    }
    throw new StyleError(
      token.text === ";" || token.text === "}"
        ? "A selector is not followed by a block."
        : `${token.text.slice(0, 40)} has no meaning in a selector.`,
      token,
    );
  }

  /** `::name` or `::name/part`, without spaces. */
  private attachment(token: Token): void {
    let text = "::";
    for (;;) {
      const name = this.tokens[this.position];
      if (name?.type !== "identifier" && name?.type !== "number") break;
      if (!/^[\w-]+$/.test(name.text)) break;
      text += name.text;
      this.position++;
      if (this.tokens[this.position]?.text !== "/") {
        this.emit(text);
        return;
      }
      text += "/";
      this.position++;
    }
    throw new StyleError("An attachment needs a name of letters, digits, _ and -: ::outline.", token);
  }

  private filter(start: Token): void {
    this.emit("[");
    const open = ["]"];
    while (open.length > 0) {
      const token = this.skip();
      if (!token || token.text === "{" || token.text === "}" || token.text === ";") {
        throw new StyleError("A filter is not closed with ].", start);
      }
      if (token.text === "=~")
        throw new StyleError("Regular expressions in filters are not supported.", token);
      this.bracket(token, open);
      this.checkFunction(token);
      this.emit(token.type === "string" ? plainString(token.text, "\\u0027") : token.text);
      this.position++;
    }
  }
}

/**
 * The string in the kind of quotes that it does not contain, as carto does not unescape quotes. If it contains both
 * kinds, the single ones become `single`, which Mapnik unescapes.
 */
function plainString(text: string, single: string): string {
  const inner = text.slice(1, -1);
  const plain = inner.replace(/\\(['"])/g, "$1");
  if (plain === inner) return text;
  if (!plain.includes("'")) return `'${plain}'`;
  return `"${plain.replaceAll('"', '\\"').replaceAll("'", plain.includes('"') ? single : "'")}"`;
}

/** Splits CartoCSS into tokens, before anything else reads a style. */

export type TokenType =
  | "space"
  | "comment"
  | "string"
  | "url"
  | "hash"
  | "class"
  | "identifier"
  | "variable"
  | "number"
  | "attachment"
  | "punctuation";

export interface Token {
  readonly type: TokenType;
  /** As written, but line ends are `\n`. */
  readonly text: string;
  /** 1 for the first line. */
  readonly line: number;
  /** 1 for the first character of the line, in UTF-16 units. */
  readonly column: number;
}

/** A place in a style; both from 1. */
export interface Place {
  readonly line: number;
  /** Absent = somewhere in the line. */
  readonly column?: number | undefined;
}

/** A style is refused. The message is shown to its author. */
export class StyleError extends Error {
  constructor(
    message: string,
    readonly place?: Place,
  ) {
    super(message);
    this.name = "StyleError";
  }
}

const maxNameLength = 100;
const maxStringLength = 2_000;

const name = "[A-Za-z0-9_\\u0080-\\uffff-]+";
const patterns: readonly (readonly [TokenType, RegExp])[] = [
  ["space", /[ \t\n\u00a0]+/y],
  ["comment", /\/\*[^*]*\*+(?:[^/*][^*]*\*+)*\/|\/\/[^\n]*/y],
  ["string", /"(?:[^"\\\n]|\\[^\n])*"|'(?:[^'\\\n]|\\[^\n])*'/y],
  ["url", /url\([ \t]*(?:"[^"\\\n]*"|'[^'\\\n]*'|@[\w-]+|[^\s"'()\\{};@][^\s"'()\\{};]*)[ \t]*\)/y],
  ["attachment", /::/y],
  ["number", /(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?(?:%|[A-Za-z]+)?(?![\w\u0080-\uffff])/y],
  ["hash", new RegExp(`#${name}`, "y")],
  ["variable", /@[\w-]+/y],
  ["class", new RegExp(`\\.(?![0-9])${name}`, "y")],
  ["identifier", new RegExp(name, "y")],
  ["punctuation", /=~|!=|<=|>=|[{}()[\];:,<>=+\-*/%.]/y],
];

/** Control characters, lone surrogates and noncharacters. */
export const forbiddenCharacter =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is refused
  /[\u0000-\u0008\u000b-\u001f\u007f\ufffe\uffff]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/;

/** The place of a character of a text. */
export function placeAt(text: string, index: number): Place {
  const before = text.slice(0, index);
  return { line: before.split("\n").length, column: index - before.lastIndexOf("\n") };
}

/** The character, or its code point when it cannot be printed. */
const shown = (text: string, index: number): string => {
  const character = String.fromCodePoint(text.codePointAt(index) ?? 0xfffd);
  return /[\p{L}\p{N}\p{P}\p{S}]/u.test(character)
    ? character
    : `U+${(text.codePointAt(index) ?? 0xfffd).toString(16).toUpperCase().padStart(4, "0")}`;
};

/**
 * The tokens of a style. Joined, their texts are the whole style.
 * @throws StyleError for characters that are not allowed, and for strings and comments that are not closed
 */
export function tokenize(css: string): Token[] {
  const text = css.replace(/^\ufeff/, "").replace(/\r\n?/g, "\n");
  const wrong = forbiddenCharacter.exec(text);
  if (wrong) {
    throw new StyleError(
      `The character ${shown(text, wrong.index)} is not allowed in a style.`,
      placeAt(text, wrong.index),
    );
  }
  const tokens: Token[] = [];
  let line = 1;
  let lineStart = 0;
  for (let index = 0; index < text.length; ) {
    const token = tokenAt(text, index, { line, column: index - lineStart + 1 });
    if (token.type !== "comment" && token.type !== "space") checkLength(token);
    tokens.push(token);
    const lastEnd = token.type === "comment" || token.type === "space" ? token.text.lastIndexOf("\n") : -1;
    if (lastEnd >= 0) {
      line += token.text.split("\n").length - 1;
      lineStart = index + lastEnd + 1;
    }
    index += token.text.length;
  }
  return tokens;
}

/** The token that begins at a place of a text; undefined when none does, as where a string is not closed. */
export function matchToken(text: string, index: number): Pick<Token, "type" | "text"> | undefined {
  for (const [type, pattern] of patterns) {
    pattern.lastIndex = index;
    const match = pattern.exec(text);
    if (match) return { type, text: match[0] };
  }
  return undefined;
}

function tokenAt(
  text: string,
  index: number,
  { line, column }: { readonly line: number; readonly column: number },
): Token {
  const found = matchToken(text, index);
  if (found) return { ...found, line, column };
  const character = text[index];
  if (character === '"' || character === "'")
    throw new StyleError("A string is not closed on its line.", { line, column });
  throw new StyleError(`The character ${shown(text, index)} has no meaning here.`, { line, column });
}

function checkLength(token: Token): void {
  if (token.type === "string" || token.type === "url") {
    if (token.text.length > maxStringLength) {
      throw new StyleError(`A string is longer than ${maxStringLength} characters.`, token);
    }
    // It would end a CDATA section, in which compilers of styles write texts.
    if (token.text.includes("]]>")) throw new StyleError('The characters "]]>" are not allowed.', token);
  } else if (token.text.length > maxNameLength) {
    throw new StyleError(`A name or number is longer than ${maxNameLength} characters.`, token);
  }
}

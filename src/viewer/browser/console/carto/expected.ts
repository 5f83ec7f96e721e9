import { matchToken } from "../../../../style/lexer.js";

/** What can stand at a place of a style that is being written. Does not depend on the DOM. */

export type Expected = {
  /** Where the word begins that is written there. */
  readonly from: number;
} & (
  | { readonly kind: "property" | "selector" | "variable" }
  /** Of a filter: its first word. */
  | { readonly kind: "filter" }
  /** In an expression, such as the text of a label. */
  | { readonly kind: "column" }
  | { readonly kind: "value"; readonly property: string }
  /** Of a function. */
  | { readonly kind: "argument" }
);

const isWord: ReadonlySet<string> = new Set(["identifier", "variable", "hash", "number"]);

/** @returns undefined in comments and where nothing can be proposed */
export function expectedAt(css: string, at: number): Expected | undefined {
  const written = css.slice(0, at);
  let depth = 0;
  /** Brackets that are open. */
  let open: string[] = [];
  /** Tokens since the last `{`, `}` or `;`, without spaces. */
  let statement: string[] = [];
  /** Of these, the first in the innermost bracket. */
  let inner: number[] = [];
  let property: string | undefined;
  let word: { readonly from: number; readonly text: string } | undefined;
  const begin = () => {
    open = [];
    statement = [];
    inner = [];
    property = undefined;
  };
  for (let index = 0; index < written.length; ) {
    const token = matchToken(written, index);
    if (!token || (token.text === "/" && written.startsWith("/*", index))) {
      if (written[index] === "@") {
        word = { from: index, text: "@" };
        statement.push("@");
        index++;
        continue;
      }
      if (written[index] === "/") return undefined;
      const isString = written[index] === '"' || written[index] === "'";
      const end = isString ? written.indexOf("\n", index) : index + 1;
      // A string that is still open.
      if (end < 0)
        return property && open.length === 0 ? { kind: "value", property, from: index } : undefined;
      index = end;
      continue;
    }
    const { type, text } = token;
    const start = index;
    index += text.length;
    word = undefined;
    if (type === "comment") {
      const isOpen = index === written.length && text.startsWith("//");
      if (isOpen) return undefined;
      continue;
    }
    if (type === "space") continue;
    if (text === "{" || text === "}" || text === ";") {
      depth = Math.max(0, depth + (text === "{" ? 1 : text === "}" ? -1 : 0));
      begin();
      continue;
    }
    if (isWord.has(type)) word = { from: start, text };
    if (text === ":" && open.length === 0 && property === undefined) property = statement.at(-1);
    statement.push(text);
    if (text === "(" || text === "[") {
      open.push(text);
      inner.push(statement.length);
    } else if (text === ")" || text === "]") {
      open.pop();
      inner.pop();
    }
  }
  const from = word?.from ?? at;
  if (word?.text.startsWith("@") && (property !== undefined || open.length > 0))
    return { kind: "variable", from };
  const bracket = open.at(-1);
  // What comes before the word.
  const before = statement.length - (word ? 1 : 0);
  if (bracket === "[") {
    if (before > inner.at(-1)!) return undefined;
    return { kind: property === undefined ? "filter" : "column", from };
  }
  if (bracket === "(") return { kind: "argument", from };
  if (property !== undefined) return { kind: "value", property, from };
  if (depth === 0) return before === 0 ? { kind: "selector", from } : undefined;
  const isOfInstance = before === 2 && statement[1] === "/";
  return before === 0 || isOfInstance ? { kind: "property", from } : undefined;
}

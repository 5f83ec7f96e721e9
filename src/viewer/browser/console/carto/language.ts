import {
  HighlightStyle,
  type IndentContext,
  StreamLanguage,
  type StringStream,
  syntaxHighlighting,
} from "@codemirror/language";
import { tags } from "@lezer/highlight";
import { matchToken } from "../../../../style/lexer.js";

/** CartoCSS as the editor shows it: by the tokens that the server reads. */

interface State {
  isComment: boolean;
  /** Of blocks. */
  depth: number;
  /** Of brackets. */
  open: number;
  isValue: boolean;
}

function token(stream: StringStream, state: State): string | null {
  if (state.isComment) return comment(stream, state);
  if (stream.eatSpace()) return null;
  if (stream.match("/*")) {
    state.isComment = true;
    return comment(stream, state);
  }
  const found = matchToken(stream.string, stream.pos);
  if (!found) {
    // What cannot be read; of a string that is not closed, the whole line.
    if (/["']/.test(stream.next() ?? "")) stream.skipToEnd();
    return "invalid";
  }
  const { type, text } = found;
  const start = stream.pos;
  stream.pos += text.length;
  switch (type) {
    case "comment":
      return "comment";
    case "string":
    case "url":
      return "string";
    case "number":
      return "number";
    case "variable":
      if (state.depth === 0 && !state.isValue && state.open === 0) state.isValue = true;
      return "variableName";
    case "hash":
      return state.isValue ? "color" : "tagName";
    case "class":
    case "attachment":
      return "className";
    case "identifier":
      if (state.open > 0 && !state.isValue) return "attributeName";
      if (state.isValue) return state.open > 0 ? "attributeName" : "atom";
      if (stream.string.slice(0, start).endsWith("::")) return "className";
      // A selector within others begins with a sign.
      return state.depth > 0 ? "propertyName" : "tagName";
    default:
      return sign(text, state);
  }
}

function sign(text: string, state: State): string {
  switch (text) {
    case "{":
    case "}":
      state.depth = Math.max(0, state.depth + (text === "{" ? 1 : -1));
      state.open = 0;
      state.isValue = false;
      return "brace";
    case ";":
      state.open = 0;
      state.isValue = false;
      return "punctuation";
    case "[":
    case "(":
      state.open++;
      return "bracket";
    case "]":
    case ")":
      state.open = Math.max(0, state.open - 1);
      return "bracket";
    case ":":
      state.isValue = true;
      return "punctuation";
    default:
      return "operator";
  }
}

function comment(stream: StringStream, state: State): string {
  if (stream.skipTo("*/")) {
    stream.match("*/");
    state.isComment = false;
  } else {
    stream.skipToEnd();
  }
  return "comment";
}

const language = StreamLanguage.define<State>({
  name: "CartoCSS",
  startState: () => ({ isComment: false, depth: 0, open: 0, isValue: false }),
  token,
  indent: ({ depth }: State, textAfter: string, { unit }: IndentContext) =>
    Math.max(0, depth - (textAfter.startsWith("}") ? 1 : 0)) * unit,
  languageData: {
    commentTokens: { line: "//", block: { open: "/*", close: "*/" } },
    closeBrackets: { brackets: ["(", "[", "{"] },
    indentOnInput: /^\s*\}$/,
    wordChars: "-",
  },
});

/** The colours are in theme.ts. */
const colours = HighlightStyle.define([
  { tag: tags.comment, color: "var(--code-comment)", fontStyle: "italic" },
  { tag: tags.propertyName, color: "var(--code-property)" },
  { tag: [tags.tagName, tags.className], color: "var(--code-selector)", fontWeight: "600" },
  { tag: [tags.attributeName, tags.variableName], color: "var(--code-name)" },
  { tag: [tags.string, tags.color, tags.atom], color: "var(--code-value)" },
  { tag: tags.number, color: "var(--code-number)" },
  { tag: [tags.punctuation, tags.bracket, tags.brace, tags.operator], color: "var(--ink-2)" },
  { tag: tags.invalid, color: "var(--bad)" },
]);

export const cartoLanguage = [language, syntaxHighlighting(colours)];

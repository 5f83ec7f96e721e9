import { type Diagnostic, forceLinting, linter, lintGutter } from "@codemirror/lint";
import { type Extension, StateEffect, StateField, type Text } from "@codemirror/state";
import type { EditorView } from "@codemirror/view";
import { allowedFunctions, allowedProperties } from "../../../../style/allowed.js";
import { StyleError as ReadError } from "../../../../style/lexer.js";
import { readStylesheet } from "../../../../style/source.js";
import type { StyleError, StylePlace } from "../carto-parts.js";

/** Marks what is wrong with a style: what the server's reader finds while it is written, and what the server says. */

const vocabulary = { properties: allowedProperties, functions: allowedFunctions };
/** Who writes is not told of each letter. */
const delayMs = 500;
/** To the next of these a mark goes. */
const end = /[\s;{}]/;

const setTold = StateEffect.define<StyleError | undefined>();
/** What the server said of the text as it is. */
const told = StateField.define<StyleError | undefined>({
  create: () => undefined,
  update(value, { effects, docChanged }) {
    const set = effects.find((effect) => effect.is(setTold));
    return set ? set.value : docChanged ? undefined : value;
  },
});

/** @param found hears what cannot be read of the text as it is written, in words; "" = nothing */
export const cartoCheck = (found: (text: string) => void): Extension => [
  told,
  linter(
    (view) => {
      const { doc } = view.state;
      const read = readError(view.state.sliceDoc());
      found(read ? withPlace(read) : "");
      const said = view.state.field(told);
      const error = said?.place ? said : read;
      return error ? [mark(doc, error)] : [];
    },
    { delay: delayMs, needsRefresh: ({ startState, state }) => startState.field(told) !== state.field(told) },
  ),
  lintGutter(),
];

export function tellOf(view: EditorView, error: StyleError | undefined): void {
  view.dispatch({ effects: setTold.of(error) });
  forceLinting(view);
}

function readError(css: string): StyleError | undefined {
  if (css.trim() === "") return undefined;
  try {
    readStylesheet(css, vocabulary);
    return undefined;
  } catch (error) {
    if (!(error instanceof ReadError)) throw error;
    const { message, place } = error;
    return { text: message, place: place && { line: place.line, column: place.column ?? 1 } };
  }
}

/** As the server writes it. */
const withPlace = ({ text, place }: StyleError): string =>
  place ? `Line ${place.line}, column ${place.column}: ${text}` : text;

/** In characters; of a text that has been shortened since, its end. */
export function offsetOf(doc: Text, { line, column }: StylePlace): number {
  const { from, to } = doc.line(Math.min(Math.max(1, line), doc.lines));
  return Math.min(from + Math.max(1, column) - 1, to);
}

function mark(doc: Text, { text, place }: StyleError): Diagnostic {
  const from = place ? offsetOf(doc, place) : 0;
  const line = doc.lineAt(from);
  const length = doc.sliceString(from, line.to).slice(1).search(end);
  const to = length < 0 ? line.to : from + 1 + length;
  return { from: Math.min(from, to), to, severity: "error", message: text };
}

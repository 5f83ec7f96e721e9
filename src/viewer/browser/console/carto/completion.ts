import {
  autocompletion,
  type Completion,
  type CompletionContext,
  type CompletionResult,
  startCompletion,
} from "@codemirror/autocomplete";
import type { Extension } from "@codemirror/state";
import type { EditorView } from "@codemirror/view";
import { type Expected, expectedAt } from "./expected.js";
import { isColour, properties, rangeOf, takesColumns, type Value, valuesOf } from "./vocabulary.js";

/** Proposes what can stand where something is written. */

/** Colours of the style itself that are proposed. */
const mostColours = 20;

/** @param columns codes of the columns of the layer, as they are then */
export const cartoCompletion = (columns: () => readonly string[]): Extension =>
  autocompletion({
    override: [(context) => proposed(context, columns())],
    activateOnTyping: true,
    icons: false,
  });

function proposed(context: CompletionContext, columns: readonly string[]): CompletionResult | null {
  const css = context.state.doc.toString();
  const expected = expectedAt(css, context.pos);
  if (!expected) return null;
  const { from } = expected;
  // With nothing written yet only who asks wants to see all; columns and values are few.
  const isMany = expected.kind === "property" || expected.kind === "argument" || expected.kind === "selector";
  if (from === context.pos && isMany && !context.explicit) return null;
  const options = optionsFor(expected, css, columns, context.pos);
  return options.length === 0 ? null : { from, options, validFor: /^[@#"\w\u0080-\uffff -]*$/ };
}

function optionsFor(
  expected: Expected,
  css: string,
  columns: readonly string[],
  at: number,
): readonly Completion[] {
  switch (expected.kind) {
    case "property":
      return properties.map((name) => ({
        label: name,
        type: "property",
        detail: rangeOf(name),
        apply: applyProperty,
      }));
    case "filter":
      return [...columns, "zoom"].map((label) => ({ label, type: "variable" }));
    case "column":
      return columns.map((label) => ({ label, type: "variable" }));
    case "variable":
      return variablesIn(css);
    case "argument":
      return [...variablesIn(css), ...coloursIn(css, at), ...functions(valuesOf("line-color"))];
    case "selector":
      return [{ label: "#layer", type: "type", apply: applyRule }];
    case "value": {
      const { property } = expected;
      if (property.startsWith("@")) return [...coloursIn(css, at), ...functions(valuesOf("line-color"))];
      return [
        ...functions(valuesOf(property)),
        ...(takesColumns(property)
          ? columns.map((code) => ({ label: `[${code}]`, type: "variable", boost: 1 }))
          : []),
        ...(isColour(property) ? coloursIn(css, at) : []),
        ...variablesIn(css),
      ];
    }
  }
}

const functions = (values: readonly Value[]): Completion[] =>
  values.map(({ text, isFunction }) =>
    isFunction
      ? { label: text, type: "function", detail: "( )", apply: applyCall }
      : { label: text, type: "keyword" },
  );

const variablesIn = (css: string): Completion[] =>
  [...new Set([...css.matchAll(/^[ \t]*(@[\w-]+)[ \t]*:/gm)].map(([, name]) => name!))].map((label) => ({
    label,
    type: "constant",
  }));

/** Those that the style has elsewhere: few styles have many. */
const coloursIn = (css: string, at: number): Completion[] =>
  [
    ...new Set(
      [...css.matchAll(/#(?:[\da-f]{6}|[\da-f]{3})\b/gi)]
        .filter(({ index, 0: text }) => index > at || index + text.length < at)
        .map(([text]) => text.toLowerCase()),
    ),
  ]
    .slice(0, mostColours)
    .map((label) => ({ label, type: "constant", boost: 1 }));

/** `name: ;` at the end of a line, and what it can be. */
function applyProperty(view: EditorView, { label }: Completion, from: number, to: number): void {
  const { doc } = view.state;
  const rest = doc.sliceString(to, doc.lineAt(to).to);
  const hasColon = /^\s*:/.test(rest);
  const before = hasColon ? label : `${label}: `;
  const after = rest.trim() === "" ? ";" : "";
  view.dispatch({
    changes: { from, to, insert: before + after },
    selection: { anchor: from + before.length },
    userEvent: "input.complete",
  });
  if (!hasColon) startCompletion(view);
}

const applyCall = (view: EditorView, { label }: Completion, from: number, to: number): void =>
  view.dispatch({
    changes: { from, to, insert: `${label}()` },
    selection: { anchor: from + label.length + 1 },
    userEvent: "input.complete",
  });

const applyRule = (view: EditorView, { label }: Completion, from: number, to: number): void =>
  view.dispatch({
    changes: { from, to, insert: `${label} {\n  \n}` },
    selection: { anchor: from + label.length + 5 },
    userEvent: "input.complete",
  });

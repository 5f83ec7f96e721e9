import { closeBrackets, closeBracketsKeymap, completionKeymap } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { bracketMatching, indentOnInput } from "@codemirror/language";
import { lintKeymap } from "@codemirror/lint";
import { highlightSelectionMatches, search, searchKeymap } from "@codemirror/search";
import { Annotation, Compartment, EditorState, type Extension } from "@codemirror/state";
import { EditorView, keymap, lineNumbers } from "@codemirror/view";
import type { CartoEditor, CartoParts, StyleError } from "../carto-parts.js";
import { caretInSight } from "./caret.js";
import { cartoCheck, offsetOf, tellOf } from "./check.js";
import { cartoCompletion } from "./completion.js";
import { cartoLanguage } from "./language.js";
import { leavingByTab } from "./leaving.js";
import { phrases } from "./phrases.js";
import { cartoTheme } from "./theme.js";
import { typingOverSelections } from "./typing.js";

/**
 * The editor of CartoCSS. It is in a shadow root: there its style sheets are made by script, which the policy of the page allows, and
 * elsewhere it would write style elements, which the policy forbids.
 */

/** Of changes that are not the user's. */
const byOthers = Annotation.define<true>();

export function openEditor({ root, t, label, changed, found }: CartoParts): CartoEditor {
  let columns: readonly string[] = [];
  let subject: unknown;
  let said: StyleError | undefined;
  const attributes = new Compartment();
  // In the page `aria-describedby` would name it, which reaches into no shadow root.
  const described = (problem?: string): Extension =>
    EditorView.contentAttributes.of({
      "aria-description": [problem, t("codeLeave")].filter(Boolean).join(" "),
      ...(problem !== undefined && { "aria-invalid": "true" }),
    });
  const extensions: Extension = [
    lineNumbers(),
    history(),
    indentOnInput(),
    bracketMatching(),
    closeBrackets(),
    cartoLanguage,
    cartoCompletion(() => columns),
    cartoCheck(found),
    search(),
    highlightSelectionMatches(),
    keymap.of([
      ...[...closeBracketsKeymap, ...completionKeymap, ...searchKeymap, ...historyKeymap, ...lintKeymap],
      ...[...defaultKeymap, indentWithTab],
    ]),
    leavingByTab(),
    typingOverSelections,
    caretInSight,
    EditorView.contentAttributes.of({ id: "style-text-field", "aria-label": label }),
    attributes.of(described()),
    phrases(t),
    cartoTheme,
    EditorView.updateListener.of(({ docChanged, transactions, state }) => {
      if (docChanged && !transactions.some((one) => one.annotation(byOthers))) changed(state.sliceDoc());
    }),
  ];
  const stateOf = (css: string) =>
    EditorState.create({ doc: css, extensions: [extensions, EditorState.lineSeparator.of(lineEndOf(css))] });
  const view = new EditorView({ state: stateOf(""), root });
  root.append(view.dom);
  return {
    show(css, of) {
      if (of !== subject) {
        subject = of;
        said = undefined;
        view.setState(stateOf(css));
        return;
      }
      const old = view.state.sliceDoc();
      if (old === css) return;
      view.dispatch({ changes: difference(view.state, old, css), annotations: byOthers.of(true) });
    },
    columns(codes) {
      columns = codes;
    },
    tell(error) {
      if (error === said) return;
      said = error;
      view.dispatch({ effects: attributes.reconfigure(described(error?.text)) });
      tellOf(view, error);
    },
    goTo(place) {
      const anchor = offsetOf(view.state.doc, place);
      const head = view.state.doc.lineAt(anchor).to;
      view.dispatch({
        selection: { anchor, head },
        effects: EditorView.scrollIntoView(anchor, { y: "center" }),
      });
      view.focus();
    },
    select(from, to) {
      const { length } = view.state.doc;
      view.dispatch({ selection: { anchor: Math.min(from, length), head: Math.min(to, length) } });
    },
    focus: () => view.focus(),
  };
}

/** As the text has them, if all are alike: what nobody has touched stays as it was. */
const lineEndOf = (css: string): string =>
  /^(?:[^\r\n]|\r\n)*$/.test(css) && css.includes("\r\n") ? "\r\n" : "\n";

/** What is between an equal beginning and an equal end, so that the cursor stays where it was. */
function difference(state: EditorState, old: string, css: string) {
  // Places in the editor count one for each line end.
  const [from, to] = [old, css].map((text) => text.replaceAll(state.lineBreak, "\n")) as [string, string];
  let start = 0;
  while (start < from.length && start < to.length && from[start] === to[start]) start++;
  let end = 0;
  while (
    end < from.length - start &&
    end < to.length - start &&
    from[from.length - 1 - end] === to[to.length - 1 - end]
  )
    end++;
  return {
    from: start,
    to: from.length - end,
    insert: state.toText(to.slice(start, to.length - end).replaceAll("\n", state.lineBreak)),
  };
}

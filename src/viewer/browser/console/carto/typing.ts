import type { Extension } from "@codemirror/state";
import { EditorView } from "@codemirror/view";

/**
 * What is typed over a selection is put in its place here: Chromium would give it the look of what it replaces by a style attribute,
 * which the policy of the page forbids and the browser complains of.
 */
export const typingOverSelections: Extension = EditorView.domEventHandlers({
  beforeinput(event, view) {
    const { data, inputType } = event;
    const { from, to } = view.state.selection.main;
    if (inputType !== "insertText" || data === null || from === to || view.composing) return false;
    const insert = () =>
      view.state.update(view.state.replaceSelection(data), { userEvent: "input.type", scrollIntoView: true });
    const isHandled = view.state
      .facet(EditorView.inputHandler)
      .some((handle) => handle(view, from, to, data, insert));
    if (!isHandled) view.dispatch(insert());
    return true;
  },
});

import { EditorSelection, type Extension } from "@codemirror/state";
import { EditorView } from "@codemirror/view";

/**
 * What is typed over a selection is put in its place here: Chromium would give it the look of what it replaces by a style attribute,
 * which the policy of the page forbids and the browser complains of.
 */
export const typingOverSelections: Extension = EditorView.domEventHandlers({
  beforeinput(event, view) {
    const { data, inputType } = event;
    if (inputType !== "insertText" || data === null || view.composing) return false;
    // The editor hears of a new selection a little later than the browser writes over it.
    const selection = selectionOf(event, view) ?? view.state.selection;
    const { from, to } = selection.main;
    if (from === to) return false;
    if (!selection.eq(view.state.selection)) view.dispatch({ selection });
    const insert = () =>
      view.state.update(view.state.replaceSelection(data), { userEvent: "input.type", scrollIntoView: true });
    const isHandled = view.state
      .facet(EditorView.inputHandler)
      .some((handle) => handle(view, from, to, data, insert));
    if (!isHandled) view.dispatch(insert());
    return true;
  },
});

/** What the browser is about to write over; undefined = what the editor has selected, with all of its carets. */
function selectionOf(event: InputEvent, view: EditorView): EditorSelection | undefined {
  const { main, ranges } = view.state.selection;
  const [range] = event.getTargetRanges();
  if (!range || ranges.length > 1) return undefined;
  const from = view.posAtDOM(range.startContainer, range.startOffset);
  const to = view.posAtDOM(range.endContainer, range.endOffset);
  return from === main.from && to === main.to ? undefined : EditorSelection.single(from, to);
}

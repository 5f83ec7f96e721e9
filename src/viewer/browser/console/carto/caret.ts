import { EditorView, ViewPlugin } from "@codemirror/view";

/** Keeps the caret in sight when the text gets less room, as by a line below it that says what is wrong. */
export const caretInSight = ViewPlugin.define((view) => {
  let height = 0;
  const observer = new ResizeObserver(() => {
    const before = height;
    height = view.scrollDOM.clientHeight;
    if (height >= before || !view.hasFocus) return;
    const { head } = view.state.selection.main;
    const caret = view.coordsAtPos(head);
    // What was not in sight before has been scrolled away.
    const isNear = caret && caret.bottom <= view.scrollDOM.getBoundingClientRect().top + before + 1;
    if (isNear) view.dispatch({ effects: EditorView.scrollIntoView(head) });
  });
  observer.observe(view.scrollDOM);
  return { destroy: () => observer.disconnect() };
});

import type { Extension } from "@codemirror/state";
import { EditorView, keymap } from "@codemirror/view";

/**
 * Tab writes an indent; after Escape it leaves the text, as elsewhere. CodeMirror has that for two seconds only, in which not
 * everybody finds the next key.
 */
export function leavingByTab(): Extension {
  let mayLeave = false;
  const set = (view: EditorView, to: boolean) => {
    mayLeave = to;
    view.setTabFocusMode(to);
  };
  return [
    keymap.of([
      {
        key: "Escape",
        run(view) {
          // Pressed once more it is for what is around the text.
          if (mayLeave) return false;
          set(view, true);
          return true;
        },
      },
    ]),
    EditorView.domEventObservers({
      keydown(event, view) {
        if (!/^(?:Escape|Tab|Shift|Control|Alt|Meta)$/.test(event.key)) set(view, false);
      },
      blur: (_, view) => set(view, false),
      mousedown: (_, view) => set(view, false),
    }),
  ];
}

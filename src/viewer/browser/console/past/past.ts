import type { Dialogs } from "../dialogs.js";
import type { Edits } from "../edits.js";
import { binView } from "./bin-view.js";
import { Frame, type PastOf } from "./frame.js";
import { historyView } from "./history-view.js";

/** Opens the dialog for what was deleted and changed in a project, from which it is brought back. */
export function openPast(
  dialogs: Dialogs,
  edits: Edits,
  of: PastOf,
  events: { changed(): void; closed(): void },
): void {
  const frame: Frame = new Frame(
    dialogs,
    edits,
    of,
    () => events.changed(),
    (tab) => (tab === "bin" ? binView(frame) : historyView(frame)),
  );
  frame.dialog.addEventListener("close", () => events.closed());
  frame.go(binView(frame));
}

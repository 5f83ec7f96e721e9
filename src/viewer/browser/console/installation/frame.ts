import type { Dialogs } from "../dialogs.js";
import { TabbedDialog, type TabView } from "../tabbed-dialog.js";

/** Asks the server about the installation. @throws ServerError */
export type Ask = <T>(method: string, segments: readonly string[], body?: object) => Promise<T>;

export type Tab = "projects" | "state";
/** What is shown in the dialog. */
export type View = TabView<Tab>;

/** The dialog of operators. */
export class Frame extends TabbedDialog<Tab> {
  constructor(
    dialogs: Dialogs,
    readonly ask: Ask,
    first: (tab: Tab) => View,
  ) {
    super(dialogs, "installation", { projects: "projects", state: "stateTab" }, first);
  }
}

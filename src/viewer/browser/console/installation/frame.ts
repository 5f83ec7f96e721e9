import type { Ask, InstallationParts } from "../installation-parts.js";
import { TabbedDialog, type TabView } from "../tabbed-dialog.js";

export type Tab = "projects" | "state";
/** What is shown in the dialog. */
export type View = TabView<Tab>;

/** The dialog of operators. */
export class Frame extends TabbedDialog<Tab> {
  constructor(
    parts: InstallationParts,
    readonly ask: Ask,
    first: (tab: Tab) => View,
  ) {
    super(parts, "installation", { projects: "projects", state: "stateTab" }, first);
  }
}

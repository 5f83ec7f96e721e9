import type { PeopleParts } from "../people-parts.js";
import { TabbedDialog, type TabView } from "../tabbed-dialog.js";
import type { PeopleStore } from "./people-store.js";

export type Tab = "people" | "keys";
/** What is shown in the dialog. */
export type View = TabView<Tab>;

/** The dialog for people and keys. */
export class Frame extends TabbedDialog<Tab> {
  constructor(
    override readonly parts: PeopleParts,
    readonly store: PeopleStore,
    first: (tab: Tab) => View,
  ) {
    super(parts, "people", { people: "peopleTab", keys: "keysTab" }, first);
  }
}

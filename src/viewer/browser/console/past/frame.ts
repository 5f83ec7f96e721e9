import type { ProjectInfo } from "../../map-server.js";
import type { Dialogs } from "../dialogs.js";
import type { Edits } from "../edits.js";
import { TabbedDialog, type TabView } from "../tabbed-dialog.js";

export type Tab = "bin" | "history";
/** What is shown in the dialog. */
export type View = TabView<Tab>;

/** What it is opened for. */
export interface PastOf {
  readonly project: ProjectInfo;
  /** Code of the map that is open. */
  readonly map: string | undefined;
  /** Titles of its layers and folders, by their codes. */
  readonly titles: ReadonlyMap<string, string>;
  /** Whether who has opened it administers the project. */
  readonly mayAdminister: boolean;
}

/** The dialog for what was deleted and what was changed. */
export class Frame extends TabbedDialog<Tab> {
  constructor(
    dialogs: Dialogs,
    readonly edits: Edits,
    readonly of: PastOf,
    /** To be called when something was brought back. */
    readonly changed: () => void,
    first: (tab: Tab) => View,
  ) {
    super(dialogs, "binAndHistory", { bin: "binTab", history: "historyTab" }, first);
  }

  /** A time, in ISO 8601, as the reader has it. */
  readonly timeText = (moment: string): string =>
    new Intl.DateTimeFormat(this.parts.locale.language, { dateStyle: "medium", timeStyle: "short" }).format(
      new Date(moment),
    );
}

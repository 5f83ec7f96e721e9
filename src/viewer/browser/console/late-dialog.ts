import { isServerError } from "../map-server.js";
import type { Dialogs } from "./dialogs.js";
import { loadStyles } from "./late-styles.js";

/** Opens a dialog whose code and styles are loaded when it is first opened. While it is being opened, nothing opens it once more. */
export class LateDialog {
  private isOpening = false;

  constructor(
    private readonly dialogs: Dialogs,
    /** Name of its style sheet. */
    private readonly styles: string,
  ) {}

  /** What goes wrong is told. @param load its code, and what it shows @returns when it is shown */
  async open(load: () => Promise<() => void>): Promise<void> {
    if (this.isOpening) return;
    this.isOpening = true;
    try {
      const styled = loadStyles(this.styles);
      const [show] = await Promise.all([load(), styled]);
      show();
    } catch (error) {
      const { toasts, locale } = this.dialogs;
      if (isServerError(error)) this.dialogs.tell(error);
      else toasts.show(locale.t("toolFailed"), "bad");
    } finally {
      this.isOpening = false;
    }
  }
}

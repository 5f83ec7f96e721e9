import type { Locale } from "../attributes.js";
import { Toasts } from "../toasts.js";
import { problemText } from "./problem.js";

/** How the console speaks with its user. */
export class Dialogs {
  readonly toasts: Toasts;

  constructor(
    readonly root: HTMLElement,
    readonly locale: Locale,
  ) {
    this.toasts = new Toasts(locale.t);
  }

  /** Tells what went wrong. @param again offered to be done once more */
  tell(error: unknown, again?: () => void): void {
    const { t } = this.locale;
    const action = again && { label: t("repeat"), press: again };
    this.toasts.show(problemText(error, t), "bad", action);
  }
}

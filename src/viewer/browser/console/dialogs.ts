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

  /** Tells what went wrong. */
  tell(error: unknown): void {
    this.toasts.show(problemText(error, this.locale.t), "bad");
  }
}

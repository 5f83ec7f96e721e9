import { button, h, icon } from "./dom.js";
import type { Translate } from "./texts.js";

export interface ToastAction {
  readonly label: string;
  readonly press: () => void;
  /** What does it, too, as `aria-keyshortcuts` has it. */
  readonly keys?: string;
}

/** How far something is that is done with many. */
export interface Steps {
  step(): void;
  end(): void;
}

const undoKeys = "Control+Z";
/** What is over sooner is not worth a message. */
const patienceMs = 600;

/** Short messages at the bottom of the page, announced by screen readers. */
export class Toasts {
  readonly element = h("div", { class: "toasts", role: "status", "aria-live": "polite" });
  private readonly timers = new Map<string, number>();
  /** What had the focus before a message. */
  private before: HTMLElement | undefined;

  constructor(private readonly t: Translate) {
    this.element.addEventListener("focusin", ({ relatedTarget: from }) => {
      if (from instanceof HTMLElement && !this.element.contains(from)) this.before = from;
    });
  }

  /** Shows a text for some seconds. A problem that is already shown is not told again, only longer. */
  show(text: string, tone: "plain" | "good" | "bad" = "plain", action?: ToastAction): void {
    const seconds = action ? 12 : tone === "bad" ? 8 : 3.5;
    const old = this.timers.get(text);
    // What was done again is told again, also to who hears it; with an action it is about something else each time.
    if (old !== undefined && (action || tone === "good")) this.hide(text);
    else if (old !== undefined) {
      window.clearTimeout(old);
      this.hideLater(text, seconds);
      return;
    }
    const toast = h(
      "div",
      { class: "toast", "data-tone": tone },
      tone === "plain" ? undefined : icon(tone === "good" ? "check" : "alert"),
      h("span", {}, text),
      action &&
        button(
          { class: "text-button", ...(action.keys && { "aria-keyshortcuts": action.keys }) },
          () => {
            this.hide(text);
            action.press();
          },
          action.label,
        ),
      tone === "bad" &&
        button(
          { class: "icon-button small", "aria-label": this.t("close") },
          () => this.hide(text),
          icon("close"),
        ),
    );
    toast.dataset.text = text;
    this.element.append(toast);
    const texts = this.element.querySelectorAll<HTMLElement>("[data-text]");
    for (const { dataset } of [...texts].slice(0, -3)) this.hide(dataset.text!);
    this.hideLater(text, seconds);
  }

  /** Says what was done, and offers to undo it, by `undo`, too. */
  offerUndo(text: string, press: () => void): void {
    this.show(text, "plain", { label: this.t("undo"), press, keys: undoKeys });
  }

  /** Undoes the latest of what is offered to be undone. @returns whether there was such */
  undo(): boolean {
    const offered = this.element.querySelectorAll<HTMLElement>(`[aria-keyshortcuts="${undoKeys}"]`);
    offered.item(offered.length - 1)?.click();
    return offered.length > 0;
  }

  /** Shows how much is done of something that is done with many, if it takes a while. @param all how many they are */
  steps(text: string, all: number): Steps {
    const bar = h("progress", { max: all, value: 0, "aria-label": text });
    const toast = h("div", { class: "toast", "data-tone": "plain" }, h("span", {}, text), bar);
    const timer = window.setTimeout(() => this.element.append(toast), patienceMs);
    return {
      step: () => {
        bar.value++;
      },
      end: () => {
        window.clearTimeout(timer);
        toast.remove();
      },
    };
  }

  private hideLater(text: string, seconds: number): void {
    const hide = () => {
      // Whoever is about to press something in it is not hurried.
      if (this.element.contains(document.activeElement)) this.hideLater(text, seconds);
      else this.hide(text);
    };
    this.timers.set(text, window.setTimeout(hide, seconds * 1000));
  }

  private hide(text: string): void {
    window.clearTimeout(this.timers.get(text));
    this.timers.delete(text);
    for (const toast of this.element.querySelectorAll<HTMLElement>(".toast")) {
      if (toast.dataset.text !== text) continue;
      const hadFocus = toast.contains(document.activeElement);
      toast.remove();
      if (hadFocus) this.before?.focus({ preventScroll: true });
    }
  }
}

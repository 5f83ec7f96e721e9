import { button, h, type IconName, icon } from "./dom.js";

/** What can be chosen in a menu. */
export interface MenuAction {
  readonly icon: IconName;
  readonly label: string;
  press(): void;
}

export interface MenuAt {
  readonly label: string;
  /** Where it opens. */
  readonly at: { readonly left: number; readonly top: number; readonly bottom: number };
  /** Gets the focus back. */
  readonly opener: HTMLElement;
  /** Further controls, above the actions. */
  readonly parts?: readonly HTMLElement[];
}

/** A menu that opens at a button, or at a place of the map. */
export class PopupMenu {
  readonly element = h("div", { class: "card menu popup-menu", popover: "auto", role: "group" });
  private opener: HTMLElement | undefined;

  constructor() {
    this.element.addEventListener("keydown", (event) => this.key(event));
    this.element.addEventListener("toggle", (event) => {
      const isOpen = (event as ToggleEvent).newState === "open";
      if (this.opener?.hasAttribute("aria-expanded"))
        this.opener.setAttribute("aria-expanded", String(isOpen));
    });
  }

  open({ label, at, opener, parts = [] }: MenuAt, actions: readonly MenuAction[]): void {
    this.opener = opener;
    this.element.setAttribute("aria-label", label);
    this.element.replaceChildren(
      ...parts,
      ...actions.map((action) =>
        button(
          { class: "menu-entry with-icon" },
          () => {
            this.close();
            action.press();
          },
          icon(action.icon),
          action.label,
        ),
      ),
    );
    this.element.showPopover();
    const { offsetWidth, offsetHeight } = this.element;
    const isBelow = at.bottom + 4 + offsetHeight <= window.innerHeight - 8;
    this.element.style.left = `${Math.max(8, Math.min(at.left, window.innerWidth - offsetWidth - 8))}px`;
    this.element.style.top = `${Math.max(8, isBelow ? at.bottom + 4 : at.top - 4 - offsetHeight)}px`;
    this.element.querySelector<HTMLElement>("input, button")?.focus();
  }

  close(): void {
    if (!this.element.matches(":popover-open")) return;
    this.element.hidePopover();
    this.opener?.focus({ preventScroll: true });
  }

  private key(event: KeyboardEvent): void {
    if (event.key === "Escape") {
      this.close();
      event.stopPropagation();
    }
    if (event.key !== "ArrowDown" && event.key !== "ArrowUp") return;
    const entries = [...this.element.querySelectorAll<HTMLElement>("input:enabled, button")];
    const at = entries.indexOf(document.activeElement as HTMLElement);
    entries[(at + (event.key === "ArrowDown" ? 1 : -1) + entries.length) % entries.length]?.focus();
    event.preventDefault();
  }
}

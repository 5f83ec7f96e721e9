import { button, h, type IconName, icon } from "./dom.js";
import type { TreeItem } from "./layer-tree.js";
import type { Translate } from "./texts.js";

/** What can be done with a layer beside switching it. */
export interface LayerAction {
  readonly icon: IconName;
  readonly label: string;
  press(): void;
}

/** A menu that opens at a layer's row. */
export class LayerMenu {
  readonly element = h("div", { class: "card menu layer-menu", popover: "auto" });
  private opener: HTMLElement | undefined;

  constructor(private readonly t: Translate) {
    this.element.addEventListener("keydown", (event) => this.key(event));
    this.element.addEventListener("toggle", (event) => {
      const isOpen = (event as ToggleEvent).newState === "open";
      this.opener?.setAttribute("aria-expanded", String(isOpen));
    });
  }

  /** Opens it below a button. @param parts further controls, above the actions */
  open(opener: HTMLElement, item: TreeItem, actions: readonly LayerAction[], ...parts: HTMLElement[]): void {
    this.opener = opener;
    this.element.setAttribute("role", "group");
    this.element.setAttribute("aria-label", this.t("layerMenu", { name: item.title }));
    this.element.replaceChildren(
      ...parts,
      ...actions.map((action) =>
        button(
          { class: "menu-entry with-icon" },
          () => {
            this.element.hidePopover();
            action.press();
          },
          icon(action.icon),
          action.label,
        ),
      ),
    );
    this.element.showPopover();
    const at = opener.getBoundingClientRect();
    const { offsetWidth, offsetHeight } = this.element;
    const left = Math.min(at.left, window.innerWidth - offsetWidth - 8);
    const below = at.bottom + 4 + offsetHeight <= window.innerHeight - 8;
    this.element.style.left = `${Math.max(8, left)}px`;
    this.element.style.top = `${Math.max(8, below ? at.bottom + 4 : at.top - 4 - offsetHeight)}px`;
    this.element.querySelector<HTMLElement>("input, button")?.focus();
  }

  private key(event: KeyboardEvent): void {
    if (event.key === "Escape") this.opener?.focus();
    if (event.key !== "ArrowDown" && event.key !== "ArrowUp") return;
    const entries = [...this.element.querySelectorAll<HTMLElement>("input, button")];
    const next =
      entries.indexOf(document.activeElement as HTMLElement) + (event.key === "ArrowDown" ? 1 : -1);
    entries[(next + entries.length) % entries.length]?.focus();
    event.preventDefault();
  }
}

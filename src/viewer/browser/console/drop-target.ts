import { button, h, icon } from "../dom.js";
import type { Translate } from "../texts.js";

/** Files that are dropped anywhere on the page, or chosen with a button. */
export class DropTarget {
  /** Lies over the page while files are over it. */
  readonly overlay: HTMLElement;
  private readonly chooser = h("input", { type: "file", multiple: true, hidden: true });
  private readonly hint = h("p", {});
  /** How many elements the files have entered without leaving. */
  private depth = 0;

  constructor(
    private readonly t: Translate,
    private readonly mayDrop: () => boolean,
    dropped: (files: readonly File[]) => void,
  ) {
    this.overlay = h(
      "div",
      { class: "drop-overlay", hidden: true, "aria-hidden": "true" },
      h("div", { class: "drop-card" }, icon("upload"), this.hint),
    );
    this.chooser.addEventListener("change", () => {
      const files = [...(this.chooser.files ?? [])];
      this.chooser.value = "";
      if (files.length > 0) dropped(files);
    });
    const over = (event: DragEvent, by: number) => {
      if (!event.dataTransfer?.types.includes("Files")) return false;
      event.preventDefault();
      this.depth = Math.max(0, this.depth + by);
      this.overlay.hidden = this.depth === 0 || !mayDrop();
      return true;
    };
    window.addEventListener("dragenter", (event) => over(event, 1));
    window.addEventListener("dragover", (event) => over(event, 0));
    window.addEventListener("dragleave", (event) => over(event, -1));
    window.addEventListener("drop", (event) => {
      if (!over(event, -this.depth) || !mayDrop()) return;
      // Folders are not files: they cannot be read.
      const items = [...(event.dataTransfer?.items ?? [])];
      const folders = new Set(
        items.flatMap((item) => {
          const entry = item.webkitGetAsEntry();
          return entry?.isDirectory ? [entry.name] : [];
        }),
      );
      const files = [...(event.dataTransfer?.files ?? [])].filter(({ name }) => !folders.has(name));
      if (files.length > 0) dropped(files);
    });
  }

  /** Says where dropped files will go. @param map undefined = a new map */
  tell(map: string | undefined): void {
    this.hint.textContent = map === undefined ? this.t("dropNewMap") : this.t("dropInto", { name: map });
  }

  /** A button that lets files be chosen. */
  button(className: string, label: string): HTMLButtonElement {
    return button(
      { class: className, title: label },
      () => this.choose(),
      icon("upload"),
      h("span", {}, label),
    );
  }

  choose(): void {
    if (this.mayDrop()) this.chooser.click();
  }

  /** Belongs to the page, so that it can be found in it. */
  get input(): HTMLInputElement {
    return this.chooser;
  }
}

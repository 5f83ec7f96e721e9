import { button, h, icon } from "../dom.js";
import type { Translate } from "../texts.js";

/** Types of texts that can be dropped. */
const texts: ReadonlySet<string> = new Set(["text/uri-list", "text/plain"]);
/** Type that marks what is dragged from one place of the page to another, which is no data. */
const own = "application/x-mapwright-own";

/** Whether it happens in a field, which has its own use for texts. */
function isEditable(event: Event): boolean {
  const [target] = event.composedPath();
  return (
    target instanceof HTMLElement &&
    (target.isContentEditable || target.matches("input:not([type=file]), textarea, select"))
  );
}

/** Files that are dropped anywhere on the page, or chosen with a button, and links and texts that are dropped or pasted. */
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
    /** A link, a table or geodata, or another text. */
    pasted: (text: string) => void,
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
    window.addEventListener("dragstart", ({ dataTransfer }) => dataTransfer?.setData(own, own));
    const over = (event: DragEvent, by: number) => {
      const types = event.dataTransfer?.types ?? [];
      if (types.includes(own)) return false;
      // A file that is dropped on a field would be opened in place of the page.
      const isTaken =
        types.includes("Files") || (types.some((type) => texts.has(type)) && !isEditable(event));
      if (!isTaken) return false;
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
      const text = event.dataTransfer?.getData("text/uri-list") || event.dataTransfer?.getData("text/plain");
      if (files.length > 0) dropped(files);
      else if (text && folders.size === 0) pasted(text);
    });
    window.addEventListener("paste", (event) => {
      if (isEditable(event) || !mayDrop()) return;
      const files = [...(event.clipboardData?.files ?? [])];
      const text = event.clipboardData?.getData("text/plain") ?? "";
      // A spreadsheet gives a picture of its cells, too.
      if (text.trim() !== "") pasted(text);
      else if (files.length > 0) dropped(files);
      else return;
      event.preventDefault();
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

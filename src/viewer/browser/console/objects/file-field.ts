import { columnTitle } from "../../attributes.js";
import { button, h, icon } from "../../dom.js";
import { showLightbox } from "../../lightbox.js";
import type { AttachedFile, ColumnInfo } from "../../map-server.js";
import type { Translate } from "../../texts.js";

/** The files of an object in one of its columns. They are attached and taken away at once, not with the other values. */

export interface FileSource {
  files(): Promise<readonly AttachedFile[]>;
  picture(file: AttachedFile, width: number, height: number): Promise<string>;
  download(file: AttachedFile): Promise<void>;
  /** @throws ServerError */
  attach(column: string, file: File): Promise<void>;
  /** @throws ServerError */
  detach(column: string, file: AttachedFile): Promise<void>;
  /** In words. */
  problem(error: unknown): string;
  /** A change was not made, and another object is shown. */
  failed(error: unknown): void;
}

const pictures = /^image\/(?:png|jpeg|webp|gif|avif|tiff)$/;
const thumbnailPixels = 64;

export class FileField {
  readonly element: HTMLElement;
  private readonly list = h("ul", { class: "object-files" });
  private readonly problem = h("p", { class: "field-problem", role: "alert", hidden: true });
  private readonly hint: HTMLElement;
  private readonly input: HTMLInputElement;
  private readonly chooser: HTMLButtonElement;
  private source: FileSource | undefined;
  private ids = "";

  constructor(
    private readonly column: ColumnInfo,
    private readonly t: Translate,
  ) {
    const title = columnTitle(column);
    this.hint = h("p", { class: "hint" }, t("attachFirst"));
    this.input = h("input", { type: "file", hidden: true, multiple: true, "aria-label": t("attach") });
    this.input.addEventListener("change", () => void this.attach([...(this.input.files ?? [])]));
    this.chooser = button({ class: "button small" }, () => this.input.click(), icon("plus"), t("attach"));
    this.element = h(
      "div",
      { class: "object-field", role: "group", "aria-label": title, "data-code": column.code },
      h("span", { class: "object-label" }, title),
      this.list,
      this.hint,
      h("span", {}, this.chooser),
      this.input,
      this.problem,
    );
  }

  /** @param ids comma-separated @param source undefined = the object is not saved yet */
  async show(ids: unknown, source: FileSource | undefined): Promise<void> {
    const wantedIds = String(ids ?? "");
    // What is shown stays, and with it the focus.
    if (source && source === this.source && wantedIds === this.ids) return;
    this.source = source;
    this.ids = wantedIds;
    this.hint.hidden = source !== undefined;
    this.chooser.hidden = source === undefined;
    this.list.replaceChildren();
    this.tell("");
    const wanted = new Set(wantedIds.split(",").filter(Boolean).map(Number));
    if (!source || wanted.size === 0) return;
    try {
      const files = (await source.files()).filter(({ id }) => wanted.has(id));
      if (source === this.source && wantedIds === this.ids)
        this.list.replaceChildren(...files.map((file) => this.entry(file, source)));
    } catch (error) {
      if (source !== this.source) return;
      // They are asked for again the next time.
      this.source = undefined;
      this.tell(source.problem(error));
    }
  }

  tell(text: string): void {
    this.problem.textContent = text;
    this.problem.hidden = text === "";
  }

  private entry(file: AttachedFile, source: FileSource): HTMLElement {
    const { t } = this;
    const download = () =>
      void source.download(file).catch((error: unknown) => this.tell(source.problem(error)));
    const isPicture = pictures.test(file.mime);
    const image = h("img", { alt: "", decoding: "async" });
    if (isPicture)
      source.picture(file, thumbnailPixels, thumbnailPixels).then(
        (address) => {
          image.src = address;
        },
        () => image.replaceWith(icon("alert")),
      );
    const address = (width: number, height: number) => source.picture(file, width, height);
    const open = () =>
      isPicture ? showLightbox([{ name: file.name, address, download }], 0, t) : download();
    const remove = button(
      {
        class: "icon-button small",
        "aria-label": t("detach", { name: file.name }),
        title: t("detach", { name: file.name }),
      },
      () => void this.work(() => source.detach(this.column.code, file)),
      icon("trash"),
    );
    return h(
      "li",
      {},
      button(
        { class: "object-file", title: file.name },
        open,
        isPicture ? image : icon("download"),
        h("span", {}, file.name),
      ),
      remove,
    );
  }

  private attach(files: readonly File[]): Promise<void> {
    this.input.value = "";
    const { source } = this;
    return this.work(async () => {
      // Those of the object for which they were chosen, whatever is opened meanwhile.
      for (const file of files) await source?.attach(this.column.code, file);
    });
  }

  private async work(change: () => Promise<void>): Promise<void> {
    const { source } = this;
    if (!source) return;
    this.tell("");
    this.chooser.disabled = true;
    try {
      await change();
    } catch (error) {
      if (source === this.source) this.tell(source.problem(error));
      else source.failed(error);
    } finally {
      this.chooser.disabled = false;
    }
  }
}

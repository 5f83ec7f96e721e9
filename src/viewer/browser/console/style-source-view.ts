import { h } from "../dom.js";
import { isServerError } from "../map-server.js";
import type { Translate } from "../texts.js";
import type { CartoEditor, StyleError, StylePlace } from "./carto-parts.js";

/** A style as text. It is a plain field until its editor is here, and stays one if it cannot be loaded. */
export class StyleSourceView {
  readonly element = h("div", { class: "style-source", role: "tabpanel", id: "style-source" });
  private readonly text = h("textarea", {
    ...{ class: "field style-text", id: "style-text-field", "aria-label": "CartoCSS", wrap: "off" },
    ...{ spellcheck: "false", autocapitalize: "none", autocomplete: "off" },
  });
  private editor: CartoEditor | undefined;
  private loading: Promise<void> | undefined;
  private css = "";
  private of: unknown;
  private codes: readonly string[] = [];
  private error: StyleError | undefined;

  /** @param problemId of the element that says what is wrong with the text */
  constructor(
    private readonly t: Translate,
    private readonly problemId: string,
    private readonly changed: (css: string) => void,
    /** The text as it is can be read, or not. */
    private readonly read: (isReadable: boolean) => void,
  ) {
    this.element.append(this.text);
    this.text.addEventListener("input", () => this.written(this.text.value));
  }

  /** @param of what the text is of: of another nothing is undone in this one */
  show(css: string, of: unknown): void {
    this.css = css;
    this.of = of;
    if (this.editor) this.editor.show(css, of);
    else if (this.text.value !== css) this.text.value = css;
  }

  /** Codes of the columns that the style can read. */
  columns(codes: readonly string[]): void {
    this.codes = codes;
    this.editor?.columns(codes);
  }

  /** What is wrong with the text; undefined = nothing. */
  tell(error: StyleError | undefined): void {
    this.error = error;
    this.editor?.tell(error);
    if (error) this.text.setAttribute("aria-describedby", this.problemId);
    else this.text.removeAttribute("aria-describedby");
    if (!error?.place) this.text.removeAttribute("aria-invalid");
  }

  /** Goes to a place that cannot be read. */
  goTo(place: StylePlace): void {
    if (this.editor) {
      this.editor.goTo(place);
      return;
    }
    const { line, column } = place;
    this.text.setAttribute("aria-invalid", "true");
    const lines = this.text.value.split("\n");
    const before = lines.slice(0, line - 1).reduce((sum, one) => sum + one.length + 1, 0);
    const length = lines[line - 1]?.length ?? 0;
    this.text.focus();
    this.text.setSelectionRange(before + column - 1, before + length);
    const height = Number.parseFloat(getComputedStyle(this.text).lineHeight) || 18;
    this.text.scrollTop = Math.max(0, (line - 3) * height);
  }

  /** Puts the editor in the place of the field; the next time that the text is opened, if it does not come now. */
  load(): Promise<void> {
    this.loading ??= this.replace().catch(() => {
      this.loading = undefined;
    });
    return this.loading;
  }

  private async replace(): Promise<void> {
    const { openEditor } = await import("./carto/editor.js");
    const { text, t } = this;
    const isFocused = document.activeElement === text;
    const host = h("div", { class: "style-code" });
    const found = h("p", { class: "style-found", role: "status" });
    const editor = openEditor({
      root: host.attachShadow({ mode: "open" }),
      ...{ t, label: "CartoCSS", changed: (css) => this.written(css) },
      found: (what) => {
        found.textContent = what;
        this.read(what === "");
      },
    });
    editor.show(this.css, this.of);
    editor.columns(this.codes);
    text.replaceWith(host, found, h("p", { class: "hint" }, t("codeLeave")));
    this.editor = editor;
    editor.select(text.selectionStart, text.selectionEnd);
    if (this.error) editor.tell(this.error);
    if (isFocused) editor.focus();
  }

  private written(css: string): void {
    this.css = css;
    this.changed(css);
  }
}

/** Where the server could not read a style. It tells the place in its sentence only. */
export function placeOf(error: unknown): StylePlace | undefined {
  if (!isServerError(error) || error.code !== "invalid_style") return undefined;
  const [, line, column] = /^Line (\d+)(?:, column (\d+))?/.exec(error.told) ?? [];
  return line === undefined ? undefined : { line: Number(line), column: Number(column ?? 1) };
}

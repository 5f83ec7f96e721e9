import { h } from "../dom.js";
import { ServerError } from "../map-server.js";

/** A style as text. */
export class StyleSourceView {
  readonly element = h("div", { class: "style-source", role: "tabpanel", id: "style-source" });
  private readonly text = h("textarea", {
    ...{ class: "field style-text", id: "style-text-field", "aria-label": "CartoCSS", wrap: "off" },
    ...{ spellcheck: "false", autocapitalize: "none", autocomplete: "off" },
  });

  /** @param problemId of the element that says what is wrong with the text */
  constructor(
    private readonly problemId: string,
    changed: (css: string) => void,
  ) {
    this.element.append(this.text);
    this.text.addEventListener("input", () => changed(this.text.value));
  }

  show(css: string): void {
    if (this.text.value !== css) this.text.value = css;
  }

  /** Whether something is wrong with the text. */
  mark(isWrong: boolean): void {
    if (isWrong) this.text.setAttribute("aria-describedby", this.problemId);
    else this.text.removeAttribute("aria-invalid");
  }

  /** Goes to a place that cannot be read. */
  goTo({ line, column }: StylePlace): void {
    this.text.setAttribute("aria-invalid", "true");
    const lines = this.text.value.split("\n");
    const before = lines.slice(0, line - 1).reduce((sum, one) => sum + one.length + 1, 0);
    const length = lines[line - 1]?.length ?? 0;
    this.text.focus();
    this.text.setSelectionRange(before + column - 1, before + length);
    const height = Number.parseFloat(getComputedStyle(this.text).lineHeight) || 18;
    this.text.scrollTop = Math.max(0, (line - 3) * height);
  }
}

/** In a text, from 1. */
export interface StylePlace {
  readonly line: number;
  readonly column: number;
}

/** Where the server could not read a style. It tells the place in its sentence only. */
export function placeOf(error: unknown): StylePlace | undefined {
  if (!(error instanceof ServerError) || error.code !== "invalid_style") return undefined;
  const [, line, column] = /^Line (\d+)(?:, column (\d+))?/.exec(error.told) ?? [];
  return line === undefined ? undefined : { line: Number(line), column: Number(column ?? 1) };
}

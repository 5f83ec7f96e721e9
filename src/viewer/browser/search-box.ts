import { button, h, type IconName, icon } from "./dom.js";
import type { LayerTree } from "./layer-tree.js";
import { type MapId, type MapServer, ServerError } from "./map-server.js";
import { matchedParts } from "./matched-text.js";
import { objectResults, ownResults, type SearchResult } from "./search-results.js";
import type { Translate } from "./texts.js";

export interface SearchBoxParts {
  readonly server: MapServer;
  readonly t: Translate;
  opened(): { readonly mapId: MapId; readonly tree: LayerTree } | undefined;
  choose(result: SearchResult): void;
}

/** Wait for more typing before the server is asked. */
const pauseMs = 200;
const kinds = ["place", "layer", "object"] as const;
const icons: Readonly<Record<SearchResult["kind"], IconName>> = {
  place: "target",
  layer: "layers",
  object: "map",
};

/**
 * The search field with its list: a combobox whose focus stays in the field (https://www.w3.org/WAI/ARIA/apg/patterns/combobox/).
 */
export class SearchBox {
  readonly element: HTMLElement;
  private readonly input: HTMLInputElement;
  private readonly clear: HTMLButtonElement;
  private readonly list: HTMLElement;
  private readonly status = h("p", { class: "hint search-status", role: "status" });
  private readonly popover: HTMLElement;
  /** The options in the order in which they are shown. */
  private options: { readonly element: HTMLElement; readonly result: SearchResult }[] = [];
  private active = -1;
  private timer: number | undefined;
  private running: AbortController | undefined;
  /** Enter was pressed before the server had answered. */
  private isAwaited = false;

  constructor(private readonly parts: SearchBoxParts) {
    const { t } = parts;
    this.input = h("input", {
      type: "text",
      class: "search-field",
      role: "combobox",
      placeholder: t("search"),
      "aria-label": t("searchHint"),
      "aria-expanded": "false",
      "aria-controls": "search-list",
      "aria-autocomplete": "list",
      autocomplete: "off",
      autocapitalize: "off",
      spellcheck: "false",
      enterkeyhint: "search",
      maxlength: 200,
    });
    this.clear = button(
      { class: "icon-button small", "aria-label": t("clearSearch"), title: t("clearSearch"), hidden: true },
      () => {
        this.empty();
        this.input.focus();
      },
      icon("close"),
    );
    this.list = h("div", { id: "search-list", role: "listbox", "aria-label": t("searchResults") });
    this.popover = h("div", { class: "card search-results", hidden: true }, this.list, this.status);
    this.element = h(
      "div",
      { class: "search", role: "search", hidden: true },
      h("div", { class: "card search-card" }, icon("search"), this.input, this.clear),
      this.popover,
    );
    this.input.addEventListener("input", () => this.typed());
    this.input.addEventListener("focus", () => this.input.value.trim() !== "" && this.open(true));
    this.input.addEventListener("keydown", (event) => this.key(event));
    // The focus stays in the field.
    this.popover.addEventListener("pointerdown", (event) => event.preventDefault());
    this.element.addEventListener("focusout", (event) => {
      if (!this.element.contains(event.relatedTarget as Node | null)) this.open(false);
    });
  }

  /** Shows or hides the field; what was found in another map is dropped. */
  show(isShown: boolean): void {
    this.element.hidden = !isShown;
    if (!isShown) this.empty();
  }

  private empty(): void {
    this.stop();
    this.input.value = "";
    this.clear.hidden = true;
    this.put([]);
    this.open(false);
  }

  private stop(): void {
    window.clearTimeout(this.timer);
    this.running?.abort();
    this.running = undefined;
    this.isAwaited = false;
  }

  private open(isOpen: boolean): void {
    this.popover.hidden = !isOpen;
    this.input.setAttribute("aria-expanded", String(isOpen && this.options.length > 0));
    if (!isOpen) this.activate(-1);
  }

  private typed(): void {
    const text = this.input.value.trim();
    const opened = this.parts.opened();
    this.stop();
    this.clear.hidden = this.input.value === "";
    if (text === "" || !opened) {
      this.put([]);
      this.open(false);
      return;
    }
    const own = ownResults(text, opened.tree);
    const running = new AbortController();
    this.running = running;
    this.put(own);
    this.status.textContent = this.parts.t("searching");
    this.open(true);
    this.timer = window.setTimeout(() => void this.ask(opened.mapId, text, own, running), pauseMs);
  }

  private async ask(
    mapId: MapId,
    text: string,
    own: readonly SearchResult[],
    running: AbortController,
  ): Promise<void> {
    const { server, t } = this.parts;
    let message = "";
    try {
      const { objects, isCut } = await objectResults(server, mapId, text, running.signal);
      if (running.signal.aborted) return;
      if (objects.length > 0) this.put([...own, ...objects]);
      else if (own.length === 0 && !isCut) message = t("nothingFound", { text });
      if (isCut) message = t("searchCut");
    } catch (error) {
      if (running.signal.aborted) return;
      message = t(error instanceof ServerError && error.status === 0 ? "searchOffline" : "searchFailed");
    }
    this.running = undefined;
    this.status.textContent = message;
    if (this.isAwaited) this.chooseFirst();
  }

  /** Shows results by kind. The option that was active stays so, if it is still there. */
  private put(results: readonly SearchResult[]): void {
    const { t } = this.parts;
    const before = this.options[this.active]?.result;
    this.options = [];
    const titles = { place: t("coordinates"), layer: t("layers"), object: t("searchObjects") };
    const groups = kinds.flatMap((kind) => {
      const some = results.filter((result) => result.kind === kind);
      if (some.length === 0) return [];
      const id = `search-${kind}`;
      return [
        h(
          "div",
          { role: "group", "aria-labelledby": id },
          h("h3", { id, role: "presentation" }, titles[kind]),
          ...some.map((result) => this.option(result)),
        ),
      ];
    });
    this.list.replaceChildren(...groups);
    this.status.textContent = "";
    this.activate(this.options.findIndex(({ result }) => before !== undefined && isSame(result, before)));
    this.input.setAttribute("aria-expanded", String(!this.popover.hidden && this.options.length > 0));
  }

  private option(result: SearchResult): HTMLElement {
    const [title, detail] = this.textsOf(result);
    const element = h(
      "div",
      {
        class: "search-option",
        role: "option",
        id: `search-option-${this.options.length}`,
        "aria-selected": "false",
      },
      icon(icons[result.kind]),
      h(
        "span",
        { class: "search-text" },
        h("span", { class: "search-title" }, ...this.marked(title)),
        detail !== "" && h("span", { class: "search-detail" }, ...this.marked(detail)),
      ),
    );
    element.addEventListener("click", () => this.choose(result));
    this.options.push({ element, result });
    return element;
  }

  private textsOf(result: SearchResult): readonly [title: string, detail: string] {
    switch (result.kind) {
      case "place":
        return [`${result.place.lat.toFixed(5)}, ${result.place.lon.toFixed(5)}`, ""];
      case "layer":
        return [result.layer.title, ""];
      case "object":
        return [result.title, [result.value, result.detail, result.layerTitle].filter(Boolean).join(" · ")];
    }
  }

  private marked(text: string): (HTMLElement | string)[] {
    return matchedParts(text, this.input.value).map((part) =>
      part.isMatch ? h("mark", {}, part.text) : part.text,
    );
  }

  private activate(index: number): void {
    this.options[this.active]?.element.setAttribute("aria-selected", "false");
    this.active = index;
    const option = this.options[index]?.element;
    option?.setAttribute("aria-selected", "true");
    option?.scrollIntoView({ block: "nearest" });
    if (option) this.input.setAttribute("aria-activedescendant", option.id);
    else this.input.removeAttribute("aria-activedescendant");
  }

  private key(event: KeyboardEvent): void {
    const { length } = this.options;
    switch (event.key) {
      case "ArrowDown":
      case "ArrowUp": {
        if (length === 0) return;
        event.preventDefault();
        this.open(true);
        const step = event.key === "ArrowDown" ? 1 : -1;
        // Above the first and below the last is the field itself.
        const places = length + 1;
        this.activate(((this.active + 1 + step + places) % places) - 1);
        return;
      }
      case "Enter":
        event.preventDefault();
        if (this.options[this.active]) this.choose(this.options[this.active]!.result);
        else if (this.running) this.isAwaited = true;
        else this.chooseFirst();
        return;
      case "Escape":
        event.preventDefault();
        event.stopPropagation();
        if (this.popover.hidden) this.empty();
        else this.open(false);
        return;
    }
  }

  private chooseFirst(): void {
    const [first] = this.options;
    if (first) this.choose(first.result);
  }

  private choose(result: SearchResult): void {
    this.stop();
    this.input.value = this.textsOf(result)[0];
    this.clear.hidden = false;
    this.open(false);
    this.input.blur();
    this.parts.choose(result);
  }
}

const isSame = (one: SearchResult, other: SearchResult): boolean =>
  one.kind === other.kind &&
  (one.kind === "object" && other.kind === "object"
    ? one.id === other.id && one.layer === other.layer
    : one.kind === "layer" && other.kind === "layer"
      ? one.layer === other.layer
      : true);

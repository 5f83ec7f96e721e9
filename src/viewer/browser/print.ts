import type { Locale } from "./attributes.js";
import { button, h, icon } from "./dom.js";
import { scaleBar } from "./map-controls.js";
import type { MapView } from "./map-view.js";

/**
 * The map on paper, with its title, the legend of the layers that are on, scale, sources and date. The browser's own
 * command prints what the page shows; that of the page draws the map for the paper first.
 */

export interface PrintParts {
  readonly root: HTMLElement;
  readonly locale: Locale;
  readonly view: MapView;
  /** What stands on the paper; undefined while no map is open. */
  readonly shown: () => PrintedMap | undefined;
  /** Loads the legends of the layers that are on. */
  readonly loadLegends: () => Promise<void>;
  /** Loads tiles for paper, or those for the screen again. */
  readonly sharpen: (isOnPaper: boolean) => void;
}
export interface PrintedMap {
  readonly title: string;
  readonly project: string;
  /** Names of the sources. */
  readonly sources: string;
}
type Paper = "portrait" | "landscape";

/** Pixels of 1/96 inch, which A4 and Letter have room for: 190 × 196 mm, and 200 × 152 mm. */
const frames: Readonly<Record<Paper, { readonly width: number; readonly height: number }>> = {
  portrait: { width: 718, height: 740 },
  landscape: { width: 756, height: 574 },
};
/** How much smaller symbols and labels may be on paper, so that it shows what the page does. */
const mostShrunk = 1.5;
const longestWaitMs = 20_000;

export class Printer {
  /** Its parts are seen on paper only. */
  readonly element: HTMLElement;
  private readonly title = h("h1", { class: "print-title" });
  private readonly project = h("p", {});
  private readonly legend = h("ul", { class: "print-legend" });
  private readonly sources = h("span", {});
  private readonly date = h("span", {});
  /** The title that was typed for the paper. */
  private typed: string | undefined;

  constructor(private readonly parts: PrintParts) {
    const { view, locale } = parts;
    this.element = h(
      "div",
      { class: "print-sheet" },
      h("header", { class: "print-head" }, this.title, this.project),
      this.legend,
      h("footer", { class: "print-foot" }, scaleBar(view.map, locale), this.sources, this.date),
    );
    window.addEventListener("beforeprint", () => this.layOut());
  }

  /** Asks for title and paper, and prints. */
  async ask(): Promise<void> {
    const shown = this.parts.shown();
    if (!shown) return;
    const { t } = this.parts.locale;
    const chosen = await choosePaper(this.parts.locale, shown.title);
    if (!chosen) return;
    const waiting = h("div", { class: "print-wait" }, h("p", { role: "status" }, t("preparingPrint")));
    document.body.append(waiting);
    const { root, view, sharpen, loadLegends } = this.parts;
    this.typed = chosen.title;
    const page = new CSSStyleSheet();
    page.insertRule(`@page { size: ${chosen.paper}; }`);
    try {
      const { width, height } = frames[chosen.paper];
      const size = view.map.getSize();
      const shrunk = Math.max(1, Math.min(mostShrunk, Math.max(size.x / width, size.y / height)));
      view.resize({ width: Math.round(width * shrunk), height: Math.round(height * shrunk) });
      sharpen(true);
      const pane = view.map.getPane("tilePane")!;
      await inTime(Promise.all([tilesLoaded(pane), loadLegends().then(() => imagesLoaded(root))]));
      document.adoptedStyleSheets = [...document.adoptedStyleSheets, page];
      root.dataset.paper = chosen.paper;
      await print();
    } finally {
      document.adoptedStyleSheets = document.adoptedStyleSheets.filter((sheet) => sheet !== page);
      delete root.dataset.paper;
      this.typed = undefined;
      view.resize(undefined);
      sharpen(false);
      waiting.remove();
    }
  }

  /** Writes what stands around the map, and how much smaller it has to be on either paper. */
  private layOut(): void {
    const { view, shown, locale, root } = this.parts;
    const { title = "", project = "", sources = "" } = shown() ?? {};
    this.title.textContent = this.typed ?? title;
    this.project.textContent = project;
    this.sources.textContent = sources;
    this.date.textContent = new Intl.DateTimeFormat(locale.language, { dateStyle: "long" }).format(
      new Date(),
    );
    this.legend.replaceChildren(...legendEntries(root));
    const size = view.map.getSize();
    root.style.setProperty("--print-width", `${size.x}px`);
    root.style.setProperty("--print-height", `${size.y}px`);
    for (const [paper, { width, height }] of Object.entries(frames))
      root.style.setProperty(`--print-${paper}`, String(Math.min(width / size.x, height / size.y)));
  }
}

/** The layers that are on, as the layers panel shows them. */
function legendEntries(root: HTMLElement): HTMLElement[] {
  const rows = [...root.querySelectorAll<HTMLElement>(".tree-row:has(input[role=switch]:checked)")];
  return rows.map((row) => {
    const symbol = row.querySelector(".swatch")?.cloneNode(true);
    const classes = row.parentElement?.querySelector(":scope > .legend")?.cloneNode(true);
    if (classes instanceof HTMLElement) {
      classes.hidden = false;
      classes.removeAttribute("id");
    }
    const name = h("span", {}, row.querySelector(".tree-name")?.textContent ?? "");
    return h("li", {}, h("div", { class: "print-layer" }, symbol, name), classes);
  });
}

/** Until all tiles are there, and nothing else is to come. */
async function tilesLoaded(pane: HTMLElement): Promise<void> {
  const end = Date.now() + longestWaitMs;
  // Pictures of before go when those that follow have faded in.
  for (let calm = 0; calm < 4 && Date.now() < end; ) {
    await pause(100);
    calm = pane.querySelector("img:not(.leaflet-tile-loaded)") ? 0 : calm + 1;
  }
}

/** Until the symbols of the legends are there. */
async function imagesLoaded(root: HTMLElement): Promise<void> {
  const images = [...root.querySelectorAll<HTMLImageElement>(".tree img")];
  await Promise.allSettled(images.map((image) => image.decode()));
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** Waits, but not for long: what has not come then is not on the paper. */
const inTime = (work: Promise<unknown>): Promise<unknown> => Promise.race([work, pause(longestWaitMs)]);

/** Prints; ends when the browser's dialog is closed, or, where that is not told, when the page is used again. */
function print(): Promise<void> {
  const events = ["afterprint", "pointerdown", "keydown"];
  return new Promise((resolve) => {
    const done = () => {
      for (const event of events) window.removeEventListener(event, done);
      resolve();
    };
    for (const event of events) window.addEventListener(event, done);
    window.print();
  });
}

/** Asks for the title and the paper; undefined when it was cancelled. */
function choosePaper({ t }: Locale, title: string): Promise<{ title: string; paper: Paper } | undefined> {
  const field = h("input", {
    class: "field",
    id: "print-title",
    value: title,
    maxlength: 200,
    autocomplete: "off",
  });
  const isWide = window.innerWidth > window.innerHeight;
  const papers = (["portrait", "landscape"] as const).map((paper) => {
    const input = h("input", {
      ...{ type: "radio", name: "paper", value: paper },
      checked: (paper === "landscape") === isWide,
    });
    return { paper, input, element: h("label", { class: "paper" }, input, t(paper)) };
  });
  let result: { title: string; paper: Paper } | undefined;
  const form = h(
    "form",
    { class: "sign-in" },
    h(
      "header",
      {},
      h("h2", { id: "print-heading" }, t("print")),
      button({ class: "icon-button", "aria-label": t("close") }, () => dialog.close(), icon("close")),
    ),
    h("label", { for: "print-title" }, t("printTitle")),
    field,
    h("fieldset", { class: "papers" }, h("legend", {}, t("paper")), ...papers.map(({ element }) => element)),
    h("button", { type: "submit", class: "button main wide" }, icon("print"), t("print")),
  );
  const dialog = h("dialog", { class: "card dialog", "aria-labelledby": "print-heading" }, form);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const paper = papers.find(({ input }) => input.checked)?.paper ?? "portrait";
    result = { title: field.value.trim(), paper };
    dialog.close();
  });
  dialog.addEventListener("pointerdown", (event) => {
    if (event.target === dialog) dialog.close();
  });
  document.body.append(dialog);
  dialog.showModal();
  field.select();
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => {
      dialog.remove();
      resolve(result);
    });
  });
}

import type { Locale } from "./attributes.js";
import { h } from "./dom.js";
import { scaleBar } from "./map-controls.js";
import type { MapView } from "./map-view.js";

/**
 * What stands on paper around the map: its title, the legend of the layers that are on, scale, sources and date. The browser's
 * own command prints what the page shows; that of the page (`tools/print.ts`) draws the map for the paper first.
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
export type Paper = "portrait" | "landscape";

export interface Size {
  readonly width: number;
  readonly height: number;
}

/** Pixels of 1/96 inch within the margins: the shorter side is that of A4, the longer one that of Letter. */
const papers: Readonly<Record<Paper, Size>> = {
  portrait: { width: 718, height: 980 },
  landscape: { width: 980, height: 718 },
};
/** Between the map and what stands around it. In a row: beside the map. */
const gap = { row: 23, column: 12 };
/** Of a legend beside the map. */
const legendWidth = 200;
/** Longer legends go on on the next page. */
const leastMap = 480;
const border = 1;

/** What tells the browser how the paper lies. */
export function pageOf(paper: Paper): CSSStyleSheet {
  const page = new CSSStyleSheet();
  page.insertRule(`@page { size: ${paper}; }`);
  return page;
}

export class PrintSheet {
  /** Its parts are seen on paper only. */
  readonly element: HTMLElement;
  private readonly title = h("h1", { class: "print-title" });
  private readonly project = h("p", {});
  private readonly legend = h("ul", { class: "print-legend" });
  private readonly sources = h("span", {});
  private readonly date = h("span", {});
  /** The title that was typed for the paper. */
  typed: string | undefined;

  constructor(readonly parts: PrintParts) {
    const { view, locale } = parts;
    this.element = h(
      "div",
      { class: "print-sheet" },
      h("header", { class: "print-head" }, this.title, this.project),
      this.legend,
      h("footer", { class: "print-foot" }, scaleBar(view.map, locale), this.sources, this.date),
    );
    window.addEventListener("beforeprint", () => {
      this.write();
      this.layOut();
      if (!parts.root.dataset.paper) this.turnPaper();
    });
  }

  /** Lets the browser's own command print along the longer side of the map, which would else leave half of the paper empty. */
  private turnPaper(): void {
    const { x, y } = this.parts.view.map.getSize();
    const turned = pageOf(x > y ? "landscape" : "portrait");
    document.adoptedStyleSheets = [...document.adoptedStyleSheets, turned];
    const end = () => {
      document.adoptedStyleSheets = document.adoptedStyleSheets.filter((one) => one !== turned);
    };
    window.addEventListener("afterprint", end, { once: true });
  }

  /** What the map has room for on a paper, beside the rest. */
  roomOn(paper: Paper): Size {
    this.write();
    return this.measure(paper);
  }

  /** Writes what stands around the map. */
  private write(): void {
    const { shown, locale, root } = this.parts;
    const { title = "", project = "", sources = "" } = shown() ?? {};
    this.title.textContent = this.typed ?? title;
    // A map may have its project's name.
    this.project.textContent = project === this.title.textContent ? "" : project;
    this.sources.textContent = sources;
    this.date.textContent = new Intl.DateTimeFormat(locale.language, { dateStyle: "long" }).format(
      new Date(),
    );
    this.legend.replaceChildren(
      ...legendEntries(root),
      ...missingTexts(root, ".base-row").map((text) => h("li", {}, text)),
    );
  }

  /** Says how large the map is, and how much smaller it has to be on either paper. */
  private layOut(): void {
    const { view, root } = this.parts;
    const size = view.map.getSize();
    root.style.setProperty("--print-width", `${size.x}px`);
    root.style.setProperty("--print-height", `${size.y}px`);
    for (const paper of ["portrait", "landscape"] as const) {
      const { width, height } = this.measure(paper);
      root.style.setProperty(`--print-${paper}`, String(Math.min(width / size.x, height / size.y)));
    }
  }

  private measure(paper: Paper): Size {
    const { width, height } = papers[paper];
    const isBeside = paper === "landscape";
    const { element, legend } = this;
    element.dataset.measured = paper;
    element.style.width = `${width}px`;
    const parts = [...element.children] as HTMLElement[];
    const around = parts.filter((part) => !(isBeside && part === legend));
    const used = around.reduce((sum, part) => sum + part.offsetHeight + gap.column, 0);
    delete element.dataset.measured;
    element.style.width = "";
    return {
      width: width - (isBeside && legend.firstChild ? legendWidth + gap.row : 0) - 2 * border,
      height: Math.max(leastMap, height - used) - 2 * border,
    };
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
    return h("li", {}, h("div", { class: "print-layer" }, symbol, name), ...missingTexts(row), classes);
  });
}

/** What the signs in a row say, of what cannot be drawn just now. */
const missingTexts = (root: Element, within = ""): HTMLElement[] =>
  [...root.querySelectorAll(`${within} .missing-sign:not([hidden])`)].map((sign) =>
    h("p", { class: "print-missing" }, sign.getAttribute("aria-label") ?? ""),
  );

import { button, h, icon } from "../dom.js";
import { type MapInfo, type ProjectInfo, rights } from "../map-server.js";
import type { Translate } from "../texts.js";
import { keepFocus } from "./focus.js";

export interface HomeEvents {
  choose(map: MapInfo): void;
  newMap(): void;
  /** Opens the menu of a map, at a button beside it. */
  menu(map: MapInfo, opener: HTMLElement): void;
  /** A button for files. */
  readonly upload: HTMLElement;
  /** A button for links and tables. */
  readonly link: HTMLElement;
}

/** The maps of a project, before one is opened. */
export class Home {
  readonly element = h("main", { class: "home", hidden: true });
  private readonly title = h("h1", { tabindex: -1 });

  constructor(
    private readonly t: Translate,
    private readonly events: HomeEvents,
  ) {}

  /** @param focused code of the map whose entry has the focus, if nothing else has it */
  show(project: ProjectInfo, focused?: string): void {
    const { t, events, title } = this;
    const names = project.maps.map(nameOf);
    // By name only they could not be told apart.
    const twins = new Set(names.filter((name, at) => names.indexOf(name) !== at));
    const had = this.focused;
    title.textContent = project.name || project.code;
    this.element.replaceChildren(
      h(
        "section",
        { class: "card home-card" },
        h("header", {}, title, h("p", {}, t("consoleHint"))),
        h(
          "div",
          { class: "home-drop" },
          icon("upload"),
          h("strong", {}, t("dropHere")),
          h("p", {}, t("dropFormats")),
          h(
            "div",
            { class: "home-actions" },
            events.upload,
            events.link,
            button({ class: "button" }, () => events.newMap(), icon("plus"), t("newMap")),
          ),
        ),
        ...(project.maps.length > 0
          ? [
              h("h2", {}, t("maps")),
              h(
                "ul",
                { class: "home-maps" },
                ...project.maps.map((map) => this.entry(map, twins.has(nameOf(map)))),
              ),
            ]
          : []),
      ),
    );
    this.element.hidden = false;
    const entry = (code: string | undefined) =>
      code === undefined
        ? undefined
        : this.element.querySelector<HTMLElement>(`[data-map="${CSS.escape(code)}"]`);
    keepFocus(entry(focused), entry(had), title);
  }

  /** What had the focus may be gone. */
  keepFocus(): void {
    if (!this.element.hidden) keepFocus(this.title);
  }

  hide(): void {
    this.element.hidden = true;
  }

  /** Code of the map that is beside another one in the list: where the focus goes when that is gone. */
  beside(code: string): string | undefined {
    const entries = [...this.element.querySelectorAll<HTMLElement>("[data-map]")];
    const at = entries.findIndex(({ dataset }) => dataset.map === code);
    return (entries[at + 1] ?? entries[at - 1])?.dataset.map;
  }

  private get focused(): string | undefined {
    const entry = document.activeElement?.closest(".home-entry");
    return entry?.querySelector<HTMLElement>("[data-map]")?.dataset.map;
  }

  private entry(map: MapInfo, isTwin: boolean): HTMLElement {
    const { t, events } = this;
    const label = t("layerMenu", { name: isTwin ? `${nameOf(map)} (${map.code})` : nameOf(map) });
    const opener = button(
      { class: "icon-button small home-more", "aria-label": label, title: label, "aria-expanded": "false" },
      () => events.menu(map, opener),
      icon("more"),
    );
    const mayChange = ((map.access ?? 0) & rights.administer) !== 0;
    return h(
      "li",
      { class: "home-entry" },
      button(
        { class: "home-map", "data-map": map.code },
        () => events.choose(map),
        icon(map.isPrivate ? "lock" : "map"),
        h("span", { class: "home-name" }, nameOf(map), isTwin && h("small", {}, map.code)),
        map.isPrivate && h("span", { class: "pill" }, t("privateMap")),
      ),
      ...(mayChange ? [opener] : []),
    );
  }
}

const nameOf = ({ name, code }: MapInfo): string => name || code;

import { button, h, icon } from "../dom.js";
import type { MapInfo, ProjectInfo } from "../map-server.js";
import type { Translate } from "../texts.js";

/** The maps of a project, before one is opened. */
export class Home {
  readonly element = h("main", { class: "home", hidden: true });

  constructor(
    private readonly t: Translate,
    private readonly events: {
      choose(map: MapInfo): void;
      newMap(): void;
      /** A button for files. */
      readonly upload: HTMLElement;
    },
  ) {}

  show(project: ProjectInfo): void {
    const { t } = this;
    const entry = (map: MapInfo) =>
      h(
        "li",
        {},
        button(
          { class: "home-map" },
          () => this.events.choose(map),
          icon(map.isPrivate ? "lock" : "map"),
          h("span", { class: "home-name" }, map.name || map.code),
          map.isPrivate && h("span", { class: "pill" }, t("privateMap")),
        ),
      );
    this.element.replaceChildren(
      h(
        "section",
        { class: "card home-card" },
        h("header", {}, h("h1", {}, project.name || project.code), h("p", {}, t("consoleHint"))),
        h(
          "div",
          { class: "home-drop" },
          icon("upload"),
          h("strong", {}, t("dropHere")),
          h("p", {}, t("dropFormats")),
          h(
            "div",
            { class: "home-actions" },
            this.events.upload,
            button({ class: "button" }, () => this.events.newMap(), icon("plus"), t("newMap")),
          ),
        ),
        ...(project.maps.length > 0
          ? [h("h2", {}, t("maps")), h("ul", { class: "home-maps" }, ...project.maps.map(entry))]
          : []),
      ),
    );
    this.element.hidden = false;
  }

  hide(): void {
    this.element.hidden = true;
  }
}

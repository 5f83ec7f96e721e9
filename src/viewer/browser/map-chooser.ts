import { button, h, icon } from "./dom.js";
import type { MapId, MapInfo, ProjectInfo } from "./map-server.js";
import type { Translate } from "./texts.js";

/** Shows the current project and map, and opens the list of all maps. */
export class MapChooser {
  readonly element: HTMLElement;
  private readonly title = h("span", { class: "chooser-title" });
  private readonly subtitle = h("span", { class: "chooser-project" });
  private readonly opener: HTMLButtonElement;
  private readonly popover = h("div", { class: "card chooser-list", id: "chooser-list", hidden: true });
  private readonly filter: HTMLInputElement;
  private readonly groups = h("div", { class: "chooser-groups" });
  private projects: readonly ProjectInfo[] = [];
  private current: MapId | undefined;

  constructor(
    private readonly t: Translate,
    private readonly choose: (mapId: MapId) => void,
  ) {
    this.opener = button(
      {
        class: "chooser-button",
        "aria-expanded": "false",
        "aria-controls": "chooser-list",
        title: t("chooseMap"),
      },
      () => this.open(this.popover.hidden),
      h("img", {
        class: "logo",
        src: new URL("favicon.svg", import.meta.url).href,
        alt: "",
        width: 32,
        height: 32,
      }),
      h("span", { class: "chooser-text" }, this.title, this.subtitle),
      h("span", { class: "chooser-mark" }, icon("chevron")),
    );
    this.filter = h("input", {
      type: "search",
      class: "field",
      placeholder: t("findMap"),
      "aria-label": t("findMap"),
      autocomplete: "off",
      spellcheck: "false",
    });
    this.filter.addEventListener("input", () => this.list());
    this.popover.append(h("div", { class: "chooser-filter" }, icon("search"), this.filter), this.groups);
    this.element = h(
      "nav",
      { class: "chooser", "aria-label": t("maps") },
      h("div", { class: "card" }, this.opener),
      this.popover,
    );
    this.element.addEventListener("keydown", (event) => this.key(event));
    document.addEventListener("pointerdown", (event) => {
      if (!this.element.contains(event.target as Node)) this.open(false);
    });
  }

  update(projects: readonly ProjectInfo[], current: MapId | undefined): void {
    this.projects = projects;
    this.current = current;
    const project = projects.find((candidate) => candidate.code === current?.project);
    const map = project?.maps.find((candidate) => candidate.code === current?.map);
    this.title.textContent = map?.name || current?.map || this.t("chooseMap");
    this.title.title = this.title.textContent;
    this.subtitle.textContent = project?.name || project?.code || "Mapwright";
    this.subtitle.hidden = this.subtitle.textContent === this.title.textContent;
    this.list();
  }

  open(isOpen: boolean): void {
    if (this.popover.hidden === !isOpen) return;
    this.popover.hidden = !isOpen;
    this.opener.setAttribute("aria-expanded", String(isOpen));
    if (!isOpen) return;
    this.filter.value = "";
    this.list();
    const many = this.projects.reduce((sum, project) => sum + project.maps.length, 0) > 8;
    this.filter.parentElement!.hidden = !many;
    const first = many ? this.filter : this.groups.querySelector<HTMLElement>("[aria-current], button");
    first?.focus({ preventScroll: true });
  }

  private list(): void {
    const search = this.filter.value.trim().toLocaleLowerCase();
    const matches = (map: MapInfo) => `${map.name} ${map.code}`.toLocaleLowerCase().includes(search);
    const groups = this.projects
      .map((project) => ({ project, maps: project.maps.filter(matches) }))
      .filter(({ maps }) => maps.length > 0)
      .map(({ project, maps }) =>
        h(
          "section",
          {},
          h("h3", {}, project.name || project.code),
          h("ul", {}, ...maps.map((map) => h("li", {}, this.entry(project, map)))),
        ),
      );
    this.groups.replaceChildren(
      ...(groups.length > 0 ? groups : [h("p", { class: "hint" }, this.t("noMapsFound"))]),
    );
  }

  private entry(project: ProjectInfo, map: MapInfo): HTMLElement {
    const isCurrent = project.code === this.current?.project && map.code === this.current.map;
    return button(
      { class: "chooser-entry", "aria-current": isCurrent && "true" },
      () => {
        this.open(false);
        this.opener.focus();
        this.choose({ project: project.code, map: map.code });
      },
      icon(map.isPrivate ? "lock" : "map"),
      h("span", { class: "chooser-text" }, map.name || map.code),
      map.isPrivate && h("span", { class: "pill" }, this.t("privateMap")),
      isCurrent && icon("check"),
    );
  }

  private key(event: KeyboardEvent): void {
    if (this.popover.hidden) return;
    if (event.key === "Escape") {
      this.open(false);
      this.opener.focus();
      event.stopPropagation();
      return;
    }
    if (event.key !== "ArrowDown" && event.key !== "ArrowUp") return;
    const entries = [...this.groups.querySelectorAll<HTMLElement>("button")];
    const at = entries.indexOf(document.activeElement as HTMLElement);
    const next = at + (event.key === "ArrowDown" ? 1 : -1);
    (next < 0 ? this.filter : entries[Math.min(next, entries.length - 1)])?.focus();
    event.preventDefault();
  }
}

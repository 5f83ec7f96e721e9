import { type Address, formatAddress, parseAddress } from "./address.js";
import type { Reader } from "./attributes.js";
import { mapControls, scaleBar } from "./corners.js";
import { h } from "./dom.js";
import { LayerTree } from "./layer-tree.js";
import { LayersPanel } from "./layers-panel.js";
import { MapChooser } from "./map-chooser.js";
import { type MapPlace, type MapServer, type ProjectInfo, ServerError } from "./map-server.js";
import { MapView } from "./map-view.js";
import { ObjectFinder } from "./object-finder.js";
import type { Sessions } from "./sessions.js";
import { shareLink } from "./share.js";
import { askToSignIn } from "./sign-in.js";
import { Stage } from "./stage.js";
import { type Language, rememberLanguage } from "./texts.js";
import { MapPicture } from "./tiles.js";
import { Toasts } from "./toasts.js";
import { Toolbar } from "./toolbar.js";

export interface ViewerParts {
  readonly server: MapServer;
  readonly sessions: Sessions;
  readonly reader: Reader;
  readonly language: Language;
}

/** The whole page: which map is open, what of it is shown, and the address that says so. */
export class Viewer {
  private readonly toasts: Toasts;
  private readonly stage = new Stage();
  private readonly progress = h("div", { class: "progress", "aria-hidden": "true" });
  private readonly attribution = h("div", { class: "attribution" });
  private readonly chooser: MapChooser;
  private readonly layers: LayersPanel;
  private readonly toolbar: Toolbar;
  private readonly view: MapView;
  private readonly picture: MapPicture;
  private readonly finder: ObjectFinder;
  private projects: readonly ProjectInfo[] = [];
  private place: MapPlace | undefined;
  private tree: LayerTree | undefined;
  /** Counts openings, so that a slow answer for a map that was left changes nothing. */
  private opening = 0;
  private checkingSession = false;

  constructor(
    root: HTMLElement,
    private readonly parts: ViewerParts,
  ) {
    const { reader, server } = parts;
    const { t } = reader;
    this.toasts = new Toasts(t);
    const mapElement = h("div", { class: "map", id: "map" });
    root.append(mapElement);
    this.view = new MapView(mapElement, t("mapLabel"), {
      moved: () => this.writeAddress(),
      clicked: (click) => void this.finder.find(click),
    });
    this.picture = new MapPicture(this.view.map, {
      loading: (isLoading) => this.progress.classList.toggle("busy", isLoading),
      failed: () => void this.tilesFailed(),
    });
    this.finder = new ObjectFinder({ server, reader, view: this.view, toasts: this.toasts }, () =>
      this.place && this.tree ? { place: this.place, tree: this.tree } : undefined,
    );
    this.chooser = new MapChooser(t, (place) => this.choose(place));
    this.layers = new LayersPanel(t, {
      changed: () => this.layersChanged(),
      zoomTo: (item) => this.view.fit(this.tree?.extent([item])),
    });
    this.toolbar = new Toolbar(t, parts.language, {
      share: () => void shareLink(this.link(), t, this.toasts),
      signIn: () => void this.signIn(),
      signOut: () => void this.signOut(),
      speak: (language) => {
        rememberLanguage(language);
        location.reload();
      },
    });
    const controls = mapControls(this.view.map, reader, {
      home: () => this.view.fit(this.tree?.extent()),
      locate: () => void this.locate(),
    });
    root.append(
      this.progress,
      h("div", { class: "side" }, this.chooser.element, this.layers.element),
      this.toolbar.element,
      this.finder.panel.element,
      controls,
      h("div", { class: "bottom-line" }, scaleBar(this.view.map, reader), this.attribution),
      this.stage.element,
      this.toasts.element,
    );
    this.toolbar.showUser(undefined);
    this.chooser.update([], undefined);
    window.addEventListener("popstate", () => void this.follow(parseAddress(location.hash)));
  }

  /** Reads what there is to see and opens the map of the address, or the first one. */
  async start(): Promise<void> {
    const { t } = this.parts.reader;
    this.stage.loading(t("loadingMap"));
    try {
      await this.loadProjects();
    } catch (error) {
      this.showFailure(error, () => void this.start());
      return;
    }
    await this.follow(parseAddress(location.hash));
  }

  private async loadProjects(): Promise<void> {
    this.projects = await this.parts.server.projects();
    this.chooser.update(this.projects, this.place);
  }

  private async follow(address: Address): Promise<void> {
    const listed =
      address.project === undefined
        ? (this.projects.find(({ maps }) => maps.length > 0) ?? this.projects[0])
        : this.projects.find(({ code }) => code === address.project);
    // A project without public maps is not listed: whether there is the map of a link, the server knows.
    const project = address.project ?? listed?.code;
    const map = address.map ?? listed?.maps[0]?.code;
    if (project !== undefined && map !== undefined) await this.open({ project, map }, address);
    else if (address.project !== undefined && !listed && this.projects.length > 0) this.showUnknown();
    else this.showEmpty();
  }

  private choose(place: MapPlace): void {
    history.pushState(null, "", formatAddress({ ...place, view: undefined, layers: undefined, base: true }));
    void this.follow(parseAddress(location.hash));
  }

  /** Opens a map as an address wants it. */
  private async open(place: MapPlace, address: Address): Promise<void> {
    const { t } = this.parts.reader;
    const opening = ++this.opening;
    const isOther = place.project !== this.place?.project || place.map !== this.place?.map;
    const isNew = isOther || !this.tree;
    if (isOther) this.leave();
    this.place = place;
    this.showPlace();
    this.stage.loading(t("loadingMap"));
    try {
      const elements = await this.parts.server.layers(place);
      if (opening !== this.opening) return;
      this.tree = new LayerTree(elements, address.layers);
    } catch (error) {
      if (opening === this.opening) this.showFailure(error, () => void this.open(place, address));
      return;
    }
    this.stage.clear();
    if (address.view) this.view.look(address.view);
    else if (isNew) this.view.fit(this.tree.extent(), false);
    this.layers.show(this.tree, this.hasBase ? address.base : undefined);
    this.layersChanged();
  }

  private leave(): void {
    this.finder.close();
    this.picture.clear();
    this.layers.hide();
    this.tree = undefined;
  }

  private get project(): ProjectInfo | undefined {
    return this.projects.find(({ code }) => code === this.place?.project);
  }

  /** Whatever the page says about the open map besides its layers. */
  private showPlace(): void {
    const { t } = this.parts.reader;
    this.chooser.update(this.projects, this.place);
    this.toolbar.showUser(this.place && this.parts.sessions.of(this.place.project)?.login);
    const map = this.project?.maps.find(({ code }) => code === this.place?.map);
    const title = map?.name || this.place?.map || t("viewerTitle");
    document.title = `${title} · Mapwright`;
  }

  /** Whether tiles have a base map: the built-in one is the only one that is drawn. */
  private get hasBase(): boolean {
    return (this.project?.base ?? "builtin") === "builtin";
  }

  private layersChanged(): void {
    if (!this.place || !this.tree) return;
    const { t } = this.parts.reader;
    const base = this.layers.base && this.hasBase;
    // "No base map" needs no saying where the project has none.
    const asked = base || !this.hasBase;
    this.picture.show(this.parts.server.tiles(this.place, { layers: this.tree.selection, base: asked }));
    const map = this.project?.maps.find(({ code }) => code === this.place?.map);
    const sources = [map?.attribution, base ? t("attributionBase") : undefined];
    this.attribution.replaceChildren(
      ...["Mapwright", ...sources].filter((source) => source).map((source) => h("span", {}, source)),
    );
    this.writeAddress();
  }

  private get address(): Address {
    return {
      project: this.place?.project,
      map: this.place?.map,
      view: this.view.view,
      layers: this.tree?.selection,
      base: this.layers.base,
    };
  }

  /** What is shown; before anything is shown, what the link asks for. */
  private get wanted(): Address {
    return this.tree ? this.address : parseAddress(location.hash);
  }

  private writeAddress(): void {
    if (this.tree) history.replaceState(null, "", formatAddress(this.address));
  }

  private link(): string {
    return new URL(formatAddress(this.address), location.href).href;
  }

  private async signIn(): Promise<void> {
    const { server, reader } = this.parts;
    const current = this.place?.project ?? this.wanted.project ?? this.projects[0]?.code;
    const project = await askToSignIn({ server, t: reader.t }, this.projects, current);
    if (project === undefined) return;
    await this.loadProjects().catch(() => undefined); // the maps listed before stay
    const here = this.place?.project === project;
    await this.follow(here ? this.wanted : parseAddress(`#project=${encodeURIComponent(project)}`));
  }

  private async signOut(): Promise<void> {
    if (!this.place) return;
    await this.parts.server.signOut(this.place.project);
    this.toasts.show(this.parts.reader.t("signedOut"));
    await this.readAgain();
  }

  /** After a session has ended: the lists and the open map as the public sees them. */
  private async readAgain(): Promise<void> {
    await this.loadProjects().catch(() => undefined); // opening the map tells what is wrong
    if (this.place) await this.open(this.place, this.wanted);
  }

  /** Tiles that do not come may mean that the session has ended. */
  private async tilesFailed(): Promise<void> {
    const { t } = this.parts.reader;
    const project = this.place?.project;
    if (project === undefined || this.checkingSession) return;
    if (!this.parts.sessions.of(project)) {
      this.toasts.show(t("tilesFailed"), "bad");
      return;
    }
    this.checkingSession = true;
    const alive = await this.parts.server.checkSession(project).finally(() => {
      this.checkingSession = false;
    });
    this.toasts.show(t(alive ? "tilesFailed" : "sessionEnded"), "bad");
    if (!alive) await this.readAgain();
  }

  private async locate(): Promise<void> {
    const { t } = this.parts.reader;
    this.toasts.show(t("locating"));
    try {
      await this.view.locate();
    } catch (error) {
      const isDenied = error instanceof GeolocationPositionError && error.code === error.PERMISSION_DENIED;
      this.toasts.show(t(isDenied ? "locateDenied" : "locateFailed"), "bad");
    }
  }

  private showEmpty(): void {
    const { t } = this.parts.reader;
    this.leave();
    const signIn = { label: t("signIn"), isMain: true, press: () => void this.signIn() };
    this.stage.message({ icon: "map", title: t("emptyTitle"), text: t("emptyHint"), actions: [signIn] });
  }

  private showUnknown(): void {
    const { t } = this.parts.reader;
    this.leave();
    const choose = { label: t("chooseMap"), isMain: true, press: () => this.chooser.open(true) };
    this.stage.message({ icon: "map", title: t("unknownTitle"), text: t("unknownHint"), actions: [choose] });
  }

  private showFailure(error: unknown, again: () => void): void {
    const { t } = this.parts.reader;
    this.leave();
    const failure = error instanceof ServerError ? error : new ServerError(500, undefined);
    if (failure.status === 404 || failure.code === "project_not_found") {
      this.showUnknown();
      return;
    }
    if (failure.status === 401 || failure.status === 403) {
      const session = this.place && this.parts.sessions.of(this.place.project);
      if (failure.status === 401 && this.place) this.parts.sessions.remove(this.place.project);
      this.showPlace();
      const signIn = { label: t("signIn"), isMain: true, press: () => void this.signIn() };
      const text = t(session && failure.status === 403 ? "forbiddenHint" : "privateHint");
      this.stage.message({ icon: "lock", title: t("privateTitle"), text, actions: [signIn] });
      return;
    }
    const text = t(
      failure.status === 0 ? "failedOffline" : failure.status === 503 ? "busyServer" : "failedServer",
    );
    this.stage.message({
      icon: "alert",
      title: t("failedTitle"),
      text,
      actions: [{ label: t("retry"), isMain: true, press: again }],
    });
  }
}

import { type Address, type BaseChoice, formatAddress, maxTranslucent, parseAddress } from "./address.js";
import type { Locale } from "./attributes.js";
import { copyText } from "./clipboard.js";
import { coordinatesText, pointerCoordinates } from "./coordinates.js";
import type { DataLanguages } from "./data-languages.js";
import { h } from "./dom.js";
import { WholeLink } from "./embed.js";
import { FirstCover } from "./first-cover.js";
import { boxOfView } from "./first-view.js";
import { type Language, rememberLanguage } from "./language.js";
import { hasObjects, LayerTree, type TreeItem } from "./layer-tree.js";
import { baseAttribution, LayersPanel, ownBase } from "./layers-panel.js";
import { type ChangedArea, LiveChanges } from "./live-changes.js";
import { MapChooser } from "./map-chooser.js";
import { mapControls, scaleBar } from "./map-controls.js";
import {
  type MapId,
  type MapInfo,
  type MapServer,
  type ProjectInfo,
  rights,
  ServerError,
} from "./map-server.js";
import { MapView } from "./map-view.js";
import { MissingLayers } from "./missing-layers.js";
import { ObjectFinder } from "./object-finder.js";
import { Opacities } from "./opacities.js";
import { opacitySlider } from "./opacity-slider.js";
import { Pictures } from "./pictures.js";
import { PopupMenu } from "./popup-menu.js";
import { MyPosition } from "./position.js";
import { type PrintedMap, PrintSheet } from "./print.js";
import { SearchBox } from "./search-box.js";
import { goToResult } from "./search-choice.js";
import type { Sessions } from "./sessions.js";
import { withMovableBorder } from "./side-width.js";
import { showSignInDialog } from "./sign-in.js";
import { Stage } from "./stage.js";
import { loadFailedMessage, noMapsMessage, privateMapMessage, unknownMessage } from "./stage-messages.js";
import type { TextKey } from "./texts.js";
import { TileStack } from "./tile-stack.js";
import { Toasts } from "./toasts.js";
import { Toolbar } from "./toolbar.js";
import { Tools } from "./tools.js";

export interface ViewerParts {
  /** Whether it is shown in a page of others: without sessions, with its panels folded. */
  readonly isEmbedded: boolean;
  readonly server: MapServer;
  readonly sessions: Sessions;
  readonly locale: Locale;
  readonly language: Language;
  readonly dataLanguages: DataLanguages;
}

/** A session that was good is not asked for again for so long. */
const sessionCheckMs = 5_000;

/** The page: connects its parts, opens maps, and keeps the URL fragment in step with what is shown. */
export class Viewer {
  private readonly toasts: Toasts;
  private readonly stage = new Stage();
  private readonly progress = h("div", { class: "progress", "aria-hidden": "true" });
  private readonly attribution = h("div", { class: "attribution" });
  private readonly chooser: MapChooser;
  private readonly layers: LayersPanel;
  private readonly toolbar: Toolbar;
  private readonly whole: WholeLink;
  private readonly view: MapView;
  private readonly cover: FirstCover;
  private readonly tiles: TileStack;
  private readonly missing: MissingLayers;
  private readonly live: LiveChanges;
  private readonly finder: ObjectFinder;
  private readonly symbols = new Pictures();
  private readonly menu = new PopupMenu();
  private readonly opacities = new Opacities();
  private readonly tools: Tools;
  private readonly search: SearchBox;
  /** The project that the page is for, if it is known. */
  private projects: readonly ProjectInfo[] = [];
  /** The code that it was asked for by. */
  private loaded: string | undefined;
  /** Number of addresses gone to, so that a late list for a previous one is ignored. */
  private navigation = 0;
  private mapId: MapId | undefined;
  private tree: LayerTree | undefined;
  /** Number of maps opened, so that a late response for a previous map is ignored. */
  private opening = 0;
  private isSessionChecked = false;
  private hasToldFailure = false;

  constructor(
    root: HTMLElement,
    private readonly parts: ViewerParts,
  ) {
    const { locale, server } = parts;
    const { t } = locale;
    this.toasts = new Toasts(t);
    const mapElement = h("div", { class: "map", id: "map" });
    root.append(mapElement);
    this.view = new MapView(mapElement, t("mapLabel"), {
      moved: () => this.moved(),
      clicked: (click) => void this.finder.find(click),
      menu: (latlng) => this.openMapMenu(latlng),
    });
    this.cover = new FirstCover(this.view.map);
    this.tiles = new TileStack(this.view.map, {
      loading: (isLoading) => {
        this.progress.classList.toggle("busy", isLoading);
        if (isLoading) return;
        this.cover.complete();
        this.missing.update();
      },
      doubtful: () => void this.checkSession(),
      failed: () => this.tilesFailed(),
      complete: () => {
        this.hasToldFailure = false;
        this.layers.markFailed(undefined);
      },
      drawn: (address, missing) => this.missing.drawn(address, missing),
    });
    this.missing = new MissingLayers(this.tiles, (codes) => this.layers.markMissing(codes));
    this.live = new LiveChanges({
      changed: (areas) => {
        this.renewTiles(areas);
        this.tools.changed();
      },
      mapChanged: () => void this.mapChanged(),
      mapUnwatched: () => void this.mapChanged({ ifOther: true }),
      sessionDoubtful: () => void this.checkSession(),
    });
    const opened = () => (this.mapId && this.tree ? { mapId: this.mapId, tree: this.tree } : undefined);
    this.finder = new ObjectFinder({ server, locale, view: this.view, toasts: this.toasts }, opened, () =>
      this.writeAddress(),
    );
    this.tools = new Tools({
      ...{ server, locale, view: this.view, toasts: this.toasts, root, opened },
      showObject: (hit, columns, latlng) =>
        this.finder.panel.show({
          hits: [hit],
          hasMore: false,
          columns: { known: () => columns, of: () => Promise.resolve(columns) },
          latlng,
        }),
    });
    this.search = new SearchBox({
      server,
      t,
      opened,
      choose: (result) =>
        this.tree &&
        goToResult(result, {
          tree: this.tree,
          view: this.view,
          finder: this.finder,
          switchOn: (layer) => this.switchOn(layer),
        }),
    });
    this.chooser = new MapChooser(t, (mapId) => this.choose(mapId));
    root.classList.toggle("embedded", parts.isEmbedded);
    this.layers = new LayersPanel(locale, parts.isEmbedded, {
      changed: () => this.layersChanged(),
      zoomTo: (item) => this.view.fit(this.tree?.extent([item])),
      menu: (item, opener) => this.openLayerMenu(item, opener),
    });
    this.toolbar = new Toolbar(t, parts.language, {
      share: () => void this.tools.share(() => ({ link: this.link(), ...this.titled })),
      signIn: () => void this.signIn(),
      signOut: () => void this.signOut(),
      changeLanguage: (language) => {
        rememberLanguage(language);
        location.reload();
      },
      changeDataLanguage: (language) => void this.changeDataLanguage(language),
    });
    const position = new MyPosition(this.view.map, t, this.toasts);
    this.whole = new WholeLink(t, () => this.link());
    const controls = mapControls(this.view.map, locale, parts.isEmbedded, {
      home: () => this.view.fit(this.tree?.extent()),
      measure: () => void this.tools.openMeasure(),
      bookmarks: () =>
        void this.tools.showBookmarks(() => ({
          title: this.titled.title,
          address: formatAddress(this.requested),
          open: (address) => {
            history.pushState(null, "", address);
            void this.navigate(parseAddress(address));
          },
        })),
      locate: (control) => position.press(control),
      print: () => void this.tools.print(sheet),
    });
    const sheet = new PrintSheet({
      ...{ root, locale, view: this.view },
      shown: () => this.printed,
      loadLegends: () => this.layers.loadLegends(),
      sharpen: (isOnPaper) => {
        server.hasSharpTiles = isOnPaper || L.Browser.retina;
        this.layersChanged();
      },
    });
    const { isEmbedded } = parts;
    const side = h(
      "div",
      { class: "side" },
      isEmbedded ? this.whole.element : this.chooser.element,
      this.search.element,
      isEmbedded ? this.layers.element : withMovableBorder(this.layers.element, t),
    );
    this.view.panels = { side: isEmbedded ? undefined : side, object: this.finder.panel.element };
    root.append(
      this.progress,
      side,
      ...(isEmbedded ? [] : [this.toolbar.element]),
      this.finder.panel.element,
      this.menu.element,
      controls,
      h(
        "footer",
        { class: "bottom-line" },
        pointerCoordinates(this.view.map, t),
        scaleBar(this.view.map, locale),
        this.attribution,
      ),
      this.stage.element,
      this.toasts.element,
      sheet.element,
    );
    this.toolbar.showUser(undefined);
    this.chooser.update([], undefined);
    window.addEventListener("popstate", () => void this.navigate(parseAddress(location.hash)));
  }

  /** Loads the project and opens the map of the URL, or the first one. */
  async start(): Promise<void> {
    const { t } = this.parts.locale;
    this.stage.loading(t("loadingMap"));
    const { project, map, language } = parseAddress(location.hash);
    if (project !== undefined) this.parts.dataLanguages.follow(project, language);
    if (project !== undefined && map !== undefined) this.parts.server.expect({ project, map });
    try {
      await this.loadProjects(project);
    } catch (error) {
      this.showFailure(error, () => void this.start());
      return;
    }
    await this.navigate(parseAddress(location.hash));
  }

  /** Of other projects nothing is shown. */
  private async loadProjects(project = this.mapId?.project): Promise<void> {
    const { navigation } = this;
    const projects = await this.parts.server.projects(project);
    if (navigation !== this.navigation) return;
    this.projects = projects;
    this.loaded = project;
    this.chooser.update(this.projects, this.mapId);
  }

  private async navigate(address: Address): Promise<void> {
    const navigation = ++this.navigation;
    const isOther = address.project !== undefined && address.project !== this.loaded;
    if (isOther && !this.projects.some(({ code }) => code === address.project)) {
      try {
        await this.loadProjects(address.project);
      } catch (error) {
        if (navigation === this.navigation) this.showFailure(error, () => void this.navigate(address));
        return;
      }
    }
    const listed =
      address.project === undefined
        ? this.projects[0]
        : this.projects.find(({ code }) => code === address.project);
    // Projects without public maps are not listed, so that only the server can tell whether the map exists.
    const project = address.project ?? listed?.code;
    const map = address.map ?? listed?.maps[0]?.code;
    if (project !== undefined && this.parts.dataLanguages.follow(project, address.language))
      await this.loadProjects(project).catch(() => undefined); // the previous list stays
    if (navigation !== this.navigation) return;
    if (project !== undefined && map !== undefined) await this.open({ project, map }, address);
    else this.showEmpty();
  }

  private choose(mapId: MapId): void {
    history.pushState(
      null,
      "",
      formatAddress({ ...mapId, view: undefined, layers: undefined, base: "own", object: undefined }),
    );
    void this.navigate(parseAddress(location.hash));
  }

  /** Opens a map with the view and layers of an address. */
  private async open(mapId: MapId, address: Address): Promise<void> {
    const { t } = this.parts.locale;
    const opening = ++this.opening;
    const isOther = mapId.project !== this.mapId?.project || mapId.map !== this.mapId?.map;
    const isNew = isOther || !this.tree;
    if (isOther) this.closeMap();
    this.mapId = mapId;
    this.showMapInfo();
    this.stage.loading(t("loadingMap"));
    try {
      const elements = await this.parts.server.layers(mapId);
      if (opening !== this.opening) return;
      this.tree = new LayerTree(elements, address.layers);
    } catch (error) {
      if (opening === this.opening) this.showFailure(error, () => void this.open(mapId, address));
      return;
    }
    this.stage.clear();
    this.opacities.set(address.opacity);
    if (address.view) this.view.setView(address.view);
    else if (isNew) this.showStart(this.tree);
    this.showLayers(this.tree, address.base);
    this.search.show(true);
    this.layersChanged();
    const { server } = this.parts;
    this.live.open(server.changes(mapId), this.cover.since ?? performance.now(), () => server.stateOf(mapId));
    void this.finder.follow(address.object, { goTo: !address.view });
  }

  /** Shows what the map shall show at first; all of its data if that is not said. */
  private showStart(tree: LayerTree): void {
    const start = this.listed?.startView;
    if (start) this.view.fit(boxOfView(start), false, this.view.map.getMaxZoom());
    else this.view.fit(tree.extent(), false);
  }

  /** Shows the open map as it is now, with the layers that are switched on. @param of.ifOther not if its layers are as before */
  private async mapChanged({ ifOther = false } = {}): Promise<void> {
    const { mapId, opening } = this;
    if (!mapId || !this.tree) return;
    try {
      const before = this.ownBase;
      this.parts.server.forgetState(mapId);
      const [elements] = await Promise.all([
        this.parts.server.layers(mapId),
        this.loadProjects().catch(() => undefined), // the previous list stays
      ]);
      if (opening !== this.opening || !this.tree) return;
      const isSame = JSON.stringify(elements) === JSON.stringify(this.tree.elements);
      if (ifOther && isSame && before === this.ownBase) {
        this.layers.describe(this.listed?.description);
        return;
      }
      this.tree = new LayerTree(elements, this.tree.selection);
    } catch (error) {
      if (opening === this.opening) this.unreadable(error, mapId);
      return;
    }
    this.showLayers(this.tree, this.layers.base);
    this.layersChanged();
    this.renewTiles(undefined);
  }

  /** Who may not read the open map any more is told; what else went wrong may pass, and what is shown stays. */
  private unreadable(error: unknown, mapId: MapId): void {
    const status = error instanceof ServerError ? error.status : undefined;
    if (status === 401 && this.parts.sessions.of(mapId.project)) void this.checkSession();
    else if (status === 401 || status === 403 || status === 404) {
      const { address } = this;
      this.showFailure(error, () => void this.open(mapId, address));
    }
  }

  private showLayers(tree: LayerTree, choice: BaseChoice): void {
    if (!this.mapId) return;
    this.symbols.clear();
    const legends = this.parts.server.legends(this.mapId, this.symbols);
    this.layers.show(tree, { ...ownBase(this.project, this.listed), choice }, legends);
    this.layers.describe(this.listed?.description);
    this.layers.zoomed(this.view.view.zoom);
  }

  private closeMap(): void {
    if (this.mapId) this.parts.server.forgetState(this.mapId);
    // Before the others, so that nothing of it is written to the address any more.
    this.tree = undefined;
    this.finder.close();
    this.tools.closeMap();
    this.search.show(false);
    this.live.close();
    this.tiles.clear();
    this.layers.hide();
  }

  private showNoMap(): void {
    this.cover.end();
    this.closeMap();
  }

  private openLayerMenu(item: TreeItem, opener: HTMLElement): void {
    const { t } = this.parts.locale;
    const slider = opacitySlider(t, this.opacities.of(item.layerId), {
      refusal: this.opacities.mayChange(item.layerId)
        ? undefined
        : t("opacityRefused", { n: maxTranslucent }),
      changed: (opacity, isFinal) => {
        this.opacities.change(item.layerId, opacity);
        if (isFinal) this.layersChanged();
        else this.showTiles();
      },
    });
    const actions = hasObjects(item)
      ? ([
          { icon: "table", label: t("openTable"), press: () => void this.tools.openTable(item) },
          { icon: "chart", label: t("openChart"), press: () => void this.tools.openTable(item, true) },
        ] as const)
      : [];
    const label = t("layerMenu", { name: item.title });
    this.menu.open({ label, at: opener.getBoundingClientRect(), opener, parts: [slider] }, actions);
  }

  /** What can be done with a place of the map. */
  private openMapMenu(latlng: L.LatLng): void {
    const { t } = this.parts.locale;
    const { map } = this.view;
    const { x, y } = map.latLngToContainerPoint(latlng);
    const coordinates = coordinatesText(latlng, Math.max(15, map.getZoom()));
    const { lat, lng: lon } = latlng.wrap();
    const copy = async (text: string, done: TextKey) => {
      if (await copyText(text)) this.toasts.show(t(done), "good");
      else this.toasts.show(text);
    };
    const link = () => {
      const view = { zoom: map.getZoom(), lat, lon };
      return new URL(formatAddress({ ...this.address, view }), location.href).href;
    };
    this.menu.open(
      { label: t("placeMenu"), at: { left: x, top: y, bottom: y }, opener: map.getContainer() },
      [
        { icon: "copy", label: coordinates, press: () => void copy(coordinates, "coordinatesCopied") },
        { icon: "share", label: t("linkHere"), press: () => void copy(link(), "linkCopied") },
        { icon: "ruler", label: t("measureHere"), press: () => void this.tools.openMeasure(latlng) },
      ],
    );
  }

  private get project(): ProjectInfo | undefined {
    return this.projects.find(({ code }) => code === this.mapId?.project);
  }

  /** The open map, as the list has it. */
  private get listed(): MapInfo | undefined {
    return this.project?.maps.find(({ code }) => code === this.mapId?.map);
  }

  /** The base map that the open map has. */
  private get ownBase(): ProjectInfo["base"] {
    return ownBase(this.project, this.listed).own;
  }

  /** The language that was chosen for the data of the open map, if its project has it. */
  private get dataLanguage(): string | undefined {
    const chosen = this.mapId && this.parts.dataLanguages.of(this.mapId.project);
    return this.project?.languages.includes(chosen ?? "") === false ? undefined : chosen;
  }

  /** The way to the console, for who may edit there. */
  private get editLink(): { icon: "pencil"; label: string; address: string } | undefined {
    const access = this.listed?.access ?? this.project?.access ?? 0;
    if (!this.mapId || (access & rights.structure) === 0) return undefined;
    const { project, map } = this.mapId;
    const fragment = new URLSearchParams({ project, map });
    return { icon: "pencil", label: this.parts.locale.t("editMap"), address: `console/#${fragment}` };
  }

  private async changeDataLanguage(language: string | undefined): Promise<void> {
    if (!this.mapId) return;
    this.finder.close();
    this.tools.closeMap();
    this.parts.dataLanguages.choose(this.mapId.project, language);
    await this.reload();
  }

  /** Updates map chooser, languages, user and page title for the open map. */
  private showMapInfo(): void {
    const { t } = this.parts.locale;
    this.chooser.update(this.projects, this.mapId);
    this.whole.show(this.titled.title);
    this.toolbar.showUser(this.mapId && this.parts.sessions.of(this.mapId.project)?.login);
    this.toolbar.showLink(this.editLink);
    this.toolbar.languages.showData(this.project?.languages ?? [], this.dataLanguage);
    document.title = `${this.titled.title || t("viewerTitle")} · Mapwright`;
  }

  private get printed(): PrintedMap | undefined {
    if (!this.tree || !this.mapId) return undefined;
    const sources = [...this.attribution.children].map(({ textContent }) => textContent).join(" · ");
    return { title: this.titled.title, project: this.project?.name || this.mapId.project, sources };
  }

  private layersChanged(): void {
    if (!this.mapId || !this.tree) return;
    const { t } = this.parts.locale;
    this.showTiles();
    const base = baseAttribution(
      t,
      { own: this.ownBase, choice: this.layers.base },
      this.project?.baseAttribution,
    );
    const sources = [this.listed?.attribution, base];
    this.attribution.replaceChildren(
      ...["Mapwright", ...sources].filter((source) => source).map((source) => h("span", {}, source)),
    );
    this.writeAddress();
  }

  private showTiles(): void {
    const { mapId, tree } = this;
    if (!mapId || !tree) return;
    const pictures = this.opacities
      .pictures(tree, this.layers.base)
      .map(({ opacity, ...shows }) => ({ source: this.parts.server.tiles(mapId, shows), opacity }));
    this.cover.showing(pictures.map(({ source }) => source));
    this.tiles.show(pictures);
  }

  private renewTiles(areas: readonly ChangedArea[] | undefined): void {
    this.cover.end();
    this.tiles.renew(areas);
  }

  private switchOn(layer: TreeItem): void {
    if (!this.tree || this.tree.shown(layer) === "all") return;
    this.tree.set(layer, true);
    this.showLayers(this.tree, this.layers.base);
    this.layersChanged();
  }

  private get address(): Address {
    const opacity = this.opacities.changed;
    const language = this.dataLanguage;
    return {
      project: this.mapId?.project,
      map: this.mapId?.map,
      view: this.view.view,
      layers: this.tree?.selection,
      base: this.layers.base,
      ...(opacity && { opacity }),
      object: this.finder.shown,
      ...(language !== undefined && { language }),
    };
  }

  /** The current view; before a map is shown, the address in the URL. */
  private get requested(): Address {
    return this.tree ? this.address : parseAddress(location.hash);
  }

  private moved(): void {
    this.layers.zoomed(this.view.view.zoom);
    this.writeAddress();
  }

  private writeAddress(): void {
    if (this.tree) history.replaceState(null, "", formatAddress(this.address));
  }

  /** The link to what is shown; that of the whole viewer. */
  private link(): string {
    const page = new URL("./", location.href);
    return new URL(formatAddress(this.address), page).href;
  }

  /** The open map, as it is named. */
  private get titled(): { readonly title: string; readonly isPublic: boolean } {
    const map = this.listed;
    return { title: map?.name || this.mapId?.map || "", isPublic: map !== undefined && !map.isPrivate };
  }

  private async signIn(): Promise<void> {
    const { server, locale, isEmbedded } = this.parts;
    // A page of others could show its own text around the fields.
    if (isEmbedded) {
      window.open(new URL(`./${location.hash}`, location.href), "_blank", "noopener");
      return;
    }
    const current = this.mapId?.project ?? this.requested.project ?? this.projects[0]?.code;
    const project = await showSignInDialog({ server, t: locale.t }, this.projects, current);
    if (project === undefined) return;
    await this.loadProjects(project).catch(() => undefined); // the previous list stays
    const here = this.mapId?.project === project;
    await this.navigate(here ? this.requested : parseAddress(`#project=${encodeURIComponent(project)}`));
  }

  private async signOut(): Promise<void> {
    if (!this.mapId) return;
    await this.parts.server.signOut(this.mapId.project);
    this.toasts.show(this.parts.locale.t("signedOut"));
    await this.reload();
  }

  /** Loads the projects and the open map again, for another user or in another language. */
  private async reload(): Promise<void> {
    await this.loadProjects().catch(() => undefined); // opening the map shows the error
    if (this.mapId) await this.open(this.mapId, this.requested);
  }

  private tilesFailed(): void {
    const text = this.parts.locale.t(navigator.onLine ? "tilesFailed" : "offline");
    this.layers.markFailed(text);
    if (this.hasToldFailure) return;
    this.hasToldFailure = true;
    this.toasts.show(text, "bad");
  }

  /** Tiles may fail because the session has ended, or the map is gone: this is asked at the first, before many more are refused. */
  private async checkSession(): Promise<void> {
    const project = this.mapId?.project;
    if (project === undefined || this.isSessionChecked) return;
    this.isSessionChecked = true;
    window.setTimeout(() => {
      this.isSessionChecked = false;
    }, sessionCheckMs);
    const { sessions, server } = this.parts;
    // Who is not signed in may see less than before, too, and a map may be deleted.
    if (!sessions.of(project) || (await server.checkSession(project))) {
      await this.mapChanged({ ifOther: true });
      return;
    }
    this.toasts.show(this.parts.locale.t("sessionEnded"), "bad");
    // Who signs in again finds the view that was asked for last.
    await this.view.zoomed();
    await this.reload();
  }

  private showEmpty(): void {
    const { t } = this.parts.locale;
    this.showNoMap();
    this.stage.message(noMapsMessage(t, () => void this.signIn()));
  }

  private showUnknown(what: "map" | "project"): void {
    const { t } = this.parts.locale;
    this.showNoMap();
    document.title = `${t(what === "map" ? "unknownTitle" : "unknownProject")} · Mapwright`;
    const hasMaps = this.projects.some(({ maps }) => maps.length > 0);
    // Without the names of the link the server shows the maps that there are.
    const lead = hasMaps ? () => this.chooser.open(true) : () => location.assign("./");
    this.stage.message(unknownMessage(t, what, this.parts.isEmbedded ? undefined : lead));
  }

  showFailure(error: unknown, retry: () => void): void {
    const { t } = this.parts.locale;
    this.showNoMap();
    const failure = error instanceof ServerError ? error : new ServerError(500, undefined);
    const isUnknownProject = failure.code === "project_not_found";
    if (failure.status === 404 || isUnknownProject) {
      this.showUnknown(isUnknownProject ? "project" : "map");
      return;
    }
    if (failure.status === 401 || failure.status === 403) {
      const session = this.mapId && this.parts.sessions.of(this.mapId.project);
      if (failure.status === 401 && this.mapId) this.parts.sessions.remove(this.mapId.project);
      this.showMapInfo();
      const isForbidden = session !== undefined && failure.status === 403;
      this.stage.message(privateMapMessage(t, isForbidden, () => void this.signIn()));
      return;
    }
    this.stage.message(loadFailedMessage(t, failure, retry));
  }
}

import { type Address, type BaseChoice, formatAddress, parseAddress } from "../address.js";
import { isAttended } from "../attention.js";
import type { Locale } from "../attributes.js";
import type { DataLanguages } from "../data-languages.js";
import { h } from "../dom.js";
import { type Language, rememberLanguage } from "../language.js";
import { LayerTree, type TreeItem } from "../layer-tree.js";
import { baseAttribution, LayersPanel } from "../layers-panel.js";
import { MapChooser } from "../map-chooser.js";
import { mapControls, scaleBar } from "../map-controls.js";
import {
  type MapId,
  type MapInfo,
  type MapServer,
  type ProjectInfo,
  rights,
  ServerError,
} from "../map-server.js";
import { MapView } from "../map-view.js";
import { Pictures } from "../pictures.js";
import { PopupMenu } from "../popup-menu.js";
import type { Sessions } from "../sessions.js";
import { showSignInDialog } from "../sign-in.js";
import { Stage } from "../stage.js";
import { TileStack } from "../tile-stack.js";
import { Toasts } from "../toasts.js";
import { Toolbar } from "../toolbar.js";
import { DropTarget } from "./drop-target.js";
import { Edits } from "./edits.js";
import { Home } from "./home.js";
import { Importer } from "./importer.js";
import { MapEdits } from "./map-edits.js";
import { problemOf, problemText } from "./problem.js";
import { confirmed, showPublishDialog } from "./publish-dialog.js";
import { StylePanel } from "./style-panel.js";
import {
  type DropPlace,
  EditableTree,
  itemIn,
  placeAt,
  type Step,
  siblingsOf,
  stepTo,
} from "./tree-editing.js";

export interface ConsoleParts {
  readonly server: MapServer;
  readonly sessions: Sessions;
  readonly locale: Locale;
  readonly language: Language;
  readonly dataLanguages: DataLanguages;
}

/** Work in the page, which asks for nothing, keeps the session at such intervals. */
const keepMs = 60_000;
/** So many changes may wait for their turn. */
const mostWaiting = 50;
/** Tiles name so many layers: what lies longer in addresses than servers read is left to the map's own choice. */
const mostNamed = 200;

const keyOf = ({ project, map }: MapId): string => `${project}/${map}`;
const isSame = (one: MapId | undefined, other: MapId): boolean =>
  one?.project === other.project && one.map === other.map;

/** The page in which maps are made: connects its parts, opens maps, and keeps the URL fragment in step with what is shown. */
export class Console {
  private readonly toasts: Toasts;
  private readonly stage = new Stage();
  private readonly progress = h("div", { class: "progress", "aria-hidden": "true" });
  private readonly attribution = h("div", { class: "attribution" });
  private readonly side: HTMLElement;
  private readonly view: MapView;
  private readonly tiles: TileStack;
  private readonly chooser: MapChooser;
  private readonly layers: LayersPanel;
  private readonly toolbar: Toolbar;
  private readonly menu = new PopupMenu();
  private readonly symbols = new Pictures();
  private readonly rows: EditableTree;
  private readonly style: StylePanel;
  private readonly home: Home;
  private readonly drop: DropTarget;
  private readonly edits: Edits;
  private readonly changes: MapEdits;
  private readonly importer: Importer;
  private readonly dialogs: {
    readonly root: HTMLElement;
    readonly locale: Locale;
    readonly toasts: Toasts;
  };
  private projects: readonly ProjectInfo[] = [];
  private projectCode: string | undefined;
  private mapId: MapId | undefined;
  private tree: LayerTree | undefined;
  /** Of the open map; the user may switch it off. */
  private base: BaseChoice = "own";
  /** Maps that were made here, and of which nobody has chosen yet who sees them: publishing opens them. */
  private readonly unpublished = new Set<string>();
  /** The login that was used last. */
  private login = "";
  /** Number of addresses gone to, so that a late answer for a previous one is ignored. */
  private navigation = 0;
  /** Numbers of the latest tree that was asked for, and of that which is shown: older ones are let go. */
  private readonly trees = { asked: 0, shown: 0 };
  /** Whether a tree has come that could not be shown, for its rows were being edited. */
  private isTreeLate = false;
  /** Changes of maps are made one after the other, each of what the one before has left. */
  private turn: Promise<unknown> = Promise.resolve();
  private waiting = 0;
  private isMaking = false;

  constructor(
    private readonly root: HTMLElement,
    private readonly parts: ConsoleParts,
  ) {
    const { locale, server, sessions } = parts;
    const { t } = locale;
    this.toasts = new Toasts(t);
    this.dialogs = { root, locale, toasts: this.toasts };
    const mapElement = h("div", { class: "map", id: "map" });
    root.append(mapElement);
    this.view = new MapView(mapElement, t("mapLabel"), {
      moved: () => this.layers.zoomed(this.view.view.zoom),
      clicked: () => undefined,
      menu: () => undefined,
    });
    this.tiles = new TileStack(this.view.map, {
      loading: (isLoading) => this.progress.classList.toggle("busy", isLoading),
      doubtful: () => undefined,
      failed: () => this.layers.markFailed(t("tilesFailed")),
      complete: () => this.layers.markFailed(undefined),
      drawn: () => undefined,
    });
    this.edits = new Edits(sessions, (project) => this.signInAgain(project));
    this.changes = new MapEdits(this.edits, server);
    this.importer = new Importer(this.edits, t, {
      project: () => this.projectCode!,
      mayHide: () => ((this.project?.access ?? 0) & rights.administer) !== 0,
      opened: (map) => this.openMade(map),
      imported: (map, layerIds) =>
        this.imported(map, layerIds).catch((error: unknown) =>
          this.toasts.show(problemText(error, t), "bad"),
        ),
      removed: (map, isMapGone) => this.removed(map, isMapGone),
    });
    this.drop = new DropTarget(
      t,
      () => this.mayEdit(this.mapId?.map) && document.querySelector("dialog[open]") === null,
      (files) => this.importer.start(files, this.mapId),
    );
    this.rows = new EditableTree(t, {
      choose: (item) => this.openStyle(item),
      rename: (map, item, name) =>
        void this.edit(map, () => this.changes.rename(map, item, name), item.element.id),
      remove: (map, item) => void this.remove(map, item),
      step: (map, item, to, isHeld) => {
        // A key that is held goes as fast as the server does.
        if (!isHeld || this.waiting === 0) this.step(map, item, to);
      },
      moveTo: (map, item, target, where) => this.moveTo(map, item, target, where),
      settled: () => {
        if (this.isTreeLate) void this.reloadTree().catch((error: unknown) => this.tell(error));
      },
    });
    this.chooser = new MapChooser(t, (mapId) => void this.go(mapId));
    this.layers = new LayersPanel(locale, false, {
      changed: () => {
        this.base = this.layers.base;
        this.showTiles();
      },
      zoomTo: (item) => this.view.fit(this.tree?.extent([item])),
      menu: (item, opener) => this.openMenu(item, opener),
      editing: this.rows,
    });
    this.style = new StylePanel(t, {
      columns: ({ element }) =>
        this.mapId
          ? this.edits.inSession(this.mapId.project, () => server.structure(this.mapId!, element.code))
          : Promise.resolve([]),
      save: (item, css) => {
        const mapId = this.mapId!;
        return this.inTurn(async () => {
          // Who does not sign in is not asked once more.
          const notes = await this.changes.style(mapId, item, css).catch(async (error: unknown) => {
            // The next attempt is for what is there now.
            if (error instanceof ServerError && error.status === 412 && isSame(this.mapId, mapId))
              await this.reloadTree();
            throw error;
          });
          if (isSame(this.mapId, mapId)) await this.reloadTree();
          return notes;
        });
      },
      closed: (item) => {
        this.rows.choose(undefined);
        if (item) this.rows.focus(item.element.id);
      },
    });
    this.toolbar = new Toolbar(
      t,
      parts.language,
      {
        share: () => void this.publish(),
        signIn: () => void this.signIn(),
        signOut: () => void this.signOut(),
        changeLanguage: (language) => {
          rememberLanguage(language);
          location.reload();
        },
        changeDataLanguage: (language) => {
          if (this.projectCode === undefined) return;
          parts.dataLanguages.choose(this.projectCode, language);
          void this.reloadTree();
        },
      },
      { icon: "share", label: t("publish") },
    );
    this.home = new Home(t, {
      choose: ({ code }) => void this.go({ project: this.projectCode!, map: code }),
      newMap: () => void this.newMap(),
      upload: this.drop.button("button main", t("chooseFiles")),
    });
    const add = this.drop.button("button wide add-data", t("addData"));
    this.layers.element.append(h("div", { class: "layers-add" }, add));
    this.side = h("div", { class: "side", hidden: true }, this.chooser.element, this.layers.element);
    this.view.panels = { side: this.side, object: this.style.element };
    const controls = mapControls(this.view.map, locale, true, {
      home: () => this.view.fit(this.tree?.extent()),
      measure: () => undefined,
      bookmarks: () => undefined,
      locate: () => undefined,
      print: () => undefined,
    });
    root.append(
      this.progress,
      this.home.element,
      this.side,
      this.toolbar.element,
      this.style.element,
      this.menu.element,
      controls,
      h("footer", { class: "bottom-line" }, scaleBar(this.view.map, locale), this.attribution),
      this.stage.element,
      this.importer.element,
      this.toasts.element,
      this.drop.overlay,
      this.drop.input,
    );
    window.addEventListener("popstate", () => void this.navigate(parseAddress(location.hash)));
    window.addEventListener("beforeunload", (event) => {
      if (this.style.hasDrafts || this.importer.isBusy) event.preventDefault();
    });
    window.setInterval(() => {
      if (this.projectCode !== undefined && isAttended()) void server.checkSession(this.projectCode);
    }, keepMs);
  }

  async start(): Promise<void> {
    this.root.classList.add("at-home");
    this.showUser();
    await this.navigate(parseAddress(location.hash));
  }

  private get project(): ProjectInfo | undefined {
    return this.projects.find(({ code }) => code === this.projectCode);
  }

  private get listed(): MapInfo | undefined {
    return this.project?.maps.find(({ code }) => code === this.mapId?.map);
  }

  /** Whether the user may edit in the project, or in a map of it: rights may be for one map only. */
  private mayEdit(map: string | undefined): boolean {
    const listed = this.project?.maps.find(({ code }) => code === map);
    return ((listed?.access ?? this.project?.access ?? 0) & rights.structure) !== 0;
  }

  private get chosen(): TreeItem | undefined {
    return this.itemOf(this.style.layerId);
  }

  private itemOf(layerId: number | undefined): TreeItem | undefined {
    return this.tree?.leaves.find((leaf) => leaf.layerId === layerId);
  }

  /** Opens a map, and puts its address into the history. */
  private async go(mapId: MapId): Promise<void> {
    const address = { ...parseAddress(""), ...mapId };
    history.pushState(null, "", `${location.pathname}${formatAddress(address)}`);
    await this.navigate(address);
  }

  private async navigate({ project, map }: Address): Promise<void> {
    const { t } = this.parts.locale;
    this.navigation++;
    const isCurrent = this.untilNavigation();
    // What is asked is about the map that was open.
    for (const dialog of document.querySelectorAll<HTMLDialogElement>("dialog.tool-dialog")) dialog.close();
    this.stage.loading(t("loadingMap"));
    try {
      await this.loadProject(project, isCurrent);
      if (!isCurrent()) return;
      if (!this.mayEdit(map)) {
        this.showRefusal();
        return;
      }
      if (map === undefined) this.showHome();
      else await this.open({ project: this.projectCode!, map }, isCurrent);
    } catch (error) {
      if (isCurrent())
        this.showFailure(error, () => void this.navigate({ ...parseAddress(""), project, map }));
    }
  }

  /** Loads a project with its maps, as its user sees it. Who has no session is asked to sign in. */
  private async loadProject(wanted = this.projectCode, isCurrent = this.untilNavigation()): Promise<void> {
    const { server, sessions } = this.parts;
    let code = wanted ?? sessions.projects()[0] ?? (await server.projects())[0]?.code;
    let projects: readonly ProjectInfo[] = [];
    const hasSession = () => code !== undefined && sessions.of(code) !== undefined;
    do {
      if (!isCurrent()) return;
      if (!hasSession()) {
        const signedIn = await this.askToSignIn(code);
        if (signedIn === undefined) break;
        code = signedIn;
      }
      // A session that has ended is forgotten by it.
      projects = await server.projects(code);
    } while (!hasSession());
    // A late answer is for what was left.
    if (!isCurrent()) return;
    this.projectCode = code;
    this.projects = projects;
    this.showUser();
  }

  /** Whether the page still shows what it shows now. */
  private untilNavigation(): () => boolean {
    const { navigation } = this;
    return () => navigation === this.navigation;
  }

  private showUser(): void {
    const code = this.projectCode;
    const login = code === undefined ? undefined : this.parts.sessions.of(code)?.login;
    if (login !== undefined) this.login = login;
    this.toolbar.showUser(login);
    this.toolbar.languages.showData(this.project?.languages ?? [], code && this.parts.dataLanguages.of(code));
    this.toolbar.main.hidden = this.mapId === undefined;
    const address = this.mapId && formatAddress({ ...parseAddress(""), ...this.mapId });
    this.toolbar.showLink(
      address === undefined
        ? undefined
        : { icon: "eye", label: this.parts.locale.t("openViewer"), address: `./${address}` },
    );
    this.chooser.update(this.projects, this.mapId);
    this.drop.tell(this.mapId && (this.listed?.name || this.mapId.map));
    const title = this.listed?.name || this.mapId?.map || this.project?.name || "";
    document.title = [title, this.parts.locale.t("consoleTitle"), "Mapwright"].filter(Boolean).join(" · ");
  }

  private closeMap(): void {
    this.rows.begin(undefined);
    this.menu.close();
    this.mapId = undefined;
    this.tree = undefined;
    this.style.close();
    this.tiles.clear();
    this.layers.hide();
    this.side.hidden = true;
    this.attribution.replaceChildren();
  }

  private showHome(): void {
    this.closeMap();
    this.showUser();
    this.stage.clear();
    this.root.classList.add("at-home");
    this.home.show(this.project!);
  }

  private async open(mapId: MapId, isCurrent: () => boolean): Promise<void> {
    const number = ++this.trees.asked;
    const elements = await this.edits.inSession(mapId.project, () => this.parts.server.allLayers(mapId));
    if (!isCurrent()) return;
    if (!isSame(this.mapId, mapId)) this.closeMap();
    this.trees.shown = number;
    this.mapId = mapId;
    this.tree = new LayerTree(elements);
    this.root.classList.remove("at-home");
    this.home.hide();
    this.stage.clear();
    this.side.hidden = false;
    this.showUser();
    this.showTree();
    this.view.fit(this.tree.extent(), false);
  }

  private showTree(): void {
    const { tree, mapId, project } = this;
    if (!tree || !mapId) return;
    this.symbols.clear();
    this.isTreeLate = false;
    const focused = this.rows.focused;
    this.rows.begin(mapId);
    const own = this.listed?.hasBackground ? "none" : (project?.base ?? "builtin");
    const offer = { own, choice: this.base, hasNames: project?.baseHasNames === true } as const;
    this.layers.show(tree, offer, this.parts.server.legends(mapId, this.symbols));
    this.layers.zoomed(this.view.view.zoom);
    this.rows.choose(this.chosen);
    this.style.renewed(this.chosen);
    if (focused !== undefined) this.rows.focus(focused);
    this.showTiles();
  }

  private showTiles(): void {
    const { tree, mapId, project } = this;
    if (!tree || !mapId) return;
    const { base } = this.layers;
    const { visible } = tree;
    const layers = visible.length > mostNamed ? tree.selection : visible.map(({ layerId }) => layerId);
    this.tiles.show([{ source: this.parts.server.tiles(mapId, { layers, base }), opacity: 1 }]);
    const own = this.listed?.hasBackground ? "none" : (project?.base ?? "builtin");
    const source = baseAttribution(this.parts.locale.t, { own, choice: base }, project?.baseAttribution);
    this.attribution.replaceChildren(h("span", {}, "Mapwright"), ...(source ? [h("span", {}, source)] : []));
  }

  /** Shows the open map as it is now. */
  private async reloadTree(): Promise<void> {
    const { mapId } = this;
    if (!mapId || !this.tree) return;
    const number = ++this.trees.asked;
    const elements = await this.edits.inSession(mapId.project, () => this.parts.server.allLayers(mapId));
    if (!isSame(this.mapId, mapId) || !this.tree || number < this.trees.shown) return;
    if (this.rows.isBusy) {
      this.isTreeLate = true;
      return;
    }
    this.trees.shown = number;
    const known = new Set(this.tree.leaves.map(({ layerId }) => layerId));
    const on = new Set(this.tree.visible.map(({ layerId }) => layerId));
    const next = new LayerTree(elements);
    // What was switched here stays; what is new is on.
    for (const leaf of next.leaves) next.set(leaf, on.has(leaf.layerId) || !known.has(leaf.layerId));
    this.tree = next;
    this.showTree();
    this.tiles.renew(undefined);
  }

  /** Does something when all that was begun before is done. @throws ServerError 503 when too much waits */
  private inTurn<T>(work: () => Promise<T>): Promise<T> {
    if (this.waiting >= mostWaiting) return Promise.reject(new ServerError(503, undefined));
    this.waiting++;
    const done = this.turn.then(work).finally(() => {
      this.waiting--;
    });
    this.turn = done.catch(() => undefined); // told where it was begun
    return done;
  }

  private tell(error: unknown): void {
    this.toasts.show(problemText(error, this.parts.locale.t), "bad");
  }

  /** Changes a map in its turn; what goes wrong is told. @param focused id of the element whose row has the focus afterwards */
  private async edit(map: MapId, change: () => Promise<unknown>, focused?: number): Promise<boolean> {
    const work = async () => {
      let isDone = true;
      try {
        await change();
      } catch (error) {
        isDone = false;
        this.tell(error);
      }
      if (!isSame(this.mapId, map)) return isDone;
      // Also after a failure: somebody else may have changed it.
      await this.reloadTree().catch((error: unknown) => this.tell(error));
      if (focused !== undefined && !this.rows.isBusy) this.rows.focus(focused);
      return isDone;
    };
    return this.inTurn(work).catch((error: unknown) => {
      this.tell(error);
      return false;
    });
  }

  private openStyle(item: TreeItem): void {
    if (item.isFolder) return;
    void this.style.open(item);
    this.rows.choose(item);
  }

  private openMenu(item: TreeItem, opener: HTMLElement): void {
    const { t } = this.parts.locale;
    const map = this.mapId;
    if (!map) return;
    const siblings = siblingsOf(this.tree?.roots ?? [], item);
    const at = siblings.indexOf(item);
    this.menu.open(
      { label: t("layerMenu", { name: item.title }), at: opener.getBoundingClientRect(), opener },
      [
        ...(item.isFolder
          ? []
          : [
              {
                icon: "brush" as const,
                label: t("styleOf"),
                press: () => {
                  this.openStyle(item);
                  this.style.focus();
                },
              },
            ]),
        { icon: "pencil", label: t("rename"), press: () => this.rows.rename(map, item) },
        ...(at > 0
          ? [{ icon: "arrowUp" as const, label: t("moveUp"), press: () => this.step(map, item, "up") }]
          : []),
        ...(at < siblings.length - 1
          ? [{ icon: "arrowDown" as const, label: t("moveDown"), press: () => this.step(map, item, "down") }]
          : []),
        { icon: "trash", label: t("delete"), press: () => void this.remove(map, item) },
      ],
    );
  }

  private step(map: MapId, item: TreeItem, to: Step): void {
    this.move(map, item, (roots, moved) => stepTo(roots, moved, to));
  }

  private moveTo(map: MapId, item: TreeItem, target: TreeItem, where: DropPlace): void {
    this.move(map, item, (roots) => {
      const found = itemIn(roots, target.element.id);
      return found && { target: found, where };
    });
  }

  /** Moves an item to where `goal` says when its turn comes. */
  private move(
    map: MapId,
    { element: { id } }: TreeItem,
    goal: (
      roots: readonly TreeItem[],
      item: TreeItem,
    ) => { readonly target: TreeItem; readonly where: DropPlace } | undefined,
  ): void {
    const change = async () => {
      const roots = (isSame(this.mapId, map) && this.tree?.roots) || [];
      const item = itemIn(roots, id);
      const found = item && goal(roots, item);
      const place = found && placeAt(roots, item, found.target, found.where);
      if (place) await this.changes.move(map, item, place);
    };
    void this.edit(map, change, id);
  }

  private async remove(map: MapId, item: TreeItem): Promise<void> {
    const { t } = this.parts.locale;
    const name = item.title;
    const isSure = await confirmed(this.dialogs, {
      title: t("deleteLayer", { name }),
      text: t(item.isFolder ? "deleteFolderText" : "deleteLayerText", { name }),
      action: t("delete"),
    });
    if (!isSure) return;
    const roots = this.tree?.roots ?? [];
    const now = itemIn(roots, item.element.id) ?? item;
    const next = stepTo(roots, now, "down") ?? stepTo(roots, now, "up") ?? stepTo(roots, now, "out");
    const isGone = await this.edit(map, () => this.changes.remove(map, item), next?.target.element.id);
    if (!isGone) return;
    const entry = await this.changes.inBin(map, item).catch(() => undefined);
    if (entry === undefined) return;
    const restore = () => void this.edit(map, () => this.changes.restore(map, entry), item.element.id);
    this.toasts.show(t("deletedName", { name }), "plain", { label: t("undo"), press: restore });
  }

  private openMade(map: MapId): Promise<void> {
    this.unpublished.add(keyOf(map));
    return this.go(map);
  }

  private async newMap(): Promise<void> {
    if (this.isMaking) return;
    this.isMaking = true;
    try {
      await this.openMade(await this.importer.newMap(this.parts.locale.t("newMapName")));
    } catch (error) {
      this.tell(error);
    } finally {
      this.isMaking = false;
    }
  }

  private async imported(map: MapId, layerIds: readonly number[]): Promise<void> {
    if (!isSame(this.mapId, map)) return;
    await this.reloadTree();
    const items = layerIds.flatMap((id) => this.itemOf(id) ?? []);
    this.view.fit(this.tree?.extent(items), false);
  }

  private async removed(map: MapId, isMapGone: boolean): Promise<void> {
    if (!isSame(this.mapId, map)) return;
    if (!isMapGone) {
      await this.reloadTree().catch(() => undefined); // the card tells what went wrong
      return;
    }
    const address = { ...parseAddress(""), project: map.project };
    history.replaceState(null, "", `${location.pathname}${formatAddress(address)}`);
    await this.navigate(address);
  }

  private async publish(): Promise<void> {
    const { mapId, tree } = this;
    const { t } = this.parts.locale;
    const { main } = this.toolbar;
    if (!mapId || !tree || main.disabled) return;
    main.disabled = true;
    try {
      const mayChange = ((this.listed?.access ?? 0) & rights.administer) !== 0;
      const on = new Set(tree.visible.map(({ layerId }) => layerId));
      let readersSee = await this.changes.readersSee(mapId, on);
      if (this.unpublished.has(keyOf(mapId)) && mayChange && this.listed?.isPrivate) {
        if (readersSee === "behind") {
          await this.changes.savePublication(mapId, on);
          readersSee = "same";
        }
        await this.changes.changeMap(mapId, { isPublic: true });
        this.unpublished.delete(keyOf(mapId));
      }
      await this.loadProject();
      if (!isSame(this.mapId, mapId)) return;
      const page = new URL("./", document.baseURI);
      page.hash = formatAddress({ ...parseAddress(""), ...mapId });
      showPublishDialog(
        this.dialogs,
        {
          title: this.listed?.name || mapId.map,
          isPublic: this.listed?.isPrivate === false,
          link: page.href,
          mayChange,
          readersSee,
        },
        {
          change: async (change) => {
            await this.changes.changeMap(mapId, change);
            // It is changed, whether the list of maps can be read or not.
            await this.loadProject().catch((error: unknown) => this.tell(error));
          },
          saveShown: () => this.changes.savePublication(mapId, on),
        },
      );
    } catch (error) {
      this.toasts.show(problemText(error, t), "bad");
    } finally {
      main.disabled = false;
    }
  }

  private async askToSignIn(project: string | undefined, hint?: string): Promise<string | undefined> {
    const { server, locale } = this.parts;
    const again = { login: this.login, hint: hint ?? locale.t("consoleSignIn") };
    return showSignInDialog({ server, t: locale.t }, this.projects, project, again);
  }

  /** In the middle of something, which goes on afterwards. */
  private async signInAgain(project: string): Promise<boolean> {
    this.parts.sessions.remove(project);
    const signedIn = await this.askToSignIn(project, this.parts.locale.t("consoleSignInAgain"));
    this.showUser();
    if (signedIn === project) this.showTiles();
    return signedIn === project;
  }

  private async signIn(): Promise<void> {
    const project = await this.askToSignIn(this.projectCode);
    if (project === undefined) return;
    const { map } = parseAddress(location.hash);
    await this.navigate({
      ...parseAddress(""),
      project,
      map: project === this.projectCode ? map : undefined,
    });
  }

  private async signOut(): Promise<void> {
    if (this.projectCode === undefined) return;
    this.importer.stop();
    await this.parts.server.signOut(this.projectCode);
    this.closeMap();
    this.projects = [];
    this.showUser();
    this.showRefusal();
  }

  /** Nobody is signed in, or somebody who may not edit. */
  private showRefusal(): void {
    const { t } = this.parts.locale;
    const isSignedIn =
      this.projectCode !== undefined && this.parts.sessions.of(this.projectCode) !== undefined;
    this.closeMap();
    this.home.hide();
    this.root.classList.add("at-home");
    this.showUser();
    this.stage.message({
      icon: "lock",
      title: t(isSignedIn ? "consoleForbidden" : "consoleTitle"),
      text: t(isSignedIn ? "consoleForbiddenHint" : "consoleSignIn"),
      actions: [{ label: t("signIn"), isMain: true, press: () => void this.signIn() }],
      link: h("a", { href: "./" }, t("openViewer")),
    });
  }

  private showFailure(error: unknown, retry: () => void): void {
    const { t } = this.parts.locale;
    const { text } = problemOf(error, t);
    this.closeMap();
    this.home.hide();
    this.showUser();
    const actions = [
      { label: t("retry"), isMain: true, press: retry },
      ...(this.mayEdit(undefined) ? [{ label: t("maps"), press: () => this.showHome() }] : []),
    ];
    this.stage.message({ icon: "alert", title: t("failedTitle"), text, actions });
  }
}

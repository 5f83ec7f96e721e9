import { parseAddress, type View } from "../address.js";
import { isAttended } from "../attention.js";
import type { Locale } from "../attributes.js";
import type { DataLanguages } from "../data-languages.js";
import { button, h } from "../dom.js";
import type { Language } from "../language.js";
import type { TreeItem } from "../layer-tree.js";
import { LayersPanel } from "../layers-panel.js";
import { type MapId, type MapInfo, type MapServer, ServerError } from "../map-server.js";
import { PopupMenu } from "../popup-menu.js";
import type { Sessions } from "../sessions.js";
import { Stage } from "../stage.js";
import { pastedFile, showAddDialog } from "./add-dialog.js";
import { Dialogs } from "./dialogs.js";
import { DropTarget } from "./drop-target.js";
import { Edits } from "./edits.js";
import { isWritten, keepFocus } from "./focus.js";
import { Header } from "./header.js";
import { Home } from "./home.js";
import { HomeActions } from "./home-actions.js";
import { Importer } from "./importer.js";
import { InTheWay } from "./in-the-way.js";
import { LateDialog } from "./late-dialog.js";
import { MapCanvas } from "./map-canvas.js";
import { MapEdits } from "./map-edits.js";
import { MapWatch } from "./map-watch.js";
import { Navigation } from "./navigation.js";
import { hasOwnObjects, ObjectEditing } from "./object-editing.js";
import { OpenMap } from "./open-map.js";
import { Operator } from "./operator.js";
import { pastedText } from "./pasted-text.js";
import type { RightsPlace } from "./people/effective.js";
import { PopupEditing } from "./popup-editing.js";
import { Publishing } from "./publishing.js";
import { ReadingDialog } from "./reading.js";
import { SignIns } from "./sign-ins.js";
import { StyleCopies } from "./style-copies.js";
import { StylePanel } from "./style-panel.js";
import { TreeActions } from "./tree-actions.js";
import { EditableTree } from "./tree-editing.js";
import { Turns } from "./turns.js";
import { Visuals } from "./visual/visuals.js";
import { isSame, Workplace } from "./workplace.js";

export interface ConsoleParts {
  readonly server: MapServer;
  readonly sessions: Sessions;
  readonly locale: Locale;
  readonly language: Language;
  readonly dataLanguages: DataLanguages;
}

/** Work in the page, which asks for nothing, keeps the session at such intervals. */
const keepMs = 60_000;

/** The page in which maps are made: puts its parts together, and shows the list of maps, a map, or what is in the way. */
export class Console {
  private readonly place = new Workplace();
  private readonly turns = new Turns();
  private readonly dialogs: Dialogs;
  private readonly stage = new Stage();
  private readonly side = h("div", { class: "side", hidden: true });
  private readonly layers: LayersPanel;
  private readonly header: Header;
  private readonly canvas: MapCanvas;
  private readonly menu = new PopupMenu();
  private readonly style: StylePanel;
  private readonly home: Home;
  private readonly homeActions: HomeActions;
  private readonly drop: DropTarget;
  private readonly edits: Edits;
  private readonly changes: MapEdits;
  private readonly importer: Importer;
  private readonly objects: ObjectEditing;
  private readonly map: OpenMap;
  private readonly actions: TreeActions;
  private readonly publishing: Publishing;
  /** Those that are not about the open map alone, of which one is open at a time. */
  private readonly late: LateDialog;
  private readonly operator: Operator;
  private readonly signIns: SignIns;
  private readonly navigation: Navigation;
  private readonly watch: MapWatch;
  private readonly inTheWay: InTheWay;
  private isMaking = false;

  constructor(
    private readonly root: HTMLElement,
    private readonly parts: ConsoleParts,
  ) {
    const { locale, server, sessions } = parts;
    const { t } = locale;
    const { place, turns, menu } = this;
    this.dialogs = new Dialogs(root, locale);
    this.signIns = new SignIns({ place, server, sessions, locale });
    this.edits = new Edits(sessions, (project) => this.signInAgain(project));
    this.changes = new MapEdits(this.edits, server);
    this.importer = this.makeImporter();
    this.drop = new DropTarget(
      t,
      () => place.mayEdit(place.mapId?.map) && document.querySelector("dialog[open]") === null,
      (files) => this.importer.start(files, place.mapId),
      (text) => this.addPasted(text),
    );
    this.canvas = new MapCanvas(root, locale, {
      moved: (view) => {
        this.layers.zoomed(view.zoom);
        this.navigation.moved(view);
      },
      clicked: (click) => this.objects.clicked(click),
      missing: (isMissing) => this.layers.markFailed(isMissing ? t("tilesFailed") : undefined),
      home: () => this.map.fit(),
    });
    const { canvas } = this;
    const visuals = new Visuals(this.edits, server);
    const rows: EditableTree = new EditableTree(t, () => this.actions);
    this.layers = new LayersPanel(locale, false, {
      changed: () => this.map.switched(),
      zoomTo: (item) => this.map.fit([item]),
      menu: (item, opener) => this.actions.openMenu(item, opener),
      editing: rows,
    });
    this.style = new StylePanel(locale, {
      objects: (item) => (hasOwnObjects(item) ? () => this.map.openObjects(item) : undefined),
      columns: async ({ element }) => {
        const { mapId } = place;
        return mapId ? this.edits.inSession(mapId.project, () => server.structure(mapId, element.code)) : [];
      },
      mapId: () => place.mapId,
      save: (mapId, item, css) => this.saveStyle(mapId, () => this.changes.style(mapId, item, css)),
      preview: (item, body) => this.map.preview(item, body),
      visual: {
        tried: (item, settings) => visuals.tried(place.mapId!, item, settings),
        save: (mapId, item, settings, base) =>
          this.saveStyle(mapId, () => visuals.save(mapId, item, settings, base)),
        values: (item, code, signal) => visuals.values(place.mapId!, item, code, signal),
      },
      owner: () => ({ login: this.signIns.lastLogin, project: place.projectCode ?? "" }),
      saved: () => this.dialogs.toasts.show(t("objectSaved"), "good"),
      drafted: (item) => rows.markDraft(item),
      closed: (item) => {
        rows.choose(undefined);
        if (item) rows.focus(item.element.id);
        this.map.keepFocus();
      },
    });
    const { dialogs, changes, layers, style, edits, side, signIns } = this;
    this.inTheWay = new InTheWay(
      { stage: this.stage, place, signIns, t },
      { signIn: () => void this.signIn(), home: () => this.showHome() },
    );
    this.objects = new ObjectEditing({
      ...{ server, sessions, edits, locale, root, side, view: canvas.view, toasts: dialogs.toasts },
      renew: () => canvas.tiles.renew(undefined),
      shown: () => style.close(),
    });
    const { objects } = this;
    this.map = new OpenMap({ place, server, edits, t, canvas, layers, rows, menu, style, objects, side });
    const { map } = this;
    this.late = new LateDialog(dialogs, "people");
    this.operator = new Operator(edits);
    const whoSees = ({ map }: MapId, layer: string) => this.openPeople({ map, layer });
    this.watch = new MapWatch(
      { place, server, map, canvas, objects, turns },
      {
        closed: () => void this.navigation.show(parseAddress(location.hash)),
        relist: async () => {
          const { projectCode: code } = place;
          if (code === undefined || !sessions.of(code)) return;
          const projects = await server.projects(code);
          // Without a session it is what the public sees, who may edit nothing.
          if (place.projectCode !== code || !sessions.of(code)) return;
          place.projects = projects;
          this.showHeader();
        },
        sessionEnded: () => {
          const { projectCode } = place;
          if (projectCode === undefined) return;
          const press = () => void this.signInAgain(projectCode);
          dialogs.toasts.show(t("consoleSignInAgain"), "bad", { label: t("signIn"), press });
        },
      },
    );
    const popups = new PopupEditing({ place, server, edits, changes, map, rows, dialogs });
    const popup = (mapId: MapId, item: TreeItem) => void popups.open(mapId, item);
    const copies = new StyleCopies({ t, edits, server, changes, visuals, drafts: style });
    this.actions = new TreeActions({
      place,
      map,
      layers,
      rows,
      menu,
      style,
      copies,
      changes,
      turns,
      dialogs,
      whoSees,
      popup,
    });
    this.header = new Header(
      {
        ...{ place, signIns, t, language: parts.language, dataLanguages: parts.dataLanguages },
        isOperator: (login, project) => this.operator.is(login, project),
      },
      {
        publish: () => void this.publishing.publish(),
        signIn: () => void this.signIn(),
        signOut: () => void this.signOut(),
        people: () => this.openPeople(),
        past: () => this.openPast(),
        installation: () => this.openInstallation(),
        choose: (mapId) => void this.navigation.go(mapId),
        languageChanged: () => void map.reload(),
      },
    );
    const { chooser, toolbar } = this.header;
    this.navigation = new Navigation(
      { place, server, sessions, signIns },
      {
        loading: () => this.stage.loading(t("loadingMap")),
        loaded: () => this.showHeader(),
        home: () => this.showHome(),
        map: (mapId, isCurrent, view) => this.open(mapId, isCurrent, view),
        refused: () => this.showRefusal(),
        failed: (error, retry) => this.showFailure(error, retry),
      },
    );
    const reload = () => this.navigation.loadProject();
    this.publishing = new Publishing({ place, map, changes, dialogs, button: toolbar.main, reload, popup });
    const open = ({ code }: MapInfo) => void this.navigation.go({ project: place.projectCode!, map: code });
    this.home = new Home(t, {
      choose: open,
      menu: (info, opener) => this.homeActions.openMenu(info, opener),
      newMap: () => void this.newMap(),
      upload: this.drop.button("button main", t("chooseFiles")),
      link: this.linkButton("button"),
    });
    const { home } = this;
    const whoSeesMap = ({ code }: MapInfo) => this.openPeople({ map: code });
    const actions = { open, whoSees: whoSeesMap, reload };
    this.homeActions = new HomeActions({ place, home, menu, changes, turns, dialogs, ...actions });
    const add = this.drop.button("button wide add-data", t("addData"));
    layers.element.append(h("div", { class: "layers-add" }, add, this.linkButton("text-button add-link")));
    side.append(chooser.element, layers.element);
    canvas.view.panels = { side, object: style.element };
    root.append(
      canvas.progress,
      home.element,
      side,
      toolbar.element,
      style.element,
      menu.element,
      canvas.controls,
      canvas.bottomLine,
      this.stage.element,
      this.importer.element,
      dialogs.toasts.element,
      this.drop.overlay,
      this.drop.input,
    );
    document.addEventListener("keydown", (event) => this.key(event));
    window.addEventListener("popstate", () => void this.navigation.show(parseAddress(location.hash)));
    window.addEventListener("beforeunload", (event) => {
      if (style.isUnsafe || this.importer.isBusy) event.preventDefault();
    });
    window.addEventListener("storage", ({ key, newValue }) => {
      if (key !== null) style.heard(key, newValue);
    });
    window.setInterval(() => {
      if (place.projectCode !== undefined && isAttended()) void server.checkSession(place.projectCode);
    }, keepMs);
  }

  /** Undoes what a message offers to undo, which is far away by Tab. Objects have an undo of their own. */
  private key(event: KeyboardEvent): void {
    const { key, shiftKey, target } = event;
    if (key.toLowerCase() !== "z" || shiftKey || !(event.ctrlKey || event.metaKey)) return;
    if (isWritten(target) || this.objects.isOpen || document.querySelector("dialog[open]")) return;
    if (this.dialogs.toasts.undo()) event.preventDefault();
  }

  async start(): Promise<void> {
    this.showsMap(false);
    this.showHeader();
    await this.navigation.show(parseAddress(location.hash));
  }

  private makeImporter(): Importer {
    const { place } = this;
    const reading = new ReadingDialog(this.dialogs, this.edits, (map) =>
      this.parts.server.tiles(map, { layers: [], base: "builtin" }),
    );
    return new Importer(this.edits, this.parts.locale.t, {
      project: () => place.projectCode!,
      mayHide: () => place.mayAdminister,
      names: () => new Set(place.project?.maps.map(({ name, code }) => name || code)),
      opened: (map) => this.openMade(map),
      imported: (map, layerIds) =>
        this.imported(map, layerIds).catch((error: unknown) => this.dialogs.tell(error)),
      removed: (map, isMapGone) => this.removed(map, isMapGone),
      read: (file) => void reading.open(file),
      closed: () => this.keepFocus(),
    });
  }

  private linkButton(className: string): HTMLButtonElement {
    return button({ class: className }, () => this.addLink(), this.parts.locale.t("addLinkOrTable"));
  }

  /** @param link undefined = it is asked for, or a table */
  private addLink(link?: string): void {
    const { place, dialogs, edits } = this;
    const { projectCode: project, mapId } = place;
    if (project === undefined) return;
    showAddDialog(
      { dialogs, edits, project, map: mapId?.map, add: (files) => this.importer.start(files, mapId) },
      link,
    );
  }

  private addPasted(text: string): void {
    const { t } = this.parts.locale;
    const found = pastedText(text);
    if (found?.kind === "link") this.addLink(found.url);
    else if (found) this.importer.start([pastedFile(t, found)], this.place.mapId);
    else this.dialogs.toasts.show(t("pastedNothing"));
  }

  private showHeader(): void {
    this.header.show();
    void this.operator.look(this.signIns.login, this.place.projectCode).then((isOther) => {
      if (isOther) this.header.show();
    });
    this.drop.tell(this.place.title);
  }

  /** Without a map, what it would be drawn on gets no focus. */
  private showsMap(isShown: boolean): void {
    this.root.classList.toggle("at-home", !isShown);
    this.canvas.map.inert = !isShown;
  }

  private closeMap(): void {
    this.watch.close();
    this.map.close();
    this.side.hidden = true;
    this.showsMap(false);
  }

  private showHome(): void {
    const left = this.place.mapId?.map;
    this.closeMap();
    this.showHeader();
    this.stage.clear();
    this.home.show(this.place.project!, left);
  }

  private async open(mapId: MapId, isCurrent: () => boolean, view: View | undefined): Promise<void> {
    const shows = () => {
      this.showsMap(true);
      this.home.hide();
      this.stage.clear();
      this.side.hidden = false;
      this.showHeader();
    };
    const shownSince = performance.now();
    await this.map.open(mapId, isCurrent, shows, view);
    this.watch.follow(shownSince);
    this.map.keepFocus();
  }

  /** @param save changes how a layer of the map looks, which may not be the open one any more when its turn comes */
  private saveStyle<Result>(mapId: MapId, save: () => Promise<Result>): Promise<Result> {
    const { place, map } = this;
    return this.turns.take(async () => {
      // Who does not sign in is not asked once more.
      const saved = await save().catch(async (error: unknown) => {
        // The next attempt is for what is there now.
        if (error instanceof ServerError && error.status === 412 && isSame(place.mapId, mapId))
          await map.reload();
        throw error;
      });
      if (isSame(place.mapId, mapId)) await map.reload();
      return saved;
    });
  }

  private openMade(map: MapId): Promise<void> {
    this.publishing.made(map);
    return this.navigation.go(map);
  }

  private async newMap(): Promise<void> {
    if (this.isMaking) return;
    this.isMaking = true;
    try {
      await this.openMade(await this.importer.newMap(this.parts.locale.t("newMapName")));
    } catch (error) {
      this.dialogs.tell(error);
    } finally {
      this.isMaking = false;
    }
  }

  private async imported(map: MapId, layerIds: readonly number[]): Promise<void> {
    if (!isSame(this.place.mapId, map)) return;
    await this.map.reload();
    this.map.fit(layerIds.flatMap((id) => this.map.itemOf(id) ?? []));
  }

  private async removed(map: MapId, isMapGone: boolean): Promise<void> {
    if (!isSame(this.place.mapId, map)) return;
    if (isMapGone) await this.navigation.go({ project: map.project, map: undefined }, "replace");
    else await this.map.reload().catch(() => undefined); // the card tells what went wrong
  }

  private keepFocus(): void {
    this.map.keepFocus();
    this.home.keepFocus();
    keepFocus(this.stage.element.querySelector("button"));
  }

  /** In the middle of something, which goes on afterwards. */
  private async signInAgain(project: string): Promise<boolean> {
    const isSignedIn = await this.signIns.again(project);
    this.showHeader();
    if (isSignedIn) {
      this.map.showTiles();
      this.watch.follow(performance.now());
    }
    return isSignedIn;
  }

  private async signIn(): Promise<void> {
    const { projectCode } = this.place;
    const project = await this.signIns.ask(projectCode);
    if (project === undefined) return;
    const { map } = parseAddress(location.hash);
    await this.navigation.show({ project, map: project === projectCode ? map : undefined });
  }

  private openPeople(place: RightsPlace = {}): void {
    const { server, locale } = this.parts;
    const { root, edits } = this;
    const { project } = this.place;
    const { login } = this.signIns;
    if (!project || login === undefined) return;
    const events = {
      closed: () => this.keepFocus(),
      ownRightsChanged: () => void this.navigation.show(parseAddress(location.hash)),
    };
    void this.late.open(async () => {
      const { openPeople } = await import("./people/people.js");
      return () => openPeople({ server, edits, locale, root }, { project, login, place }, events);
    });
  }

  private openInstallation(): void {
    const { projectCode } = this.place;
    if (projectCode === undefined) return;
    void this.late.open(async () => {
      const { openInstallation } = await import("./installation/installation.js");
      return () => openInstallation(this.dialogs, this.edits, projectCode);
    });
  }

  private openPast(): void {
    const { project, mapId, mayAdminister } = this.place;
    if (!project) return;
    const events = {
      changed: () =>
        void this.turns.take(() => this.renew()).catch((error: unknown) => this.dialogs.tell(error)),
      closed: () => this.keepFocus(),
    };
    void this.late.open(async () => {
      const { openPast } = await import("./past/past.js");
      const { elements = [] } = this.map.tree ?? {};
      const titles = new Map(elements.map(({ code, name }) => [code, name || code]));
      const of = { project, map: mapId?.map, titles, mayAdminister };
      return () => openPast(this.dialogs, this.edits, of, events);
    });
  }

  /** Shows what there is now, after something else than what is shown may have been changed. @throws ServerError */
  private async renew(): Promise<void> {
    const { place, map, home } = this;
    await this.navigation.loadProject();
    if (place.mapId) {
      await map.reload();
      map.listedAnew();
    } else if (!home.element.hidden && place.project) home.show(place.project, undefined);
  }

  private async signOut(): Promise<void> {
    const { projectCode } = this.place;
    if (projectCode === undefined) return;
    this.importer.stop();
    await this.parts.server.signOut(projectCode);
    this.closeMap();
    this.place.projects = [];
    this.showHeader();
    this.showRefusal();
  }

  /** Nobody is signed in, or somebody who may not edit. */
  private showRefusal(): void {
    this.leave();
    this.showHeader();
    this.inTheWay.showRefusal();
    this.keepFocus();
  }

  private showFailure(error: unknown, retry: () => void): void {
    this.leave();
    this.showHeader();
    this.inTheWay.showFailure(error, retry);
    this.keepFocus();
  }

  private leave(): void {
    this.closeMap();
    this.home.hide();
  }
}

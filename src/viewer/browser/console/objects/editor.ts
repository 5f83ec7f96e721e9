import { objectTitle, ownColumns } from "../../attributes.js";
import type { TreeItem } from "../../layer-tree.js";
import { type ColumnInfo, isServerError, type MapServer } from "../../map-server.js";
import { type Click, type Hit, shiftOf } from "../../objects.js";
import { Pictures } from "../../pictures.js";
import { type OpenTable, openTable } from "../../tools/table.js";
import { confirmed } from "../confirmed.js";
import { newKey } from "../edits.js";
import type { ObjectsOf, ObjectsParts, ObjectsTool } from "../object-parts.js";
import { problemOf, problemText } from "../problem.js";
import { readForm } from "../style-form.js";
import { askWhose } from "./conflict-dialog.js";
import { type Draft, Drafts } from "./drafts.js";
import { type Done, EditStack } from "./edit-stack.js";
import type { FileSource } from "./file-field.js";
import { GeometryTools } from "./geometry-tools.js";
import { MarkedRows } from "./marked-rows.js";
import { ObjectForm } from "./object-form.js";
import { isFinal, ObjectStore } from "./object-store.js";
import { OpenObject } from "./open-object.js";
import {
  drawnShape,
  geometryOf,
  movedShape,
  type Shape,
  type ShapeKind,
  shapeOf,
  unturned,
} from "./shape.js";
import { Toolbox } from "./toolbox.js";

/** The table of a layer's objects, the form of one of them and its shape on the map, and what is done with them. */

export function openObjects(parts: ObjectsParts, of: ObjectsOf, closed: () => void): ObjectsTool {
  return new Editor(parts, of, closed);
}

class Editor implements ObjectsTool {
  private readonly server: MapServer;
  private readonly table: OpenTable;
  private readonly form: ObjectForm;
  private readonly geometry: GeometryTools;
  private readonly toolbox: Toolbox;
  private readonly marks: MarkedRows;
  private readonly stack: EditStack;
  private readonly drafts: Drafts;
  private readonly pictures = new Pictures();
  private readonly closing = new AbortController();
  private preparing: Promise<ObjectStore | undefined> | undefined;
  private columns: readonly ColumnInfo[] = [];
  private store: ObjectStore | undefined;
  private open: OpenObject | undefined;
  private openings = 0;
  private isBusy = false;
  /** What is done with objects at the server, and the undoing that waits for it. */
  private working: Promise<void> = Promise.resolve();

  constructor(
    private readonly parts: ObjectsParts,
    private readonly of: ObjectsOf,
    private readonly closed: () => void,
  ) {
    const { view, root, locale, sessions } = parts;
    const { t } = locale;
    const { mapId, item } = of;
    this.server = serverInSession(parts, mapId.project);
    const login = sessions.of(mapId.project)?.login ?? "";
    this.drafts = new Drafts({ login, project: mapId.project, layerId: item.layerId }, openLocalStorage());
    this.stack = new EditStack((done) => this.store!.reverse(done, newKey()), isFinal);
    this.marks = new MarkedRows(t, () => this.update());
    this.toolbox = new Toolbox(t, {
      make: (kind) => void this.make(kind),
      undo: () => void this.undo(),
      redo: () => void this.redo(),
      removeMarked: () => void this.remove([...this.marks.ids]),
      openDraft: () => void this.openDraft(),
    });
    this.form = new ObjectForm(locale, item.title, {
      changed: (code, value) => {
        this.open?.set(code, value);
        this.update();
      },
      save: () => void this.save(),
      discard: () => this.discard(),
      remove: () => {
        if (this.open?.id !== undefined) void this.remove([this.open.id]);
      },
      closed: () => this.formClosed(),
      draw: (kind) => void this.draw(kind),
      reshape: () => void this.reshape(),
      removeGeometry: () => {
        this.geometry.cancel();
        this.open?.setGeometry(null);
        this.changedShape();
      },
    });
    this.geometry = new GeometryTools(view, t);
    root.append(this.geometry.element, this.form.element);
    view.panels = { side: parts.side, object: this.form.element };
    this.table = openTable(
      {
        ...{ server: this.server, locale, view, toasts: parts.toasts, root },
        opened: () => undefined,
        showObject: () => undefined,
      },
      {
        ...{ mapId, layer: item, withChart: false },
        work: {
          controls: this.toolbox.elements,
          marks: t("marked"),
          mark: (id, index) => this.marks.cell(id, index),
          toggle: (id) => this.marks.toggle(id),
          open: ({ id }) => void this.openObject(id),
          listed: (at) => this.marks.listed(at),
        },
      },
      () => this.end(),
    );
    document.addEventListener("keydown", this.key);
    void this.ready();
    this.update();
  }

  close(): void {
    this.table.close();
  }

  closeForm(): void {
    this.form.close();
  }

  /** Opens the object that is pressed on the map. */
  async clicked({ latlng, radius }: Click): Promise<void> {
    const { view } = this.parts;
    const { mapId, item } = this.of;
    const zoom = Math.min(22, Math.round(view.map.getZoom()));
    const { lat, lng } = latlng.wrap();
    const query = {
      point: `${lat.toFixed(7)},${lng.toFixed(7)}`,
      ...{ zoom, tolerance: radius, layers: String(item.layerId), limit: 1, fields: "svc_id", returnGeom: 1 },
      geomZoom: Math.min(22, zoom + 1),
    };
    try {
      const found = await this.server.identify(mapId, query, this.closing.signal);
      const [object] = found;
      if (object?.cluster) view.part(object.cluster.bbox);
      else if (object)
        await this.openObject(object.id, { layer: item, object, shift: shiftOf(view.map, latlng, object) });
    } catch (error) {
      if (!this.closing.signal.aborted) this.tell(error);
    }
  }

  /** What is edited, when the layer is known; undefined = it cannot be read, and is asked for again the next time. */
  private ready(): Promise<ObjectStore | undefined> {
    this.preparing ??= this.prepare().then((store) => {
      if (!store) this.preparing = undefined;
      return store;
    });
    return this.preparing;
  }

  private async prepare(): Promise<ObjectStore | undefined> {
    const { edits } = this.parts;
    const { mapId, item, languages } = this.of;
    try {
      this.columns = await this.server.structure(mapId, item.element.code);
      const store = new ObjectStore(edits, mapId, item.element.code, languages, this.columns);
      const [constraints, some] = await Promise.all([store.constraints(), store.anyGeometry()]);
      if (this.closing.signal.aborted) return undefined;
      const kinds = kindsOf(item, shapeOf(some));
      this.form.make(this.columns, { languages, constraints, kinds });
      this.toolbox.offer(kinds);
      this.store = store;
      this.update();
      return store;
    } catch (error) {
      const { locale, toasts } = this.parts;
      const retry = { label: locale.t("retry"), press: () => void this.ready() };
      if (!this.closing.signal.aborted) toasts.show(problemText(error, locale.t), "bad", retry);
      return undefined;
    }
  }

  private end(): void {
    this.openings++;
    this.closing.abort();
    this.geometry.cancel();
    this.geometry.element.remove();
    this.form.element.remove();
    this.open = undefined;
    this.pictures.clear();
    document.removeEventListener("keydown", this.key);
    this.closed();
  }

  private readonly key = (event: KeyboardEvent): void => {
    const { target } = event;
    const isText =
      target instanceof HTMLElement && target.matches("input:not([type=checkbox]), textarea, select");
    if (!(event.ctrlKey || event.metaKey) || isText || document.querySelector("dialog[open]")) return;
    const letter = event.key.toLowerCase();
    if (letter === "z" && !event.shiftKey) void this.undo();
    else if (letter === "y" || letter === "z") void this.redo();
    else return;
    event.preventDefault();
  };

  // One object

  private async openObject(id: number, hit?: Hit): Promise<void> {
    const store = await this.ready();
    if (!store || this.isBusy || (this.open?.id === id && !this.form.element.hidden)) return;
    const opening = ++this.openings;
    try {
      const kept = this.drafts.of(id);
      const loaded = await store.read(id);
      if (opening !== this.openings) return;
      if (!loaded && !kept) {
        this.parts.toasts.show(this.parts.locale.t("objectGone"), "bad");
        this.table.renew();
        return;
      }
      this.present(kept ?? { id, key: newKey(), base: loaded, change: { fields: {} } }, hit);
    } catch (error) {
      if (opening === this.openings) this.tell(error);
    }
  }

  private present(draft: Draft, hit?: Hit): void {
    if (!this.store) return;
    this.geometry.finish();
    this.parts.shown();
    this.open = new OpenObject(draft, this.store, this.drafts);
    this.render();
    this.table.show(draft.id);
    const { view } = this.parts;
    const place = hit ?? this.hit;
    view.highlight(undefined, place);
    if (place?.object.geom) view.reveal(place, true);
  }

  private openDraft(): void {
    const [first] = this.drafts.all().filter(({ id, key }) => id !== this.open?.id || key !== this.open?.key);
    if (first) this.present(first);
  }

  private async make(kind: ShapeKind | undefined): Promise<void> {
    if (!(await this.ready()) || this.isBusy) return;
    this.openings++;
    this.present({ id: undefined, key: newKey(), base: undefined, change: { fields: {} } });
    if (kind) await this.draw(kind);
    else this.form.focus();
  }

  private render(): void {
    const { open } = this;
    if (!open) return;
    this.form.show(
      open.values.fields,
      this.state(open),
      open.id === undefined ? undefined : this.filesOf(open.id),
    );
    this.update();
  }

  private state(open: OpenObject) {
    const { locale } = this.parts;
    const { fields, geom } = open.values;
    const { id } = open;
    const main = Object.fromEntries(
      Object.entries(fields).map(([code, value]) => [code, this.inMain(code, value)]),
    );
    const title =
      id === undefined
        ? locale.t("newObject")
        : objectTitle({ id, fields: main }, ownColumns(this.columns), locale);
    return { title, isNew: id === undefined, isDraft: open.isDraft, geom };
  }

  private inMain(code: string, value: unknown): unknown {
    const isLocalized = this.columns.find((column) => column.code === code)?.localized_value;
    return isLocalized ? Object.values((value ?? {}) as object)[0] : value;
  }

  private update(): void {
    if (this.open && !this.form.element.hidden) this.form.state(this.state(this.open));
    this.toolbox.update({
      canUndo: this.stack.canUndo && !this.isBusy,
      canRedo: this.stack.canRedo && !this.isBusy,
      marked: this.marks.ids.size,
      drafts: this.drafts.all().filter(({ id, key }) => !this.isOpen(id, key)).length,
      isReady: this.store !== undefined && !this.isBusy,
    });
  }

  private isOpen(id: number | undefined, key: string): boolean {
    return !this.form.element.hidden && this.open?.id === id && (id !== undefined || this.open?.key === key);
  }

  private discard(): void {
    const { open } = this;
    if (!open) return;
    this.geometry.cancel();
    open.discard();
    if (open.id === undefined) {
      this.form.close();
      return;
    }
    this.render();
    this.changedShape();
  }

  private formClosed(): void {
    this.openings++;
    this.geometry.finish();
    this.open = undefined;
    this.table.show(undefined);
    this.parts.view.highlight(undefined);
    this.update();
  }

  /** Does something with objects at the server, alone. */
  private work(what: () => Promise<void>): Promise<void> {
    if (this.isBusy) return Promise.resolve();
    this.isBusy = true;
    this.working = this.workNow(what);
    return this.working;
  }

  private async workNow(what: () => Promise<void>): Promise<void> {
    this.geometry.finish();
    this.form.busy(true);
    try {
      await what();
    } catch (error) {
      this.tell(error);
    } finally {
      this.isBusy = false;
      this.form.busy(false);
      this.update();
    }
  }

  private save(): Promise<void> {
    const { open, columns } = this;
    const { toasts, locale, root } = this.parts;
    const { t } = locale;
    if (!open?.isDraft) return Promise.resolve();
    if (open.hasWrong) {
      this.form.tell(t("wrongValues"));
      return Promise.resolve();
    }
    return this.work(async () => {
      this.form.tell("");
      try {
        const end = await open.save((conflicts) => askWhose({ root, locale }, columns, conflicts));
        if (end.kind === "gone") await this.meetGone(open);
        if (end.kind === "saved") {
          await this.note([end.id]);
          toasts.show(t("objectSaved"), "good");
        }
        if (end.kind === "saved" || end.kind === "same") this.renewed();
        if (this.open === open && end.kind !== "open") {
          this.render();
          this.changedShape();
          this.table.show(open.id);
        }
      } catch (error) {
        this.refused(error);
      }
    });
  }

  /** Says what the server does not take, where it is. */
  private refused(error: unknown): void {
    const { t } = this.parts.locale;
    const reasons = isServerError(error) ? error.data.columns : undefined;
    if (typeof reasons === "object" && reasons !== null)
      this.form.tell(t("valuesRefused"), reasons as Readonly<Record<string, unknown>>);
    else if (isServerError(error) && error.code === "invalid_geometry")
      this.form.tell(`${t("geometryRefused")} ${error.told}`);
    else this.form.tell(problemText(error, t));
  }

  private async meetGone(open: OpenObject): Promise<void> {
    const { root, locale } = this.parts;
    const { t } = locale;
    const isKept = await confirmed(
      { root, locale },
      { title: t("objectGone"), text: t("objectGoneText"), action: t("saveAsNew") },
    );
    if (!isKept) return;
    open.detach();
    await open.save(() => Promise.resolve("mine"));
    if (open.id !== undefined) await this.note([open.id]);
    this.renewed();
  }

  private async remove(ids: readonly number[]): Promise<void> {
    const { root, locale, toasts } = this.parts;
    const { t } = locale;
    const [first] = ids;
    if (first === undefined || !this.store || this.isBusy) return;
    const n = ids.length;
    const isSure = await confirmed(
      { root, locale },
      { title: t("deleteObjects", { n }), text: t("deleteObjectsText"), action: t("delete") },
    );
    if (!isSure) return;
    const { store } = this;
    await this.work(async () => {
      await store.remove(ids, newKey());
      for (const id of ids) this.drafts.remove({ id, key: "" });
      if (this.open?.id !== undefined && ids.includes(this.open.id)) {
        this.open.discard();
        this.form.close();
      }
      this.marks.clear();
      await this.note(ids);
      this.renewed();
      toasts.show(t("objectsDeleted", { n }), "plain", { label: t("undo"), press: () => void this.undo() });
    });
  }

  /** Remembers what was done, to be undone. */
  private async note(ids: readonly number[]): Promise<void> {
    // Where there is no history nothing can be undone.
    const done = await this.store?.last(ids).catch(() => undefined);
    if (done) this.stack.push(done);
  }

  private async undo(): Promise<void> {
    if (this.geometry.undo()) return;
    await this.turn("undone", () => this.stack.undo());
  }

  private async redo(): Promise<void> {
    if (!this.geometry.isRunning) await this.turn("redone", () => this.stack.redo());
  }

  private async turn(told: "undone" | "redone", turn: () => Promise<Done | undefined>): Promise<void> {
    // A key that is pressed before a save has ended is for what that does.
    while (this.isBusy) await this.working;
    if (this.closing.signal.aborted) return;
    await this.work(async () => {
      const done = await turn();
      if (!done) return;
      this.parts.toasts.show(this.parts.locale.t(told));
      this.renewed();
      await this.refresh(done.objects);
    });
  }

  /** The open object was changed from outside its form. */
  private async refresh(ids: readonly number[]): Promise<void> {
    const { open, store } = this;
    if (open?.id === undefined || !ids.includes(open.id)) return;
    const loaded = await store?.read(open.id);
    if (this.open !== open) return;
    if (!loaded) {
      open.discard();
      this.form.close();
      return;
    }
    open.rebase(loaded);
    this.render();
    this.changedShape();
  }

  /** Objects are others than the page shows. */
  private renewed(): void {
    this.table.renew();
    this.parts.renew();
  }

  private tell(error: unknown): void {
    const { locale, toasts } = this.parts;
    const { mayPass } = problemOf(error, locale.t);
    toasts.show(problemText(error, locale.t), "bad");
    if (!mayPass) this.table.renew();
  }

  // Its shape

  /** Where the object lies, as it would be saved, in the copy of the world that is looked at. */
  private get hit(): Hit | undefined {
    const { open } = this;
    const geom = open?.values.geom;
    if (!open || !geom) return undefined;
    const bounds = L.geoJSON(geom).getBounds();
    if (!bounds.isValid()) return undefined;
    const away = this.parts.view.map.getCenter().lng - bounds.getCenter().lng;
    return { layer: this.of.item, object: { id: open.id ?? 0, geom }, shift: 360 * Math.round(away / 360) };
  }

  private changedShape(): void {
    this.parts.view.highlight(undefined, this.hit);
    this.update();
  }

  private set(shape: Shape): void {
    this.open?.setGeometry(geometryOf(unturned(shape)));
    this.update();
  }

  private async draw(kind: ShapeKind): Promise<void> {
    const { open } = this;
    const positions = await this.geometry.draw(kind);
    if (!open || this.open !== open) return;
    if (!positions) {
      if (open.id === undefined && !open.isDraft) this.form.close();
      return;
    }
    this.set(drawnShape(kind, positions));
    this.changedShape();
    this.form.focus();
  }

  private async reshape(): Promise<void> {
    const { open, hit } = this;
    const { view, locale, toasts } = this.parts;
    const before = open?.values.geom;
    const shape = shapeOf(before);
    if (!open || !before || !hit) return;
    if (!shape) {
      toasts.show(locale.t("geometryMixedHint"), "bad");
      return;
    }
    view.highlight(undefined);
    const turned = hit.shift === 0 ? shape : movedShape(shape, (lon, lat) => [lon + hit.shift, lat]);
    const result = await this.geometry.reshape(turned, (next) => this.open === open && this.set(next));
    if (!result) open.setGeometry(before);
    if (this.open !== open) return;
    this.changedShape();
    this.form.focusTitle();
  }

  // Its files

  private filesOf(id: number): FileSource {
    const { mapId, item } = this.of;
    const attachments = this.server.attachments(mapId, item.element.code, id, this.pictures);
    const after = async (change: () => Promise<void>) => {
      await change();
      await this.refresh([id]);
      this.table.renew();
    };
    return {
      ...attachments,
      attach: (column, file) => after(() => this.store!.attach(id, column, file, newKey())),
      detach: (column, { id: file }) => after(() => this.store!.detach(id, column, file)),
      problem: (error) => problemText(error, this.parts.locale.t),
    };
  }
}

/** The server, asked anew after a session has ended and was begun again in place. */
function serverInSession({ server, edits }: ObjectsParts, project: string): MapServer {
  const inSession = Object.create(server) as MapServer;
  inSession.answer = (...asked) => edits.inSession(project, () => server.answer(...asked));
  inSession.structure = (...asked) => edits.inSession(project, () => server.structure(...asked));
  inSession.identify = (...asked) => edits.inSession(project, () => server.identify(...asked));
  return inSession;
}

/** Storage that outlives the tab; undefined when the browser has it disabled. */
function openLocalStorage(): Storage | undefined {
  try {
    return localStorage;
  } catch {
    return undefined;
  }
}

const kindOfSymbol = { point: "Point", line: "LineString", polygon: "Polygon" } as const;
const allKinds: readonly ShapeKind[] = ["Point", "LineString", "Polygon"];

/** What is drawn in a layer: what its style draws and what it has already; all, where neither tells. */
function kindsOf({ element }: TreeItem, some: Shape | undefined): readonly ShapeKind[] {
  const drawn = readForm(element.css_style ?? "")?.symbols.map(({ kind }) => kindOfSymbol[kind]) ?? [];
  const known = new Set<ShapeKind>([...drawn, ...(some ? [some.kind] : [])]);
  return allKinds.filter((kind) => known.size === 0 || known.has(kind));
}

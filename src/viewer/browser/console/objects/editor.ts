import { type Click, type Hit, shiftOf } from "../../objects.js";
import { type OpenTable, openTable } from "../../tools/table.js";
import { isWritten } from "../focus.js";
import { openLocalStorage } from "../local-storage.js";
import type { ObjectsOf, ObjectsParts, ObjectsTool } from "../object-parts.js";
import { problemOf, problemText } from "../problem.js";
import { DoneWork } from "./done-work.js";
import { Drafts } from "./drafts.js";
import { type LayerData, pressedObject, readLayer, serverInSession } from "./layer-data.js";
import { ManyWork } from "./many-work.js";
import { MarkedRows } from "./marked-rows.js";
import { ObjectForm } from "./object-form.js";
import { ObjectPage } from "./object-page.js";
import { ObjectWork } from "./object-work.js";
import { ShapeWork } from "./shape-work.js";
import { SplitWork } from "./split-work.js";
import type { Surroundings } from "./surroundings.js";
import { Tasks } from "./tasks.js";
import { Toolbox } from "./toolbox.js";

/** The table of a layer's objects, the form of one of them and its shape on the map, and what is done with them. */

export function openObjects(parts: ObjectsParts, of: ObjectsOf, closed: () => void): ObjectsTool {
  return new Editor(parts, of, closed);
}

/** Changes of others that come together are looked at once. */
const collectMs = 1_000;

class Editor implements ObjectsTool {
  private readonly table: OpenTable;
  private readonly form: ObjectForm;
  private readonly work: ObjectWork<Hit>;
  private readonly shape: ShapeWork;
  private readonly many: ManyWork;
  private readonly splits: SplitWork;
  private readonly toolbox: Toolbox;
  private readonly marks: MarkedRows;
  private readonly drafts: Drafts;
  private readonly done: DoneWork;
  private readonly around: Surroundings;
  private readonly closing = new AbortController();
  private readonly tasks: Tasks;
  private preparing: Promise<LayerData | undefined> | undefined;
  private known: LayerData | undefined;
  private collecting = 0;

  constructor(
    private readonly parts: ObjectsParts,
    private readonly of: ObjectsOf,
    private readonly closed: () => void,
  ) {
    const { view, root, locale, sessions } = parts;
    const { t } = locale;
    const { mapId, item } = of;
    const login = sessions.of(mapId.project)?.login ?? "";
    this.drafts = new Drafts({ login, project: mapId.project, layerId: item.layerId }, openLocalStorage());
    this.tasks = new Tasks(
      (isBusy) => {
        this.form.busy(isBusy);
        this.update();
      },
      (error) => this.tell(error),
    );
    this.done = new DoneWork(
      { tasks: this.tasks, closing: this.closing.signal, store: () => this.known?.store },
      {
        told: (what) => parts.toasts.show(t(what)),
        changed: async (ids) => {
          this.renewed();
          await this.work.refresh(ids);
        },
      },
    );
    this.marks = new MarkedRows(t, () => this.update());
    this.toolbox = new Toolbox(t, {
      make: (kind) => void this.work.make(kind),
      undo: () => void this.undo(),
      redo: () => void this.redo(),
      removeMarked: () => void this.many.remove([...this.marks.ids]),
      openDraft: () => void this.work.openDraft(),
      change: () => void this.many.change([...this.marks.ids]),
      merge: () => void this.many.merge([...this.marks.ids]),
    });
    this.form = new ObjectForm(locale, item.title, {
      changed: (code, value, written) => {
        this.work.open?.set(code, value, written);
        this.update();
      },
      save: () => void this.work.save(),
      discard: () => this.work.discard(),
      remove: () => {
        const id = this.work.open?.id;
        if (id !== undefined) void this.many.remove([id]);
      },
      closed: () => this.work.closed(),
      draw: (kind) => void this.shape.draw(kind),
      reshape: () => void this.shape.reshape(),
      split: () => void this.splits.begin(),
      removeGeometry: () => this.shape.remove(),
    });
    this.around = this.surroundings();
    const page = new ObjectPage(this.around, {
      form: this.form,
      shape: () => this.shape,
      refresh: (ids) => this.work.refresh(ids),
    });
    this.work = new ObjectWork(this.around, page);
    this.shape = new ShapeWork(this.around, {
      form: this.form,
      open: () => this.work.open,
      // What others did meanwhile.
      ended: () => void this.work.refresh().catch(() => undefined),
    });
    this.splits = new SplitWork(this.around, {
      work: this.work,
      shape: this.shape,
      split: ([, ...made]) => this.marks.replace(made),
      undo: () => void this.undo(),
    });
    this.many = new ManyWork(this.around, {
      removed: (ids) => {
        const { open } = this.work;
        if (open?.id !== undefined && ids.includes(open.id)) {
          this.shape.cancel();
          open.discard();
          this.form.close();
        }
        this.marks.clear();
      },
      changed: async (ids) => {
        this.renewed();
        await this.work.refresh(ids);
      },
      undo: () => void this.undo(),
    });
    root.append(this.shape.element, this.form.element);
    this.table = openTable(
      {
        ...{ server: this.around.server, locale, view, toasts: parts.toasts, root },
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
          open: ({ id }, isEntered) => void this.openRow(id, isEntered),
          listed: (at) => this.marks.listed(at),
          counted: () => this.update(),
        },
      },
      () => this.end(),
    );
    const { signal } = this.closing;
    document.addEventListener("keydown", (event) => this.key(event), { signal });
    window.addEventListener("storage", ({ key, newValue }) => this.heard(key, newValue), { signal });
    const stay = (event: BeforeUnloadEvent) => this.drafts.isUnsafe && event.preventDefault();
    window.addEventListener("beforeunload", stay, { signal });
    void this.layer();
    this.update();
  }

  close(): void {
    this.table.close();
  }

  closeForm(): void {
    this.form.close();
  }

  changed(): void {
    this.table.changed();
    window.clearTimeout(this.collecting);
    this.collecting = window.setTimeout(() => void this.follow(), collectMs);
  }

  /** Opens the object that is pressed on the map. */
  async clicked({ latlng, radius }: Click): Promise<void> {
    const { view } = this.parts;
    const { item } = this.of;
    const { signal } = this.closing;
    try {
      const object = await pressedObject(this.around.server, this.of, view.map, { latlng, radius }, signal);
      if (object?.cluster) view.part(object.cluster.bbox);
      else if (object)
        await this.work.openObject(object.id, {
          layer: item,
          object,
          shift: shiftOf(view.map, latlng, object),
        });
    } catch (error) {
      if (!signal.aborted) this.tell(error);
    }
  }

  private async openRow(id: number, isEntered: boolean): Promise<void> {
    await this.work.openObject(id);
    if (isEntered && this.work.open?.id === id) this.form.focus();
  }

  private surroundings(): Surroundings {
    const editor = this;
    const { parts, of, drafts, tasks, done } = this;
    return {
      ...{ parts, of, drafts, tasks, done },
      server: serverInSession(parts, of.mapId.project),
      closing: this.closing.signal,
      get table() {
        return editor.table;
      },
      layer: () => this.layer(),
      get known() {
        return editor.known;
      },
      renewed: () => this.renewed(),
      update: () => this.update(),
      tell: (error) => this.tell(error),
    };
  }

  /** What is known of the layer; undefined = it cannot be read, and is asked for again the next time. */
  private layer(): Promise<LayerData | undefined> {
    this.preparing ??= this.prepare().then((known) => {
      if (!known) this.preparing = undefined;
      return known;
    });
    return this.preparing;
  }

  private async prepare(): Promise<LayerData | undefined> {
    const { languages } = this.of;
    try {
      const known = await readLayer(this.parts, this.of, this.around.server);
      if (this.closing.signal.aborted) return undefined;
      const { columns, constraints, kinds } = known;
      this.form.make(columns, { languages, constraints, kinds });
      this.toolbox.offer(kinds);
      this.known = known;
      this.update();
      return known;
    } catch (error) {
      const { locale, toasts } = this.parts;
      const retry = { label: locale.t("retry"), press: () => void this.layer() };
      if (!this.closing.signal.aborted) toasts.show(problemText(error, locale.t), "bad", retry);
      return undefined;
    }
  }

  private end(): void {
    window.clearTimeout(this.collecting);
    this.shape.leave();
    this.closing.abort();
    this.work.end();
    this.shape.element.remove();
    this.form.element.remove();
    this.closed();
  }

  private key(event: KeyboardEvent): void {
    if (!(event.ctrlKey || event.metaKey) || document.querySelector("dialog[open]")) return;
    if (isWritten(event.target)) return;
    const letter = event.key.toLowerCase();
    if (letter === "z" && !event.shiftKey) void this.undo();
    else if (letter === "y" || letter === "z") void this.redo();
    else return;
    event.preventDefault();
  }

  /** Another tab has written a draft. */
  private heard(name: string | null, text: string | null): void {
    const draft = this.drafts.heard(name, text);
    if (draft && text !== null && this.work.isOpen(draft)) this.work.adopt(draft);
    this.update();
  }

  /** Shows what others have done to the open object. */
  private async follow(): Promise<void> {
    await this.tasks.settled();
    // What cannot be read now is seen at the next change, or when it is saved.
    if (!this.closing.signal.aborted) await this.work.refresh().catch(() => undefined);
  }

  private update(): void {
    const { isBusy } = this.tasks;
    this.work.showState();
    this.toolbox.update({
      canUndo: this.done.canUndo && !isBusy,
      canRedo: this.done.canRedo && !isBusy,
      marked: this.marks.ids.size,
      listed: this.table.total ?? 0,
      isMarkedDraft: this.drafts.all().some(({ id }) => id !== undefined && this.marks.ids.has(id)),
      drafts: this.drafts.all().filter((draft) => !this.work.isOpen(draft)).length,
      isReady: this.known !== undefined && !isBusy,
    });
  }

  private async undo(): Promise<void> {
    if (!this.shape.undo()) await this.done.undo();
  }

  private async redo(): Promise<void> {
    if (!this.shape.isRunning) await this.done.redo();
  }

  /** Objects are others than the page shows. */
  private renewed(): void {
    if (this.closing.signal.aborted) return;
    this.table.renew();
    this.parts.renew();
  }

  private tell(error: unknown): void {
    const { locale, toasts } = this.parts;
    const { mayPass } = problemOf(error, locale.t);
    toasts.show(problemText(error, locale.t), "bad");
    if (!mayPass && !this.closing.signal.aborted) this.table.renew();
  }
}

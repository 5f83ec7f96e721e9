import { objectTitle } from "../../attributes.js";
import { isServerError } from "../../map-server.js";
import type { Hit } from "../../objects.js";
import { Pictures } from "../../pictures.js";
import { ownColumns } from "../../value-columns.js";
import { confirmed } from "../confirmed.js";
import { newKey } from "../new-key.js";
import { problemText } from "../problem.js";
import { askWhose } from "./conflict-dialog.js";
import type { Draft } from "./drafts.js";
import type { FileSource } from "./file-field.js";
import { objectFiles } from "./object-files.js";
import type { FormState, ObjectForm } from "./object-form.js";
import { OpenObject } from "./open-object.js";
import type { ShapeKind } from "./shape.js";
import type { ShapeWork } from "./shape-work.js";
import type { Surroundings } from "./surroundings.js";

/** The object whose form is shown: opened, saved, discarded, and kept up with what others do. */
export class ObjectWork {
  private object: OpenObject | undefined;
  private files: { readonly id: number; readonly source: FileSource } | undefined;
  private readonly pictures = new Pictures();
  private openings = 0;

  constructor(
    private readonly around: Surroundings,
    private readonly form: ObjectForm,
    private readonly shape: () => ShapeWork,
  ) {}

  get open(): OpenObject | undefined {
    return this.object;
  }

  /** Whether a draft is that of the form. */
  isOpen({ id, key }: Pick<Draft, "id" | "key">): boolean {
    return (
      this.object !== undefined && this.object.id === id && (id !== undefined || this.object.key === key)
    );
  }

  end(): void {
    this.openings++;
    this.object = undefined;
    this.pictures.clear();
  }

  async openObject(id: number, hit?: Hit): Promise<void> {
    const { around } = this;
    const opening = ++this.openings;
    const layer = await around.layer();
    // What is being saved is not left before it is known how that ends.
    await around.tasks.settled();
    if (!layer || opening !== this.openings || this.object?.id === id) return;
    const kept = around.drafts.of(id);
    // What was written is there before the server answers, and without it.
    if (kept) this.present(kept, hit);
    const shown = this.openings;
    const { toasts, locale } = around.parts;
    try {
      const loaded = await layer.store.read(id);
      if (shown !== this.openings) return;
      // Another tab may have written something until now.
      const draft = kept ?? around.drafts.of(id);
      if (draft && !kept) this.present(draft, hit);
      if (draft && loaded) this.take(loaded);
      else if (draft) this.form.tellNews(locale.t("objectGone"));
      else if (loaded) this.present({ id, key: newKey(), base: loaded, change: { fields: {} } }, hit);
      else {
        toasts.show(locale.t("objectGone"), "bad");
        around.table.renew();
      }
    } catch (error) {
      if (shown === this.openings) around.tell(error);
    }
  }

  /** Opens the next of the drafts. */
  async openDraft(): Promise<void> {
    const all = this.around.drafts.all();
    const at = all.findIndex((draft) => this.isOpen(draft));
    const next = all[(at + 1) % all.length];
    if (!next || this.isOpen(next)) return;
    if (next.id !== undefined) await this.openObject(next.id);
    else if (await this.around.layer()) this.present(next);
  }

  /** @param kind undefined = an object without a place */
  async make(kind: ShapeKind | undefined): Promise<void> {
    if (!(await this.around.layer()) || this.around.tasks.isBusy) return;
    this.present({ id: undefined, key: newKey(), base: undefined, change: { fields: {} } });
    if (kind) await this.shape().draw(kind);
    else this.form.focus();
  }

  present(draft: Draft, hit?: Hit): void {
    const { parts, drafts, table, known } = this.around;
    if (!known) return;
    this.openings++;
    const shape = this.shape();
    shape.leave();
    parts.shown();
    // The style of a layer may have been shown in its place.
    parts.view.panels = { side: parts.side, object: this.form.element, bar: shape.element };
    const { toasts, locale } = parts;
    this.object = new OpenObject(draft, known.store, drafts, () =>
      toasts.show(locale.t("draftsFull"), "bad"),
    );
    this.form.forget();
    this.render();
    table.show(draft.id);
    const place = hit ?? shape.hit;
    parts.view.highlight(undefined, place);
    if (place?.object.geom) parts.view.reveal(place, true);
    if (draft.drawn) void shape.draw(draft.drawn.kind, draft.drawn.positions);
  }

  render(): void {
    const { object: open } = this;
    if (!open) return;
    const { id } = open;
    if (id === undefined) this.files = undefined;
    else if (this.files?.id !== id)
      this.files = { id, source: objectFiles(this.around, id, this.pictures, () => this.refreshFiles(id)) };
    this.form.show(open.values.fields, open.wrong, this.state(open), this.files?.source);
    this.around.update();
  }

  /** What of the form depends on what is written in it. */
  showState(): void {
    if (this.object) this.form.state(this.state(this.object));
  }

  private state(open: OpenObject): FormState {
    const { locale } = this.around.parts;
    const { columns = [] } = this.around.known ?? {};
    const { fields, geom } = open.values;
    const { id } = open;
    const inMain = (code: string, value: unknown) => {
      const isLocalized = columns.find((column) => column.code === code)?.localized_value;
      return isLocalized ? Object.values((value ?? {}) as object)[0] : value;
    };
    const main = Object.fromEntries(
      Object.entries(fields).map(([code, value]) => [code, inMain(code, value)]),
    );
    const title =
      id === undefined
        ? locale.t("newObject")
        : objectTitle({ id, fields: main }, ownColumns(columns), locale);
    return { title, isNew: id === undefined, isDraft: open.isDraft, geom };
  }

  discard(): void {
    const { object: open } = this;
    const { parts, tasks, drafts } = this.around;
    if (!open || tasks.isBusy) return;
    this.shape().cancel();
    const discarded = open.discard();
    if (open.id === undefined) this.form.close();
    else {
      this.form.forget();
      this.render();
      this.shape().show();
    }
    const { t } = parts.locale;
    const press = () => {
      drafts.put(discarded);
      this.present(discarded);
    };
    parts.toasts.show(t("discarded"), "plain", { label: t("undo"), press });
  }

  closed(): void {
    const { parts, table, update } = this.around;
    this.openings++;
    this.shape().leave();
    this.object = undefined;
    table.show(undefined);
    parts.view.highlight(undefined);
    update();
  }

  async save(): Promise<void> {
    const { object: open } = this;
    const { tasks } = this.around;
    if (!open?.isDraft || tasks.isBusy) return;
    await this.shape().settle();
    if (open.hasWrong) {
      this.form.tell(this.around.parts.locale.t("wrongValues"));
      return;
    }
    if (this.object !== open) return;
    this.form.tell("");
    await tasks.run(() => this.saveNow(open).catch((error: unknown) => this.refused(open, error)));
  }

  private async saveNow(open: OpenObject): Promise<void> {
    const { parts, done, known, closing, renewed, table } = this.around;
    const { root, locale, toasts } = parts;
    for (let isPart = true; isPart; ) {
      const end = await open.save((conflicts) =>
        // Nobody is asked about a map that is left: the draft stays.
        closing.aborted
          ? Promise.resolve(undefined)
          : askWhose({ root, locale }, known?.columns ?? [], conflicts),
      );
      isPart = end.kind === "saved" && end.isPart;
      if (end.kind === "gone" && !closing.aborted) await this.meetGone(open);
      if (end.kind === "saved") await done.note([end.id]);
      if (end.kind === "saved" && !isPart) toasts.show(locale.t("objectSaved"), "good");
      if (end.kind === "open" && closing.aborted) toasts.show(locale.t("notSavedKept"), "bad");
      if (closing.aborted) continue;
      if (end.kind === "saved" || end.kind === "same") renewed();
      if (this.object === open && end.kind !== "open") {
        this.form.tellNews("");
        this.render();
        this.shape().show();
        table.show(open.id);
      }
    }
  }

  /** Says what the server does not take, where it is; of an object whose form is closed, over the page. */
  private refused(open: OpenObject, error: unknown): void {
    const { t } = this.around.parts.locale;
    if (this.object !== open) {
      this.around.parts.toasts.show(`${t("notSavedKept")} ${problemText(error, t)}`, "bad");
      return;
    }
    const reasons = isServerError(error) ? error.data.columns : undefined;
    if (typeof reasons === "object" && reasons !== null)
      this.form.tell(t("valuesRefused"), reasons as Readonly<Record<string, unknown>>);
    else if (isServerError(error) && error.code === "invalid_geometry")
      this.form.tell(`${t("geometryRefused")} ${error.told}`);
    else this.form.tell(problemText(error, t));
  }

  private async meetGone(open: OpenObject): Promise<void> {
    const { parts, done, renewed } = this.around;
    const { root, locale } = parts;
    const { t } = locale;
    const isKept = await confirmed(
      { root, locale },
      { title: t("objectGone"), text: t("objectGoneText"), action: t("saveAsNew") },
    );
    if (!isKept) return;
    open.detach();
    await open.save(() => Promise.resolve("mine"));
    if (open.id !== undefined) await done.note([open.id]);
    renewed();
  }

  /** These objects were changed from outside the form. @param ids undefined = any may have been */
  async refresh(ids?: readonly number[]): Promise<void> {
    const { object: open } = this;
    const { known, parts } = this.around;
    if (open?.id === undefined || ids?.includes(open.id) === false) return;
    const loaded = await known?.store.read(open.id);
    // What others do to its shape is seen when that is not being changed any more.
    if (this.object !== open || this.shape().isRunning) return;
    if (loaded) {
      this.take(loaded);
      return;
    }
    if (open.isDraft) {
      this.form.tellNews(parts.locale.t("objectGone"));
      return;
    }
    this.form.close();
    if (!ids) parts.toasts.show(parts.locale.t("objectGone"), "bad");
  }

  /** Shows what the server has now, below what is written here. */
  private take(loaded: Parameters<OpenObject["rebase"]>[0]): void {
    const { object: open } = this;
    if (!open) return;
    const hasConflicts = open.rebase(loaded);
    this.form.tellNews(hasConflicts ? this.around.parts.locale.t("newsConflict") : "");
    this.render();
    this.shape().show();
  }

  /** What another tab has written of the same object. */
  adopt(draft: Draft): void {
    if (this.object?.adopt(draft)) {
      this.render();
      this.shape().show();
    }
  }

  private async refreshFiles(id: number): Promise<void> {
    await this.refresh([id]);
    this.around.table.renew();
  }
}

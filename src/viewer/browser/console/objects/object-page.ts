import { objectTitle } from "../../attributes.js";
import { isServerError } from "../../map-server.js";
import type { Hit } from "../../objects.js";
import { Pictures } from "../../pictures.js";
import { ownColumns } from "../../value-columns.js";
import { confirmed } from "../confirmed.js";
import { problemText } from "../problem.js";
import { askWhose } from "./conflict-dialog.js";
import type { FileSource } from "./file-field.js";
import type { Conflict, Decision } from "./merge.js";
import { objectFiles } from "./object-files.js";
import type { FormState, ObjectForm } from "./object-form.js";
import type { ObjectView } from "./object-work.js";
import type { OpenObject } from "./open-object.js";
import type { ShapeKind } from "./shape.js";
import type { ShapeWork } from "./shape-work.js";
import type { Surroundings } from "./surroundings.js";

/** The open object on the page: its form, its shape on the map, and what its user is told and asked. */

export interface ObjectPageParts {
  readonly form: ObjectForm;
  shape(): ShapeWork;
  /** These objects were changed from outside the form. */
  refresh(ids: readonly number[]): Promise<void>;
}

export class ObjectPage implements ObjectView<Hit> {
  private files: { readonly id: number; readonly source: FileSource } | undefined;
  private readonly pictures = new Pictures();

  constructor(
    private readonly around: Surroundings,
    private readonly own: ObjectPageParts,
  ) {}

  get isDrawing(): boolean {
    return this.own.shape().isRunning;
  }

  settle(): Promise<void> {
    return this.own.shape().settle();
  }

  cancel(): void {
    this.own.shape().cancel();
  }

  leave(): void {
    this.own.shape().leave();
  }

  present(open: OpenObject, hit: Hit | undefined): void {
    const { parts, table } = this.around;
    const { form } = this.own;
    const shape = this.own.shape();
    parts.shown();
    // The style of a layer may have been shown in its place.
    parts.view.panels = { side: parts.side, object: form.element, bar: shape.element };
    form.forget();
    this.render(open);
    table.show(open.id);
    const place = hit ?? shape.hit;
    parts.view.highlight(undefined, place);
    if (place?.object.geom) parts.view.reveal(place, true);
    if (open.drawn) void shape.draw(open.drawn.kind, open.drawn.positions);
  }

  async begin(kind: ShapeKind | undefined): Promise<void> {
    if (kind) await this.own.shape().draw(kind);
    else this.own.form.focus();
  }

  renew(open: OpenObject): void {
    this.render(open);
    this.own.shape().show();
  }

  saved(open: OpenObject): void {
    this.news(undefined);
    this.renew(open);
    this.around.table.show(open.id);
  }

  discarded(open: OpenObject, restore: () => void): void {
    const { toasts, locale } = this.around.parts;
    if (open.id === undefined) this.close();
    else {
      this.own.form.forget();
      this.renew(open);
    }
    toasts.show(locale.t("discarded"), "plain", { label: locale.t("undo"), press: restore });
  }

  showState(open: OpenObject): void {
    this.own.form.state(this.state(open));
  }

  close(): void {
    this.own.form.close();
  }

  closed(): void {
    const { parts, table } = this.around;
    table.show(undefined);
    parts.view.highlight(undefined);
  }

  end(): void {
    this.pictures.clear();
  }

  news(news: "objectGone" | "newsConflict" | undefined): void {
    this.own.form.tellNews(news ? this.around.parts.locale.t(news) : "");
  }

  problem(text: "wrongValues" | undefined): void {
    this.own.form.tell(text ? this.around.parts.locale.t(text) : "");
  }

  /** Says what the server does not take, where it is; of an object whose form is closed, over the page. */
  refused(error: unknown, isShown: boolean): void {
    const { locale, toasts } = this.around.parts;
    const { form } = this.own;
    const { t } = locale;
    if (!isShown) {
      toasts.show(`${t("notSavedKept")} ${problemText(error, t)}`, "bad");
      return;
    }
    const reasons = isServerError(error) ? error.data.columns : undefined;
    if (typeof reasons === "object" && reasons !== null)
      form.tell(t("valuesRefused"), reasons as Readonly<Record<string, unknown>>);
    else if (isServerError(error) && error.code === "invalid_geometry")
      form.tell(`${t("geometryRefused")} ${error.told}`);
    else form.tell(problemText(error, t));
  }

  told(what: "objectSaved" | "notSavedKept" | "draftsFull" | "objectGone"): void {
    const { locale, toasts } = this.around.parts;
    toasts.show(locale.t(what), what === "objectSaved" ? "good" : "bad");
  }

  missing(): void {
    this.told("objectGone");
    this.around.table.renew();
  }

  askWhose(conflicts: readonly Conflict[]): Promise<Decision | undefined> {
    const { root, locale } = this.around.parts;
    return askWhose({ root, locale }, this.around.known?.columns ?? [], conflicts);
  }

  askAnew(): Promise<boolean> {
    const { root, locale } = this.around.parts;
    const { t } = locale;
    return confirmed(
      { root, locale },
      { title: t("objectGone"), text: t("objectGoneText"), action: t("saveAsNew") },
    );
  }

  private render(open: OpenObject): void {
    const { id } = open;
    if (id === undefined) this.files = undefined;
    else if (this.files?.id !== id)
      this.files = { id, source: objectFiles(this.around, id, this.pictures, () => this.refreshFiles(id)) };
    this.own.form.show(open.values.fields, open.wrong, this.state(open), this.files?.source);
    this.around.update();
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

  private async refreshFiles(id: number): Promise<void> {
    await this.own.refresh([id]);
    this.around.table.renew();
  }
}

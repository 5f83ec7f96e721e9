import { columnTitle, type Locale } from "../../attributes.js";
import { button, h, icon } from "../../dom.js";
import type { ColumnInfo } from "../../map-server.js";
import { ownColumns } from "../../value-columns.js";
import { geometryText } from "./conflict-dialog.js";
import { type FieldControl, fieldControl } from "./field-controls.js";
import { FileField, type FileSource } from "./file-field.js";
import type { Fields } from "./merge.js";
import type { Constraint } from "./object-store.js";
import type { ShapeKind } from "./shape.js";

/** The values and the geometry of an object, to be changed and saved. */

export interface FormEvents {
  /** A value was written; undefined = what is written is none, and how it is written. */
  changed(code: string, value: unknown, written: unknown): void;
  save(): void;
  discard(): void;
  remove(): void;
  closed(): void;
  draw(kind: ShapeKind): void;
  reshape(): void;
  split(): void;
  removeGeometry(): void;
}

export interface FormState {
  readonly title: string;
  readonly isNew: boolean;
  /** Whether there is something to be saved. */
  readonly isDraft: boolean;
  readonly geom: GeoJSON.Geometry | null;
}

const drawKeys = { Point: "newPoint", LineString: "newLine", Polygon: "newArea" } as const;

export class ObjectForm {
  readonly element: HTMLElement;
  private readonly title = h("h2", { tabindex: -1 });
  private readonly unsaved: HTMLElement;
  private readonly geometry = h("p", { class: "object-geometry-text" });
  private readonly drawing = h("span", { class: "object-draw" });
  private readonly reshaping: HTMLButtonElement;
  private readonly splitting: HTMLButtonElement;
  private readonly ungeometry: HTMLButtonElement;
  private readonly problem = h("p", { class: "problem", role: "alert" });
  private readonly news = h("p", { class: "object-news", role: "status", hidden: true });
  private readonly saving: HTMLButtonElement;
  private readonly discarding: HTMLButtonElement;
  private readonly removing: HTMLButtonElement;
  private readonly body: HTMLFormElement;
  private readonly controls = new Map<string, FieldControl>();
  private readonly files = new Map<string, FileField>();
  private kinds: readonly ShapeKind[] = [];
  /** What had the focus before it was busy. */
  private focused: HTMLElement | undefined;

  constructor(
    private readonly locale: Locale,
    layerTitle: string,
    private readonly events: FormEvents,
  ) {
    const { t } = locale;
    this.unsaved = h("span", { class: "pill unsaved", hidden: true }, t("notSaved"));
    this.saving = button({ class: "button main" }, () => events.save(), t("save"));
    this.discarding = button({ class: "button" }, () => events.discard(), t("discard"));
    this.removing = button(
      { class: "icon-button", "aria-label": t("deleteObject"), title: t("deleteObject") },
      () => events.remove(),
      icon("trash"),
    );
    this.reshaping = button({ class: "button small" }, () => events.reshape(), icon("pencil"), t("reshape"));
    this.splitting = button({ class: "button small" }, () => events.split(), icon("split"), t("split"));
    this.ungeometry = button(
      { class: "icon-button small", "aria-label": t("removeGeometry"), title: t("removeGeometry") },
      () => events.removeGeometry(),
      icon("trash"),
    );
    const close = button(
      { class: "icon-button", "aria-label": t("close"), title: t("close") },
      () => this.close(),
      icon("close"),
    );
    this.body = h("form", { class: "style-body object-form", novalidate: true });
    this.body.addEventListener("submit", (event) => {
      event.preventDefault();
      events.save();
    });
    this.element = h(
      "section",
      { class: "card object object-editor", "aria-label": t("objectForm"), hidden: true },
      h(
        "header",
        { class: "object-header" },
        h(
          "div",
          { class: "object-name" },
          this.title,
          h("p", { class: "object-layer" }, layerTitle, this.unsaved),
        ),
        close,
      ),
      this.body,
      h(
        "footer",
        { class: "style-footer object-actions" },
        this.removing,
        h("span", { class: "spacer" }),
        this.discarding,
        this.saving,
      ),
    );
    this.element.addEventListener("keydown", (event) => {
      if (event.key === "Escape" && !event.defaultPrevented) {
        event.preventDefault();
        this.close();
      }
      if (event.key !== "s" || !(event.ctrlKey || event.metaKey)) return;
      event.preventDefault();
      events.save();
    });
  }

  /** Makes the fields of a layer's columns. */
  make(
    columns: readonly ColumnInfo[],
    about: {
      readonly languages: readonly string[];
      readonly constraints: readonly Constraint[];
      readonly kinds: readonly ShapeKind[];
    },
  ): void {
    const { t } = this.locale;
    this.kinds = about.kinds;
    this.controls.clear();
    this.files.clear();
    const own = ownColumns(columns);
    const ids = new Set(own.map(({ id }) => id));
    const under = (parent: number): HTMLElement[] =>
      own
        .filter((column) => (ids.has(column.parent_id) ? column.parent_id : 0) === parent)
        .sort((one, other) => one.sort - other.sort || one.id - other.id)
        .flatMap((column) => {
          if (column.type !== "title") return [this.field(column, about)];
          const inner = under(column.id);
          return inner.length > 0 ? [h("h3", {}, columnTitle(column)), ...inner] : [];
        });
    this.body.replaceChildren(
      this.news,
      h(
        "div",
        { class: "object-geometry", role: "group", "aria-label": t("geometry") },
        icon("map"),
        this.geometry,
        this.drawing,
        this.reshaping,
        this.splitting,
        this.ungeometry,
      ),
      ...under(0),
      this.problem,
      // So that Enter in a field saves.
      h("button", { type: "submit", hidden: true, tabindex: -1 }),
    );
  }

  private field(
    column: ColumnInfo,
    about: { readonly languages: readonly string[]; readonly constraints: readonly Constraint[] },
  ): HTMLElement {
    const { t } = this.locale;
    if (column.type === "file") {
      const files = new FileField(column, t);
      this.files.set(column.code, files);
      return files.element;
    }
    const control = fieldControl(column, { t, ...about }, (value, written) =>
      this.events.changed(column.code, value, written),
    );
    this.controls.set(column.code, control);
    return control.element;
  }

  /**
   * Shows an object's values. What is written the same is left alone.
   * @param wrong what is written and is no value @param source undefined = it is not saved yet
   */
  show(fields: Fields, wrong: Fields, state: FormState, source: FileSource | undefined): void {
    for (const [code, control] of this.controls) control.show(fields[code], wrong[code]);
    for (const [code, files] of this.files) void files.show(fields[code], source);
    this.element.hidden = false;
    this.state(state);
  }

  state({ title, isNew, isDraft, geom }: FormState): void {
    const { t } = this.locale;
    this.title.textContent = title;
    this.unsaved.hidden = !isDraft;
    this.saving.disabled = !isDraft;
    this.discarding.hidden = !isDraft;
    this.removing.hidden = isNew;
    this.geometry.textContent = geometryText(geom, this.locale);
    this.reshaping.hidden = !geom;
    this.splitting.hidden = isNew || !geom || !/Line|Polygon/.test(geom.type);
    this.splitting.disabled = isDraft;
    this.splitting.title = isDraft ? t("saveFirst") : "";
    this.ungeometry.hidden = !geom;
    const focused = this.drawing.contains(document.activeElement);
    this.drawing.replaceChildren(
      ...(geom ? [] : this.kinds).map((kind) =>
        button({ class: "button small" }, () => this.events.draw(kind), icon("pencil"), t(drawKeys[kind])),
      ),
    );
    if (focused && geom) this.reshaping.focus();
  }

  /** While it is saved nothing can be written. */
  busy(isBusy: boolean): void {
    const { activeElement } = document;
    // What cannot be used loses the focus, which then would be nowhere, and keys with it.
    if (isBusy && activeElement instanceof HTMLElement && this.element.contains(activeElement)) {
      this.focused = activeElement;
      this.focusTitle();
    }
    this.body.inert = isBusy;
    for (const one of [this.discarding, this.removing]) one.disabled = isBusy;
    if (isBusy) this.saving.disabled = true;
    else if ((activeElement === this.title || activeElement === document.body) && !this.element.hidden)
      this.focusAgain();
  }

  private focusAgain(): void {
    this.focused?.focus({ preventScroll: true });
    if (document.activeElement === document.body) this.focusTitle();
    this.focused = undefined;
  }

  /** What the server says is wrong, at the fields that it names. @returns whether there are such */
  tell(text: string, reasons: Readonly<Record<string, unknown>> = {}): void {
    for (const [code, control] of this.controls) control.tell(String(reasons[code] ?? ""));
    for (const [code, files] of this.files) files.tell(String(reasons[code] ?? ""));
    this.problem.textContent = text;
    const [first] = [...this.controls].filter(([code]) => reasons[code] !== undefined);
    if (first) first[1].focus();
    else if (text !== "") this.problem.scrollIntoView({ block: "nearest" });
  }

  /** Gives the focus to the first field. */
  focus(): void {
    const [first] = this.controls.values();
    if (first) first.focus();
    else this.title.focus();
  }

  /** Another object is shown: what was said of the one before is of no use. */
  forget(): void {
    this.problem.textContent = "";
    this.news.hidden = true;
    for (const control of this.controls.values()) control.tell("");
  }

  /** Says what others have done to it. "" = nothing */
  tellNews(text: string): void {
    this.news.textContent = text;
    this.news.hidden = text === "";
  }

  focusTitle(): void {
    this.title.focus({ preventScroll: true });
  }

  close(): void {
    if (this.element.hidden) return;
    const hadFocus = this.element.contains(document.activeElement);
    this.element.hidden = true;
    this.events.closed();
    if (hadFocus) document.querySelector<HTMLElement>(".table-scroll")?.focus({ preventScroll: true });
  }
}

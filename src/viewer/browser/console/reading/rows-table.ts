import { h } from "../../dom.js";
import type { Translate } from "../../texts.js";
import { geometryWord } from "../geometry-word.js";
import { foundName, kindName, kindOf, kinds, wishOf } from "./column-types.js";
import type { Preview, PreviewColumn } from "./look.js";
import type { ColumnWish } from "./read-file.js";

/** The first rows of a file below its columns, of which each can be called and taken for something else, or left out. */

const leftOut = "-";

export class RowsTable {
  readonly element = h("table");
  private readonly wishes = new Map<string, ColumnWish | null>();
  private heads: readonly ColumnHead[] = [];
  private hasPlaces = false;

  /** @param changed another column, name or type is wanted */
  constructor(
    private readonly t: Translate,
    given: Readonly<Record<string, ColumnWish | null>>,
    private readonly changed: () => void,
  ) {
    for (const [name, wish] of Object.entries(given)) this.wishes.set(name, wish);
  }

  get wanted(): Readonly<Record<string, ColumnWish | null>> {
    return Object.fromEntries(this.wishes);
  }

  /** Forgets what was said of names that are others in another encoding. */
  forgetForeign(): void {
    for (const name of [...this.wishes.keys()]) if (isForeign(name)) this.wishes.delete(name);
  }

  show({ columns, features }: Preview): void {
    const hasPlaces = features.some(({ geom }) => geom !== null);
    const names = columns.map(({ name }) => name);
    // Somebody may be writing in one of them.
    if (hasPlaces !== this.hasPlaces || names.join("\n") !== this.heads.map(({ name }) => name).join("\n"))
      this.begin(columns, hasPlaces);
    for (const [place, column] of columns.entries()) this.heads[place]!.show(column);
    this.element.tBodies[0]!.replaceChildren(
      ...features.map(({ fields, geom }) =>
        h(
          "tr",
          {},
          ...columns.map(({ code }) =>
            code === null ? h("td", { class: "left-out" }) : h("td", { dir: "auto" }, fields[code] ?? ""),
          ),
          hasPlaces && h("td", {}, placeOf(this.t, geom)),
        ),
      ),
    );
  }

  /** Takes the rows away: nobody knows them. */
  clear(): void {
    this.element.tBodies[0]?.replaceChildren();
  }

  private begin(columns: readonly PreviewColumn[], hasPlaces: boolean): void {
    this.hasPlaces = hasPlaces;
    this.heads = columns.map(
      ({ name }) =>
        new ColumnHead(this.t, name, this.wishes.get(name), (wish) => {
          if (wish === undefined) this.wishes.delete(name);
          else this.wishes.set(name, wish);
          this.changed();
        }),
    );
    const cells = this.heads.map(({ element }) => element);
    if (hasPlaces) cells.push(h("th", { scope: "col" }, h("span", {}, this.t("readingPlace"))));
    this.element.replaceChildren(h("thead", {}, h("tr", {}, ...cells)), h("tbody"));
  }
}

/** What a column is called and taken for. */
class ColumnHead {
  readonly element: HTMLElement;
  private readonly field: HTMLInputElement;
  private readonly type: HTMLSelectElement;
  private readonly found: HTMLOptionElement;

  /** @param change told what is wanted; undefined = as it is found */
  constructor(
    private readonly t: Translate,
    readonly name: string,
    wish: ColumnWish | null | undefined,
    change: (wish: ColumnWish | null | undefined) => void,
  ) {
    this.found = h("option", { value: "" }, t("readingFind"));
    const wanted =
      wish === null ? leftOut : wish?.type === undefined ? "" : kindOf({ ...wish, type: wish.type });
    const option = (value: string, text: string) => h("option", { value, selected: value === wanted }, text);
    this.type = h(
      "select",
      { "aria-label": t("readingType", { name }) },
      this.found,
      ...kinds.map((kind) => option(kind, kindName(t, kind))),
      option(leftOut, t("readingLeaveOut")),
    );
    this.field = h("input", {
      ...{ value: wish?.name ?? name, "aria-label": t("readingName", { name }), dir: "auto" },
      ...{ autocomplete: "off", spellcheck: "false", maxlength: 200 },
    });
    const told = () => {
      const called = this.field.value.trim();
      if (called === "") this.field.value = name;
      this.field.disabled = this.type.value === leftOut;
      const own = {
        ...(called !== "" && called !== name && { name: called }),
        ...(this.type.value !== "" && wishOf(this.type.value)),
      };
      change(this.type.value === leftOut ? null : Object.keys(own).length > 0 ? own : undefined);
    };
    this.field.disabled = wish === null;
    for (const control of [this.field, this.type]) control.addEventListener("change", told);
    this.element = h("th", { scope: "col" }, this.field, this.type);
  }

  show({ type, notation, code }: PreviewColumn): void {
    this.element.classList.toggle("left-out", code === null);
    if (this.type.value !== "") return;
    const value = foundName(this.t, { type, ...(notation !== undefined && { notation }) });
    this.found.textContent = this.t("readingFound", { value });
  }
}

/** Whether letters are other ones in another encoding. */
export const isForeign = (name: string): boolean => [...name].some((letter) => letter > "~");

/** Latitude and longitude of a point; of others their kind, too, and where they begin. */
function placeOf(t: Translate, geom: unknown): string {
  const { type, coordinates } = (geom ?? {}) as { readonly type?: string; readonly coordinates?: unknown };
  if (type === undefined) return "";
  let first = coordinates;
  while (Array.isArray(first) && Array.isArray(first[0])) [first] = first;
  const [lon, lat] = Array.isArray(first) ? first : [];
  const place = typeof lon === "number" && typeof lat === "number" ? `${shown(lat)}, ${shown(lon)}` : "";
  return type === "Point" ? place : [t(geometryWord(type)), place].filter(Boolean).join(" · ");
}

const shown = (degrees: number): string => degrees.toFixed(5);

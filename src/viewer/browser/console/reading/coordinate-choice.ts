import { button, h } from "../../dom.js";
import type { Translate } from "../../texts.js";
import type { Preview } from "./look.js";

/** Which columns of a table the places come from. */

const none = "none";
/** Of a column among those that can be chosen. */
const optionOf = (place: number): string => `c${place}`;

export class CoordinateChoice {
  readonly element: HTMLElement;
  private readonly east = h("select", { class: "field", id: "reading-east" });
  private readonly north = h("select", { class: "field", id: "reading-north" });
  private readonly eastLabel = h("label", { for: this.east.id });
  private readonly northRow: HTMLElement;
  private readonly swap: HTMLButtonElement;
  private names: readonly string[] = [];
  private found: readonly string[] = [];

  /** @param wanted undefined = they are found out */
  constructor(
    private readonly t: Translate,
    public wanted: readonly string[] | undefined,
    private readonly changed: () => void,
  ) {
    this.swap = button(
      { class: "button small" },
      () => this.want([...this.current].reverse()),
      t("readingSwap"),
    );
    this.northRow = h("div", {}, h("label", { for: this.north.id }, t("readingNorth")), this.north);
    this.element = h(
      "fieldset",
      { class: "reading-coordinates", hidden: true },
      h("legend", { class: "visually-hidden" }, t("readingCoordinates")),
      h("div", {}, this.eastLabel, this.east),
      this.northRow,
      this.swap,
    );
    this.east.addEventListener("change", () => this.want(this.chosen()));
    this.north.addEventListener("change", () => this.want(this.chosen()));
  }

  private get current(): readonly string[] {
    return this.wanted ?? this.found;
  }

  /** A file with places of its own has no choice. */
  show({ coordinates, columns }: Preview): void {
    this.element.hidden = coordinates === undefined;
    if (!coordinates) return;
    if (this.wanted === undefined) this.found = coordinates;
    this.names = [...new Set([...coordinates, ...columns.map(({ name }) => name)])];
    this.draw();
  }

  private want(names: readonly string[] | undefined): void {
    this.wanted = names;
    this.draw();
    this.changed();
  }

  private chosen(): readonly string[] | undefined {
    const nameOf = (value: string) => this.names[Number(value.slice(1))];
    const { value } = this.east;
    if (value === "") return undefined;
    const east = value === none ? undefined : nameOf(value);
    if (east === undefined) return [];
    const before = this.current;
    const given = nameOf(this.north.value);
    // East has become what was north.
    const north = given === east && before[0] !== east ? before[0] : given;
    return north === undefined || north === east ? [east] : [east, north];
  }

  private draw(): void {
    const { t, names, current, wanted } = this;
    const [east, north] = current;
    const columns = (chosen: string | undefined) =>
      names.map((name, place) => h("option", { value: optionOf(place), selected: name === chosen }, name));
    const found = this.found.join(", ");
    this.east.replaceChildren(
      h("option", { value: "" }, found ? t("readingFound", { value: found }) : t("readingFind")),
      h("option", { value: none, selected: wanted?.length === 0 }, t("readingNoCoordinates")),
      ...columns(wanted && east),
    );
    this.north.replaceChildren(h("option", { value: none }, t("readingShapes")), ...columns(north));
    this.northRow.hidden = !wanted || wanted.length === 0;
    this.eastLabel.textContent = t(wanted?.length === 2 ? "readingEast" : "readingCoordinates");
    this.swap.hidden = current.length !== 2;
  }
}

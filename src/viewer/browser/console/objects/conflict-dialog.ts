import { columnTitle, type Locale } from "../../attributes.js";
import { button, h } from "../../dom.js";
import type { ColumnInfo } from "../../map-server.js";
import { showDialog } from "../../tools/dialog.js";
import type { Conflict, Decision } from "./merge.js";
import { shapeOf, verticesOf } from "./shape.js";
import { valueText } from "./value-text.js";

/** Shows what two have changed at the same time, side by side, for one decision. */

/** @returns undefined = none was made */
export function askWhose(
  parts: { readonly root: HTMLElement; readonly locale: Locale },
  columns: readonly ColumnInfo[],
  conflicts: readonly Conflict[],
): Promise<Decision | undefined> {
  const { t } = parts.locale;
  let decision: Decision | undefined;
  const choose = (chosen: Decision) => () => {
    decision = chosen;
    dialog.close();
  };
  const row = ({ code, mine, theirs }: Conflict) => {
    const column = columns.find((one) => one.code === code);
    const title = column ? columnTitle(column) : t("geometry");
    const text = (value: unknown) =>
      column
        ? valueText(value, column, parts.locale)
        : geometryText(value as GeoJSON.Geometry | null, parts.locale);
    return h("tr", {}, h("th", { scope: "row" }, title), h("td", {}, text(mine)), h("td", {}, text(theirs)));
  };
  const keep = button({ class: "button main" }, choose("mine"), t("keepMine"));
  const dialog = showDialog(
    parts,
    t("conflictTitle"),
    h("p", { id: "conflict-text" }, t("conflictText")),
    h(
      "div",
      { class: "conflict-scroll", tabindex: 0, role: "group", "aria-labelledby": "conflict-text" },
      h(
        "table",
        { class: "attributes conflict" },
        h(
          "thead",
          {},
          h(
            "tr",
            {},
            h("td", {}),
            h("th", { scope: "col" }, t("mine")),
            h("th", { scope: "col" }, t("theirs")),
          ),
        ),
        h("tbody", {}, ...conflicts.map(row)),
      ),
    ),
    h(
      "div",
      { class: "dialog-actions" },
      button({ class: "button" }, choose("theirs"), t("takeTheirs")),
      keep,
    ),
  );
  keep.focus();
  return new Promise((resolve) => dialog.addEventListener("close", () => resolve(decision)));
}

/** What kind of geometry it is, and of how many vertices. */
export function geometryText(geometry: GeoJSON.Geometry | null | undefined, { t }: Locale): string {
  if (!geometry) return t("geometryNone");
  const shape = shapeOf(geometry);
  if (!shape) return t("geometryMixed");
  const kinds = { Point: "geometryPoint", LineString: "geometryLine", Polygon: "geometryArea" } as const;
  const n = verticesOf(shape).length;
  if (shape.kind !== "Point") return `${t(kinds[shape.kind])} · ${t("vertices", { n })}`;
  const [lon = 0, lat = 0] = shape.parts[0]![0]![0]!;
  return n > 1
    ? `${t("geometryPoint")} · ${n}`
    : `${t("geometryPoint")} · ${lat.toFixed(5)}, ${lon.toFixed(5)}`;
}

import { h } from "../../dom.js";
import { choice, colour, row } from "./controls.js";
import type { FormParts } from "./form-parts.js";
import { chartColumnsOf, columnsFor, kinds, type Visual, withChartColumn, withClass } from "./settings.js";

/** The columns that charts show, and the one that weighs a heat map. */

export function chartControls(parts: FormParts, settings: Visual): HTMLElement[] {
  const shown = chartColumnsOf(settings);
  const fit = columnsFor(settings.type, parts.form.columns);
  const rows = fit.map(({ code, name }, at) => {
    const column = shown.find((each) => each.code === code);
    const id = `visual-part-${at}`;
    const box = h("input", { type: "checkbox", id, checked: column !== undefined });
    box.addEventListener("change", () => parts.change((now) => withChartColumn(now, code, box.checked)));
    const own =
      column &&
      colour(`${id}-colour`, column.color, (color) =>
        parts.change((now) =>
          withClass(
            now,
            "columns",
            chartColumnsOf(now).map((each) => (each.code === code ? { ...each, color } : each)),
          ),
        ),
      );
    own?.setAttribute("aria-label", `${name || code}: ${parts.t("styleColour")}`);
    return h(
      "div",
      { class: "style-row" },
      h("label", { class: "visual-part", for: id }, box, name || code),
      ...(own ? [own] : []),
    );
  });
  return [h("div", { class: "visual-parts", role: "group", "aria-label": parts.t("visualParts") }, ...rows)];
}

export function weightControl(parts: FormParts, settings: Visual): HTMLElement {
  const { t } = parts;
  const classes = settings.classesSettings ?? {};
  const fit = columnsFor(kinds.bubbles, parts.form.columns).filter(({ type }) => type === "number");
  const options = [
    { value: "", text: t("visualNoWeight") },
    ...fit.map(({ id, code, name }) => ({ value: String(id), text: name || code })),
  ];
  const value = classes.useWeight === true ? String(classes.useWeightField ?? "") : "";
  const select = choice("visual-weight", options, value, (chosen) =>
    parts.change((now) => ({
      ...now,
      classesSettings: {
        ...now.classesSettings,
        useWeight: chosen !== "",
        useWeightField: chosen === "" ? null : Number(chosen),
        // Weights may be any numbers: they become those from nothing to one.
        weightNormalize: chosen !== "",
      },
    })),
  );
  return row(t("visualWeight"), "visual-weight", select);
}

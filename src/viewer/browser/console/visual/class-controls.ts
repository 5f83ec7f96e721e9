import { classColour, commonColours, paletteColours } from "../../../../visual/class-colours.js";
import { diverging, sequential } from "../../../../visual/color-brewer.js";
import { h } from "../../dom.js";
import type { TextKey } from "../../texts.js";
import { choice, colour, row, slider } from "./controls.js";
import type { FormParts } from "./form-parts.js";
import { histogram } from "./histogram.js";
import {
  bordersOf,
  categoriesOf,
  classedBy,
  hasOwnBorders,
  type Visual,
  withBorder,
  withCategory,
  withClass,
  withPalette,
} from "./settings.js";

/** The classes of a visualization: their borders, number and colours, or a colour for each value. */

const algorithmTexts: Readonly<Record<number, TextKey>> = {
  1: "visualEqual",
  2: "visualQuantiles",
  3: "visualNatural",
};
const mostClasses = 9;

function spreadControls(parts: FormParts, settings: Visual): HTMLElement[] {
  const { values, columns } = parts.form;
  if (!values || bordersOf(settings).length < 2) return [];
  const isTime = columns.find(({ code }) => code === settings.columnCode)?.type === "datetime";
  const format = isTime
    ? new Intl.DateTimeFormat(parts.language, { dateStyle: "medium", timeZone: "UTC" })
    : new Intl.NumberFormat(parts.language, { maximumSignificantDigits: 6 });
  return [
    histogram(
      settings,
      values,
      {
        label: parts.t("visualSpread"),
        border: (at) => parts.t("visualBorder", { n: at }),
        value: (number) => format.format(isTime ? number * 1_000 : number),
      },
      { moved: (at, to) => parts.change((now) => withBorder(now, at, to)) },
    ),
  ];
}

export function classControls(parts: FormParts, settings: Visual): HTMLElement[] {
  const { t } = parts;
  const own = hasOwnBorders(settings);
  const options = [
    ...(own || settings.algorithm === undefined
      ? [{ value: "", text: t(own ? "visualOwn" : "visualSuited") }]
      : []),
    ...[1, 2, 3].map((algorithm) => ({ value: String(algorithm), text: t(algorithmTexts[algorithm]!) })),
  ];
  const method = choice("visual-method", options, own ? "" : String(settings.algorithm ?? ""), (value) => {
    if (value !== "") parts.change((now) => classedBy(now, { algorithm: Number(value) }));
  });
  const count = settings.classesCount ?? 5;
  return [
    ...spreadControls(parts, settings),
    row(t("visualMethod"), "visual-method", method),
    slider(
      { id: "visual-count", label: t("visualCount"), from: 1, to: mostClasses, step: 1, value: count },
      (value) => parts.change((now) => classedBy(now, { classesCount: value })),
    ),
    paletteControl(parts, settings, count),
  ];
}

function paletteControl(parts: FormParts, settings: Visual, count: number): HTMLElement {
  const { t } = parts;
  const { palette, minColor, midColor, maxColor } = settings.classesSettings ?? {};
  const names = [...Object.keys(sequential), ...Object.keys(diverging)];
  const isOwn = !names.includes(String(palette));
  const isCommon = Object.entries(commonColours).every(
    ([name, colour]) => settings.classesSettings?.[name] === colour,
  );
  const options = [
    ...(isOwn ? [{ value: "", text: t(isCommon ? "visualCommonColours" : "visualOwnColours") }] : []),
    ...names.map((name) => ({ value: name, text: name })),
  ];
  const select = choice("visual-palette", options, isOwn ? "" : String(palette), (value) => {
    if (value !== "") parts.change((now) => withPalette(now, value));
  });
  const strip = h("span", { class: "visual-strip", "aria-hidden": "true" });
  const colours = paletteColours(palette, count) ?? [minColor, midColor, maxColor].map(String);
  for (let at = 0; at < count; at++) {
    const part = h("span", {});
    part.style.backgroundColor = classColour(colours, at, count);
    strip.append(part);
  }
  return h(
    "div",
    { class: "style-row visual-palette" },
    h("label", { for: "visual-palette" }, t("visualPalette")),
    select,
    strip,
  );
}

export function categoryControls(parts: FormParts, settings: Visual): HTMLElement[] {
  const others = settings.classesSettings?.defaultClass as { color?: string } | undefined;
  const rows = categoriesOf(settings).map(({ value, color, count }, at) =>
    classRow(
      parts,
      {
        id: `visual-class-${at}`,
        text: value === null || value === "" ? parts.t("visualEmpty") : String(value),
        count,
      },
      color,
      (next) => parts.change((now) => withCategory(now, at, { color: next })),
    ),
  );
  const rest = others?.color;
  return [
    ...rows,
    ...(rest
      ? [
          classRow(
            parts,
            { id: "visual-others", text: parts.t("visualOthers"), count: undefined },
            rest,
            (color) => parts.change((now) => withClass(now, "defaultClass", { ...others, color })),
          ),
        ]
      : []),
  ];
}

function classRow(
  parts: FormParts,
  { id, text, count }: { readonly id: string; readonly text: string; readonly count: number | undefined },
  value: string,
  changed: (colour: string) => void,
): HTMLElement {
  const input = colour(id, value, changed);
  const number = count === undefined ? "" : new Intl.NumberFormat(parts.language).format(count);
  return row(text, id, input, h("output", { for: id }, number));
}

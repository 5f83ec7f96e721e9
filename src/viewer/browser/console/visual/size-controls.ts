import type { TextKey } from "../../texts.js";
import { colour, row, slider } from "./controls.js";
import type { FormParts } from "./form-parts.js";
import {
  borderWidth,
  kinds,
  pointSize,
  type Visual,
  withBorderLine,
  withClass,
  withMember,
  withPointSize,
} from "./settings.js";

/** Sizes, widths, opacity, and the colours that are not of classes. */

interface Range {
  readonly label: TextKey;
  readonly name: string;
  readonly from: number;
  readonly to: number;
  readonly step?: number;
}
/** Numbers of `classesSettings` by kind. */
const ranges: Readonly<Record<number, readonly Range[]>> = {
  [kinds.bubbles]: [
    { label: "visualLeast", name: "pointSizeMin", from: 2, to: 60 },
    { label: "visualMost", name: "pointSizeMax", from: 4, to: 120 },
  ],
  [kinds.pies]: [{ label: "styleSize", name: "sizeValue", from: 10, to: 150 }],
  [kinds.bars]: [{ label: "styleSize", name: "sizeValue", from: 10, to: 150 }],
  [kinds.lines]: [{ label: "styleSize", name: "sizeValue", from: 10, to: 150 }],
  [kinds.heat]: [
    { label: "visualRadius", name: "markerSize", from: 4, to: 128 },
    { label: "visualIntensity", name: "markerOpacity", from: 0.05, to: 1, step: 0.05 },
  ],
  [kinds.clusters]: [{ label: "visualRadius", name: "radius", from: 24, to: 128 }],
};
const lineWidth: Range = { label: "styleWidth", name: "lineWidth", from: 0.5, to: 20, step: 0.5 };
const opacity: Range = { label: "opacity", name: "opacity", from: 0, to: 1, step: 0.05 };

export function colourControl(parts: FormParts, settings: Visual): HTMLElement {
  const color = String(settings.classesSettings?.color ?? "#2a6fbb");
  const input = colour("visual-colour", color, (next) =>
    parts.change((now) => withClass(now, "color", next)),
  );
  return row(parts.t("styleColour"), "visual-colour", input);
}

/** Of what the classes colour. */
export function shapeControls(parts: FormParts, settings: Visual): HTMLElement[] {
  const { shapes } = parts.form;
  return [
    ...(shapes.has("point") ? [sizeControl(parts, settings)] : []),
    ...(shapes.has("line") ? [rangeControl(parts, settings, lineWidth)] : []),
    ...(shapes.has("point") || shapes.has("polygon") ? outlineControls(parts, settings) : []),
  ];
}

function sizeControl({ t, change }: FormParts, settings: Visual): HTMLElement {
  const value = pointSize(settings);
  return slider({ id: "visual-size", label: t("styleSize"), from: 1, to: 60, step: 0.5, value }, (size) =>
    change((now) => withPointSize(now, size)),
  );
}

function outlineControls({ t, change }: FormParts, settings: Visual): HTMLElement[] {
  const value = borderWidth(settings);
  const width = slider(
    { id: "visual-outline", label: t("styleOutlineWidth"), from: 0, to: 10, step: 0.5, value },
    (wide) => change((now) => withBorderLine(now, wide)),
  );
  if (value === 0) return [width];
  const ink = colour("visual-outline-colour", String(settings.borderSettings?.color ?? "#ffffff"), (color) =>
    change((now) => withMember(now, "borderSettings", "color", color)),
  );
  return [width, row(t("styleOutline"), ink.id, ink)];
}

/** Sizes of a kind as a whole, and its opacity. */
export const rangeControls = (parts: FormParts, settings: Visual): HTMLElement[] =>
  [...(ranges[settings.type] ?? []), ...(settings.type === kinds.heat ? [] : [opacity])].map((range) =>
    rangeControl(parts, settings, range),
  );

function rangeControl(
  parts: FormParts,
  settings: Visual,
  { label, name, from, to, step = 1 }: Range,
): HTMLElement {
  const given = Number(settings.classesSettings?.[name]);
  const value = Number.isFinite(given) ? given : name === "opacity" ? 1 : from;
  return slider({ id: `visual-${name}`, label: parts.t(label), from, to, step, value }, (next) =>
    parts.change((now) => withClass(now, name, next)),
  );
}

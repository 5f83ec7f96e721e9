import type { LayerNode } from "../catalog/state.js";
import { type Face, faceFor, foreignFaces } from "../style/fonts.js";
import type { Style, Symbolizer } from "../style/model.js";
import { columnOf, type Settings } from "./columns.js";
import { bounded, type Fill, maxSize, styleOf, symbolizer } from "./drawing.js";

/** Labels of visualizations. */

/** Thinner halos do not part a text from what is below it, in pixels. */
const leastHalo = 1;

/** The column whose values are shown as labels, by id; undefined = no labels. */
export function labelColumn(layer: LayerNode, settings: Settings) {
  const { column } = settings.textSettings as Settings;
  return settings.showText ? columnOf(layer, column ?? settings.column) : undefined;
}

/** Colours of texts on dark and on light ground. */
export const [onDark, onLight] = ["#ffffff", "#222222"] as const;

/** Whether light texts are read more easily on it. */
export function isDark({ color, opacity = 1 }: Pick<Fill, "color"> & Partial<Fill>): boolean {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((at) => Number.parseInt(color.slice(at, at + 2), 16));
  const lightness = 0.299 * red + 0.587 * green + 0.114 * blue;
  return opacity * lightness + (1 - opacity) * 255 <= 150;
}

/**
 * Labels of the column `label$`.
 * @param options.dy of labels without an offset of their own, in pixels, or an expression
 * @param options.fills on which labels stand, whose colour they suit unless the settings have one
 */
export function labels(
  settings: Settings,
  layer: LayerNode,
  options: { filter?: string; dy?: string; fills?: readonly Fill[] | undefined } = {},
): Style {
  const text = settings.textSettings as Settings;
  const names = [text.fontFamily as string];
  const face: Face = faceFor(names);
  const faces = foreignFaces(names);
  const isLine = layer.geometryKind === "LineString" && options.filter === undefined;
  const attributes = {
    "face-name": face,
    size: Math.max(1, bounded(text.fontSize)),
    fill: text.fontColor as string,
    opacity: text.fontOpacity as number,
    "halo-fill": text.halo ? (text.haloColor as string) : undefined,
    "halo-radius": text.halo ? Math.min(16, Math.max(leastHalo, Number(text.haloWidth))) : undefined,
    "halo-opacity": text.halo ? (text.haloOpacity as number) : undefined,
    "allow-overlap": text.allowOverlap === true,
    placement: isLine ? "line" : "interior",
    dy: text.offsetEnabled
      ? String(Math.max(-maxSize, Math.min(maxSize, Number(text.textOffset))))
      : options.dy,
  };
  const label: Symbolizer = {
    ...symbolizer("TextSymbolizer", attributes),
    text: "[label$]",
    ...(faces.length > 0 && { faces }),
  };
  const { filter, fills = [] } = options;
  const mayBeArea = layer.geometryKind === "Polygon" || layer.geometryKind === "Unknown";
  const dark = text.colorByFill === true && mayBeArea ? fills.filter(isDark) : [];
  if (dark.length === 0)
    return styleOf("labels", [{ ...(filter !== undefined && { filter }), symbolizers: [label] }]);
  const isOnDark = `(${dark.map((one) => `(${one.filter})`).join(" or ")}) and ([mapnik::geometry_type]=3)`;
  const light: Symbolizer = {
    ...label,
    attributes: { ...label.attributes, fill: onDark, ...(text.halo === true && { "halo-fill": onLight }) },
  };
  return styleOf("labels", [
    { filter: `not (${isOnDark})`, symbolizers: [label] },
    { filter: isOnDark, symbolizers: [light] },
  ]);
}

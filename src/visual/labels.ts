import type { LayerNode } from "../catalog/state.js";
import { type Face, faceFor, foreignFaces } from "../style/fonts.js";
import type { Style, Symbolizer } from "../style/model.js";
import { columnOf, type Settings } from "./columns.js";
import { bounded, type Fill, maxSize, styleOf, symbolizer } from "./drawing.js";
import { darker, isDark, lighter, onDark } from "./shades.js";

/** Labels of visualizations. */

/** Thinner halos do not part a text from what is below it, in pixels. */
const leastHalo = 1;

/** The column whose values are shown as labels, by id; undefined = no labels. */
export function labelColumn(layer: LayerNode, settings: Settings) {
  const { column } = settings.textSettings as Settings;
  return settings.showText ? columnOf(layer, column ?? settings.column) : undefined;
}

/** Labels keep so far from each other, in pixels, that they are not read as one. */
const clearance = 4;

/**
 * Labels of the column `label$`.
 * @param options.dy of labels without an offset of their own, in pixels, or an expression
 * @param options.fills on which labels stand, whose colours they suit unless the settings have some
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
    // Markers that let nothing overlap them would push away the labels beside them, too.
    margin: (settings.pointSettings as Settings).allowOverlap === true ? clearance : undefined,
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
  const known = text.colorByFill === true && mayBeArea ? fills : [];
  if (known.length === 0)
    return styleOf("labels", [{ ...(filter !== undefined && { filter }), symbolizers: [label] }]);
  const looks = new Map<string, Fill[]>();
  for (const fill of known) {
    const look = `${fill.color} ${fill.opacity}`;
    looks.set(look, [...(looks.get(look) ?? []), fill]);
  }
  const elsewhere = { filter: "[mapnik::geometry_type]!=3", symbolizers: [label] };
  return styleOf("labels", [
    ...(layer.geometryKind === "Unknown" ? [elsewhere] : []),
    ...[...looks.values()].map((alike) => ({
      filter: `(${alike.map((one) => `(${one.filter})`).join(" or ")}) and ([mapnik::geometry_type]=3)`,
      symbolizers: [lookOn(label, alike[0]!)],
    })),
  ]);
}

const lookOn = (label: Symbolizer, fill: Fill): Symbolizer => ({
  ...label,
  attributes: {
    ...label.attributes,
    ...(isDark(fill) && { fill: onDark }),
    ...(label.attributes["halo-fill"] !== undefined && {
      "halo-fill": isDark(fill) ? darker(fill) : lighter(fill),
    }),
  },
});

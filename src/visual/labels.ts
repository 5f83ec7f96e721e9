import type { LayerNode } from "../catalog/state.js";
import { topScaleDenominator } from "../geo/tile.js";
import { wrapWidths } from "../style/default-style.js";
import { type Face, faceFor, foreignFaces } from "../style/fonts.js";
import type { Rule, Style, Symbolizer } from "../style/model.js";
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

/** Along lines, as in default styles: every street would else have its name once for each of its parts. */
const alongLines = {
  ...{ placement: "line", spacing: 400, "repeat-distance": 200 },
  ...{ "max-char-angle-delta": 30, "minimum-path-length": 40 },
};

/** Labels keep so far from each other, in pixels, that they are not read as one. */
const clearance = 4;

export interface LabelOptions {
  readonly filter?: string;
  /** Pixels down, or an expression, of labels without an offset of their own. */
  readonly dy?: string;
  /** Half the width of symbols, beside which labels without an offset of their own stand. */
  readonly beside?: string | undefined;
  /** On which labels stand, whose colours they suit unless the settings have some. */
  readonly fills?: readonly Fill[] | undefined;
}

/** Between a symbol and the label beside it. */
const gap = 3;

/** Labels of the column `label$`. */
export const labels = (settings: Settings, layer: LayerNode, options: LabelOptions = {}): Style =>
  styleOf(
    "labels",
    rulesOf(settings, layer, options).map((rule) => ({ ...rule, ...scales(settings) })),
  );

/** Of what is drawn from the first zoom of labels on, as a limit between two zooms. */
export function scales(settings: Settings): Pick<Rule, "maxScaleDenominator"> {
  const { fromZoom } = settings.textSettings as Settings;
  return fromZoom === undefined
    ? {}
    : { maxScaleDenominator: topScaleDenominator / 2 ** (Number(fromZoom) - 0.5) };
}

function rulesOf(settings: Settings, layer: LayerNode, options: LabelOptions): Rule[] {
  const text = settings.textSettings as Settings;
  const names = [text.fontFamily as string];
  const face: Face = faceFor(names);
  const faces = foreignFaces(names);
  const size = Math.max(1, bounded(text.fontSize));
  const isLine = layer.geometryKind === "LineString" && options.filter === undefined;
  const attributes = {
    "face-name": face,
    size,
    fill: text.fontColor as string,
    opacity: text.fontOpacity as number,
    "halo-fill": text.halo ? (text.haloColor as string) : undefined,
    "halo-radius": text.halo ? Math.min(16, Math.max(leastHalo, Number(text.haloWidth))) : undefined,
    "halo-opacity": text.halo ? (text.haloOpacity as number) : undefined,
    "allow-overlap": text.allowOverlap === true,
    // Markers that let nothing overlap them would push away the labels beside them, too.
    margin: (settings.pointSettings as Settings).allowOverlap === true ? clearance : undefined,
    // Charts and clusters are points, whatever the layer has.
    ...(isLine ? alongLines : inLines(options.filter === undefined ? "Polygon" : "Point", size)),
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
  const beside = text.offsetEnabled ? undefined : options.beside;
  const onPoints =
    beside === undefined
      ? []
      : [
          {
            filter: "[mapnik::geometry_type]=1",
            symbolizers: [placedBeside(label, `${beside}+${gap}`, size)],
          },
        ];
  const mayBeArea = layer.geometryKind === "Polygon" || layer.geometryKind === "Unknown";
  const known = text.colorByFill === true && mayBeArea ? fills : [];
  const elsewhere = (filter: string | undefined) => ({
    ...(filter !== undefined && { filter }),
    symbolizers: [label],
  });
  if (known.length === 0)
    return [...onPoints, elsewhere(beside === undefined ? filter : "[mapnik::geometry_type]!=1")];
  const looks = new Map<string, Fill[]>();
  for (const fill of known) {
    const look = `${fill.color} ${fill.opacity}`;
    looks.set(look, [...(looks.get(look) ?? []), fill]);
  }
  const others =
    beside === undefined
      ? [elsewhere("[mapnik::geometry_type]!=3")]
      : [...onPoints, elsewhere("[mapnik::geometry_type]=2")];
  return [
    ...(layer.geometryKind === "Unknown" ? others : []),
    ...[...looks.values()].map((alike) => ({
      filter: `(${alike.map((one) => `(${one.filter})`).join(" or ")}) and ([mapnik::geometry_type]=3)`,
      symbolizers: [lookOn(label, alike[0]!)],
    })),
  ];
}

const wrapOf = (of: keyof typeof wrapWidths, size: number): string =>
  String(Math.round(size * wrapWidths[of]));

const inLines = (of: keyof typeof wrapWidths, size: number) => ({
  placement: "interior",
  "wrap-width": wrapOf(of, size),
  "wrap-before": true,
});

/** Where there is room: to the right, to the left, above, or below. */
const placedBeside = (label: Symbolizer, distance: string, size: number): Symbolizer => ({
  ...label,
  attributes: {
    ...label.attributes,
    ...{ placement: "point", "placement-type": "simple", placements: "E,W,N,S" },
    ...{ dx: distance, dy: distance, "wrap-width": wrapOf("Point", size) },
  },
});

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

import type { RasterImage } from "../catalog/state.js";
import { mercatorHalf } from "../geo/tile.js";
import type { CompiledStyle, RasterStop, Rule, Symbolizer } from "../style/model.js";

/** How Mapnik draws the image of a raster layer. */

/**
 * The layer's style for its image. What a style leaves open is completed: how pixels are mixed, and colours for numbers, from
 * black for the least to white for the greatest. A style without raster properties draws the image as it is.
 */
export function rasterStyle(
  style: CompiledStyle,
  { raster, scale }: { readonly raster: Colours; readonly scale: 1 | 2 | 3 },
): CompiledStyle {
  // The pixels of an overview are those of tiles at these densities. By default Mapnik reads the next finer overview and
  // mixes its pixels, which takes ten times as long.
  const defaults = {
    scaling: raster.isDiscrete ? "near" : "bilinear",
    ...(scale < 3 && { "filter-factor": "1" }),
  };
  const styles = style.styles
    .map((one) => ({ ...one, rules: one.rules.map((rule) => rasterRule(rule, raster, defaults)) }))
    .filter(({ rules }) => rules.some(({ symbolizers }) => symbolizers.length > 0));
  if (styles.length > 0) return { ...style, styles };
  const rules = [
    { symbolizers: [completed({ type: "RasterSymbolizer", attributes: {} }, raster, defaults)] },
  ];
  return { styles: [{ name: "", attributes: {}, rules }], fields: [], bufferPixels: 1 };
}

/** What of an image its colours follow from. */
type Colours = Pick<RasterImage, "isDiscrete" | "valueRange">;
type Attributes = Symbolizer["attributes"];

/** Other symbolizers draw objects, and an image has none. */
const rasterRule = (rule: Rule, raster: Colours, defaults: Attributes): Rule => ({
  ...rule,
  symbolizers: rule.symbolizers
    .filter(({ type }) => type === "RasterSymbolizer")
    .map((symbolizer) => completed(symbolizer, raster, defaults)),
});

function completed(symbolizer: Symbolizer, { valueRange }: Colours, defaults: Attributes): Symbolizer {
  const attributes = { ...defaults, ...symbolizer.attributes };
  if (!valueRange || symbolizer.stops) return { ...symbolizer, attributes };
  return { ...symbolizer, attributes, stops: greys(valueRange) };
}

function greys([least, greatest]: readonly [number, number]): RasterStop[] {
  if (least === greatest) return [{ value: String(least), color: "#808080", mode: "linear" }];
  return [
    { value: String(least), color: "#000000", mode: "linear" },
    { value: String(greatest), color: "#ffffff", mode: "linear" },
  ];
}

const worldWidth = 2 * mercatorHalf;

/**
 * Parameters of Mapnik's GDAL plugin for the image, for each world copy that it touches. The file has the blob's key as its
 * name, which the render host replaces by its path.
 */
export function rasterDatasources({
  drawn,
  extent,
  valueRange,
}: Pick<RasterImage, "drawn" | "extent" | "valueRange">): Record<string, string>[] {
  const common = { type: "gdal", file: drawn, ...(valueRange && { band: "1" }) };
  if (!extent) return [common];
  const [west, south, east, north] = extent;
  const copies: Record<string, string>[] = [];
  const first = Math.floor((-mercatorHalf - east) / worldWidth) + 1;
  for (let copy = first; west + copy * worldWidth < mercatorHalf; copy++) {
    const shift = copy * worldWidth;
    // The file itself says where it lies.
    if (shift === 0) copies.push(common);
    else copies.push({ ...common, extent: [west + shift, south, east + shift, north].join(",") });
  }
  return copies;
}

import type { RasterImage } from "../catalog/state.js";
import type { SymbolRequest } from "../hosts/messages.js";
import { mapSource } from "../style/mapnik-xml.js";
import type { CompiledStyle } from "../style/model.js";
import { rasterDatasources, rasterStyle } from "./raster-drawing.js";

/** Legends and symbols of raster layers. */

export interface RasterClass {
  readonly value: number;
  readonly color: string;
}

/** The colours of values by the layer's style, ascending; none for images of colours. */
export function rasterClasses(style: CompiledStyle, raster: RasterImage): RasterClass[] {
  const { styles } = rasterStyle(style, { raster, scale: 1 });
  const coloured = styles.flatMap(({ rules }) => rules.flatMap(({ symbolizers }) => symbolizers));
  const stops = coloured.find((one) => one.stops)?.stops ?? [];
  return stops
    .flatMap(({ value, color }) => (color === undefined ? [] : [{ value: Number(value), color }]))
    .toSorted((one, other) => one.value - other.value);
}

/** A small picture of the image; undefined for an image whose place is not known. */
export function rasterSymbol(
  style: CompiledStyle,
  raster: RasterImage,
  size: number,
): SymbolRequest | undefined {
  const [datasource] = rasterDatasources(raster);
  const box = datasource?.extent?.split(",").map(Number) ?? raster.extent;
  if (!datasource || !box) return undefined;
  const [west, south, east, north] = box as [number, number, number, number];
  const half = Math.max(east - west, north - south) / 2;
  const [x, y] = [(west + east) / 2, (south + north) / 2];
  const layers = [{ name: "image", style: rasterStyle(style, { raster, scale: 1 }), datasource }];
  const map = mapSource({ properties: {}, layers, bufferSize: 0 });
  return { map, extent: [x - half, y - half, x + half, y + half], size, scale: 1 };
}

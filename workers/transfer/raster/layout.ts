import gdal from "gdal-async";
import type { PixelType, RasterSource } from "./source.js";

/** How the bands of an image are stored in the processed one. */

export interface Layout {
  /** Of the processed bands. */
  readonly type: PixelType;
  /** Bands beside the alpha band. */
  readonly colours: number;
  /** Where alpha comes from; undefined = the processed image has nodata values instead. */
  readonly alpha: AlphaSource | undefined;
  readonly nodata: number | undefined;
  /** Red, green, blue and alpha of each index, for an image with a palette. */
  readonly palette: Uint8Array | undefined;
  /** Whether 16 bits become 8. */
  readonly isHalved: boolean;
  readonly isRgb: boolean;
  /** Values that are not to be mixed: indices of a palette, and whole numbers of 32 bits, which are mostly identifiers. */
  readonly isDiscrete: boolean;
}

export type AlphaSource =
  | { readonly kind: "band"; readonly band: gdal.RasterBand }
  /** The image's mask: 0 or 255, whatever the type of its bands is. */
  | { readonly kind: "mask"; readonly band: gdal.RasterBand }
  /** Pixels with these values in all bands are transparent. */
  | { readonly kind: "nodata"; readonly values: readonly number[] }
  | { readonly kind: "opaque" };

/** Flags of a band's mask (GDAL's GMF_…). */
const maskOfDataset = 2;
const maskIsAlphaOrNodata = 4 | 8;

/**
 * Pictures (8 bits with one or three bands, palettes, and PNG of 16 bits) get an alpha band, which every renderer understands;
 * other rasters keep their nodata value, and get an alpha band when they have none. Colours of a palette are written out.
 */
export function layoutOf({ dataset, format, type }: RasterSource): Layout {
  const bands = [...dataset.bands];
  const last = bands.at(-1)!;
  const own = bands.length > 1 && last.colorInterpretation === gdal.GCI_AlphaBand ? last : undefined;
  const colours = bands.length - (own ? 1 : 0);
  const first = bands[0]!;
  const nodata = bands.slice(0, colours).map((band) => band.noDataValue);
  const values = nodata.every((value) => value !== null) ? (nodata as number[]) : undefined;
  const table = colours === 1 ? first.colorTable : null;
  const isInteger = type === "Byte" || type === "UInt16";
  const alpha: AlphaSource = own
    ? { kind: "band", band: own }
    : (maskOf(first) ?? (values ? { kind: "nodata", values } : { kind: "opaque" }));
  const common = { isHalved: false, palette: undefined, nodata: undefined };
  if (table && isInteger) {
    const palette = paletteOf(table);
    return { ...common, type: "Byte", colours: 3, alpha, palette, isRgb: true, isDiscrete: true };
  }
  const isHalved = format === "PNG" && type === "UInt16";
  const isPicture = (type === "Byte" || isHalved) && (colours === 1 || colours === 3);
  const isRgb = colours === 3 && (isPicture || first.colorInterpretation === gdal.GCI_RedBand);
  if (isPicture) return { ...common, type: "Byte", colours, alpha, isHalved, isRgb, isDiscrete: false };
  const isFloat = type === "Float32" || type === "Float64";
  const kept = values?.[0] ?? (isFloat ? Number.NaN : undefined);
  const keepsNodata = (alpha.kind === "nodata" || alpha.kind === "opaque") && kept !== undefined;
  return {
    ...common,
    type,
    colours,
    alpha: keepsNodata ? undefined : alpha,
    nodata: keepsNodata ? kept : undefined,
    isRgb,
    isDiscrete: type === "Int32" || type === "UInt32",
  };
}

/** The mask that a TIFF has beside its bands. */
function maskOf(band: gdal.RasterBand): AlphaSource | undefined {
  const flags = band.getMaskFlags();
  if ((flags & maskOfDataset) === 0 || (flags & maskIsAlphaOrNodata) !== 0) return undefined;
  const mask = band.getMaskBand();
  return mask ? { kind: "mask", band: mask } : undefined;
}

function paletteOf(table: gdal.ColorTable): Uint8Array {
  const colours = new Uint8Array(4 * 65_536);
  for (let index = 0; index < Math.min(table.count(), 65_536); index++) {
    const { c1, c2, c3, c4 } = table.get(index);
    colours.set([c1, c2, c3, c4], 4 * index);
  }
  return colours;
}

/** The alpha of an opaque pixel, as GDAL's warper has it. */
export const opaque = (type: PixelType): number =>
  type === "UInt16" ? 65_535 : type === "Int16" ? 32_767 : 255;

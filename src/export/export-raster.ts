import type { LayerNode, RasterImage } from "../catalog/state.js";
import { failed } from "../errors.js";
import type { BlobStore, ReadOptions } from "../storage/blob-store.js";
import { exactBytes } from "../storage/exact-bytes.js";
import type { Queryable } from "../storage/postgres.js";
import { formatOf } from "./export-formats.js";
import { fileTitle } from "./export-layer.js";
import { type ExportTarget, localTitle } from "./export-request.js";
import { type ZipEntry, zipped } from "./zip.js";

/** Exports the image of a raster layer. */

/** A layer that holds an image. */
export type RasterLayer = LayerNode & { readonly raster: RasterImage };

export const hasImage = (layer: LayerNode): layer is RasterLayer => layer.raster !== null;

export interface RasterExport {
  readonly format: string;
  /** The file as it was uploaded, in its own format; else the processed image, a GeoTIFF in EPSG:3857. */
  readonly original: boolean;
  /** Language of the layer's title; default: the project's main language. */
  readonly language?: string | undefined;
}

export interface ExportedImage {
  /** Key and size of the image's blob. */
  readonly blob: string;
  readonly bytes: number;
  readonly name: string;
  readonly mediaType: string;
  readonly notes: readonly string[];
}

const originals = {
  GTiff: { extension: "tif", worldExtension: "tfw", mediaType: "image/tiff" },
  PNG: { extension: "png", worldExtension: "pgw", mediaType: "image/png" },
  JPEG: { extension: "jpg", worldExtension: "jgw", mediaType: "image/jpeg" },
} as const;

/** @throws Failure invalid_format; unsupported_format for another format than geotif */
export function exportedImage(
  target: ExportTarget & { readonly layer: RasterLayer },
  { format, original, language }: RasterExport,
): ExportedImage {
  formatOf(format);
  if (format !== "geotif")
    throw failed("unsupported_format", "The layer holds an image, which can be exported as geotif.");
  const { raster, code } = target.layer;
  const title = fileTitle(localTitle(target, language)) || code;
  const { extension, mediaType } = original ? originals[raster.originalFormat] : originals.GTiff;
  const name = `${title}.${extension}`;
  if (!original) return { blob: raster.processed, bytes: raster.processedBytes, name, mediaType, notes: [] };
  const notes = raster.hasOwnReference
    ? []
    : ["The image does not say itself where it lies: in a zip archive it has a world file beside it."];
  return { blob: raster.original, bytes: raster.originalBytes, name, mediaType, notes };
}

/** A zip archive with the image, and a world file and .prj if the image does not say itself where it lies. */
export async function zippedImage(
  { db, blobs }: { readonly db: Queryable; readonly blobs: BlobStore },
  { raster }: RasterLayer,
  image: ExportedImage,
  by: Pick<ReadOptions, "signal" | "reader">,
) {
  const title = image.name.slice(0, image.name.lastIndexOf("."));
  const chunks = exactBytes(blobs.read(image.blob, by), image.bytes);
  const entries: ZipEntry[] = [{ name: image.name, chunks }];
  if (image.notes.length > 0) {
    const { worldExtension } = originals[raster.originalFormat];
    entries.push({ name: `${title}.${worldExtension}`, chunks: once(worldFile(raster.transform)) });
    const wkt = await wktOf(db, raster.srs);
    if (wkt) entries.push({ name: `${title}.prj`, chunks: once(wkt) });
  }
  return { name: `${title}.zip`, mediaType: "application/zip", chunks: zipped(entries) };
}

/** Six lines, the last two of which are the centre of the first pixel. */
function worldFile(transform: readonly number[]): string {
  const [left, a, b, top, d, e] = transform as [number, number, number, number, number, number];
  return [a, d, b, e, left + a / 2 + b / 2, top + d / 2 + e / 2].map((line) => `${line}\n`).join("");
}

/** WKT of an EPSG number or WKT; undefined for proj4 and for numbers that PostGIS does not know. */
async function wktOf(db: Queryable, srs: string): Promise<string | undefined> {
  if (!/^\d+$/.test(srs)) return srs.startsWith("+") ? undefined : srs;
  const [row] = await db.query<{ srtext: string }>("select srtext from spatial_ref_sys where srid = $1", [
    Number(srs),
  ]);
  return row?.srtext;
}

async function* once(text: string): AsyncGenerator<string, void> {
  yield text;
}

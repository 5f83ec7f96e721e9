import type { Queryable } from "../storage/postgres.js";
import type { RasterImage } from "./state.js";

/** Images of raster layers: rows of the table `raster`. */

/** A row as JSON. NaN is text there. */
export interface RasterRow {
  original: string;
  original_format: RasterImage["originalFormat"];
  original_bytes: number;
  processed: string;
  processed_bytes: number;
  width: number;
  height: number;
  bands: number;
  srs: string;
  transform: number[];
  has_own_reference: boolean;
  box: [number, number, number, number];
  nodata: number | string | null;
}

export function rasterOf(row: RasterRow): RasterImage {
  const [west, south, east, north] = row.box;
  return {
    original: row.original,
    originalFormat: row.original_format,
    originalBytes: row.original_bytes,
    processed: row.processed,
    processedBytes: row.processed_bytes,
    width: row.width,
    height: row.height,
    bands: row.bands,
    srs: row.srs,
    transform: row.transform,
    hasOwnReference: row.has_own_reference,
    box: { west, south, east, north },
    nodata: row.nodata === null ? null : Number(row.nodata),
  };
}

/** Sets the image of a raster layer. @returns keys of the blobs of the one before */
export async function setRaster(tx: Queryable, layerId: number, image: RasterImage): Promise<string[]> {
  const [before] = await tx.query<{ original: string; processed: string }>(
    "select original, processed from raster where layer_id = $1 for update",
    [layerId],
  );
  const { west, south, east, north } = image.box;
  await tx.execute(
    `insert into raster (layer_id, original, original_format, original_bytes, processed, processed_bytes, width, height,
       bands, srs, transform, has_own_reference, box, nodata)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)
     on conflict (layer_id) do update set (original, original_format, original_bytes, processed, processed_bytes, width,
         height, bands, srs, transform, has_own_reference, box, nodata, created_at)
       = (excluded.original, excluded.original_format, excluded.original_bytes, excluded.processed,
         excluded.processed_bytes, excluded.width, excluded.height, excluded.bands, excluded.srs, excluded.transform,
         excluded.has_own_reference, excluded.box, excluded.nodata, now())`,
    [
      layerId,
      image.original,
      image.originalFormat,
      image.originalBytes,
      image.processed,
      image.processedBytes,
      image.width,
      image.height,
      image.bands,
      image.srs,
      image.transform,
      image.hasOwnReference,
      [west, south, east, north],
      image.nodata,
    ],
  );
  return before ? [before.original, before.processed] : [];
}

/** Those of the keys that no raster layer has. */
export async function unusedRasterBlobs(db: Queryable, keys: readonly string[]): Promise<string[]> {
  const rows = await db.query<{ uuid: string }>(
    `select uuid from unnest($1::uuid[]) u (uuid)
     where not exists (select from raster r where u.uuid in (r.original, r.processed))`,
    [keys],
  );
  return rows.map(({ uuid }) => uuid);
}

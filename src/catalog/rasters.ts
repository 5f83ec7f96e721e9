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
  drawn: string | null;
  value_range: [number, number] | null;
  extent: [number, number, number, number] | null;
  is_discrete: boolean;
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
    drawn: row.drawn ?? row.processed,
    valueRange: row.value_range,
    extent: row.extent,
    isDiscrete: row.is_discrete,
  };
}

/** Columns of a raster layer's image, beside its layer. */
const imageColumns = [
  ...[
    "original",
    "original_format",
    "original_bytes",
    "processed",
    "processed_bytes",
    "width",
    "height",
    "bands",
  ],
  ...[
    "srs",
    "transform",
    "has_own_reference",
    "box",
    "nodata",
    "drawn",
    "value_range",
    "extent",
    "is_discrete",
  ],
];

/** Sets the image of a raster layer. @returns keys of the blobs of the one before */
export async function setRaster(tx: Queryable, layerId: number, image: RasterImage): Promise<string[]> {
  const [before] = await tx.query<{ keys: string[] }>(
    "select array_remove(array[original, processed, drawn], null) as keys from raster where layer_id = $1 for update",
    [layerId],
  );
  const { west, south, east, north } = image.box;
  await tx.execute(
    `insert into raster (layer_id, ${imageColumns.join(", ")})
     values ($1, ${imageColumns.map((_, at) => `$${at + 2}`).join(", ")})
     on conflict (layer_id) do update set (${imageColumns.join(", ")}, created_at)
       = (${imageColumns.map((name) => `excluded.${name}`).join(", ")}, now())`,
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
      image.drawn === image.processed ? null : image.drawn,
      image.valueRange,
      image.extent,
      image.isDiscrete,
    ],
  );
  return before?.keys ?? [];
}

/** Finds the keys of blobs that no raster layer has. */
export async function unusedRasterBlobs(db: Queryable, keys: readonly string[]): Promise<string[]> {
  const rows = await db.query<{ uuid: string }>(
    `select uuid from unnest($1::uuid[]) u (uuid)
     where not exists (select from raster r where u.uuid in (r.original, r.processed, r.drawn))`,
    [keys],
  );
  return rows.map(({ uuid }) => uuid);
}

import { layerTable } from "../catalog/layer-table.js";
import type { Column, LayerNode } from "../catalog/state.js";
import type { Database, Queryable } from "../storage/postgres.js";
import { labelText } from "../visual/value-sql.js";
import type { Languages } from "./column-sql.js";
import { countObjects } from "./count.js";
import { Values } from "./sql.js";

/** The zoom from which on the objects of a layer have room for their labels. */

/** Labels for which a tile has room. */
const labelsPerTile = 24;
/** The last one that anything is found to have room from. */
export const lastZoom = 17;
/** At which labels of very many objects begin whose room is not known. */
export const denseZoom = 14;
/** For counting the objects of a view. */
const countingMs = 1_000;
/** Metres around the world in EPSG:3857. */
export const worldMetres = 40_075_016.7;

/**
 * The zoom at which tiles of the area have room for a label of each object, on average; as many as a tile has room for have it at all
 * zooms.
 * @param area as of `areaOf`
 */
export function labelZoom(rows: number, area: number): number {
  if (rows <= labelsPerTile) return 0;
  return Math.min(lastZoom, Math.max(0, Math.ceil(labelZoomAt(rows / Math.max(area, 1)))));
}

/** The zoom, with its fraction, at which tiles have room for so many labels. @param density objects in a square metre */
export const labelZoomAt = (density: number): number =>
  Math.log((density * worldMetres ** 2) / labelsPerTile) / Math.log(4);

/** SQL of the square metres of a box in EPSG:3857, which counts as a tenth as wide as long at least: lines may lie in a row. */
const areaSql = (box: string): string =>
  `(select greatest(width, height / 10) * greatest(height, width / 10) from (
     select st_xmax(box) - st_xmin(box) as width, st_ymax(box) - st_ymin(box) as height from (select ${box} as box) found) sides)`;

/**
 * Square metres of the box around the objects. Undefined = the database does not know it.
 * @param layerId of a layer with a table
 */
export async function areaOf(db: Pick<Queryable, "query">, layerId: number): Promise<number | undefined> {
  const [extent] = await db.query<{ area: number | null }>(
    `select ${areaSql("st_estimatedextent(split_part($1, '.', 1), split_part($1, '.', 2), 'geom_3857')")} as area`,
    [layerTable(layerId)],
  );
  return extent?.area ?? undefined;
}

/**
 * The zoom from which on the objects that a layer has now have room for their labels, which those have that have a text in the column;
 * undefined = there are none, or nobody knows where they are.
 */
export async function labelZoomOf(
  db: Database,
  layer: Pick<LayerNode, "id" | "type">,
  of: { readonly column: Column; readonly languages: Languages },
  signal: AbortSignal,
): Promise<number | undefined> {
  const { column, languages } = of;
  const bound = new Values();
  const text = labelText(column, { languages, bind: (value) => bound.bind(value) });
  if (layer.type === "virtual") return zoomOfView(db, layer.id, { text, values: bound.list }, signal);
  const having = { column, text, values: bound.list };
  const rows = await countObjects(db, layer.id, { precise: false, signal, having });
  if (rows === 0) return undefined;
  const area = await areaOf(db, layer.id);
  return area === undefined ? undefined : labelZoom(rows, area);
}

/** Nobody estimates where the objects of a view are: they may be all in one place of its source. They are counted if that does not take long. */
async function zoomOfView(
  db: Database,
  layerId: number,
  { text, values }: { readonly text: string; readonly values: readonly unknown[] },
  signal: AbortSignal,
): Promise<number | undefined> {
  try {
    const [found] = await db.query<{ rows: number; area: number | null }>(
      `select rows, ${areaSql("extent")} as area
       from (select count(*) as rows, st_extent(geom_3857) as extent from ${layerTable(layerId)} where ${text} <> '') counted`,
      values,
      { signal, timeoutMs: countingMs },
    );
    const { rows, area } = found!;
    return rows === 0 || area === null ? undefined : labelZoom(rows, area);
  } catch (error) {
    signal.throwIfAborted();
    // query_canceled
    if ((error as { code?: string }).code !== "57014") throw error;
    return denseZoom;
  }
}

import { hasObjects, type LayerNode } from "../catalog/state.js";
import { type ContractBox, type GeoEnvelope, toMercator } from "../geo/envelope.js";
import type { Queryable } from "../storage/postgres.js";
import type { Srid } from "./geometry-sql.js";
import { layerTable } from "./sql.js";

/** Exact bounding boxes of whole layers, without reading all of their geometry; those of images are in the catalogue. */

export type BoxedLayer = Pick<LayerNode, "id" | "type" | "raster">;

/** Planning time grows with the square of the number of tables in a statement, and each table is locked. */
const layersPerStatement = 25;

/** Bounding boxes of layers' objects, or images, by layer id; null when no object has a geometry, and of external services. */
export async function layersBoxes(
  db: Queryable,
  layers: readonly BoxedLayer[],
): Promise<Map<number, GeoEnvelope | null>> {
  const boxes = new Map<number, GeoEnvelope | null>(
    layers.map(({ id, raster }) => [id, raster?.box ?? null]),
  );
  const ids = [...new Set(layers.filter(hasObjects).map(({ id }) => id))];
  for (let at = 0; at < ids.length; at += layersPerStatement)
    for (const [id, box] of await batchBoxes(db, ids.slice(at, at + layersPerStatement))) boxes.set(id, box);
  return boxes;
}

async function batchBoxes(
  db: Queryable,
  layerIds: readonly number[],
): Promise<Map<number, GeoEnvelope | null>> {
  const boxes = new Map<number, GeoEnvelope | null>();
  const rows = await db.query<EdgeRow>(layerIds.map(indexedBox).join(" union all "));
  const unresolved: number[] = [];
  for (const row of rows) {
    if (isWhole(row)) boxes.set(row.id, envelopeOf(row));
    else if (row.empty) boxes.set(row.id, null);
    else unresolved.push(row.id);
  }
  if (unresolved.length > 0) {
    for (const row of await db.query<EdgeRow>(unresolved.map(scannedBox).join(" union all "))) {
      boxes.set(row.id, isWhole(row) ? envelopeOf(row) : null);
    }
  }
  return boxes;
}

/** Degrees (EPSG:4326); an edge is null when it is not known or the layer has no geometry. */
interface EdgeRow {
  id: number;
  /** The layer certainly has no geometry. */
  empty: boolean;
  west: number | null;
  south: number | null;
  east: number | null;
  north: number | null;
}

const isWhole = (row: EdgeRow): row is EdgeRow & GeoEnvelope =>
  row.west !== null && row.south !== null && row.east !== null && row.north !== null;

/**
 * SQL of a layer's box by its GiST index. The extent of the index contains every object, but it is rounded outwards and may
 * be too large after deletions. So each exact edge is read from the objects in a narrow strip along that side of the extent;
 * an edge is null when its strip is empty. A view has no index, so its edges are all null.
 */
function indexedBox(id: number): string {
  const table = layerTable(id);
  const edge = (pick: string, corners: string) =>
    `(select ${pick} from ${table} where geom && st_makeenvelope(${corners},4326))`;
  return `(select ${id}::bigint as id, e is null and own as empty,
    ${edge("min(st_xmin(geom))", "x0-pad,y0-pad,x0+pad,y1+pad")} as west,
    ${edge("min(st_ymin(geom))", "x0-pad,y0-pad,x1+pad,y0+pad")} as south,
    ${edge("max(st_xmax(geom))", "x1-pad,y0-pad,x1+pad,y1+pad")} as east,
    ${edge("max(st_ymax(geom))", "x0-pad,y1-pad,x1+pad,y1+pad")} as north
    from (select own, e, st_xmin(e) as x0, st_ymin(e) as y0, st_xmax(e) as x1, st_ymax(e) as y1, 1e-4 as pad
      from (select own, case when own then _postgis_index_extent('${table}', 'geom') end as e
        from (select relkind = 'r' as own from pg_class where oid = '${table}'::regclass offset 0) kind
        offset 0) extent offset 0) sides)`;
}

/** SQL of a layer's box by a scan of all its objects. */
function scannedBox(id: number): string {
  return `(select ${id}::bigint as id, false as empty, st_xmin(e) as west, st_ymin(e) as south, st_xmax(e) as east,
    st_ymax(e) as north from (select st_extent(geom) as e from ${layerTable(id)} offset 0) extent)`;
}

const envelopeOf = ({ west, south, east, north }: GeoEnvelope): GeoEnvelope => ({ west, south, east, north });

const mercatorLatitude = 85.06;

/** As [lat, lon], or [y, x] in EPSG:3857, where latitudes are clamped to ±85.06°, as for drawing. */
export function contractBox({ west, south, east, north }: GeoEnvelope, srid: Srid): ContractBox {
  if (srid === 4326) return { sw: [south, west], ne: [north, east] };
  const clamp = (latitude: number) => Math.min(mercatorLatitude, Math.max(-mercatorLatitude, latitude));
  const [x0, y0] = toMercator(west, clamp(south));
  const [x1, y1] = toMercator(east, clamp(north));
  return { sw: [y0, x0], ne: [y1, x1] };
}

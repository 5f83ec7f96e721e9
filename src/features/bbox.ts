import { type ContractBox, type GeoEnvelope, toMercator } from "../geo/envelope.js";
import type { Database, Queryable } from "../storage/postgres.js";
import type { Srid } from "./geometry-sql.js";
import { layerTable } from "./sql.js";

/** Exact boxes of whole layers, without reading all of their geometry. */

/**
 * Box of a layer's objects, Lat, Lon (y, x in 3857); null when no object has a geometry. In 3857 latitudes are cut off at
 * ±85.06°, as they are for drawing.
 */
export async function layerBox(db: Database, layerId: number, srid: Srid): Promise<ContractBox | null> {
  return (await layersBoxes(db, [layerId], srid)).get(layerId) ?? null;
}

/** PostgreSQL plans a statement over more tables than these in a time that grows with their square, and locks them all. */
const layersAtOnce = 25;

/** As `layerBox`, for any number of layers; layers without geometry are null. */
export async function layersBoxes(
  db: Queryable,
  layerIds: readonly number[],
  srid: Srid,
): Promise<Map<number, ContractBox | null>> {
  const boxes = new Map<number, ContractBox | null>();
  for (let at = 0; at < layerIds.length; at += layersAtOnce)
    for (const [id, box] of await fewBoxes(db, layerIds.slice(at, at + layersAtOnce), srid))
      boxes.set(id, box);
  return boxes;
}

async function fewBoxes(
  db: Queryable,
  layerIds: readonly number[],
  srid: Srid,
): Promise<Map<number, ContractBox | null>> {
  const boxes = new Map<number, ContractBox | null>();
  const guesses = await db.query<EdgeRow>(layerIds.map(byIndex).join(" union all "));
  const open: number[] = [];
  for (const row of guesses) {
    if (isWhole(row)) boxes.set(row.id, contractBox(row, srid));
    else if (row.empty) boxes.set(row.id, null);
    else open.push(row.id);
  }
  if (open.length > 0) {
    for (const row of await db.query<EdgeRow>(open.map(byScan).join(" union all "))) {
      boxes.set(row.id, isWhole(row) ? contractBox(row, srid) : null);
    }
  }
  return boxes;
}

interface EdgeRow {
  id: number;
  empty: boolean;
  west: number | null;
  south: number | null;
  east: number | null;
  north: number | null;
}

const isWhole = (row: EdgeRow): row is EdgeRow & GeoEnvelope =>
  row.west !== null && row.south !== null && row.east !== null && row.north !== null;

/**
 * The index's own extent holds every object, rounded outwards and perhaps too large after deletions. The exact edge is
 * that of the objects in a narrow strip along each of its sides; an empty strip leaves the question open. A view has no
 * index of its own: the question is open.
 */
function byIndex(id: number): string {
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

function byScan(id: number): string {
  return `(select ${id}::bigint as id, false as empty, st_xmin(e) as west, st_ymin(e) as south, st_xmax(e) as east,
    st_ymax(e) as north from (select st_extent(geom) as e from ${layerTable(id)} offset 0) extent)`;
}

const mercatorLatitude = 85.06;

function contractBox({ west, south, east, north }: GeoEnvelope, srid: Srid): ContractBox {
  if (srid === 4326) return { sw: [south, west], ne: [north, east] };
  const clamp = (latitude: number) => Math.min(mercatorLatitude, Math.max(-mercatorLatitude, latitude));
  const [x0, y0] = toMercator(west, clamp(south));
  const [x1, y1] = toMercator(east, clamp(north));
  return { sw: [y0, x0], ne: [y1, x1] };
}

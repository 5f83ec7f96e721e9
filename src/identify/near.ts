import { layerTable } from "../catalog/layer-table.js";
import type { LayerNode } from "../catalog/state.js";
import { type Statement, Values } from "../features/sql.js";
import { toMercator } from "../geo/envelope.js";
import { type MercatorBox, maxZoom, mercatorHalf, tileMetres } from "../geo/tile.js";
import { reachesBeyond, worldCopies } from "../geo/world-copies.js";
import type { Clustered } from "../visual/clustered.js";

/** Finds the ids of the objects near a point, by the spatial indexes of their layers. */

/** A place on the map, and how far from it objects may be. */
export interface Place {
  /** EPSG:3857 metres, within one world. */
  readonly x: number;
  readonly y: number;
  /** Metres of EPSG:3857 to a pixel. */
  readonly pixel: number;
  readonly tolerancePixels: number;
}

/** @param lon degrees, in any copy of the world; latitudes are those of Web Mercator at most */
export function placeOf(
  { lat, lon }: { readonly lat: number; readonly lon: number },
  { zoom, tolerancePixels }: { readonly zoom: number; readonly tolerancePixels: number },
): Place {
  const wrapped = ((((lon + 180) % 360) + 360) % 360) - 180;
  const [x, y] = toMercator(wrapped, Math.max(-85.06, Math.min(85.06, lat)));
  return { x, y, pixel: tileMetres(zoom) / 256, tolerancePixels };
}

/** Where objects may be that are near enough, in one world; it may reach beyond its edges. */
export function boxAround({ x, y, pixel, tolerancePixels }: Place, clustered?: Clustered): MercatorBox {
  const metres = (tolerancePixels + (clustered?.reachPixels ?? 0)) * pixel;
  return [x - metres, y - metres, x + metres, y + metres];
}

/** A layer, and SQL that is true for those of its objects `o$` that count. */
export interface Searched {
  readonly layer: LayerNode;
  readonly condition: string;
  /** What is drawn in place of its objects. */
  readonly clustered?: Clustered | undefined;
}

/** Several objects that are drawn as one. */
export interface Cluster {
  readonly count: number;
  /** Around them: EPSG:3857 metres, in the copy of the world where they are seen. */
  readonly box: MercatorBox;
}

export interface NearRow {
  /** Number of the layer in the statement. */
  readonly n: number;
  readonly id: number;
  readonly pixels: number;
  /** Whether it is a polygon, or has one. */
  readonly area: boolean;
  /** What the object is drawn with; null = it is drawn by itself, or they cannot be parted at any zoom. */
  readonly cluster: Cluster | null;
}

/** Narrower clusters part at no zoom: in metres of EPSG:3857. */
const leastParted = (128 * tileMetres(maxZoom)) / 256;

/** Objects at one place that are looked at beyond the limit, to find those that are drawn over the others. */
const stacked = 100;

/**
 * The objects nearest to the place, at most `limit` of each layer. The index gives them from the nearest on, so that few more
 * are read than that. Of those equally near, the last one is the first, as it is drawn over the others.
 */
export function nearStatement(searched: readonly Searched[], place: Place, limit: number): Statement {
  const values = new Values();
  const most = `${values.bind(limit)}::bigint`;
  let read: string | undefined;
  // Coordinates that were computed elsewhere differ in their last digits.
  const metres = (place.tolerancePixels + 0.01) * place.pixel;
  const farthest = `${values.bind(metres)}::float8`;
  const pixel = `${values.bind(place.pixel)}::float8`;
  const atAntimeridian = reachesBeyond(boxAround(place));
  const points = new Map<number, { readonly point: string; readonly box: string }>();
  /** The place, where objects that are seen after a move by `dx` metres are. */
  const placeOf = (dx: number) => {
    let known = points.get(dx);
    if (!known) {
      const x = place.x - dx;
      const [west, east] = [x - metres, x + metres];
      const [south, north] = [place.y - metres, place.y + metres];
      known = {
        point: `${values.bind(`SRID=3857;POINT(${x} ${place.y})`)}::geometry`,
        box: `${values.bind(
          `SRID=3857;POLYGON((${west} ${south},${west} ${north},${east} ${north},${east} ${south},${west} ${south}))`,
        )}::geometry`,
      };
      points.set(dx, known);
    }
    return known;
  };
  const nearest = ({ layer, condition }: Searched, dx: number): string => {
    const { point, box } = placeOf(dx);
    const distance = `o$.geom_3857<->${point}`;
    read ??= `${values.bind(limit + stacked)}::bigint`;
    const which = condition === "true" ? "" : ` and ${condition}`;
    return (
      `(select o$.svc_id as id,${distance} as d,st_dimension(o$.geom_3857)=2 as area from ${layerTable(layer.id)} o$ ` +
      `where o$.geom_3857 && ${box}${which} order by ${distance} limit ${read})`
    );
  };
  const selects = searched.map((one, n) => {
    if (one.clustered) return clustersNear(one.clustered, n, place, { values, most, farthest, pixel });
    const copies = worldCopies(one.layer, atAntimeridian)
      // Objects are within a world and a half around the middle.
      .filter((dx) => Math.abs(place.x - dx) <= 3 * mercatorHalf + metres)
      .map((dx) => nearest(one, dx));
    // An object that reaches around the world may be near in several copies.
    const objects =
      copies.length === 1
        ? `${copies[0]} near$`
        : `(select id,min(d) as d,bool_or(area) as area from (${copies.join(" union all ")}) copies$ ` +
          `group by id) near$`;
    return (
      `(select ${n} as n,id,d/${pixel} as pixels,area,null::json as cluster from ${objects} where d<=${farthest} ` +
      `order by d,id desc limit ${most})`
    );
  });
  return {
    text: `select * from (${selects.join(" union all ")}) found$ order by n,pixels,id desc`,
    values: values.list,
  };
}

/**
 * A cluster is as near as its rim, and within it at no distance, an object that is alone as near as its middle. Of a cluster
 * that cannot be parted its objects are found.
 */
function clustersNear(
  clustered: Clustered,
  n: number,
  place: Place,
  bound: {
    readonly values: Values;
    readonly most: string;
    readonly farthest: string;
    readonly pixel: string;
  },
): string {
  const { x, y } = place;
  const { values, most, farthest, pixel } = bound;
  const box = boxAround(place, clustered);
  const shapes = clustered.sql({
    box: `st_makeenvelope(${box.map((each) => `${values.bind(each)}::float8`).join(",")},3857)`,
    pixel: place.pixel,
    atAntimeridian: reachesBeyond(box),
  });
  const point = `st_setsrid(st_makepoint(${values.bind(x)}::float8,${values.bind(y)}::float8),3857)`;
  const metres = `greatest(0,st_distance(geom$,${point})-case when count$>1 then size$/2*${pixel} else 0 end)`;
  const parts =
    `count$>1 and ${values.bind(place.pixel > tileMetres(maxZoom) / 256)}::boolean and ` +
    `greatest(st_xmax(box$)-st_xmin(box$),st_ymax(box$)-st_ymin(box$))>${values.bind(leastParted)}::float8`;
  const cluster =
    "json_build_object('count',count$,'box',json_build_array(st_xmin(box$),st_ymin(box$),st_xmax(box$),st_ymax(box$)))";
  return (
    `(select ${n} as n,id,d/${pixel} as pixels,false as area,case when parts then ${cluster} end as cluster ` +
    `from (select *,${metres} as d,coalesce(${parts},false) as parts from (${shapes}) shapes$) near$ ` +
    `cross join lateral unnest(case when parts then array[svc_id] else ids$ end) as objects$(id) ` +
    `where d<=${farthest} order by d,id desc limit ${most})`
  );
}

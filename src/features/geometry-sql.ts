import { mercatorHalf } from "../geo/tile.js";

/** SQL of an object's geometry as GeoJSON. A stored geometry keeps its heights; a simplified one or a centroid is 2D. */

export type Srid = 4326 | 3857;

export interface GeometryShape {
  readonly srid: Srid;
  /** Simplified to about half a pixel of a 256 px tile of this zoom. */
  readonly zoom?: number | undefined;
  /** A point on the object instead of its geometry. */
  readonly centroid?: boolean | undefined;
}

// 15 decimals of a degree return the coordinates as they were sent; projected metres have rounding errors below 1e-6.
export const decimals = { 4326: 15, 3857: 6 } as const;
// 0.1 mm: enough for simplified geometry, with shorter numbers.
const grid = { 4326: "1e-9", 3857: "1e-4" } as const;
const gridDecimals = { 4326: 9, 3857: 4 } as const;

/** SQL of a row's geometry as GeoJSON text; 'null' when it has none (in EPSG:3857 also when it lies outside the projection). */
export function geometryJson(shape: GeometryShape): string {
  const { srid } = shape;
  if (shape.centroid) return computedAsJson(pointOn(flat[srid]), decimals[srid]);
  if (shape.zoom === undefined) return storedAsJson(srid);
  return `case when st_dimension(geom)=0 then ${storedAsJson(srid)} else ${computedAsJson(
    simplified(srid, shape.zoom),
    gridDecimals[srid],
  )} end`;
}

/** As `geometryJson`, the geometry itself with its decimals, for other formats; null when it has none. */
export function shapedGeometry(shape: GeometryShape): { readonly sql: string; readonly digits: number } {
  const { srid, zoom } = shape;
  if (shape.centroid) return { sql: pointOn(flat[srid]), digits: decimals[srid] };
  const stored = storedGeometry(srid);
  if (zoom === undefined) return { sql: stored, digits: decimals[srid] };
  return {
    sql: `case when st_dimension(geom)=0 then ${stored} else ${simplified(srid, zoom)} end`,
    digits: decimals[srid],
  };
}

const flat = { 4326: "st_force2d(geom)", 3857: "geom_3857" } as const;

function storedAsJson(srid: Srid): string {
  if (srid === 4326) return asJson("geom", decimals[srid]);
  return (
    `case when ${hasMercatorHeights} then ${computedAsJson("mapwright.project_mercator(geom)", decimals[srid])} ` +
    `when ${isEmpty} then ${asJson("geom", decimals[srid])} else ${asJson("geom_3857", decimals[srid])} end`
  );
}

/** SQL of a row's stored geometry in a reference system, for other formats; null when it has none there. */
export const storedGeometry = (srid: Srid): string =>
  srid === 4326
    ? "geom"
    : `case when ${hasMercatorHeights} then mapwright.project_mercator(geom) ` +
      `when ${isEmpty} then st_setsrid(geom,3857) else geom_3857 end`;

const withinMercator = "geom_3857 is not null and st_ymin(geom)>=-85.06 and st_ymax(geom)<=85.06";
// Large geometries are not read for it: they have a place in Web Mercator.
const isEmpty = "geom_3857 is null and st_isempty(geom)";
// geom_3857 is 2D and clipped to the latitudes of Web Mercator, since the poles have no finite coordinates in it.
const hasMercatorHeights = `st_zmflag(geom)=2 and ${withinMercator}`;

/** SQL of a geometry column as GeoJSON; not for expressions, since the name occurs several times. */
const asJson = (name: string, digits: number): string =>
  `case st_geometrytype(${name}) when 'ST_GeometryCollection' then mapwright.collection_json(${name},${digits}) ` +
  `when 'ST_MultiPoint' then st_asgeojson(mapwright.without_empty_parts(${name}),${digits},0) ` +
  `else coalesce(st_asgeojson(${name},${digits},0),'null') end`;

/** As `asJson`, for an expression, which is evaluated once. */
const computedAsJson = (geometry: string, digits: number): string =>
  `(select ${asJson("g", digits)} from (select ${geometry} as g offset 0) computed)`;

/** SQL of a point on a geometry: the midpoint of the longest line, a point on the surface of a polygon, one point of a multipoint. */
function pointOn(geometry: string): string {
  const midpoint =
    "(select st_lineinterpolatepoint(d.geom,0.5) from st_dump(w) d " +
    "where st_dimension(d.geom)=1 order by st_length(d.geom) desc limit 1)";
  // ST_PointOnSurface is empty for a polygon without area: its first vertex instead.
  const surface =
    "(select case when st_isempty(p) then st_geometryn(st_points(w),1) else p end " +
    "from (select st_pointonsurface(w) as p offset 0) s)";
  return (
    `(select case when st_dimension(w)=1 then ${midpoint} else ${surface} end ` +
    `from (select mapwright.without_empty_parts(${geometry}) as w offset 0) whole)`
  );
}

/**
 * SQL of the simplified geometry. Simplifies in Web Mercator, where pixels are square: with ST_Simplify if the result is
 * valid, else with ST_SimplifyPreserveTopology, else not at all (repaired if it is invalid).
 */
function simplified(srid: Srid, zoom: number): string {
  const metres = mercatorHalf / 256 / 2 ** zoom;
  const size = grid[srid];
  const mercator = srid === 3857 ? (s: string) => s : (s: string) => `mapwright.project_degrees(${s})`;
  const inMercator = attempts("geom_3857", metres, (s) => `st_snaptogrid(${mercator(s)},${size})`);
  if (srid === 3857)
    return `case when ${isEmpty} then st_setsrid(geom,3857) else coalesce(${inMercator},st_makevalid(geom_3857)) end`;
  const degrees = 180 / 256 / 2 ** zoom;
  const inDegrees = attempts(flat[srid], degrees, (s) => `st_snaptogrid(${s},${size})`);
  const whole = `st_makevalid(${flat[srid]})`;
  return (
    `case when ${withinMercator} ` +
    `then coalesce(${inMercator},${whole}) else coalesce(${inDegrees},${whole}) end`
  );
}

/** SQL of the two ways to simplify, separated by a comma; each is null when its result is empty or invalid. */
function attempts(source: string, tolerance: number, finish: (geometry: string) => string): string {
  return [`st_simplify(${source},${tolerance},true)`, `st_simplifypreservetopology(${source},${tolerance})`]
    .map(
      (attempt) =>
        `(select s from (select ${finish(attempt)} as s offset 0) a where not st_isempty(s) and st_isvalid(s))`,
    )
    .join(",");
}

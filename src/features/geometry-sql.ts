import { mercatorHalf } from "../geo/tile.js";

/** The SQL of an object's geometry in an answer: as it is stored, with heights if it has them; what is computed is flat. */

export type Srid = 4326 | 3857;

export interface GeometryShape {
  readonly srid: Srid;
  /** Simplified to about half a pixel of a 256 px tile of this zoom. */
  readonly zoom?: number | undefined;
  /** A point on the object instead of its geometry. */
  readonly centroid?: boolean | undefined;
}

// 15 decimals give back what was sent; projected metres carry rounding noise below 1e-6.
const decimals = { 4326: 15, 3857: 6 } as const;
// A tenth of a millimetre: what was simplified has no finer truth, and shorter numbers.
const grid = { 4326: "1e-9", 3857: "1e-4" } as const;
const gridDecimals = { 4326: 9, 3857: 4 } as const;

/** SQL of a row's geometry as GeoJSON text; 'null' when it has none (in 3857 also when it lies beyond the projection). */
export function geometryJson(shape: GeometryShape): string {
  const { srid } = shape;
  if (shape.centroid) return computedAsJson(pointOn(flat[srid]), decimals[srid]);
  if (shape.zoom === undefined) return storedAsJson(srid);
  return `case when st_dimension(geom)=0 then ${storedAsJson(srid)} else ${computedAsJson(
    simplified(srid, shape.zoom),
    gridDecimals[srid],
  )} end`;
}

const flat = { 4326: "st_force2d(geom)", 3857: "geom_3857" } as const;

function storedAsJson(srid: Srid): string {
  if (srid === 4326) return asJson("geom", decimals[srid]);
  // What lies beyond Mercator's edge of latitude has no finite place there; geom_3857 is cut off at it, and flat.
  return (
    `case when st_zmflag(geom)=2 and ${withinMercator} then ${computedAsJson("st_transform(geom,3857)", decimals[srid])} ` +
    `else ${asJson("geom_3857", decimals[srid])} end`
  );
}

const withinMercator = "geom_3857 is not null and st_ymin(geom)>=-85.06 and st_ymax(geom)<=85.06";

/** `name` is a column: the text names it more than once. */
const asJson = (name: string, digits: number): string =>
  `case when st_geometrytype(${name})='ST_GeometryCollection' then mapwright.collection_json(${name},${digits}) ` +
  `else coalesce(st_asgeojson(${name},${digits},0),'null') end`;

/** As `asJson`, for an expression, which is computed once. */
const computedAsJson = (geometry: string, digits: number): string =>
  `(select ${asJson("g", digits)} from (select ${geometry} as g offset 0) computed)`;

/** Midpoint of lines (of the longest part), a point on the surface of polygons, one of the points of points. */
function pointOn(geometry: string): string {
  const midpoint =
    `(select st_lineinterpolatepoint(d.geom,0.5) from st_dump(${geometry}) d ` +
    "where st_dimension(d.geom)=1 order by st_length(d.geom) desc limit 1)";
  // A polygon without any area has no surface; its first vertex is a point of it.
  const surface =
    `(select case when st_isempty(p) then st_geometryn(st_points(${geometry}),1) else p end ` +
    `from (select st_pointonsurface(${geometry}) as p offset 0) s)`;
  return `case when st_dimension(${geometry})=1 then ${midpoint} else ${surface} end`;
}

/**
 * Simplified in Mercator, where a pixel is as high as it is wide, by the quick way if that gives a valid geometry, else by
 * the one that keeps the topology, else not at all (repaired if it was stored invalid).
 */
function simplified(srid: Srid, zoom: number): string {
  const metres = mercatorHalf / 256 / 2 ** zoom;
  const size = grid[srid];
  const mercator = srid === 3857 ? (s: string) => s : (s: string) => `st_transform(${s},4326)`;
  const inMercator = attempts("geom_3857", metres, (s) => `st_snaptogrid(${mercator(s)},${size})`);
  if (srid === 3857) return `coalesce(${inMercator},st_makevalid(geom_3857))`;
  const degrees = 180 / 256 / 2 ** zoom;
  const inDegrees = attempts(flat[srid], degrees, (s) => `st_snaptogrid(${s},${size})`);
  const whole = `st_makevalid(${flat[srid]})`;
  return (
    `case when ${withinMercator} ` +
    `then coalesce(${inMercator},${whole}) else coalesce(${inDegrees},${whole}) end`
  );
}

function attempts(source: string, tolerance: number, finish: (geometry: string) => string): string {
  return [`st_simplify(${source},${tolerance},true)`, `st_simplifypreservetopology(${source},${tolerance})`]
    .map(
      (attempt) =>
        `(select s from (select ${finish(attempt)} as s offset 0) a where not st_isempty(s) and st_isvalid(s))`,
    )
    .join(",");
}

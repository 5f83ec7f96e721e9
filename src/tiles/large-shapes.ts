import type { CompiledStyle } from "../style/model.js";
import { rulesAt } from "./thinning.js";

/**
 * Lines and polygons of many vertices: a tile reads the chunks of vertices that lie in or near it (migration 035), so that it
 * costs what is seen in it and not what the object has.
 */

/** Attributes that make what is drawn in one place depend on vertices elsewhere. */
const farReaching = ["stroke-dasharray", "smooth", "simplify", "geometry-transform", "offset"];

/**
 * Whether a style draws each place of a shape by itself at a scale: fills, patterns that all shapes share, and strokes, but no labels
 * or dashes.
 */
export const isDrawnPlaceByPlace = (style: CompiledStyle, scaleDenominator: number): boolean =>
  rulesAt(style, scaleDenominator).every(({ symbolizers }) =>
    symbolizers.every(
      ({ type, attributes }) =>
        (type === "PolygonSymbolizer" ||
          type === "LineSymbolizer" ||
          (type === "PolygonPatternSymbolizer" && attributes.alignment === "global")) &&
        farReaching.every((name) => attributes[name] === undefined),
    ),
  );

/** Shapes that are larger than the box by less than this are read whole: most of them would be read in any case. */
const largerBy = 4;

/**
 * SQL of what is to be drawn in a box of the geometry of the row `o$`, null where nothing of it is near.
 * @param chunks table of the layer's vertex chunks
 * @param box SQL of the box
 */
export function nearSql(chunks: string, box: string): string {
  const line = `case when m$.run_box && ${box}::box then m$.line else m$.start end`;
  // A ring that does not come near may be left out whole: no place of the box is inside it.
  const rings =
    `select m$.part, m$.ring, st_makeline(${line} order by m$.run) as line from ${chunks} m$ ` +
    `where m$.svc_id = o$.svc_id and m$.ring_box && ${box}::box group by 1, 2`;
  const closed =
    "select r$.part, r$.ring, case when r$.ring < 0 or st_isclosed(r$.line) then r$.line " +
    `else st_addpoint(r$.line, st_startpoint(r$.line)) end as line from (${rings}) r$ ` +
    "where st_npoints(r$.line) > case when r$.ring < 0 then 1 else 3 end";
  const inOrder = "array_agg(c$.line order by c$.ring)";
  const parts =
    `select case min(c$.ring) when -1 then (${inOrder})[1] when 0 then st_makepolygon((${inOrder})[1], (${inOrder})[2:]) end as shape ` +
    `from (${closed}) c$ group by c$.part`;
  const isLarger = `area(m$.shape_box) > ${largerBy} * st_area(${box})`;
  return (
    `case when (select ${isLarger} from ${chunks} m$ where m$.svc_id = o$.svc_id limit 1) ` +
    `then (select st_collect(s$.shape) from (${parts}) s$) else o$.geom_3857 end`
  );
}

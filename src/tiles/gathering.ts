import type { CompiledStyle, Rule, Symbolizer } from "../style/model.js";
import { rulesAt } from "./thinning.js";

/** Lines and polygons that are too small for a band are drawn together, where a style draws all objects alike. */

export interface GatheredLook {
  readonly isStroked: boolean;
}

/** How a style draws small objects at a scale; undefined = they look different, or are drawn as something else. */
export function gatheredLook(style: CompiledStyle, scaleDenominator: number): GatheredLook | undefined {
  const rules = rulesAt(style, scaleDenominator);
  // What matches no rule is not drawn, so there must be one for all, and for the objects without values.
  if (!rules.some(({ filter }) => filter === undefined)) return undefined;
  const shapes = rules.map(shapesOf);
  const [first] = shapes;
  if (!first || first.length === 0) return undefined;
  const text = JSON.stringify(first);
  if (shapes.some((each) => each === undefined || JSON.stringify(each) !== text)) return undefined;
  return { isStroked: first.some(({ type }) => type === "LineSymbolizer") };
}

/** The symbolizers that draw objects themselves; undefined = there are others that a square in their place cannot have. */
function shapesOf({ symbolizers }: Rule): Symbolizer[] | undefined {
  const shapes: Symbolizer[] = [];
  for (const symbolizer of symbolizers) {
    // Without a value there is no label.
    if (symbolizer.type === "TextSymbolizer") continue;
    if (symbolizer.type !== "PolygonSymbolizer" && symbolizer.type !== "LineSymbolizer") return undefined;
    const { attributes } = symbolizer;
    if (Object.values(attributes).some((value) => value.includes("["))) return undefined;
    if (attributes["geometry-transform"] !== undefined || attributes.offset !== undefined) return undefined;
    shapes.push(symbolizer);
  }
  return shapes;
}

/** Units of area and length in a pixel, and of places in it (migration 025). */
const unitsPerPixel = 2 ** 36;
const placesPerPixel = 256;
/** Objects of a pixel whose places are known. */
const placesKept = 8;

export interface GatheredOptions {
  /** Zooms between the tile's and the band's. */
  readonly steps: number;
  /** Metres per pixel of the band. */
  readonly pixel: number;
  /** SQL of the box to be drawn. */
  readonly box: string;
}

/**
 * SQL of what is drawn for the objects that a band leaves out, as rows svc_id and geom$: without strokes one square for
 * each pixel, as large as the polygons in it together; else a square or a line for each of the objects whose place is known,
 * for strokes are wider than these objects and a few of them cover the pixel. Those lines have the length of all together.
 */
export function gatheredSql(table: string, look: GatheredLook, options: GatheredOptions): string {
  const { steps, pixel, box } = options;
  // Mapnik first asks for the columns, with a box of any size.
  const pixelAt = (edge: string) => `greatest(-2e9, least(2e9, floor(${edge}(${box}) / ${pixel})))::int`;
  const range = (axis: "x" | "y") =>
    `${axis} between ${pixelAt(`st_${axis}min`)} and ${pixelAt(`st_${axis}max`)}`;
  const where = `n > 0 and ${range("x")} and ${range("y")}`;
  const square = `st_makeenvelope((cx$ - h$) * ${pixel}, (cy$ - h$) * ${pixel}, (cx$ + h$) * ${pixel}, (cy$ + h$) * ${pixel}, 3857)`;
  if (!look.isStroked) {
    const middle = (axis: "x" | "y") =>
      `(sum(n * ${axis}::float8) + sum(s${axis}) / ${placesPerPixel}.0) / sum(n)`;
    return (
      `select -1::bigint as svc_id, ${square} as geom$ from (` +
      `select ${middle("x")} as cx$, ${middle("y")} as cy$, least(${2 ** steps}, sqrt(sum(size)::float8 / ${unitsPerPixel})) / 2 as h$ ` +
      `from ${table} where dimension = 2 and ${where} group by x >> ${steps}, y >> ${steps}) cell$`
    );
  }
  const placeOf = (axis: "x" | "y", shift: number) =>
    `${axis} + ((place$ >> ${shift} & ${placesPerPixel - 1}) + 0.5) / ${placesPerPixel}.0`;
  const places = Math.ceil(placesKept / 4 ** steps);
  const line = (sign: string) =>
    `st_makepoint((cx$ ${sign} h$ * (place$ >> 16 & 1)) * ${pixel}, (cy$ ${sign} h$ * (1 - (place$ >> 16 & 1))) * ${pixel})`;
  return (
    `select -1::bigint as svc_id, case d$ when 2 then ${square} else st_setsrid(st_makeline(${line("-")}, ${line("+")}), 3857) end as geom$ from (` +
    `select dimension as d$, place$, ${placeOf("x", 8)} as cx$, ${placeOf("y", 0)} as cy$, ` +
    `case dimension when 2 then sqrt(size::float8 / n / ${unitsPerPixel}) else least(2, size::float8 / least(n, ${places}) / ${unitsPerPixel}) end / 2 as h$ ` +
    `from ${table}, unnest(places[1:${places}]) place$ where ${where}) each$`
  );
}

import type { CompiledStyle, Rule, Symbolizer } from "../style/model.js";
import { rulesAt } from "./thinning.js";

/** Small features, lines and polygons that are too small for a level, are drawn together where a style draws all objects alike. */

export interface SmallFeatureLook {
  /** Undefined = they have none. */
  readonly stroke: Stroke | undefined;
}

export interface Stroke {
  /** In unscaled pixels. */
  readonly width: number;
  /** Area of the caps of a line, in squares of the width. */
  readonly caps: number;
  /** Whether it hides all that is below it, so that where it is it cannot become darker. */
  readonly isOpaque: boolean;
}

/** How a style draws small objects at a scale; undefined = they look different, or are drawn as something else. */
export function smallFeatureLook(
  style: CompiledStyle,
  scaleDenominator: number,
): SmallFeatureLook | undefined {
  const rules = rulesAt(style, scaleDenominator);
  // What matches no rule is not drawn, so there must be one for all, and for the objects without values.
  if (!rules.some(({ filter }) => filter === undefined)) return undefined;
  const shapes = rules.map(shapesOf);
  const [first] = shapes;
  if (!first || first.length === 0) return undefined;
  const text = JSON.stringify(first);
  if (shapes.some((each) => each === undefined || JSON.stringify(each) !== text)) return undefined;
  const line = first.findLast(({ type }) => type === "LineSymbolizer");
  const stroke = line && strokeOf(line);
  return stroke && Number.isNaN(stroke.width) ? undefined : { stroke };
}

/** Both ends of a line together make a disc or a square. */
const capAreas: Readonly<Record<string, number>> = { round: Math.PI / 4, square: 1 };

const leastWidth = 0.01;

const strokeOf = ({ attributes }: Symbolizer): Stroke => ({
  // Lines without a width are not drawn.
  width: Math.max(leastWidth, Number(attributes["stroke-width"] ?? 1)),
  caps: capAreas[attributes["stroke-linecap"] ?? ""] ?? 0,
  isOpaque:
    Number(attributes["stroke-opacity"] ?? 1) === 1 &&
    /^(?:#[\da-f]{6}|rgb\([^)]*\))$/i.test(attributes.stroke ?? "#000000") &&
    ["comp-op", "stroke-dasharray", "stroke-gamma"].every((name) => attributes[name] === undefined),
});

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
/** Places in the middle of a pixel, of a horizontal line and an upright one. */
const middles = `array[${(127 << 8) | 127}, ${(1 << 16) | (127 << 8) | 127}]::bigint[]`;
/** How many times over strokes cover a pixel that is full. */
const fullTimes = 3;
/** Objects of a pixel whose places are known. */
const placesKept = 8;

export interface SmallFeatureOptions {
  /** Zooms between the tile's and the level's. */
  readonly steps: number;
  /** Metres per pixel of the level. */
  readonly pixel: number;
  /** Pixels of the level that a pixel of the style is wide. */
  readonly scale: number;
  /** Area that strokes take at the bends of a line on average, in squares of their width. */
  readonly bends: number;
  /** SQL of the box to be drawn. */
  readonly box: string;
}

/**
 * SQL of what is drawn for the objects that a level leaves out, as rows svc_id and geom$: without strokes one square for
 * each pixel, as large as the polygons in it together; else a square or a line for each of the objects whose place is known,
 * for strokes are wider than these objects and a few of them cover the pixel. These take the area of all together.
 */
export function smallFeaturesSql(
  table: string,
  { stroke }: SmallFeatureLook,
  options: SmallFeatureOptions,
): string {
  const { pixel, box } = options;
  // Mapnik first asks for the columns, with a box of any size.
  const pixelAt = (edge: string) => `greatest(-2e9, least(2e9, floor(${edge}(${box}) / ${pixel})))::int`;
  const range = (axis: "x" | "y") =>
    `${axis} between ${pixelAt(`st_${axis}min`)} and ${pixelAt(`st_${axis}max`)}`;
  // The dimension comes first in the key.
  const pixels = `from ${table} where dimension in (${stroke ? "1, 2" : "2"}) and n > 0 and ${range("x")} and ${range("y")}`;
  const square = `st_makeenvelope((cx$ - h$) * ${pixel}, (cy$ - h$) * ${pixel}, (cx$ + h$) * ${pixel}, (cy$ + h$) * ${pixel}, 3857)`;
  return stroke ? strokedSql(pixels, square, stroke, options) : filledSql(pixels, square, options);
}

function filledSql(pixels: string, square: string, { steps }: SmallFeatureOptions): string {
  const middle = (axis: "x" | "y") =>
    `(sum(n * ${axis}::float8) + sum(s${axis}) / ${placesPerPixel}.0) / sum(n)`;
  return (
    `select -1::bigint as svc_id, ${square} as geom$ from (` +
    `select ${middle("x")} as cx$, ${middle("y")} as cy$, least(${2 ** steps}, sqrt(sum(size)::float8 / ${unitsPerPixel})) / 2 as h$ ` +
    `${pixels} group by x >> ${steps}, y >> ${steps}) cell$`
  );
}

function strokedSql(
  pixels: string,
  square: string,
  { width, caps, isOpaque }: Stroke,
  { steps, pixel, scale, bends }: SmallFeatureOptions,
): string {
  // Lengths and areas are in pixels of the tile, of which a pixel of the level is a part.
  const part = 1 / 2 ** steps;
  const drawn = width * scale * part;
  const each = (ofSquares: string | number, ofLines: string | number) =>
    `case dimension when 2 then ${ofSquares} else ${ofLines} end`;
  /** The side or the length of one of the objects. */
  const long = each(
    `sqrt(size::float8 / n / ${unitsPerPixel}) * ${part}`,
    `size::float8 / n / ${unitsPerPixel / part}`,
  );
  // The longer the pieces between bends, the more of the outer corners is made up for by the inner ones. Exponents have bounds,
  // because PostgreSQL fails where a number becomes too small for it.
  const bent = `${bends * drawn} * exp(greatest(-50, ${-4.5 / drawn} * long$))`;
  /** What one of them takes, and what all of a pixel reach. */
  const area = each(`(long$ + ${drawn}) ^ 2`, `(long$ + ${caps * drawn} + ${bent}) * ${drawn}`);
  const reach = each(`(long$ + ${part + drawn}) ^ 2`, (part + drawn) ** 2);
  const most = Math.ceil(placesKept * part * part);
  // Fewer, larger ones cover as much, squares where strokes hide what is below them; a line takes at least a third of a pixel.
  const squares = isOpaque ? Math.ceil((most * 3) / 8) : most;
  const lines = `least(${Math.ceil(most / 2)}, floor(3 * n * area$) + 1)::int`;
  // A pixel that is covered many times over is one square, or a cross, that is about as large as what they reach.
  const isFull = isOpaque && drawn >= part ? `n * area$ > ${fullTimes} * reach$` : "false";
  // Objects of a pixel lie upon one another: together they take less than each alone.
  const taken = `reach$ * (1 - (1 - least(0.9, area$ / reach$)) ^ least(100, n / cardinality(places$)::float8))`;
  const size = each(
    isOpaque ? `greatest(long$, sqrt(${taken}) - ${drawn})` : "long$",
    // Without a length there would be no caps either.
    `greatest(0.01, least(2, ${taken} / ${drawn} - ${caps * drawn}))`,
  );
  const fullSize = `${part} + ${each("long$", drawn / 2)}`;
  const placeOf = (axis: "x" | "y", shift: number) =>
    `${axis} + ((place$ >> ${shift} & ${placesPerPixel - 1}) + 0.5) / ${placesPerPixel}.0`;
  const end = (sign: string) =>
    `st_makepoint((cx$ ${sign} h$ * (place$ >> 16 & 1)) * ${pixel}, (cy$ ${sign} h$ * (1 - (place$ >> 16 & 1))) * ${pixel})`;
  // `offset 0` keeps PostgreSQL from working out for each use, or for each place, what is known once for a pixel.
  return (
    `select -1::bigint as svc_id, ${each(square, `st_makeline(${end("-")}, ${end("+")})`)} as geom$ from (` +
    `select dimension, place$, ${placeOf("x", 8)} as cx$, ${placeOf("y", 0)} as cy$, h$ from (` +
    `select dimension, x, y, places$, case when full$ then ${fullSize} else ${size} end / ${2 * part} as h$ from (` +
    `select dimension, x, y, n, long$, area$, reach$, full$, ` +
    `case when full$ then (${middles})[1:3 - dimension] else places[1:${each(squares, lines)}] end as places$ from (` +
    `select *, ${isFull} as full$ from (` +
    `select *, ${area} as area$, ${reach} as reach$ from (` +
    `select dimension, x, y, n, places, ${long} as long$ ${pixels} offset 0` +
    `) each$ offset 0) known$) chosen$ offset 0) sized$ offset 0` +
    `) cell$, unnest(places$) place$) placed$`
  );
}

import { z } from "zod";
import { topScaleDenominator } from "../../geo/tile.js";
import { faceFor, foreignFaces } from "../../style/fonts.js";
import type { Symbolizer } from "../../style/model.js";
import type { Settings } from "../columns.js";
import { borderOf, bounded, evenWidth, marker, pixelMetres, styleOf, symbolizer } from "../drawing.js";
import { classificator, type VisualKind } from "../kind.js";
import { labelColumn, labels } from "../labels.js";
import { colour, opacity, size } from "../schemas.js";
import { isDark, onDark, onLight } from "../shades.js";

/**
 * Clusters: objects that lie close together are one circle with their number, which parts at larger scales. An addition to the
 * contract. Closeness is by a grid that is the same in all tiles of a zoom, so that neighbouring tiles agree; its rows are shifted by half
 * a square in turn, which hides it.
 */

/** Of a square of the grid, in pixels: narrower ones have no room for a number, wider ones would not part evenly around the world. */
const [leastSide, mostSide] = [24, 128];
/** Number of objects from which on a circle is the largest. */
const many = 100_000;
/** Width of the marker of an object that is alone. */
const aloneWidth = 10;

export const clusters: VisualKind = {
  schema: z
    .object({
      radius: z.number().min(leastSide).max(mostSide).default(60),
      pointSizeMin: size.default(24),
      pointSizeMax: size.default(52),
      color: colour.default("#2a6fbb"),
      opacity: opacity.default(1),
      /** The last zoom at which objects are drawn together. */
      maxZoom: z.number().int().min(0).max(22).default(22),
    })
    .prefault({}),
  column: undefined,
  clusters: true,
  hasBorders: false,
  question: () => undefined,
  drawsStatistics: false,
  draw: ({ layer, settings, classes }) => {
    const side = Number(classes.radius);
    const [least, most] = widths(classes);
    const alone = aloneSize(settings);
    const border = Number(borderOf(settings)?.["stroke-width"] ?? 0);
    const text = settings.textSettings as Settings;
    const names = [text.fontFamily as string];
    const faces = foreignFaces(names);
    const number = symbolizer("TextSymbolizer", {
      "face-name": faceFor(names),
      size: Math.max(1, bounded(text.fontSize)),
      fill: isDark({ color: String(classes.color) }) ? onDark : onLight,
      placement: "point",
      "allow-overlap": true,
    });
    const circle = circleOf(settings, classes);
    const grid = { side, least, most, alone, last: Number(classes.maxZoom) };
    return {
      styles: [
        styleOf("clusters", [
          { filter: "[count$]=1", symbolizers: [circle] },
          {
            filter: "[count$]>1",
            symbolizers: [circle, { ...number, text: "[number$]", ...(faces.length > 0 && { faces }) }],
          },
        ]),
      ],
      labels: labels(settings, layer, {
        filter: "[count$]=1",
        dy: `[size$]/2+${Number(text.fontSize) / 2 + 3}`,
      }),
      place: "point",
      columns: () => ({}),
      needed: [],
      order: "count$, svc_id",
      shapes: (objects) =>
        clusterSql(objects, { ...grid, labelled: labelColumn(layer, settings) !== undefined }),
      shapesWithObjects: (objects) => clusterSql(objects, { ...grid, withObjects: true }),
      // A square may be wider than set by what is left of half the world, which is 128 pixels at the smallest scale.
      reach: side * (1 + 1 / Math.floor(mostSide / side)) + Math.max(most, alone) / 2 + border + 2,
    };
  },
  legend: (_layer, { color }) => [classificator(null, color)],
  symbols: ({ settings, classes }) => [
    {
      symbolizers: [
        marker(settings, { fill: classes.color, opacity: classes.opacity, size: widths(classes)[0] }),
      ],
      shape: "point",
    },
  ],
};

/** Least and greatest width of a circle, which has room in its square. */
function widths({ pointSizeMin, pointSizeMax, radius }: Settings): [number, number] {
  const most = Math.min(bounded(pointSizeMax), Number(radius));
  return [Math.min(bounded(pointSizeMin), most), most];
}

function aloneSize(settings: Settings): number {
  const { size: width, sizeEnabled } = settings.pointSettings as Settings;
  return sizeEnabled ? bounded(width) : aloneWidth;
}

/** Circles are drawn whatever they cover, but labels keep clear of them. */
function circleOf(settings: Settings, { color, opacity }: Settings): Symbolizer {
  const { type, attributes } = marker(settings, { fill: color, opacity, size: "[size$]" });
  return { type, attributes: { ...attributes, "allow-overlap": "true", "ignore-placement": "false" } };
}

/**
 * A circle stands where its objects are on average, but within its square, so that it touches none of the next square. Numbers
 * from 1,000 are cut to what has room: 1.2k, 34k, 1.5M.
 */
function clusterSql(
  objects: string,
  grid: {
    readonly side: number;
    readonly least: number;
    readonly most: number;
    readonly alone: number;
    readonly last: number;
    readonly labelled?: boolean;
    /** Tells which objects are in each circle, and the box around them. */
    readonly withObjects?: boolean;
  },
): string {
  const { side, least, most, alone, last, labelled, withObjects } = grid;
  const inside = (axis: "x" | "y", width: string): string => {
    const room = `greatest(0, ${width} - size$ * px$) / 2`;
    return `greatest(${axis}$ - ${room}, least(${axis}$ + ${room}, mean_${axis}$))`;
  };
  const isTogether = `!scale_denominator! > ${topScaleDenominator / 2 ** (last + 0.5)}`;
  return `, grid$ as (
    select *, case when row$::int % 2 = 0 then 0 else width$ / 2 end as shift$ from (
      select *, ${evenWidth(`${side} * px$`)} as width$, ${side} * px$ as height$, floor(st_y(geom$) / (${side} * px$)) as row$
      from (select *, ${pixelMetres} as px$ from ${objects}) each$
    ) row$
  ), square$ as (
    select min(svc_id) as svc_id, count(*) as count$, px$, width$, height$,${labelled ? " min(label$) as label$," : ""}
      ${withObjects ? "array_agg(svc_id) as ids$, st_extent(geom$)::geometry as box$," : ""}
      (floor((st_x(geom$) - shift$) / width$) + 0.5) * width$ + shift$ as x$, (row$ + 0.5) * height$ as y$,
      avg(st_x(geom$)) as mean_x$, avg(st_y(geom$)) as mean_y$
    from grid$
    group by px$, width$, height$, shift$, floor((st_x(geom$) - shift$) / width$), row$,
      case when ${isTogether} then null else svc_id end
  ), sized$ as (
    select *, case when count$ = 1 then ${alone} else round((${least} + ${most - least} *
      least(1, ln(count$) / ln(${many})))::numeric, 1) end::float8 as size$
    from square$
  )
  select svc_id, size$, count$::int as count$,${labelled ? " case when count$ = 1 then label$ end as label$," : ""}
    ${withObjects ? "ids$, box$," : ""}
    case when count$ = 1 then st_setsrid(st_makepoint(mean_x$, mean_y$), 3857)
      else st_setsrid(st_makepoint(${inside("x", "width$")}, ${inside("y", "height$")}), 3857) end as geom$,
    case when count$ < 1000 then count$::text
      when count$ < 10000 then trim_scale(trunc(count$ / 1000.0, 1)) || 'k'
      when count$ < 1000000 then trunc(count$ / 1000.0) || 'k'
      when count$ < 10000000 then trim_scale(trunc(count$ / 1000000.0, 1)) || 'M'
      else trunc(count$ / 1000000.0) || 'M' end as number$
  from sized$`;
}

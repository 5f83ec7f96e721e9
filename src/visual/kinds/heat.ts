import { fileURLToPath } from "node:url";
import { z } from "zod";
import { columnOf, findColumn, type Settings, withoutMissing } from "../columns.js";
import { evenWidth, pixelMetres, styleOf, symbolizer } from "../drawing.js";
import { classificator, type VisualKind } from "../kind.js";
import { colour, columnId, flag, opacity, size } from "../schemas.js";
import { limitsQuestion } from "../statistics.js";
import { quantity } from "../value-sql.js";
import type { Range, VisualValues } from "../values.js";

/** Heat map: the density of the objects, by weight. */

/** What each object adds to its surroundings: a disc that fades outwards, in each strength (config/setup/heat-kernels.js). */
const kernels = fileURLToPath(new URL("heat", import.meta.url));
const strengths = 255;
/** In pixels; more would need too much of the surroundings for each tile. */
const maxRadius = 128;
/** Cold to hot, told apart by the colour-blind too. */
const defaultColors = ["#2c7bb6", "#abd9e9", "#ffffbf", "#fdae61", "#d7191c"];

const columnFields = ["markerSizeField", "useWeightField"] as const;

export const heat: VisualKind = {
  schema: z
    .object({
      markerSizeMin: size.default(5),
      markerSizeMax: size.default(50),
      markerSize: size.default(20),
      markerSizeType: z.enum(["fixed", "field"]).default("fixed"),
      markerSizeField: columnId.optional(),
      layerOpacity: opacity.default(1),
      // One object alone is warm: hot is where several come together.
      markerOpacity: opacity.default(0.7),
      weightNormalize: flag(false),
      weightNormalizeMin: z.number().min(-1e15).max(1e15).default(0),
      weightNormalizeMax: z.number().min(-1e15).max(1e15).default(1),
      useWeight: flag(false),
      useWeightField: columnId.optional(),
      linkToScale: flag(false),
      linkToScaleZoom: z.number().min(0).max(22).default(0),
      colors: z.array(colour).min(2).max(100).default(defaultColors),
    })
    .prefault({}),
  column: undefined,
  hasBorders: false,
  read: (layer, classes, at) => {
    for (const field of columnFields) {
      if (classes[field] !== undefined) findColumn(layer, { id: classes[field] }, `${at}.${field}`);
    }
    return classes;
  },
  prune: (classes, known) => {
    const sized = withoutMissing(classes, "markerSizeField", known, { markerSizeType: "fixed" });
    return withoutMissing(sized, "useWeightField", known, { useWeight: false });
  },
  shown: (_layer, classes) => ({ markerSizeField: null, useWeightField: null, ...classes }),
  question: ({ layer, classes }) => {
    const bySize = classes.markerSizeType === "field" ? classes.markerSizeField : undefined;
    const byWeight = classes.useWeight ? classes.useWeightField : undefined;
    return limitsQuestion(layer, [byWeight ?? bySize], false, [bySize]);
  },
  drawsStatistics: true,
  draw: ({ layer, classes, values }) => {
    const most = radiusOf(classes.markerSizeType === "field" ? classes.markerSizeMax : classes.markerSize);
    const least = classes.markerSizeType === "field" ? radiusOf(classes.markerSizeMin) : most;
    const reach = (classes.linkToScale ? maxRadius : most) + 2;
    return {
      styles: [
        styleOf(
          "heat",
          [
            {
              symbolizers: [
                symbolizer("MarkersSymbolizer", {
                  file: `${kernels}/[strength$].svg`,
                  width: "[size$]",
                  height: "[size$]",
                  "comp-op": "plus",
                  "allow-overlap": true,
                  "ignore-placement": true,
                }),
              ],
            },
          ],
          {
            "image-filters": `colorize-alpha(${(classes.colors as string[]).join(",")})`,
            opacity: String(classes.layerOpacity),
          },
        ),
      ],
      place: "point",
      columns: (context) => {
        const value = (id: unknown) => {
          const column = columnOf(layer, id);
          return (column && quantity(column, context)) ?? "null::float8";
        };
        const radius =
          classes.markerSizeType === "field"
            ? between(value(classes.markerSizeField), values.axis, [least, most])
            : `${most}::float8`;
        return {
          radius$: `least(${maxRadius}, ${radius} * ${growth(classes)})`,
          heat$: heatSql(value, classes, values),
        };
      },
      needed: ["radius$", "heat$"],
      shapes: (objects) => cells(objects),
      reach,
    };
  },
  legend: (_layer, classes) => (classes.colors as unknown[]).map((each) => classificator(null, each)),
};

const radiusOf = (size: unknown): number => Math.min(maxRadius, Math.max(1, Number(size)));

/** SQL of a value's place in a range of all objects of the layer, carried over to another range. */
const between = (value: string, range: Range | null, [from, to]: Range): string => {
  if (!range || range[0] === range[1]) return `case when (${value}) is not null then ${to}::float8 end`;
  const part = `((${value}) - ${range[0]}::float8) / (${range[1]}::float8 - ${range[0]}::float8)`;
  return `(${from} + ${to - from} * least(1, greatest(0, ${part})))`;
};

/** Scale denominator of zoom 0. */
const topScale = 559082264.0287178;

/** SQL of the factor of sizes: those linked to the scale are as set at one zoom, and double with each further one. */
const growth = ({ linkToScale, linkToScaleZoom }: Settings): string =>
  linkToScale ? `(${topScale / 2 ** Number(linkToScaleZoom)} / !scale_denominator!)` : "1";

/** SQL of what an object adds at its place; 1 = the last colour. */
function heatSql(value: (id: unknown) => string, classes: Settings, { range }: VisualValues): string {
  const intensity = Number(classes.markerOpacity);
  if (!classes.useWeight || classes.useWeightField === undefined) return `${intensity}::float8`;
  const own = value(classes.useWeightField);
  const weight = classes.weightNormalize
    ? between(own, range, [Number(classes.weightNormalizeMin), Number(classes.weightNormalizeMax)])
    : own;
  return `${intensity} * (${weight})`;
}

/**
 * Objects that lie closer together than a third of their radius are drawn as one where they are on average, so that a dense
 * layer is not slow.
 */
const cells = (objects: string): string => `, placed$ as (
    select *, ${evenWidth("side$")} as width$ from (
      select *, greatest(1, floor(radius$ / 3)) * ${pixelMetres} as side$ from ${objects} where heat$ > 0
    ) each$
  ) select * from (
    select min(svc_id) as svc_id, st_setsrid(st_makepoint(avg(st_x(geom$)), avg(st_y(geom$))), 3857) as geom$,
      2 * radius$ as size$, round(${strengths} * least(1, sum(least(1, heat$))))::int as strength$
    from placed$ group by radius$, side$, floor(st_x(geom$) / width$), floor(st_y(geom$) / side$)
  ) cells$ where strength$ > 0`;

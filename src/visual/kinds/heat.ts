import { fileURLToPath } from "node:url";
import { z } from "zod";
import { topScaleDenominator } from "../../geo/tile.js";
import { columnOf, findColumn, type Settings, withoutMissing } from "../columns.js";
import { array, evenWidth, pixelMetres, styleOf, symbolizer } from "../drawing.js";
import { classificator, type VisualKind } from "../kind.js";
import { colour, columnId, flag, opacity, size } from "../schemas.js";
import { limitsQuestion } from "../statistics.js";
import { quantity, within } from "../value-sql.js";
import type { Range, VisualValues } from "../values.js";

/** Heat map: the density of the objects, by weight, of which each zoom has a scale of its own. */

/** What each object adds to its surroundings: a disc that fades outwards, in each strength (config/setup/heat-kernels.js). */
const kernels = fileURLToPath(new URL("heat", import.meta.url));
const strengths = 255;
/** In pixels; more would need too much of the surroundings for each tile. */
const maxRadius = 128;
/** Cold to hot, told apart by the colour-blind too. */
const defaultColors = ["#2c7bb6", "#abd9e9", "#ffffbf", "#fdae61", "#d7191c"];

/** What is half as hot as can be, or more, hides the map: less of it would be a tint that is seen neither on land nor on water. */
const cover = 2;

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
  drawsNoLabels: true,
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
    const limits = limitsQuestion(layer, [byWeight ?? bySize], false, [bySize]);
    const weight = columnOf(layer, byWeight);
    const density = {
      pixels: (radiusOf(sizes(classes)[0]) + radiusOf(sizes(classes)[1])) / 2,
      ...(weight && { weight, ...(classes.weightNormalize === true && { weights: weightsOf(classes) }) }),
    };
    return { kind: "limits", columns: [], sum: false, ...limits, density };
  },
  drawsStatistics: true,
  draw: ({ layer, classes, values }) => {
    const [least, most] = sizes(classes);
    // What lies in one square of the grid is drawn as one, where it is on average.
    const reach = (4 / 3) * (classes.linkToScale ? maxRadius : most) + 4;
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
                  "allow-overlap": true,
                  "ignore-placement": true,
                }),
              ],
            },
          ],
          {
            "image-filters": `colorize-alpha(${(classes.colors as string[]).join(",")}) scale-hsla(0,1,0,1,0,1,0,${cover})`,
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
            ? within(value(classes.markerSizeField), values.axis, [least, most])
            : `${most}::float8`;
        return {
          radius$: `least(${maxRadius}, ${radius} * ${growth(classes)})`,
          heat$: heatSql(value, classes, values),
        };
      },
      needed: ["radius$", "heat$"],
      shapes: (objects) => cells(objects, strengthSql(classes, values)),
      reach,
    };
  },
  // The first colour is so pale that it is hardly seen.
  lastStandsForLayer: true,
  legend: (_layer, classes) => (classes.colors as unknown[]).map((each) => classificator(null, each)),
};

/** Least and greatest radius in pixels. */
const sizes = ({ markerSizeType, markerSizeMin, markerSizeMax, markerSize }: Settings): Range =>
  markerSizeType === "field"
    ? [radiusOf(markerSizeMin), radiusOf(markerSizeMax)]
    : [radiusOf(markerSize), radiusOf(markerSize)];

const weightsOf = ({ weightNormalizeMin, weightNormalizeMax }: Settings): Range => [
  Number(weightNormalizeMin),
  Number(weightNormalizeMax),
];

const radiusOf = (size: unknown): number => Math.min(maxRadius, Math.max(1, Number(size)));

/** SQL of the factor of sizes: those linked to the scale are as set at one zoom, and double with each further one. */
const growth = ({ linkToScale, linkToScaleZoom }: Settings): string =>
  linkToScale ? `(${topScaleDenominator / 2 ** Number(linkToScaleZoom)} / !scale_denominator!)` : "1";

/** Of heat at a dense place, how much a usual place is to have at least, so that both can be seen. */
const usualPart = 0.15;
/** Roots below this would make all places alike. */
const leastPower = 0.4;
/** How many squares of the grid a dense place is made of, to be hot; a square of the statistics has nine. */
const perPlace = 6;

/**
 * SQL of the strength of the objects in a square of the grid; 1 = the last colour. It is one scale for all tiles of a zoom, as
 * neighbours have to agree: by what a dense place of the layer has there, and by a root of it where most places have far less.
 * Where no objects come together they are as warm as set, unless their weights can be any numbers.
 */
function strengthSql(classes: Settings, { density }: VisualValues): string {
  const { useWeight, useWeightField, weightNormalize, linkToScale, linkToScaleZoom } = classes;
  const isAnyNumber = useWeight === true && useWeightField !== undefined && weightNormalize !== true;
  const zoomScales = density.map(({ usual, dense }) => {
    if (!isAnyNumber && dense <= 1) return { factor: 1, power: 1, strength: 1 };
    const power = Math.log(usualPart) / Math.log(Math.min(usual / dense, usualPart));
    return { factor: 9 / dense, power: Math.max(leastPower, power), strength: 1 / perPlace };
  });
  if (zoomScales.length === 0) return "sum(heat$)";
  const zoom = `log(2, (${topScaleDenominator} / !scale_denominator!)::numeric)`;
  // Sizes linked to the scale cover the same ground at each zoom, until they are as large as they may be.
  const doublings = Math.log2(maxRadius / ((sizes(classes)[0] + sizes(classes)[1]) / 2));
  const counted = linkToScale ? `greatest(${Number(linkToScaleZoom)}, ${zoom} - ${doublings})` : zoom;
  const of = (key: keyof (typeof zoomScales)[number]): string =>
    `(${array(
      zoomScales.map((scale) => scale[key]),
      "float8",
    )})[1 + greatest(0, least(${zoomScales.length - 1}, round(${counted})))::int]`;
  return `power(sum(heat$) * ${of("factor")}, ${of("power")}) * ${of("strength")}`;
}

/** SQL of the weight that an object adds at its place, before the scale of the zoom. */
function heatSql(value: (id: unknown) => string, classes: Settings, { range }: VisualValues): string {
  const intensity = Number(classes.markerOpacity);
  if (!classes.useWeight || classes.useWeightField === undefined) return `${intensity}::float8`;
  const own = value(classes.useWeightField);
  const weight = classes.weightNormalize ? within(own, range, weightsOf(classes)) : own;
  return `${intensity} * (${weight})`;
}

/**
 * Objects that lie closer together than a third of their radius are drawn as one where they are on average, so that a dense
 * layer is not slow.
 */
const cells = (objects: string, strength: string): string => `, placed$ as (
    select *, ${evenWidth("side$")} as width$ from (
      select *, greatest(1, floor(radius$ / 3)) * ${pixelMetres} as side$ from ${objects} where heat$ > 0
    ) each$
  ) select * from (
    select min(svc_id) as svc_id, st_setsrid(st_makepoint(avg(st_x(geom$)), avg(st_y(geom$))), 3857) as geom$,
      2 * radius$ as size$, round(${strengths} * least(1, ${strength}))::int as strength$
    from placed$ group by radius$, side$, floor(st_x(geom$) / width$), floor(st_y(geom$) / side$)
  ) cells$ where strength$ > 0`;

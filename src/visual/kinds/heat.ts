import { z } from "zod";
import { findColumn, withoutMissing } from "../columns.js";
import { classificator, type VisualKind } from "../kind.js";
import { colour, columnId, flag, opacity, size } from "../schemas.js";
import { limitsQuestion } from "../statistics.js";

/** Heat map: the density of the objects, by weight. */

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
      markerOpacity: opacity.default(1),
      weightNormalize: flag(false),
      weightNormalizeMin: z.number().default(0),
      weightNormalizeMax: z.number().default(1),
      useWeight: flag(false),
      useWeightField: columnId.optional(),
      linkToScale: flag(false),
      linkToScaleZoom: z.number().min(0).max(22).default(0),
      colors: z.array(colour).min(2).max(100).default(["#0000ff", "#00ff00", "#ffff00", "#ff0000"]),
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
    return limitsQuestion(layer, [classes.useWeight ? classes.useWeightField : bySize], false);
  },
  legend: (_layer, classes) => (classes.colors as unknown[]).map((each) => classificator(null, each)),
};

import { z } from "zod";
import { isMeasured } from "../columns.js";
import { classificator, type VisualKind } from "../kind.js";
import { colour, flag, opacity, path, size } from "../schemas.js";
import { classesQuestion } from "../statistics.js";

/** Bubble chart: a marker on each object, whose size tells the class of its value. */

export const bubbles: VisualKind = {
  schema: z
    .object({
      pointSizeMin: size.default(5),
      pointSizeMax: size.default(50),
      icon: path.default(""),
      useIcon: flag(false),
      opacity: opacity.default(1),
      color: colour.default("#2a6fbb"),
    })
    .prefault({}),
  column: isMeasured,
  hasBorders: true,
  withValues: (classes, { borders, counts }) => ({ ...classes, borders, counts }),
  question: ({ layer, settings }) => classesQuestion(layer, settings),
  legend: (_layer, { color, useIcon }) => [classificator(null, color, useIcon)],
};

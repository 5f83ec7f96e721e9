import { z } from "zod";
import { columnOf, isMeasured, type Settings } from "../columns.js";
import {
  array,
  bounded,
  classSql,
  type FindPicture,
  iconOf,
  marker,
  pictureMarker,
  styleOf,
} from "../drawing.js";
import { classificator, type VisualKind } from "../kind.js";
import { colour, flag, opacity, path, size } from "../schemas.js";
import { classesQuestion } from "../statistics.js";
import { measure } from "../value-sql.js";

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
  drawsStatistics: true,
  draw: ({ layer, settings, classes, findPicture, values: { breaks } }) => {
    const column = columnOf(layer, settings.column);
    const sizes = sizesOf(classes, Math.max(1, breaks.length - 1));
    const picture = iconOf(classes, findPicture);
    const symbol = symbolOf(settings, classes, { size: "[size$]", findPicture });
    return {
      styles: [styleOf("bubbles", [{ symbolizers: [symbol] }])],
      place: "point",
      columns: (context) => ({
        size$: `(${array(sizes, "float8")})[1 + ${classSql(column && measure(column, context), breaks)}]`,
      }),
      needed: ["size$"],
      // Small ones stand on large ones.
      order: "size$ desc, svc_id",
      reach:
        (picture ? Math.SQRT1_2 : 0.5) * Math.max(...sizes) +
        bounded((settings.borderSettings as Settings).width) +
        2,
    };
  },
  legend: (_layer, { color, useIcon }) => [classificator(null, color, useIcon)],
  // The value of an item is the upper border of its class; without values there is one of the mean size.
  legendOfSymbols: ({ borders, color, useIcon }) => {
    const ends = ((borders ?? []) as unknown[]).slice(1);
    return (ends.length > 0 ? ends : [null]).map((end) => classificator(end, color, useIcon));
  },
  symbols: ({ settings, classes, findPicture, values: { breaks } }) => {
    const sizes = sizesOf(classes, Math.max(1, breaks.length - 1));
    return sizes.map((size) => ({
      symbolizers: [symbolOf(settings, classes, { size, findPicture })],
      shape: "point",
      // All in the scale of the largest.
      side: Math.max(...sizes) + 2 * bounded((settings.borderSettings as Settings).width) + 2,
    }));
  },
};

function symbolOf(
  settings: Settings,
  classes: Settings,
  { size, findPicture }: { readonly size: number | string; readonly findPicture: FindPicture },
) {
  const look = { opacity: classes.opacity, size };
  const picture = iconOf(classes, findPicture);
  return picture
    ? pictureMarker(settings, { ...look, color: classes.color, picture })
    : marker(settings, { ...look, fill: classes.color });
}

/** Width of the marker of each class, in even steps; a single class has the mean. */
function sizesOf({ pointSizeMin, pointSizeMax }: Settings, count: number): number[] {
  const [least, most] = [bounded(pointSizeMin), bounded(pointSizeMax)];
  return Array.from(
    { length: count },
    (_, at) => least + (most - least) * (count > 1 ? at / (count - 1) : 0.5),
  );
}

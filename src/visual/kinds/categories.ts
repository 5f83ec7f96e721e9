import { z } from "zod";
import { hasValues } from "../../column-types/column-types.js";
import { columnOf, type Plain, type Settings } from "../columns.js";
import { classificator, type VisualKind } from "../kind.js";
import { colour, flag, maxClasses, opacity, path, pattern, size } from "../schemas.js";

/** Categories: a class for each of the values named, and one for all other objects. */

const classItem = z.object({
  count: z.number().int().min(0).default(0),
  // Bounded: answers with the map's tree contain all values.
  value: z.union([z.string().max(1_000), z.number(), z.boolean()]).optional(),
  icon: path.default(""),
  checked: flag(true),
  useIcon: flag(false),
  color: colour.default("#2a6fbb"),
});

const classesOf = (settings: Settings) => settings.classes as Settings[];
const othersOf = (settings: Settings) => settings.defaultClass as Settings;

export const categories: VisualKind = {
  schema: z
    .object({
      opacity: opacity.default(1),
      linePattern: pattern.default(""),
      lineWidth: size.default(1),
      defaultClass: classItem.prefault({}),
      classes: z.array(classItem).max(maxClasses).default([]),
    })
    .prefault({}),
  column: hasValues,
  hasBorders: false,
  countOf: (settings) => classesOf(settings).length,
  withValues: (settings, { counts, others }) => ({
    ...settings,
    classes: classesOf(settings).map((item, at) => ({ ...item, count: counts[at] ?? 0 })),
    defaultClass: { ...othersOf(settings), count: others },
  }),
  shown: (_layer, settings) => ({
    ...settings,
    classes: classesOf(settings).map((item) => ({ value: null, ...item })),
    defaultClass: { value: null, ...othersOf(settings) },
  }),
  question: ({ layer, settings, classes }) => {
    const column = columnOf(layer, settings.column);
    const values = classesOf(classes).map(({ value }) => (value === "" ? undefined : value));
    return column && { kind: "categories", column, values };
  },
  // An item for each class that is shown, and one without a value for other objects, if any.
  legend: (_layer, settings) => {
    const shown: Plain[] = classesOf(settings).filter(({ checked }) => checked);
    const others = othersOf(settings);
    if (others.checked && Number(others.count) > 0) shown.push({ ...others, value: null });
    return shown.map(({ value, color, useIcon }) => classificator(value, color, useIcon));
  },
};

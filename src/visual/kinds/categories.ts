import { z } from "zod";
import { hasValues } from "../../column-types/column-types.js";
import { textLiteral } from "../../style/filter-sql.js";
import { columnOf, type Plain, type Settings } from "../columns.js";
import { classReach, classRules, classSymbol, halfOfPoints, iconOf, styleOf } from "../drawing.js";
import { classificator, type VisualKind } from "../kind.js";
import {
  colour,
  defaultLineWidth,
  flag,
  maxClasses,
  opacity,
  paletteColor,
  paletteSize,
  path,
  pattern,
  size,
} from "../schemas.js";
import { type CategoryValue, categoryValue } from "../value-sql.js";

/** Categories: a class for each of the values named, and one for all other objects. */

/** Classes that a request without any gets: as many as there are colours. */
const commonClasses = paletteSize;

/** Of objects in no class. */
const otherColor = "#bbbbbb";

const classItem = z.object({
  count: z.number().int().min(0).default(0),
  // Bounded: answers with the map's tree contain all values.
  value: z.union([z.string().max(1_000), z.number(), z.boolean()]).optional(),
  icon: path.default(""),
  checked: flag(true),
  useIcon: flag(false),
  /** Default: one of the palette. */
  color: colour.optional(),
});

const classesOf = (settings: Settings) => settings.classes as Settings[];
const inColour = (item: Settings, at: number): Plain => ({ ...item, color: item.color ?? paletteColor(at) });
const othersOf = (settings: Settings) => settings.defaultClass as Settings;

export const categories: VisualKind = {
  schema: z
    .object({
      opacity: opacity.default(1),
      linePattern: pattern.default(""),
      lineWidth: size.default(defaultLineWidth),
      defaultClass: classItem.prefault({}),
      classes: z.array(classItem).max(maxClasses).default([]),
    })
    .prefault({}),
  column: hasValues,
  read: (_layer, settings) => ({
    ...settings,
    defaultClass: { ...othersOf(settings), color: othersOf(settings).color ?? otherColor },
    classes: classesOf(settings).map(inColour),
  }),
  ofCommon: {
    most: commonClasses,
    isWanted: ({ classes }) => classes === undefined,
    classes: (settings, values) => ({
      ...settings,
      classes: values.map((value, at) => inColour(classItem.parse({ value }), at)),
    }),
  },
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
  drawsStatistics: false,
  draw: ({ layer, settings, classes, findPicture }) => {
    const column = columnOf(layer, settings.column);
    const drawn = [...classesOf(classes), othersOf(classes)];
    const others = drawn.length - 1;
    const icons = drawn.map((item) => (item.checked ? iconOf(item, findPicture) : undefined));
    const rules = drawn.flatMap(({ checked, color }, at) =>
      checked
        ? classRules(layer, settings, { filter: `[class$]=${at}`, color, classes, icon: icons[at] })
        : [],
    );
    return {
      styles: [styleOf("classes", rules)],
      fills: drawn.map(({ color }, at) => ({
        filter: `[class$]=${at}`,
        color: String(color),
        opacity: Number(classes.opacity),
      })),
      place: "object",
      columns: (context) => ({
        class$: column
          ? categorySql(categoryValue(column, context), classesOf(classes), others)
          : "null::int",
      }),
      needed: ["class$"],
      ...(classes.opacity === 1 && { thinnedBy: "class$" }),
      beside: halfOfPoints(settings, icons),
      reach: classReach(settings, classes, icons),
    };
  },
  // An item for each class that is shown, and one without a value for other objects, if any.
  legend: (_layer, settings) =>
    legendItems(settings).map(({ value, color, useIcon }) => classificator(value, color, useIcon)),
  symbols: ({ layer, settings, classes, findPicture, values: { others } }) =>
    legendItems({ ...classes, defaultClass: { ...othersOf(classes), count: others } }).map((item) =>
      classSymbol(layer, settings, { color: item.color, classes, icon: iconOf(item, findPicture) }),
    ),
};

function legendItems(settings: Settings): Plain[] {
  const shown: Plain[] = classesOf(settings).filter(({ checked }) => checked);
  const others = othersOf(settings);
  if (others.checked && Number(others.count) > 0) shown.push({ ...others, value: null });
  return shown;
}

/** SQL of the class of an object; of classes with the same value the first has it, as in the statistics. */
function categorySql(value: CategoryValue, classes: readonly Settings[], others: number): string {
  const empty = classes.findIndex((item) => item.value === undefined || item.value === "");
  const cases = classes.flatMap((item, at) => {
    const text = item.value === undefined || item.value === "" ? undefined : value.read(item.value);
    return text === undefined ? [] : [`when ${textLiteral(text)}::${value.type} then ${at}`];
  });
  const known = cases.length > 0 ? `case v$.x$ ${cases.join(" ")} else ${others} end` : `${others}`;
  return (
    `(select case when v$.x$ is null then ${empty < 0 ? others : empty} else ${known} end ` +
    `from (select ${value.sql} as x$ offset 0) v$)`
  );
}

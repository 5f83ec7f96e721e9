import { z } from "zod";
import type { Column, LayerNode } from "../catalog/state.js";
import {
  byId,
  codeOf,
  columnOf,
  type Known,
  type Plain,
  type Settings,
  withCode,
  withoutMissing,
  wrongSettings,
} from "./columns.js";
import { symbolizer } from "./drawing.js";
import { classificator, type Visualization, type VisualKind } from "./kind.js";
import { colour, columnCode, columnId, flag, name, opacity, paletteColor, size } from "./schemas.js";
import { limitsQuestion, type VisualQuestion } from "./statistics.js";

/** What the kinds with a chart on each object have in common: several columns, and a size. */

export const sizeOf = { fixed: 1, sum: 2, column: 3 } as const;

const shownColumns = "must be a list of the columns that are shown, such as [{code: population}]";

const schema = z.object({
  sizeFrom: size.default(20),
  sizeTo: size.default(60),
  showScale: flag(false),
  sizeColumnCode: columnCode.optional(),
  sizeColumn: columnId.optional(),
  sizeValue: size.default(40),
  sizeType: z.number().int().min(sizeOf.fixed).max(sizeOf.column).default(sizeOf.fixed),
  allowOverlap: flag(false),
  opacity: opacity.default(1),
  columns: z
    .array(
      z.object({
        code: columnCode.optional(),
        id: columnId.optional(),
        /** Default: one of the palette. */
        color: colour.optional(),
        label: name.optional(),
      }),
      shownColumns,
    )
    .min(1, shownColumns)
    .max(100),
});

/** Whether charts without room may be smaller: not those whose size tells a value. */
export const hasSmaller = (classes: Settings): boolean => classes.sizeType === sizeOf.fixed;

/** What stands for a chart without room. */
export const dotColor = "#4d5761";
export const dotMarker = symbolizer("MarkersSymbolizer", {
  width: 6,
  height: 6,
  fill: dotColor,
  stroke: "#ffffff",
  "stroke-width": 1,
  "allow-overlap": true,
  "ignore-placement": true,
});

export const columnsIn = (classes: Settings) => classes.columns as Settings[];

function read(layer: LayerNode, classes: Plain, at: string): Plain {
  const columns = columnsIn(classes)
    .map((column) => byId(layer, column, ["id", "code"], at))
    .map((column, index) => withoutTitle(layer, { ...column, color: column.color ?? paletteColor(index) }));
  if (columns.some(({ id }) => id === undefined))
    throw wrongSettings(at, { columns: "Each column needs an id or a code." });
  return { ...byId(layer, classes, ["sizeColumn", "sizeColumnCode"], at), columns };
}

/** Drops a label that equals the column's title, as answers show it, so that later changes of the title apply. */
function withoutTitle(layer: LayerNode, { label, ...rest }: Plain): Plain {
  const column = columnOf(layer, rest.id);
  const title =
    !column || label === column.name || Object.values(column.names).some((name) => name === label);
  return label === undefined || title ? rest : { ...rest, label };
}

function prune(classes: Settings, known: Known): Settings | null {
  const unsized = classes.sizeType === sizeOf.column ? { sizeType: sizeOf.fixed } : {};
  const sized = withoutMissing(classes, "sizeColumn", known, unsized);
  const columns = columnsIn(classes);
  const kept = columns.filter(({ id }) => known(id));
  if (kept.length === 0) return null;
  return kept.length < columns.length ? { ...sized, columns: kept } : sized;
}

/** Limits of what determines the size of the charts; undefined = all have the same size. */
export function sizeQuestion({ layer, classes }: Visualization): VisualQuestion | undefined {
  const ids = columnsIn(classes).map(({ id }) => id);
  if (classes.sizeType === sizeOf.sum) return limitsQuestion(layer, ids, true);
  return classes.sizeType === sizeOf.column ? limitsQuestion(layer, [classes.sizeColumn], false) : undefined;
}

/** As `sizeQuestion`, with the limits of the values that the charts show; of charts of the same size only these. */
export function scaleQuestion(visualization: Visualization): VisualQuestion | undefined {
  const { layer, classes } = visualization;
  const ids = columnsIn(classes).map(({ id }) => id);
  switch (classes.sizeType) {
    case sizeOf.sum:
      return limitsQuestion(layer, ids, true, ids);
    case sizeOf.column:
      return limitsQuestion(layer, [classes.sizeColumn], false, ids);
    default:
      return limitsQuestion(layer, ids, false, ids);
  }
}

/** The columns with labels; the default labels are the columns' titles. */
export function labelled(layer: LayerNode, classes: Settings, titleOf: (column: Column) => string): Plain {
  const columns = columnsIn(classes).map((shown) => {
    const column = columnOf(layer, shown.id);
    return { ...shown, label: shown.label ?? (column ? titleOf(column) : "") };
  });
  return { ...classes, columns };
}

export const chart = {
  schema,
  column: undefined,
  hasBorders: false,
  drawsStatistics: true,
  read,
  prune,
  shown: (layer, classes) => ({
    ...withCode(layer, classes, ["sizeColumn", "sizeColumnCode"]),
    columns: columnsIn(classes).map((column) => withCode(layer, column, ["id", "code"])),
  }),
  legend: (layer, classes, nameOf) =>
    columnsIn(classes).map(({ id, color, label }) => {
      const column = columnOf(layer, id);
      return classificator(label || (column && nameOf(column)) || codeOf(layer, id), color);
    }),
  lastItem: (classes) =>
    classes.allowOverlap
      ? undefined
      : { ...classificator(null, dotColor), noRoom: hasSmaller(classes) ? "smaller" : "dot" },
  lastSymbol: () => ({ symbolizers: [dotMarker], shape: "point" }),
} as const satisfies Partial<VisualKind>;

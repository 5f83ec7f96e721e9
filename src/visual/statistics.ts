import type { Column, LayerNode } from "../catalog/state.js";
import { columnOf, type Settings } from "./columns.js";

/** Which statistics of its layer's objects a visualization needs, by its settings. `features/visual-answer.ts` computes them. */

export type VisualQuestion =
  /** Classes of a column's values. */
  | {
      readonly kind: "classes";
      readonly column: Column;
      readonly algorithm: 1 | 2 | 3;
      readonly classes: number;
      /** Whether 0 is a border where there are values on both sides; not of equal intervals. Absent = no. */
      readonly breaksAtZero?: true;
      /** Borders between classes, ascending, in place of the algorithm's; timestamps in seconds since 1970. Absent = none. */
      readonly inner?: readonly number[];
    }
  /** The number of objects with each of these values; undefined = empty. */
  | { readonly kind: "categories"; readonly column: Column; readonly values: readonly unknown[] }
  /** Limits of the columns' values, or of their sum. */
  | {
      readonly kind: "limits";
      readonly columns: readonly Column[];
      readonly sum: boolean;
      /** Columns whose values have a range of their own; absent = none. */
      readonly axis?: readonly Column[];
      /** How close together the objects are; absent = not asked. */
      readonly density?: DensityQuestion;
    };

export interface DensityQuestion {
  /** Side of the squares that are counted, in pixels. */
  readonly pixels: number;
  /** Column of the objects' weights; absent = each counts 1. */
  readonly weight?: Column;
  /** Weights that the least and the greatest value of `columns` become; absent = as they are. */
  readonly weights?: readonly [least: number, most: number];
}

/** Classes of the values of the column that the visualization is built from. */
export function classesQuestion(layer: LayerNode, settings: Settings): VisualQuestion | undefined {
  const column = columnOf(layer, settings.column);
  const algorithm = settings.algorithm as 1 | 2 | 3;
  const { diverging, breaks } = settings.classesSettings as Settings;
  const classes = settings.classesCount as number;
  return (
    column && {
      kind: "classes",
      column,
      algorithm,
      classes,
      ...(diverging === true && { breaksAtZero: true }),
      ...(Array.isArray(breaks) && { inner: breaks as number[] }),
    }
  );
}

/** Limits of the columns with these ids. */
export function limitsQuestion(
  layer: LayerNode,
  ids: readonly unknown[],
  sum: boolean,
  axisIds: readonly unknown[] = [],
): VisualQuestion | undefined {
  const columns = ids.flatMap((id) => columnOf(layer, id) ?? []);
  const axis = axisIds.flatMap((id) => columnOf(layer, id) ?? []);
  if (columns.length + axis.length === 0) return undefined;
  return { kind: "limits", columns, sum, ...(axis.length > 0 && { axis }) };
}

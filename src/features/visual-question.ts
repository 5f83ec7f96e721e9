import type { Column, LayerNode } from "../catalog/state.js";

/** Which statistics of its layer's objects a visualization needs, by its settings. `visual-answer.ts` computes them. */

export type VisualQuestion =
  /** Kinds 1 and 3: classes of a column's values. */
  | {
      readonly kind: "classes";
      readonly column: Column;
      readonly algorithm: 1 | 2 | 3;
      readonly classes: number;
    }
  /** Kind 2: the number of objects with each of these values; undefined = empty. */
  | { readonly kind: "categories"; readonly column: Column; readonly values: readonly unknown[] }
  /** Kinds 4 to 7: limits of the columns' values, or of their sum. */
  | { readonly kind: "limits"; readonly columns: readonly Column[]; readonly sum: boolean };

type Settings = Readonly<Record<string, unknown>>;

/** Undefined when the layer has no visualization, or one that does not depend on its objects. */
export function questionOf(layer: LayerNode): VisualQuestion | undefined {
  const settings = layer.visualSettings;
  if (!settings) return undefined;
  const classes = settings.classesSettings as Settings;
  const column = columnOf(layer, settings.column);
  switch (settings.type) {
    case 1:
    case 3: {
      const algorithm = settings.algorithm as 1 | 2 | 3;
      return column && { kind: "classes", column, algorithm, classes: settings.classesCount as number };
    }
    case 2: {
      const values = (classes.classes as Settings[]).map(({ value }) => (value === "" ? undefined : value));
      return column && { kind: "categories", column, values };
    }
    case 7:
      return limits(
        layer,
        [
          classes.useWeight
            ? classes.useWeightField
            : classes.markerSizeType === "field"
              ? classes.markerSizeField
              : undefined,
        ],
        false,
      );
    default:
      return chartLimits(layer, settings.type === 4, classes);
  }
}

/** Limits of what determines the size of charts; for charts of fixed size, limits of what bars and lines show. */
function chartLimits(layer: LayerNode, pie: boolean, classes: Settings): VisualQuestion | undefined {
  const ids = (classes.columns as Settings[]).map(({ id }) => id);
  if (classes.sizeType === 2) return limits(layer, ids, true);
  if (classes.sizeType === 3) return limits(layer, [classes.sizeColumn], false);
  return pie ? undefined : limits(layer, ids, false);
}

function limits(layer: LayerNode, ids: readonly unknown[], sum: boolean): VisualQuestion | undefined {
  const columns = ids.flatMap((id) => columnOf(layer, id) ?? []);
  return columns.length > 0 ? { kind: "limits", columns, sum } : undefined;
}

const columnOf = (layer: LayerNode, id: unknown): Column | undefined =>
  layer.columns.find((column) => column.id === id);

import type { LayerNode, ProjectState } from "../catalog/state.js";

/** Values that the server computes from a layer's objects for a visualization. */

/** A value as in the column's JSON: a number, or a timestamp in ISO 8601. */
export type Limit = number | string;

export type Range = readonly [least: number, most: number];

/** Whose layer it is; its first language is that of the values of localised columns. */
export type VisualProject = Pick<ProjectState, "id" | "languages">;

/** Provides the values of a layer's visualization. */
export interface VisualSource {
  /**
   * Values for the layer's objects, and whether they are those of the objects as they are now.
   * @param late when it resolves, the last known ones are given, or none
   */
  latest(layer: LayerNode, project: VisualProject, late?: Promise<void>): Promise<LatestValues>;
}

export interface LatestValues {
  /** The last known ones where those of now cannot be computed; undefined when there are none, or none are needed. */
  readonly values: VisualValues | undefined;
  readonly isCurrent: boolean;
}

export interface VisualValues {
  /** Range of the values; null if there are none, or they have no order. */
  readonly min: Limit | null;
  readonly max: Limit | null;
  /**
   * Of "classes": borders of the classes, ascending, one more than there are classes. A class includes its upper border
   * but not its lower one; the first class includes both. Empty if no object has a value.
   */
  readonly borders: readonly Limit[];
  /** Of "classes" and "categories": number of objects in each class. */
  readonly counts: readonly number[];
  /** Of "classes" and "categories": number of objects in no class. */
  readonly others: number;
  /** `borders` as numbers: timestamps in seconds since 1970. */
  readonly breaks: readonly number[];
  /** `min` and `max` as numbers; null if there are none. Of "limits" as `calculable` has them. */
  readonly range: Range | null;
  /** Of "limits": range of the columns of the axis. */
  readonly axis: Range | null;
  /** Of "limits" with a density: at each zoom from 0; empty if no object has a weight. */
  readonly density: readonly Density[];
}

/** Weight of the objects in a square, of those with objects. */
export interface Density {
  /** Of the one in the middle. */
  readonly usual: number;
  /** Of a dense one. */
  readonly dense: number;
}

/** Of no objects. */
export const noValues: VisualValues = {
  min: null,
  max: null,
  borders: [],
  counts: [],
  others: 0,
  breaks: [],
  range: null,
  axis: null,
  density: [],
};

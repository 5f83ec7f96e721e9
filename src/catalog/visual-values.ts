import type { StoredSettings } from "./state.js";

/** Values that the server computes from a layer's objects for a visualization, and their fields in the settings. */

/** A value as in the column's JSON: a number, or a timestamp in ISO 8601. */
export type Limit = number | string;

export interface VisualValues {
  /** Range of the values; null if there are none, or they have no order. */
  readonly min: Limit | null;
  readonly max: Limit | null;
  /**
   * Types 1 and 3: borders of the classes, ascending, one more than there are classes. A class includes its upper border
   * but not its lower one; the first class includes both. Empty if no object has a value.
   */
  readonly borders: readonly Limit[];
  /** Types 1, 2 and 3: number of objects in each class. */
  readonly counts: readonly number[];
  /** Type 2: number of objects in no class. */
  readonly others: number;
}

type Plain = Record<string, unknown>;

/**
 * Adds computed values to settings: `count` of each class and of `defaultClass` (type 2); `classesSettings.borders` and
 * `classesSettings.counts` (types 1 and 3), which are additions to the contract.
 */
export function withValues(settings: StoredSettings, values: VisualValues | undefined): StoredSettings {
  if (!values) return settings;
  const classes = settings.classesSettings as Plain;
  switch (settings.type) {
    case 1:
    case 3:
      return { ...settings, classesSettings: { ...classes, borders: values.borders, counts: values.counts } };
    case 2: {
      const items = (classes.classes as Plain[]).map((item, at) => ({
        ...item,
        count: values.counts[at] ?? 0,
      }));
      const defaultClass = { ...(classes.defaultClass as Plain), count: values.others };
      return { ...settings, classesSettings: { ...classes, classes: items, defaultClass } };
    }
    default:
      return settings;
  }
}

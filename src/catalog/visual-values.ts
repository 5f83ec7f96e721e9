import type { StoredSettings } from "./state.js";

/** What the server computes of the objects for a visualization, and where it stands in the settings. */

/** A value as the column's JSON shows it: a number, or a moment in ISO 8601. */
export type Limit = number | string;

export interface VisualValues {
  /** Limits of the values; null when there are none, or none with an order. */
  readonly min: Limit | null;
  readonly max: Limit | null;
  /**
   * Kinds 1 and 3: borders of the classes, ascending, one more than there are classes; a class holds what is above its
   * lower border up to its upper one, the first its lower border too. Empty when no object has a value.
   */
  readonly borders: readonly Limit[];
  /** Kinds 1, 2 and 3: number of objects in each class. */
  readonly counts: readonly number[];
  /** Kind 2: number of objects in none of the classes. */
  readonly others: number;
}

type Plain = Record<string, unknown>;

/**
 * Settings with computed values in their places: `count` of each class and of `defaultClass` (kind 2);
 * `classesSettings.borders` and `classesSettings.counts` (kinds 1 and 3), which the contract has no field for and
 * clients that do not know them leave alone.
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

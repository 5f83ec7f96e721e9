/** Values that the server computes from a layer's objects for a visualization. */

/** A value as in the column's JSON: a number, or a timestamp in ISO 8601. */
export type Limit = number | string;

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
  /** Of "categories": number of objects in no class. */
  readonly others: number;
}

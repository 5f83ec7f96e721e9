import { z } from "zod";
import type { Plain, Settings } from "./columns.js";
import { classificator, type LastItem } from "./kind.js";
import { colour, flag } from "./schemas.js";

/** How objects without a value look, of kinds whose classes are of values: pale, and told by the legend where there are any. */

const schema = z.object({
  count: z.number().int().min(0).default(0),
  checked: flag(true),
  color: colour.default("#d0d0d0"),
});

/** `classesSettings.noData`, an addition to the contract. */
export const noDataSchema = schema.prefault({});

interface NoData {
  readonly count: number;
  /** Whether they are shown. */
  readonly checked: boolean;
  readonly color: string;
}

/** @param classes `classesSettings`; those that were stored before there was such a look have its defaults */
export const noDataOf = (classes: Settings): NoData => schema.parse(classes.noData ?? {});

/** The class of objects without a value, in SQL of what is drawn. */
export const noDataClass = -1;

export const countedNoData = (classes: Settings, others: number): Plain => ({
  ...noDataOf(classes),
  count: others,
});

/** The line of a legend, if there are such objects. @param classes with values */
export function noDataItem(classes: Settings): LastItem | undefined {
  const { checked, count, color } = noDataOf(classes);
  return checked && count > 0 ? { ...classificator(null, color), isNoData: true } : undefined;
}

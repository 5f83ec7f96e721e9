import { z } from "zod";
import type { Plain, Settings } from "./columns.js";
import { classificator, type LastItem } from "./kind.js";
import { colour, flag } from "./schemas.js";

/**
 * How objects without a value look, of kinds whose classes are of values: hatched, as some palette has each colour. The legend tells of
 * them where there are any.
 */

const usual = "#d0d0d0";

const schema = z
  .object({
    count: z.number().int().min(0).default(0),
    checked: flag(true),
    color: colour.optional(),
    /** Absent: where no colour is given. */
    hatched: z.boolean().optional(),
  })
  // With another colour, as clients put it into what they were answered, this one counts.
  .transform(({ color, hatched = color === undefined, ...rest }) => ({
    ...rest,
    color: color ?? usual,
    hatched: hatched && (color ?? usual) === usual,
  }));

/** `classesSettings.noData`, an addition to the contract. */
export const noDataSchema = schema.prefault({});

interface NoData {
  readonly count: number;
  /** Whether they are shown. */
  readonly checked: boolean;
  readonly color: string;
  /** Whether areas are hatched, lines dashed and points rings. */
  readonly hatched: boolean;
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

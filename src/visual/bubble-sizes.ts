import type { Settings } from "./columns.js";
import { bounded } from "./drawing.js";
import { roundest } from "./round-breaks.js";
import { calculable } from "./value-sql.js";
import type { Range } from "./values.js";

/**
 * Sizes of bubbles whose areas follow their values. Amounts have areas in proportion to them, so that twice as many are twice
 * as large, but none is smaller than the least size; values below 0 and moments are spread from the least to the largest area.
 */

/** Below this part of the range values have the least size; PostgreSQL refuses quotients that it would round to 0. */
const leastPart = 1e-9;

export interface BubbleScale {
  /** Width of the smallest and of the largest, in pixels. */
  readonly least: number;
  readonly most: number;
  /** Where the range of areas begins and ends. */
  readonly from: number;
  readonly to: number;
  readonly isProportional: boolean;
}

/** @param range of all objects. @param isAmount whether 0 of it is none */
export function bubbleScale(
  { pointSizeMin, pointSizeMax }: Settings,
  range: Range,
  isAmount: boolean,
): BubbleScale {
  const [least, most] = [bounded(pointSizeMin), bounded(pointSizeMax)];
  const [from, to] = [calculable(range[0]), calculable(range[1])];
  const isProportional = isAmount && from >= 0 && to > 0 && least <= most;
  return { least, most, from: isProportional ? 0 : from, to, isProportional };
}

/** Width in pixels of the bubble of a value. */
export function bubbleWidth({ least, most, from, to, isProportional }: BubbleScale, value: number): number {
  if (from === to) return most;
  const part = Math.min(1, Math.max(0, (value - from) / (to - from)));
  if (isProportional) return Math.max(least, most * Math.sqrt(part));
  return Math.sqrt(least ** 2 + (most ** 2 - least ** 2) * part);
}

/** SQL of the width, as `bubbleWidth`; null without a value. @param value SQL of it, as `quantity` has it */
export function bubbleSql({ least, most, from, to, isProportional }: BubbleScale, value: string): string {
  const over = `(x$ - ${from}::float8)`;
  const part = `least(1, ${over} / ${to - from}::float8)`;
  const width = isProportional
    ? `greatest(${least}, ${most} * sqrt(${part}))`
    : `sqrt(${least ** 2} + ${most ** 2 - least ** 2} * ${part})`;
  const known =
    from === to
      ? `${most}::float8`
      : `case when ${over} <= ${(to - from) * leastPart}::float8 then ${least}::float8 else ${width} end`;
  return `(select case when x$ is not null then ${known} end from (select ${value} as x$ offset 0) b$)`;
}

/** Symbols whose widths differ by less look alike. */
const leastStep = 4;

/** Values for a legend, ascending: round ones, whose bubbles are told apart. */
export function legendValues(scale: BubbleScale): number[] {
  const { from, to } = scale;
  const width = to - from;
  if (!(width > 0)) return [to];
  const near = (part: number, below: number, above: number) =>
    roundest(from + width * Math.max(0, part - below), from + width * (part + above), from + width * part);
  // The greatest value itself may be round.
  const end = 1e-9;
  const wanted = scale.isProportional
    ? [near(1 / 20, 1 / 100, 1 / 100), near(1 / 4, 1 / 20, 1 / 20), near(1, 1 / 3, end)]
    : [near(0, 0, 1 / 10), near(1 / 2, 1 / 10, 1 / 10), near(1, 1 / 10, end)];
  return wanted.filter(
    (value, at) =>
      at === wanted.length - 1 ||
      bubbleWidth(scale, wanted[at + 1]!) - bubbleWidth(scale, value) >= leastStep,
  );
}

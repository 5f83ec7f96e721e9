/** Borders of classes as a person would write them: 2,500 in place of 2,487.31, where that moves few objects. */

/** Multiples of these are round, the first ones more so, in tenths: 5, 2.5, 2, 1. */
const mantissas = [50, 25, 20, 10] as const;
/** Digits of a double. */
const mostDigits = 17;

/** Gives the roundest value from `from` on and below `to`, near to `near`. */
export type Rounding = (from: number, to: number, near: number) => number;

/**
 * The roundest number from `from` on and below `to`, and of equally round ones that nearest to `near`; an integer where there
 * is one. `near` where there is no rounder one, or none at all.
 */
export function roundest(from: number, to: number, near: number): number {
  if (!(from < to)) return near;
  if (from <= 0 && to > 0) return 0;
  const hasInteger = Math.ceil(from) < to;
  const first = Math.ceil(Math.log10(Math.max(Math.abs(from), Math.abs(to))));
  for (let exponent = first; exponent > first - mostDigits; exponent--) {
    for (const mantissa of mantissas) {
      const step = Number(`${mantissa}e${exponent - 1}`);
      if (step === 0 || (hasInteger && !Number.isInteger(step))) continue;
      const multiples = [Math.round(near / step), Math.ceil(from / step), Math.ceil(to / step) - 1];
      // By its digits: 3 · 0.1 is not 0.3.
      const found = multiples
        .map((times) => Number(`${times * mantissa}e${exponent - 1}`))
        .filter((value) => value >= from && value < to);
      if (found.length > 0)
        return found.reduce((best, one) => (Math.abs(one - near) < Math.abs(best - near) ? one : best));
    }
  }
  return near;
}

/** Classes of equal width keep it within so much of it on either side. */
const movedWidth = 1 / 40;
const leastWholeWidth = 5;

/** Round borders near those of classes of one width; the ends stay. */
export function roundIntervals(breaks: readonly number[], round: Rounding = roundest): readonly number[] {
  const width = breaks[1]! - breaks[0]!;
  if (!(width > 0) || !Number.isFinite(width)) return breaks;
  // Of integers they are integers, where classes are wide enough for one to be near.
  const isWhole = Number.isInteger(breaks[0]) && Number.isInteger(breaks.at(-1)) && width >= leastWholeWidth;
  const slack = isWhole ? Math.max(1 / 2, width * movedWidth) : width * movedWidth;
  return breaks.map((each, at) =>
    at === 0 || at === breaks.length - 1 ? each : round(each - slack, each + slack, each),
  );
}

/** Share of a class's objects that may be in the next one for a rounder border between them. */
const movedShare = 1 / 20;

/** How many objects a border may move past, between classes of so many. */
export const slackOf = (smaller: number): number => Math.floor(smaller * movedShare);

/** And by so much of the width of the class below, however far the next value is. */
const movedGap = 1 / 4;

/**
 * A round border in place of the upper one of a class.
 * @param place where it may be, up to below `to`
 * @param lower the lower border of the class
 */
export function roundBorder(
  near: number,
  place: { readonly from: number; readonly to: number },
  lower: number,
  round: Rounding = roundest,
): number {
  const most = (near - lower) * movedGap;
  return round(Math.max(place.from, near - most), Math.min(place.to, near + most), near);
}

/**
 * Round borders near those of classes of a sorted sample. @param breaks values of the sample; the ends stay
 */
export function roundInSample(
  sample: readonly number[],
  breaks: readonly number[],
  round: Rounding = roundest,
): readonly number[] {
  /** How many values are at most each border. */
  const ranks = breaks.map((each) => sample.findLastIndex((value) => value <= each) + 1);
  return breaks.map((each, at) => {
    if (at === 0 || at === breaks.length - 1) return each;
    const [before, here, after] = [at === 1 ? 0 : ranks[at - 1]!, ranks[at]!, ranks[at + 1]!];
    const slack = slackOf(Math.min(here - before, after - here));
    const place = { from: sample[here - 1 - slack]!, to: sample[here + slack]! };
    return roundBorder(each, place, breaks[at - 1]!, round);
  });
}

/** Borders of classes of dates as a person would choose them: the beginning of a year, a month, a day or an hour. */

/** Beginnings of equal spans of time, by their numbers. Times are seconds since 1970, in UTC as dates are kept. */
interface Spans {
  /** The number of the span in which a time is. */
  numberOf(time: number): number;
  beginning(number: number): number;
}

const months = (count: number): Spans => ({
  numberOf(time) {
    const date = new Date(time * 1000);
    return Math.floor((date.getUTCFullYear() * 12 + date.getUTCMonth()) / count);
  },
  // Date.UTC takes the years 0 to 99 for those of the last century.
  beginning: (number) => new Date(0).setUTCFullYear(0, number * count, 1) / 1000,
});
const seconds = (count: number): Spans => ({
  numberOf: (time) => Math.floor(time / count),
  beginning: (number) => number * count,
});

const [minute, hour, day] = [60, 3600, 86_400];
/** The roundest first. */
const spans: readonly Spans[] = [
  ...[100, 50, 20, 10, 5, 2, 1].map((years) => months(12 * years)),
  ...[6, 3, 1].map(months),
  ...[day, 12 * hour, 6 * hour, hour, 30 * minute, 10 * minute, minute, 10, 1].map(seconds),
];

/**
 * The roundest time from `from` on and before `to`, and of equally round ones that nearest to `near`. `near` where there is none.
 */
export function roundestDate(from: number, to: number, near: number): number {
  if (!(from < to)) return near;
  for (const { numberOf, beginning } of spans) {
    const found = [from, near, to]
      .flatMap((time) => [numberOf(time), numberOf(time) + 1])
      .map(beginning)
      .filter((time) => time >= from && time < to);
    if (found.length > 0)
      return found.reduce((best, one) => (Math.abs(one - near) < Math.abs(best - near) ? one : best));
  }
  return near;
}

/** Counts the values of a column for a chart. Does not depend on the DOM. */

export interface Bar {
  /** undefined = of all values that have no bar of their own. */
  readonly value: BarValue | undefined;
  readonly count: number;
  /** What is typed above the column to list its objects; undefined when there is nothing to type. */
  readonly condition: string | undefined;
}

export type BarValue =
  | { readonly kind: "empty" }
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "bool"; readonly isTrue: boolean }
  | { readonly kind: "number"; readonly number: number }
  /** From `from` to before `to`. */
  | { readonly kind: "numbers"; readonly from: number; readonly to: number }
  /** A year, month, day (2024, 2024-05, 2024-05-31), or years from the first to the last. */
  | { readonly kind: "time"; readonly from: string; readonly to?: string };

/** Categories with a bar of their own. */
const maxBars = 20;
/** Numbers of which there are no more different ones than these are categories. */
const fewNumbers = 12;
const wantedBins = 10;

/** Whether a chart can be made of the column's values. */
export const hasChart = ({ type }: { readonly type: string }): boolean =>
  ["string", "text", "number", "bool", "datetime"].includes(type);

/** The bars: categories with the most frequent one first, numbers and times in their order; empty values last. */
export function barsOf(type: string, values: readonly unknown[]): Bar[] {
  const filled = values.filter((value) => value !== null && value !== undefined && value !== "");
  const empty: Bar[] =
    filled.length < values.length
      ? [
          {
            value: { kind: "empty" },
            count: values.length - filled.length,
            condition: type === "bool" ? "empty" : "=",
          },
        ]
      : [];
  return [...filledBars(type, filled), ...empty];
}

function filledBars(type: string, values: readonly unknown[]): Bar[] {
  switch (type) {
    case "number":
      return numberBars(values.filter((value): value is number => typeof value === "number"));
    case "datetime":
      return timeBars(values.map(String).filter((value) => /^\d{4}-\d\d-\d\dT/.test(value)));
    case "bool":
      return [true, false].flatMap((isTrue) => {
        const count = values.filter((value) => value === isTrue).length;
        return count > 0
          ? [{ value: { kind: "bool", isTrue }, count, condition: String(isTrue) } as const]
          : [];
      });
    default:
      return textBars(values.map(String));
  }
}

function counted<Value>(values: readonly Value[]): Map<Value, number> {
  const counts = new Map<Value, number>();
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1);
  return counts;
}

function textBars(values: readonly string[]): Bar[] {
  const sorted = [...counted(values)].sort(([a, m], [b, n]) => n - m || (a < b ? -1 : 1));
  const bars = sorted
    .slice(0, maxBars)
    .map(([text, count]): Bar => ({ value: { kind: "text", text }, count, condition: `=${text}` }));
  const others = sorted.slice(maxBars).reduce((sum, [, count]) => sum + count, 0);
  return others > 0 ? [...bars, { value: undefined, count: others, condition: undefined }] : bars;
}

function numberBars(values: readonly number[]): Bar[] {
  const counts = counted(values);
  if (counts.size <= fewNumbers) {
    return [...counts]
      .sort(([a], [b]) => a - b)
      .map(([number, count]) => ({ value: { kind: "number", number }, count, condition: String(number) }));
  }
  const least = values.reduce((a, b) => Math.min(a, b));
  const most = values.reduce((a, b) => Math.max(a, b));
  const step = roundStep((most - least) / wantedBins);
  const first = Math.floor(least / step);
  const bins = Array.from({ length: Math.floor(most / step) - first + 1 }, () => 0);
  for (const value of values)
    bins[Math.min(bins.length - 1, Math.max(0, Math.floor(value / step) - first))]! += 1;
  // Steps are multiples of a power of ten: without the noise of fractions of two.
  const border = (index: number) => Number(((first + index) * step).toPrecision(12));
  return bins.map((count, index) => ({
    value: { kind: "numbers", from: border(index), to: border(index + 1) },
    count,
    condition: `${border(index)}..<${border(index + 1)}`,
  }));
}

/** The least of 1, 2 and 5 times a power of ten that is not less. */
function roundStep(least: number): number {
  const power = 10 ** Math.floor(Math.log10(least));
  return (([1, 2, 5].find((factor) => factor * power >= least * 0.999_999) ?? 10) * power) as number;
}

/** Days, months, years or decades, in UTC; those in between without any are left out. */
function timeBars(values: readonly string[]): Bar[] {
  for (const letters of [10, 7, 4]) {
    const counts = counted(values.map((value) => value.slice(0, letters)));
    if (counts.size > 31 && letters > 4) continue;
    if (counts.size > 40) break;
    return [...counts]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([from, count]) => ({ value: { kind: "time", from }, count, condition: from }));
  }
  const decades = counted(values.map((value) => value.slice(0, 3)));
  return [...decades]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .slice(0, 400)
    .map(([decade, count]) => {
      const [from, to] = [`${decade}0`, `${decade}9`];
      return { value: { kind: "time", from, to }, count, condition: `${from}..${to}` };
    });
}

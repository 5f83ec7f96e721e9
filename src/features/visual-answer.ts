import type { Column, LayerNode } from "../catalog/state.js";
import type { Database, Queryable } from "../storage/postgres.js";
import { type Rounding, roundest, roundInSample, roundIntervals } from "../visual/round-breaks.js";
import { roundestDate } from "../visual/round-dates.js";
import type { VisualQuestion } from "../visual/statistics.js";
import {
  calculable,
  categoryValue,
  measure,
  quantity,
  shownValue,
  type ValueContext,
} from "../visual/value-sql.js";
import { type Limit, noValues, type VisualValues } from "../visual/values.js";
import { type Algorithm, algorithms, changesSign, suitableAlgorithm } from "./class-algorithm.js";
import {
  breaksAt,
  type ClassBreaks,
  classesUpToZero,
  equalIntervals,
  naturalBreaks,
  quantileBreaks,
} from "./class-breaks.js";
import type { Languages } from "./column-sql.js";
import { layerTable, Values } from "./sql.js";
import { densityOf } from "./visual-density.js";
import { answerByTally, type TallyAnswer, type TallyPlan } from "./visual-tally.js";

/** Computes the statistics that a visualization needs of its layer's objects: limits, class breaks, counts. */

const statementTimeoutMs = 10_000;

/** Maximum sample size for natural breaks; of more values, a sample of equally spaced ranks. */
const maxSample = 2_048;
/** Limits sample size times classes, so that natural breaks block the event loop for a few ms only. */
const maxSteps = 400_000;

/**
 * The statistics from one snapshot. Scans the objects once for limits, once for counts, and once with a sort for quantiles
 * and natural breaks: 0.1 to 0.5 s each for a million objects.
 * @param languages language of the values of localised columns
 */
export async function answerQuestion(
  db: Pick<Database, "transaction">,
  layer: LayerNode,
  question: VisualQuestion,
  languages: Languages,
): Promise<VisualValues> {
  return (await answerBest(db, layer, { question, languages, plan: undefined })).values;
}

/** As `answerQuestion`, by the counts of the plan where they are kept. */
export function answerBest(
  db: Pick<Database, "transaction">,
  layer: LayerNode,
  of: {
    readonly question: VisualQuestion;
    readonly languages: Languages;
    readonly plan: TallyPlan | undefined;
  },
): Promise<TallyAnswer | { readonly values: VisualValues; readonly care: "make" }> {
  const { question, languages, plan } = of;
  return db.transaction(
    async (tx) => {
      await tx.execute(`set local statement_timeout = ${statementTimeoutMs}`);
      const kept = plan && (await answerByTally(tx, layer, plan));
      return kept ?? { values: await answerWithin(tx, layer, question, languages), care: "make" };
    },
    { ofOneMoment: true },
  );
}

/** As `answerQuestion`, in the caller's transaction. */
export async function answerWithin(
  tx: Queryable,
  layer: LayerNode,
  question: VisualQuestion,
  languages: Languages,
): Promise<VisualValues> {
  await tx.execute(`set local statement_timeout = ${statementTimeoutMs}`);
  switch (question.kind) {
    case "classes":
      return classesOf(tx, layer, question, languages);
    case "categories":
      return categoriesOf(tx, layer, question, languages);
    case "limits":
      return limitsOf(tx, layer, question, languages);
  }
}

const contextOf = (languages: Languages, bound: Values): ValueContext => ({
  languages,
  bind: (text) => bound.bind(text),
});

type Of<Kind extends VisualQuestion["kind"]> = Extract<VisualQuestion, { kind: Kind }>;

/** The values of a column, as classes are made of them. */
interface MeasuredValues {
  readonly bound: Values;
  /** SQL of `x`, the values. */
  readonly from: string;
  readonly total: number;
  readonly min: number;
  readonly max: number;
  /** Objects without a value. */
  readonly others: number;
  /** Values at these ranks (from 1). */
  readonly valuesAt: (ranks: readonly number[]) => Promise<number[]>;
}

type Reading = Pick<Queryable, "query">;

/** Undefined = the column has no numeric scale. */
async function measured(
  tx: Reading,
  layer: LayerNode,
  column: Column,
  languages: Languages,
): Promise<MeasuredValues | undefined> {
  const bound = new Values();
  const x = measure(column, contextOf(languages, bound));
  if (x === undefined) return undefined;
  // OFFSET prevents the planner from extracting the value of a localised column at each use.
  const fence = column.localizedValue ? " offset 0" : "";
  const all = `from (select ${x} as x from ${layerTable(layer.id)}${fence}) v`;
  const from = `${all} where x is not null`;
  const [limits] = await tx.query<{ all: number; total: number; min: number; max: number }>(
    `select count(*) as all, count(x) as total, min(x), max(x) ${all}`,
    bound.list,
  );
  const { total, min, max } = limits!;
  const valuesAt = async (ranks: readonly number[]): Promise<number[]> => {
    const fractions = ranks.map((rank) => (rank - 0.5) / total);
    const [row] = await tx.query<{ at: number[] }>(
      `select percentile_disc($${bound.list.length + 1}::float8[]) within group (order by x) as at ${from}`,
      [...bound.list, fractions],
    );
    return row!.at;
  };
  return { bound, from, total, min, max, others: limits!.all - total, valuesAt };
}

export interface Suited {
  readonly algorithm: Algorithm;
  /** Whether there are numbers on both sides of 0. */
  readonly changesSign: boolean;
}

const unknownSuited: Suited = { algorithm: algorithms.quantiles, changesSign: false };

/**
 * What suits a column's values; quantiles where there are none yet, and where they cannot be read in time.
 * @param classes how many are wanted
 * @param mostNatural of more objects natural breaks, which need a look at all of them after each edit, are not taken
 */
export async function suitedTo(
  db: Pick<Database, "query">,
  layer: LayerNode,
  of: {
    readonly column: Column;
    readonly classes: number;
    readonly languages: Languages;
    readonly mostNatural: number;
  },
  signal: AbortSignal,
): Promise<Suited> {
  const reading: Reading = {
    query: (text, values) => db.query(text, values, { signal, timeoutMs: statementTimeoutMs / 2 }),
  };
  try {
    const values = await measured(reading, layer, of.column, of.languages);
    if (!values || values.total === 0) return unknownSuited;
    const sample = await values.valuesAt(sampleRanks(values.total, 1));
    const found = suitableAlgorithm(sample, of.classes);
    const isSlow = found === algorithms.naturalBreaks && values.total >= of.mostNatural;
    return {
      algorithm: isSlow ? algorithms.quantiles : found,
      changesSign: of.column.type === "number" && changesSign(sample),
    };
  } catch {
    signal.throwIfAborted();
    // Settings are saved all the same; the next request that computes their classes fails likewise, and the log says why.
    return unknownSuited;
  }
}

/** How borders of classes are made round, by the type of the column. */
const roundings: Readonly<Record<string, Rounding>> = { number: roundest, datetime: roundestDate };

async function classesOf(
  tx: Queryable,
  layer: LayerNode,
  { column, algorithm, classes, breaksAtZero, inner }: Of<"classes">,
  languages: Languages,
): Promise<VisualValues> {
  const values = await measured(tx, layer, column, languages);
  if (!values) return noValues;
  const { bound, from, total, min, max, others, valuesAt } = values;
  if (total === 0) return { ...noValues, others };
  /** Number of objects and largest value of each class. */
  const countClasses = async (breaks: ClassBreaks): Promise<{ counts: number[]; ends: number[] }> => {
    // width_bucket() counts the thresholds <= a value. With negated values and breaks it counts the inner breaks >= the
    // value, so that a value equal to a break belongs to the lower class.
    const inner = breaks.slice(1, -1);
    const rows = await tx.query<{ above: number; n: number; max: number }>(
      `select width_bucket(-x, $${bound.list.length + 1}::float8[]) as above, count(*) as n, max(x)
       ${from} group by 1`,
      [...bound.list, inner.map((value) => -value).reverse()],
    );
    const counts = new Array<number>(breaks.length - 1).fill(0);
    const ends = breaks.slice(1);
    for (const row of rows) {
      counts[inner.length - row.above] = row.n;
      ends[inner.length - row.above] = row.max;
    }
    return { counts, ends };
  };
  const countUpToZero = async (): Promise<number> => {
    const [row] = await tx.query<{ n: number }>(`select count(*) as n ${from} and x <= 0`, bound.list);
    return row!.n;
  };
  const round = roundings[column.type];
  let breaks: ClassBreaks;
  if (inner) {
    breaks = [Math.min(min, inner[0]!), ...inner, Math.max(max, inner.at(-1)!)];
  } else if (algorithm === algorithms.naturalBreaks) {
    const sample = await valuesAt(sampleRanks(total, classes));
    const natural = breaksAtZero ? naturalAroundZero(sample, classes) : naturalBreaks(sample, classes);
    breaks = round
      ? breaksAt(min, roundInSample(sample, natural, round).slice(1))
      : [min, ...(await countClasses(betweenValues(natural, sample))).ends];
  } else if (algorithm === algorithms.equalIntervals) {
    const even = equalIntervals(min, max, classes);
    breaks = round ? roundIntervals(even, round) : even;
  } else {
    const upToZero = breaksAtZero ? await countUpToZero() : undefined;
    breaks = await quantileBreaks({ min, max, total, valuesAt }, { classes, round, upToZero });
  }
  const { counts } = await countClasses(breaks);
  const shown = (value: number): Limit => shownValue(column, value);
  return {
    ...noValues,
    min: shown(min),
    max: shown(max),
    borders: breaks.map(shown),
    counts,
    others,
    breaks,
    range: [min, max],
  };
}

/** Natural breaks on either side of 0, which is one. */
function naturalAroundZero(sample: readonly number[], classes: number): ClassBreaks {
  const upTo = sample.filter((value) => value <= 0);
  const below = classesUpToZero(sample.length, upTo.length, classes);
  if (below === undefined) return naturalBreaks(sample, classes);
  const above = naturalBreaks(sample.slice(upTo.length), classes - below);
  return breaksAt(sample[0]!, [...naturalBreaks(upTo, below).slice(1, -1), 0, ...above.slice(1)]);
}

/** Ranks (from 1) of a sample of `total` sorted values, equally spaced, including the first and the last. */
function sampleRanks(total: number, classes: number): number[] {
  const count = Math.min(total, maxSample, Math.max(classes, Math.floor(maxSteps / classes)));
  const step = count > 1 ? (total - 1) / (count - 1) : 0;
  return Array.from({ length: count }, (_, i) => 1 + Math.round(i * step));
}

/**
 * Moves each inner break halfway to the next value of the sample, so that values outside the sample belong to the nearer
 * class.
 */
function betweenValues(breaks: ClassBreaks, sample: readonly number[]): ClassBreaks {
  return breaks.map((value, i) => {
    if (i === 0 || i === breaks.length - 1) return value;
    const next = sample.find((other) => other > value)!;
    const middle = value / 2 + next / 2;
    return middle > value && middle < next ? middle : value;
  });
}

async function categoriesOf(
  tx: Queryable,
  layer: LayerNode,
  { column, values }: Of<"categories">,
  languages: Languages,
): Promise<VisualValues> {
  const bound = new Values();
  const value = categoryValue(column, contextOf(languages, bound));
  /** Class index by value; when classes share a value, the first one gets the objects. */
  const classes = new Map<string, number>();
  let empty: number | undefined;
  values.forEach((given, at) => {
    const text = given === undefined ? undefined : value.read(given);
    if (given === undefined) empty ??= at;
    else if (text !== undefined && !classes.has(text)) classes.set(text, at);
  });
  const rows = await tx.query<{ at: number | null; empty: boolean; n: number }>(
    `select k.at, v.x is null as empty, count(*) as n from (select ${value.sql} as x from ${layerTable(layer.id)}) v
       left join (select * from unnest(${bound.bind([...classes.keys()])}::text[]::${value.type}[],
         ${bound.bind([...classes.values()])}::int[]) known (x, at)) k on k.x = v.x group by 1, 2`,
    bound.list,
  );
  const counts = new Array<number>(values.length).fill(0);
  let others = 0;
  for (const row of rows) {
    const at = row.empty ? empty : row.at;
    if (at === null || at === undefined) others += row.n;
    else counts[at]! += row.n;
  }
  return { ...noValues, counts, others };
}

async function limitsOf(
  tx: Queryable,
  layer: LayerNode,
  { columns, sum, axis, density }: Of<"limits">,
  languages: Languages,
): Promise<VisualValues> {
  const values = await rangeOf(tx, layer, { columns, sum }, languages);
  const ofAxis = axis && (await rangeOf(tx, layer, { columns: axis, sum: false }, languages));
  return {
    ...values,
    ...(ofAxis && { axis: ofAxis.range }),
    ...(density && { density: await densityOf(tx, layer, density, { range: values.range, languages }) }),
  };
}

async function rangeOf(
  tx: Queryable,
  layer: LayerNode,
  { columns, sum }: Pick<Of<"limits">, "columns" | "sum">,
  languages: Languages,
): Promise<VisualValues> {
  const bound = new Values();
  const measures = columns.flatMap((column) => {
    const context = contextOf(languages, bound);
    const sql = sum ? quantity(column, context) : measure(column, context);
    return sql === undefined ? [] : [{ column, sql }];
  });
  const [first] = measures;
  // Timestamps and numbers have no common limits.
  if (!first || measures.some(({ column }) => column.type !== first.column.type)) return noValues;
  const x = sum
    ? `case when num_nonnulls(${measures.map(({ sql }) => sql).join(",")}) > 0 then ${measures
        .map(({ sql }) => `coalesce(${sql},0)`)
        .join("+")} end`
    : undefined;
  const of = (pick: string) =>
    measures.length === 1 || x
      ? `${pick}(${x ?? first.sql})`
      : measures.map(({ sql }) => `${pick}(${sql})`).join(",");
  const [row] = await tx.query<{ min: number | null; max: number | null }>(
    `select least(${of("min")}) as min, greatest(${of("max")}) as max from ${layerTable(layer.id)}`,
    bound.list,
  );
  const shown = (value: number | null | undefined) =>
    value === null || value === undefined ? null : shownValue(first.column, value);
  const [min, max] = [row?.min ?? null, row?.max ?? null];
  return {
    ...noValues,
    min: shown(min),
    max: shown(max),
    range: min === null || max === null ? null : [calculable(min), calculable(max)],
  };
}

import type { LayerNode } from "../catalog/state.js";
import type { Limit, VisualValues } from "../catalog/visual-values.js";
import type { Database, Queryable } from "../storage/postgres.js";
import { type Borders, bordersAt, equalIntervals, naturalBreaks, quantilePlaces } from "./class-breaks.js";
import type { Languages } from "./columns.js";
import { layerTable, Values } from "./sql.js";
import { categoryValue, measure, shownValue } from "./visual-columns.js";
import type { VisualQuestion } from "./visual-question.js";

/** Answers what a visualization asks of its layer's objects: limits, class borders, counts. */

/** How long one statement over the objects may take. */
const statementTimeoutMs = 10_000;

/** Values that natural breaks are found among; of more, so many at equal distances in their order. */
const mostValues = 2_048;
/** Bounds that number for many classes, so that finding the breaks holds the event loop up for some ms at most. */
const mostSteps = 400_000;

const nothing: VisualValues = { min: null, max: null, borders: [], counts: [], others: 0 };

/**
 * The values of one moment. A scan of the objects for limits, one for counts, and for quantiles and natural breaks one
 * that sorts the values: 0.1 to 0.5 s each for a million objects.
 * @param languages which value of a localised column counts
 */
export function answerQuestion(
  db: Database,
  layer: LayerNode,
  question: VisualQuestion,
  languages: Languages,
): Promise<VisualValues> {
  return db.transaction(async (tx) => {
    await tx.execute("set transaction isolation level repeatable read, read only");
    return answerWithin(tx, layer, question, languages);
  });
}

/** As `answerQuestion`, in a transaction that runs. */
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

type Of<Kind extends VisualQuestion["kind"]> = Extract<VisualQuestion, { kind: Kind }>;

async function classesOf(
  tx: Queryable,
  layer: LayerNode,
  { column, algorithm, classes }: Of<"classes">,
  languages: Languages,
): Promise<VisualValues> {
  const bound = new Values();
  const x = measure(column, languages, bound);
  if (x === undefined) return nothing;
  // OFFSET keeps the value of a localised column from being looked for once for each use of it.
  const fence = column.localizedValue ? " offset 0" : "";
  const from = `from (select ${x} as x from ${layerTable(layer.id)}${fence}) v where x is not null`;
  const [limits] = await tx.query<{ n: number; least: number; greatest: number }>(
    `select count(*) as n, min(x) as least, max(x) as greatest ${from}`,
    bound.list,
  );
  const { n, least, greatest } = limits!;
  if (n === 0) return nothing;
  /** Values at these places, from 1, in their order. */
  const valuesAt = async (places: readonly number[]): Promise<number[]> => {
    const fractions = places.map((place) => (place - 0.5) / n);
    const [row] = await tx.query<{ at: number[] }>(
      `select percentile_disc($${bound.list.length + 1}::float8[]) within group (order by x) as at ${from}`,
      [...bound.list, fractions],
    );
    return row!.at;
  };
  const counted = async (borders: Borders): Promise<{ counts: number[]; ends: number[] }> => {
    // width_bucket() counts the thresholds up to a value; of negated ones those are the inner borders from it on.
    const inner = borders.slice(1, -1);
    const rows = await tx.query<{ above: number; n: number; greatest: number }>(
      `select width_bucket(-x, $${bound.list.length + 1}::float8[]) as above, count(*) as n, max(x) as greatest
       ${from} group by 1`,
      [...bound.list, inner.map((border) => -border).reverse()],
    );
    const counts = new Array<number>(borders.length - 1).fill(0);
    const ends = borders.slice(1);
    for (const row of rows) {
      counts[inner.length - row.above] = row.n;
      ends[inner.length - row.above] = row.greatest;
    }
    return { counts, ends };
  };
  let borders: Borders;
  let counts: readonly number[];
  if (algorithm === 3) {
    const looked = await valuesAt(spreadPlaces(n, classes));
    const found = await counted(betweenValues(naturalBreaks(looked, classes), looked));
    borders = [least, ...found.ends];
    counts = found.counts;
  } else {
    borders =
      algorithm === 1
        ? equalIntervals(least, greatest, classes)
        : bordersAt(least, await valuesAt(quantilePlaces(n, classes)));
    counts = (await counted(borders)).counts;
  }
  const shown = (value: number): Limit => shownValue(column, value);
  return {
    ...nothing,
    min: shown(least),
    max: shown(greatest),
    borders: borders.map(shown),
    counts,
  };
}

/** Places, from 1, of a bounded number of `total` values in their order, the first and the last among them. */
function spreadPlaces(total: number, classes: number): number[] {
  const count = Math.min(total, mostValues, Math.max(classes, Math.floor(mostSteps / classes)));
  const step = count > 1 ? (total - 1) / (count - 1) : 0;
  return Array.from({ length: count }, (_, i) => 1 + Math.round(i * step));
}

/**
 * Inner borders moved half way to the next value that was looked at: what lies between the two belongs to the nearer, and
 * of the class's own values the greatest is then its end.
 */
function betweenValues(borders: Borders, looked: readonly number[]): Borders {
  return borders.map((border, i) => {
    if (i === 0 || i === borders.length - 1) return border;
    const next = looked.find((value) => value > border)!;
    const middle = border / 2 + next / 2;
    return middle > border && middle < next ? middle : border;
  });
}

async function categoriesOf(
  tx: Queryable,
  layer: LayerNode,
  { column, values }: Of<"categories">,
  languages: Languages,
): Promise<VisualValues> {
  const bound = new Values();
  const value = categoryValue(column, languages, bound);
  /** Each value once: the first class that has it gets the objects. */
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
  return { ...nothing, counts, others };
}

async function limitsOf(
  tx: Queryable,
  layer: LayerNode,
  { columns, sum }: Of<"limits">,
  languages: Languages,
): Promise<VisualValues> {
  const bound = new Values();
  const measured = columns.flatMap((column) => {
    const sql = measure(column, languages, bound);
    return sql === undefined ? [] : [{ column, sql }];
  });
  const [first] = measured;
  // Moments and numbers have no common limits.
  if (!first || measured.some(({ column }) => column.type !== first.column.type)) return nothing;
  const x = sum
    ? `case when num_nonnulls(${measured.map(({ sql }) => sql).join(",")}) > 0 then ${measured
        .map(({ sql }) => `coalesce(${sql},0)`)
        .join("+")} end`
    : undefined;
  const of = (pick: string) =>
    measured.length === 1 || x
      ? `${pick}(${x ?? first.sql})`
      : measured.map(({ sql }) => `${pick}(${sql})`).join(",");
  const [row] = await tx.query<{ least: number | null; greatest: number | null }>(
    `select least(${of("min")}) as least, greatest(${of("max")}) as greatest from ${layerTable(layer.id)}`,
    bound.list,
  );
  const shown = (value: number | null | undefined) =>
    value === null || value === undefined ? null : shownValue(first.column, value);
  return { ...nothing, min: shown(row?.least), max: shown(row?.greatest) };
}

import { createHash } from "node:crypto";
import { layerTable } from "../catalog/layer-table.js";
import { isId, type LayerNode } from "../catalog/state.js";
import type { Database, Queryable } from "../storage/postgres.js";
import { roundest, roundIntervals } from "../visual/round-breaks.js";
import type { VisualQuestion } from "../visual/statistics.js";
import { categoryValue, measure, shownValue, type ValueContext } from "../visual/value-sql.js";
import { noValues, type VisualValues } from "../visual/values.js";
import { algorithms } from "./class-algorithm.js";
import { equalIntervals, quantileBreaks } from "./class-breaks.js";
import { literal } from "./sql.js";

/**
 * Statistics of large layers from counts that triggers keep (`storage/functions/value-counts`): exactly those that a look at all objects
 * gives, from some hundred counts and a few short reads of an index. That holds for equal intervals, quantiles and
 * categories of columns that are not localised; natural breaks need all values, and timestamps have no such index.
 */

/** Layers with fewer objects are looked at whole; making counts of more would keep writers waiting for too long. */
export const leastTallied: number = 20_000;
export const mostTallied = 5_000_000;
/** Borders beyond this many are found faster by a look at all objects. */
const mostClasses = 64;
const mostKeys = 200;
/** Buckets of numbers. */
const bucketCount = 1_024;
/** Of one bucket; edits can fill one, and then it is time for new bounds. */
const mostInBucket = 40_000;
/** Rows of counts beyond those of the buckets that are put together. */
const mostRows = 4_000;

type TalliedQuestion = Extract<VisualQuestion, { kind: "classes" | "categories" }>;

/** What is counted for a question. */
export interface TallyPlan {
  readonly question: TalliedQuestion;
  /** Names what is counted. */
  readonly key: string;
  /** SQL of a row's value. */
  readonly expression: string;
  /** Of categories: the classes' values as texts of their SQL type, with the number of the class. */
  readonly keys: readonly { readonly text: string; readonly at: number }[];
  readonly type: string;
}

/** Undefined = the question is answered by a look at all objects. */
export function tallyPlan(layer: LayerNode, question: VisualQuestion): TallyPlan | undefined {
  if (layer.type === "virtual" || question.kind === "limits") return undefined;
  const { column } = question;
  if (column.localizedValue || isId(column)) return undefined;
  const context: ValueContext = { languages: { own: "", main: "" }, bind: literal };
  const keyed = (expression: string, keys: TallyPlan["keys"], type: string): TallyPlan => {
    const key = createHash("sha256")
      .update(JSON.stringify([expression, keys.map(({ text }) => text)]))
      .digest("base64url")
      .slice(0, 22);
    return { question, key, expression, keys, type };
  };
  if (question.kind === "classes") {
    const expression = measure(column, context);
    const isIndexed =
      column.type === "number" &&
      question.algorithm !== algorithms.naturalBreaks &&
      question.inner === undefined &&
      question.classes <= mostClasses;
    return expression !== undefined && isIndexed ? keyed(expression, [], "float8") : undefined;
  }
  const value = categoryValue(column, context);
  const keys = new Map<string, number>();
  question.values.forEach((given, at) => {
    const text = given === undefined ? undefined : value.read(given);
    if (text !== undefined && !keys.has(text)) keys.set(text, at);
  });
  if (keys.size > mostKeys) return undefined;
  return keyed(
    value.sql,
    [...keys].map(([text, at]) => ({ text, at })),
    value.type,
  );
}

interface Tally {
  readonly id: number;
  readonly bounds: readonly number[];
}

/** Rows by bucket, from -1 on. */
type Counts = ReadonlyMap<number, number>;

export interface TallyAnswer {
  readonly values: VisualValues;
  /** Whether the counts should be put together, or made anew with other bounds. */
  readonly care: "none" | "compact" | "renew";
  readonly tally: number;
}

/** The answer by the kept counts, in the caller's transaction (repeatable read); undefined = there are none. */
export async function answerByTally(
  tx: Queryable,
  layer: LayerNode,
  plan: TallyPlan,
): Promise<TallyAnswer | undefined> {
  const table = layerTable(layer.id);
  const tally = await findTally(tx, layer, plan);
  if (!tally) return undefined;
  const rows = await tx.query<{ bucket: number; n: number; rows: number }>(
    "select bucket, sum(n)::bigint as n, count(*) as rows from visual_tally_count where tally_id = $1 group by bucket",
    [tally.id],
  );
  const counts: Counts = new Map(rows.map(({ bucket, n }) => [bucket, n]));
  const most = rows.reduce((sum, row) => sum + row.rows, 0);
  const compact = most > rows.length + mostRows ? "compact" : "none";
  if (plan.question.kind === "categories")
    return { values: categoriesBy(plan, plan.question, counts), care: compact, tally: tally.id };
  const isFull = (bucket: number) =>
    (counts.get(bucket) ?? 0) > mostInBucket && !isSingle(tally.bounds, bucket);
  const isRenewed = [...counts.keys()].some((bucket) => bucket >= 0 && isFull(bucket));
  const values = await classesBy(tx, { table, plan, tally, counts }, plan.question);
  return { values, care: isRenewed ? "renew" : compact, tally: tally.id };
}

/** The tally of what the plan counts, if it is of the objects as they are and has its index. */
async function findTally(tx: Queryable, layer: LayerNode, plan: TallyPlan): Promise<Tally | undefined> {
  const table = layerTable(layer.id);
  const [tally] = await tx.query<Tally>(
    `select t.id, t.bounds from visual_tally t where t.layer_id = $1 and t.key = $2
       and t.filenode = pg_relation_filenode('${table}'::regclass)
       and 3 = (select count(*) from pg_trigger where tgrelid = '${table}'::regclass and tgenabled = 'O'
         and tgname in ('tally_inserted', 'tally_updated', 'tally_deleted'))
       and ($3::text is null or exists (select from pg_index where indexrelid = to_regclass($3) and indisvalid))`,
    [
      layer.id,
      plan.key,
      // Another node, with other settings, may have dropped it.
      plan.question.kind === "classes" ? `layers.${indexOf(plan.question.column)}` : null,
    ],
  );
  return tally;
}

function categoriesBy(
  { keys }: TallyPlan,
  { values }: Extract<TalliedQuestion, { kind: "categories" }>,
  counts: Counts,
): VisualValues {
  const found = new Array<number>(values.length).fill(0);
  keys.forEach(({ at }, index) => {
    found[at]! += counts.get(index + 1) ?? 0;
  });
  let others = counts.get(0) ?? 0;
  const empty = values.indexOf(undefined);
  if (empty < 0) others += counts.get(-1) ?? 0;
  else found[empty]! += counts.get(-1) ?? 0;
  return { ...noValues, counts: found, others };
}

interface NumberTally {
  readonly table: string;
  readonly plan: TallyPlan;
  readonly tally: Tally;
  readonly counts: Counts;
}

async function classesBy(
  tx: Queryable,
  of: NumberTally,
  { column, algorithm, classes, breaksAtZero }: Extract<TalliedQuestion, { kind: "classes" }>,
): Promise<VisualValues> {
  const { table, plan, counts } = of;
  const x = plan.expression;
  const total = [...counts].reduce((sum, [bucket, n]) => (bucket < 0 ? sum : sum + n), 0);
  const others = counts.get(-1) ?? 0;
  if (total === 0) return { ...noValues, others };
  // What follows are reads of the index, whatever the planner thinks of an expression that nobody has analyzed.
  // Compiling them, or starting workers for them, takes longer than they do.
  await tx.query(
    `select set_config(name, value, true) from (values ('enable_seqscan', 'off'), ('enable_bitmapscan', 'off'),
       ('jit', 'off'), ('max_parallel_workers_per_gather', '0')) settings (name, value)`,
  );
  const [limits] = await tx.query<{ min: number; max: number }>(
    `select (select ${x} from ${table} where ${x} is not null order by ${x} limit 1) as min,
       (select ${x} from ${table} where ${x} is not null order by ${x} desc limit 1) as max`,
  );
  const { min, max } = limits!;
  const breaks =
    algorithm === algorithms.equalIntervals
      ? roundIntervals(equalIntervals(min, max, classes))
      : await quantileBreaks(
          { min, max, total, valuesAt: (ranks) => valuesAt(tx, of, ranks) },
          {
            ...{ classes, round: roundest },
            upToZero: breaksAtZero ? (await countsUpTo(tx, of, [0]))[0] : undefined,
          },
        );
  const upTo = await countsUpTo(tx, of, breaks.slice(1, -1));
  const ends = [0, ...upTo, total];
  return {
    ...noValues,
    min: shownValue(column, min),
    max: shownValue(column, max),
    borders: breaks.map((each) => shownValue(column, each)),
    counts: ends.slice(1).map((end, at) => end - ends[at]!),
    others,
    breaks,
    range: [min, max],
  };
}

/** SQL of the condition that a value is in a bucket. */
function within(x: string, bounds: readonly number[], bucket: number): string {
  const [from, to] = [bounds[bucket - 1], bounds[bucket]];
  const parts = [
    ...(from === undefined ? [`${x} is not null`] : [`${x} >= ${numberSql(from)}`]),
    ...(to === undefined ? [] : [`${x} < ${numberSql(to)}`]),
  ];
  return parts.join(" and ");
}

const numberSql = (value: number): string => `'${value}'::float8`;

/** Whether a bucket can hold one value only. */
const isSingle = (bounds: readonly number[], bucket: number): boolean =>
  bucket > 0 && bounds[bucket] !== undefined && bounds[bucket] === nextUp(bounds[bucket - 1]!);

/** Numbers of objects in the buckets below each. */
function below({ tally, counts }: NumberTally): number[] {
  const sums = [0];
  for (let bucket = 0; bucket <= tally.bounds.length; bucket++)
    sums.push(sums[bucket]! + (counts.get(bucket) ?? 0));
  return sums;
}

/** Values at ranks from 1 on. */
async function valuesAt(tx: Queryable, of: NumberTally, ranks: readonly number[]): Promise<number[]> {
  const sums = below(of);
  const { bounds } = of.tally;
  const x = of.plan.expression;
  const reads: string[] = [];
  const places = ranks.map((rank) => {
    const bucket = sums.findLastIndex((sum) => sum < rank);
    if (isSingle(bounds, bucket)) return { value: bounds[bucket - 1]! };
    const skipped = rank - sums[bucket]! - 1;
    reads.push(
      `(select ${x} as x from ${of.table} where ${within(x, bounds, bucket)} order by ${x} offset ${skipped} limit 1)`,
    );
    return { read: reads.length - 1 };
  });
  const rows = await inOrder<{ x: number }>(tx, reads);
  return places.map((place) => ("value" in place ? place.value! : rows[place.read!]!.x));
}

/** How many values are at most each of these. */
async function countsUpTo(tx: Queryable, of: NumberTally, ends: readonly number[]): Promise<number[]> {
  const sums = below(of);
  const { bounds } = of.tally;
  const x = of.plan.expression;
  const reads = ends.map((end) => {
    const bucket = bucketOf(bounds, end);
    if (isSingle(bounds, bucket)) return `(select ${sums[bucket + 1]}::bigint as x)`;
    return (
      `(select ${sums[bucket]} + count(*) as x from ${of.table} ` +
      `where ${within(x, bounds, bucket)} and ${x} <= ${numberSql(end)})`
    );
  });
  return (await inOrder<{ x: number }>(tx, reads)).map(({ x }) => x);
}

/** As `width_bucket`. */
function bucketOf(bounds: readonly number[], value: number): number {
  let [from, to] = [0, bounds.length];
  while (from < to) {
    const middle = (from + to) >> 1;
    if (bounds[middle]! <= value) from = middle + 1;
    else to = middle;
  }
  return from;
}

/** Many small reads of one row in one statement. */
async function inOrder<Row extends { x: number }>(tx: Queryable, reads: readonly string[]): Promise<Row[]> {
  if (reads.length === 0) return [];
  const all = reads.map((read, at) => `select ${at} as at, one.x from ${read} one`);
  return tx.query<Row>(`select x from (${all.join(" union all ")}) found order by at`);
}

/** The next greater double. */
export function nextUp(value: number): number {
  if (value === 0) return Number.MIN_VALUE;
  const view = new DataView(new ArrayBuffer(8));
  view.setFloat64(0, value);
  view.setBigInt64(0, view.getBigInt64(0) + (value > 0 ? 1n : -1n));
  return view.getFloat64(0);
}

/** Each column has its own, which goes with the column. */
const indexOf = ({ id }: { readonly id: number }): string => `tally_${id}`;

/**
 * Makes the counts for a question, unless they are there. Writers of the layer wait meanwhile: about a second for a million
 * objects.
 * @param anew also where they are there
 */
export function makeTally(
  db: Pick<Database, "transaction">,
  layer: LayerNode,
  plan: TallyPlan,
  anew = false,
): Promise<void> {
  const table = layerTable(layer.id);
  const x = plan.expression;
  return db.transaction(async (tx) => {
    await tx.execute("set local lock_timeout = 2000");
    await tx.execute("set local statement_timeout = 30000");
    for (const setting of ["timezone = 'UTC'", "datestyle = 'ISO'", "extra_float_digits = 1"])
      await tx.execute(`set local ${setting}`);
    await tx.execute(`lock table ${table} in share row exclusive mode`);
    // Another node may have been faster.
    if (!anew && (await findTally(tx, layer, plan))) return;
    await tx.execute("delete from visual_tally where layer_id = $1", [layer.id]);
    const isNumber = plan.question.kind === "classes";
    const bounds = isNumber ? await boundsOf(tx, table, x) : [];
    if (isNumber)
      await tx.execute(`create index if not exists ${indexOf(plan.question.column)} on ${table} ((${x}))`);
    const bucket = isNumber
      ? `coalesce(width_bucket(${x}, ${literal(`{${bounds.join(",")}}`)}::float8[]), -1)`
      : categoryBucket(plan);
    const [made] = await tx.query<{ id: number }>(
      `insert into visual_tally (layer_id, column_id, key, filenode, bounds)
       values ($1, $2, $3, pg_relation_filenode('${table}'::regclass), $4) returning id`,
      [layer.id, plan.question.column.id, plan.key, bounds],
    );
    await tx.execute(
      `insert into visual_tally_count select $1, ${bucket}, count(*) from ${table} group by 2`,
      [made!.id],
    );
    await tx.query("select attach_tally($1, $2, $3)", [layer.id, made!.id, bucket]);
    // An edit of a transaction whose snapshot is older fails to serialize by it: its triggers see no counts to keep.
    await tx.execute("update layer set changed_at = changed_at where id = $1", [layer.id]);
  });
}

function categoryBucket({ expression, keys, type }: TallyPlan): string {
  const list = `array[${keys.map(({ text }) => `${literal(text)}::${type}`).join(",")}]::${type}[]`;
  return `case when (${expression}) is null then -1 else coalesce(array_position(${list}, ${expression}), 0) end`;
}

/** Of buckets that have about as many values each. A value that occurs often has one of its own. */
async function boundsOf(tx: Queryable, table: string, x: string): Promise<number[]> {
  const fractions = Array.from({ length: bucketCount - 1 }, (_, at) => (at + 1) / bucketCount);
  const [row] = await tx.query<{ at: number[] | null }>(
    `select percentile_disc($1::float8[]) within group (order by x) as at from (select ${x} as x from ${table}
       tablesample bernoulli (least(100, 100 * 100000 / greatest(1, (select reltuples from pg_class where oid = '${table}'::regclass)))) repeatable (1)) v`,
    [fractions],
  );
  const bounds: number[] = [];
  for (const value of row?.at ?? []) {
    const last = bounds.at(-1);
    if (last === undefined || value > last) bounds.push(value);
    else if (value === last) bounds.push(nextUp(value));
  }
  return bounds;
}

/** Drops the indexes of columns that are no longer counted, unless somebody reads the layer now. */
export function dropOldIndexes(
  db: Pick<Database, "transaction">,
  layer: LayerNode,
  plan: TallyPlan,
): Promise<void> {
  return db.transaction(async (tx) => {
    await tx.execute("set local lock_timeout = 100");
    const old = await tx.query<{ name: string }>(
      `select relname as name from pg_index join pg_class on pg_class.oid = indexrelid
       where indrelid = '${layerTable(layer.id)}'::regclass and relname ~ '^tally_\\d+$' and relname <> $1`,
      [indexOf(plan.question.column)],
    );
    for (const { name } of old) await tx.execute(`drop index layers.${name}`);
  });
}

/** Ends the counts of a layer that became too large for them. Its triggers do nothing from then on. */
export async function dropTally(db: Pick<Database, "execute">, tally: number): Promise<void> {
  await db.execute("delete from visual_tally where id = $1", [tally]);
}

/** Puts the rows of counts together. */
export async function compactTally(db: Pick<Database, "execute">, tally: number): Promise<void> {
  await db.execute(
    `with gone as (delete from visual_tally_count where tally_id = $1 returning bucket, n)
     insert into visual_tally_count select $1, bucket, sum(n) from gone group by bucket having sum(n) <> 0`,
    [tally],
  );
}

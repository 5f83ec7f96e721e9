import { layerTable } from "../catalog/layer-table.js";
import type { Column } from "../catalog/state.js";
import type { Queryable } from "../storage/postgres.js";
import { valueSql } from "./convert.js";
import type { Matched } from "./match.js";
import { type ObjectMatch, stagedRows } from "./object-match.js";

/** Writes staged rows to the layer's table, within one transaction. */

/** Which properties become values of which columns of which objects. */
export interface Assigned {
  readonly columns: readonly Matched[];
  /** Which objects the rows name; undefined = none, each row is a new object. */
  readonly match: ObjectMatch | undefined;
  /** Language of localised values whose property name has no language. */
  readonly language: string;
}

export interface WritePlan extends Assigned {
  readonly layerId: number;
  /** Name of the staging table, from `lockStaging`; used unquoted in SQL. */
  readonly staging: string;
  /** Highest object id in the file; 0 = none. */
  readonly highestId: number;
  /** Rows of the file, which are numbered from 1; not all of them need to be staged. */
  readonly rows: number;
}

export interface Written {
  readonly inserted: number;
  readonly updated: number;
  /** Objects that a replacement has deleted. */
  readonly removed: number;
}

/**
 * Deletes all objects and inserts those of the file; readers see the old objects until the transaction commits.
 * @param whenEmpty what is done between
 */
export async function replaceObjects(
  tx: Queryable,
  plan: WritePlan,
  whenEmpty: () => Promise<void>,
): Promise<Written> {
  const removed = await tx.execute(`delete from ${layerTable(plan.layerId)}`);
  await whenEmpty();
  return { inserted: await insert(tx, plan, ""), updated: 0, removed };
}

/**
 * Updates objects that the rows name: members that the feature lacks stay unchanged, null empties a value. The other
 * features are inserted, with their id if they have one.
 */
export async function mergeObjects(tx: Queryable, plan: WritePlan): Promise<Written> {
  const { match } = plan;
  if (match === undefined) return { inserted: await insert(tx, plan, ""), updated: 0, removed: 0 };
  const updated = await update(tx, plan, match);
  const inserted = await insert(tx, plan, `where ${isNewSql(match, plan.layerId)}`);
  return { inserted, updated, removed: 0 };
}

/** SQL of whether no object has the id that a row names. */
export const isNewSql = (match: ObjectMatch, layerId: number): string =>
  `(${match.id} is null or not exists (select 1 from ${layerTable(layerId)} t where t.svc_id = ${match.id}))`;

/** SQL of the columns that new objects get values for, of the values, and what they bind. */
export interface NewValues {
  readonly targets: readonly string[];
  readonly sources: readonly string[];
  readonly values: readonly unknown[];
}

/** Values of the rows as new objects. Those without an id in the file get `nextId`, which is SQL. */
export function newValues(plan: WritePlan, nextId: string): NewValues {
  const { match } = plan;
  const values: unknown[] = [];
  const language = bindLanguages(values, plan.language);
  const columns = [...byColumn(plan.columns).values()];
  const targets = ["svc_id", "geom", ...columns.map(([property]) => property!.column.physical)];
  const id = match?.givesIds ? `coalesce(${match.id}, ${nextId})` : nextId;
  const sources = [id, "s.geom", ...columns.map((properties) => assignedSql.added(properties, language))];
  return { targets, sources, values };
}

/** SQL of the next id of the layer; ids of objects that are created meanwhile lie above those of the file. */
async function nextIdSql(tx: Queryable, { layerId, highestId }: WritePlan): Promise<string> {
  const sequence = await idSequence(tx, layerId);
  if (highestId > 0) {
    await tx.query("select setval($1, $2) where $2 > nextval($1)", [sequence, highestId]);
  }
  return `nextval('${sequence}')`;
}

/** Takes ids for all rows of the file, above those in it. Returns SQL of the id of a row. */
export async function reserveIds(tx: Queryable, { layerId, highestId, rows }: WritePlan): Promise<string> {
  const [taken] = await tx.query<{ last: string }>(
    "select setval($1, greatest(nextval($1) - 1, $2::bigint) + $3)::text as last",
    [await idSequence(tx, layerId), highestId, rows],
  );
  return `${BigInt(taken!.last) - BigInt(rows)} + s.row`;
}

/** The sequence of the layer's ids, named as SQL does: looked up once, since PostgreSQL would do it for every row. */
async function idSequence(tx: Queryable, layerId: number): Promise<string> {
  const [found] = await tx.query<{ name: string }>("select pg_get_serial_sequence($1, 'svc_id') as name", [
    layerTable(layerId),
  ]);
  return found!.name;
}

async function insert(tx: Queryable, plan: WritePlan, where: string): Promise<number> {
  const { match } = plan;
  const { targets, sources, values } = newValues(plan, await nextIdSql(tx, plan));
  // A join with the objects may change the order of the rows.
  const order = match && !match.givesIds ? "order by s.row" : "";
  return tx.execute(
    `insert into ${layerTable(plan.layerId)} (${targets.join(", ")}) select ${sources.join(", ")}
     from ${match?.from ?? stagedRows(plan.staging)} ${where} ${order}`,
    values,
  );
}

async function update(tx: Queryable, plan: WritePlan, match: ObjectMatch): Promise<number> {
  const values: unknown[] = [];
  const language = bindLanguages(values, plan.language);
  const assignments = [...byColumn(plan.columns).values()].map((properties) => {
    const { column } = properties[0]!;
    return `${column.physical} = ${assignedSql.changed(column, properties, language)}`;
  });
  // Without an assignment to geom, geom_3857 is not recomputed.
  const [placed] = await tx.query<{ some: boolean }>(
    `select exists (select 1 from ${stagedRows(plan.staging)} where geom is not null or -1 = any(nulls)) as some`,
  );
  if (placed!.some) assignments.push(`geom = ${assignedSql.geometry}`);
  if (assignments.length === 0) return 0;
  return tx.execute(
    `update ${layerTable(plan.layerId)} t set ${assignments.join(", ")} from ${match.from} where t.svc_id = ${match.id}`,
    values,
  );
}

/** SQL of whether the feature has the property (-1 = the geometry), null included. */
const given = (index: number, text: string): string => `(${text} is not null or ${index} = any(s.nulls))`;

/** SQL of the values that a column gets from a staged row `s`; of a changed object, `t` has the old ones. */
export const assignedSql = {
  /** Of a new object, from one property or from several languages. */
  added: (properties: readonly Matched[], language: LanguageBinder): string => {
    const values = properties.map((matched) => valueSql(matched, () => language(matched.language)));
    if (values.length === 1) return values[0]!;
    return `nullif(${values.map((value) => `coalesce(${value}, '{}')`).join(" || ")}, '{}')`;
  },
  /** Of a changed object; without an old one (`t` is null), as of a new object. */
  changed: (column: Column, properties: readonly Matched[], language: LanguageBinder): string =>
    column.localizedValue ? translated(column, properties, language) : changed(properties[0]!, language),
  /** The geometry of a changed object. */
  geometry: `case when ${given(-1, "s.geom")} then s.geom else t.geom end`,
};

const changed = (matched: Matched, language: LanguageBinder): string =>
  `case when ${given(matched.index, `s.p${matched.index}`)} then ${valueSql(matched, () => language(matched.language))} else t.${matched.column.physical} end`;

/** SQL of a localised column's new value: the languages in the feature are replaced, the others stay. */
function translated(column: Column, properties: readonly Matched[], language: LanguageBinder): string {
  const old = `t.${column.physical}`;
  const touched = properties.map(
    ({ index, language: own }) => `case when ${given(index, `s.p${index}`)} then ${language(own)}::text end`,
  );
  const values = properties.map(
    (matched) => `coalesce(${valueSql(matched, () => language(matched.language))}, '{}')`,
  );
  const kept = `(coalesce(${old}, '{}') - array_remove(array[${touched.join(", ")}], null))`;
  return `nullif(${[kept, ...values].join(" || ")}, '{}')`;
}

/** Groups properties by the id of their column. */
export function byColumn(properties: readonly Matched[]): ReadonlyMap<number, readonly Matched[]> {
  const columns = new Map<number, Matched[]>();
  for (const matched of properties) {
    const known = columns.get(matched.column.id);
    if (known) known.push(matched);
    else columns.set(matched.column.id, [matched]);
  }
  return columns;
}

type LanguageBinder = (language: string | undefined) => string;

/** A function that binds each language once and returns its placeholder; undefined = `own`. */
export function bindLanguages(values: unknown[], own: string): LanguageBinder {
  const placeholders = new Map<string, string>();
  return (language = own) => {
    let placeholder = placeholders.get(language);
    if (placeholder === undefined) {
      placeholder = `$${values.push(language)}`;
      placeholders.set(language, placeholder);
    }
    return placeholder;
  };
}

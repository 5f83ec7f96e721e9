import { layerTable } from "../catalog/layer-table.js";
import type { Column } from "../catalog/state.js";
import type { Queryable } from "../storage/postgres.js";
import { idSql } from "./check.js";
import { valueSql } from "./convert.js";
import type { Matched } from "./match.js";

/** Writes staged rows to the layer's table, within one transaction. */

export interface WritePlan {
  readonly layerId: number;
  /** Name of the staging table, from `lockStaging`; used unquoted in SQL. */
  readonly staging: string;
  readonly columns: readonly Matched[];
  /** Index of the property with object ids, which `checkIds` has accepted. */
  readonly idIndex: number | undefined;
  /** Highest object id in the file; 0 = none. */
  readonly highestId: number;
  /** Language of localised values whose property name has no language. */
  readonly language: string;
}

export interface Written {
  readonly inserted: number;
  readonly updated: number;
}

/** Deletes all objects and inserts those of the file; readers see the old objects until the transaction commits. */
export async function replaceObjects(tx: Queryable, plan: WritePlan): Promise<Written> {
  await tx.execute(`delete from ${layerTable(plan.layerId)}`);
  return { inserted: await insert(tx, plan, ""), updated: 0 };
}

/**
 * Updates objects that have the id of a feature: members that the feature lacks stay unchanged, null empties a value. The
 * other features are inserted, with their id if they have one.
 */
export async function mergeObjects(tx: Queryable, plan: WritePlan): Promise<Written> {
  if (plan.idIndex === undefined) return { inserted: await insert(tx, plan, ""), updated: 0 };
  const id = idSql(plan.idIndex);
  const updated = await update(tx, plan, plan.idIndex);
  const fresh = `where ${id} is null or not exists (select 1 from ${layerTable(plan.layerId)} t where t.svc_id = ${id})`;
  return { inserted: await insert(tx, plan, fresh), updated };
}

async function insert(tx: Queryable, plan: WritePlan, where: string): Promise<number> {
  const table = layerTable(plan.layerId);
  const sequence = `pg_get_serial_sequence('${table}', 'svc_id')`;
  // First, so that objects created concurrently get ids above those of the file.
  if (plan.highestId > 0) {
    await tx.query(`select setval(${sequence}, $1) where $1 > nextval(${sequence})`, [plan.highestId]);
  }
  const values: unknown[] = [];
  const language = binder(values, plan.language);
  const columns = byColumn(plan.columns);
  const targets = ["geom", ...columns.map(([column]) => column.physical)];
  const sources = ["s.geom", ...columns.map(([, properties]) => inserted(properties, language))];
  if (plan.idIndex !== undefined) {
    targets.unshift("svc_id");
    sources.unshift(`coalesce(${idSql(plan.idIndex)}, nextval(${sequence}))`);
  }
  return tx.execute(
    `insert into ${table} (${targets.join(", ")}) select ${sources.join(", ")} from staging.${plan.staging} s ${where}`,
    values,
  );
}

/** SQL of a new object's value, from one property or from several languages. */
function inserted(properties: readonly Matched[], language: LanguageBinder): string {
  const values = properties.map((matched) => valueSql(matched, () => language(matched.language)));
  if (values.length === 1) return values[0]!;
  return `nullif(${values.map((value) => `coalesce(${value}, '{}')`).join(" || ")}, '{}')`;
}

async function update(tx: Queryable, plan: WritePlan, idIndex: number): Promise<number> {
  const values: unknown[] = [];
  const language = binder(values, plan.language);
  const assignments = byColumn(plan.columns).map(
    ([column, properties]) =>
      `${column.physical} = ${
        column.localizedValue ? translated(column, properties, language) : changed(properties[0]!, language)
      }`,
  );
  // Without an assignment to geom, geom_3857 is not recomputed.
  const [placed] = await tx.query<{ some: boolean }>(
    `select exists (select 1 from staging.${plan.staging} s where geom is not null or -1 = any(nulls)) as some`,
  );
  if (placed!.some) assignments.push(`geom = case when ${given(-1, "s.geom")} then s.geom else t.geom end`);
  if (assignments.length === 0) return 0;
  return tx.execute(
    `update ${layerTable(plan.layerId)} t set ${assignments.join(", ")} from staging.${plan.staging} s where t.svc_id = ${idSql(idIndex)}`,
    values,
  );
}

/** SQL of whether the feature has the property (-1 = the geometry), null included. */
const given = (index: number, text: string): string => `(${text} is not null or ${index} = any(s.nulls))`;

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

/** Groups properties by column. */
function byColumn(properties: readonly Matched[]): [Column, Matched[]][] {
  const columns = new Map<Column, Matched[]>();
  for (const matched of properties) {
    const known = columns.get(matched.column);
    if (known) known.push(matched);
    else columns.set(matched.column, [matched]);
  }
  return [...columns];
}

type LanguageBinder = (language: string | undefined) => string;

/** A function that binds each language once and returns its placeholder; undefined = `own`. */
function binder(values: unknown[], own: string): LanguageBinder {
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

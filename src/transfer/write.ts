import { layerTable } from "../catalog/load.js";
import type { Queryable } from "../storage/postgres.js";
import { valueSql } from "./convert.js";
import type { Matched } from "./match.js";

/** From staging into the layer's table, within one transaction. */

export interface WritePlan {
  readonly layerId: number;
  /** Staging table's name, made by us. */
  readonly staging: string;
  readonly columns: readonly Matched[];
  /** Index of the property with object ids, checked to be whole positive numbers, each once. */
  readonly idIndex: number | undefined;
  /** Highest of them; 0 = none. */
  readonly highestId: number;
  /** Language that localised values are in. */
  readonly language: string;
}

export interface Written {
  readonly inserted: number;
  readonly updated: number;
}

/** Old objects go, the file's come; readers see the old ones until the transaction ends. */
export async function replaceObjects(tx: Queryable, plan: WritePlan): Promise<Written> {
  await tx.execute(`delete from ${layerTable(plan.layerId)}`);
  return { inserted: await insert(tx, plan, ""), updated: 0 };
}

/**
 * Features whose id an object has change that object, in what they name: a property or geometry that a feature
 * lacks stays, one that is null is emptied. The others become new objects, with their id if they bring one.
 */
export async function mergeObjects(tx: Queryable, plan: WritePlan): Promise<Written> {
  if (plan.idIndex === undefined) return { inserted: await insert(tx, plan, ""), updated: 0 };
  const id = idSql(plan);
  const updated = await update(tx, plan);
  const fresh = `where ${id} is null or not exists (select 1 from ${layerTable(plan.layerId)} t where t.svc_id = ${id})`;
  return { inserted: await insert(tx, plan, fresh), updated };
}

/** 12.0 is how some programs write the whole number 12. */
const idSql = (plan: WritePlan): string => `split_part(s.p${plan.idIndex}, '.', 1)::bigint`;

async function insert(tx: Queryable, plan: WritePlan, where: string): Promise<number> {
  const table = layerTable(plan.layerId);
  const sequence = `pg_get_serial_sequence('${table}', 'svc_id')`;
  // First, so that objects made meanwhile by others get ids beyond the file's.
  if (plan.highestId > 0) {
    await tx.query(`select setval(${sequence}, $1) where $1 > nextval(${sequence})`, [plan.highestId]);
  }
  const values: unknown[] = [];
  const language = binder(values, plan.language);
  const targets = ["geom", ...plan.columns.map(({ column }) => column.physical)];
  const sources = ["s.geom", ...plan.columns.map((matched) => valueSql(matched, language))];
  if (plan.idIndex !== undefined) {
    targets.unshift("svc_id");
    sources.unshift(`coalesce(${idSql(plan)}, nextval(${sequence}))`);
  }
  return tx.execute(
    `insert into ${table} (${targets.join(", ")}) select ${sources.join(", ")} from staging.${plan.staging} s ${where}`,
    values,
  );
}

async function update(tx: Queryable, plan: WritePlan): Promise<number> {
  const values: unknown[] = [];
  const language = binder(values, plan.language);
  const given = (index: number, text: string) => `(${text} is not null or ${index} = any(s.nulls))`;
  const assignments = plan.columns.map((matched) => {
    const { physical, localizedValue } = matched.column;
    const value = valueSql(matched, language);
    const text = `s.p${matched.index}`;
    const changed = localizedValue
      ? `case when ${text} is null then t.${physical} - ${language()}::text else coalesce(t.${physical}, '{}') || ${value} end`
      : value;
    return `${physical} = case when ${given(matched.index, text)} then ${changed} else t.${physical} end`;
  });
  // Without an assignment PostgreSQL need not make geom_3857 anew.
  const [placed] = await tx.query<{ some: boolean }>(
    `select exists (select 1 from staging.${plan.staging} s where geom is not null or -1 = any(nulls)) as some`,
  );
  if (placed!.some) assignments.push(`geom = case when ${given(-1, "s.geom")} then s.geom else t.geom end`);
  if (assignments.length === 0) return 0;
  return tx.execute(
    `update ${layerTable(plan.layerId)} t set ${assignments.join(", ")} from staging.${plan.staging} s where t.svc_id = ${idSql(plan)}`,
    values,
  );
}

/** A placeholder that is bound when it is first asked for. */
function binder(values: unknown[], value: unknown): () => string {
  let placeholder: string | undefined;
  return () => {
    placeholder ??= `$${values.push(value)}`;
    return placeholder;
  };
}

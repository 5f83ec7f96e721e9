import { emptySql, mustBeFilled } from "../catalog/required.js";
import type { Column, LayerNode } from "../catalog/state.js";
import { failed, notFound, Reasons, refusedValues } from "../errors.js";
import type { Database, Queryable } from "../storage/postgres.js";
import { arrayLiteral, type BulkPlan, type BulkRun, bulkOperations, Refusals } from "./bulk-body.js";
import { type BulkValues, violating } from "./check-constraints.js";
import { layerTable, literal, Values } from "./sql.js";
import { saveFailed } from "./statement-failure.js";
import { boundType } from "./values.js";

/** Does many edits of a layer in one transaction: all of them, or none. */

const idsAtOnce = 5_000;

/** Objects of the edits, in their order, and the transaction's id. */
export interface BulkDone {
  readonly ids: Float64Array;
  readonly receipt: string;
}

/**
 * @param language of values that are set in one language
 * @throws Failure of the first edit that cannot be done, as `readBulk`: not_found, invalid_value, constraint_violated
 */
export function editInBulk(
  db: Database,
  layer: LayerNode,
  { plan, language }: { readonly plan: BulkPlan; readonly language: string },
): Promise<BulkDone> {
  return db.transaction(async (tx) => {
    const ids = plan.ids.slice();
    await lockObjects(tx, layer, plan);
    await requireFiles(tx, layer, plan);
    await takeIds(tx, layer, plan, ids);
    for (const run of plan.runs) {
      await enforce(tx, layer, run);
      await write(tx, layer, run, { ids, language }).catch(saveFailed);
      await requireLeft(tx, layer, run, ids);
    }
    const [row] = await tx.query<{ r: string }>("select pg_current_xact_id()::text as r");
    return { ids, receipt: row!.r };
  });
}

/**
 * Locks the objects in the order of their ids, so that two that edit the same ones never wait for each other.
 * @throws Failure not_found
 */
async function lockObjects(tx: Queryable, layer: LayerNode, plan: BulkPlan): Promise<void> {
  const wanted = [...new Set(plan.runs.filter(isOfExisting).flatMap(({ items }) => [...items]))];
  const ids = [...new Set(wanted.map((item) => plan.ids[item]!))].sort((one, other) => one - other);
  const there = new Set<number>();
  for (const some of portions(ids)) {
    const rows = await tx.query<{ id: number }>(
      `select svc_id as id from ${layerTable(layer.id)} where svc_id = any($1::bigint[]) order by svc_id for update`,
      [`{${some.join(",")}}`],
    );
    for (const { id } of rows) there.add(id);
  }
  const refusals = new Refusals();
  for (const { operation, items } of plan.runs) {
    if (operation === "create") continue;
    for (const item of items) {
      const id = plan.ids[item]!;
      if (!there.has(id)) refusals.add(item, notFound(`object ${id}`));
      else if (operation === "delete") there.delete(id);
    }
  }
  refusals.throwIfAny();
}

const isOfExisting = ({ operation }: BulkRun): boolean => operation !== "create";

function* portions<T>(list: readonly T[]): Generator<readonly T[]> {
  for (let at = 0; at < list.length; at += idsAtOnce) yield list.slice(at, at + idsAtOnce);
}

/** Makes sure that objects list files of their own only. @throws Failure invalid_value */
async function requireFiles(tx: Queryable, layer: LayerNode, { files, ids }: BulkPlan): Promise<void> {
  const refusals = new Refusals();
  for (const some of portions(files)) {
    const rows = await tx.query<{ key: string }>(
      `select concat_ws(' ', id, object_id, column_id) as key from file
       where id = any($1::bigint[]) and layer_id = $2 for key share`,
      [`{${some.flatMap((one) => one.ids).join(",")}}`, layer.id],
    );
    const own = new Set(rows.map(({ key }) => key));
    for (const { item, at, ids: listed } of some) {
      const column = layer.columns[at]!;
      const foreign = listed.find((id) => !own.has(`${id} ${ids[item]} ${column.id}`));
      if (foreign === undefined) continue;
      const reason = `The object has no file ${foreign} in this column.`;
      refusals.add(item, refusedValues(Reasons.of(column.code, reason)));
    }
  }
  refusals.throwIfAny();
}

/** Gives new objects their ids, in the order of the edits. */
async function takeIds(
  tx: Queryable,
  layer: LayerNode,
  { operations }: BulkPlan,
  ids: Float64Array,
): Promise<void> {
  const create = bulkOperations.indexOf("create");
  const made: number[] = [];
  operations.forEach((operation, item) => {
    if (operation === create) made.push(item);
  });
  for (const items of portions(made)) {
    const [row] = await tx.query<{ ids: string }>(
      `select string_agg(nextval(pg_get_serial_sequence($1, 'svc_id'))::text, ',') as ids from generate_series(1, $2)`,
      [layerTable(layer.id), items.length],
    );
    row!.ids.split(",").forEach((id, index) => {
      ids[items[index]!] = Number(id);
    });
  }
}

/** SQL of an array from the UTF-8 of its literal, which costs less than a text to send. */
const array = (values: Values, text: Uint8Array, type: string): string =>
  `convert_from(${values.bind(asBytes(text))}::bytea,'UTF8')::${type}[]`;

const asBytes = ({ buffer, byteOffset, byteLength }: Uint8Array): Buffer =>
  Buffer.from(buffer as ArrayBuffer, byteOffset, byteLength);

/** @throws Failure constraint_violated */
async function enforce(tx: Queryable, layer: LayerNode, run: BulkRun): Promise<void> {
  const constraints = layer.constraints ?? [];
  if (constraints.length === 0) return;
  const refusals = new Refusals();
  const given = run.columns.map(
    ({ at, kind }, index): BulkValues => ({
      column: layer.columns[at]!,
      kind,
      list: (values) => array(values, run.values[index]!, "text"),
    }),
  );
  for (const { place, column, reason } of await violating(tx, layer, given)) {
    refusals.add(
      run.items[place]!,
      failed("constraint_violated", "Some values are not allowed.", { columns: { [column.code]: reason } }),
    );
  }
  refusals.throwIfAny();
}

async function write(
  tx: Queryable,
  layer: LayerNode,
  { operation, items, columns, values: texts, geometries }: BulkRun,
  { ids, language }: { readonly ids: Float64Array; readonly language: string },
): Promise<void> {
  const table = layerTable(layer.id);
  const values = new Values();
  const idList = array(values, arrayLiteral(Array.from(items, (item) => ids[item]!)), "bigint");
  if (operation === "delete") {
    await tx.execute(`delete from ${table} where svc_id = any(${idList})`, values.list);
    return;
  }
  const set = columns.map(({ at, kind }, index) => {
    const column = layer.columns[at]!;
    return {
      name: column.physical,
      list: array(values, texts[index]!, "text"),
      value: newValue(column, kind, `v.v${index}`, {
        old: operation === "create" ? "null" : `o.${column.physical}`,
        language,
      }),
    };
  });
  if (geometries)
    set.push({
      name: "geom",
      list: array(values, geometries, "text"),
      value: `v.v${columns.length}::geometry`,
    });
  if (set.length === 0 && operation === "update") return;
  const from = `unnest(${[idList, ...set.map(({ list }) => list)].join(",")}) as v(id${set.map((_, index) => `,v${index}`).join("")})`;
  await tx.execute(
    operation === "create"
      ? `insert into ${table} (svc_id${set.map(({ name }) => `,${name}`).join("")})
         select v.id${set.map(({ value }) => `,${value}`).join("")} from ${from}`
      : `update ${table} o set ${set.map(({ name, value }) => `${name} = ${value}`).join(",")} from ${from} where o.svc_id = v.id`,
    values.list,
  );
}

/** SQL of a column's new value, as `assignedValue` has it of one object. @param text SQL of its text */
function newValue(
  column: Column,
  kind: BulkRun["columns"][number]["kind"],
  text: string,
  { old, language }: { readonly old: string; readonly language: string },
): string {
  if (kind === "set") return `${text}::${boundType(column)}`;
  if (kind === "replace") return `${text}::jsonb`;
  const [before, name] = [`coalesce(${old}::jsonb,'{}')`, literal(language)];
  return (
    `case when ${text} is null then nullif(${before}-${name},'{}') ` +
    `else ${before}||jsonb_build_object(${name},${text}::jsonb) end`
  );
}

/** Makes sure that required columns did not lose their last value. @throws Failure invalid_value */
async function requireLeft(
  tx: Queryable,
  layer: LayerNode,
  { emptied }: BulkRun,
  ids: Float64Array,
): Promise<void> {
  const refusals = new Refusals();
  for (const { at, items } of emptied) {
    const column = layer.columns[at]!;
    const rows = await tx.query<{ id: number }>(
      `select svc_id as id from ${layerTable(layer.id)}
       where svc_id = any($1::bigint[]) and ${emptySql(column, column.physical)}`,
      [`{${Array.from(items, (item) => ids[item]!).join(",")}}`],
    );
    const empty = new Set(rows.map(({ id }) => id));
    for (const item of items)
      if (empty.has(ids[item]!)) refusals.add(item, refusedValues(Reasons.of(column.code, mustBeFilled)));
  }
  refusals.throwIfAny();
}

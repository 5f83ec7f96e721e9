import type { LayerNode } from "../catalog/state.js";
import { conflict, failed, notFound } from "../errors.js";
import type { Database, Queryable } from "../storage/postgres.js";
import { layerTable } from "./sql.js";

/**
 * Undoes changes of objects, all or none. What others have changed since stays: of a changed object only the values that the change
 * had set are set back, and only if they are still those.
 */

export interface Undone {
  readonly objects: number;
  /** Id of the transaction, for `Changes.propagate`. */
  readonly receipt: string;
}

export interface UndoRequest {
  /** Id of an entry of the layer's history. */
  readonly entry: number;
  /** Whether all that was done together with it is undone. */
  readonly group: boolean;
}

/** Most changes that are undone at once. */
const mostUndone = 200_000;
const timeoutMs = 300_000;

/** Conflicts that a message names. */
const namedConflicts = 10;

/**
 * @throws Failure not_found; conflict when objects have been changed since in the same values, are deleted, or are there again, or
 *   all is undone already, or the layer holds geometry of another kind by now;
 *   invalid_value for what cannot be undone, such as an import that replaced all objects
 */
export function undo(db: Database, layer: LayerNode, { entry, group }: UndoRequest): Promise<Undone> {
  return db.transaction(async (tx) => {
    await tx.execute(`set local statement_timeout = ${timeoutMs}`);
    const [found] = await tx.query<{ coarse: boolean }>(
      `select h.op in ('R', 'T') as coarse from object_history h where h.id = $1 and h.layer_id = $2`,
      [entry, layer.id],
    );
    if (!found) throw notFound(`entry ${entry} in the history of this layer`);
    await tx.execute(
      `create temp table undoing on commit drop as
       select h.id, o.object_id, h.op::text as op, h.before, h.after,
         row_number() over (partition by o.object_id order by h.id desc) as turn
       from mapwright.object_history h
         cross join lateral (select h.object_id where h.op <> 'I' union all select unnest(h.ids) where h.op = 'I') o (object_id)
       where h.layer_id = ${Math.trunc(layer.id)} and ${
         group
           ? `(h.transaction_id, h.at) = (select transaction_id, at from mapwright.object_history where id = ${Math.trunc(entry)})`
           : `h.id = ${Math.trunc(entry)}`
       } limit ${mostUndone + 1}`,
    );
    const [plan] = await tx.query<{ turns: number; coarse: boolean; objects: number; changes: number }>(
      `select coalesce(max(turn), 0)::int as turns, count(*)::int as changes, count(distinct object_id)::int as objects,
         coalesce(bool_or(op in ('R', 'T')), false) as coarse from undoing`,
    );
    if (found.coarse || plan!.coarse)
      throw failed("invalid_value", "All objects were replaced or deleted at once: that cannot be undone.");
    if (plan!.changes > mostUndone)
      throw failed("invalid_value", `At most ${mostUndone} changes of objects can be undone at once.`);
    const table = layerTable(layer.id);
    await tx.query(
      `select count(*) from (
         select from ${table} where svc_id in (select object_id from undoing) order by svc_id for update) locked`,
    );
    const columns = await columnsOf(tx, table);
    let changed = 0;
    for (let turn = 1; turn <= plan!.turns; turn++)
      changed += await undoTurn(tx, { table, columns, layer, turn });
    if (changed === 0) throw conflict("It is undone already.");
    await requireKind(tx, table, layer.id);
    const [row] = await tx.query<{ r: string }>("select pg_current_xact_id()::text as r");
    return { objects: Math.min(changed, plan!.objects), receipt: row!.r };
  });
}

/** An import may have given a layer that was empty another kind. @throws Failure conflict when an object is not of it */
async function requireKind(tx: Queryable, table: string, layerId: number): Promise<void> {
  const [unfit] = await tx.query<{ object: number; kind: string }>(
    `select t.svc_id as object, l.geometry_kind as kind
     from layer l, ${table} t where l.id = $1 and l.geometry_kind <> 'Unknown' and t.svc_id in (select object_id from undoing)
       and replace(geometrytype(t.geom), 'MULTI', '') <> upper(l.geometry_kind)
     order by t.svc_id limit 1`,
    [layerId],
  );
  if (unfit)
    throw conflict(
      `The layer holds geometry of the kind ${unfit.kind} by now, as object ${unfit.object} had not.`,
    );
}

/** Physical columns that have values of their own, `geom` too. */
async function columnsOf(tx: Queryable, table: string): Promise<string[]> {
  const rows = await tx.query<{ name: string }>(
    `select attname::text as name from pg_attribute where attrelid = to_regclass($1) and attnum > 0 and not attisdropped
       and attname not in ('svc_id', 'geom_3857') order by attnum`,
    [table],
  );
  return rows.map(({ name }) => name);
}

interface Turn {
  readonly table: string;
  readonly columns: readonly string[];
  readonly layer: LayerNode;
  readonly turn: number;
}

/** Undoes the last change of each object, then the one before it, and so on. @returns number of objects that were not so already */
async function undoTurn(tx: Queryable, { table, columns, layer, turn }: Turn): Promise<number> {
  const values = columns.map((name) => (name === "geom" ? "t.geom::text as geom" : `t.${name}`)).join(", ");
  const conflicts = await tx.query<{ object: number; op: string; names: string[] | null }>(
    `select u.object_id as object, u.op, case when u.op = 'u' and t.svc_id is not null then changed.names end as names
     from undoing u left join ${table} t on t.svc_id = u.object_id
       left join lateral (
         select array_agg(b.key) as names
         from jsonb_each(u.before) b, to_jsonb((select now from (select ${values}) now)) now
         where u.op = 'u' and now ? b.key and now -> b.key is distinct from u.after -> b.key
           and now -> b.key is distinct from b.value) changed on true
     where u.turn = $1 and case u.op
       when 'd' then t.svc_id is not null
       when 'u' then t.svc_id is null or changed.names is not null
       else t.svc_id is null or exists (
         select from object_history later where later.layer_id = $2 and later.object_id = u.object_id and later.id > u.id
           and later.transaction_id <> pg_current_xact_id() and later.id not in (select id from undoing))
         or exists (select from object_history later where later.layer_id = $2 and later.object_id is null and later.id > u.id
           and later.op in ('R', 'T')) end
     order by u.object_id limit ${namedConflicts}`,
    [turn, layer.id],
  );
  if (conflicts.length > 0) throw conflicting(layer, conflicts);
  const list = columns.join(", ");
  const restored = await tx
    .execute(
      `insert into ${table} (svc_id, ${list})
       select u.object_id, ${columns.map((name) => `r.${name}`).join(", ")}
       from undoing u, jsonb_populate_record(null::${table}, u.before) r where u.turn = $1 and u.op = 'd'`,
      [turn],
    )
    .catch(unfit);
  const setBack = await tx
    .execute(
      `update ${table} t set ${columns
        .map((name) => `${name} = case when u.before ? '${name}' then r.${name} else t.${name} end`)
        .join(", ")}
       from undoing u, jsonb_populate_record(null::${table}, u.before) r
       where u.turn = $1 and u.op = 'u' and t.svc_id = u.object_id and exists (
         select from jsonb_each(u.before) b, to_jsonb((select now from (select ${values}) now)) now
         where now ? b.key and now -> b.key is distinct from b.value)`,
      [turn],
    )
    .catch(unfit);
  const removed = await tx.execute(
    `delete from ${table} t using undoing u where u.turn = $1 and u.op in ('i', 'I') and t.svc_id = u.object_id`,
    [turn],
  );
  return restored + setBack + removed;
}

/** @throws Failure conflict when a column has another type by now */
function unfit(error: unknown): never {
  const { code = "" } = error as { code?: string };
  // Class 22: data exception; 42804 datatype_mismatch
  if (code.startsWith("22") || code === "42804")
    throw conflict("A column has another type by now, which its old values do not fit.");
  throw error;
}

function conflicting(
  layer: LayerNode,
  conflicts: readonly { readonly object: number; readonly op: string; readonly names: string[] | null }[],
) {
  const codes = new Map(layer.columns.map(({ physical, code }) => [physical, code]));
  const texts = conflicts.map(({ object, op, names }) => {
    if (names)
      return `${names.map((name) => codes.get(name) ?? name).join(", ")} of object ${object} changed`;
    return `object ${object} is ${op === "d" ? "there again" : op === "u" ? "deleted" : "changed or deleted"}`;
  });
  return conflict(`Since then, ${texts.join("; ")}. Undo that first.`, {
    objects: conflicts.map(({ object }) => object),
  });
}

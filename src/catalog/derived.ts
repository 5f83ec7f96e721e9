import { failed, notFound } from "../errors.js";
import type { GeometryKind } from "../geo/wkb.js";
import type { Database, Queryable } from "../storage/postgres.js";
import type { LostViews } from "./bin.js";
import { type CopiedColumn, copyColumns } from "./derived-columns.js";
import { layerTable } from "./layer-table.js";
import { hideLayer, insertLayer, type NewLayer } from "./layers.js";
import { fillTimeoutMs, synchronize } from "./materialized.js";
import type { LayerSource, NodeType } from "./state.js";
import { lockStructure } from "./structure-transaction.js";
import { dependedOn, isLiveSql, lockMap } from "./tree.js";

/**
 * Derived layers, which take their objects from another layer of the same map, with the same ids. A virtual layer is a
 * view of its source's table; a materialized one has a table that is filled from such a view. Their columns are fixed
 * when they are created.
 */

export type DerivedType = "virtual" | "material";

export interface DerivedLayer extends Omit<NewLayer, "columns" | "geometryKind"> {
  readonly type: DerivedType;
  readonly sourceId: number;
  /** In the filter language; "" = all objects. */
  readonly filter: string;
  /** SQL of the filter over the source's table, without parameters; undefined = all objects. */
  readonly condition: string | undefined;
  /** Codes of the source's columns; undefined = all. svc_id, geom and the titles above a column are always included. */
  readonly columns: readonly string[] | undefined;
}

/**
 * Creates a virtual or materialized layer, the latter with its objects.
 * @returns its id and code
 * @throws Failure not_found (map, parent, source), invalid_code, code_exists, unknown_column; invalid_value when a layer of
 *   the type cannot have this source; busy, of a materialized one, while columns of its source are changed
 */
export function createDerived(
  db: Database,
  mapId: number,
  layer: DerivedLayer,
): Promise<{ readonly id: number; readonly code: string }> {
  return db.transaction((tx) =>
    layer.type === "virtual" ? createVirtual(tx, mapId, layer) : createMaterial(tx, mapId, layer),
  );
}

async function createVirtual(tx: Queryable, mapId: number, layer: DerivedLayer) {
  const { sourceId } = layer;
  // Who has the table of a layer for itself, as an import at its end, waits for the map's row then.
  for (const id of await withSources(tx, sourceId))
    await tx.execute(`lock table ${layerTable(id)} in access share mode`);
  await lockMap(tx, mapId);
  const geometryKind = await checkSource(tx, mapId, layer);
  const made = await insertLayer(tx, mapId, { ...layer, geometryKind });
  const columns = await copySource(tx, made.id, layer);
  // Locks the row against writers of the source: their trigger (layer_touched) must see this layer.
  await tx.execute("update layer set changed_at = changed_at where id = $1", [sourceId]);
  await createView(tx, layerTable(made.id), layer, ["geom_3857", ...columns.map(aliased)]);
  return made;
}

async function createMaterial(tx: Queryable, mapId: number, layer: DerivedLayer) {
  await tx.execute(`set local statement_timeout = ${fillTimeoutMs}`);
  // A virtual layer is read from the table of its own source.
  for (const id of await withSources(tx, layer.sourceId)) await lockStructure(tx, id, "shared");
  const hidden = await hideLayer(tx, mapId, {
    ...layer,
    geometryKind: await checkSource(tx, mapId, layer),
  });
  const { id } = hidden;
  const columns = await copySource(tx, id, layer);
  await tx.execute("select create_layer_table($1)", [id]);
  await createView(tx, `${layerTable(id)}_source`, layer, columns.map(aliased));
  await addColumnsOfView(tx, id);
  await synchronize(tx, id, columns);
  await tx.query("select generalize_layer($1)", [id]);
  await lockMap(tx, mapId);
  const geometryKind = await checkSource(tx, mapId, layer);
  const made = await insertLayer(tx, mapId, { ...layer, geometryKind }, hidden);
  return made;
}

/** Ids of a layer and of the layers that it is made from. */
async function withSources(tx: Queryable, layerId: number): Promise<number[]> {
  const rows = await tx.query<{ id: number }>(
    `with recursive used as (
       select id, source_id from layer where id = $1
       union select l.id, l.source_id from layer l join used on l.id = used.source_id)
     select id from used order by id`,
    [layerId],
  );
  return rows.map(({ id }) => id);
}

/** Names the source of a layer that has its row. @returns the layer's columns */
async function copySource(tx: Queryable, id: number, { sourceId, filter, columns }: DerivedLayer) {
  await setSource(tx, id, { filter });
  await tx.execute("update layer set source_id = $2 where id = $1", [id, sourceId]);
  return copyColumns(tx, { from: sourceId, to: id, codes: columns });
}

/** @returns the source's geometry kind */
async function checkSource(tx: Queryable, mapId: number, layer: DerivedLayer): Promise<GeometryKind> {
  const [source] = await tx.query<{ type: NodeType; kind: GeometryKind; code: string }>(
    `select n.type, n.code, l.geometry_kind as kind from node n join layer l on l.id = n.id
     where n.id = $1 and n.map_id = $2`,
    [layer.sourceId, mapId],
  );
  if (!source) throw notFound("source layer of that code");
  const fits =
    source.type === "layer" ||
    source.type === "material" ||
    (source.type === "virtual" && layer.type === "material");
  if (fits) return source.kind;
  throw failed(
    "invalid_value",
    source.type === "virtual"
      ? `"${source.code}" is virtual itself: make the layer from its source.`
      : `"${source.code}" has no objects that a layer could be made from.`,
    { parameter: "source" },
  );
}

const aliased = (column: CopiedColumn): string => `${column.sourcePhysical} as ${column.physical}`;

async function createView(
  tx: Queryable,
  name: string,
  layer: DerivedLayer,
  selected: readonly string[],
): Promise<void> {
  const where = layer.condition === undefined ? "" : ` where ${layer.condition}`;
  const list = ["svc_id", "geom", ...selected].join(", ");
  try {
    await tx.execute(`create view ${name} as select ${list} from ${layerTable(layer.sourceId)}${where}`);
  } catch (error) {
    // 42703 undefined_column, 42883 undefined_function: the source's columns were changed after the filter was compiled.
    const { code } = error as { code?: string };
    if (code !== "42703" && code !== "42883") throw error;
    throw failed("invalid_value", "The columns of the source were changed meanwhile.", {
      parameter: "source",
    });
  }
}

/** Adds the columns of a materialized layer's view to its table. */
async function addColumnsOfView(tx: Queryable, layerId: number): Promise<void> {
  const [row] = await tx.query<{ clauses: string | null }>(
    `select string_agg(format('add column %I %s', attname, format_type(atttypid, atttypmod)), ', ' order by attnum) as clauses
     from pg_attribute where attrelid = to_regclass($1) and attname ~ '^c[0-9]+$'`,
    [`${layerTable(layerId)}_source`],
  );
  if (row?.clauses) await tx.execute(`alter table ${layerTable(layerId)} ${row.clauses}`);
}

export interface ExternalLayer extends Omit<NewLayer, "columns" | "geometryKind" | "cssStyle"> {
  /** Checked: see `readExternalSource`. */
  readonly source: LayerSource;
}

/**
 * Creates an external layer, which has neither columns nor objects.
 * @throws Failure not_found (map, parent), invalid_code, code_exists
 */
export function createExternal(
  db: Database,
  mapId: number,
  layer: ExternalLayer,
): Promise<{ readonly id: number; readonly code: string }> {
  return db.transaction(async (tx) => {
    const made = await insertLayer(tx, mapId, { ...layer, type: "external", cssStyle: "" });
    await setSource(tx, made.id, layer.source);
    return made;
  });
}

const setSource = (tx: Queryable, id: number, source: LayerSource) =>
  tx.execute("update node set source = $2 where id = $1", [id, JSON.stringify(source)]);

/**
 * Locks a layer's table for a change of its columns.
 * @param physical name of the column to be dropped or converted; undefined = one is added
 * @throws Failure invalid_value when the layer is derived itself, or when derived layers use the column (`data.layers`)
 */
export async function lockForAlter(tx: Queryable, layerId: number, physical?: string): Promise<void> {
  const [layer] = await tx.query<{ type: NodeType }>("select type from node where id = $1", [layerId]);
  if (layer && layer.type !== "layer")
    throw failed("invalid_value", "The columns of this layer come from its source.", { type: layer.type });
  await dropViewsInBin(tx, layerId);
  if (physical !== undefined) await requireUnused(tx, layerId, physical);
  const tables = await relations(tx, [layerId], "r");
  if (tables.length > 0) await tx.execute(`lock table ${tables.join(", ")} in access exclusive mode`);
}

/**
 * Drops views over the layer's table, and over these, whose layers are deleted. Entries of the bin are told what the views were, for
 * `restoreViews`; those of layers that were deleted with their whole map stay, so that the map can always be restored.
 */
export async function dropViewsInBin(tx: Queryable, layerId: number): Promise<void> {
  const deleted = await tx.query<{ id: number }>(
    `with recursive made as (
       select id from layer where source_id = $1 union select l.id from layer l join made on l.source_id = made.id)
     select made.id from made join node n on n.id = made.id join map m on m.id = n.map_id where not ${isLiveSql}
       and not exists (select from bin b where b.kind = 'map' and b.holder_id = m.id)`,
    [layerId],
  );
  const ids = deleted.map(({ id }) => id);
  const views = await relations(tx, ids, "v");
  if (views.length === 0) return;
  await tx.execute(
    `update bin b set kept = b.kept || jsonb_build_object('views', coalesce(b.kept->'views', '{}') || lost.views)
     from (
       select n.map_id, jsonb_object_agg(v.relname, jsonb_build_object(
         'sql', pg_get_viewdef(v.oid), 'types', ${viewTypesSql("v.oid")})) as views
       from node n join pg_class v on v.relnamespace = 'layers'::regnamespace and v.relkind = 'v'
         and v.relname in ('l' || n.id, 'l' || n.id || '_source')
       where n.id = any($1::bigint[]) group by n.map_id) lost
     where b.holder_id = lost.map_id`,
    [ids],
  );
  await tx.execute(`drop view ${views.join(", ")} cascade`);
}

/** SQL of the types of a view's columns, by name. */
const viewTypesSql = (oid: string): string =>
  `(select jsonb_object_agg(attname, format_type(atttypid, atttypmod)) from pg_attribute
    where attrelid = ${oid} and attnum > 0 and not attisdropped)`;

/**
 * Makes views again that `dropViewsInBin` dropped.
 * @throws Failure invalid_value when the source has other columns now
 */
export async function restoreViews(tx: Queryable, views: LostViews): Promise<void> {
  // In the order in which their layers were made.
  const named = Object.entries(views).sort(
    ([one], [other]) => Number.parseInt(one.slice(1), 10) - Number.parseInt(other.slice(1), 10),
  );
  for (const [name, { sql, types }] of named) {
    const changed = failed(
      "invalid_value",
      "The source of a layer has other columns now, so that it cannot be made again.",
    );
    try {
      await tx.execute(`create view layers.${name} as ${sql}`);
    } catch (error) {
      // 42703 undefined_column, 42883 undefined_function, 42P01 undefined_table
      if (["42703", "42883", "42P01"].includes((error as { code?: string }).code ?? "")) throw changed;
      throw error;
    }
    const [row] = await tx.query<{ same: boolean }>(
      `select ${viewTypesSql("to_regclass($1)")} = $2::jsonb as same`,
      [`layers.${name}`, JSON.stringify(types)],
    );
    if (!row!.same) throw changed;
  }
}

/** Qualified names of layers' tables ("r") or views ("v"), ordered by layer id. */
async function relations(tx: Queryable, layerIds: readonly number[], kind: "r" | "v"): Promise<string[]> {
  const rows = await tx.query<{ name: string }>(
    `select 'layers.' || c.relname as name
     from unnest($1::bigint[]) id cross join lateral (values ('l' || id), ('l' || id || '_source')) own (name)
       join pg_class c on c.relnamespace = 'layers'::regnamespace and c.relname = own.name::name
     where c.relkind = $2 order by id`,
    [layerIds, kind],
  );
  return rows.map(({ name }) => name);
}

/** @throws Failure invalid_value when layers that are not deleted are made from this one and use the column (`data.layers`) */
export async function requireUnused(tx: Queryable, layerId: number, physical: string): Promise<void> {
  const rows = await tx.query<{ code: string }>(
    `select distinct n.code from pg_attribute a
       join pg_depend d on d.refclassid = 'pg_class'::regclass and d.refobjid = a.attrelid and d.refobjsubid = a.attnum
         and d.classid = 'pg_rewrite'::regclass
       join pg_rewrite r on r.oid = d.objid
       join pg_class v on v.oid = r.ev_class and v.relnamespace = 'layers'::regnamespace
       join node n on v.relname in ('l' || n.id, 'l' || n.id || '_source')
       join map m on m.id = n.map_id and ${isLiveSql}
     where a.attrelid = to_regclass($1) and a.attname = $2::text::name order by 1`,
    [layerTable(layerId), physical],
  );
  if (rows.length > 0) throw dependedOn(rows.map(({ code }) => code));
}

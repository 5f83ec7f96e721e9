import { isValueType } from "../column-types/column-types.js";
import { conflict, failed, notFound } from "../errors.js";
import type { Database, Queryable } from "../storage/postgres.js";
import { addToBin, type Deleter, type KeptColumn, type LayerSettings } from "./bin.js";
import { checkColumnCode } from "./codes.js";
import { moveToTopLevel, placeColumn, renumberColumns } from "./column-order.js";
import { type ColumnRow, columnOf } from "./column-rows.js";
import { addPhysical, maxColumns } from "./columns.js";
import { removeFromConstraints } from "./constraints.js";
import { requireUnused } from "./derived.js";
import { layerTable } from "./layer-table.js";
import { pruneStoredSettings } from "./prune-settings.js";
import { findEntry, type Restored } from "./restore.js";
import { restoreSearch } from "./restore-search.js";
import type { Column } from "./state.js";
import { changeStructure, type StructureTarget } from "./structure-transaction.js";
import { binLayer, isLiveSql } from "./tree.js";

/**
 * Columns in the bin. Their values stay where they are in the layer's table, which is neither locked nor written, until the column
 * leaves the bin for good.
 */

/** Moves a column out of its layer and its layer's settings. The caller has locked the map's row. @throws Failure invalid_value */
export async function discardColumn(
  tx: Queryable,
  { mapId, layerId }: StructureTarget,
  column: Column,
  by: Deleter,
): Promise<void> {
  const { id, code, name, parentId, sort } = column;
  if (isValueType(column.type)) await requireUnused(tx, layerId, column.physical);
  const children = await tx.query<{ id: number; sort: number }>(
    "select id, sort from layer_column where parent_id = $1 order by sort, id",
    [id],
  );
  await moveToTopLevel(tx, layerId, id);
  const constraints = await rowsOf(
    tx,
    "select to_jsonb(c) as row from column_constraint c where layer_id = $1 and $2::int = any(column_ids)",
    [layerId, id],
  );
  await removeFromConstraints(tx, layerId, id);
  const search = await rowsOf(
    tx,
    `select to_jsonb(s) as row from search_setting s where layer_id = $1
       and $2::int in (search_column_id, name_column_id, detail_column_id, weight_column_id)`,
    [layerId, id],
  );
  await tx.execute("delete from search_setting where $1::int in (search_column_id, name_column_id)", [id]);
  await tx.execute(
    `update search_setting set detail_column_id = nullif(detail_column_id, $1),
       weight_column_id = nullif(weight_column_id, $1) where $1::int in (detail_column_id, weight_column_id)`,
    [id],
  );
  const before = await settingsOf(tx, layerId);
  await tx.execute(
    `update layer_column set layer_id = ${binLayer}, code = 'c' || id, parent_id = null where id = $1`,
    [id],
  );
  await pruneStoredSettings(tx, layerId);
  const after = await settingsOf(tx, layerId);
  const settings = JSON.stringify(before) === JSON.stringify(after) ? null : { before, after };
  const kept: KeptColumn = { parentId, sort, children, constraints, search, settings };
  await addToBin(tx, { kind: "column", itemId: id, code, name, mapId, layerId, holderId: null, kept }, by);
}

/** As `restore`, of an entry that is a column. */
export async function restoreColumn(
  db: Database,
  project: number,
  entry: { readonly id: number; readonly layerId: number; readonly mapId: number },
  code?: string,
): Promise<Restored> {
  const { mapId, layerId } = entry;
  const live = await db.query(
    `select from node n join map m on m.id = n.map_id where n.id = $1 and ${isLiveSql}`,
    [layerId],
  );
  if (live.length === 0) throw notFound("layer any more that this was in: restore the layer first");
  return changeStructure(db, { mapId, layerId, mainLanguage: "" }, async (tx) => {
    const found = await findEntry(tx, project, entry.id, "for update of b");
    const kept = found.kept as KeptColumn;
    const given = checkColumnCode(code ?? found.code);
    await requireRoom(tx, layerId, given);
    const notes: string[] = [];
    const titles = await tx.query(
      "select from layer_column where id = $1 and layer_id = $2 and type = 'title'",
      [kept.parentId, layerId],
    );
    const parentId = titles.length > 0 ? kept.parentId : null;
    if (parentId !== kept.parentId) notes.push("Its title is gone, so that it is at the top level.");
    const [row] = await tx.query<ColumnRow>(
      `update layer_column set layer_id = $2, code = $3, parent_id = $4, sort = 1e9 where id = $1 returning *`,
      [found.item, layerId, given, parentId],
    );
    const column = columnOf(row!);
    if (!(await hasValues(tx, layerId, column))) {
      await addPhysical(tx, layerId, [column]);
      notes.push("All objects were replaced since, so that it is empty.");
    }
    await tx.execute(
      `update layer_column c set parent_id = $2, sort = k.sort from jsonb_to_recordset($3::jsonb) k (id int, sort float8)
       where c.id = k.id and c.layer_id = $1 and c.parent_id is null and c.id <> $2`,
      [layerId, column.id, JSON.stringify(kept.children)],
    );
    if (kept.children.length > 0) await renumberColumns(tx, layerId, null);
    await placeColumn(tx, layerId, { id: column.id, parentId }, kept.sort);
    await restoreConstraints(tx, layerId, column.id, kept);
    await restoreSearch(tx, mapId, kept.search, column.id);
    if (kept.settings && !(await restoreSettings(tx, layerId, kept.settings)))
      notes.push("The layer's visualization was changed since and stays as it is.");
    // They may name other columns that are in the bin.
    if (await pruneStoredSettings(tx, layerId))
      notes.push("The layer's visualization names another column that is deleted.");
    await tx.execute("delete from bin where id = $1", [entry.id]);
    await tx.execute("insert into layer_touch (layer_id, area) values ($1, null)", [layerId]);
    return { kind: "column", id: column.id, mapId, layerId, code: given, notes };
  });
}

const rowsOf = async (tx: Queryable, statement: string, values: readonly unknown[]) =>
  (await tx.query<{ row: Readonly<Record<string, unknown>> }>(statement, values)).map(({ row }) => row);

const settingsOf = async (tx: Queryable, layerId: number): Promise<LayerSettings> =>
  (
    await tx.query<LayerSettings>(
      "select visual_settings, visual_custom_settings, vector_settings, style_mode from node where id = $1",
      [layerId],
    )
  )[0]!;

async function requireRoom(tx: Queryable, layerId: number, code: string): Promise<void> {
  const rows = await tx.query<{ code: string }>("select code from layer_column where layer_id = $1", [
    layerId,
  ]);
  if (rows.some((row) => row.code === code))
    throw conflict(`There is a column "${code}" by now: send another \`code\`.`, { code });
  if (rows.length - 2 >= maxColumns)
    throw failed("invalid_value", `A layer has at most ${maxColumns} columns.`);
}

/** An import that replaces all objects leaves columns in the bin behind. */
async function hasValues(tx: Queryable, layerId: number, { type, physical }: Column): Promise<boolean> {
  if (!isValueType(type)) return true;
  const rows = await tx.query(
    "select from pg_attribute where attrelid = to_regclass($1) and attname = $2::text::name and not attisdropped",
    [layerTable(layerId), physical],
  );
  return rows.length > 0;
}

/** Constraints that are there get the column back; those that had no other are made again. */
async function restoreConstraints(
  tx: Queryable,
  layerId: number,
  columnId: number,
  { constraints }: KeptColumn,
): Promise<void> {
  const rows = [layerId, JSON.stringify(constraints), columnId];
  const changed = await tx.query<{ id: number }>(
    `update column_constraint c set column_ids = case when array_remove(k.column_ids, $3::int) = c.column_ids
       then k.column_ids else c.column_ids || $3::int end
     from jsonb_populate_recordset(null::column_constraint, $2) k where c.id = k.id and c.layer_id = $1 returning c.id`,
    rows,
  );
  await tx.execute(
    `insert into column_constraint overriding system value
     select k.id, k.layer_id, k.type, k.name, array[$3::int], k.definition, k.sort
     from jsonb_populate_recordset(null::column_constraint, $2) k
     where k.layer_id = $1 and k.id <> all($4::int[]) and cardinality(k.column_ids) = 1`,
    [...rows, changed.map(({ id }) => id)],
  );
}

/** False when they are not as the deletion left them. */
async function restoreSettings(
  tx: Queryable,
  layerId: number,
  { before, after }: NonNullable<KeptColumn["settings"]>,
): Promise<boolean> {
  const changed = await tx.execute(
    `update node n set visual_settings = b.visual_settings, visual_custom_settings = b.visual_custom_settings,
       vector_settings = b.vector_settings, style_mode = b.style_mode
     from jsonb_populate_record(null::node, $2) b, jsonb_populate_record(null::node, $3) a
     where n.id = $1 and (n.visual_settings, n.visual_custom_settings, n.vector_settings, n.style_mode)
       is not distinct from (a.visual_settings, a.visual_custom_settings, a.vector_settings, a.style_mode)`,
    [layerId, JSON.stringify(before), JSON.stringify(after)],
  );
  return changed > 0;
}

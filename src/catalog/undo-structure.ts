import { conflict, failed, notFound } from "../errors.js";
import type { Database, Queryable } from "../storage/postgres.js";
import { fitsStored } from "./constraints.js";
import { physicalName } from "./layer-table.js";
import { takeCode } from "./maps.js";
import { pruneStoredSettings } from "./prune-settings.js";
import type { Column, ConstraintType, LocalizedName } from "./state.js";
import { changeColumnIn } from "./structure.js";
import type { StructureEntry } from "./structure-history.js";
import { changeStructure, type StructureTarget } from "./structure-transaction.js";
import { checkParent, chooseCode, isLiveSql, lockMap, nextSort, placeNode } from "./tree.js";

/** Puts members of a map, folder, layer or column back that a change had set, all or none, if nobody has changed them since. */

type Members = Readonly<Record<string, unknown>>;

/** Those that name columns. */
const settings = ["visual_settings", "visual_custom_settings", "vector_settings"] as const;

/** Members that are set back as they are: columns of `map` and `node`. */
const plain = {
  map: [
    ...["name", "localized_name", "names", "css_style", "group_layers", "has_publication"],
    ...["json", "comment", "start_view", "base_map"],
  ],
  node: [
    ...[
      "name",
      "localized_name",
      "names",
      "selected",
      "icon",
      "json",
      "css_style",
      "render_type",
      "style_mode",
    ],
    ...["source", ...settings],
  ],
} as const;

/**
 * @param mainLanguage of the project, for values of columns
 * @throws Failure invalid_value for entries that are no changes; not_found when the map, folder, layer or column is gone; conflict with
 *   `data.now` when members have been changed since, or it is undone already; code_exists, invalid_code
 */
export async function undoStructure(
  db: Database,
  entry: StructureEntry,
  mainLanguage: string,
): Promise<void> {
  const { kind, change, mapId, nodeId, item } = entry;
  if (change !== "changed") {
    const instead = {
      created: "Delete it.",
      deleted: "Restore it from the bin.",
      restored: "Delete it.",
    }[change];
    throw failed("invalid_value", `Only changes are undone: this ${kind} was ${change}. ${instead}`);
  }
  if (kind === "column") {
    await undoColumn(db, entry, { mapId, layerId: nodeId!, mainLanguage });
    return;
  }
  return db.transaction(async (tx) => {
    const live = await tx.query(`select from map m where id = $1 and ${isLiveSql}`, [mapId]);
    if (live.length === 0) throw notFound("map any more that this was in");
    await lockMap(tx, mapId);
    await requireUnchanged(tx, entry);
    if (kind === "map") await undoMap(tx, item, entry.before);
    else await undoNode(tx, entry, entry.before);
  });
}

/** SQL of the members of what the entry is of, as they are now. */
const nowSql = {
  map: `select to_jsonb(m) || jsonb_build_object('search', (
      select coalesce(jsonb_agg(to_jsonb(s) - 'map_id' order by place), '[]') from search_setting s where map_id = m.id))
    from map m where m.id = $2 and m.id = $3`,
  folder: "select to_jsonb(n) from node n where n.id = $2 and n.map_id = $3",
  layer: `select to_jsonb(n) || jsonb_build_object('constraints', (
      select coalesce(jsonb_agg(to_jsonb(c) - array['id', 'layer_id'] order by sort), '[]') from column_constraint c
      where layer_id = n.id))
    from node n where n.id = $2 and n.map_id = $3`,
  column:
    "select to_jsonb(c) from layer_column c join node n on n.id = c.layer_id where c.id = $2 and n.map_id = $3",
} as const;

/** @throws Failure conflict, not_found */
async function requireUnchanged(
  tx: Queryable,
  { id, kind, item, mapId, before, after }: StructureEntry,
): Promise<void> {
  const [found] = await tx.query<{ changed: string[]; undone: boolean; now: Members }>(
    `select array(select a.key from jsonb_each(h.after) a where case a.key
         -- A place is that of then until this one is placed again: others come and go beside it.
         when 'sort' then placed.again else now -> a.key is distinct from a.value end order by a.key) as changed,
       not exists (select from jsonb_each(h.before) b
         where now -> b.key is distinct from b.value or b.key = 'sort' and not placed.again) as undone,
       (select jsonb_object_agg(key, now -> key) from jsonb_object_keys(h.after) key) as now
     from structure_history h, (${nowSql[kind]}) found (now),
       lateral (select exists (select from structure_history l where l.kind = h.kind and l.item_id = h.item_id
         and l.id > h.id and l.after ?| array['sort', 'parent_id']) as again) placed
     where h.id = $1`,
    [id, item, mapId],
  );
  if (!found) throw notFound(`${kind} any more that this was`);
  const { changed, undone, now } = found;
  if (undone) throw conflict("It is undone already.", { now });
  if (changed.length > 0)
    throw conflict(`Since then others have been set: ${changed.join(", ")}. Undo that first.`, {
      members: changed,
      now,
      before,
      after,
    });
}

/** Sets columns of a row of the catalogue to those of `members`. */
const setPlain = (
  tx: Queryable,
  table: keyof typeof plain,
  { id, members }: { readonly id: number; readonly members: Members },
): Promise<unknown> => {
  const names = plain[table].filter((name) => name in members);
  if (names.length === 0) return Promise.resolve();
  return tx.execute(
    `update ${table} t set ${names.map((name) => `${name} = r.${name}`).join(", ")}
     from jsonb_populate_record(null::${table}, $2::jsonb) r where t.id = $1`,
    [id, JSON.stringify(members)],
  );
};

async function undoMap(tx: Queryable, id: number, members: Members): Promise<void> {
  if (typeof members.code === "string") await takeCode(tx, id, members.code);
  await setPlain(tx, "map", { id, members });
  if ("publication" in members) {
    const publication = members.publication as readonly { readonly nodeId: number }[] | null;
    const ids = (publication ?? []).map(({ nodeId }) => nodeId);
    await requireAll(
      tx,
      "select count(*)::int as n from node where map_id = $1 and id = any($2::bigint[])",
      id,
      ids,
    );
    await tx.execute("update map set publication = $2 where id = $1", [
      id,
      publication && JSON.stringify(publication),
    ]);
  }
  if ("search" in members) await undoSearch(tx, id, members.search as SearchRow[]);
}

interface SearchRow {
  readonly layer_id: number;
  readonly search_column_id: number;
  readonly name_column_id: number;
  readonly weight_column_id: number | null;
  readonly detail_column_id: number | null;
}

async function undoSearch(tx: Queryable, mapId: number, rows: readonly SearchRow[]): Promise<void> {
  const layers = rows.map(({ layer_id }) => layer_id);
  const columns = rows
    .flatMap((row) => [row.search_column_id, row.name_column_id, row.weight_column_id, row.detail_column_id])
    .filter((id) => id !== null);
  const inMap = "select count(*)::int as n from node where map_id = $1 and id = any($2::bigint[])";
  await requireAll(tx, inMap, mapId, layers);
  const ofMap = `select count(*)::int as n from layer_column c join node n on n.id = c.layer_id
    where n.map_id = $1 and c.id = any($2::bigint[])`;
  await requireAll(tx, ofMap, mapId, columns);
  await tx.execute("delete from search_setting where map_id = $1", [mapId]);
  await tx.execute(
    `insert into search_setting select r.* from jsonb_populate_recordset(null::search_setting,
       (select coalesce(jsonb_agg(s || jsonb_build_object('map_id', $1::bigint)), '[]') from jsonb_array_elements($2::jsonb) s)) r`,
    [mapId, JSON.stringify(rows)],
  );
}

/** @throws Failure conflict when some of the layers, folders or columns are gone */
async function requireAll(tx: Queryable, sql: string, owner: number, ids: readonly number[]): Promise<void> {
  const wanted = [...new Set(ids)];
  const [row] = await tx.query<{ n: number }>(sql, [owner, wanted]);
  if (row!.n < wanted.length)
    throw conflict("It speaks of layers, folders or columns that are deleted by now: restore them first.");
}

async function undoNode(
  tx: Queryable,
  { kind, item: id, mapId }: StructureEntry,
  members: Members,
): Promise<void> {
  const [node] = await tx.query<{ parent: number | null; type: string }>(
    "select parent_id as parent, type from node where id = $1",
    [id],
  );
  if ("source" in members && node!.type !== "external")
    throw failed("invalid_value", "What a layer is made from is not set back.", { parameter: "source" });
  if (typeof members.code === "string") {
    const code = await chooseCode(
      tx,
      mapId,
      { id, kind: kind === "folder" ? "folder" : "layer" },
      members.code,
    );
    await tx.execute("update node set code = $2 where id = $1", [id, code]);
  }
  await setPlain(tx, "node", { id, members });
  if ("parent_id" in members || "sort" in members) {
    const parentId =
      "parent_id" in members
        ? await checkParent(tx, mapId, (members.parent_id as number | null) ?? 0, id)
        : node!.parent;
    if ("parent_id" in members)
      await tx.execute("update node set parent_id = $2, sort = $3 where id = $1", [
        id,
        parentId,
        await nextSort(tx, mapId, parentId),
      ]);
    if (typeof members.sort === "number") await placeNode(tx, mapId, { id, parentId }, members.sort);
  }
  if (kind === "folder") return;
  const isPruned = await pruneStoredSettings(tx, id);
  if (isPruned && settings.some((name) => name in members))
    throw conflict("Its visualization names columns that are deleted, or have another type by now.");
  if ("constraints" in members) await undoConstraints(tx, id, members.constraints as ConstraintRow[]);
}

interface ConstraintRow {
  readonly type: ConstraintType;
  readonly definition: readonly unknown[];
  readonly name: string;
  readonly column_ids: readonly number[];
}

async function undoConstraints(
  tx: Queryable,
  layerId: number,
  rows: readonly ConstraintRow[],
): Promise<void> {
  const found = await tx.query<Pick<Column, "id" | "code" | "type">>(
    "select id, code, type from layer_column where layer_id = $1 for key share",
    [layerId],
  );
  const columns = new Map(
    found.map(({ id, code, type }) => [id, { type, physical: physicalName(type, code, id) }]),
  );
  const unfit = rows.filter(
    ({ column_ids, ...constraint }) =>
      !column_ids.every((id) => {
        const column = columns.get(id);
        return column !== undefined && fitsStored(constraint, column);
      }),
  );
  if (unfit.length > 0)
    throw conflict(
      `Columns of constraints are deleted, or have another type by now: ${unfit.map(({ name }) => `"${name}"`).join(", ")}.`,
    );
  await tx.execute("delete from column_constraint where layer_id = $1", [layerId]);
  await tx.execute(
    `insert into column_constraint (layer_id, type, name, column_ids, definition, sort)
     select $1, r.type, r.name, r.column_ids, r.definition, r.sort
     from jsonb_populate_recordset(null::column_constraint, $2::jsonb) r`,
    [layerId, JSON.stringify(rows)],
  );
}

/**
 * A type that is set back converts the values as any change of the type does. All is read when nobody else changes the columns any
 * more: what others have set meanwhile stays.
 */
const undoColumn = (db: Database, entry: StructureEntry, target: StructureTarget): Promise<number> =>
  changeStructure(db, target, async (tx) => {
    await requireUnchanged(tx, entry);
    const [now] = await tx.query<{ row: ColumnMembers }>(
      "select to_jsonb(c) as row from layer_column c where id = $1 and layer_id = $2",
      [entry.item, target.layerId],
    );
    if (!now) throw notFound("column any more that this was");
    const before = entry.before as Partial<ColumnMembers>;
    const all = { ...now.row, ...before };
    const name: LocalizedName = { name: all.name, localized: all.localized_name, names: all.names };
    return changeColumnIn(tx, target, now.row.code, {
      type: all.type,
      localizedValue: all.localized_value,
      ...(before.code !== undefined && { code: before.code }),
      ...(["name", "localized_name", "names"].some((one) => one in before) && { name }),
      ...("required" in before && { required: all.required }),
      ...("parent_id" in before && { parentId: all.parent_id ?? 0 }),
      ...("format" in before && { format: all.format }),
    });
  });

interface ColumnMembers {
  readonly code: string;
  readonly type: Column["type"];
  readonly name: string;
  readonly localized_name: boolean;
  readonly names: LocalizedName["names"];
  readonly localized_value: boolean;
  readonly required: boolean;
  readonly parent_id: number | null;
  readonly format: Readonly<Record<string, unknown>> | null;
}

import { notFound } from "../errors.js";
import type { GeometryKind } from "../geo/wkb.js";
import type { Database, Queryable } from "../storage/postgres.js";
import { defaultStyle, hueCount, nextHue } from "../style/default-style.js";
import { readDefault } from "../style/read-default.js";
import type { Deleter } from "./bin.js";
import { addColumns, type NewColumn } from "./columns.js";
import { discardNodes } from "./discard.js";
import type { LayerNode, LocalizedName } from "./state.js";
import {
  checkParent,
  chooseCode,
  deletedProject,
  lockMap,
  nextContainerId,
  nextSort,
  placeNode,
  requireRoom,
} from "./tree.js";

/** Vector layers: their node in the map's tree, their catalogue rows and the table of their objects. */

export interface NewLayer {
  /** Default: generated. */
  readonly code?: string | undefined;
  readonly name?: LocalizedName | undefined;
  /** Id of the map or 0 (= directly in the map), or of a folder of the map; default 0. */
  readonly parentId?: number | undefined;
  /** Default: last in the parent. */
  readonly sort?: number | undefined;
  /** CartoCSS, already checked; default: the default style of the geometry kind. */
  readonly cssStyle?: string | undefined;
  readonly geometryKind?: GeometryKind | undefined;
  readonly selected?: boolean | undefined;
  /** Settings of clients; default: none. */
  readonly json?: Readonly<Record<string, unknown>> | undefined;
  readonly ownerId?: number | null | undefined;
  /** Columns beside svc_id and geom. */
  readonly columns?: readonly NewColumn[] | undefined;
}

/** Absent = unchanged. */
export interface LayerChange {
  readonly code?: string | undefined;
  readonly name?: LocalizedName | undefined;
  /** As in `NewLayer`. With a new parent and no `sort`, the layer becomes the parent's last. */
  readonly parentId?: number | undefined;
  readonly sort?: number | undefined;
  /** CartoCSS, already checked. */
  readonly cssStyle?: string | undefined;
  readonly json?: Readonly<Record<string, unknown>> | undefined;
}

/**
 * Creates a vector layer with an empty table.
 * @returns its id and code
 * @throws Failure not_found (map, parent), invalid_code, code_exists
 */
export function createLayer(
  db: Database,
  mapId: number,
  layer: NewLayer,
): Promise<{ readonly id: number; readonly code: string }> {
  return db.transaction((tx) => createVectorLayer(tx, mapId, layer));
}

async function createVectorLayer(
  tx: Queryable,
  mapId: number,
  layer: NewLayer,
): Promise<{ readonly id: number; readonly code: string }> {
  const { id, code } = await insertLayer(tx, mapId, { ...layer, type: "layer" });
  await tx.execute(
    `insert into layer_column (layer_id, code, type, sort) values ($1, 'svc_id', 'number', 1), ($1, 'geom', 'geom', 2)`,
    [id],
  );
  await tx.execute("select create_layer_table($1)", [id]);
  await addColumns(tx, id, layer.columns ?? []);
  return { id, code };
}

/**
 * Creates a layer that is hidden, as a deleted one is, until `showLayer`: `removal.ts` deletes it unless a lock of
 * `creationLock` is held. Large layers are filled in that state.
 * @param lock takes that lock
 * @returns its id
 * @throws Failure as `createLayer`
 */
export function createHiddenLayer(
  db: Database,
  mapId: number,
  layer: NewLayer,
  lock: (id: number) => Promise<unknown>,
): Promise<number> {
  return db.transaction(async (tx) => {
    const { id } = await createVectorLayer(tx, mapId, layer);
    await lock(id);
    await discardNodes(tx, mapId, { root: id, nodes: [id] });
    return id;
  });
}

/**
 * Moves a layer of `createHiddenLayer` to the root of its map: over the layers whose objects would cover its own, else as
 * the last one.
 * @throws Failure not_found when the map was deleted; code_exists when another layer has got the code; invalid_value when
 *   the map has too many folders and layers
 */
export async function showLayer(
  tx: Queryable,
  mapId: number,
  { id, code, name }: { readonly id: number; readonly code: string; readonly name: string },
): Promise<void> {
  await lockMap(tx, mapId);
  await requireRoom(tx, mapId);
  const [layer] = await tx.query<{ css: string; kind: GeometryKind }>(
    "select n.css_style as css, l.geometry_kind as kind from node n join layer l on l.id = n.id where n.id = $1",
    [id],
  );
  if (!layer) throw notFound("layer of that code");
  // Another layer may have got this layer's colour while this one was hidden.
  const look = readDefault(layer.css, layer.kind);
  await tx.execute(
    "update node set map_id = $2, parent_id = null, code = $3, sort = $4, css_style = $5, name = $6 where id = $1",
    [
      id,
      mapId,
      await chooseCode(tx, mapId, { id, kind: "layer" }, code),
      await nextSort(tx, mapId, null),
      look ? defaultStyle(layer.kind, { ...look, hue: await freeHue(tx, mapId) }) : layer.css,
      name,
    ],
  );
  const [covering] = await tx.query<{ sort: number | null }>(
    `select min(n.sort) as sort from node n join layer l on l.id = n.id
     where n.map_id = $1 and n.parent_id is null and n.id <> $2
       and ${coverSql} > (select ${coverSql} from node n join layer l on l.id = n.id where n.id = $2)`,
    [mapId, id],
  );
  if (covering?.sort != null) await placeNode(tx, mapId, { id, parentId: null }, covering.sort - 0.5);
}

/** How much a layer `n`, `l` covers of others: images more than areas, these more than lines, these more than points. */
const coverSql = `(case when n.type in ('raster', 'external') then 3
  when l.geometry_kind = 'Point' then 0 when l.geometry_kind = 'Polygon' then 2 else 1 end)`;

/** The default colour for one more layer of the map, which is locked. */
async function freeHue(tx: Queryable, mapId: number): Promise<number> {
  const newest = await tx.query<{ css: string }>(
    "select left(css_style, 2000) as css from node where map_id = $1 and type <> 'folder' order by id desc limit $2",
    [mapId, hueCount],
  );
  return nextHue(newest.map(({ css }) => css));
}

/** Rows of a layer of any type in `node` and `layer`. */
export type NewLayerRow = Omit<NewLayer, "columns"> & { readonly type: LayerNode["type"] };

/** `style_mode` of a layer without a visualization: 2 = CartoCSS, 0 = none. */
const plainStyleMode = (cssStyle: string): number => (cssStyle === "" ? 0 : 2);

/** A layer that is filled in a map that nobody sees. */
export interface HiddenLayer {
  readonly id: number;
  readonly holder: number;
}

/**
 * Makes a layer that `insertLayer` moves into its map in the same transaction: with the map's row locked, others would wait until it is
 * filled. The caller adds columns and objects.
 * @param layer as it will be inserted
 * @throws Failure as `insertLayer`, by the map as it is now
 */
export async function hideLayer(tx: Queryable, mapId: number, layer: NewLayerRow): Promise<HiddenLayer> {
  await requireRoom(tx, mapId);
  await checkParent(tx, mapId, layer.parentId ?? 0);
  const [place] = await tx.query<{ id: number }>(
    `insert into map (id, project_id, code) select id, ${deletedProject}, id::text from nextval('container_id') id returning id`,
  );
  const holder = place!.id;
  const id = await nextContainerId(tx);
  await chooseCode(tx, mapId, { id, kind: "layer" }, layer.code);
  await tx.execute("insert into node (id, map_id, type, code) values ($1, $2, $3, $1::bigint::text)", [
    id,
    holder,
    layer.type,
  ]);
  await tx.execute("insert into layer (id, geometry_kind) values ($1, $2)", [
    id,
    layer.geometryKind ?? "Unknown",
  ]);
  return { id, holder };
}

/**
 * Inserts a layer into the map's tree. The caller adds columns and objects in the same transaction.
 * @param hidden has them already
 * @throws Failure not_found (map, parent), invalid_code, code_exists; invalid_value when the map has too many folders and
 *   layers
 */
export async function insertLayer(
  tx: Queryable,
  mapId: number,
  layer: NewLayerRow,
  hidden?: HiddenLayer,
): Promise<{ readonly id: number; readonly code: string }> {
  await lockMap(tx, mapId);
  await requireRoom(tx, mapId);
  const parentId = await checkParent(tx, mapId, layer.parentId ?? 0);
  const id = hidden?.id ?? (await nextContainerId(tx));
  const code = await chooseCode(tx, mapId, { id, kind: "layer" }, layer.code);
  const name = layer.name ?? { name: "", localized: false, names: {} };
  const kind = layer.geometryKind ?? "Unknown";
  const cssStyle = layer.cssStyle ?? defaultStyle(kind, { hue: await freeHue(tx, mapId) });
  const values = {
    map_id: mapId,
    parent_id: parentId,
    type: layer.type,
    code,
    name: name.name,
    localized_name: name.localized,
    names: JSON.stringify(name.names),
    sort: await nextSort(tx, mapId, parentId),
    selected: layer.selected ?? true,
    css_style: cssStyle,
    style_mode: plainStyleMode(cssStyle),
    owner_id: layer.ownerId ?? null,
    json: JSON.stringify(layer.json ?? {}),
  };
  const columns = Object.keys(values);
  const list = columns.join(", ");
  const places = columns.map((_, index) => `$${index + 2}`).join(", ");
  await tx.execute(
    hidden
      ? `update node set (${list}) = (${places}) where id = $1`
      : `insert into node (id, ${list}) values ($1, ${places})`,
    [id, ...Object.values(values)],
  );
  if (hidden) {
    await tx.execute("update layer set geometry_kind = $2 where id = $1 and geometry_kind <> $2", [id, kind]);
    await tx.execute("delete from map where id = $1", [hidden.holder]);
  } else await tx.execute("insert into layer (id, geometry_kind) values ($1, $2)", [id, kind]);
  if (layer.sort !== undefined) await placeNode(tx, mapId, { id, parentId }, layer.sort);
  return { id, code };
}

/**
 * Changes a layer's code, name, position, style or settings.
 * @throws Failure not_found (layer, parent), invalid_code, code_exists
 */
export function changeLayer(
  db: Database,
  mapId: number,
  layerId: number,
  change: LayerChange,
): Promise<void> {
  return db.transaction(async (tx) => {
    await lockMap(tx, mapId);
    const node = await findNode(tx, mapId, layerId);
    const parentId =
      change.parentId === undefined ? node.parent_id : await checkParent(tx, mapId, change.parentId, layerId);
    const moved = parentId !== node.parent_id;
    await tx.execute(
      `update node set code = $2, parent_id = $3, sort = $4, name = coalesce($5, name),
         localized_name = coalesce($6, localized_name), names = coalesce($7, names),
         css_style = coalesce($8, css_style),
         style_mode = case when style_mode in (0, 2) then coalesce($9, style_mode) else style_mode end,
         json = coalesce($10, json)
       where id = $1`,
      [
        layerId,
        change.code === undefined || change.code === node.code
          ? node.code
          : await chooseCode(tx, mapId, { id: layerId, kind: "layer" }, change.code),
        parentId,
        moved ? await nextSort(tx, mapId, parentId) : node.sort,
        change.name?.name ?? null,
        change.name?.localized ?? null,
        change.name ? JSON.stringify(change.name.names) : null,
        change.cssStyle ?? null,
        change.cssStyle === undefined ? null : plainStyleMode(change.cssStyle),
        change.json ? JSON.stringify(change.json) : null,
      ],
    );
    if (change.sort !== undefined) await placeNode(tx, mapId, { id: layerId, parentId }, change.sort);
  });
}

/**
 * Deletes a layer with its objects: it is hidden at once, and `removal.ts` deletes it later.
 * @param by keeps it in the bin
 * @throws Failure not_found; invalid_value when other layers are derived from it
 */
export function deleteLayer(db: Database, mapId: number, layerId: number, by?: Deleter): Promise<void> {
  return db.transaction(async (tx) => {
    await lockMap(tx, mapId);
    await findNode(tx, mapId, layerId);
    await discardNodes(tx, mapId, { root: layerId, nodes: [layerId] }, by);
  });
}

/** Time of the last change of the layer's objects, in Unix seconds. @throws Failure not_found */
export async function layerTimestamp(db: Queryable, layerId: number): Promise<number> {
  const [row] = await db.query<{ seconds: number }>(
    "select floor(extract(epoch from changed_at))::bigint as seconds from layer where id = $1",
    [layerId],
  );
  if (!row) throw notFound("layer of that code");
  return row.seconds;
}

interface NodeRow {
  code: string;
  parent_id: number | null;
  sort: number;
}

async function findNode(tx: Queryable, mapId: number, id: number): Promise<NodeRow> {
  const [row] = await tx.query<NodeRow>(
    "select code, parent_id, sort from node where id = $1 and map_id = $2 and type <> 'folder'",
    [id, mapId],
  );
  if (!row) throw notFound("layer of that code");
  return row;
}

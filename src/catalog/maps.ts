import { Failure, failed, forbidden } from "../errors.js";
import { didYouMean } from "../near-name.js";
import type { Database, Queryable } from "../storage/postgres.js";
import type { Deleter } from "./bin.js";
import { checkCode } from "./codes.js";
import { discardMaps } from "./discard.js";
import type { LocalizedName, MapBase, MapState, StartView } from "./state.js";
import { lockMap } from "./tree.js";

/** Creates, changes, lists, publishes and deletes maps. */

export interface NewMap {
  readonly code: string;
  readonly name?: LocalizedName;
  /** CartoCSS that applies before the layers' own styles, already checked; "" = none. */
  readonly cssStyle?: string;
  /** 1 = it is published as one layer; default: 0. */
  readonly groupLayers?: MapState["groupLayers"];
  readonly ownerId?: number | null;
  readonly json?: Readonly<Record<string, unknown>>;
  /** Whether the public may read it; default: true. */
  readonly published?: boolean;
  /** Default: none. */
  readonly startView?: StartView | null;
  /** Default: that of the project. */
  readonly base?: MapBase | null;
  /** Plain text about it; default: none. */
  readonly comment?: string;
}

/** Path segments of the API that follow a project's code, so that no map can have these codes. */
const reserved = new Set([
  "login",
  "logout",
  "ext-login",
  "ext-auth",
  "authorized",
  "users",
  "maps",
  "image",
  "pictures",
  "fonts",
  "keys",
  "members",
  "bin",
  "history",
]);

/** SQL of maps from before their code was reserved: what is read at their address is something else now. */
export const reservedMapsSql = `select m.id::int, p.code as project, m.code from mapwright.map m join mapwright.project p on p.id = m.project_id
  where not p.hidden and m.code in (${[...reserved].map((code) => `'${code}'`).join(", ")}) order by 2, 3`;

/** @throws Failure invalid_code */
export function checkMapCode(given: string): string {
  const code = checkCode(given);
  if (reserved.has(code))
    throw failed("invalid_code", `"${code}" is reserved: it is part of the API's addresses.`);
  return code;
}

const codeExists = (code: string) => failed("code_exists", `There is a map "${code}" already.`);

/**
 * Creates a map, as the last one of the project.
 * @returns its id
 * @throws Failure invalid_code, code_exists
 */
export async function createMap(db: Queryable, project: number, map: NewMap): Promise<number> {
  const code = checkMapCode(map.code);
  const name = map.name ?? { name: "", localized: false, names: {} };
  const [row] = await db.write<{ id: number }>(
    `insert into map (project_id, code, name, localized_name, names, css_style, owner_id, json, has_publication,
       group_layers, start_view, comment, base_map, sort)
     select $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, coalesce(max(sort), 0) + 1 from map where project_id = $1
     on conflict (project_id, code) do nothing returning id`,
    [
      project,
      code,
      name.name,
      name.localized,
      JSON.stringify(name.names),
      map.cssStyle ?? "",
      map.ownerId ?? null,
      JSON.stringify(map.json ?? {}),
      map.published ?? true,
      map.groupLayers ?? 0,
      map.startView ?? null,
      map.comment ?? "",
      map.base ?? null,
    ],
  );
  if (!row) throw codeExists(code);
  return row.id;
}

/** Absent = unchanged. */
export interface MapChange {
  readonly code?: string | undefined;
  readonly name?: LocalizedName | undefined;
  /** As in `NewMap`. */
  readonly cssStyle?: string | undefined;
  /** As in `NewMap`. */
  readonly groupLayers?: MapState["groupLayers"] | undefined;
  /** As in `NewMap`. */
  readonly published?: boolean | undefined;
  /** null = none. */
  readonly startView?: StartView | null | undefined;
  /** null = that of the project. */
  readonly base?: MapBase | null | undefined;
  /** As in `NewMap`. */
  readonly comment?: string | undefined;
}

/**
 * Changes a map's code, name, style, grouping, publication, start view, base map or comment. Its addresses have the new code from then on, and the old one is free.
 * @throws Failure not_found, invalid_code, code_exists
 */
export function changeMap(
  db: Database,
  mapId: number,
  { code, name, cssStyle, groupLayers, published, startView, base, comment }: MapChange,
): Promise<void> {
  return db.transaction(async (tx) => {
    await lockMap(tx, mapId);
    if (code !== undefined) await takeCode(tx, mapId, code);
    await tx.execute(
      `update map set name = coalesce($2, name), localized_name = coalesce($3, localized_name),
         names = coalesce($4, names), css_style = coalesce($5, css_style),
         group_layers = coalesce($6, group_layers), has_publication = coalesce($7, has_publication),
         start_view = case when $8 then $9 else start_view end, comment = coalesce($10, comment),
         base_map = case when $11 then $12 else base_map end where id = $1`,
      [
        mapId,
        name?.name ?? null,
        name?.localized ?? null,
        name ? JSON.stringify(name.names) : null,
        cssStyle ?? null,
        groupLayers ?? null,
        published ?? null,
        startView !== undefined,
        startView ?? null,
        comment ?? null,
        base !== undefined,
        base ?? null,
      ],
    );
  });
}

/** Gives a map the code, unless it has it. @throws Failure invalid_code, code_exists */
export async function takeCode(tx: Queryable, mapId: number, code: string): Promise<void> {
  const [own] = await tx.query("select 1 from map where id = $1 and code = $2", [mapId, code]);
  if (own) return;
  try {
    await tx.execute("update map set code = $2 where id = $1", [mapId, checkMapCode(code)]);
  } catch (error) {
    // unique_violation
    if ((error as { code?: string }).code === "23505") throw codeExists(code);
    throw error;
  }
}

/** The id of the project's map. @throws Failure not_found */
export async function findMapId(db: Queryable, project: number, code: string): Promise<number> {
  const [row] = await db.query<{ id: number }>("select id from map where project_id = $1 and code = $2", [
    project,
    code,
  ]);
  if (!row) throw await noMap(db, project, code);
  return row.id;
}

/** Tells the map that may be meant: for commands, whose user may know all of them. */
export async function noMap(db: Queryable, project: number, code: string): Promise<Failure> {
  const maps = await listMaps(db, project);
  const end = didYouMean(
    code,
    maps.map((map) => map.code),
  );
  return new Failure("not_found", undefined, `There is no map "${code}"${end}`);
}

export interface MapListItem {
  readonly id: number;
  readonly code: string;
  readonly name: string;
  readonly has_publication: boolean;
  readonly group_layers: MapState["groupLayers"];
}

/** A project's maps, ordered by `sort`. */
export function listMaps(db: Queryable, project: number): Promise<MapListItem[]> {
  return db.query<MapListItem>(
    "select id, code, name, has_publication, group_layers from map where project_id = $1 order by sort, id",
    [project],
  );
}

/**
 * Publishes or unpublishes the map.
 * @returns the map's id
 * @throws Failure not_found
 */
export async function setPublication(
  db: Queryable,
  project: number,
  code: string,
  published: boolean,
): Promise<number> {
  const [row] = await db.write<{ id: number }>(
    "update map set has_publication = $3 where project_id = $1 and code = $2 returning id",
    [project, code, published],
  );
  if (!row) throw await noMap(db, project, code);
  return row.id;
}

/**
 * Deletes the map with its layers and their objects: it is hidden at once, its code is free, and `removal.ts` deletes its
 * contents later.
 * @param deletion `mayDelete` is called for every layer; `by` keeps the map in the bin
 * @throws Failure not_found; forbidden when one of its layers must not be deleted
 */
export function deleteMap(
  db: Database,
  mapId: number,
  {
    mayDelete = () => true,
    by,
  }: { readonly mayDelete?: (layerId: number) => boolean; readonly by?: Deleter | undefined } = {},
): Promise<void> {
  return db.transaction(async (tx) => {
    await lockMap(tx, mapId);
    const layers = await tx.query<{ id: number }>(
      "select id from node where map_id = $1 and type <> 'folder'",
      [mapId],
    );
    if (!layers.every(({ id }) => mayDelete(id)))
      throw forbidden("The map holds layers that your rights do not let you delete.");
    await discardMaps(tx, [mapId], by);
  });
}

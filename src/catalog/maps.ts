import { failed, notFound } from "../errors.js";
import type { Database, Queryable } from "../storage/postgres.js";
import { checkCode } from "./codes.js";
import { discardMaps } from "./discard.js";
import type { LocalizedName } from "./state.js";

/** Creates, lists, publishes and deletes maps. */

export interface NewMap {
  readonly code: string;
  readonly name?: LocalizedName;
  /** CartoCSS that applies before the layers' own styles, already checked; "" = none. */
  readonly cssStyle?: string;
  readonly ownerId?: number | null;
  readonly json?: Readonly<Record<string, unknown>>;
  /** Whether the public may read it; default: true. */
  readonly published?: boolean;
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
]);

/**
 * Creates a map, as the last one of the project.
 * @returns its id
 * @throws Failure invalid_code, code_exists
 */
export async function createMap(db: Queryable, project: number, map: NewMap): Promise<number> {
  const code = checkCode(map.code);
  if (reserved.has(code))
    throw failed("invalid_code", `"${code}" is reserved: it is part of the API's addresses.`);
  const name = map.name ?? { name: "", localized: false, names: {} };
  const [row] = await db.write<{ id: number }>(
    `insert into map (project_id, code, name, localized_name, names, css_style, owner_id, json, has_publication, sort)
     select $1, $2, $3, $4, $5, $6, $7, $8, $9, coalesce(max(sort), 0) + 1 from map where project_id = $1
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
    ],
  );
  if (!row) throw failed("code_exists", `There is a map "${code}" already.`);
  return row.id;
}

export interface MapListItem {
  readonly id: number;
  readonly code: string;
  readonly name: string;
  readonly has_publication: boolean;
}

/** A project's maps, ordered by `sort`. */
export function listMaps(db: Queryable, project: number): Promise<MapListItem[]> {
  return db.query<MapListItem>(
    "select id, code, name, has_publication from map where project_id = $1 order by sort, id",
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
  if (!row) throw notFound(`map "${code}"`);
  return row.id;
}

/**
 * Deletes the map with its layers and their objects: it is hidden at once, its code is free, and `removal.ts` deletes its
 * contents later.
 * @throws Failure not_found
 */
export function deleteMap(db: Database, project: number, code: string): Promise<void> {
  return db.transaction(async (tx) => {
    const [map] = await tx.query<{ id: number }>(
      "select id from map where project_id = $1 and code = $2 for update",
      [project, code],
    );
    if (!map) throw notFound(`map "${code}"`);
    await discardMaps(tx, [map.id]);
  });
}

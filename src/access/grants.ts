import { projectId } from "../catalog/projects.js";
import { Right, type Rights } from "../catalog/state.js";
import { failed, notFound } from "../errors.js";
import type { Database, Queryable } from "../storage/postgres.js";
import { findMember, noUser } from "./accounts.js";
import { wholeRights } from "./rights.js";

/** Grants: rights of users and the public beyond roles. `rights.ts` evaluates them. */

export interface GrantTarget {
  readonly project: string;
  readonly map?: string | undefined;
  /** Requires `map`. */
  readonly layer?: string | undefined;
  /** null = the public. */
  readonly login: string | null;
}

const names: Readonly<Record<string, Rights>> = {
  read: Right.read,
  edit: Right.editObjects,
  structure: Right.editStructure,
  admin: Right.administer,
};

/**
 * Parses rights as on the command line: `read,edit`, or `none`. Each right includes `read`; `admin` includes all.
 * @throws Failure invalid_value
 */
export function parseRights(text: string): Rights {
  if (text === "none") return 0;
  let rights = 0;
  for (const name of text.split(",")) {
    const bits = Object.hasOwn(names, name) ? names[name] : undefined;
    if (!bits) throw failed("invalid_value", `"${name}" is no right: read, edit, structure, admin, or none.`);
    rights |= bits;
  }
  return wholeRights(rights);
}

/**
 * Sets the grant on the project, a map or a layer to these rights (0 = none). undefined deletes it, so that less specific
 * grants and the role apply again.
 * @throws Failure project_not_found, not_found
 */
export async function setGrant(db: Database, target: GrantTarget, rights: Rights | undefined): Promise<void> {
  await db.transaction(async (tx) => {
    const ids = await resolve(tx, target);
    const grant = { mapId: ids.map, layerId: ids.layer, rights: rights ?? null };
    await writeGrants(tx, { projectId: ids.project, accountId: ids.account }, [grant]);
  });
}

export interface GivenGrant {
  /** null = the whole project. */
  readonly mapId: number | null;
  /** null = the whole map. */
  readonly layerId: number | null;
  /** null = what the role and less specific grants say. */
  readonly rights: Rights | null;
}

/**
 * Gives and takes rights of one account, or of the public (null). Others stay.
 * @param grants each place once. Of some the map or layer may be gone by now: they are not made
 */
export async function writeGrants(
  tx: Queryable,
  { projectId, accountId }: { readonly projectId: number; readonly accountId: number | null },
  grants: readonly GivenGrant[],
): Promise<void> {
  const values = [projectId, accountId, JSON.stringify(grants)];
  await tx.execute(
    `with given as (
       select (g->>'mapId')::bigint as map_id, (g->>'layerId')::bigint as layer_id
       from jsonb_array_elements($3::jsonb) g where g->>'rights' is null)
     delete from access_grant a using given g
     where a.project_id = $1 and a.account_id is not distinct from $2
       and a.map_id is not distinct from g.map_id and a.layer_id is not distinct from g.layer_id`,
    values,
  );
  await tx.execute(
    `with given as (
       select (g->>'mapId')::bigint as map_id, (g->>'layerId')::bigint as layer_id, (g->>'rights')::smallint as rights
       from jsonb_array_elements($3::jsonb) g where g->>'rights' is not null)
     insert into access_grant (project_id, map_id, layer_id, account_id, rights)
     select $1, map_id, layer_id, $2, rights from given
     where (map_id is null or exists (select from map m where m.id = map_id and m.project_id = $1))
       and (layer_id is null or exists (select from node n where n.id = layer_id and n.map_id = given.map_id))
     on conflict (project_id, map_id, layer_id, account_id) do update set rights = excluded.rights`,
    values,
  );
}

interface TargetIds {
  readonly project: number;
  readonly map: number | null;
  readonly layer: number | null;
  readonly account: number | null;
}

async function resolve(tx: Queryable, target: GrantTarget): Promise<TargetIds> {
  const project = await projectId(tx, target.project);
  let map: number | null = null;
  let layer: number | null = null;
  let account: number | null = null;
  if (target.map !== undefined) {
    map = await idOf(tx, `map "${target.map}"`, "select id from map where project_id = $1 and code = $2", [
      project,
      target.map,
    ]);
    if (target.layer !== undefined) {
      const layers = "select id from node where map_id = $1 and code = $2 and type <> 'folder'";
      layer = await idOf(tx, `layer "${target.layer}"`, layers, [map, target.layer]);
    }
  }
  if (target.login !== null) {
    const member = await findMember(tx, project, target.login);
    if (!member) throw await noUser(tx, target.login, project);
    account = member.id;
  }
  return { project, map, layer, account };
}

async function idOf(tx: Queryable, what: string, text: string, values: readonly unknown[]): Promise<number> {
  const [row] = await tx.query<{ id: number }>(text, values);
  if (!row) throw notFound(what);
  return row.id;
}

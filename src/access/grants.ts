import { projectId } from "../catalog/projects.js";
import { Right, type Rights } from "../catalog/state.js";
import { failed, notFound } from "../errors.js";
import type { Database, Queryable } from "../storage/postgres.js";
import { findMember, noUser } from "./accounts.js";

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
  edit: Right.read | Right.editObjects,
  structure: Right.read | Right.editStructure,
  admin: Right.read | Right.editObjects | Right.editStructure | Right.administer,
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
  return rights;
}

/**
 * Sets the grant on the project, a map or a layer to these rights (0 = none). undefined deletes it, so that less specific
 * grants and the role apply again.
 * @throws Failure project_not_found, not_found
 */
export async function setGrant(db: Database, target: GrantTarget, rights: Rights | undefined): Promise<void> {
  await db.transaction(async (tx) => {
    const ids = await resolve(tx, target);
    const values = [ids.project, ids.map, ids.layer, ids.account];
    if (rights === undefined) {
      await tx.execute(
        `delete from access_grant where project_id = $1 and map_id is not distinct from $2
         and layer_id is not distinct from $3 and account_id is not distinct from $4`,
        values,
      );
      return;
    }
    await tx.execute(
      `insert into access_grant (project_id, map_id, layer_id, account_id, rights) values ($1, $2, $3, $4, $5)
       on conflict (project_id, map_id, layer_id, account_id) do update set rights = excluded.rights`,
      [...values, rights],
    );
  });
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

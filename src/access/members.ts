import { Right, type Rights, type Role } from "../catalog/state.js";
import { failed, forbidden, notFound } from "../errors.js";
import type { Database, Queryable } from "../storage/postgres.js";
import { addMember, checkLogin, type NewMember, removeFromProject } from "./accounts.js";
import { requireGoodPassword } from "./passwords.js";

/**
 * The users of a project and their rights, as its administrators change them. Each change locks the project's row and looks
 * then whether its author is an administrator still, so that of two who take the role from each other one stays.
 */

/** Of one project: each request looks through its grants. */
const most = { members: 2_000, grants: 5_000 } as const;

export interface GivenGrant {
  /** null = the whole project. */
  readonly mapId: number | null;
  /** null = the whole map. */
  readonly layerId: number | null;
  /** null = what the role and less specific grants say. */
  readonly rights: Rights | null;
}
export interface MemberChange {
  /** undefined = as it is. */
  readonly role?: Role | undefined;
  /** Others stay. Each place is there once. */
  readonly grants: readonly GivenGrant[];
}
/** Which user of which project, and the account of who changes it. */
export interface MemberChanged {
  readonly projectId: number;
  /** null = the public, which has grants only. */
  readonly accountId: number | null;
  readonly by: number;
}

/** The rights with those that they include: all include `read`, and `administer` all of them. */
export const wholeRights = (rights: Rights): Rights =>
  rights === 0
    ? 0
    : (rights & Right.administer) !== 0
      ? Right.read | Right.editObjects | Right.editStructure | Right.administer
      : rights | Right.read;

/** @throws Failure invalid_value for a login or password that may not be */
export function checkNewMember({ login, password }: { readonly login: string; readonly password: string }) {
  requireGoodPassword(checkLogin(login), password);
}

/**
 * Adds a user with an account of its own. What other projects have of that login plays no part, and nobody learns of it.
 * @throws Failure forbidden when the author is no administrator any more; invalid_value when the project has that login, or too
 *   many users
 */
export const makeMember = (
  db: Database,
  { by, ...member }: NewMember & { readonly by: number; readonly passwordHash: string },
): Promise<{ readonly id: number }> =>
  addMember(db, member, async (tx, known) => {
    await requireAdministrator(tx, member.projectId, by);
    if (known)
      throw failed("invalid_value", `The project has a user "${member.login}" already.`, {
        parameter: "login",
      });
    const [row] = await tx.query<{ count: number }>(
      "select count(*)::int as count from membership where project_id = $1",
      [member.projectId],
    );
    if (row!.count >= most.members)
      throw failed("invalid_value", `A project has at most ${most.members} users.`);
  });

/**
 * Changes a user's role and grants, all or nothing.
 * @throws Failure forbidden when the author is no administrator any more; not_found; invalid_value for the last administrator,
 *   and for too many grants
 */
export async function changeMember(
  db: Database,
  which: MemberChanged,
  { role, grants }: MemberChange,
): Promise<void> {
  const { projectId, accountId, by } = which;
  await db.transaction(async (tx) => {
    await lockProject(tx, projectId);
    await requireAdministrator(tx, projectId, by);
    if (accountId !== null) {
      const before = await roleOf(tx, projectId, accountId);
      if (before === undefined) throw noMember();
      if (role !== undefined && role !== before) {
        if (before === "admin") await requireOther(tx, projectId, accountId);
        await tx.execute("update membership set role = $3 where project_id = $1 and account_id = $2", [
          projectId,
          accountId,
          role,
        ]);
      }
    }
    if (grants.length > 0) await setGrants(tx, which, grants);
  });
}

/**
 * Removes a user from a project, with its grants there; the account goes with its last project.
 * @throws Failure as `changeMember`
 */
export const deleteMember = (
  db: Database,
  { projectId, accountId, by }: MemberChanged & { readonly accountId: number },
): Promise<void> =>
  db.transaction(async (tx) => {
    await lockProject(tx, projectId);
    await requireAdministrator(tx, projectId, by);
    const role = await roleOf(tx, projectId, accountId);
    if (role === undefined) throw noMember();
    if (role === "admin") await requireOther(tx, projectId, accountId);
    await removeFromProject(tx, projectId, accountId);
  });

export const noMember = () => notFound("user of that id in this project");

const lockProject = (tx: Queryable, id: number): Promise<unknown> =>
  tx.query("select from project where id = $1 for update", [id]);

async function roleOf(tx: Queryable, project: number, account: number): Promise<Role | undefined> {
  const [row] = await tx.query<{ role: Role }>(
    "select role from membership where project_id = $1 and account_id = $2",
    [project, account],
  );
  return row?.role;
}

async function requireAdministrator(tx: Queryable, project: number, account: number): Promise<void> {
  if ((await roleOf(tx, project, account)) !== "admin") throw forbidden();
}

async function requireOther(tx: Queryable, project: number, account: number): Promise<void> {
  const others = await tx.query(
    "select from membership where project_id = $1 and account_id <> $2 and role = 'admin' limit 1",
    [project, account],
  );
  if (others.length === 0)
    throw failed(
      "invalid_value",
      "This is the only administrator of the project: make somebody else one first.",
      { parameter: "role" },
    );
}

/** With their maps and layers, of which some may be gone by now: their grants are not made. */
async function setGrants(
  tx: Queryable,
  { projectId, accountId }: MemberChanged,
  grants: readonly GivenGrant[],
): Promise<void> {
  await tx.execute(
    `with given as (
       select (g->>'mapId')::bigint as map_id, (g->>'layerId')::bigint as layer_id
       from jsonb_array_elements($3::jsonb) g where g->>'rights' is null)
     delete from access_grant a using given g
     where a.project_id = $1 and a.account_id is not distinct from $2
       and a.map_id is not distinct from g.map_id and a.layer_id is not distinct from g.layer_id`,
    [projectId, accountId, JSON.stringify(grants)],
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
    [projectId, accountId, JSON.stringify(grants)],
  );
  const [row] = await tx.query<{ count: number }>(
    "select count(*)::int as count from access_grant where project_id = $1",
    [projectId],
  );
  if (row!.count > most.grants)
    throw failed("invalid_value", `A project has at most ${most.grants} rights of this kind.`);
}

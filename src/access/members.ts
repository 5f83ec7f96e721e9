import type { Role } from "../catalog/state.js";
import { failed, forbidden, notFound } from "../errors.js";
import type { Database, Queryable } from "../storage/postgres.js";
import { addMember, checkLogin, type NewMember, removeFromProject, setRole } from "./accounts.js";
import { type GivenGrant, writeGrants } from "./grants.js";
import { requireGoodPassword } from "./passwords.js";

/**
 * The users of a project and their rights, as its administrators change them. Each change locks the project's row and looks
 * then whether its author is an administrator still, so that of two who take the role from each other one stays.
 */

/** Of one project. */
const most = { members: 2_000, grants: 5_000 } as const;

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

/** @throws Failure invalid_value for a login or password that may not be */
export function checkNewMember(login: string, password: string | undefined): void {
  checkLogin(login);
  if (password !== undefined) requireGoodPassword(login, password);
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
    await requireAuthor(tx, projectId, by);
    if (accountId !== null) {
      const before = await requireMember(tx, projectId, accountId);
      if (role !== undefined && role !== before) {
        if (before === "admin") await requireOther(tx, projectId, accountId);
        await setRole(tx, { projectId, accountId, role });
      }
    }
    if (grants.length > 0) {
      await writeGrants(tx, which, grants);
      await requireFewGrants(tx, projectId);
    }
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
    await requireAuthor(tx, projectId, by);
    const role = await requireMember(tx, projectId, accountId);
    if (role === "admin") await requireOther(tx, projectId, accountId);
    await removeFromProject(tx, projectId, accountId);
  });

export const noMember = () => notFound("user of that id in this project");

/** Nobody else changes the users of the project from here on. @throws Failure forbidden when the author is no administrator */
export async function requireAuthor(tx: Queryable, project: number, author: number): Promise<void> {
  await tx.query("select from project where id = $1 for update", [project]);
  await requireAdministrator(tx, project, author);
}

/** @throws Failure not_found */
export async function requireMember(tx: Queryable, project: number, account: number): Promise<Role> {
  const role = await roleOf(tx, project, account);
  if (role === undefined) throw noMember();
  return role;
}

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

/** Each request looks through all of them. */
async function requireFewGrants(tx: Queryable, project: number): Promise<void> {
  const [row] = await tx.query<{ count: number }>(
    "select count(*)::int as count from access_grant where project_id = $1",
    [project],
  );
  if (row!.count > most.grants)
    throw failed("invalid_value", `A project has at most ${most.grants} rights of this kind.`);
}

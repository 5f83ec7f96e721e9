import { setMostBytes } from "../catalog/disk-use.js";
import { changeProject, type ProjectChange } from "../catalog/installation-projects.js";
import { createProject, type NewProject, projectId } from "../catalog/projects.js";
import type { Database, Queryable } from "../storage/postgres.js";
import { checkLogin, findMember, insertMember, setRole } from "./accounts.js";
import { type Invitation, requireOfProjectAlone, writeInvitation } from "./invitations.js";
import { type Operator, requireOperator } from "./operators.js";

/** Projects with administrators, as operators make and change them. */

export interface NewAdministeredProject extends NewProject {
  /** Login of the first administrator. */
  readonly administrator: string;
  /** The most that it may take of the disks; null = as much as there is. */
  readonly mostBytes: number | null;
}

/**
 * Makes a project with its first administrator, who chooses a password by the link that is returned.
 * @throws Failure as `createProject`; invalid_value for the login; forbidden
 */
export function makeProject(
  db: Database,
  { administrator, mostBytes, ...project }: NewAdministeredProject,
  by: Operator,
): Promise<Invitation> {
  const login = checkLogin(administrator);
  return db.transaction(async (tx) => {
    const projectId = await createProject(tx, project);
    await requireOperator(tx, by);
    if (mostBytes !== null) await setMostBytes(tx, projectId, mostBytes);
    const { id } = await insertMember(tx, { login, passwordHash: "", projectId, role: "admin" });
    return writeInvitation(tx, projectId, id);
  });
}

/**
 * Changes a project, and gives it an administrator who chooses a password by the link that is returned: one who has lost it, another
 * user, or somebody new.
 * @throws Failure as `changeProject`; invalid_value for the login, and for an account of several projects or an operator's; forbidden
 */
export const changeAdministeredProject = (
  db: Database,
  code: string,
  { administrator, ...change }: ProjectChange & { readonly administrator: string | undefined },
  by: Operator,
): Promise<Invitation | undefined> =>
  db.transaction(async (tx) => {
    const id = await projectId(tx, code);
    // Before the row of its disk use, as whoever changes both.
    await tx.query("select from project where id = $1 for update", [id]);
    await requireOperator(tx, by);
    await changeProject(tx, id, change);
    return administrator === undefined ? undefined : administer(tx, id, checkLogin(administrator));
  });

/** The project's row is locked, as by all who change its users. */
async function administer(tx: Queryable, projectId: number, login: string): Promise<Invitation> {
  const known = await findMember(tx, projectId, login);
  if (known) {
    await requireOfProjectAlone(tx, known.id);
    await setRole(tx, { projectId, accountId: known.id, role: "admin" });
  }
  const { id } = known ?? (await insertMember(tx, { login, passwordHash: "", projectId, role: "admin" }));
  return writeInvitation(tx, projectId, id);
}

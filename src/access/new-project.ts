import { setMostBytes } from "../catalog/disk-use.js";
import { createProject, type NewProject } from "../catalog/projects.js";
import type { Database } from "../storage/postgres.js";
import { checkLogin, insertMember } from "./accounts.js";
import { type Invitation, writeInvitation } from "./invitations.js";

export interface NewAdministeredProject extends NewProject {
  /** Login of the first administrator. */
  readonly administrator: string;
  /** The most that it may take of the disks; null = as much as there is. */
  readonly mostBytes: number | null;
}

/**
 * Makes a project with its first administrator, who chooses a password by the link that is returned.
 * @throws Failure as `createProject`; invalid_value for the login
 */
export function makeProject(
  db: Database,
  { administrator, mostBytes, ...project }: NewAdministeredProject,
): Promise<Invitation> {
  const login = checkLogin(administrator);
  return db.transaction(async (tx) => {
    const projectId = await createProject(tx, project);
    if (mostBytes !== null) await setMostBytes(tx, projectId, mostBytes);
    const { id } = await insertMember(tx, { login, passwordHash: "", projectId, role: "admin" });
    return writeInvitation(tx, projectId, id);
  });
}

import { randomUUID } from "node:crypto";
import { addMember } from "../src/access/accounts.js";
import { openSessions } from "../src/access/sessions.js";
import type { Role } from "../src/catalog/state.js";
import type { Catalogue } from "./catalogue.js";
import type { World } from "./world.js";

/** A session for a measure. */

/**
 * Adds the user to the bench's project and opens a session.
 * @param prefix of the server's keys in Redis
 */
export async function openSession(
  { redis, config }: World,
  { db, project }: Pick<Catalogue, "db" | "project">,
  { login, role, prefix }: { readonly login: string; readonly role: Role; readonly prefix: string },
): Promise<{ readonly token: string; readonly accountId: number }> {
  const { id: accountId } = await addMember(db, {
    ...{ login, role, projectId: project.id },
    password: randomUUID(),
  });
  const sessions = openSessions(redis, { idleSeconds: config().sessionIdleSeconds, prefix });
  const token = await sessions.open({ accountId, login, projectId: project.id, origin: "console" });
  return { token, accountId };
}

import { randomBytes } from "node:crypto";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { requireProjectRight } from "../../access/rights.js";
import { type Caller, type ProjectState, publicCaller, Right } from "../../catalog/state.js";
import type { Request } from "../../http/types.js";
import { removeQuietly } from "../../remove-quietly.js";
import { callerOfToken } from "../request/caller.js";
import { projectContext } from "../request/context.js";
import { noteKnownCaller } from "../request/database-use.js";
import type { Services } from "../services.js";

/** Files for the styles of a project are its administrators'. */

export interface Administered {
  readonly project: ProjectState;
  readonly caller: Caller;
}

/** @throws Failure unauthenticated, forbidden */
export async function administered(request: Request, services: Services): Promise<Administered> {
  const { project, caller } = await projectContext(request, services);
  requireProjectRight(project, caller, Right.administer);
  return { project, caller };
}

/** The same for uploads, whose token may be in their body. */
export const authorizedBy =
  (request: Request, services: Services) =>
  async (token: string | undefined): Promise<Administered> => {
    const project = await services.catalog.project(request.params.project!);
    const caller = token === undefined ? publicCaller : await callerOfToken(token, services, project);
    if (caller.accountId !== null) noteKnownCaller(request, caller);
    requireProjectRight(project, caller, Right.administer);
    services.fullProjects.requireRoom(project);
    return { project, caller };
  };

/** Calls `use` with a temporary folder. */
export async function withFolder<T>(services: Services, use: (folder: string) => Promise<T>): Promise<T> {
  // Named as uploads are, so that one that is left behind goes with them.
  const folder = join(services.config.dataDir, "tmp", `upload-${randomBytes(12).toString("hex")}`);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  try {
    return await use(folder);
  } finally {
    await removeQuietly(folder);
  }
}

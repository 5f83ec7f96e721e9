import { loadMap, loadProject } from "../catalog/load.js";
import { projectId } from "../catalog/projects.js";
import type { MapState } from "../catalog/state.js";
import type { Queryable } from "../storage/postgres.js";
import { CommandError } from "./environment.js";

/** The map that a command names. @throws Failure project_not_found; CommandError when there is no such map */
export async function findMap(db: Queryable, projectCode: string, code: string): Promise<MapState> {
  await projectId(db, projectCode);
  const project = await loadProject(db, projectCode);
  const map = project && (await loadMap(db, project, code));
  if (!map) throw new CommandError(`There is no map "${code}" in the project "${projectCode}".`);
  return map;
}

import { loadMap, loadProject } from "../catalog/load.js";
import { noMap } from "../catalog/maps.js";
import { projectId } from "../catalog/projects.js";
import type { MapState } from "../catalog/state.js";
import type { Queryable } from "../storage/postgres.js";

/** The map that a command names. @throws Failure project_not_found, not_found */
export async function findMap(db: Queryable, projectCode: string, code: string): Promise<MapState> {
  const id = await projectId(db, projectCode);
  const project = await loadProject(db, projectCode);
  const map = project && (await loadMap(db, project, code));
  if (!map) throw await noMap(db, id, code);
  return map;
}

import { loadMap, loadProject } from "../catalog/load.js";
import { noMap } from "../catalog/maps.js";
import { projectId } from "../catalog/projects.js";
import type { LayerNode, MapState } from "../catalog/state.js";
import { didYouMean } from "../near-name.js";
import type { Queryable } from "../storage/postgres.js";
import { CommandError } from "./environment.js";

/** Maps and layers by what a command names them; its user may know all of them, so it tells which one may be meant. */

/** The map that a command names. @throws Failure project_not_found, not_found */
export async function findMap(db: Queryable, projectCode: string, code: string): Promise<MapState> {
  const id = await projectId(db, projectCode);
  const project = await loadProject(db, projectCode);
  const map = project && (await loadMap(db, project, code));
  if (!map) throw await noMap(db, id, code);
  return map;
}

/** The layer of the map that a command names. @throws CommandError */
export function findLayer(map: MapState, code: string): LayerNode {
  const layer = map.layers.get(code);
  if (layer) return layer;
  throw new CommandError(
    `There is no layer "${code}" in the map "${map.code}"${didYouMean(code, map.layers.keys())}`,
  );
}

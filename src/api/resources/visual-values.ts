import { isLayer, type LayerNode, type MapState, type TreeNode } from "../../catalog/state.js";
import type { VisualValues } from "../../visual/values.js";
import type { Services } from "../services.js";

/** How long responses wait until visualizations are computed; after that, they contain the last values. */
const timeoutMs = 300;

/** Computed values of the visualizations of these layers, by layer id. */
export const visualValues = (
  services: Services,
  map: MapState,
  nodes: readonly (TreeNode | LayerNode)[],
): Promise<ReadonlyMap<number, VisualValues>> =>
  services.visuals.inTime(nodes.filter(isLayer), map.project, timeoutMs);

import { isLayer, type LayerNode, type MapState, type TreeNode } from "../../catalog/state.js";
import type { VisualValues } from "../../catalog/visual-values.js";
import type { Services } from "../services.js";

/** How long answers wait for visualizations to be computed; after that they are shown as they were last. */
const patienceMs = 300;

/** What the visualizations among these layers show of their objects, by the layers' ids. */
export const visualValues = (
  services: Services,
  map: MapState,
  nodes: readonly (TreeNode | LayerNode)[],
): Promise<ReadonlyMap<number, VisualValues>> =>
  services.visuals.inTime(nodes.filter(isLayer), map.project.languages[0], patienceMs);

import { requireRead, requireRight } from "../access/rights.js";
import { type LayerNode, type MapState, Right } from "../catalog/state.js";
import { notFound, unauthenticated } from "../errors.js";
import type { Reply, Request } from "../http/types.js";
import { answer } from "./caller.js";
import { layerObject } from "./present.js";
import type { Services } from "./services.js";
import { again, type Visit } from "./visit.js";
import { visualValues } from "./visuals.js";

/** The layer that a request is about, and how it is answered after a change. */

/** The layer of the path. @throws Failure not_found */
export function layerOf(map: MapState, request: Request): LayerNode {
  const layer = map.layers.get(request.params.layer!);
  if (!layer) throw notFound(`layer "${request.params.layer}"`);
  return layer;
}

/** The layer of the path, for who may read it. @throws Failure unauthenticated, forbidden, not_found */
export function readableLayer({ map, caller }: Visit, request: Request): LayerNode {
  requireRead(map, caller);
  const layer = layerOf(map, request);
  requireRead(map, caller, layer);
  return layer;
}

/**
 * The layer of the path, for a change. Who may not even read the map does not learn which layers it has.
 * @throws Failure unauthenticated, forbidden, not_found
 */
export function changeableLayer({ map, caller }: Visit, request: Request): LayerNode {
  if (caller.accountId === null) throw unauthenticated();
  requireRead(map, caller);
  const layer = layerOf(map, request);
  requireRight(map, caller, Right.editStructure, layer);
  return layer;
}

/** The layer object as it is now, for who made or changed it. @throws Failure not_found when it is gone */
export async function answerLayer(services: Services, visitor: Visit, id: number): Promise<Reply> {
  const { map, caller, view } = await again(visitor, services);
  const node = map.nodes.get(id);
  if (!node) throw notFound("layer of that code");
  const values = (await visualValues(services, map, [node])).get(id);
  return answer(caller, layerObject(map, node, view, { css: true, source: true, values }));
}

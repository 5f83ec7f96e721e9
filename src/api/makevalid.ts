import { requireRight } from "../catalog/rights.js";
import { hasObjects, isDerived, Right } from "../catalog/state.js";
import { failed, notFound } from "../errors.js";
import { makeValid } from "../features/makevalid.js";
import type { Reply, Request, Route } from "../http/types.js";
import { answer } from "./caller.js";
import { layerObject, projectPath } from "./present.js";
import type { Services } from "./services.js";
import { again, signedInVisit } from "./visit.js";

/** Repair of a layer's geometry. */

async function repair(request: Request, services: Services): Promise<Reply> {
  const visitor = await signedInVisit(request, services);
  const { map, caller } = visitor;
  const layer = map.layers.get(request.params.layer!);
  requireRight(map, caller, Right.editObjects, layer);
  if (!layer || !hasObjects(layer)) throw notFound(`layer with objects "${request.params.layer}"`);
  if (isDerived(layer))
    throw failed("invalid_value", "The objects of this layer come from its source.", { type: layer.type });
  await makeValid(services.db, layer.id);
  await services.changes.settle({ layers: [layer.id] });
  const now = await again(visitor, services);
  return answer(caller, layerObject(now.map, now.map.nodes.get(layer.id) ?? layer, now.view));
}

export const makevalidRoutes: Route<Services>[] = [
  { methods: ["POST"], path: `${projectPath}/:map/layers/:layer/makevalid/`, handler: repair },
];

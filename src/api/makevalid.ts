import { requireRight } from "../access/rights.js";
import { hasObjects, isDerived, Right } from "../catalog/state.js";
import { failed, notFound } from "../errors.js";
import { makeValid } from "../features/makevalid.js";
import type { Reply, Request } from "../http/types.js";
import { answer } from "./caller.js";
import { answers, type Operation, operation } from "./operation.js";
import { layerObject, layerPath } from "./present.js";
import { ref } from "./schema/schema.js";
import type { Services } from "./services.js";
import { again, signedInVisit } from "./visit.js";
import { visualValues } from "./visuals.js";

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
  await services.changes.propagate();
  const now = await again(visitor, services);
  const node = now.map.nodes.get(layer.id) ?? layer;
  const values = (await visualValues(services, now.map, [node])).get(node.id);
  return answer(caller, layerObject(now.map, node, now.view, { values }));
}

export const makevalidOperations: readonly Operation[] = [
  operation({
    id: "repairLayer",
    tag: "Layers",
    summary: "Repair the invalid geometries of a layer",
    details: "Each stays of its dimension: a polygon without any area stays as it is.",
    access: "token",
    methods: ["POST"],
    path: `${layerPath}/makevalid/`,
    writes: true,
    answer: answers("The layer, without css_style.", ref("Layer")),
    refuses: ["invalid_value"],
    handle: repair,
  }),
];

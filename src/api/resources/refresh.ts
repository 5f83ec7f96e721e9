import { requireRead } from "../../access/rights.js";
import { refreshMaterial } from "../../catalog/materialized.js";
import { failed, forbidden } from "../../errors.js";
import type { Reply, Request } from "../../http/types.js";
import { layerContext, toReadSignedIn } from "../request/context.js";
import { answers, type Operation, operation } from "../request/operation.js";
import { layerPath } from "../request/paths.js";
import { ref } from "../request/schema/schema.js";
import type { Services } from "../services.js";
import { answerLayer } from "./layer-answer.js";
import { layerResource } from "./present.js";

/** Refresh of a materialized layer, only by its owner. */

async function refresh(request: Request, services: Services): Promise<Reply> {
  const context = await layerContext(request, services, toReadSignedIn);
  const { map, layer, caller } = context;
  if (layer.type !== "material")
    throw failed("not_materialized", `The layer "${layer.code}" is not materialized.`, { type: layer.type });
  if (layer.ownerId !== caller.accountId) throw forbidden("Only the owner of the layer may refresh it.");
  // An owner who may no longer read the source must not copy it for others.
  const source = map.nodes.get(layer.sourceId ?? 0);
  if (source) requireRead(map, caller, source);
  await refreshMaterial(services.db, map.id, layer.id);
  await services.changes.propagate();
  return answerLayer(services, context, layer.id);
}

export const refreshOperations: readonly Operation[] = [
  operation({
    id: "refreshLayer",
    tag: "Layers",
    summary: "Refresh a materialized layer from its source",
    details: "Only for the owner of the layer.",
    access: "token",
    methods: ["POST"],
    path: `${layerPath}/refresh/`,
    writes: true,
    long: true,
    shows: layerResource,
    changes: layerResource,
    answer: answers("The layer.", ref("Layer")),
    refuses: ["not_materialized"],
    handle: refresh,
  }),
];

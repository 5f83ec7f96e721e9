import { requireRead } from "../../access/rights.js";
import { refreshMaterial } from "../../catalog/material.js";
import { failed, forbidden } from "../../errors.js";
import type { Reply, Request } from "../../http/types.js";
import { layerContext, toReadSignedIn } from "../request/context.js";
import { answers, type Operation, operation } from "../request/operation.js";
import { layerPath } from "../request/paths.js";
import { ref } from "../request/schema/schema.js";
import type { Services } from "../services.js";
import { answerLayer } from "./layer-answer.js";

/** Refresh of a materialized layer, by nobody but its owner. */

async function refresh(request: Request, services: Services): Promise<Reply> {
  const context = await layerContext(request, services, toReadSignedIn);
  const { map, layer, caller } = context;
  if (layer.type !== "material")
    throw failed("not_materialized", `The layer "${layer.code}" is not materialized.`, { type: layer.type });
  if (layer.ownerId !== caller.accountId) throw forbidden("Only the owner of the layer may refresh it.");
  // What the owner may not read any more is not copied for others to read.
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
    summary: "Fill a materialized layer anew from its source",
    details: "Only its owner may.",
    access: "token",
    methods: ["POST"],
    path: `${layerPath}/refresh/`,
    writes: true,
    answer: answers("The layer.", ref("Layer")),
    refuses: ["not_materialized"],
    handle: refresh,
  }),
];

import { refreshMaterial } from "../catalog/material.js";
import { requireRead } from "../catalog/rights.js";
import { failed, forbidden, notFound } from "../errors.js";
import type { Reply, Request, Route } from "../http/types.js";
import { answer } from "./caller.js";
import { layerObject, projectPath } from "./present.js";
import type { Services } from "./services.js";
import { again, signedInVisit } from "./visit.js";

/** Refresh of a materialized layer, by nobody but its owner. */

async function refresh(request: Request, services: Services): Promise<Reply> {
  const visitor = await signedInVisit(request, services);
  const { map, caller } = visitor;
  const layer = map.layers.get(request.params.layer!);
  if (!layer) throw notFound(`layer "${request.params.layer}"`);
  requireRead(map, caller, layer);
  if (layer.type !== "material")
    throw failed("not_materialized", `The layer "${layer.code}" is not materialized.`, { type: layer.type });
  if (layer.ownerId !== caller.accountId) throw forbidden("Only the owner of the layer may refresh it.");
  // What the owner may not read any more is not copied for others to read.
  const source = map.nodes.get(layer.sourceId ?? 0);
  if (source) requireRead(map, caller, source);
  await refreshMaterial(services.db, map.id, layer.id);
  await services.changes.settle({ maps: [map.id], layers: [layer.id] });
  const now = await again(visitor, services);
  const node = now.map.nodes.get(layer.id);
  if (!node) throw notFound(`layer "${layer.code}"`);
  return answer(caller, layerObject(now.map, node, now.view, { css: true, source: true }));
}

export const refreshRoutes: Route<Services>[] = [
  { methods: ["POST"], path: `${projectPath}/:map/layers/:layer/refresh/`, handler: refresh },
];

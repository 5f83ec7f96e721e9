import { makeValid } from "../../features/makevalid.js";
import type { Reply, Request } from "../../http/types.js";
import { answer } from "../request/caller.js";
import { editableContext, reload } from "../request/context.js";
import { answers, type Operation, operation } from "../request/operation.js";
import { layerPath } from "../request/paths.js";
import { ref } from "../request/schema/schema.js";
import type { Services } from "../services.js";
import { layerObject, layerResource } from "./present.js";
import { visualValues } from "./visual-values.js";

/** Repair of invalid geometries. */

async function repair(request: Request, services: Services): Promise<Reply> {
  const context = await editableContext(request, services);
  const { layer, caller } = context;
  await makeValid(services.db, layer.id);
  await services.changes.propagate();
  const now = await reload(context, services);
  const node = now.map.nodes.get(layer.id) ?? layer;
  const values = (await visualValues(services, now.map, [node])).get(node.id);
  return answer(caller, layerObject(now.map, node, now.view, { values }));
}

export const makevalidOperations: readonly Operation[] = [
  operation({
    id: "repairLayer",
    tag: "Layers",
    summary: "Repair the invalid geometries of a layer",
    details: "The dimension of geometries does not change: a polygon without area is left as it is.",
    access: "token",
    methods: ["POST"],
    path: `${layerPath}/makevalid/`,
    writes: true,
    long: true,
    shows: layerResource,
    changes: layerResource,
    answer: answers("The layer, without css_style.", ref("Layer")),
    refuses: ["invalid_value"],
    handle: repair,
  }),
];

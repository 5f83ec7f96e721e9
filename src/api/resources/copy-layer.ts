import { requireRead, requireRight } from "../../access/rights.js";
import { copyLayer } from "../../catalog/copy-layer.js";
import { Right } from "../../catalog/state.js";
import { failed } from "../../errors.js";
import type { Reply, Request } from "../../http/types.js";
import { layerContext, toReadSignedIn } from "../request/context.js";
import { answers, type Input, type Operation, operation } from "../request/operation.js";
import { layerPath } from "../request/paths.js";
import { jsonObject } from "../request/schema/bodies.js";
import { code } from "../request/schema/fields.js";
import { nameFields } from "../request/schema/names.js";
import { ref, type Values } from "../request/schema/schema.js";
import { sizes } from "../request/schema/sizes.js";
import type { Services } from "../services.js";
import { answerLayer } from "./layer-answer.js";
import { layerResource } from "./present.js";
import { changedName } from "./tree-fields.js";

/** Copies of layers. */

const copyFields = {
  code: code("Code of the copy, unique among the layers of the map; default: generated.").optional(),
  ...nameFields,
};

async function copy(
  request: Request,
  services: Services,
  { body }: Input<unknown, Values<typeof copyFields>>,
): Promise<Reply> {
  const context = await layerContext(request, services, toReadSignedIn);
  const { project, map, layer, caller } = context;
  requireRight(map, caller, Right.editStructure);
  requireRead(map, caller, layer);
  if (layer.type !== "layer")
    throw failed("invalid_value", "Only layers with objects of their own are copied. Make the layer again.", {
      type: layer.type,
    });
  services.fullProjects.requireRoom(project);
  const sent = await body();
  const { id } = await copyLayer(services.db, map.id, layer.id, {
    code: sent.code,
    name: changedName(sent, context, layer) ?? layer,
    ownerId: caller.accountId,
  });
  await services.changes.propagate();
  return answerLayer(services, context, id);
}

export const copyLayerOperations: readonly Operation[] = [
  operation({
    id: "copyLayer",
    tag: "Layers",
    summary: "Copy a layer with its objects",
    details:
      "The copy stands above the layer, with its objects, columns, constraints, look, settings and rights. Objects get new " +
      "ids; attached files and settings of the search stay with the layer. Only layers with objects of their own are " +
      "copied: refused with invalid_value for others.",
    access: "token",
    methods: ["POST"],
    path: `${layerPath}/copy/`,
    writes: true,
    long: true,
    shows: layerResource,
    changes: { unconditionally: "It makes a layer." },
    body: jsonObject(copyFields, sizes.element),
    answer: answers("The copy.", ref("Layer")),
    refuses: ["invalid_value", "invalid_code", "code_exists", "project_full"],
    handle: copy,
  }),
];

import { requireRight } from "../../access/rights.js";
import { changeLayer, createLayer, deleteLayer, type NewLayer } from "../../catalog/layers.js";
import { type LayerNode, type MapState, Right } from "../../catalog/state.js";
import type { Reply, Request } from "../../http/types.js";
import { defaultStyle } from "../../style/default-style.js";
import { answer } from "../request/caller.js";
import { layerContext, mapContext, toEditStructure } from "../request/context.js";
import { answers, type Input, type Operation, operation } from "../request/operation.js";
import { layerPath, mapPath } from "../request/paths.js";
import { jsonObject } from "../request/schema/bodies.js";
import { style } from "../request/schema/fields.js";
import { ref, type Values } from "../request/schema/schema.js";
import { sizes } from "../request/schema/sizes.js";
import type { Services } from "../services.js";
import { createFromSource, kindFields } from "./derived-layers.js";
import { answerLayer } from "./layer-answer.js";
import { changedName, changedNodeFields, newName, newNodeFields } from "./tree-fields.js";

/** Creation, change and deletion of layers. */

const createFields = {
  ...kindFields,
  ...newNodeFields("layer"),
  css_style: style("CartoCSS of the layer; default: one that suits its geometries.").optional(),
};

const changeFields = {
  ...changedNodeFields,
  css_style: style("CartoCSS of the layer; a blank one asks for the default.").optional(),
};

async function create(
  request: Request,
  services: Services,
  { body }: Input<unknown, Values<typeof createFields>>,
): Promise<Reply> {
  const context = await mapContext(request, services);
  const { map, caller } = context;
  requireRight(map, caller, Right.editStructure);
  const sent = await body();
  const name = newName(sent, context);
  if (sent.css_style) await compile(services, map, { code: sent.code ?? "layer", css: sent.css_style });
  const layer: NewLayer = {
    code: sent.code,
    name,
    parentId: sent.parent_id,
    sort: sent.sort,
    cssStyle: sent.css_style || undefined,
    ownerId: caller.accountId,
  };
  const { id } =
    sent.type === "layer"
      ? await createLayer(services.db, map.id, layer)
      : await createFromSource(services, context, sent.type, { source: sent.source, layer });
  await services.changes.propagate();
  return answerLayer(services, context, id);
}

/** PUT gives what it does not name its default again; PATCH leaves it. The code stays in both. */
async function change(
  request: Request,
  services: Services,
  { body }: Input<unknown, Values<typeof changeFields>>,
): Promise<Reply> {
  const context = await layerContext(request, services, toEditStructure);
  const { map, layer } = context;
  const sent = await body();
  const replace = request.method === "PUT";
  const name = changedName(sent, context, replace ? undefined : layer);
  const css = sent.css_style ?? (replace ? "" : undefined);
  if (css) await compile(services, map, { code: sent.code ?? layer.code, css });
  await changeLayer(services.db, map.id, layer.id, {
    code: sent.code,
    parentId: sent.parent_id,
    sort: sent.sort,
    name,
    cssStyle: css === "" ? unstyled(layer) : css,
  });
  await services.changes.propagate();
  return answerLayer(services, context, layer.id);
}

async function remove(request: Request, services: Services): Promise<Reply> {
  const { map, layer, caller } = await layerContext(request, services, toEditStructure);
  await deleteLayer(services.db, map.id, layer.id);
  await services.changes.propagate();
  return answer(caller, null);
}

/** What a layer is drawn with that nobody styles; clients draw external ones themselves. */
const unstyled = (layer: LayerNode): string =>
  layer.type === "external" ? "" : defaultStyle(layer.geometryKind);

/** Compiles the style as that of the map's layer of that code. @throws Failure invalid_style, busy */
async function compile(
  services: Services,
  map: MapState,
  { code, css }: { readonly code: string; readonly css: string },
): Promise<void> {
  const { deadlineMs } = services.config.style;
  await services.styles.compile(
    { mapStyle: map.cssStyle, layerStyle: css, layerCode: code, deadlineMs },
    { project: map.project.id, stored: false },
  );
}

const refusals = ["invalid_value", "invalid_code", "code_exists", "invalid_style"] as const;

export const layerEditOperations: readonly Operation[] = [
  operation({
    id: "createLayer",
    tag: "Layers",
    summary: "Create a layer",
    details:
      "A layer of objects of its own, or one that is made from another layer of the map (virtual, material) or " +
      "from a service elsewhere (external). External layers are drawn by clients: the map's tiles do not show them. " +
      "A parent_id that does not exist in this map is answered with 404.",
    access: "token",
    methods: ["POST"],
    path: `${mapPath}/layers/`,
    writes: true,
    body: jsonObject(createFields, sizes.styled),
    answer: answers("The new layer.", ref("Layer")),
    refuses: [...refusals, "required_parameters", "unknown_column"],
    handle: create,
  }),
  operation({
    id: "changeLayer",
    tag: "Layers",
    summary: "Change a layer, or move it",
    details:
      "PUT gives the name and the style their defaults when they are not named, PATCH leaves them. Without " +
      "parent_id, or with one that does not exist in this map, the answer is 404.",
    access: "token",
    methods: ["PUT", "PATCH"],
    path: `${layerPath}/`,
    writes: true,
    body: jsonObject(changeFields, sizes.styled),
    answer: answers("The layer as it is now.", ref("Layer")),
    refuses: refusals,
    handle: change,
  }),
  operation({
    id: "deleteLayer",
    tag: "Layers",
    summary: "Delete a layer with its objects",
    details: "A layer that others are made from stays, with invalid_value.",
    access: "token",
    methods: ["DELETE"],
    path: `${layerPath}/`,
    writes: true,
    answer: answers("It is gone.", { type: "null" }),
    refuses: ["invalid_value"],
    handle: remove,
  }),
];

import { requireRight } from "../../access/rights.js";
import { deleterOf } from "../../catalog/bin.js";
import { changeLayer, createLayer, deleteLayer, type NewLayer } from "../../catalog/layers.js";
import { type LayerNode, type MapState, Right } from "../../catalog/state.js";
import type { Reply, Request } from "../../http/types.js";
import { defaultStyle, hueOf } from "../../style/default-style.js";
import { readDefault } from "../../style/read-default.js";
import { answer } from "../request/caller.js";
import { checkStyle } from "../request/check-style.js";
import { layerContext, mapContext, toEditStructure } from "../request/context.js";
import { answers, type Input, type Operation, operation } from "../request/operation.js";
import { layerPath, mapPath } from "../request/paths.js";
import { jsonObject } from "../request/schema/bodies.js";
import { settings, style } from "../request/schema/fields.js";
import { ref, type Values } from "../request/schema/schema.js";
import { sizes } from "../request/schema/sizes.js";
import type { Services } from "../services.js";
import { createFromSource, kindFields } from "./derived-layers.js";
import { answerLayer } from "./layer-answer.js";
import { layerResource } from "./present.js";
import { changedName, changedNodeFields, newName, newNodeFields } from "./tree-fields.js";

/** Creation, change and deletion of layers. */

const createFields = {
  ...kindFields,
  ...newNodeFields("layer"),
  css_style: style("CartoCSS of the layer; default: a style for its geometry type.").optional(),
  json: settings,
};

const changeFields = {
  ...changedNodeFields,
  css_style: style("CartoCSS of the layer; blank = the default style.").optional(),
  json: settings,
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
  const notices = sent.css_style
    ? await check(services, map, { code: sent.code ?? "layer", css: sent.css_style })
    : [];
  const layer: NewLayer = {
    code: sent.code,
    name,
    parentId: sent.parent_id,
    sort: sent.sort,
    cssStyle: sent.css_style || undefined,
    json: sent.json,
    ownerId: caller.accountId,
  };
  const { id } =
    sent.type === "layer"
      ? await createLayer(services.db, map.id, layer)
      : await createFromSource(services, context, sent.type, { source: sent.source, layer });
  await services.changes.propagate();
  return answerLayer(services, context, id, withNotices(notices));
}

/** PUT resets missing fields to their defaults; PATCH keeps them. Both keep a missing code and missing settings. */
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
  const notices = css ? await check(services, map, { code: sent.code ?? layer.code, css }, layer) : [];
  await changeLayer(services.db, map.id, layer.id, {
    code: sent.code,
    parentId: sent.parent_id,
    sort: sent.sort,
    name,
    cssStyle: css === "" ? defaultStyleOf(layer) : css,
    json: sent.json,
  });
  await services.changes.propagate();
  return answerLayer(services, context, layer.id, withNotices(notices));
}

async function remove(request: Request, services: Services): Promise<Reply> {
  const { map, layer, caller } = await layerContext(request, services, toEditStructure);
  await deleteLayer(services.db, map.id, layer.id, deleterOf(services.config, caller));
  await services.changes.propagate();
  return answer(caller, null);
}

/** The style of a layer without one of its own, in its colour; external layers and images are drawn as they are. */
export function defaultStyleOf({ id, type, geometryKind, cssStyle }: LayerNode): string {
  if (type === "external" || type === "raster") return "";
  if (readDefault(cssStyle, geometryKind)) return cssStyle;
  return defaultStyle(geometryKind, { hue: hueOf(cssStyle) ?? id });
}

/** As `checkStyle`, for a layer of the map. */
const check = (
  services: Services,
  map: MapState,
  { code, css }: { readonly code: string; readonly css: string },
  layer?: LayerNode,
): Promise<readonly string[]> =>
  checkStyle(services, map.project, { mapStyle: map.cssStyle, layerStyle: css, layerCode: code }, layer);

const withNotices = (notices: readonly string[]) => (notices.length > 0 ? { notices: [...notices] } : {});

const refusals = ["invalid_value", "invalid_code", "code_exists", "invalid_style"] as const;

export const layerEditOperations: readonly Operation[] = [
  operation({
    id: "createLayer",
    tag: "Layers",
    summary: "Create a layer",
    details:
      "A layer with objects of its own, a layer derived from another layer of the map (virtual, material), or a " +
      "layer of an external service (external), whose images are drawn on tiles. " +
      "If parent_id does not exist in this map, the response is 404.",
    access: "token",
    methods: ["POST"],
    path: `${mapPath}/layers/`,
    writes: true,
    shows: layerResource,
    changes: { unconditionally: "It makes a layer." },
    body: jsonObject(createFields, sizes.styled),
    answer: answers("The new layer.", ref("Layer")),
    refuses: [...refusals, "required_parameters", "unknown_column", "project_full"],
    handle: create,
  }),
  operation({
    id: "changeLayer",
    tag: "Layers",
    summary: "Change or move a layer",
    details:
      "PUT resets a missing name or style to the default, PATCH keeps it. Without parent_id, or with one that does " +
      "not exist in this map, the response is 404.",
    access: "token",
    methods: ["PUT", "PATCH"],
    path: `${layerPath}/`,
    writes: true,
    shows: layerResource,
    changes: layerResource,
    body: jsonObject(changeFields, sizes.styled),
    answer: answers("The changed layer.", ref("Layer")),
    refuses: refusals,
    handle: change,
  }),
  operation({
    id: "deleteLayer",
    tag: "Layers",
    summary: "Delete a layer and its objects",
    details: "Refused with invalid_value if the layer is the source of other layers.",
    access: "token",
    methods: ["DELETE"],
    path: `${layerPath}/`,
    writes: true,
    changes: layerResource,
    answer: answers("The layer was deleted.", { type: "null" }),
    refuses: ["invalid_value"],
    handle: remove,
  }),
];

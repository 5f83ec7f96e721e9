import { requireRight, rightsOn } from "../../access/rights.js";
import { deleterOf } from "../../catalog/bin.js";
import { changeMap, deleteMap } from "../../catalog/maps.js";
import { type LayerNode, type MapState, Right } from "../../catalog/state.js";
import { Failure, failed } from "../../errors.js";
import type { Reply, Request } from "../../http/types.js";
import { mapAtOnce } from "../../tiles/at-once.js";
import { answer } from "../request/caller.js";
import { checkStyle } from "../request/check-style.js";
import { type MapContext, signedInMapContext } from "../request/context.js";
import { answers, type Input, type Operation, operation } from "../request/operation.js";
import { mapPath } from "../request/paths.js";
import { jsonObject } from "../request/schema/bodies.js";
import { code, style } from "../request/schema/fields.js";
import { nameFields } from "../request/schema/names.js";
import { ref, type Values } from "../request/schema/schema.js";
import { sizes } from "../request/schema/sizes.js";
import type { Services } from "../services.js";
import {
  baseMap,
  comment as commentField,
  groupLayers,
  hasPublication,
  startView as startViewField,
} from "./maps.js";
import { mapObject, mapResource } from "./present.js";
import { changedName } from "./tree-fields.js";

/** Change and deletion of maps. */

const changeFields = {
  code: code("New code, unique in the project; default: unchanged.").optional(),
  ...nameFields,
  css_style: style("CartoCSS of the map, applied before the styles of its layers; blank = none.").optional(),
  group_layers: groupLayers.optional(),
  has_publication: hasPublication.optional(),
  start_view: startViewField.optional(),
  base_map: baseMap.optional(),
  comment: commentField.optional(),
};

async function administeredMap(request: Request, services: Services): Promise<MapContext> {
  const context = await signedInMapContext(request, services);
  requireRight(context.map, context.caller, Right.administer);
  return context;
}

/** PUT resets missing fields to their defaults; PATCH keeps them. Both keep a missing code, and who may see the map. */
async function change(
  request: Request,
  services: Services,
  { body }: Input<unknown, Values<typeof changeFields>>,
): Promise<Reply> {
  const context = await administeredMap(request, services);
  const { project, map, caller, view } = context;
  const sent = await body();
  const replace = request.method === "PUT";
  const name = changedName(sent, context, replace ? undefined : map);
  const cssStyle = sent.css_style ?? (replace ? "" : undefined);
  const grouped = sent.group_layers ?? (replace ? 0 : undefined);
  const notices = cssStyle === undefined ? [] : await checkStyles(services, map, cssStyle);
  const unset = replace ? null : undefined;
  const { code, has_publication: published, start_view: startView = unset, base_map: base = unset } = sent;
  const comment = sent.comment ?? (replace ? "" : undefined);
  const changes = { code, name, cssStyle, groupLayers: grouped, published, startView, base, comment };
  await changeMap(services.db, map.id, changes);
  await services.changes.propagate();
  const changed = mapObject(await services.catalog.map(project.code, sent.code ?? map.code), view);
  return answer(caller, { ...changed, ...(notices.length > 0 && { notices }) });
}

const layersAtOnce = 4;

/**
 * Checks the style of a map, and with it those of the layers that may use its variables.
 * @returns what of it has no effect
 * @throws Failure as `checkStyle`; invalid_style with `data.layer` when a layer's does not compile any more
 */
export async function checkStyles(
  services: Services,
  map: MapState,
  mapStyle: string,
): Promise<readonly string[]> {
  if (mapStyle === map.cssStyle) return [];
  const notices = mapStyle === "" ? [] : await checkStyle(services, map.project, { mapStyle });
  // Others stand for themselves.
  const using = [...map.layers.values()].filter(({ cssStyle }) => cssStyle.includes("@"));
  await mapAtOnce(using, layersAtOnce, (layer) => checkLayer(services, map, mapStyle, layer));
  return notices;
}

async function checkLayer(
  services: Services,
  map: MapState,
  mapStyle: string,
  { code: layerCode, cssStyle: layerStyle }: LayerNode,
): Promise<void> {
  const refusal = (style: string) =>
    checkStyle(services, map.project, { mapStyle: style, layerStyle, layerCode }).then(
      () => undefined,
      invalidStyle,
    );
  const failure = await refusal(mapStyle);
  // One that was not valid before is no worse now.
  if (!failure || (await refusal(map.cssStyle))) return;
  const told = `With this style of the map, that of the layer "${layerCode}" is not valid: ${failure.message}`;
  throw failed("invalid_style", told, { ...failure.data, layer: layerCode });
}

function invalidStyle(error: unknown): Failure {
  if (error instanceof Failure && error.code === "invalid_style") return error;
  throw error;
}

async function remove(request: Request, services: Services): Promise<Reply> {
  const { map, caller } = await administeredMap(request, services);
  await deleteMap(services.db, map.id, {
    mayDelete: (id) => (rightsOn(map, caller, { id }) & Right.editStructure) !== 0,
    by: deleterOf(services.config, caller),
  });
  await services.changes.propagate();
  return answer(caller, null);
}

export const mapEditOperations: readonly Operation[] = [
  operation({
    id: "changeMap",
    tag: "Maps",
    summary: "Change a map",
    details:
      "PUT resets a missing name, style, `group_layers`, `start_view`, `base_map` or `comment` to the default, PATCH keeps it; both keep a missing code and " +
      "`has_publication`. With a new code all " +
      "addresses of the map have it, and the old one is free. A style that makes the style of a layer invalid is refused.",
    access: "token",
    methods: ["PUT", "PATCH"],
    path: `${mapPath}/`,
    writes: true,
    shows: mapResource,
    changes: mapResource,
    body: jsonObject(changeFields, sizes.styled),
    answer: answers("The changed map.", ref("Map")),
    refuses: ["invalid_value", "invalid_code", "code_exists", "invalid_style"],
    handle: change,
  }),
  operation({
    id: "deleteMap",
    tag: "Maps",
    summary: "Delete a map with its layers and objects",
    details: "Nothing is deleted if the map contains a layer that the caller may not delete (403).",
    access: "token",
    methods: ["DELETE"],
    path: `${mapPath}/`,
    writes: true,
    changes: mapResource,
    answer: answers("The map was deleted.", { type: "null" }),
    handle: remove,
  }),
];

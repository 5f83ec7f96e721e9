import { changeLayer, createLayer, deleteLayer, layerTimestamp, type NewLayer } from "../catalog/layers.js";
import { requireRead, requireRight, rightsOn } from "../catalog/rights.js";
import { hasObjects, type LayerNode, type MapState, Right } from "../catalog/state.js";
import { notFound, unauthenticated } from "../errors.js";
import { layerBox } from "../features/bbox.js";
import type { Reply, Request, Route } from "../http/types.js";
import { defaultStyle } from "../style/default-style.js";
import { answer } from "./caller.js";
import { createFromSource, layerKind } from "./derived.js";
import {
  bodyObject,
  cssField,
  type Fields,
  nameField,
  numberField,
  own,
  parentField,
  textField,
} from "./input.js";
import { flag, srid } from "./parameters.js";
import { layerObject, projectPath } from "./present.js";
import type { Services } from "./services.js";
import { type Visit, visit } from "./visit.js";
import { visualValues } from "./visuals.js";

/** Layers: creation, reading, change and deletion. */

/**
 * The layer of the path, for a change. Who may not even read the map does not learn which layers it has.
 * @throws Failure unauthenticated, forbidden, not_found
 */
function changeableLayer({ map, caller }: Visit, request: Request): LayerNode {
  if (caller.accountId === null) throw unauthenticated();
  requireRead(map, caller);
  const layer = layerOf(map, request);
  requireRight(map, caller, Right.editStructure, layer);
  return layer;
}

/** The layer of the path. @throws Failure not_found */
function layerOf(map: MapState, request: Request): LayerNode {
  const layer = map.layers.get(request.params.layer!);
  if (!layer) throw notFound(`layer "${request.params.layer}"`);
  return layer;
}

async function create(request: Request, services: Services): Promise<Reply> {
  const { map, caller, view } = await visit(request, services);
  requireRight(map, caller, Right.editStructure);
  const fields = await bodyObject(request);
  const kind = layerKind(fields);
  const code = textField(fields, "code");
  const layer: NewLayer = {
    code,
    name: nameField(fields, { language: view.language, main: map.project.languages[0] }),
    parentId: parentField(fields),
    sort: numberField(fields, "sort"),
    cssStyle: await styleField(fields, services, map, code),
    ownerId: caller.accountId,
  };
  const { id } =
    kind === "layer"
      ? await createLayer(services.db, map.id, layer)
      : await createFromSource(services, { map, caller, view }, kind, { fields, layer });
  await services.changes.settle({ maps: [map.id] });
  return answerLayer(services, { map, caller, view }, id);
}

async function get(request: Request, services: Services): Promise<Reply> {
  const { map, caller, view } = await visit(request, services);
  requireRead(map, caller);
  const layer = layerOf(map, request);
  requireRead(map, caller, layer);
  const withBox = flag(request.query, "returnBbox");
  const withTimestamp = flag(request.query, "with_timestamp");
  const withAccess = flag(request.query, "with_access");
  const [bbox, timestamp, values] = await Promise.all([
    withBox ? (hasObjects(layer) ? layerBox(services.db, layer.id, 4326) : null) : undefined,
    withTimestamp ? layerTimestamp(services.db, layer.id) : undefined,
    visualValues(services, map, [layer]),
  ]);
  const access = withAccess ? rightsOn(map, caller, layer) : undefined;
  const source = (rightsOn(map, caller, layer) & Right.editStructure) !== 0;
  return answer(
    caller,
    layerObject(map, layer, view, {
      css: true,
      bbox,
      timestamp,
      access,
      source,
      values: values.get(layer.id),
    }),
  );
}

/** The box of a layer that has objects; null when none of them has a geometry. */
async function box(request: Request, services: Services): Promise<Reply> {
  const { map, caller } = await visit(request, services);
  requireRead(map, caller);
  const layer = layerOf(map, request);
  requireRead(map, caller, layer);
  const system = srid(request.query, "bboxSR");
  if (!hasObjects(layer)) throw notFound(`box of layer "${layer.code}"`);
  return answer(caller, await layerBox(services.db, layer.id, system));
}

/** PUT gives what it does not name its default again; PATCH leaves it. The code stays in both. */
async function change(request: Request, services: Services): Promise<Reply> {
  const visitor = await visit(request, services);
  const { map, caller, view } = visitor;
  const layer = changeableLayer(visitor, request);
  const fields = await bodyObject(request);
  const parentId = parentField(fields);
  if (parentId === undefined) throw notFound("parent: parent_id is required");
  const replace = request.method === "PUT";
  const code = textField(fields, "code");
  const context = { language: view.language, main: map.project.languages[0] };
  const name = nameField(fields, replace ? context : { ...context, previous: layer });
  const cssStyle = await styleField(fields, services, map, code ?? layer.code);
  await changeLayer(services.db, map.id, layer.id, {
    code,
    parentId,
    sort: numberField(fields, "sort"),
    name: name ?? (replace ? { name: "", localized: false, names: {} } : undefined),
    // A blank style asks for the default one; so does PUT without a style.
    cssStyle:
      cssStyle ??
      (replace || own(fields, "css_style") !== undefined ? defaultStyle(layer.geometryKind) : undefined),
  });
  await services.changes.settle({ maps: [map.id] });
  return answerLayer(services, { map, caller, view }, layer.id);
}

async function remove(request: Request, services: Services): Promise<Reply> {
  const visitor = await visit(request, services);
  const { map, caller } = visitor;
  const layer = changeableLayer(visitor, request);
  await deleteLayer(services.db, map.id, layer.id);
  await services.changes.settle({ maps: [map.id], layers: [layer.id] });
  return answer(caller, null);
}

/** `css_style` after it compiled as this layer's; undefined when it is absent or blank. */
async function styleField(
  fields: Fields,
  services: Services,
  map: MapState,
  layerCode: string | undefined,
): Promise<string | undefined> {
  const style = cssField(fields);
  if (style === undefined) return undefined;
  await services.styles.compile({
    mapStyle: map.cssStyle,
    layerStyle: style,
    layerCode: layerCode ?? "layer",
    deadlineMs: services.config.style.deadlineMs,
  });
  return style;
}

/** The layer object as it is now. */
async function answerLayer(services: Services, { map, caller, view }: Visit, id: number): Promise<Reply> {
  const now = await services.catalog.map(map.project.code, map.code);
  const node = now.nodes.get(id);
  if (!node) throw notFound("layer of that code");
  const values = (await visualValues(services, now, [node])).get(id);
  return answer(caller, layerObject(now, node, view, { css: true, source: true, values }));
}

export const layerRoutes: Route<Services>[] = [
  { methods: ["POST"], path: `${projectPath}/:map/layers/`, handler: create },
  { methods: ["GET"], path: `${projectPath}/:map/layers/:layer/`, handler: get },
  { methods: ["GET"], path: `${projectPath}/:map/layers/:layer/bbox/`, handler: box },
  { methods: ["PUT", "PATCH"], path: `${projectPath}/:map/layers/:layer/`, handler: change },
  { methods: ["DELETE"], path: `${projectPath}/:map/layers/:layer/`, handler: remove },
];

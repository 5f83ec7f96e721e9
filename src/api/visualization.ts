import { legendOf } from "../catalog/legend.js";
import { requireRead, requireRight } from "../catalog/rights.js";
import { hasObjects, type LayerNode, Right, type StoredSettings } from "../catalog/state.js";
import { withValues } from "../catalog/visual-values.js";
import { readSettings, type SettingsKind, storeSettings } from "../catalog/visualization.js";
import { failed, notFound, required } from "../errors.js";
import type { Reply, Request, Route } from "../http/types.js";
import { answer } from "./caller.js";
import { bodyObject, type Fields, own } from "./input.js";
import { layerObject, projectPath } from "./present.js";
import type { Services } from "./services.js";
import { again, signedInVisit, type Visit, visit } from "./visit.js";
import { visualValues } from "./visuals.js";

/** Visualization and vector settings of a layer, and the legend of a visualization. */

interface Target extends Visit {
  readonly layer: LayerNode;
}

/** The layer of the path, for a user who may change how it looks. */
async function changeable(request: Request, services: Services): Promise<Target> {
  const visitor = await signedInVisit(request, services);
  const layer = visitor.map.layers.get(request.params.layer!);
  if (!layer) throw notFound(`layer "${request.params.layer}"`);
  requireRight(visitor.map, visitor.caller, Right.editStructure, layer);
  if (!hasObjects(layer))
    throw failed("invalid_value", "Only layers of objects have such settings.", { type: layer.type });
  return { ...visitor, layer };
}

/** The layer object after a change of its settings. */
async function changed(target: Target, services: Services): Promise<Reply> {
  await services.changes.settle({ maps: [target.map.id] });
  const { map, caller, view } = await again(target, services);
  const node = map.nodes.get(target.layer.id);
  if (!node) throw notFound("layer of that code");
  const values = (await visualValues(services, map, [node])).get(node.id);
  return answer(caller, layerObject(map, node, view, { css: true, source: true, values }));
}

async function put(
  request: Request,
  services: Services,
  kindOf: (fields: Fields) => SettingsKind,
): Promise<Reply> {
  const target = await changeable(request, services);
  const { map, layer } = target;
  const fields = await bodyObject(request);
  const kind = kindOf(fields);
  const settings = await computed(services, target, kind, readSettings(layer, kind, own(fields, kind)));
  await storeSettings(services.db, { mapId: map.id, layerId: layer.id }, kind, settings);
  return changed(target, services);
}

/** With what a visualization shows of the objects now, so that there is something to show whenever that takes long. */
async function computed(
  services: Services,
  { map, layer }: Target,
  kind: SettingsKind,
  settings: StoredSettings,
): Promise<StoredSettings> {
  if (kind !== "visualSettings") return settings;
  const main = map.project.languages[0];
  return withValues(settings, await services.visuals.current({ ...layer, visualSettings: settings }, main));
}

/** The one kind of settings that the body holds. @throws Failure required_parameters, invalid_value */
function visualKind(fields: Fields): SettingsKind {
  const simple = own(fields, "visualSettings") !== undefined;
  const custom = own(fields, "visualCustomSettings") !== undefined;
  if (simple && custom)
    throw failed("invalid_value", "A layer has visualSettings or visualCustomSettings, not both.");
  if (!simple && !custom) throw required(["visualSettings"]);
  return simple ? "visualSettings" : "visualCustomSettings";
}

function vectorKind(fields: Fields): SettingsKind {
  if (own(fields, "vectorSettings") === undefined) throw required(["vectorSettings"]);
  return "vectorSettings";
}

async function drop(request: Request, services: Services, kind: SettingsKind): Promise<Reply> {
  const target = await changeable(request, services);
  await storeSettings(services.db, { mapId: target.map.id, layerId: target.layer.id }, kind, null);
  return changed(target, services);
}

async function getLegend(request: Request, services: Services): Promise<Reply> {
  const { map, caller, view } = await visit(request, services);
  requireRead(map, caller);
  const layer = map.layers.get(request.params.layer!);
  if (layer) requireRead(map, caller, layer);
  if (!layer?.visualSettings) throw notFound(`visualization layer "${request.params.layer}"`);
  const main = map.project.languages[0];
  const values = await services.visuals.current(layer, main);
  return answer(
    caller,
    legendOf(layer, { settings: layer.visualSettings, values }, { language: view.language, main }),
  );
}

const layerPath = `${projectPath}/:map/layers/:layer`;

export const visualizationRoutes: Route<Services>[] = [
  {
    methods: ["PUT"],
    path: `${layerPath}/visualization/`,
    handler: (request, services: Services) => put(request, services, visualKind),
  },
  {
    methods: ["DELETE"],
    path: `${layerPath}/visualization/`,
    handler: (request, services: Services) => drop(request, services, "visualSettings"),
  },
  {
    methods: ["PUT"],
    path: `${layerPath}/vector/`,
    handler: (request, services: Services) => put(request, services, vectorKind),
  },
  {
    methods: ["DELETE"],
    path: `${layerPath}/vector/`,
    handler: (request, services: Services) => drop(request, services, "vectorSettings"),
  },
  { methods: ["GET"], path: `${layerPath}/legend/`, handler: getLegend },
];

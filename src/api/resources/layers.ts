import { rightsOn } from "../../access/rights.js";
import { layerTimestamp } from "../../catalog/layers.js";
import { hasObjects, Right } from "../../catalog/state.js";
import { notFound } from "../../errors.js";
import { boxOf } from "../../features/layer-boxes.js";
import type { Reply, Request } from "../../http/types.js";
import { answer, callerHeaders } from "../request/caller.js";
import { layerContext, toRead } from "../request/context.js";
import { answers, type Input, type Operation, operation } from "../request/operation.js";
import { layerPath } from "../request/paths.js";
import { versionOfObjects } from "../request/public-answers.js";
import { flag, srid } from "../request/schema/parameters.js";
import { ref } from "../request/schema/schema.js";
import type { Services } from "../services.js";
import { layerObject, layerResource } from "./present.js";
import { visualValues } from "./visual-values.js";

/** Layers and their bounding boxes. `layer-edits.ts` creates and changes layers. */

const getParameters = {
  returnBbox: flag("Whether to include the bounding box of the layer, in EPSG:4326."),
  with_timestamp: flag("Whether to include the time of the last change."),
  with_access: flag("Whether to include the caller's rights."),
};

async function get(
  request: Request,
  services: Services,
  { query }: Input<typeof getParameters, undefined>,
): Promise<Reply> {
  const { map, layer, caller, view } = await layerContext(request, services, toRead);
  const parameters = query();
  const [bbox, timestamp, values] = await Promise.all([
    parameters.returnBbox ? boxOf(services.boxes, services.db, layer, 4326) : undefined,
    parameters.with_timestamp ? layerTimestamp(services.db, layer.id) : undefined,
    visualValues(services, map, [layer]),
  ]);
  const rights = rightsOn(map, caller, layer);
  return answer(
    caller,
    layerObject(map, layer, view, {
      css: true,
      bbox,
      timestamp,
      access: parameters.with_access ? rights : undefined,
      source: (rights & Right.editStructure) !== 0,
      values: values.get(layer.id),
    }),
  );
}

const boxParameters = { bboxSR: srid("Coordinate system (EPSG) of the bounding box.") };

/** The bounding box of a layer; null when no object has a geometry. */
async function box(
  request: Request,
  services: Services,
  { query }: Input<typeof boxParameters, undefined>,
): Promise<Reply> {
  const context = await layerContext(request, services, toRead);
  const { layer, caller } = context;
  const { bboxSR } = query();
  if (!hasObjects(layer) && !layer.raster) throw notFound(`box of layer "${layer.code}"`);
  const version = await versionOfObjects(request, services, context);
  if (version?.unchanged) return version.unchanged;
  const value = await boxOf(services.boxes, services.db, layer, bboxSR);
  return { kind: "json", value, headers: { ...callerHeaders(caller), ...version?.whenRead() } };
}

export const layerOperations: readonly Operation[] = [
  operation({
    id: "getLayer",
    tag: "Layers",
    summary: "Get a layer",
    methods: ["GET"],
    path: `${layerPath}/`,
    isKeptByCdn: true,
    shows: layerResource,
    query: getParameters,
    answer: answers("The layer.", ref("Layer")),
    handle: get,
  }),
  operation({
    id: "getLayerBox",
    tag: "Layers",
    summary: "Get the bounding box of a layer",
    details: "404 for layers without objects or an image.",
    methods: ["GET"],
    path: `${layerPath}/bbox/`,
    query: boxParameters,
    answer: answers("The bounding box; null when no object has a geometry.", {
      anyOf: [ref("Box"), { type: "null" }],
    }),
    handle: box,
  }),
];

import { rightsOn } from "../../access/rights.js";
import { layerTimestamp } from "../../catalog/layers.js";
import { hasObjects, Right } from "../../catalog/state.js";
import { notFound } from "../../errors.js";
import { layerBox } from "../../features/bbox.js";
import type { Reply, Request } from "../../http/types.js";
import { answer } from "../request/caller.js";
import { layerContext, toRead } from "../request/context.js";
import { answers, type Input, type Operation, operation } from "../request/operation.js";
import { layerPath } from "../request/paths.js";
import { flag, srid } from "../request/schema/parameters.js";
import { ref } from "../request/schema/schema.js";
import type { Services } from "../services.js";
import { layerObject } from "./present.js";
import { visualValues } from "./visual-values.js";

/** Layers as they are, and their boxes. `layer-edit.ts` makes and changes them. */

const getParameters = {
  returnBbox: flag("Whether the layer comes with the box of its objects, in EPSG:4326."),
  with_timestamp: flag("Whether it comes with the moment of its last change."),
  with_access: flag("Whether it comes with the caller's rights on it."),
};

async function get(
  request: Request,
  services: Services,
  { query }: Input<typeof getParameters, undefined>,
): Promise<Reply> {
  const { map, layer, caller, view } = await layerContext(request, services, toRead);
  const parameters = query();
  const [bbox, timestamp, values] = await Promise.all([
    parameters.returnBbox ? (hasObjects(layer) ? layerBox(services.db, layer.id, 4326) : null) : undefined,
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

const boxParameters = { bboxSR: srid("Reference system of the box.") };

/** The box of a layer that has objects; null when none of them has a geometry. */
async function box(
  request: Request,
  services: Services,
  { query }: Input<typeof boxParameters, undefined>,
): Promise<Reply> {
  const { layer, caller } = await layerContext(request, services, toRead);
  const { bboxSR } = query();
  if (!hasObjects(layer)) throw notFound(`box of layer "${layer.code}"`);
  return answer(caller, await layerBox(services.db, layer.id, bboxSR));
}

export const layerOperations: readonly Operation[] = [
  operation({
    id: "getLayer",
    tag: "Layers",
    summary: "A layer",
    methods: ["GET"],
    path: `${layerPath}/`,
    query: getParameters,
    answer: answers("The layer.", ref("Layer")),
    handle: get,
  }),
  operation({
    id: "getLayerBox",
    tag: "Layers",
    summary: "The box around a layer's objects",
    details: "For layers of objects; others are answered with 404.",
    methods: ["GET"],
    path: `${layerPath}/bbox/`,
    query: boxParameters,
    answer: answers("The box; null when no object has a geometry.", {
      anyOf: [ref("Box"), { type: "null" }],
    }),
    handle: box,
  }),
];

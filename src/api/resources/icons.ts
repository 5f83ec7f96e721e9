import { mayRead, requireRead } from "../../access/rights.js";
import { type LayerNode, type MapState, publicCaller } from "../../catalog/state.js";
import { Failure, notFound } from "../../errors.js";
import { pictureTag } from "../../hosts/pictures.js";
import type { Reply, Request } from "../../http/types.js";
import { StyleTimeout } from "../../style/compiler.js";
import type { CompiledStyle } from "../../style/model.js";
import { swatchOf, swatchSvg } from "../../style/swatch.js";
import { drawsStatistics, isVisualized, visualStyle } from "../../visual/style.js";
import { callerOrPublic, usedToken } from "../request/caller.js";
import { type Input, type Operation, operation } from "../request/operation.js";
import { layerPath } from "../request/paths.js";
import { binary } from "../request/schema/bodies.js";
import { integer } from "../request/schema/parameters.js";
import type { Services } from "../services.js";
import { describedHeaders, pictureHeaders, pictureReply } from "./images.js";

/** Icons of layers, drawn from their styles. */

const iconParameters = {
  size: integer("Width and height in pixels.", { least: 1, most: 1024 }).default(32),
};

async function icon(
  request: Request,
  services: Services,
  { query }: Input<typeof iconParameters, undefined>,
): Promise<Reply> {
  const { project = "", map: mapCode = "", layer: layerCode = "" } = request.params;
  const map = await services.catalog.map(project, mapCode);
  const layer = map.layers.get(layerCode);
  const caller = await callerOrPublic(request, services, map.project, () =>
    mayRead(map, publicCaller, layer),
  );
  requireRead(map, caller, layer);
  if (!layer) throw notFound(`layer "${layerCode}"`);
  const { size } = query();
  const style = isVisualized(layer)
    ? await visualStyleOf(services, map, layer)
    : await styleOf(services, map, layer);
  const svg = swatchSvg(swatchOf(style ?? noStyle, layer.geometryKind));
  const headers = style || usedToken(caller) ? pictureHeaders(services, { map, layer, caller }) : notCached;
  return pictureReply(request, pictureTag({ svg, size }), headers, () =>
    services.pictures.drawn({ svg, size }),
  );
}

const noStyle: CompiledStyle = { styles: [], fields: [], bufferPixels: 1 };
/** For an icon without its style, which may differ on the next request. */
const notCached = { "cache-control": "no-store" };

/** The style of the layer's visualization; undefined when its statistics are not there in time. */
async function visualStyleOf(
  services: Services,
  map: MapState,
  layer: LayerNode,
): Promise<CompiledStyle | undefined> {
  const needed = drawsStatistics(layer);
  const values = needed ? await services.visuals.current(layer, map.project.languages[0]) : undefined;
  // A class with an icon has the symbol of one without.
  return needed && !values ? undefined : visualStyle(layer, values, () => undefined);
}

/**
 * The compiled style of the layer. A stored style that no longer compiles is empty. Undefined when compiling timed out.
 */
async function styleOf(
  services: Services,
  map: MapState,
  layer: LayerNode,
): Promise<CompiledStyle | undefined> {
  try {
    const { deadlineMs } = services.config.style;
    const { style } = await services.styles.compile(
      { mapStyle: map.cssStyle, layerStyle: layer.cssStyle, layerCode: layer.code, deadlineMs },
      { project: map.project.id, stored: true },
    );
    return style;
  } catch (error) {
    if (error instanceof StyleTimeout) return undefined;
    if (error instanceof Failure && error.code === "invalid_style") return noStyle;
    throw error;
  }
}

export const iconOperations: readonly Operation[] = [
  operation({
    id: "getIcon",
    tag: "Layers",
    summary: "Get the icon of a layer",
    details:
      "Rendered from the layer's style or visualization: it shows the geometry type, colours and sizes.",
    methods: ["GET"],
    path: `${layerPath}/icon/`,
    query: iconParameters,
    answer: { description: "The icon.", content: { "image/png": binary }, headers: describedHeaders },
    handle: icon,
  }),
];

import { mayRead, requireRead } from "../../access/rights.js";
import { type Caller, type LayerNode, type MapState, publicCaller } from "../../catalog/state.js";
import { busy, notFound } from "../../errors.js";
import { pictureTag } from "../../hosts/pictures.js";
import type { Reply, Request } from "../../http/types.js";
import type { CompiledStyle } from "../../style/model.js";
import { swatchOf, swatchSvg } from "../../style/swatch.js";
import { drawsStatistics, isVisualized, visualStyle } from "../../visual/style.js";
import { callerOrPublic, imageUser, usedToken } from "../request/caller.js";
import { type Input, type Operation, operation } from "../request/operation.js";
import { layerPath } from "../request/paths.js";
import { binary } from "../request/schema/bodies.js";
import { integer } from "../request/schema/parameters.js";
import type { Services } from "../services.js";
import { describedHeaders, pictureHeaders, pictureReply } from "./images.js";
import { classSymbol, type DrawnSymbol, imageSymbol, noStyle, styleOf } from "./layer-symbols.js";

/** Icons of layers, drawn from their styles. */

const iconParameters = {
  size: integer("Width and height in pixels.", { least: 1, most: 1024 }).default(32),
  class: integer("Number of a class of the layer's legend, from 0: its symbol.", {
    least: 0,
    most: 10_000,
  }).optional(),
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
  const { size, class: at } = query();
  if (at !== undefined) {
    const symbol = await classSymbol(services, { map, layer }, { at, size });
    if (symbol === undefined) throw notFound("class of that number");
    if (symbol === null) throw busy("What the symbol depends on takes too long now.");
    return symbolReply(request, services, { map, layer, caller }, symbol);
  }
  const style = isVisualized(layer)
    ? await visualStyleOf(services, map, layer)
    : await styleOf(services, map, layer);
  const image = layer.raster && style ? imageSymbol(layer, style, size) : undefined;
  if (image) return symbolReply(request, services, { map, layer, caller }, image);
  const svg = swatchSvg(swatchOf(style ?? noStyle, layer.geometryKind));
  const headers = style || usedToken(caller) ? pictureHeaders(services, { map, layer, caller }) : notCached;
  return pictureReply(request, pictureTag({ svg, size }), headers, () =>
    services.pictures.drawn({ svg, size }, imageUser(request, caller)),
  );
}

const symbolReply = (
  request: Request,
  services: Services,
  context: { readonly map: MapState; readonly layer: LayerNode; readonly caller: Caller },
  { request: wanted, pictures, blob }: DrawnSymbol,
): Promise<Reply> =>
  pictureReply(request, pictureTag(wanted), pictureHeaders(services, context), () =>
    services.pictureFolder.use(pictures, () =>
      services.pictures.symbol(wanted, imageUser(request, context.caller), blob),
    ),
  );

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

export const iconOperations: readonly Operation[] = [
  operation({
    id: "getIcon",
    tag: "Layers",
    counts: "pictures",
    summary: "Get the icon of a layer",
    details:
      "Rendered from the layer's style or visualization: it shows the geometry type, colours and sizes; of a raster layer " +
      "the image. With `class` the symbol of a class of the legend, as tiles have it.",
    methods: ["GET"],
    path: `${layerPath}/icon/`,
    query: iconParameters,
    answer: { description: "The icon.", content: { "image/png": binary }, headers: describedHeaders },
    handle: icon,
  }),
];

import { mayRead, requireRead } from "../../access/rights.js";
import { type Caller, publicCaller } from "../../catalog/state.js";
import { notKept } from "../../cdn/headers.js";
import { busy, notFound } from "../../errors.js";
import { pictureTag } from "../../hosts/pictures.js";
import type { Headers, Reply, Request } from "../../http/types.js";
import { BlobNotFound } from "../../storage/blob-store.js";
import { swatchOf, swatchSvg } from "../../style/swatch.js";
import { callerOrPublic, imageUser, usedToken } from "../request/caller.js";
import { type Input, type Operation, operation } from "../request/operation.js";
import { layerPath } from "../request/paths.js";
import { binary } from "../request/schema/bodies.js";
import { integer } from "../request/schema/parameters.js";
import type { Services } from "../services.js";
import { describedHeaders, pictureHeaders, pictureReply } from "./images.js";
import { classSymbol, type DrawnSymbol, layerSymbol, noStyle } from "./layer-symbols.js";

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
  given: Services,
  { query }: Input<typeof iconParameters, undefined>,
): Promise<Reply> {
  const { project = "", map: mapCode = "", layer: layerCode = "" } = request.params;
  const map = await given.catalog.map(project, mapCode);
  const layer = map.layers.get(layerCode);
  const isPublic = () => mayRead(map, publicCaller, layer);
  const caller = await callerOrPublic(request, given, map.project, isPublic, map);
  requireRead(map, caller, layer);
  if (!layer) throw notFound(`layer "${layerCode}"`);
  const { size, class: at } = query();
  const whenRead = await pictureHeaders(given, { map, layer, caller });
  let isCurrent = true;
  const visuals = given.visuals.noting(() => {
    isCurrent = false;
  });
  const services = { ...given, visuals };
  const headers = () => (isCurrent || usedToken(caller) ? whenRead() : notKept);
  if (at !== undefined) {
    const symbol = await classSymbol(services, { map, layer }, { at, size });
    if (symbol === undefined) throw notFound("class of that number");
    if (symbol === null) throw busy("What the symbol depends on takes too long now.");
    const reply = await symbolReply(request, services, { caller, headers }, symbol);
    if (!reply) throw busy("A file that the symbol shows is away.");
    return reply;
  }
  const symbol = await layerSymbol(services, { map, layer }, size);
  const reply = symbol && (await symbolReply(request, services, { caller, headers }, symbol));
  if (reply) return reply;
  // Nothing is drawn of the layer, or what it depends on is not there in time.
  if (symbol !== undefined) isCurrent = false;
  const svg = swatchSvg(swatchOf(noStyle, layer.geometryKind));
  return pictureReply(request, { tag: pictureTag({ svg, size }), headers }, () =>
    services.pictures.drawn({ svg, size }, imageUser(request, caller)),
  );
}

/** A picture that a symbol shows cannot be had just now. */
class PictureGone extends Error {}

/** Undefined when a file that it shows cannot be had just now. */
async function symbolReply(
  request: Request,
  services: Services,
  { caller, headers }: { readonly caller: Caller; readonly headers: () => Headers },
  { request: wanted, pictures, blob }: DrawnSymbol,
): Promise<Reply | undefined> {
  try {
    return await pictureReply(request, { tag: pictureTag(wanted), headers }, () =>
      services.pictureFolder.use(pictures, ([gone]) => {
        if (gone) throw new PictureGone(`The picture ${gone[0]} of a symbol is away.`, { cause: gone[1] });
        return services.pictures.symbol(wanted, imageUser(request, caller), blob);
      }),
    );
  } catch (error) {
    if (!(error instanceof PictureGone || error instanceof BlobNotFound)) throw error;
    services.log.warn({ err: error }, "a symbol cannot be drawn just now");
    return undefined;
  }
}

export const iconOperations: readonly Operation[] = [
  operation({
    id: "getIcon",
    tag: "Layers",
    counts: "pictures",
    takesTileKey: true,
    summary: "Get the icon of a layer",
    details:
      "The symbol of the layer as tiles have it: that of the objects in no other class, else of the first class of its " +
      "legend, of a heat map the last; of a raster layer the image. With `class` the symbol of that class.",
    methods: ["GET"],
    path: `${layerPath}/icon/`,
    query: iconParameters,
    answer: { description: "The icon.", content: { "image/png": binary }, headers: describedHeaders },
    handle: icon,
  }),
];

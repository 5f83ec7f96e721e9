import { mayRead } from "../../access/rights.js";
import type { LayerNode, MapState } from "../../catalog/state.js";
import { badRequest, busy, failed } from "../../errors.js";
import type { Reply, Request } from "../../http/types.js";
import { tileFormats } from "../../tiles/formats.js";
import { namesOf } from "../../tiles/missing-layer.js";
import { drawnLayers } from "../../tiles/selection.js";
import { OutdatedPlan } from "../../tiles/tile-service.js";
import { readSettings, settingsJsonSchemas } from "../../visual/settings.js";
import { clientOf } from "../request/caller.js";
import { checkStyle } from "../request/check-style.js";
import { type LayerContext, layerContext, toEditStructure } from "../request/context.js";
import { type Input, type Operation, operation } from "../request/operation.js";
import { layerPath } from "../request/paths.js";
import { binary, jsonValue } from "../request/schema/bodies.js";
import { isObject, own, style } from "../request/schema/fields.js";
import { reader } from "../request/schema/read.js";
import { objectSchema } from "../request/schema/schema.js";
import { sizes } from "../request/schema/sizes.js";
import type { Services } from "../services.js";
import { defaultStyleOf } from "./layer-edits.js";
import { addressOf, contractCoord, contractParameters } from "./tile-parameters.js";
import {
  type GivenSettings,
  requireObjects,
  visualFields,
  visualSettingsIn,
  withCurrentValues,
  withSettings,
} from "./visualization.js";

/** A tile with a style or visualization of a layer that is not saved. */

const cssField = {
  css_style: style("CartoCSS of the layer; blank = the default style.").optional(),
};
const readStyle = reader(cssField);

/** What the layer is to be drawn by. */
type Given = { readonly css: string } | GivenSettings;

const fields = { ...cssField, ...visualFields };

const previewBody = jsonValue<Given>(
  {
    anyOf: [
      objectSchema(fields),
      settingsJsonSchemas.visualSettings,
      settingsJsonSchemas.visualCustomSettings,
    ],
  },
  (body) => {
    if (!isObject(body)) throw badRequest("The body must be a JSON object.");
    const { css_style: css } = readStyle({ get: (name) => own(body, name) });
    if (css === undefined) return visualSettingsIn(body);
    if (own(body, "visualSettings") || own(body, "visualCustomSettings"))
      throw failed("invalid_value", "A layer is drawn by css_style or by a visualization, not by both.");
    return { css };
  },
  sizes.styled,
);

async function preview(
  request: Request,
  services: Services,
  { query, body }: Input<typeof contractParameters, Given>,
): Promise<Reply> {
  const context = await layerContext(request, services, toEditStructure);
  const { map, layer, caller } = context;
  const given = await body();
  const parameters = query();
  const coord = contractCoord(parameters);
  const shown = withLayer(map, await dressed(services, { ...context, request }, given));
  const others = drawnLayers(map, undefined, (one) => mayRead(map, caller, one));
  // The layer is looked at, whether the map shows it or not.
  const layers = parameters.layers ?? [...others.map(({ id }) => id), layer.id];
  const address = addressOf(coord, parameters.f, { ...parameters, layers });
  const plan = await services.planner.tried(shown, caller, address);
  const { format, quality } = address;
  const client = clientOf(request, caller);
  const tile = await services.tiles
    .tried({ plan, coord, format, quality, client, signal: () => request.signal })
    .catch((error: unknown) => {
      throw error instanceof OutdatedPlan ? busy("The database was just restored.", 1) : error;
    });
  return {
    kind: "bytes",
    body: tile.bytes,
    headers: {
      "content-type": format.mediaType,
      "cache-control": "private, no-store",
      ...(tile.missing && { "x-tile-incomplete": namesOf(tile.missing) }),
    },
  };
}

/** What clients draw is on no tile. */
const raster = { renderType: 0 } as const;

/** The layer as it would be if that was saved. @throws Failure as saving it */
async function dressed(
  services: Services,
  context: LayerContext & { readonly request: Request },
  given: Given,
): Promise<LayerNode> {
  const { map } = context;
  const layer = { ...context.layer, isTried: true };
  if ("css" in given) {
    const cssStyle = given.css || defaultStyleOf(layer);
    const sheets = { mapStyle: map.cssStyle, layerStyle: cssStyle, layerCode: layer.code };
    await checkStyle(services, map.project, sheets, layer);
    const plain = { visualSettings: null, visualCustomSettings: null, styleMode: 2 } as const;
    return { ...layer, ...raster, ...plain, cssStyle };
  }
  requireObjects(layer);
  const checked = readSettings(layer, given.kind, given.settings, services.plugins);
  const settings = await withCurrentValues(services, { ...context, layer }, given, checked);
  return { ...layer, ...raster, ...withSettings(given.kind, settings) };
}

/** The map with another state of a layer. */
function withLayer(map: MapState, layer: LayerNode): MapState {
  const children = [...map.children].map(
    ([id, nodes]) => [id, nodes.map((node) => (node.id === layer.id ? layer : node))] as const,
  );
  return {
    ...map,
    nodes: new Map(map.nodes).set(layer.id, layer),
    layers: new Map(map.layers).set(layer.code, layer),
    children: new Map(children),
  };
}

export const previewOperations: readonly Operation[] = [
  operation({
    id: "previewLayer",
    tag: "Layers",
    counts: "tiles",
    summary: "Try a style or visualization on a tile",
    details:
      "The tile of the map as it would be if the style or the visualization of the body was saved. Nothing is. The layer is on it, " +
      "whether the map shows it or not. For who may change the style.",
    access: "token",
    methods: ["POST"],
    path: `${layerPath}/preview/`,
    changes: { unconditionally: "It saves nothing." },
    query: contractParameters,
    body: previewBody,
    answer: {
      description: "The tile. It is kept nowhere.",
      content: Object.fromEntries(tileFormats.map(({ mediaType }) => [mediaType, binary])),
      headers: {
        "X-Tile-Incomplete": "Codes of layers that cannot be drawn just then, after commas.",
      },
    },
    refuses: ["invalid_style", "invalid_value", "unknown_column", "required_parameters"],
    handle: preview,
  }),
];

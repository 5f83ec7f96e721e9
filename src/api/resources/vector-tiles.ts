import { promisify } from "node:util";
import { gunzip } from "node:zlib";
import { localName, type MapState } from "../../catalog/state.js";
import type { TileCoord } from "../../geo/tile.js";
import { CachedAnswer } from "../../http/cached.js";
import { acceptsGzip } from "../../http/headers.js";
import type { Headers, Reply, Request } from "../../http/types.js";
import { networkOf } from "../../queues/clients.js";
import { mvt } from "../../tiles/vector/address.js";
import { attributesOf } from "../../tiles/vector/attributes.js";
import type { VectorLayer } from "../../tiles/vector/planner.js";
import { isCompressed } from "../../tiles/vector/tile.js";
import { answers, type Input, type Operation, operation } from "../request/operation.js";
import type { Values } from "../request/schema/schema.js";
import type { Services } from "../services.js";
import {
  addressKey,
  headerBytes,
  ownAttribution,
  readableMap,
  tileAccess,
  tileHeaders,
  tileJsonOf,
  tileJsonSchema,
} from "./tile-answer.js";
import { vectorParameters } from "./tile-parameters.js";
import { layerScopes } from "./tile-scopes.js";

/** Vector tiles, and the TileJSON that lists their layers. */

interface VectorRequest extends Values<typeof vectorParameters> {
  readonly coord: TileCoord;
}

/** The vector tile of a request. It is kept compressed unless it is small, and decompressed for clients that do not take it so. */
export async function vectorTile(
  request: Request,
  services: Services,
  { coord, layers, lng }: VectorRequest,
): Promise<Reply> {
  const { body, headers } = await services.vectorAnswers.make({
    access: () => tileAccess(request, services),
    address: { coord, layers, language: lng, format: mvt, quality: 0 },
    client: networkOf(request.remoteAddress),
    signal: () => request.signal,
    answer: (drawn) => {
      const { tile } = drawn;
      const encoding = isCompressed(tile.bytes) ? "gzip" : undefined;
      // Other bytes need another ETag.
      const etag = `"${tile.hash}${encoding ? "-gzip" : ""}"`;
      const headers: Headers = {
        "content-type": mvt.mediaType,
        ...(encoding && { "content-encoding": encoding }),
        vary: "Accept-Encoding",
        ...tileHeaders(services, drawn, coord, etag),
      };
      return new CachedAnswer(etag, tile.bytes, headers, encoding);
    },
    bytes: ({ tile }, answer) => headerBytes(answer) + tile.bytes.length,
  });
  const { "content-encoding": encoding, ...others } = headers;
  if (encoding === undefined || acceptsGzip(request.header("accept-encoding")))
    return { kind: "bytes", body, headers };
  return {
    kind: "bytes",
    body: await decompress(body),
    headers: { ...others, ...(headers.etag && { etag: headers.etag.replace("-gzip", "") }) },
  };
}

const decompress = promisify(gunzip);

async function vectorTileJson(
  request: Request,
  services: Services,
  { query }: Input<typeof vectorParameters, undefined>,
): Promise<Reply> {
  const { map, caller, isPublic } = await readableMap(request, services, { takesTileKey: true });
  const { layers, lng } = query();
  const shown = await services.vectorPlanner.layers(map, caller, layers);
  const scopes = await layerScopes(
    services,
    map,
    shown.map(({ layer }) => layer),
  );
  const kept = new URLSearchParams();
  if (layers !== undefined) kept.set("layers", layers.join(","));
  if (lng !== undefined) kept.set("lng", lng);
  const key = await addressKey(request, services, { map, caller });
  if (key !== undefined) kept.set("key", key);
  return tileJsonOf(request, {
    map,
    isPublic,
    language: lng,
    tiles: `{z}/{x}/{y}.${mvt.name}${kept.size > 0 ? `?${kept}` : ""}`,
    attribution: ownAttribution(map),
    scopes,
    isEverywhere: false,
    // From the bottom to the top, as in the tiles.
    more: { vector_layers: shown.toReversed().map((layer) => described(map, layer, lng)) },
  });
}

function described(map: MapState, { layer, zooms }: VectorLayer, language: string | undefined) {
  const main = map.project.languages[0];
  return {
    id: layer.code,
    description: localName(layer, language ?? main, main),
    minzoom: zooms.min,
    maxzoom: zooms.max,
    fields: Object.fromEntries(attributesOf(layer).map(({ code, type }) => [code, type])),
  };
}

const vectorLayersSchema = {
  type: "array",
  description: "The layers of the tiles, in the order in which they are drawn.",
  items: {
    type: "object",
    required: ["id", "description", "minzoom", "maxzoom", "fields"],
    properties: {
      id: { type: "string", description: "Code of the layer" },
      description: { type: "string", description: "Name of the layer" },
      minzoom: { type: "integer", description: "Lowest zoom at which its style draws something" },
      maxzoom: { type: "integer" },
      fields: {
        type: "object",
        description: "Types of the attributes by code of the column.",
        additionalProperties: { enum: ["Number", "Boolean", "String"] },
      },
    },
  },
};

export const vectorTileOperations: readonly Operation[] = [
  operation({
    id: "getVectorTileJson",
    tag: "Tiles",
    summary: "Get the TileJSON of a map's vector tiles",
    details: "TileJSON 3.0.0. The parameters are added to the tile URLs.",
    takesTileKey: true,
    methods: ["GET"],
    path: "/tms/:project/:map/tile.mvt.json",
    query: vectorParameters,
    answer: answers("A TileJSON document.", {
      ...tileJsonSchema,
      required: [...tileJsonSchema.required, "vector_layers"],
      properties: { ...tileJsonSchema.properties, vector_layers: vectorLayersSchema },
    }),
    handle: vectorTileJson,
  }),
];

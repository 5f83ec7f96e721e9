import { baseMapOf, type MapState } from "../../catalog/state.js";
import { seenLayers } from "../../export/tile-extent.js";
import { flipY, type TileCoord } from "../../geo/tile.js";
import { CachedAnswer } from "../../http/cached.js";
import type { Reply, Request } from "../../http/types.js";
import { networkOf } from "../../queues/clients.js";
import type { TileAddress } from "../../tiles/address.js";
import { tileFormats } from "../../tiles/formats.js";
import { mvt } from "../../tiles/vector/address.js";
import { type Answer, answers, type Input, type Operation, operation } from "../request/operation.js";
import { binary } from "../request/schema/bodies.js";
import type { Values } from "../request/schema/schema.js";
import type { Services } from "../services.js";
import {
  addressKey,
  describedTileHeaders,
  headerBytes,
  ownAttribution,
  readableMap,
  tileAccess,
  tileHeaders,
  tileJsonOf,
  tileJsonSchema,
} from "./tile-answer.js";
import {
  addressOf,
  contractCoord,
  contractParameters,
  mapTileParameters,
  pathTile,
  tileParameters,
  vectorPathTile,
} from "./tile-parameters.js";
import { describedScopes, layerScopes, scopesSchema } from "./tile-scopes.js";
import { vectorTile } from "./vector-tiles.js";

/** Tiles by TMS query or XYZ path, and TileJSON. Invalid coordinates are refused before anything else is done. */

function contractTile(
  request: Request,
  services: Services,
  { query }: Input<typeof contractParameters, undefined>,
): Promise<Reply> {
  const parameters = query();
  return answer(request, services, addressOf(contractCoord(parameters), parameters.f, parameters));
}

type ByPath = Input<typeof tileParameters, undefined>;

/** @param placed the tile of the coordinates in the path */
const tileByPath =
  (placed: (coord: TileCoord) => TileCoord) =>
  (request: Request, services: Services, { query }: ByPath): Promise<Reply> => {
    const { z, x, tile } = request.params as { z: string; x: string; tile: string };
    const vector = vectorPathTile(z, x, tile);
    if (vector) return vectorTile(request, services, { coord: placed(vector), ...query() });
    const { coord, scale, format } = pathTile(z, x, tile);
    const parameters = query();
    return answer(
      request,
      services,
      addressOf(placed(coord), format, scale === undefined ? parameters : { ...parameters, retina: scale }),
    );
  };

const fromNorth = tileByPath((coord) => coord);
const fromSouth = tileByPath(({ z, x, y }) => ({ z, x, y: flipY(z, y) }));

async function answer(request: Request, services: Services, address: TileAddress): Promise<Reply> {
  const { body, headers } = await services.tileAnswers.make({
    access: () => tileAccess(request, services),
    address,
    client: networkOf(request.remoteAddress),
    signal: () => request.signal,
    answer: (drawn) => {
      const { tile } = drawn;
      // Weak: the same pixels may come in fewer bytes later.
      const etag = `W/"${tile.hash}"`;
      return new CachedAnswer(etag, tile.bytes, {
        "content-type": address.format.mediaType,
        ...tileHeaders(services, drawn, address.coord, etag),
      });
    },
    // Solid tiles share their bytes.
    bytes: ({ tile }, answer) => headerBytes(answer) + (tile.solid === undefined ? tile.bytes.length : 0),
  });
  return { kind: "bytes", body, headers };
}

async function tileJson(
  request: Request,
  services: Services,
  { query }: Input<typeof mapTileParameters, undefined>,
): Promise<Reply> {
  const { map, caller, isPublic } = await readableMap(request, services, { takesTileKey: true });
  const parameters = query();
  const key = await addressKey(request, services, { map, caller });
  const scopes = await layerScopes(services, map, seenLayers(map, caller, parameters.layers));
  const tiles = `{z}/{x}/{y}.${parameters.f.name}${queryOf(parameters, key)}`;
  return tileJsonOf(request, {
    map,
    isPublic,
    language: parameters.lng,
    tiles,
    attribution: attribution(map, parameters.base === 1),
    scopes,
    isEverywhere: parameters.base === 1 && baseMapOf(map).kind !== "none",
    more: { layers: describedScopes(map, scopes, parameters.lng) },
  });
}

/** The attribution in the map settings, and those of the base map if it is drawn and of external layers. */
export function attribution(map: MapState, hasBase = true): string {
  const own = ownAttribution(map);
  const baseMap = baseMapOf(map);
  const base =
    baseMap.kind === "builtin"
      ? ["Natural Earth", "GeoNames", "GSHHG"]
      : baseMap.kind === "tiles"
        ? [baseMap.attribution ?? ""]
        : [];
  const layers = [...map.layers.values()].map(({ source }) =>
    source && "url" in source ? source.attribution : "",
  );
  const others = new Set([...(hasBase ? base : []), ...layers]);
  return [own, ...[...others].filter((one) => !own.includes(one))].filter(Boolean).join(", ");
}

/** The query for the tile URLs. It never has the token, because tile URLs are often shared. */
function queryOf(
  { base, layers, lng, q }: Values<typeof mapTileParameters>,
  key: string | undefined,
): string {
  const kept = new URLSearchParams();
  if (base === 0) kept.set("base", "0");
  if (layers !== undefined) kept.set("layers", layers.join(","));
  if (lng !== undefined) kept.set("lng", lng);
  if (q !== 0) kept.set("q", String(q));
  if (key !== undefined) kept.set("key", key);
  return kept.size > 0 ? `?${kept}` : "";
}

const tileImage: Answer = {
  description: "The tile; empty tiles are returned as well.",
  content: Object.fromEntries(tileFormats.map(({ mediaType }) => [mediaType, binary])),
  headers: describedTileHeaders,
};

const tileOrVectors: Answer = {
  ...tileImage,
  content: { ...tileImage.content, [mvt.mediaType]: binary },
};

export const tileOperations: readonly Operation[] = [
  operation({
    id: "getTile",
    tag: "Tiles",
    summary: "Get a map tile (TMS)",
    details:
      "`y` is counted from the south (TMS). A tile requested after the response to an edit shows that edit.",
    takesTileKey: true,
    methods: ["GET"],
    path: "/tms/:project/:map/",
    query: contractParameters,
    answer: tileImage,
    handle: contractTile,
  }),
  operation({
    id: "getTileByPath",
    tag: "Tiles",
    summary: "Get a map tile by path (XYZ)",
    details:
      "The addresses of common map libraries: `y` is counted from the north (XYZ). `tile` is `y` with an ending: `12.png`, " +
      "`12.webp` and, for dense screens, `12@2x.png` are images. `12.mvt` is a vector tile, for which only `layers` and `lng` count: a layer of the tile for each vector layer " +
      "of the map that is drawn at this zoom, named by its code, with svc_id as the id of features and the values of all " +
      "columns as attributes. It is compressed by gzip if Accept-Encoding allows that.",
    takesTileKey: true,
    methods: ["GET"],
    path: "/tms/:project/:map/:z/:x/:tile",
    query: tileParameters,
    answer: tileOrVectors,
    handle: fromNorth,
  }),
  operation({
    id: "getTmsTileByPath",
    tag: "Tiles",
    summary: "Get a map tile by path (TMS)",
    details:
      "As the path of XYZ tiles, but `y` is counted from the south: for clients that do so, as Leaflet with `tms: true` and those " +
      "that read `tilemapresource.xml`.",
    takesTileKey: true,
    methods: ["GET"],
    path: "/tms/:project/:map/tms/:z/:x/:tile",
    query: tileParameters,
    answer: tileOrVectors,
    handle: fromSouth,
  }),
  operation({
    id: "getTileJson",
    tag: "Tiles",
    summary: "Get the TileJSON of a map",
    details:
      "TileJSON 3.0.0. The parameters are added to the tile URLs; for users who see more than the public, also a key of their " +
      "session, as of `tile-key/`. `bounds` and `minzoom` are those of the layers that are drawn, " +
      "unless a base map is drawn below them; `layers` has those of each.",
    takesTileKey: true,
    methods: ["GET"],
    path: "/tms/:project/:map/tile.json",
    query: mapTileParameters,
    answer: answers("A TileJSON document.", {
      ...tileJsonSchema,
      required: [...tileJsonSchema.required, "layers"],
      properties: { ...tileJsonSchema.properties, layers: scopesSchema },
    }),
    handle: tileJson,
  }),
];

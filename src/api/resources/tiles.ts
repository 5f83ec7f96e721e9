import { mayRead, requireRead } from "../../access/rights.js";
import { localName, type MapState, publicCaller } from "../../catalog/state.js";
import { maxZoom } from "../../geo/tile.js";
import { CachedAnswer } from "../../http/cached.js";
import type { Reply, Request } from "../../http/types.js";
import type { TileAddress } from "../../tiles/address.js";
import { tileFormats } from "../../tiles/formats.js";
import { callerOrPublic, usedToken } from "../request/caller.js";
import { type Answer, answers, type Input, type Operation, operation } from "../request/operation.js";
import { binary } from "../request/schema/bodies.js";
import type { Values } from "../request/schema/schema.js";
import type { Services } from "../services.js";
import { describedHeaders } from "./images.js";
import {
  addressOf,
  contractCoord,
  contractParameters,
  mapTileParameters,
  pathTile,
  tileParameters,
} from "./tile-parameters.js";

/** Tiles by TMS query or XYZ path, and TileJSON. Invalid coordinates are refused before anything else is done. */

function contractTile(
  request: Request,
  services: Services,
  { query }: Input<typeof contractParameters, undefined>,
): Promise<Reply> {
  const parameters = query();
  return answer(request, services, addressOf(contractCoord(parameters), parameters.f, parameters));
}

function tileByPath(
  request: Request,
  services: Services,
  { query }: Input<typeof tileParameters, undefined>,
): Promise<Reply> {
  const { z, x, tile } = request.params as { z: string; x: string; tile: string };
  const { coord, scale, format } = pathTile(z, x, tile);
  const parameters = query();
  return answer(
    request,
    services,
    addressOf(coord, format, scale === undefined ? parameters : { ...parameters, retina: scale }),
  );
}

async function answer(request: Request, services: Services, address: TileAddress): Promise<Reply> {
  const { body, headers } = await services.tileAnswers.make({
    access: async () => {
      const { map, caller, isPublic } = await readableMap(request, services);
      return { map, caller, publicAddress: isPublic ? rawAddress(request) : undefined };
    },
    address,
    signal: () => request.signal,
    answer: ({ tile, plan, isPublic, isCurrent, secondsLeft }) =>
      new CachedAnswer(`"${tile.hash}"`, tile.bytes, {
        "content-type": address.format.mediaType,
        etag: `"${tile.hash}"`,
        ...(isPublic
          ? {
              "cache-control": isCurrent
                ? lifetime(services.config.tiles.cacheControl, secondsLeft)
                : "no-store",
              "surrogate-key": plan.surrogateKey,
            }
          : { "cache-control": "private, no-store" }),
      }),
    // Solid tiles share their bytes. The surrogate key is kept twice, in the headers and their serialized form.
    bytes: ({ tile, plan }) =>
      1_000 + 4 * plan.surrogateKey.length + (tile.solid === undefined ? tile.bytes.length : 0),
  });
  return { kind: "bytes", body, headers };
}

/** `Cache-Control` with no time longer than the tile holds, as nobody purges caches of what is not ours. */
const lifetime = (header: string, secondsLeft: number | undefined): string =>
  secondsLeft === undefined
    ? header
    : header.replace(/(?<=\b(?:max-age|s-maxage|stale-[a-z-]+)=)\d+/g, (seconds) =>
        String(Math.min(Number(seconds), secondsLeft)),
      );

const rawAddress = (request: Request): string =>
  request.rawQuery === "" ? request.path : `${request.path}?${request.rawQuery}`;

/** The map of the path, if the caller may read it. */
async function readableMap(request: Request, services: Services) {
  const { project, map: code } = request.params as { project: string; map: string };
  const map = await services.catalog.map(project, code);
  const caller = await callerOrPublic(request, services, map.project, () => mayRead(map, publicCaller));
  requireRead(map, caller);
  return { map, caller, isPublic: !usedToken(caller) };
}

/** TileJSON 3.0.0: https://github.com/mapbox/tilejson-spec/tree/master/3.0.0 */
async function tileJson(
  request: Request,
  services: Services,
  { query }: Input<typeof mapTileParameters, undefined>,
): Promise<Reply> {
  const { map, isPublic } = await readableMap(request, services);
  const parameters = query();
  const main = map.project.languages[0];
  return {
    kind: "json",
    value: {
      tilejson: "3.0.0",
      name: localName(map, parameters.lng ?? main, main) || map.code,
      ...(map.comment ? { description: map.comment } : {}),
      scheme: "xyz",
      tiles: [
        `${request.baseUrl}/tms/${map.project.code}/${map.code}/{z}/{x}/{y}.${parameters.f.name}${queryOf(parameters)}`,
      ],
      minzoom: 0,
      maxzoom: maxZoom,
      bounds: [-180, -85.0511287798066, 180, 85.0511287798066],
      attribution: attribution(map),
    },
    // Revalidated each time, because the name of a map must not be shown after it has become private.
    headers: { "cache-control": isPublic ? "public, no-cache" : "private, no-store" },
  };
}

/** The attribution in the map settings, and those of the base map if it is drawn and of external layers. */
export function attribution(map: MapState, hasBase = true): string {
  const own = typeof map.json.attribution === "string" ? map.json.attribution : "";
  const { baseMap } = map.project;
  const base =
    baseMap.kind === "builtin"
      ? "Natural Earth"
      : baseMap.kind === "tiles"
        ? (baseMap.attribution ?? "")
        : "";
  const layers = [...map.layers.values()].map(({ source }) =>
    source && "url" in source ? source.attribution : "",
  );
  const others = new Set([...(hasBase ? [base] : []), ...layers]);
  return [own, ...[...others].filter((one) => !own.includes(one))].filter(Boolean).join(", ");
}

/** The query for the tile URLs. The token is left out, because tile URLs are often shared. */
function queryOf({ base, layers, lng, q }: Values<typeof mapTileParameters>): string {
  const kept = new URLSearchParams();
  if (base === 0) kept.set("base", "0");
  if (layers !== undefined) kept.set("layers", layers.join(","));
  if (lng !== undefined) kept.set("lng", lng);
  if (q !== 0) kept.set("q", String(q));
  return kept.size > 0 ? `?${kept}` : "";
}

const tileImage: Answer = {
  description: "The tile; empty tiles are returned as well.",
  content: Object.fromEntries(tileFormats.map(({ mediaType }) => [mediaType, binary])),
  headers: describedHeaders,
};

const tileJsonSchema = {
  type: "object",
  required: ["tilejson", "name", "scheme", "tiles", "minzoom", "maxzoom", "bounds", "attribution"],
  properties: {
    tilejson: { const: "3.0.0" },
    name: { type: "string" },
    description: { type: "string" },
    scheme: { const: "xyz" },
    tiles: { type: "array", items: { type: "string" }, description: "URL template of the tiles" },
    minzoom: { type: "integer" },
    maxzoom: { type: "integer" },
    bounds: { type: "array", items: { type: "number" }, description: "West, south, east, north in degrees" },
    attribution: { type: "string" },
  },
};

export const tileOperations: readonly Operation[] = [
  operation({
    id: "getTile",
    tag: "Tiles",
    summary: "Get a map tile (TMS)",
    details:
      "`y` is counted from the south (TMS). A tile requested after the response to an edit shows that edit.",
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
    details: "The URL scheme of common map libraries: `y` is counted from the north (XYZ).",
    methods: ["GET"],
    path: "/tms/:project/:map/:z/:x/:tile",
    query: tileParameters,
    answer: tileImage,
    handle: tileByPath,
  }),
  operation({
    id: "getTileJson",
    tag: "Tiles",
    summary: "Get the TileJSON of a map",
    details: "TileJSON 3.0.0. The parameters are added to the tile URLs.",
    methods: ["GET"],
    path: "/tms/:project/:map/tile.json",
    query: mapTileParameters,
    answer: answers("A TileJSON document.", tileJsonSchema),
    handle: tileJson,
  }),
];

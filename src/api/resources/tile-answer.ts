import { isAccessKey, mayEdit } from "../../access/access-keys.js";
import { mayRead, readsAsPublic, requireRead } from "../../access/rights.js";
import { localName, type MapState, publicCaller } from "../../catalog/state.js";
import { tileKeys } from "../../cdn/keys.js";
import { maxZoom, type TileCoord } from "../../geo/tile.js";
import type { CachedAnswer } from "../../http/cached.js";
import type { Headers, Reply, Request } from "../../http/types.js";
import type { DrawnTile, MapAccess } from "../../tiles/answers.js";
import { baseMapLayer, type MissingLayer, mostNamed, namesOf } from "../../tiles/missing-layer.js";
import type { TilePlan } from "../../tiles/plan.js";
import { callerOrPublic, headToken, tileKeyOf, usedToken } from "../request/caller.js";
import type { Services } from "../services.js";
import { describedHeaders } from "./images.js";
import { centerOf, type LayerScope, unionOf, world } from "./tile-scopes.js";

/** What answers with images and with vector tiles have in common: rights, cache headers, TileJSON. */

/**
 * The map of the path, if the caller may read it.
 * @param takesTileKey whether a key for its tiles counts
 */
export async function readableMap(
  request: Request,
  services: Services,
  { takesTileKey }: { readonly takesTileKey: boolean },
) {
  const { project, map: code } = request.params as { project: string; map: string };
  const map = await services.catalog.map(project, code);
  const caller = await callerOrPublic(
    request,
    services,
    map.project,
    () => mayRead(map, publicCaller),
    takesTileKey ? map : undefined,
  );
  requireRead(map, caller);
  return { map, caller, isPublic: !usedToken(caller) };
}

/** As `readableMap`, for a tile: with a token or key. */
export async function tileAccess(request: Request, services: Services): Promise<MapAccess> {
  const { map, caller, isPublic } = await readableMap(request, services, { takesTileKey: true });
  return { map, caller, publicAddress: isPublic ? rawAddress(request) : undefined };
}

/**
 * The key for the addresses in a TileJSON, so that programs that know nothing but its address can ask for the tiles: that of
 * the request, or one of its session.
 * @returns undefined where there is no need of one, as the public sees the same, and for users with too many keys
 */
export async function addressKey(
  request: Request,
  { tileKeys }: Pick<Services, "tileKeys">,
  { map, caller }: Pick<MapAccess, "map" | "caller">,
): Promise<string | undefined> {
  const { accountId } = caller;
  if (accountId === null || readsAsPublic(map, caller)) return undefined;
  const token = headToken(request);
  if (token === undefined) return tileKeyOf(request);
  if (isAccessKey(token)) return mayEdit(map.project, caller) ? undefined : token;
  return tileKeys.shared(token, { accountId, mapId: map.id });
}

const rawAddress = (request: Request): string =>
  request.rawQuery === "" ? request.path : `${request.path}?${request.rawQuery}`;

/** Headers of a tile besides those of its content. One that lacks a layer has no ETag, by which it could be taken for whole. */
export const tileHeaders = (
  services: Pick<Services, "cdnHeaders">,
  drawn: DrawnTile<TilePlan>,
  coord: TileCoord,
  etag: string,
): Headers => ({
  ...(drawn.tile.missing ? incompleteHeaders(drawn.tile.missing) : { etag }),
  ...cacheHeaders(services, drawn, coord),
});

/** `Server-Timing` tells scripts, which see no other header of an image. */
function incompleteHeaders(missing: readonly MissingLayer[]): Headers {
  const names = namesOf(missing);
  return { "x-tile-incomplete": names, "server-timing": `incomplete;desc="${names}"` };
}

function cacheHeaders(
  { cdnHeaders }: Pick<Services, "cdnHeaders">,
  { plan, isPublic, isCurrent, secondsLeft }: Omit<DrawnTile<TilePlan>, "tile">,
  coord: TileCoord,
): Headers {
  if (!isPublic) return { "cache-control": "private, no-store" };
  if (!isCurrent) return { "cache-control": "no-store" };
  return cdnHeaders.keyed(cdnHeaders.isPurged ? keysWithPlace(plan, coord) : [], secondsLeft);
}

const keysWithPlace = (
  { projectId, maps, visualized, reachPixels, collides }: TilePlan,
  coord: TileCoord,
): string[] =>
  tileKeys(
    {
      ...{ projectId, maps },
      whole: visualized.map(({ layer }) => layer.id),
      reachPixels,
      isBound: collides,
    },
    coord,
  );

/** Memory of the headers of a cached tile: the keys are kept twice, in the headers and their serialized form. */
export const headerBytes = ({ headers }: CachedAnswer): number =>
  1_000 + 4 * (headers["surrogate-key"] ?? headers["cache-tag"] ?? "").length;

/** Descriptions of the response headers of tiles. */
export const describedTileHeaders = {
  ...describedHeaders,
  "X-Tile-Incomplete":
    `Only when layers that the tile should show cannot be drawn just then: their codes after commas, \`${baseMapLayer.code}\` ` +
    `for the base map; of more than ${mostNamed} their number follows as \`+n\`. Such a tile is \`no-store\`, without ETag.`,
};

/** The attribution in the map settings; "" = none. */
export const ownAttribution = (map: MapState): string =>
  typeof map.json.attribution === "string" ? map.json.attribution : "";

interface TileJson {
  readonly map: MapState;
  readonly isPublic: boolean;
  readonly language: string | undefined;
  /** URL template below the address of the map. */
  readonly tiles: string;
  readonly attribution: string;
  /** The layers that are drawn. */
  readonly scopes: readonly LayerScope[];
  /** Whether something is drawn everywhere, as a base map is. */
  readonly isEverywhere: boolean;
  /** Further members. */
  readonly more?: Readonly<Record<string, unknown>>;
}

/** TileJSON 3.0.0: https://github.com/mapbox/tilejson-spec/tree/master/3.0.0 */
export function tileJsonOf(
  request: Request,
  { map, isPublic, language, tiles, attribution, scopes, isEverywhere, more }: TileJson,
): Reply {
  const main = map.project.languages[0];
  const drawn = unionOf(scopes.map(({ bounds }) => bounds));
  const zooms = scopes.filter(({ bounds }) => bounds !== null).map(({ zooms }) => zooms.min);
  return {
    kind: "json",
    value: {
      tilejson: "3.0.0",
      name: localName(map, language ?? main, main) || map.code,
      ...(map.comment ? { description: map.comment } : {}),
      scheme: "xyz",
      tiles: [`${request.baseUrl}/tms/${map.project.code}/${map.code}/${tiles}`],
      minzoom: isEverywhere || zooms.length === 0 ? 0 : Math.min(...zooms),
      // Beyond the last zoom of a layer a client would enlarge its tiles, which the server does not.
      maxzoom: maxZoom,
      bounds: isEverywhere || drawn === null ? world : drawn,
      ...(drawn && { center: centerOf(drawn) }),
      attribution,
      ...more,
    },
    // Revalidated each time, because the name of a map must not be shown after it has become private.
    headers: { "cache-control": isPublic ? "public, no-cache" : "private, no-store" },
  };
}

export const tileJsonSchema = {
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
    bounds: {
      type: "array",
      items: { type: "number" },
      description:
        "West, south, east, north in degrees: of the layers, or of the world where a base map is drawn",
    },
    center: {
      type: "array",
      items: { type: "number" },
      description: "Longitude, latitude and zoom at which the layers are seen",
    },
    attribution: { type: "string" },
  },
};

import { mayRead, requireRead } from "../../access/rights.js";
import { localName, type MapState, publicCaller } from "../../catalog/state.js";
import { maxZoom } from "../../geo/tile.js";
import type { Headers, Reply, Request } from "../../http/types.js";
import type { DrawnTile, MapAccess } from "../../tiles/answers.js";
import type { TilePlan } from "../../tiles/plan.js";
import { callerOrPublic, usedToken } from "../request/caller.js";
import type { Services } from "../services.js";

/** What answers with images and with vector tiles have in common: rights, cache headers, TileJSON. */

/** The map of the path, if the caller may read it. */
export async function readableMap(request: Request, services: Services) {
  const { project, map: code } = request.params as { project: string; map: string };
  const map = await services.catalog.map(project, code);
  const caller = await callerOrPublic(request, services, map.project, () => mayRead(map, publicCaller));
  requireRead(map, caller);
  return { map, caller, isPublic: !usedToken(caller) };
}

/** As `readableMap`, for a tile. */
export async function tileAccess(request: Request, services: Services): Promise<MapAccess> {
  const { map, caller, isPublic } = await readableMap(request, services);
  return { map, caller, publicAddress: isPublic ? rawAddress(request) : undefined };
}

const rawAddress = (request: Request): string =>
  request.rawQuery === "" ? request.path : `${request.path}?${request.rawQuery}`;

export const cacheHeaders = (
  services: Services,
  { plan, isPublic, isCurrent, secondsLeft }: Omit<DrawnTile<TilePlan>, "tile">,
): Headers =>
  isPublic
    ? {
        "cache-control": isCurrent ? lifetime(services.config.tiles.cacheControl, secondsLeft) : "no-store",
        "surrogate-key": plan.surrogateKey,
      }
    : { "cache-control": "private, no-store" };

/** `Cache-Control` with no time longer than the tile holds, as nobody purges caches of what is not ours. */
const lifetime = (header: string, secondsLeft: number | undefined): string =>
  secondsLeft === undefined
    ? header
    : header.replace(/(?<=\b(?:max-age|s-maxage|stale-[a-z-]+)=)\d+/g, (seconds) =>
        String(Math.min(Number(seconds), secondsLeft)),
      );

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
  /** Further members. */
  readonly more?: Readonly<Record<string, unknown>>;
}

/** TileJSON 3.0.0: https://github.com/mapbox/tilejson-spec/tree/master/3.0.0 */
export function tileJsonOf(
  request: Request,
  { map, isPublic, language, tiles, attribution, more }: TileJson,
): Reply {
  const main = map.project.languages[0];
  return {
    kind: "json",
    value: {
      tilejson: "3.0.0",
      name: localName(map, language ?? main, main) || map.code,
      ...(map.comment ? { description: map.comment } : {}),
      scheme: "xyz",
      tiles: [`${request.baseUrl}/tms/${map.project.code}/${map.code}/${tiles}`],
      minzoom: 0,
      maxzoom: maxZoom,
      bounds: [-180, -85.0511287798066, 180, 85.0511287798066],
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
    bounds: { type: "array", items: { type: "number" }, description: "West, south, east, north in degrees" },
    attribution: { type: "string" },
  },
};

import { requireRead } from "../catalog/rights.js";
import { localName, type MapState } from "../catalog/state.js";
import { maxZoom } from "../geo/tile.js";
import { type CachedReply, prebuildHeaders } from "../http/cached.js";
import type { Reply, Request, Route } from "../http/types.js";
import { contractCoord, pathCoord, type TileAddress, tileParameters } from "../tiles/address.js";
import { callerOf, usedToken } from "./caller.js";
import type { Services } from "./services.js";

/** Tiles by the contract's address, by XYZ path, and as TileJSON. */

export const tileRoutes: readonly Route<Services>[] = [
  { methods: ["GET"], path: "/tms/:project/:map/", handler: contractTile },
  { methods: ["GET"], path: "/tms/:project/:map/:z/:x/:file", handler: pathTile },
  { methods: ["GET"], path: "/tms/:project/:map/tile.json", handler: tileJson },
];

function contractTile(request: Request, services: Services): Promise<Reply> {
  const read = (name: string) => request.query.get(name);
  return answer(request, services, { coord: contractCoord(read), ...tileParameters(read) });
}

function pathTile(request: Request, services: Services): Promise<Reply> {
  const { z, x, file } = request.params as { z: string; x: string; file: string };
  const { coord, scale } = pathCoord(z, x, file);
  const parameters = tileParameters((name) => request.query.get(name));
  return answer(request, services, { coord, ...parameters, scale: scale ?? parameters.scale });
}

async function answer(request: Request, services: Services, address: TileAddress): Promise<Reply> {
  const { map, caller, isPublic } = await seenMap(request, services);
  const plan = await services.planner.plan(map, caller, address);
  const tile = await services.tiles.tile({
    plan,
    coord: address.coord,
    quality: address.quality,
    // Made when somebody asks for it, and a tile that is at hand does not.
    get signal() {
      return request.signal;
    },
  });
  // Nothing is awaited between this and the tile's check: what is read here belongs to it.
  const stamp = plan.stamp.value;
  const etag = `"${tile.hash}"`;
  if (!isPublic) {
    return {
      kind: "bytes",
      body: tile.png,
      headers: { "content-type": "image/png", etag, "cache-control": "private, no-store" },
    };
  }
  const headers = {
    "content-type": "image/png",
    etag,
    "cache-control": services.config.tiles.cacheControl,
    "surrogate-key": plan.surrogateKey,
  };
  const cached: CachedReply = { etag, body: tile.png, ...prebuildHeaders(headers) };
  services.addresses.set(rawAddress(request), cached, {
    plan,
    stamp,
    // A tile of one colour shares its bytes with all the others.
    answerBytes: 512 + (tile.solid === undefined ? tile.png.length : 0),
  });
  return { kind: "bytes", body: tile.png, headers };
}

const rawAddress = (request: Request): string =>
  request.rawQuery === "" ? request.path : `${request.path}?${request.rawQuery}`;

/** The map of the path, if the caller may see it. */
async function seenMap(request: Request, services: Services) {
  const { project, map: code } = request.params as { project: string; map: string };
  const map = await services.catalog.map(project, code);
  const caller = await callerOf(request, services, map.project);
  requireRead(map, caller);
  return { map, caller, isPublic: !usedToken(caller) };
}

/** TileJSON 3.0.0: https://github.com/mapbox/tilejson-spec/tree/master/3.0.0 */
async function tileJson(request: Request, services: Services): Promise<Reply> {
  const { map, isPublic } = await seenMap(request, services);
  const language = tileParameters((name) => request.query.get(name)).language ?? map.project.languages[0];
  return {
    kind: "json",
    value: {
      tilejson: "3.0.0",
      name: localName(map, language, map.project.languages[0]) || map.code,
      ...(map.comment ? { description: map.comment } : {}),
      scheme: "xyz",
      tiles: [tileTemplate(request, map)],
      minzoom: 0,
      maxzoom: maxZoom,
      bounds: [-180, -85.0511287798066, 180, 85.0511287798066],
      attribution: attribution(map),
    },
    headers: { "cache-control": isPublic ? "public, max-age=60" : "private, no-store" },
  };
}

/** Whom the map's settings name, and the source of the built-in base map. */
export function attribution(map: MapState): string {
  const own = typeof map.json.attribution === "string" ? map.json.attribution : "";
  const base = map.project.baseMap.kind === "builtin" ? "Natural Earth" : "";
  return own.includes(base) ? own : [own, base].filter(Boolean).join(", ");
}

/** Parameters of the request's own go on to the tiles, the token aside: addresses of tiles are passed around. */
function tileTemplate(request: Request, map: MapState): string {
  const kept = new URLSearchParams();
  for (const name of ["base", "layers", "lng", "q"]) {
    const value = request.query.get(name);
    if (value !== undefined) kept.set(name, value);
  }
  const query = kept.size > 0 ? `?${kept}` : "";
  return `${request.baseUrl}/tms/${map.project.code}/${map.code}/{z}/{x}/{y}.png${query}`;
}

import { readsAsPublic } from "../../access/rights.js";
import { localName } from "../../catalog/state.js";
import { escapeXml } from "../../export/xml-text.js";
import { maxZoom, mercatorHalf, tileMetres } from "../../geo/tile.js";
import type { Reply, Request } from "../../http/types.js";
import { tileKeyOf } from "../request/caller.js";
import { type Input, type Operation, operation } from "../request/operation.js";
import type { Services } from "../services.js";
import { readableMap } from "./tile-answer.js";
import { mapTileParameters } from "./tile-parameters.js";

/** The description of a map's tiles in the Tile Map Service of OSGeo, 1.0.0, for GDAL, QGIS and others. */

const { f, lng } = mapTileParameters;
const parameters = { f, lng };

/** Of a tile, in pixels. */
const side = 256;

async function tileMap(
  request: Request,
  services: Services,
  { query }: Input<typeof parameters, undefined>,
): Promise<Reply> {
  const { map, caller, isPublic } = await readableMap(request, services, { takesTileKey: true });
  const { f: format, lng: language } = query();
  const main = map.project.languages[0];
  const address = `${request.baseUrl}/tms/${map.project.code}/${map.code}/tms`;
  const sets = Array.from(
    { length: maxZoom + 1 },
    (_, z) =>
      `    <TileSet href="${escapeXml(`${address}/${z}`)}" units-per-pixel="${tileMetres(z) / side}" order="${z}"/>`,
  );
  // Programs put the ending behind the numbers of a tile as it is: only there a query comes last.
  const key = caller.accountId === null || readsAsPublic(map, caller) ? undefined : tileKeyOf(request);
  const ending = key === undefined ? format.name : `${format.name}?key=${encodeURIComponent(key)}`;
  const body = `<?xml version="1.0" encoding="UTF-8"?>
<TileMap version="1.0.0" tilemapservice="${escapeXml(request.baseUrl)}/">
  <Title>${escapeXml(localName(map, language ?? main, main) || map.code)}</Title>
  <Abstract>${escapeXml(map.comment)}</Abstract>
  <SRS>EPSG:3857</SRS>
  <BoundingBox minx="${-mercatorHalf}" miny="${-mercatorHalf}" maxx="${mercatorHalf}" maxy="${mercatorHalf}"/>
  <Origin x="${-mercatorHalf}" y="${-mercatorHalf}"/>
  <TileFormat width="${side}" height="${side}" mime-type="${format.mediaType}" extension="${escapeXml(ending)}"/>
  <TileSets profile="mercator">
${sets.join("\n")}
  </TileSets>
</TileMap>
`;
  const headers = {
    "content-type": "text/xml; charset=utf-8",
    // As of a TileJSON: the name of a map must not be shown after it has become private.
    "cache-control": isPublic ? "public, no-cache" : "private, no-store",
  };
  return { kind: "bytes", body, headers };
}

export const tileMapOperation: Operation = operation({
  id: "getTileMap",
  tag: "Tiles",
  summary: "Get the TileMap document of a map (TMS)",
  details:
    "Of the Tile Map Service Specification 1.0.0 of OSGeo, as `gdalinfo` and QGIS read it. The box is that of the world, from " +
    "whose corner the tiles are counted. With a `key` the addresses of tiles have it, too: `extension` is `png?key=…`. With a token the " +
    "tiles are asked for with its header, as they have no key.",
  takesTileKey: true,
  methods: ["GET"],
  path: "/tms/:project/:map/tms/tilemapresource.xml",
  query: parameters,
  answer: { description: "The document.", content: { "text/xml": { type: "string" } } },
  handle: tileMap,
});

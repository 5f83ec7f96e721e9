import { requireRead } from "../../access/rights.js";
import { failed } from "../../errors.js";
import { tileFileTypes } from "../../export/tile-exports.js";
import { defaultMaxZoom, defaultTiles } from "../../export/tile-selection.js";
import { maxZoom } from "../../geo/tile.js";
import { type TileFileFormat, tileFileFormats } from "../../hosts/export-messages.js";
import { contentDisposition } from "../../http/headers.js";
import type { Reply, Request } from "../../http/types.js";
import { callerHeaders, clientOf } from "../request/caller.js";
import { mapContext } from "../request/context.js";
import { type Input, type Operation, operation } from "../request/operation.js";
import { mapPath } from "../request/paths.js";
import { binary } from "../request/schema/bodies.js";
import { integer, srid, text } from "../request/schema/parameters.js";
import type { Services } from "../services.js";
import { boxParameter, filterBox } from "./object-parameters.js";
import { mapTileParameters } from "./tile-parameters.js";
import { attribution } from "./tiles.js";

/** Export of the tiles of maps to files. */

const zoom = (description: string) => integer(description, { least: 0, most: maxZoom }).optional();

const parameters = {
  format: text("File format.").meta({ enum: tileFileFormats }),
  minzoom: zoom("Lowest zoom; default: 0."),
  maxzoom: zoom(
    `Highest zoom; default: the last one, up to ${defaultMaxZoom}, at which there are at most ${defaultTiles} tiles in all.`,
  ),
  fbbox: boxParameter
    .unwrap()
    .meta({
      description:
        "`SW_LAT,SW_LON,NE_LAT,NE_LON` in bboxSR (in 3857: y, x): only tiles that intersect this box; default: the extent " +
        "of the layers that are drawn. If west is greater than east, the box crosses the antimeridian.",
      examples: ["47.2,5.8,55.1,15.1"],
    })
    .optional(),
  bboxSR: srid("Coordinate system (EPSG) of fbbox."),
  ...mapTileParameters,
};

/** @throws Failure invalid_format */
function formatOf(name: string): TileFileFormat {
  const format = tileFileFormats.find((one) => one === name);
  if (!format)
    throw failed("invalid_format", `The tiles of a map can be exported as: ${tileFileFormats.join(", ")}.`);
  return format;
}

async function exportTiles(
  request: Request,
  services: Services,
  { query }: Input<typeof parameters, undefined>,
): Promise<Reply> {
  const { map, caller } = await mapContext(request, services);
  requireRead(map, caller);
  const { format, minzoom, maxzoom, fbbox, bboxSR, base, layers, lng, q } = query();
  // The rights are checked for each tile: they, and the map, may change meanwhile.
  const access = async () => {
    const current = await services.catalog.map(map.project.code, map.code);
    requireRead(current, caller);
    return { map: current, caller };
  };
  const file = await services.tileExports.make({
    format: formatOf(format),
    map,
    caller,
    choice: { box: filterBox(fbbox, bboxSR), minZoom: minzoom, maxZoom: maxzoom },
    drawn: { base: base === 1, layers, language: lng, quality: q },
    attribution: attribution(map, base === 1),
    tile: (address, signal) => services.tileAnswers.tile({ access, address, signal }),
    owner: clientOf(request, caller),
    signal: request.signal,
  });
  return {
    kind: "stream",
    bytes: file.bytes,
    chunks: file.chunks,
    headers: {
      "content-type": file.mediaType,
      "content-disposition": contentDisposition("attachment", file.name),
      ...callerHeaders(caller),
    },
  };
}

export const tileExportOperations: readonly Operation[] = [
  operation({
    id: "exportTiles",
    tag: "Import and export",
    summary: "Export the tiles of a map to a file",
    details:
      "PNG tiles of 256 × 256 pixels, drawn for the rights of the caller as tiles are; empty ones are left out. Each tile is " +
      "as of some moment after the request. The response begins when all tiles are drawn; tiles that somebody looks at are drawn " +
      "first. A user has one such export at a time, and exports for which there is no place wait for their turn. More tiles than " +
      "the installation allows are refused, with the number of tiles, the limit and a `maxzoom` that is possible in the error's `data`.",
    methods: ["GET"],
    path: `${mapPath}/export/`,
    query: parameters,
    answer: {
      description:
        "The file, named after the map: MBTiles 1.3 (rows counted from the south), or PMTiles 3 (from the north).",
      content: Object.fromEntries(Object.values(tileFileTypes).map((type) => [type, binary])),
      headers: { "content-disposition": "The file name (RFC 6266)." },
    },
    refuses: [404, "invalid_format", "invalid_value"],
    handle: exportTiles,
  }),
];

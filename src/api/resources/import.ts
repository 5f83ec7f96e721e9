import { rightsOn } from "../../access/rights.js";
import { type LayerNode, Right } from "../../catalog/state.js";
import { failed } from "../../errors.js";
import { importFormatList } from "../../hosts/messages.js";
import type { Reply, Request } from "../../http/types.js";
import { importIntoLayer } from "../../transfer/import.js";
import type { LayerContext } from "../request/context.js";
import { mediaType, multipart } from "../request/media-type.js";
import { answers, type BodyOf, type Input, type Operation, operation } from "../request/operation.js";
import { layerPath } from "../request/paths.js";
import { binary, upload } from "../request/schema/bodies.js";
import { choice, text, withoutEffect } from "../request/schema/parameters.js";
import { ref } from "../request/schema/schema.js";
import { receive } from "../request/upload.js";
import type { Services } from "../services.js";
import { answerLayer } from "./layer-answer.js";

/** Import of files into layers. */

/** `action`. Else a bad request. */
const actionParameter = choice(
  "1 = the data replace the layer's; 2 = objects whose svc_id the data name are changed, others added.",
  [2, 1],
  { what: "is 1 (replace) or 2 (merge)" },
).transform((action) => (action === 1 ? "replace" : "merge"));

const importParameters = {
  srs: text(
    "Reference system of the data: an EPSG number, WKT or proj4; default: the file's own, else 4326.",
  ).optional(),
  action: actionParameter,
  raster_bbox: withoutEffect,
};

const importHeaders = {
  "x-filename": text(
    `Name of a file that is the body itself; its extension tells the format: ${importFormatList}.`,
  ).optional(),
};

const importBody = upload(importParameters, {
  file: `The file; the extension of its name tells the format: ${importFormatList}.`,
  raw: {
    "application/geo+json": ref("FeatureCollection"),
    "application/json": ref("FeatureCollection"),
    "application/octet-stream": binary,
  },
});

async function importFile(
  request: Request,
  services: Services,
  { headers, body }: Input<typeof importParameters, BodyOf<typeof importBody>, typeof importHeaders>,
): Promise<Reply> {
  const { context, sent } = await receive(request, services, { body, check: requireOwnObjects });
  const { layer, view } = context;
  const clientName =
    mediaType(request) === multipart ? sent.file.clientName : (headers()["x-filename"] ?? ".geojson");
  await importIntoLayer(
    services,
    {
      layerId: layer.id,
      language: view.language,
      idAlias: services.config.idAlias,
    },
    { path: sent.file.path, extension: extensionOf(clientName), srs: sent.srs, action: sent.action },
    { mayAddColumns: mayAddColumns(context), signal: request.signal },
  );
  await services.changes.propagate();
  return answerLayer(services, context, layer.id);
}

/** @throws Failure import_failed */
function requireOwnObjects(layer: LayerNode): void {
  if (layer.type !== "layer")
    throw failed("import_failed", `The layer "${layer.code}" takes no vector data.`);
}

function mayAddColumns({ map, caller, layer }: LayerContext): boolean {
  return (rightsOn(map, caller, layer) & Right.editStructure) !== 0;
}

/** All that counts of a client's file name. @throws Failure unsupported_format when it has none */
export function extensionOf(name: string): string {
  const extension = /\.([A-Za-z0-9]{1,10})$/.exec(name.trim())?.[1];
  if (extension === undefined) {
    throw failed(
      "unsupported_format",
      `The name of the file has no extension that tells its format: ${importFormatList}.`,
    );
  }
  return extension.toLowerCase();
}

export const transferOperations: readonly Operation[] = [
  operation({
    id: "importData",
    tag: "Import and export",
    summary: "Import data into a layer",
    details:
      "Wholly or not at all: when it fails, the layer is as it was. The data come as GeoJSON in the body, as a file in " +
      "the field `file` of a form, or as a file that is the body, named by `X-Filename`. Formats of files: " +
      `${importFormatList}. Properties that have no column get one.`,
    access: "token",
    methods: ["POST"],
    path: `${layerPath}/import/`,
    writes: true,
    query: importParameters,
    headers: importHeaders,
    body: importBody,
    answer: answers("The layer with its new objects.", ref("Layer")),
    refuses: [
      "import_failed",
      "unsupported_format",
      "no_georeference",
      "invalid_geometry",
      "invalid_code",
      "code_exists",
      "invalid_value",
      "constraint_violated",
    ],
    handle: importFile,
  }),
];

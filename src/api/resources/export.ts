import { z } from "zod";
import { contentDisposition } from "../../http/headers.js";
import type { Reply, Request } from "../../http/types.js";
import { exportLayer } from "../../transfer/export.js";
import { type ExportFormat, exportFormats, exportMediaTypes } from "../../transfer/export-formats.js";
import { exportLanguages } from "../../transfer/export-request.js";
import { callerHeaders } from "../request/caller.js";
import { type LayerContext, objectsContext, toRead } from "../request/context.js";
import { type Answer, type Input, type Operation, operation } from "../request/operation.js";
import { layerPath } from "../request/paths.js";
import { binary, form } from "../request/schema/bodies.js";
import { flag, list, srid, text, withoutEffect } from "../request/schema/parameters.js";
import { readBy, ref, type Values } from "../request/schema/schema.js";
import { sizes } from "../request/schema/sizes.js";
import type { Services } from "../services.js";
import { boxParameter, filterBox } from "./object-parameters.js";

/** Export of layers to files. */

const maxIds = 30_000;

/** `feature_ids`. Else a bad request. */
const idsParameter = list({ separator: ",", most: maxIds })
  .transform((parts) => parts.map((part) => (/^\s*-?\d{1,16}\s*$/.test(part) ? Number(part) : Number.NaN)))
  .refine((ids) => ids.every(Number.isSafeInteger), "must be whole numbers separated by commas")
  .meta({
    description: "Ids of the objects, separated by commas; without it the whole layer.",
    examples: ["1,2,3"],
  })
  .optional();

/** `langs`. Else a bad request. */
const languagesParameter = readBy(z.string(), exportLanguages)
  .meta({
    description:
      "Languages of localised values, separated by commas; without it all. In several languages a column `name` " +
      "becomes the properties `name_ru`, `name_en`; in one it keeps its code.",
    examples: ["ru,en"],
  })
  .optional();

/** A parameter of one format; clients send them whatever the format is. */
const ofFormat = (format: ExportFormat, meaning: string) =>
  exportFormats.includes(format) ? text(`For ${format}: ${meaning}`).optional() : withoutEffect;

const exportParameters = {
  format: text("Format of the file.").meta({ enum: exportFormats }),
  langs: languagesParameter,
  zip: flag("Whether the file is packed into a zip archive."),
  feature_ids: idsParameter,
  fbbox: boxParameter,
  bboxSR: srid("Reference system of fbbox."),
  geomSR: srid("Reference system of the file's geometry."),
  orig: ofFormat("geotif", "whether the image comes as it was uploaded."),
  encoding: ofFormat("csv", "the text's encoding."),
  dialect: ofFormat("csv", "`comma` instead of semicolons."),
  lng: text("Language of the layer's name, which becomes the file's; default: the main language.").optional(),
};
type ExportParameters = Values<typeof exportParameters>;

async function exportFile(
  { map, layer, caller }: LayerContext,
  parameters: ExportParameters,
  { request, services }: { readonly request: Request; readonly services: Services },
): Promise<Reply> {
  const { chunks, mediaType, name } = await exportLayer(
    services.db,
    { map, layer },
    {
      ids: parameters.feature_ids,
      envelope: filterBox(parameters.fbbox, parameters.bboxSR),
      srid: parameters.geomSR,
      languages: parameters.langs,
      signal: request.signal,
    },
    { format: parameters.format, zip: parameters.zip, language: parameters.lng },
  );
  const headers = {
    "content-type": mediaType,
    "content-disposition": contentDisposition("attachment", name),
    ...callerHeaders(caller),
  };
  return { kind: "stream", chunks, headers };
}

async function get(
  request: Request,
  services: Services,
  { query }: Input<typeof exportParameters, undefined>,
) {
  return exportFile(await objectsContext(request, services, toRead), query(), { request, services });
}

async function post(request: Request, services: Services, { body }: Input<unknown, ExportParameters>) {
  return exportFile(await objectsContext(request, services, toRead), await body(), { request, services });
}

const answer: Answer = {
  description: "The file, or a zip archive with it. Its name is the layer's.",
  content: {
    ...Object.fromEntries(exportMediaTypes.map((type) => [type, binary])),
    "application/geo+json": ref("FeatureCollection"),
    "application/zip": binary,
  },
  headers: { "content-disposition": "The file's name (RFC 6266)." },
};
const refuses = [404, "invalid_format", "unsupported_format"] as const;

export const exportOperations: readonly Operation[] = [
  operation({
    id: "exportLayer",
    tag: "Import and export",
    summary: "A layer as a file",
    details: "Streamed: a layer may be of any length.",
    methods: ["GET"],
    path: `${layerPath}/export/`,
    query: exportParameters,
    answer,
    refuses,
    handle: get,
  }),
  operation({
    id: "exportObjects",
    tag: "Import and export",
    summary: "A layer as a file, with the parameters in the body",
    details: "For ids that an address has no room for.",
    methods: ["POST"],
    path: `${layerPath}/export/`,
    body: form(exportParameters, sizes.selection),
    answer,
    refuses,
    handle: post,
  }),
];

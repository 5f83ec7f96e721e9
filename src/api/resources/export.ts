import { z } from "zod";
import { hasObjects } from "../../catalog/state.js";
import { notFound } from "../../errors.js";
import { csvEncoding } from "../../export/csv-encoding.js";
import { exportFormats, exportMediaTypes } from "../../export/export-formats.js";
import { exportLayer } from "../../export/export-layer.js";
import { notesHeader } from "../../export/export-notes.js";
import { exportedImage, hasImage, type RasterLayer, zippedImage } from "../../export/export-raster.js";
import { exportLanguages, wholeNumbers } from "../../export/export-request.js";
import { contentDisposition } from "../../http/headers.js";
import type { Reply, Request } from "../../http/types.js";
import { networkOf } from "../../queues/clients.js";
import { blobReply } from "../request/blob-reply.js";
import { callerHeaders, clientOf } from "../request/caller.js";
import { type LayerContext, layerContext, toRead } from "../request/context.js";
import { type Answer, type Input, type Operation, operation } from "../request/operation.js";
import { layerPath } from "../request/paths.js";
import { binary, form } from "../request/schema/bodies.js";
import { choice, flag, list, srid, text } from "../request/schema/parameters.js";
import { readBy, ref, type Values } from "../request/schema/schema.js";
import { sizes } from "../request/schema/sizes.js";
import type { Services } from "../services.js";
import { boxParameter, fieldsParameter, filterBox } from "./object-parameters.js";

/** Export of layers to files. */

const maxIds = 30_000;

/** `feature_ids`. Else a bad request. */
const idsParameter = list({ separator: ",", most: maxIds })
  .refine((parts) => wholeNumbers(parts) !== undefined, "must be whole numbers separated by commas")
  .transform((parts) => wholeNumbers(parts)!)
  .meta({
    description: "Ids of the objects, separated by commas; default: all objects of the layer.",
    examples: ["1,2,3"],
  })
  .optional();

/** `langs`. Else a bad request. */
const languagesParameter = readBy(z.string(), exportLanguages)
  .meta({
    description:
      "Languages of localised values, separated by commas; default: all. With several languages, a column `name` " +
      "becomes the properties `name_ru`, `name_en`; with one, it keeps its code.",
    examples: ["ru,en"],
  })
  .optional();

/** @throws Failure bad_request */
function checkedEncoding(name: string): string {
  csvEncoding(name);
  return name;
}

/** `orig`. Else a bad request. */
const originalParameter = choice(
  "For geotif: `true`: the image as it was uploaded, in its own format; `false`: as it was processed, a GeoTIFF in EPSG:3857.",
  ["true", "false", "1", "0"],
).transform((value) => value === "true" || value === "1");

const exportParameters = {
  format: text("File format.").meta({ enum: exportFormats }),
  langs: languagesParameter,
  zip: flag("Whether to return the file in a zip archive."),
  feature_ids: idsParameter,
  fbbox: boxParameter,
  bboxSR: srid("Coordinate system (EPSG) of fbbox."),
  geomSR: srid("Coordinate system (EPSG) of the geometries in the file."),
  fields: fieldsParameter
    .unwrap()
    .meta({
      description:
        "Codes of the columns to write, separated by commas; default: all. The object id is always written.",
      examples: ["name,height"],
    })
    .optional(),
  filter: text(
    "Only objects that this condition selects, in the filter language of virtual layers: `height > 100 and name like 'A%'`. " +
      "Localised values are compared in the language `lng`, by default the main one.",
    100_000,
  ).optional(),
  orig: originalParameter,
  encoding: readBy(z.string(), checkedEncoding)
    .meta({
      description:
        "For csv: the character encoding: utf-8 (default), utf-8-sig (with a byte order mark), utf-16le, or one of one byte " +
        "such as windows-1251, cp866, koi8-r and iso-8859-1.",
      examples: ["windows-1251"],
    })
    .optional(),
  dialect: choice("For csv: what separates values.", ["semicolon", "comma", "tab"]),
  lng: text(
    "Language of the layer name, which is used as file name, and of values that `filter` compares; default: the main language.",
  ).optional(),
};
type ExportParameters = Values<typeof exportParameters>;

async function exportFile(
  context: LayerContext,
  parameters: ExportParameters,
  { request, services }: { readonly request: Request; readonly services: Services },
): Promise<Reply> {
  const { map, layer, caller } = context;
  if (hasImage(layer)) return exportImage({ ...context, layer }, parameters, { request, services });
  if (!hasObjects(layer)) throw notFound(`layer with objects "${layer.code}"`);
  const { chunks, mediaType, name, notes } = await exportLayer(
    services,
    { map, layer },
    {
      ids: parameters.feature_ids,
      envelope: filterBox(parameters.fbbox, parameters.bboxSR),
      srid: parameters.geomSR,
      languages: parameters.langs,
      fields: parameters.fields === "all" ? undefined : parameters.fields,
      filter: parameters.filter?.trim() || undefined,
      language: parameters.lng,
      encoding: parameters.encoding,
      dialect: parameters.dialect,
      client: clientOf(request, caller),
      signal: request.signal,
    },
    { format: parameters.format, zip: parameters.zip },
  );
  const headers = {
    "content-type": mediaType,
    "content-disposition": contentDisposition("attachment", name),
    ...(notes.length > 0 ? { "x-export-notes": notesHeader(notes) } : {}),
    ...callerHeaders(caller),
  };
  return { kind: "stream", chunks, headers };
}

/** An image has ranges, so that large ones can be read in part. */
async function exportImage(
  { map, layer, caller }: LayerContext & { readonly layer: RasterLayer },
  { format, orig, zip, lng }: ExportParameters,
  { request, services }: { readonly request: Request; readonly services: Services },
): Promise<Reply> {
  const image = exportedImage({ map, layer }, { format, original: orig, language: lng });
  const headersOf = (file: { readonly name: string; readonly mediaType: string }) => ({
    "content-type": file.mediaType,
    "content-disposition": contentDisposition("attachment", file.name),
    ...callerHeaders(caller),
  });
  if (zip) {
    const by = { signal: request.signal, reader: networkOf(request.remoteAddress) };
    const { chunks, ...file } = await zippedImage(services, layer, image, by);
    return { kind: "stream", chunks, headers: headersOf(file) };
  }
  const { blob, bytes, notes } = image;
  const noted = notes.length > 0 ? { "x-export-notes": notesHeader(notes) } : {};
  return blobReply(request, services.blobs, { blob, bytes, headers: { ...headersOf(image), ...noted } });
}

async function get(
  request: Request,
  services: Services,
  { query }: Input<typeof exportParameters, undefined>,
) {
  return exportFile(await layerContext(request, services, toRead), query(), { request, services });
}

async function post(request: Request, services: Services, { body }: Input<unknown, ExportParameters>) {
  return exportFile(await layerContext(request, services, toRead), await body(), { request, services });
}

const answer: Answer = {
  description: "The file, or a zip archive with it, named after the layer.",
  content: {
    ...Object.fromEntries(exportMediaTypes.map((type) => [type, binary])),
    "application/geo+json": ref("FeatureCollection"),
    "image/png": binary,
    "image/jpeg": binary,
    "application/zip": binary,
  },
  headers: {
    "content-disposition": "The file name (RFC 6266).",
    "x-export-notes":
      "What the format cannot hold, with the columns concerned: a JSON array of sentences, in ASCII. Absent when the file " +
      "has everything. In a zip archive the file README.txt has the same sentences.",
  },
};
const refuses = [404, "invalid_format", "unsupported_format", "unknown_column", "invalid_value"] as const;

export const exportOperations: readonly Operation[] = [
  operation({
    id: "exportLayer",
    tag: "Import and export",
    summary: "Export a layer to a file",
    details:
      "Formats of texts, and workbooks, are sent while they are read, in any size. The other formats are written to files " +
      "first, which may be as large as the setting `exports.fileBytes` says.",
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
    summary: "Export objects of a layer, with the parameters in the body",
    details: "As GET, for lists of ids that are too long for a URL.",
    methods: ["POST"],
    changes: { unconditionally: "It reads." },
    path: `${layerPath}/export/`,
    body: form(exportParameters, sizes.selection),
    answer,
    refuses,
    handle: post,
  }),
];

import { z } from "zod";
import { rightsOn } from "../../access/rights.js";
import { type LayerNode, Right } from "../../catalog/state.js";
import { badRequest, Failure, failed } from "../../errors.js";
import { importFormatList } from "../../hosts/import-messages.js";
import type { Reply, Request } from "../../http/types.js";
import { importedTypes, readColumnChoices, readCoordinateNames } from "../../import/column-choices.js";
import { importIntoLayer } from "../../import/import-layer.js";
import { type ImportSource, readRasterBox } from "../../import/import-request.js";
import { readOtherTables, requireApart } from "../../import/other-tables.js";
import { type LayerContext, permittedLayer, toEditObjects } from "../request/context.js";
import { mediaType, multipart } from "../request/media-type.js";
import { answers, type BodyOf, type Input, type Operation, operation } from "../request/operation.js";
import { layerPath } from "../request/paths.js";
import { binary, upload } from "../request/schema/bodies.js";
import { choice, flag, text } from "../request/schema/parameters.js";
import { readBy, ref, type Values } from "../request/schema/schema.js";
import { receive } from "../request/upload.js";
import type { Services } from "../services.js";
import { importResult, startImports } from "./import-jobs.js";
import { answerLayer } from "./layer-answer.js";
import { layerResource } from "./present.js";

/** Import of files into layers. */

/** `action`. Else a bad request. */
const actionParameter = choice(
  "1 = replace all objects of the layer; 2 = update objects with a matching svc_id and add the others. An image always " +
    "replaces that of the layer.",
  [2, 1],
  { what: "is 1 (replace) or 2 (merge)" },
).transform((action) => (action === 1 ? "replace" : "merge"));

/** `raster_bbox`. Else a bad request. */
const rasterBoxParameter = readBy(z.string(), (text) => {
  const box = readRasterBox(text);
  if (box) return box;
  throw badRequest("raster_bbox must be BOX(x_min y_min,x_max y_max).");
})
  .meta({
    description:
      "Where an image lies that has no georeference, in the coordinate system `srs`: `BOX(x_min y_min,x_max y_max)`.",
    examples: ["BOX(37.3 55.5,37.9 56)"],
  })
  .optional();

/** Fits the form of an upload. */
const longestChoices = 50_000;

/** `columns`. Else invalid_value. */
const columnsParameter = readBy(text("", longestChoices), readColumnChoices)
  .meta({
    description:
      "Of a file of features, what is made of its properties: a JSON object by their names in the file. `type` is the type of the " +
      `column (${importedTypes.join(", ")}), \`name\` another name for the property; null leaves it out. \`notation\` says how ` +
      "numbers and dates are written: `plain` as the API does, `decimal_comma` (1.234,5), `grouped` (1,234.5), `day_first`, " +
      "`month_first`, `year_first`; default: what fits most values. Values that do not fit are rows that cannot be imported. A " +
      "column that the layer has gets the type if `action` is 1; else it keeps its own, and another one is refused.",
    examples: ['{"plz": {"type": "string"}, "remarks": null}'],
  })
  .optional();

/** `coordinates`. Else invalid_value. */
const coordinatesParameter = readBy(text(""), readCoordinateNames)
  .meta({
    description:
      "Of a table, the names of the columns that the places come from, as a JSON array: east and north, or one with WKT, WKB or " +
      "GeoJSON; an empty one = there are none; default: they are found.",
    examples: ['["lon", "lat"]'],
  })
  .optional();

/** `other_tables`. Else invalid_value. */
const otherTablesParameter = readBy(text("", longestChoices), readOtherTables)
  .meta({
    description:
      "With `async` and `table`: other tables of the file, and the layers of the map that they are imported into in the same way, by " +
      "their codes, as a JSON object. Each is an import of its own; `others` of the answer lists them.",
    examples: ['{"parks": "layer2"}'],
  })
  .optional();

const importParameters = {
  srs: text(
    "Coordinate system of the data: an EPSG code, WKT or a proj4 string; default: that of the file, else 4326.",
  ).optional(),
  encoding: text(
    "Character encoding of the texts, such as UTF-8, windows-1251 or cp866; default: what the file says or looks like.",
  ).optional(),
  table: text(
    "Name of the one table that is imported, of a file that has several: a table of a GeoPackage, a sheet of a workbook, a folder " +
      "of a KML file, a file of an archive; default: all of them.",
  ).optional(),
  other_tables: otherTablesParameter,
  one_table: flag(
    "Whether a file that has several tables with features is refused before they are read; `data.tables` of the error lists " +
      "all its tables.",
  ),
  columns: columnsParameter,
  coordinates: coordinatesParameter,
  action: actionParameter,
  key: text(
    "For a merge: code or name of the column by whose values objects are found, instead of svc_id. A value must not occur twice " +
      "in the file, nor in several objects; features without a value are added.",
  ).optional(),
  partial: flag(
    "Whether features that cannot be imported are left out and listed in the answer; else one of them fails the import.",
  ),
  dry_run: flag("Whether to change nothing, and answer what the import would do."),
  async: flag(
    "Whether to answer 202 at once, with the address of the import in `Location`. It goes on if the client leaves.",
  ),
  raster_bbox: rasterBoxParameter,
};

const importHeaders = {
  "x-filename": text(
    `File name, if the body is the file itself; the extension determines the format: ${importFormatList}.`,
  ).optional(),
};

/** Files of one request; a shapefile has up to five. */
const maxFiles = 64;

const importBody = upload(importParameters, {
  file:
    `The file; the extension of its name determines the format: ${importFormatList}. ` +
    `The field may be repeated, up to ${maxFiles} times, for files that belong together.`,
  most: maxFiles,
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
  const rawName = () => headers()["x-filename"] ?? ".geojson";
  const isForm = mediaType(request) === multipart;
  const files = sent.files.map(({ path, clientName }) => ({
    path,
    name: isForm ? clientName : rawName(),
  }));
  const target = {
    projectId: context.project.id,
    accountId: context.caller.accountId ?? 0,
    language: view.language,
    idAlias: services.config.idAlias,
  };
  const source: Omit<ImportSource, "files" | "table"> = {
    srs: sent.srs,
    encoding: sent.encoding,
    oneTable: sent.one_table,
    columns: sent.columns,
    coordinates: sent.coordinates,
    action: sent.action,
    key: sent.key,
    partial: sent.partial,
    dryRun: sent.dry_run,
    rasterBox: sent.raster_bbox,
  };
  const imports = [[sent.table, layer] as const, ...othersOf(context, sent)].map(([table, layer]) => ({
    layer,
    target: { ...target, layerId: layer.id },
    source: { ...source, table },
    mayChangeColumns: mayChangeColumns({ ...context, layer }),
  }));
  if (sent.async) return startImports(services, context, imports, files);
  const [own] = imports as [(typeof imports)[number]];
  const options = { mayChangeColumns: own.mayChangeColumns, signal: request.signal };
  const imported = await importIntoLayer(services, own.target, { ...own.source, files }, options).catch(
    (error: unknown) => {
      throw isForm || headers()["x-filename"] !== undefined ? error : withFormatHint(error);
    },
  );
  await services.changes.propagate();
  return answerLayer(services, context, layer.id, { import: importResult(imported, sent.dry_run) });
}

/** Tables and layers of `other_tables`. @throws Failure invalid_value, not_found, forbidden, import_failed */
function othersOf(
  context: LayerContext,
  { other_tables: others, table, async: isAsync }: Values<typeof importParameters>,
): (readonly [table: string, layer: LayerNode])[] {
  if (!others) return [];
  const found = [...others].map(([name, code]) => {
    const layer = permittedLayer(context, code, toEditObjects);
    requireOwnObjects(layer);
    return [name, layer] as const;
  });
  const layerIds = [context.layer, ...found.map(([, layer]) => layer)].map(({ id }) => id);
  requireApart(others, { table, isAsync, layerIds });
  return found;
}

/** A body without a name is read as GeoJSON: a client that sent something else is told how to say so. */
function withFormatHint(error: unknown): unknown {
  if (!(error instanceof Failure) || !error.message.includes("not GeoJSON")) return error;
  const hint = "For another format, name the file in the header X-Filename, or send it as the field `file`.";
  return failed("import_failed", `${error.message} ${hint}`, error.data);
}

/** @throws Failure import_failed */
function requireOwnObjects(layer: LayerNode): void {
  if (layer.type !== "layer" && layer.type !== "raster")
    throw failed("import_failed", `The layer "${layer.code}" takes no data.`);
}

function mayChangeColumns({ map, caller, layer }: LayerContext): boolean {
  return (rightsOn(map, caller, layer) & Right.editStructure) !== 0;
}

export const importOperations: readonly Operation[] = [
  operation({
    id: "importData",
    tag: "Import and export",
    summary: "Import data into a layer",
    details:
      "The import is atomic: if it fails, the layer is unchanged, and `data.rows` of the error lists the first 100 " +
      "features that cannot be imported, with reasons. The data may be GeoJSON in the body, a file in the field `file` (or the files that it consists of, such as .shp, .dbf and .prj), or a file as the body, with " +
      "its name in `X-Filename`. Of an archive all files that can be read are imported. File formats: " +
      `${importFormatList}. For properties without a matching column, a column is added.`,
    access: "token",
    methods: ["POST"],
    path: `${layerPath}/import/`,
    writes: true,
    long: true,
    shows: layerResource,
    changes: layerResource,
    query: importParameters,
    headers: importHeaders,
    body: importBody,
    answer: answers("The layer with its new objects; `import` says what was done.", ref("Layer")),
    accepted: {
      ...answers("With `async`: the import, which goes on.", ref("ImportJob")),
      headers: { Location: "Path of the import" },
    },
    refuses: [
      "project_full",
      "import_failed",
      "unsupported_format",
      "no_georeference",
      "invalid_geometry",
      "invalid_code",
      "code_exists",
      "invalid_value",
      "constraint_violated",
      "unknown_column",
    ],
    handle: importFile,
  }),
];

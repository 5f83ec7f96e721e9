import { countObjects } from "../../features/count.js";
import { objectFormatter } from "../../features/format.js";
import { type ListRequest, listStatement } from "../../features/list.js";
import { readList } from "../../features/read.js";
import type { Reply, Request } from "../../http/types.js";
import { callerHeaders } from "../request/caller.js";
import { formParameter, invalidFormat } from "../request/common-parameters.js";
import { type LayerContext, objectsContext, toRead } from "../request/context.js";
import { answers, type Input, type Operation, operation } from "../request/operation.js";
import { layerPath } from "../request/paths.js";
import { versionOfObjects } from "../request/public-answers.js";
import { form } from "../request/schema/bodies.js";
import { choice, flag, integer, text } from "../request/schema/parameters.js";
import { ref, type Values } from "../request/schema/schema.js";
import { sizes } from "../request/schema/sizes.js";
import type { Services } from "../services.js";
import {
  boxParameter,
  fieldsParameter,
  filterBox,
  geometryParameters,
  geometryShape,
  languageParameter,
  languagesOf,
  sortParameter,
} from "./object-parameters.js";

/** Lists and counts of the objects of a layer. */

const listParameters = {
  fields: fieldsParameter,
  fcode: text("Code of the column to filter by; it must be among `fields`.").optional(),
  fval: text(
    "Value of the filter column, converted to its type. An empty value matches empty strings and nulls. Localised " +
      "values are compared and sorted in the language of the request.",
  ).default(""),
  offset: integer("Number of objects to skip.").default(0),
  limit: integer("Maximum number of objects; default: all.").optional(),
  sort: sortParameter,
  fbbox: boxParameter,
  ...geometryParameters,
  lng: languageParameter,
  format: choice(
    "`geojson` returns a FeatureCollection instead of an array of objects.",
    ["json", "geojson"],
    {
      what: "must be json or geojson",
      refuse: invalidFormat,
    },
  ),
  f: formParameter("`fjson`: values as text, in the formats of their columns.", ["fjson"]),
};
type ListParameters = Values<typeof listParameters>;

async function list(
  request: Request,
  services: Services,
  { query }: Input<typeof listParameters, undefined>,
) {
  return listReply(await objectsContext(request, services, toRead), query(), { request, services });
}

async function filter(request: Request, services: Services, { body }: Input<unknown, ListParameters>) {
  return listReply(await objectsContext(request, services, toRead), await body(), { request, services });
}

async function listReply(
  { map, layer, caller }: LayerContext,
  parameters: ListParameters,
  { request, services }: { readonly request: Request; readonly services: Services },
): Promise<Reply> {
  const version = await versionOfObjects(request, services, { map, layer, caller });
  if (version?.unchanged) return version.unchanged;
  const { fcode, fval, limit, bboxSR } = parameters;
  const features = parameters.format === "geojson";
  const languages = languagesOf(map, parameters.lng);
  // A Feature always has its geometry.
  const hasGeometry = features || parameters.returnGeom;
  const wanted: ListRequest = {
    fields: parameters.fields,
    filter: fcode === undefined ? undefined : { code: fcode, value: fval },
    sort: parameters.sort ?? [],
    offset: parameters.offset,
    limit,
    envelope: filterBox(parameters.fbbox, bboxSR),
    // The bbox of a Feature is in the coordinate system of its geometry (RFC 7946, 5).
    bbox: parameters.returnBbox ? (features ? parameters.geomSR : bboxSR) : undefined,
    geom: hasGeometry
      ? { ...geometryShape(parameters), centroid: parameters.returnGeom && parameters.returnCentroid }
      : undefined,
    languages,
    form: features ? "features" : "items",
  };
  const remaining = (read: number) => (limit === undefined ? undefined : Math.max(0, limit - read));
  const chunks = await readList(services.db, {
    statement: listStatement(layer, wanted),
    // Only in the order of ids: another key of the order may change meanwhile.
    resume:
      wanted.sort.length > 0
        ? undefined
        : (after, read) => listStatement(layer, { ...wanted, after, offset: 0, limit: remaining(read) }),
    limit,
    hasGeometry,
    hasLargeObjects: hasGeometry && layer.hasRuns === true,
    rewrite: parameters.f === "fjson" ? objectFormatter(layer.columns, languages) : undefined,
    text: features
      ? { opening: '{"type":"FeatureCollection","features":[', closing: "]}" }
      : { opening: "[", closing: "]" },
    signal: request.signal,
  });
  const type = features ? "application/geo+json" : "application/json; charset=utf-8";
  const headers = { "content-type": type, ...callerHeaders(caller), ...version?.headers };
  if (typeof chunks !== "string") return { kind: "stream", chunks, headers };
  return features ? { kind: "bytes", body: chunks, headers } : { kind: "json_text", text: chunks, headers };
}

const countParameters = {
  precise: flag("true: exact count, which may be slow; false: estimate."),
};

async function count(
  request: Request,
  services: Services,
  { query }: Input<typeof countParameters, undefined>,
): Promise<Reply> {
  const context = await objectsContext(request, services, toRead);
  const { layer, caller } = context;
  const { precise } = query();
  // An estimate changes with the statistics of the table.
  const version = precise ? await versionOfObjects(request, services, context) : undefined;
  if (version?.unchanged) return version.unchanged;
  const found = await countObjects(services.db, layer.id, precise, request.signal);
  return { kind: "json", value: found, headers: { ...callerHeaders(caller), ...version?.headers } };
}

const listAnswer = {
  description: "The objects, or a FeatureCollection.",
  content: {
    "application/json": { type: "array", items: ref("Object") },
    "application/geo+json": ref("FeatureCollection"),
  },
};
const listRefusals = [404, "filter_column_not_listed", "unknown_column", "invalid_format"] as const;

export const objectListOperations: readonly Operation[] = [
  operation({
    id: "countObjects",
    tag: "Objects",
    summary: "Count the objects of a layer",
    methods: ["GET"],
    path: `${layerPath}/count/`,
    query: countParameters,
    answer: answers("The number of objects.", { type: "integer", minimum: 0 }),
    refuses: [404],
    handle: count,
  }),
  operation({
    id: "listObjects",
    counts: "lists",
    tag: "Objects",
    summary: "List the objects of a layer",
    details: "The response is streamed; its size is not limited. Without `fields`, objects have no values.",
    methods: ["GET"],
    path: `${layerPath}/objects/`,
    query: listParameters,
    answer: listAnswer,
    refuses: listRefusals,
    handle: list,
  }),
  operation({
    id: "filterObjects",
    counts: "lists",
    tag: "Objects",
    summary: "List the objects of a layer, with the parameters in the body",
    methods: ["POST"],
    path: `${layerPath}/filter/`,
    body: form(listParameters, sizes.selection),
    answer: listAnswer,
    refuses: listRefusals,
    handle: filter,
  }),
];

import type { LayerNode, MapState } from "../../catalog/state.js";
import { badRequest } from "../../errors.js";
import { countObjects } from "../../features/count.js";
import { requireExpressions } from "../../features/filter-language.js";
import { countStatement, type ListRequest, listedIds } from "../../features/list.js";
import { type PageBounds, readList, readPage } from "../../features/read.js";
import type { Statement } from "../../features/sql.js";
import type { Reply, Request } from "../../http/types.js";
import type { Database } from "../../storage/postgres.js";
import { callerHeaders, clientOf } from "../request/caller.js";
import { formParameter, invalidFormat } from "../request/common-parameters.js";
import { type LayerContext, objectsContext, toRead } from "../request/context.js";
import { answers, type Input, type Operation, operation } from "../request/operation.js";
import { layerPath, prefixOf } from "../request/paths.js";
import { versionOfObjects } from "../request/public-answers.js";
import { form } from "../request/schema/bodies.js";
import { choice, flag, integer, text } from "../request/schema/parameters.js";
import { ref, type Values } from "../request/schema/schema.js";
import { sizes } from "../request/schema/sizes.js";
import type { Services } from "../services.js";
import { type ListType, listForm, listType } from "./list-forms.js";
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
  filter: text(
    "Only objects that this condition selects, in the filter language of virtual layers: `height > 100 and name like 'A%'`. " +
      "Localised values are compared in the language of the request.",
    100_000,
  ).optional(),
  offset: integer("Number of objects to skip.").default(0),
  limit: integer("Maximum number of objects; default: all.").optional(),
  after: integer(
    "Only objects with a higher id, in the order of ids: the page after the one that ended with this object. Not with sort.",
    { least: Number.MIN_SAFE_INTEGER },
  ).optional(),
  count: flag("Whether to count the objects on all pages, in the header X-Total-Count; it may take long."),
  sort: sortParameter,
  fbbox: boxParameter,
  ...geometryParameters,
  lng: languageParameter,
  format: choice("", ["json", "geojson"], { what: "must be json or geojson", refuse: invalidFormat })
    .unwrap()
    .optional()
    .describe(
      "`geojson` returns a FeatureCollection instead of an array of objects; default: what Accept asks for.",
    ),
  f: formParameter("`fjson`: values as text, in the formats of their columns; not in CSV.", ["fjson"]),
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
  const type = listType({ ...parameters, accept: request.header("accept") });
  const version = await versionOfObjects(request, services, { map, layer, caller, negotiated: type });
  if (version?.unchanged) return version.unchanged;
  const { limit, offset } = parameters;
  const { db } = services;
  const { signal } = request;
  const wanted = wantedObjects(map, parameters, type);
  if (wanted.condition) await requireExpressions(db, wanted.condition);
  const form = await listForm(type, services, {
    map,
    layer,
    request: wanted,
    isFormatted: parameters.f === "fjson",
  });
  const hasGeometry = wanted.geom !== undefined;
  const source = {
    ...form,
    hasGeometry,
    hasLargeObjects: hasGeometry && layer.hasVertexChunks === true,
    signal,
  };
  const bounded = ({ limit: most, ...bounds }: PageBounds): Statement =>
    form.statement({ ...wanted, ...bounds, limit: most === null ? undefined : (most ?? limit) });
  const total = parameters.count ? await totalOf(db, layer, wanted, signal) : undefined;
  const { text: read, next } =
    limit !== undefined && limit > 0 && wanted.sort.length === 0
      ? await readPage(db, {
          ...source,
          limit,
          offset,
          bounded,
          ids: (bounds) => listedIds(layer, { ...wanted, ...bounds }),
        })
      : {
          text: await readList(db, {
            ...source,
            limit,
            statement: form.statement(wanted),
            // Only in the order of ids: another key of the order may change meanwhile.
            resume: wanted.sort.length > 0 ? undefined : (after) => bounded({ after, offset: 0 }),
          }),
          next: undefined,
        };
  const { text: chunks, isWhole } = version?.isWorthReading
    ? await services.readAhead.read(read, clientOf(request, caller))
    : { text: read, isWhole: typeof read === "string" };
  const headers = {
    "content-type": form.contentType,
    vary: "Accept",
    ...(next !== undefined && { link: `<${nextAddress(request, next)}>; rel="next"` }),
    ...(total !== undefined && { "x-total-count": String(total) }),
    ...callerHeaders(caller),
    ...(isWhole ? version?.whenRead() : version?.beforeRead),
  };
  if (typeof chunks !== "string") return { kind: "stream", chunks, headers };
  return type === "application/json"
    ? { kind: "json_text", text: chunks, headers }
    : { kind: "bytes", body: chunks, headers };
}

/** @throws Failure bad_request */
function wantedObjects(map: MapState, parameters: ListParameters, type: ListType): Omit<ListRequest, "form"> {
  const { fcode, fval, bboxSR, sort = [], after } = parameters;
  if (after !== undefined && sort.length > 0)
    throw badRequest("Pages with after are in the order of ids, without sort.");
  const isFeatures = type === "application/geo+json" || type === "application/geo+json-seq";
  return {
    fields: parameters.fields,
    filter: fcode === undefined ? undefined : { code: fcode, value: fval },
    condition: parameters.filter?.trim() || undefined,
    sort,
    offset: parameters.offset,
    after,
    limit: parameters.limit,
    envelope: filterBox(parameters.fbbox, bboxSR),
    // The bbox of a Feature is in the coordinate system of its geometry (RFC 7946, 5).
    bbox: parameters.returnBbox ? (isFeatures ? parameters.geomSR : bboxSR) : undefined,
    // A Feature always has its geometry.
    geom:
      isFeatures || parameters.returnGeom
        ? { ...geometryShape(parameters), centroid: parameters.returnGeom && parameters.returnCentroid }
        : undefined,
    languages: languagesOf(map, parameters.lng),
  };
}

async function totalOf(
  db: Database,
  layer: LayerNode,
  wanted: Omit<ListRequest, "form">,
  signal: AbortSignal,
): Promise<number> {
  const { text, values } = countStatement(layer, wanted);
  return (await db.query<{ n: number }>(text, values, { signal }))[0]!.n;
}

/** The address of the page after an object. It has no token; for a request with a body, the same body belongs to it. */
function nextAddress({ baseUrl, path, rawQuery, body }: Request, after: number): string {
  const query = new URLSearchParams(rawQuery);
  query.delete("token");
  // An offset in the body would count again.
  if (query.has("offset") || body.receivedBytes > 0) query.set("offset", "0");
  query.set("after", String(after));
  const prefix = prefixOf(baseUrl);
  const own = prefix !== "" && path.startsWith(`${prefix}/`) ? path.slice(prefix.length) : path;
  const segments = own.split("/").map((segment) => encodeURIComponent(decodeURIComponent(segment)));
  return `${baseUrl}${segments.join("/")}?${query}`;
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
  const found = await countObjects(services.db, layer.id, { precise, signal: request.signal });
  return { kind: "json", value: found, headers: { ...callerHeaders(caller), ...version?.whenRead() } };
}

const listAnswer = {
  description:
    "The objects: by Accept an array, a FeatureCollection, a sequence of Features (RFC 8142), or CSV with a line of names and " +
    "the geometry, if it is asked for, as WKT.",
  content: {
    "application/json": { type: "array", items: ref("Object") },
    "application/geo+json": ref("FeatureCollection"),
    "application/geo+json-seq": { type: "string" },
    "text/csv": { type: "string" },
  },
  headers: {
    link: 'With limit and without sort: the address of the next page, with rel="next" and without a token; absent on the last.',
    "x-total-count": "With count: how many objects there are on all pages.",
  },
};
const listRefusals = [
  404,
  "filter_column_not_listed",
  "unknown_column",
  "invalid_value",
  "invalid_format",
] as const;

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
    details: "As GET `objects/`, for conditions that are too long for an address.",
    methods: ["POST"],
    changes: { unconditionally: "It reads." },
    path: `${layerPath}/filter/`,
    body: form(listParameters, sizes.selection),
    answer: listAnswer,
    refuses: listRefusals,
    handle: filter,
  }),
];

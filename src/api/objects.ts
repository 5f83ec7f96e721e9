import { requireRead, requireRight } from "../catalog/rights.js";
import {
  type Caller,
  hasObjects,
  isDerived,
  type LayerNode,
  type MapState,
  Right,
} from "../catalog/state.js";
import { failed, notFound, unauthenticated } from "../errors.js";
import { type Languages, valueColumns } from "../features/columns.js";
import { countObjects } from "../features/count.js";
import {
  createObject,
  deleteObject,
  getGeometry,
  type ObjectChange,
  putGeometry,
  updateObject,
} from "../features/edit.js";
import { readFields } from "../features/fields.js";
import { objectFormatter } from "../features/format.js";
import { encodeGeometry } from "../features/geometry.js";
import type { GeometryShape } from "../features/geometry-sql.js";
import { getObject } from "../features/get.js";
import type { ObjectShape } from "../features/item.js";
import { listStatement } from "../features/list.js";
import { readList } from "../features/read.js";
import type { Parameters, Reply, Request, Route } from "../http/types.js";
import { answer, callerHeaders, callerOf } from "./caller.js";
import { bodyObject, type Fields } from "./input.js";
import {
  fieldList,
  filterBox,
  flag,
  integer,
  objectId,
  parametersOf,
  sortKeys,
  srid,
  text,
  zoomLevel,
} from "./parameters.js";
import { printObject } from "./print.js";
import type { Services } from "./services.js";

/** The objects of a layer: lists, single objects, their geometry, and their number. */

const layerPath = "/api/2.8/:project/:map/layers/:layer";

export const objectRoutes: readonly Route<Services>[] = [
  { methods: ["GET"], path: `${layerPath}/count/`, handler: count },
  { methods: ["GET"], path: `${layerPath}/objects/`, handler: list },
  { methods: ["POST"], path: `${layerPath}/filter/`, handler: filter },
  { methods: ["POST"], path: `${layerPath}/objects/`, handler: create },
  { methods: ["GET"], path: `${layerPath}/objects/:object/`, handler: get },
  { methods: ["PUT"], path: `${layerPath}/objects/:object/`, handler: change },
  { methods: ["DELETE"], path: `${layerPath}/objects/:object/`, handler: remove },
  { methods: ["GET"], path: `${layerPath}/objects/:object/geom/`, handler: readGeometry },
  { methods: ["PUT"], path: `${layerPath}/objects/:object/geom/`, handler: changeGeometry },
];

interface Target {
  readonly map: MapState;
  readonly layer: LayerNode;
  readonly caller: Caller;
}

/** The layer of the path, once `allow` let the caller at it. Rights come first, so that nobody learns of hidden layers. */
async function target(
  request: Request,
  services: Services,
  allow: (map: MapState, caller: Caller, layer: LayerNode | undefined) => void,
): Promise<Target> {
  const { project = "", map: mapCode = "", layer: layerCode = "" } = request.params;
  const map = await services.catalog.map(project, mapCode);
  const caller = await callerOf(request, services, map.project);
  const layer = map.layers.get(layerCode);
  allow(map, caller, layer);
  if (!layer || !hasObjects(layer)) throw notFound(`layer with objects "${layerCode}"`);
  return { map, layer, caller };
}

/** JSON that PostgreSQL wrote. */
const written = (caller: Caller, text: string): Reply => ({
  kind: "json_text",
  text,
  headers: callerHeaders(caller),
});

const readable = (request: Request, services: Services) => target(request, services, requireRead);

/** What the contract marks with "token required" and only reads. */
const readableSignedIn = (request: Request, services: Services) =>
  target(request, services, (map, caller, layer) => {
    if (caller.accountId === null) throw unauthenticated();
    requireRead(map, caller, layer);
  });

const editable = (request: Request, services: Services) =>
  target(request, services, (map, caller, layer) => {
    requireRight(map, caller, Right.editObjects, layer);
    if (layer && isDerived(layer))
      throw failed("invalid_value", "The objects of this layer come from its source.", { type: layer.type });
  });

function languagesOf(map: MapState, parameters: Parameters): Languages {
  const main = map.project.languages[0];
  return { own: text(parameters, "lng") ?? main, main };
}

function geometryShape(parameters: Parameters): GeometryShape | undefined {
  const shape = { srid: srid(parameters, "geomSR"), zoom: zoomLevel(parameters) };
  const centroid = flag(parameters, "returnCentroid");
  return flag(parameters, "returnGeom") ? { ...shape, centroid } : undefined;
}

/** Whether values are to be shown by the formats of their columns. */
const formatted = (parameters: Parameters): boolean => text(parameters, "f") === "fjson";

/** An object with all of its columns, and what else the parameters ask for. */
function wholeShape(map: MapState, layer: LayerNode, parameters: Parameters): ObjectShape {
  const bboxSrid = srid(parameters, "bboxSR");
  return {
    fields: valueColumns(layer),
    geom: geometryShape(parameters),
    bbox: flag(parameters, "returnBbox") ? bboxSrid : undefined,
    languages: languagesOf(map, parameters),
  };
}

async function count(request: Request, services: Services): Promise<Reply> {
  const { layer, caller } = await readable(request, services);
  const precise = flag(request.query, "precise");
  return answer(caller, await countObjects(services.db, layer.id, precise, request.signal));
}

async function list(request: Request, services: Services): Promise<Reply> {
  return listReply(await readable(request, services), request.query, { request, services });
}

async function filter(request: Request, services: Services): Promise<Reply> {
  const at = await readable(request, services);
  return listReply(at, parametersOf(await request.body.fields()), { request, services });
}

async function listReply(
  { map, layer, caller }: Target,
  parameters: Parameters,
  { request, services }: { readonly request: Request; readonly services: Services },
): Promise<Reply> {
  const format = text(parameters, "format") ?? "json";
  if (format !== "json" && format !== "geojson")
    throw failed("invalid_format", "format must be json or geojson.");
  const features = format === "geojson";
  const bboxSrid = srid(parameters, "bboxSR");
  const limit = integer(parameters, "limit");
  const geom = geometryShape(parameters);
  const asked = geom ?? { srid: srid(parameters, "geomSR"), zoom: zoomLevel(parameters) };
  const code = text(parameters, "fcode");
  const statement = listStatement(layer, {
    fields: fieldList(parameters),
    filter: code === undefined ? undefined : { code, value: parameters.get("fval") ?? "" },
    sort: sortKeys(parameters),
    offset: integer(parameters, "offset") ?? 0,
    limit,
    envelope: filterBox(parameters, bboxSrid),
    bbox: flag(parameters, "returnBbox") ? bboxSrid : undefined,
    // A Feature always has its geometry.
    geom: features ? asked : geom,
    languages: languagesOf(map, parameters),
    form: features ? "features" : "items",
  });
  const chunks = await readList(services.db, {
    statement,
    limit,
    hasGeometry: features || geom !== undefined,
    rewrite: formatted(parameters) ? objectFormatter(layer.columns, languagesOf(map, parameters)) : undefined,
    text: features
      ? { opening: '{"type":"FeatureCollection","features":[', closing: "]}" }
      : { opening: "[", closing: "]" },
    signal: request.signal,
  });
  const type = features ? "application/geo+json" : "application/json; charset=utf-8";
  const headers = { "content-type": type, ...callerHeaders(caller) };
  if (typeof chunks !== "string") return { kind: "stream", chunks, headers };
  return features ? { kind: "bytes", body: chunks, headers } : written(caller, chunks);
}

async function get(request: Request, services: Services): Promise<Reply> {
  const { map, layer, caller } = await readable(request, services);
  const id = objectId(request.params.object);
  if (text(request.query, "f") === "pdf")
    return printObject(request, services, {
      map,
      layer,
      caller,
      id,
      languages: languagesOf(map, request.query),
    });
  const found = await getObject(services.db, layer, id, wholeShape(map, layer, request.query));
  if (found === undefined) return answer(caller, { id, fields: {} });
  const rewrite = formatted(request.query)
    ? objectFormatter(layer.columns, languagesOf(map, request.query))
    : undefined;
  return written(caller, rewrite ? rewrite(found) : found);
}

async function create(request: Request, services: Services): Promise<Reply> {
  const { map, layer, caller } = await editable(request, services);
  const body = await bodyObject(request);
  const shape = wholeShape(map, layer, request.query);
  const assignments = readFields(layer, { fields: body.fields, languages: shape.languages });
  const geom = bodyGeometry(body, layer, request);
  const made = await createObject(services.db, layer, { assignments, geom, shape });
  await services.changes.settle({ layers: [layer.id] });
  return written(caller, made);
}

async function change(request: Request, services: Services): Promise<Reply> {
  const { map, layer, caller } = await editable(request, services);
  const id = objectId(request.params.object);
  const body = await bodyObject(request);
  const shape = wholeShape(map, layer, request.query);
  const geom = bodyGeometry(body, layer, request);
  // Only a change of nothing but the geometry may leave `fields` out.
  const fields = body.fields === undefined && geom !== undefined ? {} : body.fields;
  const wanted: ObjectChange = {
    assignments: readFields(layer, { fields, languages: shape.languages, id }),
    geom,
    shape,
  };
  const changed = await updateObject(services.db, layer, id, wanted);
  if (changed === undefined) throw notFound(`object ${id}`);
  await services.changes.settle({ layers: [layer.id] });
  return written(caller, changed);
}

async function remove(request: Request, services: Services): Promise<Reply> {
  const { layer, caller } = await editable(request, services);
  const id = objectId(request.params.object);
  if (!(await deleteObject(services.db, layer, id))) throw notFound(`object ${id}`);
  await services.changes.settle({ layers: [layer.id] });
  return answer(caller, true);
}

async function readGeometry(request: Request, services: Services): Promise<Reply> {
  const { layer, caller } = await readableSignedIn(request, services);
  const id = objectId(request.params.object);
  const shape = { srid: srid(request.query, "geomSR"), zoom: zoomLevel(request.query) };
  const geometry = await getGeometry(services.db, layer, id, shape);
  if (geometry === undefined) throw notFound(`object ${id}`);
  return written(caller, geometry);
}

async function changeGeometry(request: Request, services: Services): Promise<Reply> {
  const { layer, caller } = await editable(request, services);
  const id = objectId(request.params.object);
  const system = srid(request.query, "geomSR");
  const sent = await request.body.json();
  const geom = sent === null ? null : encodeGeometry(sent, { srid: system, kind: layer.geometryKind });
  const geometry = await putGeometry(services.db, layer, id, { geom, shape: { srid: system } });
  if (geometry === undefined) throw notFound(`object ${id}`);
  await services.changes.settle({ layers: [layer.id] });
  return written(caller, geometry);
}

/** The geometry of a body in `geomSR`; null takes an object's geometry away, undefined leaves it. */
function bodyGeometry(body: Fields, layer: LayerNode, request: Request): Buffer | null | undefined {
  const geom = Object.hasOwn(body, "geom") ? body.geom : undefined;
  if (geom === undefined || geom === null) return geom;
  return encodeGeometry(geom, { srid: srid(request.query, "geomSR"), kind: layer.geometryKind });
}

import { loginOf } from "../../catalog/bin.js";
import type { LayerNode, MapState } from "../../catalog/state.js";
import { notFound } from "../../errors.js";
import { valueColumns } from "../../features/column-sql.js";
import { createObject, deleteObject, type ObjectChange, updateObject } from "../../features/edit.js";
import { objectFormatter } from "../../features/format.js";
import { getObject } from "../../features/get.js";
import type { ObjectShape } from "../../features/item.js";
import { wholeText } from "../../features/json-text.js";
import type { Reply, Request } from "../../http/types.js";
import { answer } from "../request/caller.js";
import { formParameter } from "../request/common-parameters.js";
import { editableContext, objectsContext, toRead } from "../request/context.js";
import { objectMatchHeaders } from "../request/if-match.js";
import { type Answer, answers, type Input, type Operation, operation } from "../request/operation.js";
import { layerPath } from "../request/paths.js";
import { jsonObject } from "../request/schema/bodies.js";
import { anything } from "../request/schema/fields.js";
import { objectId } from "../request/schema/parameters.js";
import { ref, ruled, type Values } from "../request/schema/schema.js";
import { sizes } from "../request/schema/sizes.js";
import type { Services } from "../services.js";
import { sentObject } from "./object-bodies.js";
import { printObject } from "./object-documents.js";
import { taggedObject } from "./object-etags.js";
import { geometryParameters, geometryShape, languageParameter, languagesOf } from "./object-parameters.js";

/** Single objects of a layer: get, create, change, delete. */

const objectParameters = { ...geometryParameters, lng: languageParameter };

const getParameters = {
  ...objectParameters,
  f: formParameter(
    "`fjson`: values as text, in the formats of their columns; `pdf`: a PDF document of the object.",
    ["fjson", "pdf"],
  ),
};

/** All columns of the object, with the geometry and bounding box that the parameters request. */
function wholeShape(
  map: MapState,
  layer: LayerNode,
  parameters: Values<typeof objectParameters>,
): ObjectShape {
  return {
    fields: valueColumns(layer),
    geom: parameters.returnGeom ? geometryShape(parameters) : undefined,
    bbox: parameters.returnBbox ? parameters.bboxSR : undefined,
    languages: languagesOf(map, parameters.lng),
  };
}

async function get(
  request: Request,
  services: Services,
  { query }: Input<typeof getParameters, undefined>,
): Promise<Reply> {
  const { map, layer, caller } = await objectsContext(request, services, toRead);
  const id = objectId(request.params.object);
  const parameters = query();
  const shape = wholeShape(map, layer, parameters);
  const { languages } = shape;
  if (parameters.f === "pdf") return printObject(request, services, { map, layer, caller, id, languages });
  const comparesVersion = request.header("if-none-match") !== undefined;
  const found = await getObject(services.db, layer, id, { ...shape, comparesVersion });
  if (found === undefined) return answer(caller, { id, fields: {} });
  if (parameters.f !== "fjson") return taggedObject(caller, layer, found);
  const format = objectFormatter(layer.columns, languages);
  const json = await services.slices.whole(`p${map.project.id}`, () => format(wholeText(found.json)));
  return taggedObject(caller, layer, { ...found, json });
}

const values = (description: string) => anything(description, { type: "object", additionalProperties: true });
const geometry = (description: string) =>
  anything(description, { anyOf: [ref("Geometry"), { type: "null" }] });

const createBody = {
  fields: ruled(values("Values by column code. All required columns must have a value."), {
    blanks: [null],
  }),
  geom: geometry("GeoJSON; null for none.").optional(),
};
const changeBody = {
  fields: values(
    "Values by column code; columns that are missing keep their values. Required unless geom is given.",
  ).optional(),
  geom: geometry("GeoJSON; null removes the geometry; if absent, it is not changed.").optional(),
};

type Write<Body> = Input<typeof objectParameters, Values<Body>, typeof objectMatchHeaders>;

async function create(
  request: Request,
  services: Services,
  { query, body, ignored }: Write<typeof createBody>,
): Promise<Reply> {
  const { map, layer, caller } = await editableContext(request, services);
  services.fullProjects.requireRoom(map.project);
  const parameters = query();
  const shape = wholeShape(map, layer, parameters);
  const rules = { layer, languages: shape.languages, srid: parameters.geomSR };
  const sent = await sentObject(request, services, { caller, body, rules });
  ignored.addHeader(sent.ignored);
  const made = await createObject(services.db, layer, { ...sent, shape, login: loginOf(caller) });
  await services.changes.propagate(made.receipt);
  return taggedObject(caller, layer, made);
}

async function change(
  request: Request,
  services: Services,
  { query, body, headers, ignored }: Write<typeof changeBody>,
): Promise<Reply> {
  const { map, layer, caller } = await editableContext(request, services);
  const id = objectId(request.params.object);
  const parameters = query();
  const shape = wholeShape(map, layer, parameters);
  const rules = { layer, languages: shape.languages, id, srid: parameters.geomSR };
  const sent = await sentObject(request, services, { caller, body, rules });
  ignored.addHeader(sent.ignored);
  const wanted: ObjectChange = {
    ...sent,
    shape,
    versions: headers()["if-match"],
    login: loginOf(caller),
  };
  const changed = await updateObject(services.db, layer, id, wanted);
  if (changed === undefined) throw notFound(`object ${id}`);
  if (changed.receipt !== undefined) await services.changes.propagate(changed.receipt);
  return taggedObject(caller, layer, changed);
}

async function remove(
  request: Request,
  services: Services,
  { headers }: Input<unknown, undefined, typeof objectMatchHeaders>,
): Promise<Reply> {
  const { layer, caller } = await editableContext(request, services);
  const id = objectId(request.params.object);
  const match = { versions: headers()["if-match"], login: loginOf(caller) };
  const receipt = await deleteObject(services.db, layer, id, match);
  if (receipt === undefined) throw notFound(`object ${id}`);
  await services.changes.propagate(receipt);
  return answer(caller, true);
}

const object: Answer = {
  ...answers("The object with all of its columns.", ref("Object")),
  headers: { ETag: "Changes with each write of the object. Objects of virtual layers have no ETag." },
};
const writeRefusals = [
  404,
  "invalid_value",
  "unknown_column",
  "required_parameters",
  "invalid_geometry",
  "constraint_violated",
] as const;

export const objectOperations: readonly Operation[] = [
  operation({
    id: "createObject",
    tag: "Objects",
    summary: "Create an object",
    access: "token",
    methods: ["POST"],
    path: `${layerPath}/objects/`,
    writes: true,
    changes: { unconditionally: "It makes an object." },
    query: objectParameters,
    body: jsonObject(createBody, sizes.data),
    answer: object,
    refuses: [...writeRefusals, "project_full"],
    handle: create,
  }),
  operation({
    id: "getObject",
    tag: "Objects",
    summary: "Get an object",
    details: "For an unknown id, the response is an object with empty `fields`.",
    methods: ["GET"],
    path: `${layerPath}/objects/:object/`,
    query: getParameters,
    answer: {
      ...object,
      content: { ...object.content, "application/pdf": { type: "string", format: "binary" } },
      headers: {
        ...object.headers,
        "X-Tile-Incomplete":
          "Of a PDF: codes of layers that its map should show and that cannot be drawn just then.",
      },
    },
    refuses: [404, "invalid_format"],
    handle: get,
  }),
  operation({
    id: "changeObject",
    tag: "Objects",
    summary: "Change an object",
    access: "token",
    methods: ["PUT"],
    path: `${layerPath}/objects/:object/`,
    writes: true,
    query: objectParameters,
    headers: objectMatchHeaders,
    changes: "object",
    body: jsonObject(changeBody, sizes.data),
    answer: object,
    refuses: [412, ...writeRefusals],
    handle: change,
  }),
  operation({
    id: "deleteObject",
    tag: "Objects",
    summary: "Delete an object",
    access: "token",
    methods: ["DELETE"],
    path: `${layerPath}/objects/:object/`,
    writes: true,
    headers: objectMatchHeaders,
    changes: "object",
    answer: answers("The object was deleted.", { const: true }),
    refuses: [404, 412, "invalid_value"],
    handle: remove,
  }),
];

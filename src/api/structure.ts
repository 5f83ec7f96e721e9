import { readColumnType } from "../catalog/column-types.js";
import { requireRead, requireRight } from "../catalog/rights.js";
import { type Column, type LayerNode, localName, Right } from "../catalog/state.js";
import { type ColumnInput, changeColumn, createColumn, deleteColumn } from "../catalog/structure.js";
import { badRequest, failed, notFound, required, unauthenticated } from "../errors.js";
import { readFormat } from "../features/format-settings.js";
import type { Reply, Request, Route } from "../http/types.js";
import { answer } from "./caller.js";
import { bodyObject, type Fields, flagField, nameField, numberField, own } from "./input.js";
import { projectPath } from "./present.js";
import type { Services } from "./services.js";
import { again, type Visit, visit } from "./visit.js";

/** The structure of a layer: its columns. */

async function list(request: Request, services: Services): Promise<Reply> {
  const { map, caller, view } = await visit(request, services);
  const layer = map.layers.get(request.params.layer!);
  requireRead(map, caller, layer);
  if (!layer) throw notFound(`layer "${request.params.layer}"`);
  return answer(
    caller,
    layer.columns.map((column) => columnElement(column, view.language, map.project.languages[0])),
  );
}

async function create(request: Request, services: Services): Promise<Reply> {
  const visitor = await visit(request, services);
  const layer = changeableLayer(visitor, request);
  const fields = await bodyObject(request);
  const input = columnInput(fields, visitor, undefined);
  if (input.code === undefined) throw required(["code"]);
  const id = await createColumn(services.db, targetOf(visitor, layer), { ...input, code: input.code });
  return answerColumn(services, visitor, { layer, id });
}

async function change(request: Request, services: Services): Promise<Reply> {
  const visitor = await visit(request, services);
  const layer = changeableLayer(visitor, request);
  const code = request.params.column!;
  const column = layer.columns.find((candidate) => candidate.code === code);
  if (!column) throw notFound(`column "${code}"`);
  const fields = await bodyObject(request);
  const input = columnInput(fields, visitor, column);
  const id = await changeColumn(services.db, targetOf(visitor, layer), code, input);
  return answerColumn(services, visitor, { layer, id });
}

async function remove(request: Request, services: Services): Promise<Reply> {
  const visitor = await visit(request, services);
  const layer = changeableLayer(visitor, request);
  await deleteColumn(services.db, targetOf(visitor, layer), request.params.column!);
  await services.changes.settle({ maps: [visitor.map.id], layers: [layer.id] });
  return answer(visitor.caller, null);
}

/**
 * The layer of the path, for a change of its columns. Who may not even read the map does not learn which layers it has.
 * @throws Failure unauthenticated, forbidden, not_found, invalid_value
 */
function changeableLayer({ map, caller }: Visit, request: Request): LayerNode {
  if (caller.accountId === null) throw unauthenticated();
  requireRead(map, caller);
  const layer = map.layers.get(request.params.layer!);
  if (!layer) throw notFound(`layer "${request.params.layer}"`);
  requireRight(map, caller, Right.editStructure, layer);
  if (layer.type !== "layer") {
    throw failed("invalid_value", "The columns of this layer are not its own.", { type: layer.type });
  }
  return layer;
}

const targetOf = ({ map }: Visit, layer: LayerNode) => ({
  mapId: map.id,
  layerId: layer.id,
  mainLanguage: map.project.languages[0],
});

/**
 * What a body says of a column.
 * @param previous the column that is changed
 * @throws Failure type_required, unknown_type, invalid_value, bad_request
 */
function columnInput(fields: Fields, { map, view }: Visit, previous: Column | undefined): ColumnInput {
  const type = readColumnType(own(fields, "type"));
  const context = { language: view.language, main: map.project.languages[0] };
  return {
    type,
    code: codeField(fields),
    name: nameField(fields, previous ? { ...context, previous } : context),
    required: flagField(fields, "required"),
    localizedValue: flagField(fields, "localized_value"),
    sort: numberField(fields, "sort"),
    parentId: parentField(fields),
    format: formatField(fields, type),
  };
}

/** Any text: which ones are codes is told with invalid_code. @throws Failure invalid_code */
function codeField(fields: Fields): string | undefined {
  const code = own(fields, "code");
  if (code === undefined || code === "") return undefined;
  if (typeof code !== "string") throw failed("invalid_code", "A column code is a text.");
  return code;
}

/** Absent = undefined; null and 0 = top level. @throws Failure bad_request */
function parentField(fields: Fields): number | undefined {
  if (!Object.hasOwn(fields, "parent_id")) return undefined;
  const id = numberField(fields, "parent_id") ?? 0;
  if (!Number.isInteger(id) || Math.abs(id) > 2 ** 31 - 1)
    throw badRequest("parent_id must be the id of a column.");
  return id;
}

/** Absent = undefined; null takes the format away. @throws Failure invalid_value */
function formatField(fields: Fields, type: Column["type"]): ColumnInput["format"] {
  if (!Object.hasOwn(fields, "format")) return undefined;
  const given = own(fields, "format");
  return given === undefined ? null : { ...readFormat(given, type) };
}

/** The column element as it is now. */
async function answerColumn(
  services: Services,
  visitor: Visit,
  { layer, id }: { readonly layer: LayerNode; readonly id: number },
): Promise<Reply> {
  await services.changes.settle({ maps: [visitor.map.id], layers: [layer.id] });
  const { map, caller, view } = await again(visitor, services);
  const column = map.layers.get(layer.code)?.columns.find((candidate) => candidate.id === id);
  if (!column) throw notFound("column of that code");
  return answer(caller, columnElement(column, view.language, map.project.languages[0]));
}

/** The column element of the contract, its title in the language. */
function columnElement(column: Column, language: string, main: string): Record<string, unknown> {
  return {
    id: column.id,
    sort: column.sort,
    parent_id: column.parentId ?? 0,
    code: column.code,
    name: localName(column, language, main),
    required: column.required,
    type: column.type,
    localized_name: column.localized,
    localized_value: column.localizedValue,
    ...(column.format ? { format: column.format } : {}),
  };
}

const structurePath = `${projectPath}/:map/layers/:layer/structure`;

export const structureRoutes: readonly Route<Services>[] = [
  { methods: ["GET"], path: `${structurePath}/`, handler: list },
  { methods: ["POST"], path: `${structurePath}/`, handler: create },
  { methods: ["PUT", "PATCH"], path: `${structurePath}/:column/`, handler: change },
  { methods: ["DELETE"], path: `${structurePath}/:column/`, handler: remove },
];

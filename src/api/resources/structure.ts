import { deleterOf } from "../../catalog/bin.js";
import { idNames } from "../../catalog/id-alias.js";
import { type Column, type LayerNode, localName } from "../../catalog/state.js";
import { type ColumnInput, changeColumn, createColumn, deleteColumn } from "../../catalog/structure.js";
import { failed, notFound } from "../../errors.js";
import { readFormat } from "../../features/format-settings.js";
import type { Reply, Request } from "../../http/types.js";
import { onceForEach } from "../../once.js";
import type { Answered } from "../request/answer-schemas.js";
import { answer } from "../request/caller.js";
import {
  type LayerContext,
  layerContext,
  type MapContext,
  reload,
  toEditStructure,
  toRead,
} from "../request/context.js";
import { answers, type Input, type Operation, operation } from "../request/operation.js";
import { layerPath } from "../request/paths.js";
import { ofCatalogue, stateOf } from "../request/resource.js";
import { jsonObject } from "../request/schema/bodies.js";
import { nameOf } from "../request/schema/names.js";
import { ref, type Values } from "../request/schema/schema.js";
import { sizes } from "../request/schema/sizes.js";
import type { Services } from "../services.js";
import { columnFields, newColumnFields } from "./column-fields.js";

/** The structure of a layer: its columns. */

async function list(request: Request, services: Services): Promise<Reply> {
  const { map, layer, caller, view } = await layerContext(request, services, toRead);
  return answer(
    caller,
    layer.columns.map((column) => columnElement(column, view.language, map.project.languages[0])),
  );
}

async function create(
  request: Request,
  services: Services,
  { body }: Input<unknown, Values<typeof newColumnFields>>,
): Promise<Reply> {
  const context = await structureContext(request, services);
  const { layer } = context;
  const sent = await body();
  const column = { ...columnInput(sent, context, undefined), code: sent.code };
  requireFree(layer, sent.code);
  const id = await createColumn(services.db, targetOf(context, layer), column);
  return answerColumn(services, context, { layer, id });
}

async function change(
  request: Request,
  services: Services,
  { body }: Input<unknown, Values<typeof columnFields>>,
): Promise<Reply> {
  const context = await structureContext(request, services);
  const { layer } = context;
  const code = request.params.column!;
  const column = layer.columns.find((candidate) => candidate.code === code);
  if (!column) throw notFound(`column "${code}"`);
  const input = columnInput(await body(), context, column);
  if (input.code !== undefined && input.code !== code) requireFree(layer, input.code);
  const id = await changeColumn(services.db, targetOf(context, layer), code, input);
  return answerColumn(services, context, { layer, id });
}

async function remove(request: Request, services: Services): Promise<Reply> {
  const context = await structureContext(request, services);
  const { layer } = context;
  const by = deleterOf(services.config, context.caller);
  await deleteColumn(services.db, targetOf(context, layer), request.params.column!, by);
  await services.changes.propagate();
  return answer(context.caller, null);
}

/** The layer of the path, for a change of its columns. @throws Failure as `layerContext`; invalid_value */
async function structureContext(request: Request, services: Services): Promise<LayerContext> {
  const context = await layerContext(request, services, toEditStructure);
  const { type } = context.layer;
  if (type !== "layer") throw failed("invalid_value", "The columns of this layer are not its own.", { type });
  return context;
}

/** Refuses the configured alias of the object id, which the database does not know. @throws Failure code_exists */
function requireFree(layer: LayerNode, code: string): void {
  if (idNames(layer.columns).includes(code))
    throw failed("code_exists", `There is a column "${code}" already.`);
}

const targetOf = ({ map }: MapContext, layer: LayerNode) => ({
  mapId: map.id,
  layerId: layer.id,
  mainLanguage: map.project.languages[0],
});

/**
 * The column settings of a body.
 * @param previous the column to change; undefined for a new one
 * @throws Failure invalid_value
 */
function columnInput(
  sent: Values<typeof columnFields>,
  { map, view }: MapContext,
  previous: Column | undefined,
): ColumnInput {
  const { type, format } = sent;
  const context = { language: view.language, main: map.project.languages[0] };
  return {
    type,
    code: sent.code,
    name: nameOf(sent, previous ? { ...context, previous } : context),
    required: sent.required,
    localizedValue: sent.localized_value,
    sort: sent.sort,
    parentId: sent.parent_id,
    format: format === undefined || format === null ? format : { ...readFormat(format, type) },
  };
}

/** Responds with the column after it was created or changed. */
async function answerColumn(
  services: Services,
  context: MapContext,
  { layer, id }: { readonly layer: LayerNode; readonly id: number },
): Promise<Reply> {
  await services.changes.propagate();
  const { map, caller, view } = await reload(context, services);
  const column = map.layers.get(layer.code)?.columns.find((candidate) => candidate.id === id);
  if (!column) throw notFound("column of that code");
  return answer(caller, columnElement(column, view.language, map.project.languages[0]));
}

/** The `Column` response object, with the name in the given language. */
function columnElement(column: Column, language: string, main: string): Answered<"Column"> {
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

const columnsStates = onceForEach(({ columns }: LayerNode) => stateOf(columns));

const columnsResource = ofCatalogue({ name: "columns", lockedBy: "columns" }, ({ map, params }) => {
  const layer = map?.layers.get(params.layer!);
  return layer && columnsStates(layer);
});

const structurePath = `${layerPath}/structure/`;
const column = answers("The new or changed column.", ref("Column"));
const refuses = ["type_required", "unknown_type", "invalid_code", "code_exists", "invalid_value"] as const;

export const structureOperations: readonly Operation[] = [
  operation({
    id: "listColumns",
    tag: "Structure",
    summary: "List the columns of a layer",
    details: "In column order, with `svc_id` and `geom`.",
    methods: ["GET"],
    path: structurePath,
    isKeptByCdn: true,
    shows: columnsResource,
    answer: answers("The columns.", { type: "array", items: ref("Column") }),
    handle: list,
  }),
  operation({
    id: "createColumn",
    tag: "Structure",
    summary: "Add a column to a layer",
    access: "token",
    methods: ["POST"],
    path: structurePath,
    writes: true,
    long: true,
    changes: columnsResource,
    body: jsonObject(newColumnFields, sizes.element),
    answer: column,
    refuses,
    handle: create,
  }),
  operation({
    id: "changeColumn",
    tag: "Structure",
    summary: "Change a column",
    details:
      "Fields that are missing in the body are not changed; only `type` is always required. When the type changes, " +
      "values that cannot be converted become null.",
    access: "token",
    methods: ["PUT", "PATCH"],
    path: `${structurePath}:column/`,
    writes: true,
    long: true,
    changes: columnsResource,
    body: jsonObject(columnFields, sizes.element),
    answer: column,
    refuses,
    handle: change,
  }),
  operation({
    id: "deleteColumn",
    tag: "Structure",
    summary: "Delete a column and its values",
    details: "Columns below a deleted title move to the top level.",
    access: "token",
    methods: ["DELETE"],
    path: `${structurePath}:column/`,
    writes: true,
    long: true,
    changes: columnsResource,
    answer: answers("The column was deleted.", { type: "null" }),
    refuses: ["invalid_value"],
    handle: remove,
  }),
];

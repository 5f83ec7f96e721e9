import { mayRead, requireRight, rightsOn } from "../../access/rights.js";
import { deleterOf } from "../../catalog/bin.js";
import {
  changeFolder,
  createFolder,
  deleteFolder,
  folderOf,
  isFolderShown,
  requireParent,
} from "../../catalog/folders.js";
import { type MapState, Right, type TreeNode } from "../../catalog/state.js";
import { forbidden, notFound } from "../../errors.js";
import type { Reply, Request } from "../../http/types.js";
import type { Answered } from "../request/answer-schemas.js";
import { answer } from "../request/caller.js";
import { type MapContext, mapContext, reload, signedInMapContext } from "../request/context.js";
import { answers, type Input, type Operation, operation } from "../request/operation.js";
import { mapPath } from "../request/paths.js";
import { ofCatalogue, stateOf } from "../request/resource.js";
import { form, jsonObject } from "../request/schema/bodies.js";
import { parent, settings } from "../request/schema/fields.js";
import { ref, type Values } from "../request/schema/schema.js";
import { sizes } from "../request/schema/sizes.js";
import type { Services } from "../services.js";
import { changedName, changedNodeFields, newName, newNodeFields } from "./tree-fields.js";

/** Folders: create, get, change, delete. */

const createFields = { ...newNodeFields("folder"), json: settings };
const changeFields = { ...changedNodeFields, json: settings };

const placeParameters = {
  parent_id: parent("Id of the parent folder or map. Optional; a different id is refused.").optional(),
};

async function create(
  request: Request,
  services: Services,
  { body }: Input<unknown, Values<typeof createFields>>,
): Promise<Reply> {
  const context = await mapContext(request, services);
  const { map, caller } = context;
  requireRight(map, caller, Right.editStructure);
  const sent = await body();
  const id = await createFolder(services.db, map.id, {
    code: sent.code,
    name: newName(sent, context),
    parentId: sent.parent_id,
    sort: sent.sort,
    json: sent.json,
    ownerId: caller.accountId,
  });
  await services.changes.propagate();
  return answerFolder(services, context, id);
}

async function get(
  request: Request,
  services: Services,
  { query }: Input<typeof placeParameters, undefined>,
): Promise<Reply> {
  const context = await signedInMapContext(request, services);
  const { map, caller } = context;
  const folder = folderOf(map, request.params.folder!);
  if (!isFolderShown(map, folder.id, (layer) => mayRead(map, caller, layer))) throw forbidden();
  requireParent(map.id, folder.parentId, query().parent_id);
  return answer(caller, folderObject(map, folder));
}

/** PUT and PATCH both keep fields that are missing in the body. `parent_id` is the new parent. */
async function change(
  request: Request,
  services: Services,
  { body }: Input<unknown, Values<typeof changeFields>>,
): Promise<Reply> {
  const context = await signedInMapContext(request, services);
  const { map, caller } = context;
  requireRight(map, caller, Right.editStructure);
  const folder = folderOf(map, request.params.folder!);
  const sent = await body();
  await changeFolder(services.db, map.id, folder.id, {
    code: sent.code,
    parentId: sent.parent_id,
    sort: sent.sort,
    name: changedName(sent, context, folder),
    json: sent.json,
  });
  await services.changes.propagate();
  return answerFolder(services, context, folder.id);
}

/**
 * Many clients send DELETE without a body, so unlike with PUT the parent is optional. If given, in the query or the
 * body, it must be the parent of the folder.
 */
async function remove(
  request: Request,
  services: Services,
  { body }: Input<unknown, Values<typeof placeParameters>>,
): Promise<Reply> {
  const { map, caller } = await signedInMapContext(request, services);
  requireRight(map, caller, Right.editStructure);
  const folder = folderOf(map, request.params.folder!);
  await deleteFolder(services.db, map.id, folder.id, {
    parentId: (await body()).parent_id,
    mayDelete: (id) => (rightsOn(map, caller, { id }) & Right.editStructure) !== 0,
    by: deleterOf(services.config, caller),
  });
  await services.changes.propagate();
  return answer(caller, true);
}

/** The folder as it is now. */
async function answerFolder(services: Services, context: MapContext, id: number): Promise<Reply> {
  const { map, caller } = await reload(context, services);
  const folder = map.nodes.get(id);
  if (!folder) throw notFound("folder of that code");
  return answer(caller, folderObject(map, folder));
}

/** The `Folder` response object. Fields that folders do not support have constant values. */
function folderObject(map: MapState, folder: TreeNode): Answered<"Folder"> {
  return {
    id: folder.id,
    type: "folder",
    code: folder.code,
    name: folder.localized ? folder.names : folder.name,
    sort: folder.sort,
    icon: folder.icon,
    selected: folder.selected,
    parent_id: folder.parentId ?? map.id,
    render_type: folder.renderType,
    map_layer_id: folder.id,
    style_mode: folder.styleMode,
    tiles_quality: 0,
    json: folder.json,
    view_format_type: 0,
  };
}

const folderResource = ofCatalogue({ name: "folder", lockedBy: "map" }, ({ map, params }, value) => {
  // A new folder, or one with a new code, is what the answer says.
  const { id } = (value ?? {}) as { id?: number };
  const folders = [...(map?.nodes.values() ?? [])].filter(({ type }) => type === "folder");
  const folder = id === undefined ? folders.find(({ code }) => code === params.folder) : map?.nodes.get(id);
  return map && folder && stateOf(folderObject(map, folder));
});

const refusals = ["invalid_value", "invalid_code", "code_exists"] as const;

export const folderOperations: readonly Operation[] = [
  operation({
    id: "createFolder",
    tag: "Folders",
    summary: "Create a folder",
    access: "token",
    methods: ["POST"],
    path: `${mapPath}/folders/`,
    writes: true,
    shows: folderResource,
    changes: { unconditionally: "It makes a folder." },
    body: jsonObject(createFields, sizes.element),
    answer: answers("The new folder.", ref("Folder")),
    refuses: refusals,
    handle: create,
  }),
  operation({
    id: "getFolder",
    tag: "Folders",
    summary: "Get a folder",
    access: "token",
    methods: ["GET"],
    path: `${mapPath}/folders/:folder/`,
    isKeptByCdn: true,
    shows: folderResource,
    query: placeParameters,
    answer: answers("The folder.", ref("Folder")),
    handle: get,
  }),
  operation({
    id: "changeFolder",
    tag: "Folders",
    summary: "Change or move a folder",
    details:
      "PUT and PATCH both keep fields that are missing in the body. Without parent_id, or with one that does not " +
      "exist in this map, the response is 404.",
    access: "token",
    methods: ["PUT", "PATCH"],
    path: `${mapPath}/folders/:folder/`,
    writes: true,
    shows: folderResource,
    changes: folderResource,
    body: jsonObject(changeFields, sizes.element),
    answer: answers("The changed folder.", ref("Folder")),
    refuses: refusals,
    handle: change,
  }),
  operation({
    id: "deleteFolder",
    tag: "Folders",
    summary: "Delete a folder and its content",
    details:
      "Nothing is deleted if the folder contains a layer that the caller may not delete (403), or a layer that is " +
      "the source of a layer outside the folder (invalid_value).",
    access: "token",
    methods: ["DELETE"],
    path: `${mapPath}/folders/:folder/`,
    writes: true,
    changes: folderResource,
    query: placeParameters,
    body: form(placeParameters, sizes.small),
    answer: answers("The folder was deleted.", { const: true }),
    refuses: ["invalid_value"],
    handle: remove,
  }),
];

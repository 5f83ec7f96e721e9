import { changeFolder, createFolder, deleteFolder, folderOf, isFolderShown } from "../catalog/folders.js";
import { mayRead, requireRight, rightsOn } from "../catalog/rights.js";
import { type MapState, Right, type TreeNode } from "../catalog/state.js";
import { failed, forbidden, notFound } from "../errors.js";
import type { Reply, Request, Route } from "../http/types.js";
import { answer, hasBody } from "./caller.js";
import {
  bodyObject,
  type Fields,
  isObject,
  nameField,
  numberField,
  own,
  parentField,
  textField,
} from "./input.js";
import { projectPath } from "./present.js";
import type { Services } from "./services.js";
import { again, signedInVisit, type Visit, visit } from "./visit.js";

/** Folders: creation, reading, change and deletion. */

async function create(request: Request, services: Services): Promise<Reply> {
  const visitor = await visit(request, services);
  const { map, caller, view } = visitor;
  requireRight(map, caller, Right.editStructure);
  const fields = await bodyObject(request);
  const id = await createFolder(services.db, map.id, {
    code: textField(fields, "code"),
    name: nameField(fields, { language: view.language, main: map.project.languages[0] }),
    parentId: parentField(fields),
    sort: numberField(fields, "sort"),
    json: settingsField(fields),
    ownerId: caller.accountId,
  });
  await services.changes.settle({ maps: [map.id] });
  return answerFolder(services, visitor, id);
}

async function get(request: Request, services: Services): Promise<Reply> {
  const visitor = await signedInVisit(request, services);
  const { map, caller } = visitor;
  const folder = folderOf(map, request.params.folder!);
  if (!isFolderShown(map, folder.id, (layer) => mayRead(map, caller, layer))) throw forbidden();
  return answer(caller, folderObject(map, folder));
}

/** PUT gives the name and the settings their defaults again when it does not name them; PATCH leaves them. */
async function change(request: Request, services: Services): Promise<Reply> {
  const visitor = await signedInVisit(request, services);
  const { map, caller, view } = visitor;
  requireRight(map, caller, Right.editStructure);
  const folder = folderOf(map, request.params.folder!);
  const fields = await bodyObject(request);
  const parentId = parentField(fields);
  if (parentId === undefined) throw notFound("parent: parent_id is required");
  const replace = request.method === "PUT";
  const context = { language: view.language, main: map.project.languages[0] };
  await changeFolder(services.db, map.id, folder.id, {
    code: textField(fields, "code"),
    parentId,
    sort: numberField(fields, "sort"),
    name:
      nameField(fields, replace ? context : { ...context, previous: folder }) ??
      (replace ? { name: "", localized: false, names: {} } : undefined),
    json: settingsField(fields) ?? (replace ? {} : undefined),
  });
  await services.changes.settle({ maps: [map.id] });
  return answerFolder(services, visitor, folder.id);
}

/**
 * Many clients send DELETE without a body, so unlike with PUT the parent may be left out; when it comes, in the
 * query or the body, it must be the one that the folder lies in.
 */
async function remove(request: Request, services: Services): Promise<Reply> {
  const { map, caller } = await signedInVisit(request, services);
  requireRight(map, caller, Right.editStructure);
  const folder = folderOf(map, request.params.folder!);
  const fields = hasBody(request) ? await request.body.fields() : {};
  const parentId = parentField(fields) ?? parentField({ parent_id: request.query.get("parent_id") });
  const layers = await deleteFolder(services.db, map.id, folder.id, {
    parentId,
    mayDelete: (id) => (rightsOn(map, caller, { id }) & Right.editStructure) !== 0,
  });
  await services.changes.settle({ maps: [map.id], layers });
  return answer(caller, true);
}

/** Every snapshot of the map holds the settings, so they are no place for data. */
const maxSettingsLength = 100_000;

/** `json`: the settings, which are the clients' own. @throws Failure invalid_value when it is no object or too long */
function settingsField(fields: Fields): Fields | undefined {
  const value = own(fields, "json");
  if (value === undefined) return undefined;
  if (isObject(value) && JSON.stringify(value).length <= maxSettingsLength) return value;
  throw failed("invalid_value", "json must be an object of moderate size.", { parameter: "json" });
}

/** The folder as it is now. */
async function answerFolder(services: Services, visitor: Visit, id: number): Promise<Reply> {
  const { map, caller } = await again(visitor, services);
  const folder = map.nodes.get(id);
  if (!folder) throw notFound("folder of that code");
  return answer(caller, folderObject(map, folder));
}

/** The folder object of the contract; what cannot be changed of a folder is as clients expect it of any. */
function folderObject(map: MapState, folder: TreeNode): Record<string, unknown> {
  return {
    id: folder.id,
    type: folder.type,
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

export const folderRoutes: Route<Services>[] = [
  { methods: ["POST"], path: `${projectPath}/:map/folders/`, handler: create },
  { methods: ["GET"], path: `${projectPath}/:map/folders/:folder/`, handler: get },
  { methods: ["PUT", "PATCH"], path: `${projectPath}/:map/folders/:folder/`, handler: change },
  { methods: ["DELETE"], path: `${projectPath}/:map/folders/:folder/`, handler: remove },
];

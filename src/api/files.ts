import { createReadStream } from "node:fs";
import { open, readFile } from "node:fs/promises";
import { checkLanguage } from "../catalog/codes.js";
import { headBytes, mimeOf } from "../catalog/file-types.js";
import {
  type AttachedFile,
  attachFile,
  detachFile,
  type FilePlace,
  fileColumn,
  fileOfObject,
} from "../catalog/files.js";
import { requireRead, requireRight } from "../catalog/rights.js";
import {
  type Caller,
  type Column,
  type LayerNode,
  type MapState,
  publicCaller,
  Right,
} from "../catalog/state.js";
import { Failure, failed, notFound, required } from "../errors.js";
import { contentDisposition, matchesEtag } from "../http/headers.js";
import type { Parameters, Reply, Request, Route, UploadedFile } from "../http/types.js";
import { isUuid } from "../storage/blobs.js";
import { answer, callerOf, callerOfToken, hasBody, mediaType, tokenOf, usedToken } from "./caller.js";
import { objectId, parametersOf, text } from "./parameters.js";
import { projectPath, viewOf } from "./present.js";
import type { Services } from "./services.js";

/** Files of objects: attaching, taking away, and getting them. */

interface Target {
  readonly map: MapState;
  readonly layer: LayerNode;
  readonly caller: Caller;
}

async function attach(request: Request, services: Services): Promise<Reply> {
  const project = await services.catalog.project(request.params.project!);
  const map = await services.catalog.map(project.code, request.params.map!);
  const early = await tokenOf(request, { bodyToken: false });
  let target: Target | undefined;
  // Without rights the body is not even read, unless it is what brings the token.
  if (early !== undefined || mediaType(request) !== "multipart/form-data")
    target = await editable(request, services, map, early);
  const { file, fields } = await request.body.upload("file", services.config.maxUploadBytes);
  const form = parametersOf(fields);
  target ??= await editable(request, services, map, text(form, "token"));

  const { layer, caller } = target;
  const id = objectId(request.params.object);
  const code = given(request, form, "field");
  if (code === undefined || file === undefined) {
    throw required([...(code === undefined ? ["field"] : []), ...(file === undefined ? ["file"] : [])]);
  }
  const column = fileColumn(layer, code);
  const language = languageFor(column, given(request, form, "lng"), map);
  const attached = await store(services, { layer, objectId: id, column, language }, file);
  await services.changes.settle({ layers: [layer.id] });
  return answer(caller, fileObject(request, target, id, attached));
}

/** The blob first, then the row that names it: a crash between the two leaves bytes that are swept away later. */
async function store(services: Services, place: FilePlace, file: UploadedFile): Promise<AttachedFile> {
  const name = cleanName(file.clientName);
  const mime = mimeOf(await beginning(file.path), name);
  const uuid = await services.blobs.adopt(file.path);
  try {
    return await attachFile(services.db, place, { uuid, name, mime, bytes: file.bytes });
  } catch (error) {
    // Any other error may be that of a connection which broke after the row was committed.
    if (error instanceof Failure) await services.blobs.remove(uuid);
    throw error;
  }
}

async function detach(request: Request, services: Services): Promise<Reply> {
  const project = await services.catalog.project(request.params.project!);
  const map = await services.catalog.map(project.code, request.params.map!);
  const target = await editable(request, services, map, await tokenOf(request));
  const { layer, caller } = target;
  const id = objectId(request.params.object);
  const fileId = objectId(request.params.file);
  const form = parametersOf(hasBody(request) ? await request.body.fields() : {});
  const code = given(request, form, "field");
  if (code === undefined) throw required(["field"]);
  const column = fileColumn(layer, code);
  const language = languageFor(column, given(request, form, "lng"), map);
  const blob = await detachFile(services.db, { layer, objectId: id, column, language }, fileId);
  if (blob !== undefined) await services.blobs.remove(blob);
  await services.changes.settle({ layers: [layer.id] });
  return answer(caller, null);
}

/** The file itself, by its uuid or id. A browser saves it and never shows it as a page of this site. */
async function download(request: Request, services: Services): Promise<Reply> {
  const { project = "", map: mapCode = "", layer: layerCode = "", file: name = "" } = request.params;
  const map = await services.catalog.map(project, mapCode);
  const caller = await callerOf(request, services, map.project);
  const layer = map.layers.get(layerCode);
  requireRead(map, caller, layer);
  if (!layer || !hasTable(layer)) throw notFound(`layer with objects "${layerCode}"`);
  const wanted = isUuid(name) ? { uuid: name } : { id: objectId(name) };
  const file = await fileOfObject(services.db, layer, objectId(request.params.object), wanted);
  if (!file) throw notFound("file of that id");
  // What a file holds never changes.
  const etag = `"${file.uuid}"`;
  const headers = {
    "content-type": file.mime === "text/plain" ? "text/plain; charset=utf-8" : file.mime,
    "content-disposition": contentDisposition("attachment", file.name),
    "content-security-policy": "default-src 'none'; sandbox",
    etag,
    // Kept, but asked for anew each time: who may see it can change.
    "cache-control": usedToken(caller) ? "private, no-store" : "no-cache",
  };
  if (matchesEtag(request.header("if-none-match") ?? "", etag)) {
    return { kind: "bytes", status: 304, body: "", headers };
  }
  const path = services.blobs.path(file.uuid);
  if (file.bytes <= wholeBytes) return { kind: "bytes", body: await readFile(path), headers };
  return { kind: "stream", chunks: createReadStream(path, { highWaterMark: wholeBytes }), headers };
}

/** Files up to this size are sent in one piece. */
const wholeBytes = 256 * 1024;

/** The layer of the path, for a caller who may edit its objects. */
async function editable(
  request: Request,
  services: Services,
  map: MapState,
  token: string | undefined,
): Promise<Target> {
  const caller = token === undefined ? publicCaller : await callerOfToken(token, services, map.project);
  const layer = map.layers.get(request.params.layer!);
  // Whoever may not edit the map at all does not learn which layers it has.
  requireRight(map, caller, Right.editObjects, layer);
  if (!layer) throw notFound(`layer "${request.params.layer}"`);
  if (layer.type !== "layer")
    throw failed("file_column_required", `The layer "${layer.code}" has no columns for files.`);
  return { map, layer, caller };
}

const hasTable = (layer: LayerNode): boolean => layer.type === "layer" || layer.type === "material";

const given = (request: Request, form: Parameters, name: string): string | undefined =>
  text(request.query, name) ?? text(form, name);

/** @throws Failure invalid_value for what is no language code */
const languageFor = (column: Column, language: string | undefined, map: MapState): string =>
  column.localizedValue && language !== undefined ? checkLanguage(language) : map.project.languages[0];

/** The File of the contract. */
function fileObject(
  request: Request,
  { map, layer }: Target,
  object: number,
  file: AttachedFile,
): Record<string, unknown> {
  const { path } = viewOf(request, map.project);
  return {
    id: file.id,
    uuid: file.uuid,
    name: file.name,
    mime: file.mime,
    path: `${path}/${map.code}/layers/${layer.code}/objects/${object}/files/${file.uuid}/`,
  };
}

const maxNameLength = 255;

/** What follows the last slash of what the client calls its file, cut to a length that every system takes. */
export function cleanName(clientName: string): string {
  const name = clientName
    .slice(Math.max(clientName.lastIndexOf("/"), clientName.lastIndexOf("\\")) + 1)
    .replace(/[\p{Cc}\p{Surrogate}]/gu, "_")
    .trim();
  if (name.length <= maxNameLength) return name || "file";
  const extension = /\.[^.\s]{1,16}$/.exec(name)?.[0] ?? "";
  // Whole characters only.
  return `${name.slice(0, maxNameLength - extension.length).replace(/[\ud800-\udbff]$/, "")}${extension}`;
}

async function beginning(path: string): Promise<Buffer> {
  const handle = await open(path, "r");
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(headBytes), 0, headBytes, 0);
    return buffer.subarray(0, bytesRead);
  } finally {
    await handle.close();
  }
}

const objectFiles = `${projectPath}/:map/layers/:layer/objects/:object/files/`;

export const fileRoutes: readonly Route<Services>[] = [
  { methods: ["POST"], path: objectFiles, handler: attach },
  { methods: ["DELETE"], path: `${objectFiles}:file/`, handler: detach },
  { methods: ["GET"], path: `${objectFiles}:file/`, handler: download },
];

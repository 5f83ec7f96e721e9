import { open } from "node:fs/promises";
import { checkLanguage } from "../../catalog/codes.js";
import { headBytes, mimeOf } from "../../catalog/file-types.js";
import {
  type AttachedFile,
  attachFile,
  detachFile,
  type FilePlace,
  fileColumn,
  fileOfObject,
  listedFilesOfObject,
} from "../../catalog/files.js";
import { layerTable } from "../../catalog/layer-table.js";
import type { Column, LayerNode, MapState } from "../../catalog/state.js";
import { Failure, failed, notFound } from "../../errors.js";
import { comparedVersionSql } from "../../features/version.js";
import { contentDisposition } from "../../http/headers.js";
import type { Reply, Request, UploadedFile } from "../../http/types.js";
import { isUuid } from "../../storage/blob-store.js";
import type { Answered } from "../request/answer-schemas.js";
import { blobReply } from "../request/blob-reply.js";
import { answer, usedToken } from "../request/caller.js";
import { type LayerContext, layerContext, toEditObjects, toRead } from "../request/context.js";
import { answers, type BodyOf, type Input, type Operation, operation } from "../request/operation.js";
import { layerPath } from "../request/paths.js";
import type { Resource } from "../request/resource.js";
import { binary, form, upload } from "../request/schema/bodies.js";
import { objectId, text } from "../request/schema/parameters.js";
import { ref, type Values } from "../request/schema/schema.js";
import { sizes } from "../request/schema/sizes.js";
import { receive } from "../request/upload.js";
import type { Services } from "../services.js";

/** Files attached to objects: upload, deletion and download. */

const placeParameters = {
  field: text("Code of a column of type `file`."),
  lng: text("Language, for a column with localised values; default: the main language.").optional(),
};
type PlaceParameters = Values<typeof placeParameters>;

const fileBody = upload(placeParameters, { file: "The file." });

async function attach(
  request: Request,
  services: Services,
  { body }: Input<unknown, BodyOf<typeof fileBody>>,
): Promise<Reply> {
  const { context, sent } = await receive(request, services, { body, check: requireFiles });
  const id = objectId(request.params.object);
  const attached = await store(services, placeOf(context, id, sent), sent.file);
  await services.changes.propagate();
  return answer(context.caller, fileObject(context, id, attached));
}

/** Stores the blob before the row that refers to it. After a crash in between, the unused blob is deleted later. */
async function store(services: Services, place: FilePlace, file: UploadedFile): Promise<AttachedFile> {
  const name = cleanName(file.clientName);
  const mime = mimeOf(await readHead(file.path), name);
  const uuid = await services.blobs.put(file.path);
  try {
    return await attachFile(services.db, place, { uuid, name, mime, bytes: file.bytes });
  } catch (error) {
    // Others do not prove that the row is missing: the connection may have been lost in the commit.
    if (error instanceof Failure && error.code !== "outcome_unknown")
      await services.blobs.delete(uuid).catch(() => undefined);
    throw error;
  }
}

async function detach(
  request: Request,
  services: Services,
  { body }: Input<unknown, PlaceParameters>,
): Promise<Reply> {
  const context = await layerContext(request, services, toEditObjects);
  requireFiles(context.layer);
  const id = objectId(request.params.object);
  const fileId = objectId(request.params.file);
  const blob = await detachFile(services.db, placeOf(context, id, await body()), fileId);
  if (blob !== undefined) await services.blobs.setAside(blob);
  await services.changes.propagate();
  return answer(context.caller, null);
}

/** Of one answer. */
const mostListed = 1_000;

async function listFiles(request: Request, services: Services): Promise<Reply> {
  const context = await layerContext(request, services, toRead);
  const { layer, caller } = context;
  if (!hasTable(layer)) throw notFound(`layer with objects "${layer.code}"`);
  const id = objectId(request.params.object);
  const files = await listedFilesOfObject(services.db, layer, id, mostListed);
  if (!files) throw notFound(`object ${id}`);
  return answer(
    caller,
    files.map((file) => ({ ...fileObject(context, id, file), size: file.bytes })),
  );
}

/**
 * The content of a file, by its uuid or id. The headers make browsers save it instead of rendering it on this origin.
 */
async function download(request: Request, services: Services): Promise<Reply> {
  const { layer, caller } = await layerContext(request, services, toRead);
  if (!hasTable(layer)) throw notFound(`layer with objects "${layer.code}"`);
  const { file: name = "" } = request.params;
  const wanted = isUuid(name) ? { uuid: name } : { id: objectId(name) };
  const file = await fileOfObject(services.db, layer, objectId(request.params.object), wanted);
  if (!file) throw notFound("file of that id");
  return blobReply(request, services.blobs, {
    blob: file.uuid,
    bytes: file.bytes,
    headers: {
      "content-type": file.mime === "text/plain" ? "text/plain; charset=utf-8" : file.mime,
      "content-disposition": contentDisposition("attachment", file.name),
      // Caches must revalidate each time, because rights can change.
      "cache-control": usedToken(caller) ? "private, no-store" : "no-cache",
    },
  });
}

/** @throws Failure file_column_required */
function requireFiles(layer: LayerNode): void {
  if (layer.type !== "layer")
    throw failed("file_column_required", `The layer "${layer.code}" has no columns for files.`);
}

const hasTable = (layer: LayerNode): boolean => layer.type === "layer" || layer.type === "material";

/** @throws Failure file_column_required; invalid_value for an invalid language code */
function placeOf({ map, layer }: LayerContext, object: number, { field, lng }: PlaceParameters): FilePlace {
  const column = fileColumn(layer, field);
  return { layer, objectId: object, column, language: languageFor(column, lng, map) };
}

const languageFor = (column: Column, language: string | undefined, map: MapState): string =>
  column.localizedValue && language !== undefined ? checkLanguage(language) : map.project.languages[0];

/** The `File` response object. */
function fileObject(
  { map, layer, view }: LayerContext,
  object: number,
  file: AttachedFile,
): Answered<"File"> {
  return {
    id: file.id,
    uuid: file.uuid,
    name: file.name,
    mime: file.mime,
    path: `${view.path}/${map.code}/layers/${layer.code}/objects/${object}/files/${file.uuid}/`,
  };
}

const maxNameLength = 255;

/** The base name of the client's file name, cut to a length that all file systems accept. */
function cleanName(clientName: string): string {
  const name = clientName
    .slice(Math.max(clientName.lastIndexOf("/"), clientName.lastIndexOf("\\")) + 1)
    .replace(/[\p{Cc}\p{Bidi_Control}\p{Surrogate}]/gu, "_")
    .trim();
  if (name.length <= maxNameLength) return name || "file";
  const extension = /\.[^.\s]{1,16}$/.exec(name)?.[0] ?? "";
  // Do not cut a surrogate pair in half.
  return `${name.slice(0, maxNameLength - extension.length).replace(/[\ud800-\udbff]$/, "")}${extension}`;
}

async function readHead(path: string): Promise<Buffer> {
  const handle = await open(path, "r");
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(headBytes), 0, headBytes, 0);
    return buffer.subarray(0, bytesRead);
  } finally {
    await handle.close();
  }
}

/** The object that lists the files. */
const objectResource: Resource = {
  name: "object",
  lockedBy: "states",
  shown: () => undefined,
  states: async ({ map, params }, tx) => {
    const layer = map?.layers.get(params.layer!);
    if (!layer) throw notFound(`layer "${params.layer}"`);
    const id = objectId(params.object);
    const rows = await tx.query<{ version: string }>(
      `select ${comparedVersionSql(layer)} as version from ${layerTable(layer.id)} where svc_id = $1 for update`,
      [id],
    );
    if (rows.length === 0) throw notFound(`object ${id}`);
    return rows.map(({ version }) => version);
  },
};

const objectFiles = `${layerPath}/objects/:object/files/`;

export const fileOperations: readonly Operation[] = [
  operation({
    id: "attachFile",
    tag: "Files",
    summary: "Attach a file to an object",
    details: "The file is appended to the list in the column.",
    access: "token",
    methods: ["POST"],
    path: objectFiles,
    writes: true,
    changes: objectResource,
    body: fileBody,
    answer: answers("The stored file.", ref("File")),
    refuses: ["file_column_required", "invalid_value", "project_full"],
    handle: attach,
  }),
  operation({
    id: "listFiles",
    tag: "Files",
    summary: "List the files of an object",
    details: `In the order in which they came, at most ${mostListed.toLocaleString("en")}.`,
    methods: ["GET"],
    path: objectFiles,
    answer: answers("The files with their sizes.", { type: "array", items: ref("ListedFile") }),
    handle: listFiles,
  }),
  operation({
    id: "detachFile",
    tag: "Files",
    summary: "Delete a file of an object",
    details:
      "The path has the id of the file. The column is a parameter of the query or a form. Deleting the last file of " +
      "a required column is refused with invalid_value.",
    access: "token",
    methods: ["DELETE"],
    path: `${objectFiles}:file/`,
    writes: true,
    changes: objectResource,
    query: { ...placeParameters, field: placeParameters.field.optional() },
    body: { ...form(placeParameters, sizes.small), optional: true },
    answer: answers("The file was deleted.", { type: "null" }),
    refuses: ["file_column_required", "invalid_value"],
    handle: detach,
  }),
  operation({
    id: "getFile",
    tag: "Files",
    summary: "Download a file of an object",
    details:
      "This is the `path` of a file. The file is sent as an attachment. A part of it is sent (206) if `Range` asks for one.",
    methods: ["GET"],
    path: `${objectFiles}:file/`,
    answer: {
      description: "The file as it was uploaded.",
      content: { "*/*": binary },
      headers: {
        ETag: "Constant, because the content of a file never changes.",
        "Accept-Ranges": "`bytes`.",
        "Content-Disposition": "The file name (RFC 6266).",
        "Cache-Control": "`private, no-store` if the request has a token.",
      },
    },
    handle: download,
  }),
];

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
} from "../../catalog/files.js";
import type { Column, LayerNode, MapState } from "../../catalog/state.js";
import { Failure, failed, notFound } from "../../errors.js";
import { contentDisposition, matchesEtag } from "../../http/headers.js";
import type { Reply, Request, UploadedFile } from "../../http/types.js";
import { isUuid, maxChunkBytes } from "../../storage/blob-store.js";
import type { Answered } from "../request/answer-schemas.js";
import { answer, usedToken } from "../request/caller.js";
import { type LayerContext, layerContext, toEditObjects, toRead } from "../request/context.js";
import { answers, type BodyOf, type Input, type Operation, operation } from "../request/operation.js";
import { layerPath } from "../request/paths.js";
import { binary, form, upload } from "../request/schema/bodies.js";
import { objectId, text } from "../request/schema/parameters.js";
import { ref, type Values } from "../request/schema/schema.js";
import { sizes } from "../request/schema/sizes.js";
import { receive } from "../request/upload.js";
import type { Services } from "../services.js";

/** Files of objects: attaching, taking away, and getting them. */

const placeParameters = {
  field: text("Code of the column, which is of type `file`."),
  lng: text("Language, where the column's values are in several; default: the main one.").optional(),
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

/** The blob first, then the row that names it: a crash between the two leaves bytes that are swept away later. */
async function store(services: Services, place: FilePlace, file: UploadedFile): Promise<AttachedFile> {
  const name = cleanName(file.clientName);
  const mime = mimeOf(await beginning(file.path), name);
  const uuid = await services.blobs.put(file.path);
  try {
    return await attachFile(services.db, place, { uuid, name, mime, bytes: file.bytes });
  } catch (error) {
    // Any other error may be that of a connection which broke after the row was committed.
    if (error instanceof Failure) await services.blobs.delete(uuid);
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
  if (blob !== undefined) await services.blobs.delete(blob);
  await services.changes.propagate();
  return answer(context.caller, null);
}

/** The file itself, by its uuid or id. A browser saves it and never shows it as a page of this site. */
async function download(request: Request, services: Services): Promise<Reply> {
  const { layer, caller } = await layerContext(request, services, toRead);
  if (!hasTable(layer)) throw notFound(`layer with objects "${layer.code}"`);
  const { file: name = "" } = request.params;
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
  const chunks = services.blobs.read(file.uuid, { signal: request.signal });
  if (file.bytes <= wholeBytes) return { kind: "bytes", body: await joined(chunks), headers };
  return { kind: "stream", chunks, headers };
}

/** Files up to this size are sent in one piece. */
const wholeBytes = maxChunkBytes;

async function joined(chunks: AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  const all: Uint8Array[] = [];
  for await (const chunk of chunks) all.push(chunk);
  return all.length === 1 ? all[0]! : Buffer.concat(all);
}

/** @throws Failure file_column_required */
function requireFiles(layer: LayerNode): void {
  if (layer.type !== "layer")
    throw failed("file_column_required", `The layer "${layer.code}" has no columns for files.`);
}

const hasTable = (layer: LayerNode): boolean => layer.type === "layer" || layer.type === "material";

/** @throws Failure file_column_required; invalid_value for what is no language code */
function placeOf({ map, layer }: LayerContext, object: number, { field, lng }: PlaceParameters): FilePlace {
  const column = fileColumn(layer, field);
  return { layer, objectId: object, column, language: languageFor(column, lng, map) };
}

const languageFor = (column: Column, language: string | undefined, map: MapState): string =>
  column.localizedValue && language !== undefined ? checkLanguage(language) : map.project.languages[0];

/** The File of the contract. */
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

/** What follows the last slash of what the client calls its file, cut to a length that every system takes. */
function cleanName(clientName: string): string {
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

const objectFiles = `${layerPath}/objects/:object/files/`;

export const fileOperations: readonly Operation[] = [
  operation({
    id: "attachFile",
    tag: "Files",
    summary: "Attach a file to an object",
    details: "The column lists it after those that it has.",
    access: "token",
    methods: ["POST"],
    path: objectFiles,
    writes: true,
    body: fileBody,
    answer: answers("The file as it is kept.", ref("File")),
    refuses: ["file_column_required", "invalid_value"],
    handle: attach,
  }),
  operation({
    id: "detachFile",
    tag: "Files",
    summary: "Take a file away from an object",
    details:
      "Which file is told by its id. The column comes in the query or in a form. The last file of a required column " +
      "stays, with invalid_value.",
    access: "token",
    methods: ["DELETE"],
    path: `${objectFiles}:file/`,
    writes: true,
    query: { ...placeParameters, field: placeParameters.field.optional() },
    body: { ...form(placeParameters, sizes.small), optional: true },
    answer: answers("It is gone.", { type: "null" }),
    refuses: ["file_column_required", "invalid_value"],
    handle: detach,
  }),
  operation({
    id: "getFile",
    tag: "Files",
    summary: "A file of an object",
    details: "The `path` of a file leads here. Browsers save it and never show it as a page.",
    methods: ["GET"],
    path: `${objectFiles}:file/`,
    answer: {
      description: "The file as it was sent.",
      content: { "*/*": binary },
      headers: {
        ETag: "What a file holds never changes.",
        "Content-Disposition": "The file's name (RFC 6266).",
        "Cache-Control": "`private, no-store` where a token decided.",
      },
    },
    handle: download,
  }),
];

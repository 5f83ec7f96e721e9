import { z } from "zod";
import { mayRead, requireRead } from "../../access/rights.js";
import { isPicture } from "../../catalog/file-types.js";
import { type FoundFile, findFile, isListed } from "../../catalog/files.js";
import { type Caller, type LayerNode, type MapState, publicCaller } from "../../catalog/state.js";
import { notKept } from "../../cdn/headers.js";
import { failed, notFound } from "../../errors.js";
import { type PictureFormat, pictureFits } from "../../hosts/messages.js";
import { type Picture, pictureTag, type ResizedBlob } from "../../hosts/pictures.js";
import { matchesEtag } from "../../http/headers.js";
import type { Headers, Reply, Request } from "../../http/types.js";
import { isUuid } from "../../storage/blob-store.js";
import { callerOrPublic, imageUser, usedToken } from "../request/caller.js";
import { invalidFormat } from "../request/common-parameters.js";
import { type Input, type Operation, operation } from "../request/operation.js";
import { projectPath } from "../request/paths.js";
import { momentOf } from "../request/public-answers.js";
import { binary } from "../request/schema/bodies.js";
import { choice, integer } from "../request/schema/parameters.js";
import { ruled } from "../request/schema/schema.js";
import type { Services } from "../services.js";

/** Images attached to objects, resized on request. */

const side = { least: 1, most: 8_192 };

/** `f`. Else invalid_format. */
const formatParameter = ruled(z.enum(["png", "jpg", "jpeg"], "must be png, jpg or jpeg"), {
  refuse: invalidFormat,
})
  .transform((format): PictureFormat => (format === "jpg" ? "jpeg" : format))
  .describe("Format of the response; default: the format of the stored image.")
  .optional();

const imageParameters = {
  w: integer("Width in pixels; without h, the aspect ratio is kept.", side).optional(),
  h: integer("Height in pixels; without w, the aspect ratio is kept.", side).optional(),
  fit: choice(
    "How the image fills w × h, as object-fit in CSS; inside: as scale-down, without margins.",
    pictureFits,
  ),
  f: formatParameter,
};

async function image(
  request: Request,
  services: Services,
  { query }: Input<typeof imageParameters, undefined>,
): Promise<Reply> {
  const { project: projectCode = "", file: given = "" } = request.params;
  const uuid = given.toLowerCase();
  const project = await services.catalog.project(projectCode);
  const file = isUuid(uuid) ? await findFile(services.db, uuid) : undefined;
  const place = file?.project === project.code ? await placeOf(services, file) : undefined;
  const isPublic = () => place !== undefined && mayRead(place.map, publicCaller, place.layer);
  const caller = await callerOrPublic(request, services, project, isPublic);
  if (!file || !place) throw notFound("image of that uuid");
  const { map, layer } = place;
  requireRead(map, caller, layer);
  if (!layer) throw notFound("image of that uuid");
  const headers = await pictureHeaders(services, { map, layer, caller });
  if (!(await isListed(services.db, layer, file))) throw notFound("image of that uuid");
  const { w, h, fit, f } = query();
  if (!isPicture(file.mime))
    throw failed("unsupported_format", "The file is no picture that can be shown.", { mime: file.mime });
  const wanted: ResizedBlob = { blob: file.uuid, width: w, height: h, fit, format: f };
  return pictureReply(request, { tag: pictureTag(wanted), headers }, () =>
    services.pictures.resized(wanted, imageUser(request, caller)),
  );
}

/** The map and layer of a file; layer is undefined if it was deleted in the meantime. */
async function placeOf(services: Services, file: FoundFile) {
  const map = await services.catalog.map(file.project, file.map);
  return { map, layer: map.layers.get(file.layer) };
}

/** The layer of an image or icon, and the caller of the request. */
interface PictureContext {
  readonly map: MapState;
  readonly layer: LayerNode;
  readonly caller: Caller;
}

/**
 * Cache headers of an image or icon: those of the layer's tiles. To be asked for before what it shows is read, and called when
 * it is sent.
 */
export async function pictureHeaders(
  services: Services,
  { map, layer, caller }: PictureContext,
): Promise<() => Headers> {
  if (usedToken(caller)) return () => ({ "cache-control": "private, no-store" });
  const { cdnHeaders } = services;
  const moment = cdnHeaders.isKept ? await momentOf(services, map, [layer]) : undefined;
  // Whether an image is one of the layer's, and what icons show of statistics, changes with any of its objects.
  const keyed = cdnHeaders.keyed([`p${map.project.id}`, `m${map.id}`, `l${layer.id}`, `o${layer.id}`]);
  return () => (cdnHeaders.isKept && !moment?.isNow() ? notKept : keyed);
}

/** What a picture is known by. */
export interface PictureVersion {
  readonly tag: string;
  readonly headers: () => Headers;
}

/** An image, or 304 if the client has the current one, which is checked before anything is rendered. */
export async function pictureReply(
  request: Request,
  { tag, headers }: PictureVersion,
  make: () => Promise<Picture>,
): Promise<Reply> {
  const etag = `"${tag}"`;
  if (matchesEtag(request.header("if-none-match") ?? "", etag)) {
    const now = headers();
    if (now !== notKept) return { kind: "bytes", status: 304, body: "", headers: { ...now, etag } };
  }
  const { bytes, format } = await make();
  const now = headers();
  const type = { "content-type": `image/${format}` };
  return {
    kind: "bytes",
    body: bytes,
    headers: now === notKept ? { ...type, ...now } : { ...type, etag, ...now },
  };
}

/** Descriptions of the response headers of tiles, icons and images. */
export const describedHeaders = {
  ETag: "Changes with the image; for use in If-None-Match.",
  "Cache-Control": "How long it may be cached; `private, no-store` if the request has a token.",
  "Surrogate-Key":
    "Keys of the project, map and layers shown, for purging CDN caches. Only for public responses, behind an edge that drops by them.",
};

export const imageOperations: readonly Operation[] = [
  operation({
    id: "getImage",
    counts: "pictures",
    tag: "Files",
    summary: "Get an image of an object in a given size",
    details: "The path has the uuid of the file. Without w and h, the image keeps its size.",
    methods: ["GET"],
    path: `${projectPath}/image/:file/`,
    query: imageParameters,
    answer: {
      description: "The image.",
      content: Object.fromEntries(
        ["png", "jpeg", "gif", "webp"].map((format) => [`image/${format}`, binary]),
      ),
      headers: describedHeaders,
    },
    refuses: [404, "unsupported_format", "invalid_format"],
    handle: image,
  }),
];

import { isPicture } from "../catalog/file-types.js";
import { findFile, isListed } from "../catalog/files.js";
import { requireRead } from "../catalog/rights.js";
import type { Caller, LayerNode, MapState } from "../catalog/state.js";
import { badRequest, failed, notFound } from "../errors.js";
import { type PictureFit, type PictureFormat, pictureFits, type ResizeRequest } from "../hosts/messages.js";
import { type Picture, pictureTag } from "../hosts/pictures.js";
import { matchesEtag } from "../http/headers.js";
import type { Headers, Parameters, Reply, Request, Route } from "../http/types.js";
import { isUuid } from "../storage/blobs.js";
import { callerOf, usedToken } from "./caller.js";
import { integer, text } from "./parameters.js";
import { projectPath } from "./present.js";
import type { Services } from "./services.js";

/** Pictures attached to objects, in any size. */

const maxSidePixels = 8_192;

async function image(request: Request, services: Services): Promise<Reply> {
  const { project: projectCode = "", file: given = "" } = request.params;
  const uuid = given.toLowerCase();
  const wish = wishOf(request.query);
  const project = await services.catalog.project(projectCode);
  const caller = await callerOf(request, services, project);
  const file = isUuid(uuid) ? await findFile(services.db, uuid) : undefined;
  if (!file || file.project !== project.code) throw notFound("image of that uuid");
  const map = await services.catalog.map(file.project, file.map);
  const layer = map.layers.get(file.layer);
  requireRead(map, caller, layer);
  if (!layer || !(await isListed(services.db, layer, file))) throw notFound("image of that uuid");
  if (!isPicture(file.mime))
    throw failed("unsupported_format", "The file is no picture that can be shown.", { mime: file.mime });
  const resize: ResizeRequest = { path: services.blobs.path(file.uuid), ...wish };
  return pictureReply(request, pictureTag(resize), pictureHeaders(services, { map, layer, caller }), () =>
    services.pictures.resized(resize),
  );
}

/** @throws Failure bad_request, invalid_format */
function wishOf(parameters: Parameters): Omit<ResizeRequest, "path"> {
  const side = (name: string) => integer(parameters, name, { least: 1, most: maxSidePixels });
  const fit = text(parameters, "fit") ?? "fill";
  if (!pictureFits.includes(fit as PictureFit)) throw badRequest(`fit is one of ${pictureFits.join(", ")}.`);
  return {
    width: side("w"),
    height: side("h"),
    fit: fit as PictureFit,
    format: formatOf(text(parameters, "f")),
  };
}

function formatOf(value: string | undefined): PictureFormat | undefined {
  switch (value) {
    case undefined:
      return undefined;
    case "png":
      return "png";
    case "jpg":
    case "jpeg":
      return "jpeg";
    default:
      throw failed("invalid_format", "f must be png, jpg or jpeg.");
  }
}

/** Whose layer a picture shows or belongs to. */
interface Owner {
  readonly map: MapState;
  readonly layer: LayerNode;
  readonly caller: Caller;
}

/** How long a picture may be kept and by whom: as tiles of its layer. */
export function pictureHeaders(services: Services, { map, layer, caller }: Owner): Headers {
  if (usedToken(caller)) return { "cache-control": "private, no-store" };
  return {
    "cache-control": services.config.tiles.cacheControl,
    "surrogate-key": `p${map.project.id} m${map.id} l${layer.id}`,
  };
}

/** A picture, or that the client has it already, which is told before anything is drawn. */
export async function pictureReply(
  request: Request,
  tag: string,
  headers: Headers,
  make: () => Promise<Picture>,
): Promise<Reply> {
  const etag = `"${tag}"`;
  if (matchesEtag(request.header("if-none-match") ?? "", etag)) {
    return { kind: "bytes", status: 304, body: "", headers: { ...headers, etag } };
  }
  const { bytes, format } = await make();
  return { kind: "bytes", body: bytes, headers: { "content-type": `image/${format}`, etag, ...headers } };
}

export const imageRoutes: readonly Route<Services>[] = [
  { methods: ["GET"], path: `${projectPath}/image/:file/`, handler: image },
];

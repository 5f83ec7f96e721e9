import { createHash } from "node:crypto";
import type { KeptText } from "../../catalog/kept-texts.js";
import type { Caller, LayerNode, MapState } from "../../catalog/state.js";
import { notKept, revalidated, withoutKeeping } from "../../cdn/headers.js";
import { busy, Failure } from "../../errors.js";
import { matchesEtag } from "../../http/headers.js";
import { type Headers, isReading, type Reply, type Request } from "../../http/types.js";
import type { Services } from "../services.js";
import { callerHeaders, headToken, tileKeyOf, usedToken } from "./caller.js";

/**
 * What the public is answered may be kept by browsers and shared caches, which ask each time whether it is current. JSON that
 * is made of what a node knows has an ETag of its bytes; what PostgreSQL has to be asked for has one of the versions of what
 * it is made of, so that a 304 needs no query.
 */

/** Characters: the hash of more holds up the event loop for milliseconds. */
const mostHashed = 2 ** 20;

const hashOf = (text: string | Buffer): string =>
  `"${createHash("sha256").update(text).digest("base64url").slice(0, 20)}"`;

/** A JSON reply as the text that is sent. */
export const asText = (reply: Reply): Reply =>
  reply.kind === "json"
    ? { ...reply, kind: "json_text", text: JSON.stringify(reply.value) ?? "null" }
    : reply;

/** A JSON text with an ETag of its bytes, if the public asked for it. Its ETag, if it has one, stays. */
export function taggedByBytes({ method }: Request, reply: Reply): Reply {
  if (!isReading(method) || reply.kind !== "json_text") return reply;
  const { text, headers = {} } = reply;
  // What depends on the caller says so. Texts in parts are long.
  if (headers["cache-control"] !== undefined || typeof text !== "string" || text.length > mostHashed)
    return reply;
  const etag = headers.etag ?? hashOf(text);
  return { kind: "json_text", text, headers: { ...headers, "cache-control": revalidated, etag } };
}

/** A kept JSON text to this caller, with an ETag of its bytes, and for the public kept by others as that. */
export function answerKept(caller: Caller, kept: KeptText): Reply {
  const { body } = kept;
  const isTagged = body.length <= mostHashed;
  if (isTagged) kept.etag ??= hashOf(body);
  const told = {
    ...callerHeaders(caller),
    ...(isTagged && { etag: kept.etag!, ...(!usedToken(caller) && { "cache-control": revalidated }) }),
  };
  return { kind: "bytes", body, headers: { "content-type": "application/json; charset=utf-8", ...told } };
}

/** An answer that shows what is not current: kept by nobody. */
export const keptByNobody = (reply: Reply): Reply => ({
  ...reply,
  headers: withoutKeeping(reply.headers ?? {}),
});

/**
 * Says of an answer that nobody knows to be current when it was, and lets nobody keep it.
 * @param since as `watchProof` says
 */
export function markedUnproven(reply: Reply, since: number | undefined): Reply {
  if (since === undefined) return reply;
  const kept = keptByNobody(reply);
  return { ...kept, headers: { ...kept.headers, "x-fresh-at": new Date(since).toUTCString() } };
}

/** What is refused by what may be old cannot say so: rights may have been given, and maps made since. */
export const refusedUnproven = (error: unknown, since: number | undefined): unknown =>
  since === undefined || (error instanceof Failure && error.kind === "busy")
    ? error
    : busy("The database cannot be reached just now.");

/** What an answer is made of, as it was before it was read. */
export interface Moment {
  /** History of the database, and the versions of the layers in it. */
  readonly versions: string;
  /**
   * Whether nothing has changed since, for sure: no node may have told the CDN of a change meanwhile. Nothing is awaited, so
   * that this is so when the answer is sent.
   */
  isNow(): boolean;
}

/** To be asked for before anything is read from the database. Undefined while the versions cannot be told. */
export async function momentOf(
  { versions, catalog }: Pick<Services, "versions" | "catalog">,
  map: MapState,
  layers: Iterable<LayerNode>,
): Promise<Moment | undefined> {
  try {
    const { epoch } = versions;
    const tracked = await versions.track([...layers].map(({ id }) => id));
    if (!versions.trusted) await versions.refresh(tracked);
    if (versions.epoch !== epoch) return undefined;
    const before = tracked.map(({ version }) => version);
    return {
      versions: `${epoch} ${before.join(" ")}`,
      isNow: () =>
        versions.trusted &&
        versions.epoch === epoch &&
        catalog.isCurrent(map) &&
        tracked.every(({ version }, index) => version === before[index]),
    };
  } catch {
    return undefined;
  }
}

/**
 * As `taggedByBytes`, of what is made of the map of the path and its layer, or all of its layers, and their objects alone: it
 * is dropped from the CDN when one of them changes.
 */
export async function keptByCdn(
  request: Request,
  services: Services,
  make: () => Promise<Reply> | Reply,
): Promise<Reply> {
  const before = await momentOfPath(request, services);
  const tagged = taggedByBytes(request, await make());
  if (tagged.headers?.["cache-control"] !== revalidated) return tagged;
  if (!before?.moment.isNow()) return keptByNobody(tagged);
  const { id, project } = before.map;
  const keys = [`p${project.id}`, `m${id}`, `n${id}`];
  return { ...tagged, headers: { ...tagged.headers, ...services.cdnHeaders.keyed(keys) } };
}

/** Undefined also where the handler refuses, or answers somebody whose answers are kept by nobody. */
async function momentOfPath(
  request: Request,
  services: Services,
): Promise<{ readonly map: MapState; readonly moment: Moment } | undefined> {
  if (headToken(request) !== undefined || tileKeyOf(request) !== undefined) return undefined;
  const { project, map: code, layer: layerCode } = request.params as Record<string, string>;
  const map = await services.catalog.map(project!, code!).catch(() => undefined);
  if (!map) return undefined;
  const layer = layerCode === undefined ? undefined : map.layers.get(layerCode);
  if (layerCode !== undefined && !layer) return undefined;
  const moment = await momentOf(services, map, layer ? [layer] : map.layers.values());
  return moment && { map, moment };
}

/** Of the answers to one address: they differ when the ETags do. */
export interface AnswerVersion {
  /** The answer of a client that has it already. */
  readonly unchanged: Reply | undefined;
  /** Whether `whenRead` lets it be kept without being asked for each time. */
  readonly isWorthReading: boolean;
  /** Headers of an answer that has been read to its end, when it is sent. */
  whenRead(): Headers;
  /** Headers of an answer that is sent while it is read: it is asked for each time. */
  readonly beforeRead: Headers;
}

/** What an answer is made of. */
interface AnswerOrigin {
  readonly map: MapState;
  readonly layer: LayerNode;
  readonly caller: Caller;
  /** Media type, where the header Accept chooses among several. */
  readonly negotiated?: string;
}

/**
 * The version of an answer that is made of a layer's objects, for the public and without a query; undefined for others, and
 * while it cannot be told. To be asked for before the objects are read: what changes meanwhile then has another version. Each
 * media type that is chosen by Accept has versions of its own, so that no client takes one for another.
 */
export async function versionOfObjects(
  request: Request,
  services: Pick<Services, "versions" | "catalog" | "cdnHeaders">,
  { map, layer, caller, negotiated }: AnswerOrigin,
): Promise<AnswerVersion | undefined> {
  if (!isReading(request.method) || usedToken(caller)) return undefined;
  const moment = await momentOf(services, map, [layer]);
  if (!moment) return undefined;
  const { cdnHeaders } = services;
  const { project } = map;
  const made = [project.id, project.revision, map.id, map.revision, layer.id, moment.versions];
  const etag = hashOf([...made, request.path, request.rawQuery, negotiated ?? ""].join("\n"));
  const told = { etag, ...(negotiated !== undefined && { vary: "Accept" }) };
  const keyed = (secondsLeft?: number) => {
    if (!cdnHeaders.isPurged) return { "cache-control": revalidated, ...told };
    const keys = [`p${project.id}`, `m${map.id}`, `l${layer.id}`, `o${layer.id}`];
    return { ...cdnHeaders.keyed(keys, secondsLeft), ...told };
  };
  const isKnown = matchesEtag(request.header("if-none-match") ?? "", etag);
  // What has this version was read while nothing changed, however long that took.
  const headers = keyed(moment.isNow() ? undefined : 0);
  return {
    unchanged: isKnown ? { kind: "bytes", status: 304, body: "", headers } : undefined,
    isWorthReading: cdnHeaders.isPurged,
    whenRead: () => (!cdnHeaders.isPurged || moment.isNow() ? keyed() : notKept),
    beforeRead: keyed(0),
  };
}

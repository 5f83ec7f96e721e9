import { createHash } from "node:crypto";
import type { Caller, LayerNode, MapState } from "../../catalog/state.js";
import { revalidated } from "../../edge/headers.js";
import { matchesEtag } from "../../http/headers.js";
import type { Headers, Reply, Request } from "../../http/types.js";
import type { Services } from "../services.js";
import { usedToken } from "./caller.js";

/**
 * What the public is answered may be kept by browsers and shared caches, which ask each time whether it is current. JSON that
 * is made of what a node knows has an ETag of its bytes; what PostgreSQL has to be asked for has one of the versions of what
 * it is made of, so that a 304 needs no query.
 */

/** Characters: the hash of more holds up the event loop for milliseconds. */
const mostHashed = 2 ** 20;

const hashOf = (text: string): string =>
  `"${createHash("sha256").update(text).digest("base64url").slice(0, 20)}"`;

/** A JSON reply with an ETag of its bytes, if the public asked for it. Its ETag, if it has one, stays. */
export function taggedByBytes({ method }: Request, reply: Reply): Reply {
  if (method !== "GET" || (reply.kind !== "json" && reply.kind !== "json_text")) return reply;
  const { headers = {} } = reply;
  // What depends on the caller says so.
  if (headers["cache-control"] !== undefined) return reply;
  const text = reply.kind === "json" ? (JSON.stringify(reply.value) ?? "null") : reply.text;
  // Texts in parts are long, too.
  if (typeof text !== "string" || text.length > mostHashed) return reply;
  const etag = headers.etag ?? hashOf(text);
  return { kind: "json_text", text, headers: { ...headers, "cache-control": revalidated, etag } };
}

/**
 * As `taggedByBytes`, of what is made of a map, its layers and their objects alone: it is dropped from the edge when one of
 * them changes.
 */
export async function keptByEdge(request: Request, services: Services, reply: Reply): Promise<Reply> {
  const tagged = taggedByBytes(request, reply);
  const { edgeHeaders, catalog } = services;
  const { project, map: code } = request.params as { project: string; map: string };
  if (!edgeHeaders.isPurged || tagged.headers?.["cache-control"] !== revalidated) return tagged;
  const map = await catalog.map(project, code);
  const keys = [`p${map.project.id}`, `m${map.id}`, `n${map.id}`];
  return { ...tagged, headers: { ...tagged.headers, ...edgeHeaders.keyed(keys) } };
}

/** Of the answers to one address: they differ when the ETags do. */
export interface AnswerVersion {
  readonly headers: Headers;
  /** The answer of a client that has it already. */
  readonly unchanged: Reply | undefined;
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
  { versions, edgeHeaders }: Pick<Services, "versions" | "edgeHeaders">,
  { map, layer, caller, negotiated }: AnswerOrigin,
): Promise<AnswerVersion | undefined> {
  if (request.method !== "GET" || usedToken(caller)) return undefined;
  const version = await layerVersion(versions, layer.id);
  if (version === undefined) return undefined;
  const { project } = map;
  const made = [project.id, project.revision, map.id, map.revision, layer.id, version];
  const etag = hashOf([...made, request.path, request.rawQuery, negotiated ?? ""].join("\n"));
  const kept = edgeHeaders.isPurged
    ? edgeHeaders.keyed([`p${project.id}`, `m${map.id}`, `l${layer.id}`, `o${layer.id}`])
    : { "cache-control": revalidated };
  const headers = { ...kept, etag, ...(negotiated !== undefined && { vary: "Accept" }) };
  const isKnown = matchesEtag(request.header("if-none-match") ?? "", etag);
  return { headers, unchanged: isKnown ? { kind: "bytes", status: 304, body: "", headers } : undefined };
}

/** A layer's version with the history of the database that it belongs to; undefined while it is not known. */
async function layerVersion(versions: Services["versions"], id: number): Promise<string | undefined> {
  try {
    const { epoch } = versions;
    const tracked = await versions.track([id]);
    if (!versions.trusted) await versions.refresh(tracked);
    return versions.epoch === epoch ? `${epoch} ${tracked[0]!.version}` : undefined;
  } catch {
    return undefined;
  }
}

import { callerOfAccessKey, isAccessKey, isStillKey, mayEdit } from "../../access/access-keys.js";
import { coversRights } from "../../access/rights.js";
import type { Session } from "../../access/sessions.js";
import {
  type Caller,
  type MapState,
  type ProjectState,
  publicCaller,
  type UserName,
} from "../../catalog/state.js";
import { Failure, forbidden, tooLarge, unauthenticated } from "../../errors.js";
import type { JsonText } from "../../features/json-text.js";
import type { ImageUser } from "../../hosts/image.js";
import { type Headers, isReading, type Reply, type Request } from "../../http/types.js";
import { networkOf } from "../../queues/clients.js";
import type { Services } from "../services.js";
import { noteKnownCaller } from "./database-use.js";
import { mediaType, multipart } from "./media-type.js";
import { sizes } from "./schema/sizes.js";

/** The caller of a request, authenticated by a session token in the query, a header or the body. */

/**
 * The caller of a request to a project; the public when there is no token.
 * @throws Failure unauthenticated for an unknown or expired session, one whose user has left the project, or one whose
 *   user now has more rights than the user who created it; forbidden for a session of another project; too_large for a
 *   body that may contain the token and exceeds the limit for bodies without a known sender; busy while sessions cannot
 *   be checked
 */
export async function callerOf(request: Request, services: Services, project: ProjectState): Promise<Caller> {
  const token = await tokenOf(request);
  if (token === undefined) return publicCaller;
  const caller = await callerOfToken(token, services, project);
  noteKnownCaller(request, caller);
  return caller;
}

/**
 * As `callerOf`, for a token that is already known.
 * @param project undefined = one that does not exist, which is refused like another project
 */
export async function callerOfToken(
  token: string,
  services: Services,
  project: ProjectState | undefined,
): Promise<Caller> {
  if (isAccessKey(token)) return callerOfKey(token, services, project);
  return callerOfSession(await services.sessions.find(token), project);
}

/** The caller of a key that lasts. @throws Failure unauthenticated for one that the project does not have */
function callerOfKey(key: string, { keyUses }: Services, project: ProjectState | undefined): Caller {
  const caller = project && callerOfAccessKey(key, project);
  if (!caller) throw unauthenticated("The key is not one of this project's, or has ended.");
  keyUses.note(caller.accountId!);
  return caller;
}

/**
 * The caller of a key for the tiles of a map: the user of the session that it belongs to.
 * @throws Failure unauthenticated for an unknown or ended key; forbidden for one of another map; as `callerOf`
 */
async function callerOfTileKey(key: string, services: Services, map: MapState): Promise<Caller> {
  if (isAccessKey(key)) {
    const caller = callerOfKey(key, services, map.project);
    if (mayEdit(map.project, caller))
      throw forbidden("A key that may edit stands in no address: send it as a token.");
    return caller;
  }
  const session = await services.tileKeys.find(key, map.id);
  if (session === "other") throw forbidden("This key is for another map.");
  if (!session) throw unauthenticated("The key is unknown or has expired.");
  return callerOfSession(session, map.project);
}

/** The key for tiles in the query. A token counts before it. */
export const tileKeyOf = (request: Request): string | undefined =>
  headToken(request) === undefined ? request.query.get("key") || undefined : undefined;

/**
 * The services for a request that is no use of its session: one that a program sends by itself while nobody uses it
 * (`X-Unattended`), as an open page does that is left alone.
 */
export const asUsed = (request: Request, services: Services): Services =>
  request.header("x-unattended") === undefined ? services : whoLooks(services);

/** The services for who looks at what is there, and thereby keeps no session alive. */
export const whoLooks = (services: Services): Services => ({
  ...services,
  sessions: looking(services.sessions),
  tileKeys: looking(services.tileKeys),
});

const looking = <Found extends { readonly looking: { readonly find: unknown } }>(of: Found): Found =>
  Object.create(of, { find: { value: of.looking.find } });

/** The caller of a session. @throws Failure as `callerOf` */
function callerOfSession(session: Session | undefined, project: ProjectState | undefined): Caller {
  const refusal = refusalOf(session, project);
  if (refusal) throw refusal;
  const { accountId, login, projectId, grantedBy } = session!;
  return { accountId, login, projectId, ...(grantedBy === undefined ? {} : { grantedBy }) };
}

/** Why the session is not valid in the project; undefined when it is. */
export function refusalOf(
  session: (Omit<Session, "origin"> & Pick<Caller, "isKey">) | undefined,
  project: ProjectState | undefined,
): Failure | undefined {
  if (session?.isKey && project && isStillKey(session, project)) return undefined;
  if (!session) return unauthenticated("The session token is unknown or has expired.");
  const { accountId, login, projectId, grantedBy } = session;
  if (!project || projectId !== project.id) return forbidden("This session belongs to another project.");
  if (!isMember(project, session)) return unauthenticated("This user is no longer one of the project's.");
  if (grantedBy === undefined) return undefined;
  if (!isMember(project, grantedBy))
    return unauthenticated("The user who asked for this session is no longer one of the project's.");
  return coversRights(project, { ...grantedBy, projectId }, { accountId, login, projectId })
    ? undefined
    : unauthenticated("This session's user may do more than the user who asked for it.");
}

const isMember = ({ members }: ProjectState, { accountId, login }: UserName): boolean =>
  members.get(accountId)?.login === login;

/** The public, for requests whose token or key is invalid and was ignored. */
const ignoredToken: Caller = { ...publicCaller };

/**
 * The caller of a request for a tile, icon, image or legend. If the public may read it, an invalid token or key (unknown,
 * of another project or map, or not checkable at present) is ignored.
 * @param isPublic whether the public may read it
 * @param map whose keys for tiles count; undefined = none do
 * @throws Failure as `callerOf` if the public may not read it
 */
export async function callerOrPublic(
  request: Request,
  services: Services,
  project: ProjectState,
  isPublic: () => boolean,
  map?: MapState,
): Promise<Caller> {
  const token = headToken(request);
  const key = map && tileKeyOf(request);
  if (token === undefined && key === undefined) return publicCaller;
  try {
    const caller =
      map && key !== undefined
        ? await callerOfTileKey(key, services, map)
        : await callerOfToken(token!, services, project);
    noteKnownCaller(request, caller);
    return caller;
  } catch (error) {
    if (error instanceof Failure && isPublic()) return ignoredToken;
    throw error;
  }
}

/** Whether the request has a token or key. Its response may then depend on the caller and must not be shared. */
export const usedToken = (caller: Caller): boolean => caller.accountId !== null || caller === ignoredToken;

/** Who takes turns with others: the account, or the network of somebody who is not signed in. */
export const clientOf = (request: Request, { accountId }: Caller): string =>
  accountId === null ? networkOf(request.remoteAddress) : `a${accountId}`;

/** For whom the images of a request are made. */
export const imageUser = (request: Request, caller: Caller): ImageUser => ({
  client: clientOf(request, caller),
  signal: request.signal,
});

/** Cache headers of a response that may depend on the caller. */
export const callerHeaders = (caller: Caller): Headers =>
  usedToken(caller) ? { "cache-control": "private, no-store" } : {};

/** A JSON response that nobody keeps, whoever asks: it is about sessions, users or secrets. */
export const uncached = (value: unknown): Reply => ({
  kind: "json",
  value,
  headers: { "cache-control": "private, no-store" },
});

/** A JSON response to this caller. */
export const answer = (caller: Caller, value: unknown): Reply => ({
  kind: "json",
  value,
  headers: callerHeaders(caller),
});

/** A response of JSON text that PostgreSQL produced. */
export const answerText = (caller: Caller, json: JsonText): Reply => ({
  kind: "json_text",
  text: json,
  headers: callerHeaders(caller),
});

/**
 * The token of a request: query, Authorization, X-Token, form or JSON object. The first found is used; the body is only
 * read if the query and headers have none.
 * @throws Failure too_large
 */
export const tokenOf = async (request: Request): Promise<string | undefined> =>
  headToken(request) ?? (await bodyToken(request));

/** The token in the query or a header. */
export function headToken(request: Request): string | undefined {
  const authorization = request.header("authorization") ?? "";
  const bearer = /^Bearer +(\S+) *$/i.exec(authorization);
  const named = request.query.get("token") || bearer?.[1] || request.header("x-token");
  return named || basicKey(authorization);
}

/** A key that lasts as the password of HTTP Basic, with any user, or as its user: other passwords are none of ours. */
function basicKey(authorization: string): string | undefined {
  const [, encoded] = /^Basic +([A-Za-z0-9+/=_-]{1,1000}) *$/i.exec(authorization) ?? [];
  if (encoded === undefined) return undefined;
  const [user = "", ...password] = Buffer.from(encoded, "base64").toString("utf8").split(":");
  return [password.join(":"), user].find(isAccessKey);
}

async function bodyToken(request: Request): Promise<string | undefined> {
  if (isReading(request.method) || !hasBody(request)) return undefined;
  const fields = await readFields(request);
  if (typeof fields !== "object" || fields === null || !Object.hasOwn(fields, "token")) return undefined;
  const { token } = fields as { token: unknown };
  if (typeof token !== "string" || token === "") return undefined;
  // Operations open to the public may accept larger bodies than those in which a token is accepted.
  if (request.body.receivedBytes > sizes.small.bytes) throw tokenTooLate();
  return token;
}

/** The fields of a body that may contain a token, read up to the limit for unauthenticated requests. */
async function readFields(request: Request): Promise<unknown> {
  const { body } = request;
  const { bytes, earlyBytes } = body.limits;
  const type = mediaType(request);
  try {
    if (type === "application/json") return await body.json(earlyBytes);
    if (type === "application/x-www-form-urlencoded" || type === multipart)
      return await body.fields(earlyBytes);
    return undefined;
  } catch (error) {
    throw earlyBytes < bytes && isTooLarge(error) ? tokenTooLate() : error;
  }
}

export const isTooLarge = (error: unknown): boolean => error instanceof Failure && error.kind === "too_large";

/** The error for a body that exceeds the limit for requests without a token in the query or a header. */
export const tokenTooLate = (): Failure =>
  tooLarge(
    `Without a session token in the query or a header, the body may have at most ${sizes.small.bytes} bytes: send the ` +
      "token in the header X-Token.",
  );

/** Whether the request has a body that is not empty. */
const hasBody = (request: Request): boolean =>
  request.header("transfer-encoding") !== undefined || Number(request.header("content-length") ?? 0) > 0;

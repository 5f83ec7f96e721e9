import { coversRights } from "../../access/rights.js";
import type { Session } from "../../access/sessions.js";
import { type Caller, type ProjectState, publicCaller, type UserName } from "../../catalog/state.js";
import { Failure, forbidden, tooLarge, unauthenticated } from "../../errors.js";
import type { Headers, Reply, Request } from "../../http/types.js";
import type { Services } from "../services.js";
import { mediaType, multipart } from "./media-type.js";
import { sizes } from "./schema/sizes.js";

/** Who asks, told by the session token, wherever it travels. */

/**
 * The caller of a request to a project; the public when there is no token.
 * @throws Failure unauthenticated for an unknown or ended session, one of a user who has left the project, or one of
 *   a user who may do more by now than who asked for it; forbidden for a session of another project; too_large for a
 *   body that may hold the token and is longer than is read for that; busy while sessions cannot be checked
 */
export async function callerOf(request: Request, services: Services, project: ProjectState): Promise<Caller> {
  const token = await tokenOf(request);
  return token === undefined ? publicCaller : callerOfToken(token, services, project);
}

/** As `callerOf`, for a token that was found already. */
export async function callerOfToken(
  token: string,
  services: Services,
  project: ProjectState,
): Promise<Caller> {
  return callerOfSession(await services.sessions.find(token), project);
}

/** The caller that a session stands for. @throws Failure as `callerOf` */
function callerOfSession(session: Session | undefined, project: ProjectState): Caller {
  const refusal = refusalOf(session, project);
  if (refusal) throw refusal;
  const { accountId, login, projectId, grantedBy } = session!;
  return { accountId, login, projectId, ...(grantedBy === undefined ? {} : { grantedBy }) };
}

/** Why a session stands for nobody in the project; undefined when it does for somebody. */
export function refusalOf(session: Session | undefined, project: ProjectState): Failure | undefined {
  if (!session) return unauthenticated("The session token is unknown or has expired.");
  const { accountId, login, projectId, grantedBy } = session;
  if (projectId !== project.id) return forbidden("This session belongs to another project.");
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

/** The public, with a token that counts as none. */
const unrecognised: Caller = { ...publicCaller };

/**
 * The caller of a request for a picture or its description. What the public may see is refused to nobody: there a token
 * that is unknown, of another project, or cannot be checked just now, counts as no token.
 * @param isPublic whether the public may see it
 * @throws Failure as `callerOf` for what the public may not see
 */
export async function callerOrPublic(
  request: Request,
  services: Services,
  project: ProjectState,
  isPublic: () => boolean,
): Promise<Caller> {
  const token = headToken(request);
  if (token === undefined) return publicCaller;
  try {
    return await callerOfToken(token, services, project);
  } catch (error) {
    if (error instanceof Failure && isPublic()) return unrecognised;
    throw error;
  }
}

/** Whether a token came, which decides or may decide what this caller gets: such answers are for nobody else. */
export const usedToken = (caller: Caller): boolean => caller.accountId !== null || caller === unrecognised;

/** Headers of an answer that depends on the caller. */
export const callerHeaders = (caller: Caller): Headers =>
  usedToken(caller) ? { "cache-control": "private, no-store" } : {};

/** A JSON answer to this caller. */
export const answer = (caller: Caller, value: unknown): Reply => ({
  kind: "json",
  value,
  headers: callerHeaders(caller),
});

/** JSON that PostgreSQL wrote. */
export const answerText = (caller: Caller, json: string): Reply => ({
  kind: "json_text",
  text: json,
  headers: callerHeaders(caller),
});

/**
 * The token of a request: query, Authorization, X-Token, form or JSON object; the first found counts, so that a body is
 * only read while nothing before it tells who asks.
 * @throws Failure too_large
 */
export const tokenOf = async (request: Request): Promise<string | undefined> =>
  headToken(request) ?? (await bodyToken(request));

/** The token that came before the body. */
export function headToken(request: Request): string | undefined {
  const bearer = /^Bearer +(\S+) *$/i.exec(request.header("authorization") ?? "");
  return request.query.get("token") || bearer?.[1] || request.header("x-token") || undefined;
}

async function bodyToken(request: Request): Promise<string | undefined> {
  if (request.method === "GET" || request.method === "HEAD" || !hasBody(request)) return undefined;
  const fields = await earlyFields(request);
  if (typeof fields !== "object" || fields === null || !Object.hasOwn(fields, "token")) return undefined;
  const { token } = fields as { token: unknown };
  if (typeof token !== "string" || token === "") return undefined;
  // What everybody may send can be longer than a body that a token may come in.
  if (request.body.receivedBytes > sizes.small.bytes) throw tokenTooLate();
  return token;
}

/** What of the body may hold a token, read as far as is done for strangers. */
async function earlyFields(request: Request): Promise<unknown> {
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

/** The refusal of a body that is too large for one that nothing before it tells the sender of. */
export const tokenTooLate = (): Failure =>
  tooLarge(
    `Without a session token in the query or a header, the body may have at most ${sizes.small.bytes} bytes: send the token ` +
      "in the header X-Token.",
  );

/** Whether the request came with a body that is not empty. */
const hasBody = (request: Request): boolean =>
  request.header("transfer-encoding") !== undefined || Number(request.header("content-length") ?? 0) > 0;

import { z } from "zod";
import { type Account, findMember, projectLogins } from "../../access/accounts.js";
import { coversRights, requireProjectRight } from "../../access/rights.js";
import type { Session } from "../../access/sessions.js";
import { type Caller, type ProjectState, Right, type UserName } from "../../catalog/state.js";
import { forbidden, required, unauthenticated } from "../../errors.js";
import type { Reply, Request } from "../../http/types.js";
import { answer, callerOfToken, refusalOf, tokenOf } from "../request/caller.js";
import { projectContext } from "../request/context.js";
import { answers, type Input, type Operation, operation } from "../request/operation.js";
import { projectPath } from "../request/paths.js";
import { form } from "../request/schema/bodies.js";
import { text } from "../request/schema/parameters.js";
import { ref, ruled, type Values } from "../request/schema/schema.js";
import { sizes } from "../request/schema/sizes.js";
import type { Services } from "../services.js";

/** Sessions and users: login, ext-login, ext-auth, logout, authorized, users/list. */

/** Answers that carry or depend on a token. */
const privately = (value: unknown): Reply => ({
  kind: "json",
  value,
  headers: { "cache-control": "private, no-store" },
});

/** What tells who a user is: "" is given, and wrong. */
const credential = (description: string, aliases: readonly string[] = []) =>
  ruled(z.string(), { blanks: [], aliases }).describe(description);

const loginParameters = {
  user: credential("Login of the user.", ["login"]),
  pass: credential("Password.", ["password"]),
};

/** The handler takes it from wherever tokens may travel. */
const externalLoginParameters = {
  token: text("The external token, a JWT. It may also travel as session tokens do."),
};

const externalAuthorizationParameters = { login: credential("Login of the other user.") };

/**
 * A session of the account in the project, opened through the API.
 * @param more of a session that another user asked for
 */
async function opened(
  services: Services,
  project: ProjectState,
  account: Account,
  more: Pick<Session, "grantedBy"> = {},
): Promise<Reply> {
  const token = await services.sessions.open({
    accountId: account.id,
    login: account.login,
    projectId: project.id,
    origin: "api",
    ...more,
  });
  return privately({ token });
}

async function login(
  request: Request,
  services: Services,
  { body }: Input<unknown, Values<typeof loginParameters>>,
): Promise<Reply> {
  const project = await services.catalog.project(request.params.project!);
  const { user, pass } = await body();
  const attempt = { login: user, password: pass, address: request.remoteAddress };
  return opened(services, project, await services.logins.check(project.id, attempt, request.signal));
}

/** The token is one of another system. Whatever is wrong with it, the answer is the same, so that nobody learns from it. */
async function externalLogin(request: Request, services: Services): Promise<Reply> {
  const project = await services.catalog.project(request.params.project!);
  const token = await tokenOf(request);
  if (token === undefined) throw required(["token"]);
  const login = await services.externalTokens.loginOf(token, project.code);
  const account = login === undefined ? undefined : await findMember(services.db, project.id, login);
  if (!account) throw forbidden("The external token is not accepted.");
  return opened(services, project, account);
}

/** @param caller a signed-in one */
const nameOf = ({ accountId, login }: Caller): UserName => ({ accountId: accountId!, login: login! });

/** A session of another user, for a caller who may do all that this user may. */
async function externalAuthorization(
  request: Request,
  services: Services,
  { body }: Input<unknown, Values<typeof externalAuthorizationParameters>>,
): Promise<Reply> {
  const { project, caller } = await projectContext(request, services);
  requireProjectRight(project, caller, Right.editObjects);
  const account = await findMember(services.db, project.id, (await body()).login);
  const user = account && { accountId: account.id, login: account.login, projectId: project.id };
  if (!user || !coversRights(project, caller, user)) {
    throw forbidden("The login is unknown, or its rights go beyond yours.");
  }
  // Who acts for another already stays the one whose rights count.
  return opened(services, project, account, { grantedBy: caller.grantedBy ?? nameOf(caller) });
}

async function logout(request: Request, services: Services): Promise<Reply> {
  const project = await services.catalog.project(request.params.project!);
  const token = await tokenOf(request);
  if (token === undefined) throw unauthenticated();
  await callerOfToken(token, services, project);
  await services.sessions.close(token);
  return privately({ token: "" });
}

/** true for a live session of this project that came from the API. */
async function authorized(request: Request, services: Services): Promise<Reply> {
  const project = await services.catalog.project(request.params.project!);
  const token = await tokenOf(request);
  const session = token === undefined ? undefined : await services.sessions.find(token);
  return privately(session?.origin === "api" && refusalOf(session, project) === undefined);
}

async function listUsers(request: Request, services: Services): Promise<Reply> {
  const { project, caller } = await projectContext(request, services);
  requireProjectRight(project, caller, Right.administer);
  return answer(caller, await projectLogins(services.db, project.id));
}

export const sessionOperations: readonly Operation[] = [
  operation({
    id: "login",
    tag: "Sessions",
    summary: "Open a session with a login and a password",
    details: "An unknown login, a wrong password and too many attempts are all refused with 403.",
    methods: ["POST"],
    path: `${projectPath}/login/`,
    body: form(loginParameters, sizes.small),
    answer: answers("The token of the new session.", ref("Token")),
    refuses: ["required_parameters"],
    handle: login,
  }),
  operation({
    id: "loginExternally",
    tag: "Sessions",
    summary: "Open a session with a token of another system",
    details:
      "The token is a JWT that is signed with one of the project's keys and names a user of the project. " +
      "One that is not accepted is refused with 403.",
    methods: ["POST"],
    path: `${projectPath}/ext-login/`,
    body: form(externalLoginParameters, sizes.small),
    answer: answers("The token of the new session.", ref("Token")),
    refuses: ["required_parameters"],
    handle: externalLogin,
  }),
  operation({
    id: "authorizeOther",
    tag: "Sessions",
    summary: "Open a session of another user",
    details:
      "For users who may edit the project. A login that is unknown, or whose rights go beyond the caller's, is " +
      "refused with 403. The session is refused with 401 while the other user may do more than the caller.",
    access: "token",
    methods: ["POST"],
    path: `${projectPath}/ext-auth/`,
    body: form(externalAuthorizationParameters, sizes.small),
    answer: answers("The token of the other user's session.", ref("Token")),
    refuses: ["required_parameters"],
    handle: externalAuthorization,
  }),
  operation({
    id: "logout",
    tag: "Sessions",
    summary: "End the session",
    access: "token",
    methods: ["POST"],
    path: `${projectPath}/logout/`,
    answer: answers("An empty token: the session has ended.", ref("Token")),
    handle: logout,
  }),
  operation({
    id: "isAuthorized",
    tag: "Sessions",
    summary: "Whether the token is that of a live session",
    methods: ["GET"],
    path: `${projectPath}/authorized/`,
    answer: answers(
      "false without a token, for a session that has ended, and for one that was opened in the administration system.",
      { type: "boolean" },
    ),
    handle: authorized,
  }),
  operation({
    id: "listUsers",
    tag: "Sessions",
    summary: "Logins of the project's users",
    details: "For administrators.",
    access: "token",
    methods: ["GET"],
    path: `${projectPath}/users/list/`,
    answer: answers("The logins.", { type: "array", items: { type: "string" } }),
    handle: listUsers,
  }),
];

import { z } from "zod";
import { callerOfAccessKey, isAccessKey } from "../../access/access-keys.js";
import {
  type Account,
  type AuthenticatedAccount,
  findMember,
  isStillMember,
  projectLogins,
} from "../../access/accounts.js";
import { coversRights, requireProjectRight } from "../../access/rights.js";
import type { Session } from "../../access/sessions.js";
import { type Caller, type ProjectState, Right, type UserName } from "../../catalog/state.js";
import { forbidden, required, unauthenticated } from "../../errors.js";
import type { Reply, Request } from "../../http/types.js";
import { answer, callerOfToken, refusalOf, tokenOf, uncached } from "../request/caller.js";
import { projectContext } from "../request/context.js";
import { answers, type Input, type Operation, operation } from "../request/operation.js";
import { projectPath } from "../request/paths.js";
import { form } from "../request/schema/bodies.js";
import { text } from "../request/schema/parameters.js";
import { ref, ruled, type Values } from "../request/schema/schema.js";
import { sizes } from "../request/schema/sizes.js";
import type { Services } from "../services.js";

/** Sessions and users: login, ext-login, ext-auth, logout, authorized, users/list. */

/** Responses that contain or depend on a token. */
/** A login or password. "" counts as given, and is wrong. */
const credential = (description: string, aliases: readonly string[] = []) =>
  ruled(z.string(), { blanks: [], aliases }).describe(description);

const loginParameters = {
  user: credential("Login of the user.", ["login"]),
  pass: credential("Password.", ["password"]),
  // Other words are those of clients for which this parameter was never there.
  origin: ruled(
    z.preprocess((given) => (given === "console" ? given : "api"), z.enum(["api", "console"])),
    {},
  )
    .default("api")
    .describe(
      "What the session counts as: `console` is that of the editor at `/console/`, of which `authorized/` tells `false`.",
    ),
};

/** The handler also accepts the token wherever session tokens are accepted. */
const externalLoginParameters = {
  token: text("The external token, a JWT. It can also be sent in the same ways as a session token."),
};

const externalAuthorizationParameters = { login: credential("Login of the other user.") };

/**
 * Opens a session of the account in the project, of the API unless said otherwise.
 * @throws Failure forbidden when the account's password was changed or its role removed meanwhile
 * @param more.grantedBy set for a session that was created by another user
 */
async function openSession(
  services: Services,
  project: ProjectState,
  account: Account & Partial<AuthenticatedAccount>,
  more: Partial<Pick<Session, "grantedBy" | "origin" | "isByPassword">> = {},
): Promise<Reply> {
  const token = await services.sessions.open({
    accountId: account.id,
    login: account.login,
    projectId: project.id,
    origin: "api",
    ...more,
  });
  if (!(await isStillMember(services.db, project.id, account))) {
    await services.sessions.close(token);
    throw forbidden("The user's password or role was changed just now.");
  }
  return uncached({ token });
}

async function login(
  request: Request,
  services: Services,
  { body }: Input<unknown, Values<typeof loginParameters>>,
): Promise<Reply> {
  const project = await services.catalog.project(request.params.project!);
  const { user, pass, origin } = await body();
  const attempt = { login: user, password: pass, address: request.remoteAddress };
  const account = await services.logins.check(project.id, attempt, request.signal);
  return openSession(services, project, account, { origin, isByPassword: true });
}

/** Login with a token of another system. All errors get the same response, to reveal nothing about the cause. */
async function externalLogin(request: Request, services: Services): Promise<Reply> {
  const project = await services.catalog.project(request.params.project!);
  const token = await tokenOf(request);
  if (token === undefined) throw required(["token"]);
  const login = await services.externalTokens.loginOf(token, project.code);
  const account = login === undefined ? undefined : await findMember(services.db, project.id, login);
  if (!account) throw forbidden("The external token is not accepted.");
  return openSession(services, project, account);
}

/** @param caller must be signed in */
const nameOf = ({ accountId, login }: Caller): UserName => ({ accountId: accountId!, login: login! });

/** Opens a session of another user, whose rights the caller must have as well. */
async function externalAuthorization(
  request: Request,
  services: Services,
  { body }: Input<unknown, Values<typeof externalAuthorizationParameters>>,
): Promise<Reply> {
  const { project, caller } = await projectContext(request, services);
  requireProjectRight(project, caller, Right.editObjects);
  // It has no name, and could not take back what it has given.
  if (caller.isKey) throw forbidden();
  const account = await findMember(services.db, project.id, (await body()).login);
  const user = account && { accountId: account.id, login: account.login, projectId: project.id };
  if (!user || !coversRights(project, caller, user)) {
    throw forbidden("The login is unknown, or its rights go beyond yours.");
  }
  // In a session created this way, the rights of the original user still apply.
  return openSession(services, project, account, { grantedBy: caller.grantedBy ?? nameOf(caller) });
}

async function logout(request: Request, services: Services): Promise<Reply> {
  const project = await services.catalog.project(request.params.project!);
  const token = await tokenOf(request);
  if (token === undefined) throw unauthenticated();
  const caller = await callerOfToken(token, services, project);
  if (caller.isKey) throw forbidden("This is no session: an administrator ends a key.");
  await services.sessions.close(token);
  return uncached({ token: "" });
}

/** true for a valid session of this project that was opened through the API. */
async function authorized(request: Request, services: Services): Promise<Reply> {
  const project = await services.catalog.project(request.params.project!);
  const token = await tokenOf(request);
  if (token !== undefined && isAccessKey(token))
    return uncached(callerOfAccessKey(token, project) !== undefined);
  const session = token === undefined ? undefined : await services.sessions.find(token);
  return uncached(session?.origin === "api" && refusalOf(session, project) === undefined);
}

async function listUsers(request: Request, services: Services): Promise<Reply> {
  const { project, caller } = await projectContext(request, services);
  requireProjectRight(project, caller, Right.administer);
  return answer(caller, await projectLogins(services.db, project.id));
}

const sessions = { unconditionally: "Sessions begin and end, and nothing of them is changed." };

export const sessionOperations: readonly Operation[] = [
  operation({
    id: "login",
    tag: "Sessions",
    summary: "Log in with a login and a password",
    details: "An unknown login, a wrong password and too many attempts are all answered with 403.",
    methods: ["POST"],
    changes: sessions,
    path: `${projectPath}/login/`,
    body: form(loginParameters, sizes.small),
    answer: answers("The token of the new session.", ref("Token")),
    refuses: ["required_parameters"],
    handle: login,
  }),
  operation({
    id: "loginExternally",
    tag: "Sessions",
    summary: "Log in with a token of another system",
    details:
      "The token is a JWT, signed with one of the project's keys, for a user of the project. " +
      "An invalid token is answered with 403.",
    methods: ["POST"],
    changes: sessions,
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
      "For users who may edit objects in the project. A login that is unknown, or has rights that the caller does " +
      "not have, is refused with 403. Requests in the session get 401 while the other user has rights that the caller " +
      "does not have.",
    access: "token",
    methods: ["POST"],
    changes: sessions,
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
    changes: sessions,
    path: `${projectPath}/logout/`,
    answer: answers("An empty token: the session has ended.", ref("Token")),
    handle: logout,
  }),
  operation({
    id: "isAuthorized",
    tag: "Sessions",
    summary: "Whether the session token is valid",
    methods: ["GET"],
    path: `${projectPath}/authorized/`,
    answer: answers(
      "false without a token, for an expired session, and for a session of the administration system.",
      { type: "boolean" },
    ),
    handle: authorized,
  }),
  operation({
    id: "listUsers",
    tag: "Sessions",
    summary: "List the logins of the project's users",
    details: "For administrators.",
    access: "token",
    methods: ["GET"],
    path: `${projectPath}/users/list/`,
    answer: answers("The logins.", { type: "array", items: { type: "string" } }),
    handle: listUsers,
  }),
];

import { type Account, findMember, projectLogins } from "../catalog/accounts.js";
import { coversRights, requireProjectRight } from "../catalog/rights.js";
import { type ProjectState, Right } from "../catalog/state.js";
import { forbidden, required, unauthenticated } from "../errors.js";
import type { Reply, Request, Route } from "../http/types.js";
import { answer, callerOf, callerOfToken, hasBody, tokenOf } from "./caller.js";
import { own } from "./input.js";
import { projectPath } from "./present.js";
import type { Services } from "./services.js";

/** Sessions and users: login, ext-login, ext-auth, logout, authorized, users/list. */

/** Answers that carry or depend on a token. */
const privately = (value: unknown): Reply => ({
  kind: "json",
  value,
  headers: { "cache-control": "private, no-store" },
});

/** Parameters of a POST: of its body (form or JSON) or its query; the first of the names that is there. */
async function parametersOf(request: Request): Promise<(...names: string[]) => string | undefined> {
  const fields = hasBody(request) ? await request.body.fields() : {};
  return (...names) => {
    for (const name of names) {
      const value = own(fields, name) ?? request.query.get(name);
      if (typeof value === "string") return value;
      if (typeof value === "number") return String(value);
    }
    return undefined;
  };
}

/** A session of the account in the project, opened through the API. */
async function opened(services: Services, project: ProjectState, account: Account): Promise<Reply> {
  const token = await services.sessions.open({
    accountId: account.id,
    login: account.login,
    projectId: project.id,
    origin: "api",
  });
  return privately({ token });
}

async function login(request: Request, services: Services): Promise<Reply> {
  const project = await services.catalog.project(request.params.project!);
  const read = await parametersOf(request);
  const user = read("user", "login");
  const password = read("pass", "password");
  if (user === undefined || password === undefined) {
    throw required([...(user === undefined ? ["user"] : []), ...(password === undefined ? ["pass"] : [])]);
  }
  const attempt = { login: user, password, address: request.remoteAddress };
  return opened(services, project, await services.logins.check(project.id, attempt, request.signal));
}

/** The token that is sent here is somebody else's. All that it may lack is refused alike. */
async function externalLogin(request: Request, services: Services): Promise<Reply> {
  const project = await services.catalog.project(request.params.project!);
  const token = await tokenOf(request);
  if (token === undefined) throw required(["token"]);
  const login = await services.externalTokens.loginOf(token, project.code);
  const account = login === undefined ? undefined : await findMember(services.db, project.id, login);
  if (!account) throw forbidden("The external token is not accepted.");
  return opened(services, project, account);
}

/** A session of another user, for a caller who may do all that this user may. */
async function externalAuthorization(request: Request, services: Services): Promise<Reply> {
  const project = await services.catalog.project(request.params.project!);
  const caller = await callerOf(request, services, project);
  requireProjectRight(project, caller, Right.editObjects);
  const login = (await parametersOf(request))("login");
  if (login === undefined) throw required(["login"]);
  const account = await findMember(services.db, project.id, login);
  const user = account && { accountId: account.id, login: account.login, projectId: project.id };
  if (!user || !coversRights(project, caller, user)) {
    throw forbidden("The login is unknown, or its rights go beyond yours.");
  }
  return opened(services, project, account);
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
  return privately(
    session?.projectId === project.id && project.roles.has(session.accountId) && session.origin === "api",
  );
}

async function listUsers(request: Request, services: Services): Promise<Reply> {
  const project = await services.catalog.project(request.params.project!);
  const caller = await callerOf(request, services, project);
  requireProjectRight(project, caller, Right.administer);
  return answer(caller, await projectLogins(services.db, project.id));
}

export const sessionRoutes: Route<Services>[] = [
  { methods: ["POST"], path: `${projectPath}/login/`, handler: login },
  { methods: ["POST"], path: `${projectPath}/ext-login/`, handler: externalLogin },
  { methods: ["POST"], path: `${projectPath}/ext-auth/`, handler: externalAuthorization },
  { methods: ["POST"], path: `${projectPath}/logout/`, handler: logout },
  { methods: ["GET"], path: `${projectPath}/authorized/`, handler: authorized },
  { methods: ["GET"], path: `${projectPath}/users/list/`, handler: listUsers },
];

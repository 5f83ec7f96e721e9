import { authenticate, projectLogins } from "../catalog/accounts.js";
import { requireProjectRight } from "../catalog/rights.js";
import { Right } from "../catalog/state.js";
import { forbidden, required, unauthenticated } from "../errors.js";
import type { Reply, Request, Route } from "../http/types.js";
import { answer, callerOf, callerOfToken, hasBody, tokenOf } from "./caller.js";
import { own } from "./input.js";
import { projectPath } from "./present.js";
import type { Services } from "./services.js";

/** Sessions and users: login, logout, authorized, users/list. */

/** Answers that carry or depend on a token. */
const privately = (value: unknown): Reply => ({
  kind: "json",
  value,
  headers: { "cache-control": "private, no-store" },
});

async function login(request: Request, services: Services): Promise<Reply> {
  const project = await services.catalog.project(request.params.project!);
  const fields = hasBody(request) ? await request.body.fields() : {};
  /** The first of the names that is there, from the body or the query. */
  const read = (...names: string[]): string | undefined => {
    for (const name of names) {
      const value = own(fields, name) ?? request.query.get(name);
      if (typeof value === "string") return value;
      if (typeof value === "number") return String(value);
    }
    return undefined;
  };
  const user = read("user", "login");
  const password = read("pass", "password");
  if (user === undefined || password === undefined) {
    throw required([...(user === undefined ? ["user"] : []), ...(password === undefined ? ["pass"] : [])]);
  }
  const account = await authenticate(services.db, project.id, user, password);
  if (!account) throw forbidden("The login is unknown or the password is wrong.");
  const token = await services.sessions.open({
    accountId: account.id,
    login: account.login,
    projectId: project.id,
    origin: "api",
  });
  return privately({ token });
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
  { methods: ["POST"], path: `${projectPath}/logout/`, handler: logout },
  { methods: ["GET"], path: `${projectPath}/authorized/`, handler: authorized },
  { methods: ["GET"], path: `${projectPath}/users/list/`, handler: listUsers },
];

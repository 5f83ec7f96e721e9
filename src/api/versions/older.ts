import { notFound } from "../../errors.js";
import type { Handler, Method, Reply, Request, Route } from "../../http/types.js";
import { whenCdnIsTold } from "../request/cdn-wait.js";
import type { Operation } from "../request/operation.js";
import { projectPath } from "../request/paths.js";
import { retryIfStale } from "../request/retry.js";
import type { Services } from "../services.js";

/** Builds the routes of older API versions from those of the current version. */

/** Converts the current handler to that of an older version. */
export type Adaptation = (current: Handler<Services>) => Handler<Services>;

export interface OlderVersion {
  readonly name: string;
  /**
   * The current operations that the version has. Keys are method and path, for example `GET P/:map/layers/`; P is the
   * path of the project. All other operations, also future ones, are not in the version.
   */
  readonly operations: Readonly<Record<string, Adaptation>>;
  /** Operations that the current version does not have, with keys of the same form. */
  readonly own: Readonly<Record<string, Handler<Services>>>;
}

/** For operations that have not changed. */
export const unchanged: Adaptation = (current) => current;

/** For operations with different JSON responses, also those that are a text already. Other kinds are not changed. */
export const rewriting =
  (
    rewrite: (value: unknown, request: Request, services: Services) => unknown | Promise<unknown>,
  ): Adaptation =>
  (current) =>
  async (request, services): Promise<Reply> => {
    const reply = await current(request, services);
    if (reply.kind === "json") return { ...reply, value: await rewrite(reply.value, request, services) };
    if (reply.kind !== "json_text" || typeof reply.text !== "string") return reply;
    const { text, headers = {} } = reply;
    return { kind: "json", headers, value: await rewrite(JSON.parse(text), request, services) };
  };

/** Path of a project in the version. */
const projectPathOf = (version: OlderVersion): string => `/api/${version.name}/:project`;

const anyMethod: readonly Method[] = ["GET", "POST", "PUT", "PATCH", "DELETE"];

/**
 * The routes of an older version. Current operations that the version does not have get routes that return 404. Without
 * these, their paths would match a map code, or the response would be 405.
 * @param current all routes; those outside of the versioned API are skipped
 */
export function routesOf(version: OlderVersion, current: readonly Operation[]): readonly Route<Services>[] {
  const routes = Object.entries(version.own).map(([key, handler]): Route<Services> => {
    const [method, path] = key.split(" ") as [Method, string];
    return {
      methods: [method],
      path: path.replace(/^P/, projectPathOf(version)),
      handler: retrying(handler),
    };
  });
  const notSupported: Handler<Services> = () => {
    throw notFound(`such operation in version ${version.name} of the API`);
  };
  for (const [below, methods] of versioned(current)) {
    const path = `${projectPathOf(version)}${below}`;
    const missing: Method[] = [];
    for (const [method, route] of methods) {
      const key = `${method} P${below}`;
      const adapt = Object.hasOwn(version.operations, key) ? version.operations[key] : undefined;
      if (adapt) routes.push({ methods: [method], path, takes: route.takes, handler: route.adapted(adapt) });
      else missing.push(method);
    }
    // If the version does not have the path at all, all methods return 404.
    if (missing.length === methods.size)
      routes.push({ methods: [...anyMethod], path, handler: notSupported });
    else if (missing.length > 0) routes.push({ methods: missing, path, handler: notSupported });
  }
  return routes;
}

/** Adds the retry on a stale catalogue, which `operation` adds to other handlers. */
const retrying =
  (handler: Handler<Services>): Handler<Services> =>
  (request, services) =>
    whenCdnIsTold(request, services, (noting) =>
      retryIfStale(request, noting, (watched) => handler(request, watched)),
    );

/** The current operations by path below the project, with a trailing slash, and method. */
function versioned(current: readonly Operation[]): Map<string, Map<Method, Operation>> {
  const byPath = new Map<string, Map<Method, Operation>>();
  for (const route of current) {
    const { path, methods } = route;
    if (!path.startsWith(`${projectPath}/`)) continue;
    const below = `${path.slice(projectPath.length).replace(/\/$/, "")}/`;
    const byMethod = byPath.get(below) ?? new Map<Method, Operation>();
    for (const method of methods) byMethod.set(method, route);
    byPath.set(below, byMethod);
  }
  return byPath;
}

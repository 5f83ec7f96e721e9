import { notFound } from "../../errors.js";
import type { Handler, Method, Reply, Request, Route } from "../../http/types.js";
import type { Operation } from "../request/operation.js";
import { projectPath } from "../request/paths.js";
import { answerOvertaken } from "../request/retry.js";
import type { Services } from "../services.js";

/** How an older version of the API is made from the routes of the current one. */

/** Makes the handler of an older version from the current one. */
export type Adaptation = (current: Handler<Services>) => Handler<Services>;

export interface OlderVersion {
  readonly name: string;
  /**
   * The current operations that the version has, as `GET P/:map/layers/`, where P stands for what comes up to the
   * project's code. It lacks all others, also those that are yet to come.
   */
  readonly operations: Readonly<Record<string, Adaptation>>;
  /** What it has and the current version has not, likewise. */
  readonly own: Readonly<Record<string, Handler<Services>>>;
}

/** An operation that was always as it is now. */
export const asItIs: Adaptation = (current) => current;

/** An operation whose JSON answers looked different. Other answers stay as they are. */
export const rewriting =
  (
    rewrite: (value: unknown, request: Request, services: Services) => unknown | Promise<unknown>,
  ): Adaptation =>
  (current) =>
  async (request, services): Promise<Reply> => {
    const reply = await current(request, services);
    if (reply.kind !== "json") return reply;
    return { ...reply, value: await rewrite(reply.value, request, services) };
  };

/** The path that stands for an API's version and a project in its routes. */
const projectPathOf = (version: OlderVersion): string => `/api/${version.name}/:project`;

const anyMethod: readonly Method[] = ["GET", "POST", "PUT", "PATCH", "DELETE"];

/**
 * The routes of an older version. What it lacks of the current ones has routes too, which answer that there is no such
 * operation: left out, it would be taken for a map of that code, or for a method that is not allowed.
 * @param current the whole route table; what is not part of the versioned API in it is passed over
 */
export function routesOf(version: OlderVersion, current: readonly Operation[]): readonly Route<Services>[] {
  const routes = Object.entries(version.own).map(([key, handler]): Route<Services> => {
    const [method, path] = key.split(" ") as [Method, string];
    return { methods: [method], path: path.replace(/^P/, projectPathOf(version)), handler: beside(handler) };
  });
  const lacking: Handler<Services> = () => {
    throw notFound(`such operation in version ${version.name} of the API`);
  };
  for (const [below, methods] of versioned(current)) {
    const path = `${projectPathOf(version)}${below}`;
    const lacks: Method[] = [];
    for (const [method, route] of methods) {
      const key = `${method} P${below}`;
      const adapt = Object.hasOwn(version.operations, key) ? version.operations[key] : undefined;
      if (adapt) routes.push({ methods: [method], path, takes: route.takes, handler: route.adapted(adapt) });
      else lacks.push(method);
    }
    // A path that is all unknown is so for every method.
    if (lacks.length === methods.size) routes.push({ methods: [...anyMethod], path, handler: lacking });
    else if (lacks.length > 0) routes.push({ methods: lacks, path, handler: lacking });
  }
  return routes;
}

/** What the catalogue has may change beside a handler that is no operation's. */
const beside =
  (handler: Handler<Services>): Handler<Services> =>
  (request, services) =>
    answerOvertaken(request, services, (watched) => handler(request, watched));

/** The routes of the current version by the path below the project, with a slash at its end, and method. */
function versioned(current: readonly Operation[]): Map<string, Map<Method, Operation>> {
  const byPath = new Map<string, Map<Method, Operation>>();
  for (const route of current) {
    const { path, methods } = route;
    if (!path.startsWith(`${projectPath}/`)) continue;
    const below = `${path.slice(projectPath.length).replace(/\/$/, "")}/`;
    const known = byPath.get(below) ?? new Map<Method, Operation>();
    for (const method of methods) known.set(method, route);
    byPath.set(below, known);
  }
  return byPath;
}

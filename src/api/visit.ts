import { requireRead } from "../access/rights.js";
import type { Caller, MapState } from "../catalog/state.js";
import { unauthenticated } from "../errors.js";
import type { Request } from "../http/types.js";
import { callerOf } from "./caller.js";
import { type View, viewOf } from "./present.js";
import type { Services } from "./services.js";

/** A request to a map: which map it is, who asks, and how things are to be shown. */
export interface Visit {
  readonly map: MapState;
  readonly caller: Caller;
  readonly view: View;
}

/** The map of the path and who asks. @throws Failure project_not_found, unauthenticated, forbidden, not_found */
export async function visit(request: Request, services: Services): Promise<Visit> {
  const project = await services.catalog.project(request.params.project!);
  const caller = await callerOf(request, services, project);
  const map = await services.catalog.map(project.code, request.params.map!);
  return { map, caller, view: viewOf(request, map.project) };
}

/** As `visit`, by a user who may read the map. @throws Failure as `visit`; unauthenticated for the public */
export async function signedInVisit(request: Request, services: Services): Promise<Visit> {
  const visitor = await visit(request, services);
  if (visitor.caller.accountId === null) throw unauthenticated();
  requireRead(visitor.map, visitor.caller);
  return visitor;
}

/** The same visit with the map as it is after a write that was settled. */
export async function again({ map, caller, view }: Visit, services: Services): Promise<Visit> {
  return { map: await services.catalog.map(map.project.code, map.code), caller, view };
}

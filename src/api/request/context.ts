import { requireRead, requireRight } from "../../access/rights.js";
import {
  type Caller,
  hasObjects,
  isDerived,
  type LayerNode,
  type MapState,
  type ProjectState,
  Right,
} from "../../catalog/state.js";
import { Failure, failed, notFound, unauthenticated } from "../../errors.js";
import type { Request } from "../../http/types.js";
import type { Services } from "../services.js";
import { callerOf } from "./caller.js";
import { type View, viewOf } from "./paths.js";

/**
 * Resolves the path of a request to its project, map and layer, with the caller and the language of names. The caller
 * is authenticated before the map is looked up, and rights are checked before a missing layer is reported. So responses
 * do not reveal which hidden maps and layers exist.
 */

export interface ProjectContext {
  readonly project: ProjectState;
  readonly caller: Caller;
  readonly view: View;
}

export interface MapContext extends ProjectContext {
  readonly map: MapState;
}

export interface LayerContext extends MapContext {
  readonly layer: LayerNode;
}

/**
 * The project; undefined if it does not exist, for answers that must not tell so. It takes the same look-up.
 * @throws Failure busy
 */
export async function projectOrNone(services: Services, code: string): Promise<ProjectState | undefined> {
  try {
    return await services.catalog.project(code);
  } catch (error) {
    if (error instanceof Failure && error.code === "project_not_found") return undefined;
    throw error;
  }
}

/** @throws Failure project_not_found; as `callerOf` */
export async function projectContext(request: Request, services: Services): Promise<ProjectContext> {
  const project = await services.catalog.project(request.params.project!);
  const caller = await callerOf(request, services, project);
  return { project, caller, view: viewOf(request, project) };
}

/** @throws Failure as `projectContext`; not_found */
export async function mapContext(request: Request, services: Services): Promise<MapContext> {
  const { project, caller, view } = await projectContext(request, services);
  const map = await services.catalog.map(project.code, request.params.map!);
  return { project: map.project, map, caller, view };
}

/**
 * As `mapContext`, for a signed-in user who may read the map. @throws Failure as `mapContext`; unauthenticated for the
 * public
 */
export async function signedInMapContext(request: Request, services: Services): Promise<MapContext> {
  const context = await mapContext(request, services);
  requireSignedIn(context);
  return context;
}

/** The context with the map as it is after a write was propagated. */
export async function reload<Context extends MapContext>(
  context: Context,
  services: Services,
): Promise<Context> {
  const map = await services.catalog.map(context.project.code, context.map.code);
  return { ...context, project: map.project, map };
}

/**
 * Checks whether a request is permitted. It is called before a missing layer is reported.
 * @throws Failure unauthenticated, forbidden
 */
export type Permission = (context: MapContext, layer: LayerNode | undefined) => void;

/** Read access, also for the public. */
export const toRead: Permission = ({ map, caller }, layer) => requireRead(map, caller, layer);

/** Read access that needs a token, also where the public may read. */
export const toReadSignedIn: Permission = (context, layer) => {
  requireSignedIn(context);
  requireRead(context.map, context.caller, layer);
};

export const toEditObjects: Permission = ({ map, caller }, layer) =>
  requireRight(map, caller, Right.editObjects, layer);

export const toEditStructure: Permission = (context, layer) => {
  requireSignedIn(context);
  if (layer) requireRight(context.map, context.caller, Right.editStructure, layer);
};

export const toAdminister: Permission = (context, layer) => {
  requireSignedIn(context);
  requireRight(context.map, context.caller, Right.administer, layer);
};

export function requireSignedIn({ map, caller }: MapContext): void {
  if (caller.accountId === null) throw unauthenticated();
  requireRead(map, caller);
}

/** The layer of the path. @throws Failure as `mapContext` and the permission; not_found */
export async function layerContext(
  request: Request,
  services: Services,
  permission: Permission,
): Promise<LayerContext> {
  const context = await mapContext(request, services);
  return { ...context, layer: permittedLayer(context, request.params.layer!, permission) };
}

/** The layer of that code in the context's map. @throws Failure as the permission; not_found */
export function permittedLayer(context: MapContext, code: string, permission: Permission): LayerNode {
  const layer = context.map.layers.get(code);
  permission(context, layer);
  if (!layer) throw notFound(`layer "${code}"`);
  return layer;
}

/** As `layerContext`, for layers that have objects. @throws Failure not_found for others, too */
export async function objectsContext(
  request: Request,
  services: Services,
  permission: Permission,
): Promise<LayerContext> {
  const context = await layerContext(request, services, permission);
  if (!hasObjects(context.layer)) throw notFound(`layer with objects "${context.layer.code}"`);
  return context;
}

/** As `objectsContext`, for layers whose objects can be edited. @throws Failure invalid_value for others */
export async function editableContext(request: Request, services: Services): Promise<LayerContext> {
  const context = await objectsContext(request, services, toEditObjects);
  const { layer } = context;
  if (isDerived(layer))
    throw failed("invalid_value", "The objects of this layer come from its source.", { type: layer.type });
  return context;
}

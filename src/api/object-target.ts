import { requireRead, requireRight } from "../access/rights.js";
import {
  type Caller,
  hasObjects,
  isDerived,
  type LayerNode,
  type MapState,
  Right,
} from "../catalog/state.js";
import { failed, notFound, unauthenticated } from "../errors.js";
import type { Languages } from "../features/columns.js";
import type { Reply, Request } from "../http/types.js";
import { callerHeaders, callerOf } from "./caller.js";
import type { Services } from "./services.js";

/** The layer whose objects a request is about, for a caller who may do it. */
export interface Target {
  readonly map: MapState;
  readonly layer: LayerNode;
  readonly caller: Caller;
}

/** The layer of the path, once `allow` let the caller at it. Rights come first, so that nobody learns of hidden layers. */
async function target(
  request: Request,
  services: Services,
  allow: (map: MapState, caller: Caller, layer: LayerNode | undefined) => void,
): Promise<Target> {
  const { project = "", map: mapCode = "", layer: layerCode = "" } = request.params;
  const map = await services.catalog.map(project, mapCode);
  const caller = await callerOf(request, services, map.project);
  const layer = map.layers.get(layerCode);
  allow(map, caller, layer);
  if (!layer || !hasObjects(layer)) throw notFound(`layer with objects "${layerCode}"`);
  return { map, layer, caller };
}

export const readable = (request: Request, services: Services): Promise<Target> =>
  target(request, services, requireRead);

/** What the contract marks with "token required" and only reads. */
export const readableSignedIn = (request: Request, services: Services): Promise<Target> =>
  target(request, services, (map, caller, layer) => {
    if (caller.accountId === null) throw unauthenticated();
    requireRead(map, caller, layer);
  });

export const editable = (request: Request, services: Services): Promise<Target> =>
  target(request, services, (map, caller, layer) => {
    requireRight(map, caller, Right.editObjects, layer);
    if (layer && isDerived(layer))
      throw failed("invalid_value", "The objects of this layer come from its source.", { type: layer.type });
  });

/** @param language that of the request; undefined = the main one */
export function languagesOf(map: MapState, language: string | undefined): Languages {
  const main = map.project.languages[0];
  return { own: language ?? main, main };
}

/** JSON that PostgreSQL wrote. */
export const written = (caller: Caller, json: string): Reply => ({
  kind: "json_text",
  text: json,
  headers: callerHeaders(caller),
});

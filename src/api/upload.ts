import { requireRight } from "../catalog/rights.js";
import { type Caller, type LayerNode, type MapState, publicCaller, Right } from "../catalog/state.js";
import { notFound } from "../errors.js";
import type { Request } from "../http/types.js";
import { callerOfToken, headToken, mediaType } from "./caller.js";
import { multipart, type Upload } from "./schema/bodies.js";
import type { Services } from "./services.js";

/** Files that are sent to layers. */

/** The layer of a path, for a caller who may edit its objects. */
export interface UploadTarget {
  readonly map: MapState;
  readonly layer: LayerNode;
  readonly caller: Caller;
}

export interface Receiving<Out> {
  readonly body: () => Promise<Upload<Out>>;
  /** Refuses layers that take no such files. */
  readonly check: (layer: LayerNode) => void;
}

/**
 * Receives a file for the layer of the path. Without rights the body is not even read, unless it is what brings the
 * token: only forms are, for a body that is data holds none.
 * @throws Failure unauthenticated, forbidden, not_found, too_large; what `check` and the body's definition throw
 */
export async function receive<Out>(
  request: Request,
  services: Services,
  { body, check }: Receiving<Out>,
): Promise<{ readonly target: UploadTarget; readonly sent: Out }> {
  const map = await services.catalog.map(request.params.project!, request.params.map!);
  const allowed = async (token: string | undefined) => {
    const target = await uploadTarget(request, services, { map, token });
    check(target.layer);
    return target;
  };
  const early = headToken(request);
  const isKnown = early !== undefined || mediaType(request) !== multipart;
  const target = isKnown ? await allowed(early) : undefined;
  const upload = await body();
  return { target: target ?? (await allowed(upload.token)), sent: upload.read() };
}

/** @throws Failure unauthenticated, forbidden, not_found */
export async function uploadTarget(
  request: Request,
  services: Services,
  { map, token }: { readonly map: MapState; readonly token: string | undefined },
): Promise<UploadTarget> {
  const caller = token === undefined ? publicCaller : await callerOfToken(token, services, map.project);
  const layer = map.layers.get(request.params.layer!);
  // Whoever may not edit the map at all does not learn which layers it has.
  requireRight(map, caller, Right.editObjects, layer);
  if (!layer) throw notFound(`layer "${request.params.layer}"`);
  return { map, layer, caller };
}

import { requireRight } from "../access/rights.js";
import { type Caller, type LayerNode, type MapState, publicCaller, Right } from "../catalog/state.js";
import { notFound, unauthenticated } from "../errors.js";
import type { Request } from "../http/types.js";
import { callerOfToken, headToken, isTooLarge, tokenTooLate } from "./caller.js";
import { mediaType, multipart } from "./media-type.js";
import type { Upload } from "./schema/bodies.js";
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
 * Receives a file for the layer of the path. Nothing of it is kept before the rights are known: by a token in the head
 * of the request, or by one in a field of the form that stands before the file. Only forms bring tokens, for a body that
 * is data holds none.
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
  let target = isKnown ? await allowed(early) : undefined;
  const upload = await body();
  const received = await upload
    .receive(async (token) => {
      if (token !== undefined) target ??= await allowed(token);
      return target !== undefined;
    })
    .catch((error: unknown) => {
      throw target === undefined && isTooLarge(error) ? tokenTooLate() : error;
    });
  target ??= await allowed(received.token);
  if (received.turnedAway) {
    throw unauthenticated(
      "The file came before the token: send the token in the header X-Token, or before the file.",
    );
  }
  return { target, sent: received.read() };
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

import { type LayerNode, publicCaller } from "../../catalog/state.js";
import { unauthenticated } from "../../errors.js";
import type { Request } from "../../http/types.js";
import type { Services } from "../services.js";
import { callerOfToken, headToken, isTooLarge, tokenTooLate } from "./caller.js";
import { type LayerContext, type MapContext, permittedLayer, toEditObjects } from "./context.js";
import { mediaType, multipart } from "./media-type.js";
import { viewOf } from "./paths.js";
import type { Upload } from "./schema/bodies.js";

/** Files that are sent to layers. */

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
): Promise<{ readonly context: LayerContext; readonly sent: Out }> {
  const map = await services.catalog.map(request.params.project!, request.params.map!);
  const allowed = async (token: string | undefined) => {
    const caller = token === undefined ? publicCaller : await callerOfToken(token, services, map.project);
    const context: MapContext = { project: map.project, map, caller, view: viewOf(request, map.project) };
    const layer = permittedLayer(context, request, toEditObjects);
    check(layer);
    return { ...context, layer };
  };
  const early = headToken(request);
  const isKnown = early !== undefined || mediaType(request) !== multipart;
  let context: LayerContext | undefined = isKnown ? await allowed(early) : undefined;
  const upload = await body();
  const received = await upload
    .receive(async (token) => {
      if (token !== undefined) context ??= await allowed(token);
      return context !== undefined;
    })
    .catch((error: unknown) => {
      throw context === undefined && isTooLarge(error) ? tokenTooLate() : error;
    });
  context ??= await allowed(received.token);
  if (received.fileRefused) {
    throw unauthenticated(
      "The file came before the token: send the token in the header X-Token, or before the file.",
    );
  }
  return { context, sent: received.read() };
}

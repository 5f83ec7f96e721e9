import { type LayerNode, publicCaller } from "../../catalog/state.js";
import { unauthenticated } from "../../errors.js";
import type { Request } from "../../http/types.js";
import type { Services } from "../services.js";
import { callerOfToken, headToken, isTooLarge, tokenTooLate } from "./caller.js";
import { type LayerContext, type MapContext, permittedLayer, toEditObjects } from "./context.js";
import { noteKnownCaller } from "./database-use.js";
import { mediaType, multipart } from "./media-type.js";
import { viewOf } from "./paths.js";
import type { Upload } from "./schema/bodies.js";

/** Uploads of files. */

export interface Receiving<Out> {
  readonly body: () => Promise<Upload<Out>>;
  /** Throws for layers that do not accept such files. */
  readonly check: (layer: LayerNode) => void;
}

/**
 * Receives a file for the layer of the path. The file is only stored after rights are checked, by a token in the query
 * or a header, or in a form field before the file. A body that is the file itself cannot contain a token.
 * @throws Failure unauthenticated, forbidden, not_found, too_large; what `check` and the body's definition throw
 */
export async function receive<Out>(
  request: Request,
  services: Services,
  { body, check }: Receiving<Out>,
): Promise<{ readonly context: LayerContext; readonly sent: Out }> {
  const map = await services.catalog.map(request.params.project!, request.params.map!);
  return receiveFor(request, body, async (token) => {
    const caller = token === undefined ? publicCaller : await callerOfToken(token, services, map.project);
    if (caller.accountId !== null) noteKnownCaller(request, caller);
    const context: MapContext = { project: map.project, map, caller, view: viewOf(request, map.project) };
    const layer = permittedLayer(context, request.params.layer!, toEditObjects);
    check(layer);
    services.fullProjects.requireRoom(map.project);
    return { ...context, layer };
  });
}

/**
 * As `receive`, for other things than layers.
 * @param authorized checks the rights of the token's user; throws what refuses them
 */
export async function receiveFor<Context, Out>(
  request: Request,
  body: () => Promise<Upload<Out>>,
  authorized: (token: string | undefined) => Promise<Context>,
): Promise<{ readonly context: Context; readonly sent: Out }> {
  const early = headToken(request);
  const callerIsKnown = early !== undefined || mediaType(request) !== multipart;
  let context: Context | undefined = callerIsKnown ? await authorized(early) : undefined;
  const upload = await body();
  const received = await upload
    .receive(async (token) => {
      if (token !== undefined) context ??= await authorized(token);
      return context !== undefined;
    })
    .catch((error: unknown) => {
      throw context === undefined && isTooLarge(error) ? tokenTooLate() : error;
    });
  context ??= await authorized(received.token);
  if (received.fileRefused) {
    throw unauthenticated(
      "The file came before the token: send the token in the header X-Token, or before the file.",
    );
  }
  return { context, sent: received.read() };
}

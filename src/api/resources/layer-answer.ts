import { notFound } from "../../errors.js";
import type { Reply } from "../../http/types.js";
import type { Answered } from "../request/answer-schemas.js";
import { answer } from "../request/caller.js";
import { type MapContext, reload } from "../request/context.js";
import type { Services } from "../services.js";
import { layerObject } from "./present.js";
import { visualValues } from "./visual-values.js";

/**
 * Responds with the layer after it was created or changed.
 * @param members added to the layer's own
 * @throws Failure not_found when it was deleted
 */
export async function answerLayer(
  services: Services,
  context: MapContext,
  id: number,
  members: Partial<Pick<Answered<"Layer">, "import" | "notices">> = {},
): Promise<Reply> {
  return answer(context.caller, await layerAnswer(services, context, id, members));
}

/** The layer of that response. */
export async function layerAnswer(
  services: Services,
  context: MapContext,
  id: number,
  members: Partial<Pick<Answered<"Layer">, "import" | "notices">>,
): Promise<Answered<"Layer">> {
  const { map, view } = await reload(context, services);
  const node = map.nodes.get(id);
  if (!node) throw notFound("layer of that code");
  const values = (await visualValues(services, map, [node])).get(id);
  const layer = layerObject(map, node, view, { css: true, source: true, values });
  return { ...layer, ...members };
}

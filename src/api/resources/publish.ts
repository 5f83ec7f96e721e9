import type { z } from "zod";
import { requireRight } from "../../access/rights.js";
import { maxElements, savePublication } from "../../catalog/publication.js";
import { type PublicationElement, Right } from "../../catalog/state.js";
import type { Reply, Request } from "../../http/types.js";
import { mapContext, reload } from "../request/context.js";
import { answers, type Input, type Operation, operation } from "../request/operation.js";
import { mapPath } from "../request/paths.js";
import { jsonArray } from "../request/schema/bodies.js";
import { flag, integer, invalid, number, text } from "../request/schema/fields.js";
import { ref, ruled, type Values } from "../request/schema/schema.js";
import { sizes } from "../request/schema/sizes.js";
import type { Services } from "../services.js";
import { treeAnswer, treeResource } from "./layer-tree.js";

/** Saves the publication tree, which `layers/` returns. */

/** Refuses malformed values with invalid_value instead of a bad request. */
const orInvalidValue = <S extends z.ZodType>(schema: S) => ruled(schema, { refuse: invalid });

const elementFields = {
  id: orInvalidValue(integer("An integer other than 0, unique in the request.")).refine(
    (id) => id !== 0,
    "is not 0, which stands for the root",
  ),
  parent_id: orInvalidValue(integer("`id` of the parent element; 0 = root of the tree.")),
  map_layer_id: orInvalidValue(integer("Id of a layer or folder of this map.")),
  sort: orInvalidValue(number("Position among the siblings; default: the order in the request.")).optional(),
  selected: orInvalidValue(flag("Whether it is visible initially.")).default(true),
  icon: text("Path of an icon that replaces the icon of the layer.").default(""),
};
type GivenElement = Values<typeof elementFields>;

/** The elements of a request. The default of `sort` is the position among the siblings in the request. */
function elementsOf(given: readonly GivenElement[]): PublicationElement[] {
  const places = new Map<number, number>();
  return given.map(({ parent_id: parentId, map_layer_id: nodeId, ...element }) => {
    const place = (places.get(parentId) ?? 0) + 1;
    places.set(parentId, place);
    return { parentId, nodeId, ...element, sort: element.sort ?? place };
  });
}

async function publish(
  request: Request,
  services: Services,
  { body }: Input<unknown, GivenElement[]>,
): Promise<Reply> {
  const context = await mapContext(request, services);
  const { map, caller } = context;
  requireRight(map, caller, Right.editStructure);
  await savePublication(services.db, map.id, elementsOf(await body()));
  await services.changes.propagate();
  return treeAnswer(services, await reload(context, services));
}

export const publishOperations: readonly Operation[] = [
  operation({
    id: "savePublicationTree",
    tag: "Maps",
    summary: "Save the publication tree",
    details:
      "Replaces the publication tree. If a layer, folder or parent does not exist, the response is 404 and the tree " +
      "is not changed. Elements are removed when their layer or folder is deleted; an element of a folder is also " +
      "removed with its last child.",
    access: "token",
    methods: ["POST"],
    path: `${mapPath}/publish/`,
    writes: true,
    shows: treeResource,
    changes: treeResource,
    body: jsonArray(elementFields, {
      item: "element",
      items: "elements",
      most: maxElements,
      limits: sizes.tree,
    }),
    answer: answers("The new tree, as returned by `layers/`.", { type: "array", items: ref("TreeElement") }),
    refuses: ["invalid_value", "required_parameters"],
    handle: publish,
  }),
];

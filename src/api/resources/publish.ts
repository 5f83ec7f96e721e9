import type { z } from "zod";
import { requireRight } from "../../access/rights.js";
import { savePublication } from "../../catalog/publication.js";
import { type PublicationElement, Right } from "../../catalog/state.js";
import type { Reply, Request } from "../../http/types.js";
import { answer } from "../request/caller.js";
import { mapContext, reload } from "../request/context.js";
import { answers, type Input, type Operation, operation } from "../request/operation.js";
import { mapPath } from "../request/paths.js";
import { jsonArray } from "../request/schema/bodies.js";
import { flag, integer, invalid, number, text } from "../request/schema/fields.js";
import { ref, ruled, type Values } from "../request/schema/schema.js";
import { sizes } from "../request/schema/sizes.js";
import type { Services } from "../services.js";
import { treeElements } from "./layer-tree.js";

/** The publication tree: saving it. `layers/` serves it. */

/** With values that cannot be read as invalid ones, not as bad requests. */
const invalidly = <S extends z.ZodType>(schema: S) => ruled(schema, { refuse: invalid });

const elementFields = {
  id: invalidly(integer("Any whole number but 0 that no other element of the request has.")).refine(
    (id) => id !== 0,
    "is not 0, which stands for the root",
  ),
  parent_id: invalidly(integer("`id` of the element that it lies under; 0 = top of the tree.")),
  map_layer_id: invalidly(integer("Id of the layer or folder of this map that it shows.")),
  sort: invalidly(number("Place among its siblings; default: their order in the request.")).optional(),
  selected: invalidly(flag("Whether it is switched on at first.")).default(true),
  icon: text("Path of an icon in place of the layer's own.").default(""),
};
type GivenElement = Values<typeof elementFields>;

/** The elements of a request. One without `sort` has its place among its siblings, in the order of the request. */
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
  return answer(caller, await treeElements(services, await reload(context, services)));
}

export const publishOperations: readonly Operation[] = [
  operation({
    id: "savePublicationTree",
    tag: "Maps",
    summary: "Save the publication tree",
    details:
      "From then on the map shows exactly these elements. An element of a layer, folder or parent that " +
      "does not exist is refused with 404, and the tree stays as it was. Elements go with their layers and folders; one of a " +
      "folder goes with the last that was under it.",
    access: "token",
    methods: ["POST"],
    path: `${mapPath}/publish/`,
    writes: true,
    body: jsonArray(elementFields, { item: "element", items: "elements", limits: sizes.list }),
    answer: answers("The tree as `layers/` answers it.", { type: "array", items: ref("TreeElement") }),
    refuses: ["invalid_value", "required_parameters"],
    handle: publish,
  }),
];

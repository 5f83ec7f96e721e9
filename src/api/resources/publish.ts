import { requireRight } from "../../access/rights.js";
import { savePublication } from "../../catalog/publication.js";
import { type PublicationElement, Right } from "../../catalog/state.js";
import { badRequest } from "../../errors.js";
import type { Reply, Request } from "../../http/types.js";
import { answer } from "../request/caller.js";
import { mapContext, reload } from "../request/context.js";
import { answers, type Input, type Operation, operation } from "../request/operation.js";
import { mapPath } from "../request/paths.js";
import { jsonValue } from "../request/schema/bodies.js";
import {
  flag,
  integer,
  invalid,
  isObject,
  number,
  objectSchema,
  readFields,
  text,
} from "../request/schema/fields.js";
import { ref } from "../request/schema/schema.js";
import { sizes } from "../request/schema/sizes.js";
import type { Services } from "../services.js";
import { treeElements } from "./layer-tree.js";

/** The publication tree: saving it. `layers/` serves it. */

const elementFields = {
  id: integer("Any whole number but 0 that no other element of the request has.", invalid),
  parent_id: integer("`id` of the element that it lies under; 0 = top of the tree.", invalid),
  map_layer_id: integer("Id of the layer or folder of this map that it shows.", invalid),
  sort: number("Place among its siblings; default: their order in the request.", invalid),
  selected: flag("Whether it is switched on at first.", true, invalid),
  icon: text("Path of an icon in place of the layer's own."),
};

/** The elements of a request. One without `sort` has its place among its siblings, in the order of the request. */
function elementsOf(list: unknown): PublicationElement[] {
  if (!Array.isArray(list)) throw badRequest("The body must be an array of elements.");
  const places = new Map<number, number>();
  return list.map((item: unknown) => {
    if (!isObject(item)) throw badRequest("Each element must be an object.");
    const { id, parent_id: parentId, map_layer_id: nodeId, ...element } = readFields(elementFields, item);
    if (id === 0) throw invalid("id", "is not 0, which stands for the root");
    const place = (places.get(parentId) ?? 0) + 1;
    places.set(parentId, place);
    return {
      id,
      parentId,
      nodeId,
      sort: element.sort ?? place,
      selected: element.selected,
      icon: element.icon ?? "",
    };
  });
}

async function publish(
  request: Request,
  services: Services,
  { body }: Input<unknown, PublicationElement[]>,
): Promise<Reply> {
  const context = await mapContext(request, services);
  const { map, caller } = context;
  requireRight(map, caller, Right.editStructure);
  await savePublication(services.db, map.id, await body());
  await services.changes.propagate();
  return answer(caller, await treeElements(services, await reload(context, services)));
}

export const publishOperations: readonly Operation[] = [
  operation({
    id: "savePublicationTree",
    tag: "Maps",
    summary: "Save the publication tree",
    details:
      "From then on the map shows exactly these elements. An element of a layer, folder or parent that there is " +
      "not is refused with 404, and the tree stays as it was. Elements go with their layers and folders; one of a " +
      "folder goes with the last that was under it.",
    access: "token",
    methods: ["POST"],
    path: `${mapPath}/publish/`,
    writes: true,
    body: jsonValue({ type: "array", items: objectSchema(elementFields) }, elementsOf, sizes.list),
    answer: answers("The tree as `layers/` answers it.", { type: "array", items: ref("TreeElement") }),
    refuses: ["invalid_value", "required_parameters"],
    handle: publish,
  }),
];

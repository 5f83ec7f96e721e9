import { mayRead, requireRead, rightsOn } from "../../access/rights.js";
import { fullTree, layersInFolder, type Published, publicationTree } from "../../catalog/publication.js";
import { hasObjects, isLayer, type LayerNode, type TreeNode } from "../../catalog/state.js";
import { layersBoxes } from "../../features/bbox.js";
import { type ContractBox, unionBoxes } from "../../geo/envelope.js";
import type { Reply, Request } from "../../http/types.js";
import { answer } from "../request/caller.js";
import { type MapContext, mapContext } from "../request/context.js";
import { answers, type Input, type Operation, operation } from "../request/operation.js";
import { mapPath } from "../request/paths.js";
import { choice, flag, srid } from "../request/schema/parameters.js";
import { ref } from "../request/schema/schema.js";
import type { Services } from "../services.js";
import { layerObject } from "./present.js";
import { visualValues } from "./visual-values.js";

/** The layer tree of a map: everything in it, or what is published. */

export interface TreeOptions {
  /** Everything instead of the publication tree. */
  readonly full?: boolean;
  readonly css?: boolean;
  /** Reference system of the boxes; undefined = without boxes. */
  readonly boxSrid?: 4326 | 3857 | undefined;
  readonly access?: boolean;
}

/** The elements that the context may see, from the top of the tree to its bottom, each folder before what it holds. */
export async function treeElements(
  services: Services,
  { map, caller, view }: MapContext,
  options: TreeOptions = {},
): Promise<Record<string, unknown>[]> {
  const readable = (layer: LayerNode) => mayRead(map, caller, layer);
  const published = options.full ? null : map.publication;
  const shown = published ? publicationTree(map, published, readable) : fullTree(map, readable);
  const boxes =
    options.boxSrid &&
    (await boxesOf(shown, {
      services,
      boxSrid: options.boxSrid,
      held: (folder) => layersInFolder(map, folder.id).filter(readable),
    }));
  const values = await visualValues(
    services,
    map,
    shown.map(({ node }) => node),
  );
  return shown.map(({ node, element }, at) => ({
    ...layerObject(map, node, view, {
      values: values.get(node.id),
      css: options.css ?? false,
      bbox: boxes?.[at],
      access: options.access ? rightsOn(map, caller, node) : undefined,
    }),
    ...(element && {
      id: element.id,
      parent_id: element.parentId,
      sort: element.sort,
      selected: element.selected,
      ...(element.icon ? { icon: element.icon } : {}),
    }),
  }));
}

interface BoxSource {
  readonly services: Services;
  readonly boxSrid: 4326 | 3857;
  /** Layers of a folder that the context may read. */
  readonly held: (folder: TreeNode) => readonly LayerNode[];
}

/** The box of each element: a layer's own, and for a folder the one around the layers in it. */
async function boxesOf(shown: readonly Published[], source: BoxSource): Promise<(ContractBox | null)[]> {
  const { services, boxSrid, held } = source;
  const parents = new Set(shown.map(({ node, element }) => (element ? element.parentId : node.parentId)));
  /** Layers that an element brings by itself; a folder that nothing is shown under stands for all it holds. */
  const own = shown.map(({ node, element }) => {
    if (isLayer(node)) return [node];
    return parents.has(element ? element.id : node.id) ? [] : held(node);
  });
  const ids = new Set(own.flat().flatMap((layer) => (hasObjects(layer) ? [layer.id] : [])));
  const known = await layersBoxes(services.db, [...ids], boxSrid);
  const boxes = own.map((layers) => unionBoxes(layers.map((layer) => known.get(layer.id) ?? null)));
  // Each element comes before what it holds, so from the end every folder gets the boxes below it complete.
  const below = new Map<number, ContractBox | null>();
  for (let at = shown.length - 1; at >= 0; at--) {
    const { node, element } = shown[at]!;
    const id = element ? element.id : node.id;
    const parent = (element ? element.parentId : node.parentId) ?? 0;
    if (!isLayer(node)) boxes[at] = unionBoxes([boxes[at]!, below.get(id) ?? null]);
    below.set(parent, unionBoxes([below.get(parent) ?? null, boxes[at]!, below.get(id) ?? null]));
  }
  return boxes;
}

const treeParameters = {
  type: choice("`publish`: what the map shows; `full`: all its folders and layers.", ["publish", "full"]),
  returnBbox: flag("Whether elements come with their boxes; a folder's is around the layers in it."),
  bboxSR: srid("Reference system of the boxes."),
  returnCss: flag("Whether elements come with their CartoCSS."),
  with_access: flag("Whether elements come with the caller's rights on them."),
};

async function tree(
  request: Request,
  services: Services,
  { query }: Input<typeof treeParameters, undefined>,
): Promise<Reply> {
  const context = await mapContext(request, services);
  requireRead(context.map, context.caller);
  const { type, returnBbox, bboxSR, returnCss, with_access: access } = query();
  const elements = await treeElements(services, context, {
    full: type === "full",
    css: returnCss,
    boxSrid: returnBbox ? bboxSR : undefined,
    access,
  });
  return answer(context.caller, elements);
}

export const treeOperations: readonly Operation[] = [
  operation({
    id: "getLayerTree",
    tag: "Maps",
    summary: "The layer tree of a map",
    details:
      "From the top of the tree to its bottom, each folder before what it holds. What the caller may not read is " +
      "left out.",
    methods: ["GET"],
    path: `${mapPath}/layers/`,
    query: treeParameters,
    answer: answers("The elements.", { type: "array", items: ref("TreeElement") }),
    handle: tree,
  }),
];

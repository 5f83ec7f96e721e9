import { fullTree, heldLayers, type Published, publicationTree } from "../catalog/publication.js";
import { mayRead, requireRead, rightsOn } from "../catalog/rights.js";
import { hasObjects, isLayer, type LayerNode, type TreeNode } from "../catalog/state.js";
import { badRequest } from "../errors.js";
import { layersBoxes } from "../features/bbox.js";
import { type ContractBox, unionBoxes } from "../geo/envelope.js";
import type { Reply, Request, Route } from "../http/types.js";
import { answer } from "./caller.js";
import { flag, srid } from "./parameters.js";
import { layerObject, projectPath } from "./present.js";
import type { Services } from "./services.js";
import { type Visit, visit } from "./visit.js";
import { visualValues } from "./visuals.js";

/** The layer tree of a map: everything in it, or what is published. */

export interface TreeOptions {
  /** Everything instead of the publication tree. */
  readonly full?: boolean;
  readonly css?: boolean;
  /** Reference system of the boxes; undefined = without boxes. */
  readonly boxSrid?: 4326 | 3857 | undefined;
  readonly access?: boolean;
}

/** The elements that the visitor may see, from the top of the tree to its bottom, each folder before what it holds. */
export async function treeElements(
  services: Services,
  { map, caller, view }: Visit,
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
      held: (folder) => heldLayers(map, folder.id).filter(readable),
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
  /** Layers of a folder that the visitor may read. */
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

async function tree(request: Request, services: Services): Promise<Reply> {
  const visitor = await visit(request, services);
  requireRead(visitor.map, visitor.caller);
  const type = request.query.get("type") || "publish";
  if (type !== "full" && type !== "publish") throw badRequest("type is full or publish.");
  const boxSrid = srid(request.query, "bboxSR");
  const elements = await treeElements(services, visitor, {
    full: type === "full",
    css: flag(request.query, "returnCss"),
    boxSrid: flag(request.query, "returnBbox") ? boxSrid : undefined,
    access: flag(request.query, "with_access"),
  });
  return answer(visitor.caller, elements);
}

export const treeRoutes: Route<Services>[] = [
  { methods: ["GET"], path: `${projectPath}/:map/layers/`, handler: tree },
];

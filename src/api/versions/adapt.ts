import { hasObjects, isLayer, type MapState, type TreeNode } from "../../catalog/state.js";
import { layerBox } from "../../features/bbox.js";
import type { Parameters, Request } from "../../http/types.js";
import { mapContext } from "../request/context.js";
import { apiPath, type View, viewOf } from "../request/paths.js";
import { isObject } from "../request/schema/fields.js";
import { treeElements } from "../resources/layer-tree.js";
import { iconPath } from "../resources/present.js";
import type { Services } from "../services.js";
import { type Adaptation, rewriting } from "./older.js";

/** What the answers of the older versions looked like, made from those of the current one. */

type Plain = Readonly<Record<string, unknown>>;

/** In which the older versions differ among themselves. */
export interface TreeTraits {
  /** Whether a visualization has the type `visual` in the tree, whatever kind of layer it is. */
  readonly visualType: boolean;
}

/** Twice the size that an icon has when no size is asked for. */
const retinaSize = 64;

/**
 * A layer object or element as it was: with `icon_retina` and `g_type`, and without custom visualizations, which came
 * with 2.8. The server draws their layers by CartoCSS, so that is what their style mode says. Icons keep the address
 * that the current version gives them, since the older ones have no operation for them.
 */
function olderLayer(value: Plain, node: TreeNode | undefined, { map, view }: Shown): Plain {
  const { visualCustomSettings: _, ...known } = value;
  const icon = typeof value.icon === "string" ? value.icon : "";
  const drawn = node && isLayer(node) && !node.icon && icon === iconPath(map, node, view);
  return {
    ...known,
    ...(value.style_mode === 4 ? { style_mode: 2 } : {}),
    icon_retina: drawn ? `${icon}?size=${retinaSize}` : icon,
    g_type: node && isLayer(node) ? node.geometryKind : "Unknown",
  };
}

interface Shown {
  readonly map: MapState;
  readonly view: View;
}

/** The map of the path as it is now, for a caller whom the current handler let pass. */
async function shownMap(request: Request, services: Services): Promise<Shown> {
  const map = await services.catalog.map(request.params.project!, request.params.map!);
  return { map, view: viewOf(request, map.project) };
}

/** Elements of the tree as they were. */
export function olderTree(elements: readonly Plain[], shown: Shown, traits: TreeTraits): Plain[] {
  return elements.map((element) => {
    const node = shown.map.nodes.get(Number(element.map_layer_id));
    const older = olderLayer(element, node, shown);
    const visual = traits.visualType && node && isLayer(node) && node.visualSettings;
    return visual ? { ...older, type: "visual" } : older;
  });
}

/** An operation that answers the layer object: it always has its box. */
export const layerAnswer: Adaptation = rewriting(async (value, request, services) => {
  if (!isObject(value)) return value;
  const shown = await shownMap(request, services);
  const node = shown.map.nodes.get(Number(value.id));
  const bbox = value.bbox ?? (node && hasObjects(node) ? await layerBox(services.db, node.id, 4326) : null);
  return { ...olderLayer(value, node, shown), bbox };
});

/** The layer tree: its elements always have their boxes. */
export const treeAnswer =
  (traits: TreeTraits): Adaptation =>
  (current) => {
    const adapted = rewriting(async (value, request, services) =>
      olderTree(value as Plain[], await shownMap(request, services), traits),
    )(current);
    return (request, services) => adapted(asking(request, "returnBbox", "1"), services);
  };

/** Saving the publication tree, which answers what the layer tree is without parameters: here, with boxes. */
export const publicationAnswer = (traits: TreeTraits): Adaptation =>
  rewriting(async (_, request, services) => {
    const context = await mapContext(request, services);
    return olderTree(await treeElements(services, context, { boxSrid: 4326 }), context, traits);
  });

/** A column element, or a list of them: moments were timestamps. */
export const columnAnswer: Adaptation = rewriting((value) =>
  Array.isArray(value) ? value.map(olderColumn) : olderColumn(value),
);

const olderColumn = (value: unknown): unknown =>
  isObject(value) && value.type === "datetime" ? { ...value, type: "timestamp" } : value;

/** A file, which the version itself serves. */
export const fileAnswer = (version: string): Adaptation =>
  rewriting((value) =>
    isObject(value) && typeof value.path === "string"
      ? { ...value, path: value.path.replace(`${apiPath}/`, `/api/${version}/`) }
      : value,
  );

/** The request with a parameter of the query, whatever the client gave for it. */
function asking(request: Request, name: string, value: string): Request {
  const { query } = request;
  const asked: Parameters = {
    get: (wanted) => (wanted === name ? value : query.get(wanted)),
    has: (wanted) => wanted === name || query.has(wanted),
    names: () => (query.has(name) ? query.names() : [...query.names(), name]),
  };
  // Not a copy: parts of a request are made when they are asked for.
  return Object.create(request, { query: { value: asked, enumerable: true } }) as Request;
}

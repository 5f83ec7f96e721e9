import { isLayer, type MapState, type TreeNode } from "../../catalog/state.js";
import { boxOf } from "../../features/layer-boxes.js";
import type { Parameters, Request } from "../../http/types.js";
import { mapContext } from "../request/context.js";
import { apiPath, type View, viewOf } from "../request/paths.js";
import { isObject } from "../request/schema/fields.js";
import { treeElements } from "../resources/layer-tree.js";
import { iconPath } from "../resources/present.js";
import type { Services } from "../services.js";
import { type Adaptation, rewriting } from "./older.js";

/** Converts responses of the current version to those of older versions. */

type Plain = Readonly<Record<string, unknown>>;

/** Differences between the older versions. */
export interface TreeTraits {
  /** Whether layers with a visualization have the type `visual` in the tree. */
  readonly visualType: boolean;
}

/** Twice the default size of icons, in pixels. */
const retinaSize = 64;

/**
 * A layer object or tree element of an older version: with `icon_retina` and `g_type`, and without custom
 * visualizations, which were added in 2.8. Layers with these have the style mode of CartoCSS, by which they are
 * rendered. Icons keep their current URLs, because the older versions have no operation for icons.
 */
function olderLayer(value: Plain, node: TreeNode | undefined, { map, view }: Shown): Plain {
  const { visualCustomSettings: _, ...supported } = value;
  const icon = typeof value.icon === "string" ? value.icon : "";
  const isGenerated = node && isLayer(node) && !node.icon && icon === iconPath(map, node, view);
  return {
    ...supported,
    ...(value.style_mode === 4 ? { style_mode: 2 } : {}),
    icon_retina: isGenerated ? `${icon}?size=${retinaSize}` : icon,
    g_type: node && isLayer(node) ? node.geometryKind : "Unknown",
  };
}

interface Shown {
  readonly map: MapState;
  readonly view: View;
}

/** The current map of the path. The current handler has checked the rights. */
async function shownMap(request: Request, services: Services): Promise<Shown> {
  const map = await services.catalog.map(request.params.project!, request.params.map!);
  return { map, view: viewOf(request, map.project) };
}

/** Tree elements of an older version. */
export function olderTree(elements: readonly Plain[], shown: Shown, traits: TreeTraits): Plain[] {
  return elements.map((element) => {
    const node = shown.map.nodes.get(Number(element.map_layer_id));
    const older = olderLayer(element, node, shown);
    const visual = traits.visualType && node && isLayer(node) && node.visualSettings;
    return visual ? { ...older, type: "visual" } : older;
  });
}

/** For operations that return a layer object: `bbox` is always included. */
export const layerAnswer: Adaptation = rewriting(async (value, request, services) => {
  if (!isObject(value)) return value;
  const shown = await shownMap(request, services);
  const node = shown.map.nodes.get(Number(value.id));
  const bbox =
    value.bbox ?? (node && isLayer(node) ? await boxOf(services.boxes, services.db, node, 4326) : null);
  return { ...olderLayer(value, node, shown), bbox };
});

/** For the layer tree: `bbox` is always included. */
export const treeAnswer =
  (traits: TreeTraits): Adaptation =>
  (current) => {
    const adapted = rewriting(async (value, request, services) =>
      olderTree(value as Plain[], await shownMap(request, services), traits),
    )(current);
    return (request, services) => adapted(withParameter(request, "returnBbox", "1"), services);
  };

/** For saving the publication tree, which returns the layer tree: `bbox` is always included. */
export const publicationAnswer = (traits: TreeTraits): Adaptation =>
  rewriting(async (_, request, services) => {
    const context = await mapContext(request, services);
    return olderTree(await treeElements(services, context, { boxSrid: 4326 }), context, traits);
  });

/** For a column, or a list of columns: the type `datetime` was called `timestamp`. */
export const columnAnswer: Adaptation = rewriting((value) =>
  Array.isArray(value) ? value.map(olderColumn) : olderColumn(value),
);

const olderColumn = (value: unknown): unknown =>
  isObject(value) && value.type === "datetime" ? { ...value, type: "timestamp" } : value;

/** For a file: its path is below the older version. */
export const fileAnswer = (version: string): Adaptation =>
  rewriting((value) =>
    isObject(value) && typeof value.path === "string"
      ? { ...value, path: value.path.replace(`${apiPath}/`, `/api/${version}/`) }
      : value,
  );

/** The request with a query parameter added or replaced. */
function withParameter(request: Request, name: string, value: string): Request {
  const { query } = request;
  const changed: Parameters = {
    get: (wanted) => (wanted === name ? value : query.get(wanted)),
    has: (wanted) => wanted === name || query.has(wanted),
    names: () => (query.has(name) ? query.names() : [...query.names(), name]),
  };
  // Not a copy, because request properties are evaluated lazily.
  return Object.create(request, { query: { value: changed, enumerable: true } }) as Request;
}

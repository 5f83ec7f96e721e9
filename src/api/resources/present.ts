import {
  type Column,
  isDerived,
  isId,
  isLayer,
  type LayerNode,
  localName,
  type MapState,
  type TreeNode,
} from "../../catalog/state.js";
import type { VisualValues } from "../../catalog/visual-values.js";
import { shownSettings } from "../../catalog/visualization.js";
import type { ContractBox } from "../../geo/envelope.js";
import type { Answered } from "../request/answer-schemas.js";
import type { View } from "../request/paths.js";

/** The contract's objects, made of catalogue states. */

/** The map object that get-map and create-map answer. */
export function mapObject(map: MapState, view: View): Answered<"Map"> {
  return {
    id: map.id,
    code: map.code,
    name: localName(map, view.language, map.project.languages[0]),
    css_style: map.cssStyle,
    group_layers: map.groupLayers,
    has_publication: map.hasPublication,
  };
}

/** What a layer object or tree element has beyond its own state, as asked for. */
export interface LayerExtras {
  readonly css?: boolean;
  /** null = no geometry; undefined = not asked for. */
  readonly bbox?: ContractBox | null | undefined;
  readonly access?: number | undefined;
  /** Unix seconds. */
  readonly timestamp?: number | undefined;
  /** What a virtual or materialized layer is made from, which is not for everybody who sees the layer. */
  readonly source?: boolean;
  /** What a visualization shows of the layer's objects; undefined = what it showed when it was set. */
  readonly values?: VisualValues | undefined;
}

/** The layer object of the contract; for a folder, the tree element. */
export function layerObject(
  map: MapState,
  node: TreeNode | LayerNode,
  view: View,
  extras: LayerExtras = {},
): Answered<"Layer"> {
  const main = map.project.languages[0];
  const titleOf = (column: Column) => localName(column, view.language, main);
  return {
    id: node.id,
    type: node.type,
    code: node.code,
    name: localName(node, view.language, main),
    sort: node.sort,
    parent_id: node.parentId ?? 0,
    selected: node.selected,
    map_layer_id: node.id,
    icon: iconPath(map, node, view),
    ...(extras.css ? { css_style: node.cssStyle } : {}),
    render_type: node.renderType,
    style_mode: node.styleMode,
    json: node.json,
    ...(extras.bbox === undefined ? {} : { bbox: extras.bbox }),
    ...(extras.access === undefined ? {} : { access: extras.access }),
    ...(extras.timestamp === undefined ? {} : { timestamp: extras.timestamp }),
    ...(isLayer(node)
      ? { ...sourceOf(map, node, extras), ...shownSettings(node, titleOf, extras.values) }
      : {}),
  };
}

/** `source`, as it was given when the layer was made. Clients draw external layers themselves, so all see theirs. */
function sourceOf(map: MapState, layer: LayerNode, extras: LayerExtras): Record<string, unknown> {
  if (layer.type === "external") return { source: layer.source ?? {} };
  if (!extras.source || !isDerived(layer)) return {};
  const columns = layer.columns.filter((column) => !isId(column) && column.type !== "geom");
  const source = {
    layer: map.nodes.get(layer.sourceId ?? 0)?.code ?? "",
    ...layer.source,
    columns: columns.map(({ code }) => code),
  };
  return { source };
}

/** Path of the icon that was chosen, else of the one that is generated; folders have chosen ones only. */
export function iconPath(map: MapState, node: TreeNode, view: View): string {
  if (node.icon || node.type === "folder") return node.icon;
  return `${view.path}/${map.code}/layers/${node.code}/icon/`;
}

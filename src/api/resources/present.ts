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
import type { ContractBox } from "../../geo/envelope.js";
import { onceForEach } from "../../once.js";
import { shownSettings } from "../../visual/settings.js";
import type { VisualValues } from "../../visual/values.js";
import type { Answered } from "../request/answer-schemas.js";
import type { View } from "../request/paths.js";
import { ofCatalogue, stateOf } from "../request/resource.js";

/** Builds response objects from the catalogue. */

/** The `Map` response object. */
export function mapObject(map: MapState, view: View): Answered<"Map"> {
  return {
    id: map.id,
    code: map.code,
    name: localName(map, view.language, map.project.languages[0]),
    css_style: map.cssStyle,
    group_layers: map.groupLayers,
    has_publication: map.hasPublication,
    // Else it is answered as the contract lists it.
    ...(map.startView && { start_view: map.startView }),
    ...(map.base && { base_map: map.base }),
    ...(map.comment !== "" && { comment: map.comment }),
  };
}

/** What is presented in each language of the project: what states are made of. */
export const inAllLanguages = <Presented>(
  { project: { languages } }: Pick<MapState, "project">,
  present: (view: View) => Presented,
): Presented[] => languages.map((language) => present({ language, path: "" }));

const mapStates = onceForEach((map: MapState) =>
  stateOf(inAllLanguages(map, (view) => mapObject(map, view))),
);

export const mapResource = ofCatalogue({ name: "map", lockedBy: "map" }, ({ map }) => map && mapStates(map));

/** Optional parts of a layer or tree element. */
export interface LayerExtras {
  readonly css?: boolean;
  /** null = no geometry; undefined = not requested. */
  readonly bbox?: ContractBox | null | undefined;
  readonly access?: number | undefined;
  /** Unix seconds. */
  readonly timestamp?: number | undefined;
  /** Whether to include the source of a virtual or materialized layer, which needs more than read rights. */
  readonly source?: boolean;
  /** Values of the visualization, computed from the objects; undefined = those stored with the settings. */
  readonly values?: VisualValues | undefined;
}

/** The `Layer` response object; for a folder, its tree element. */
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

const layerStates = new WeakMap<TreeNode, string>();

/** What of it can be changed, not what its objects make of that. Nodes belong to one snapshot of their map. */
function layerState(map: MapState, node: TreeNode | LayerNode): string {
  let state = layerStates.get(node);
  if (state === undefined) {
    state = stateOf(inAllLanguages(map, (view) => layerObject(map, node, view, { css: true, source: true })));
    layerStates.set(node, state);
  }
  return state;
}

export const layerResource = ofCatalogue({ name: "layer", lockedBy: "map" }, ({ map, params }, value) => {
  // A new layer, or one with a new code, is what the answer says.
  const node =
    map?.nodes.get((value as { id?: number } | undefined)?.id ?? 0) ?? map?.layers.get(params.layer!);
  return map && node && layerState(map, node);
});

/**
 * The tree element of a map whose layers are grouped. Tiles take its id among `layers`. Its type is that of what the server
 * draws and lists no objects of.
 */
export function mapElement(
  map: MapState,
  view: View,
  { css, bbox, access }: Pick<LayerExtras, "css" | "bbox" | "access">,
): Answered<"TreeElement"> {
  return {
    id: map.id,
    type: "raster",
    code: map.code,
    name: localName(map, view.language, map.project.languages[0]),
    sort: 1,
    parent_id: 0,
    selected: true,
    map_layer_id: map.id,
    icon: "",
    ...(css ? { css_style: map.cssStyle } : {}),
    render_type: 0,
    style_mode: 2,
    json: {},
    group_layers: 1,
    ...(bbox === undefined ? {} : { bbox }),
    ...(access === undefined ? {} : { access }),
  };
}

/** `source`, as given at creation. It is always included for external layers, because clients render them. */
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

/** Path of the configured icon, else of the generated one; folders have no generated icon. */
export function iconPath(map: MapState, node: TreeNode, view: View): string {
  return node.icon || node.type === "folder" ? node.icon : generatedIconPath(map, node, view);
}

export const generatedIconPath = (map: MapState, layer: TreeNode, view: View): string =>
  `${view.path}/${map.code}/layers/${layer.code}/icon/`;

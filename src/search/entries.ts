import { mayRead } from "../access/rights.js";
import { fullTree, layersInFolder, publicationTree } from "../catalog/publication.js";
import {
  type Caller,
  type Column,
  hasObjects,
  isLayer,
  type LayerNode,
  type MapState,
} from "../catalog/state.js";
import { definitionOf, hasValues, isText } from "../column-types/column-types.js";
import type { SearchSetting } from "./settings.js";

/** Where a search looks: the published layers by their names, and columns of layers for objects. */

/** A column of a layer whose values are searched, and the column that names the objects found. */
export interface SearchEntry {
  readonly layer: LayerNode;
  readonly search: Column;
  readonly name: Column;
}

/** The layers that are published and that the caller may read, each once, from the top of the tree to its bottom. */
export function publishedLayers(map: MapState, caller: Caller): LayerNode[] {
  const readable = (layer: LayerNode) => mayRead(map, caller, layer);
  const { publication } = map;
  if (!publication) return fullTree(map, readable).flatMap(({ node }) => (isLayer(node) ? [node] : []));
  const shown = publicationTree(map, publication, readable);
  const parents = new Set(publication.map((element) => element.parentId));
  const layers = shown.flatMap(({ node, element }) => {
    if (isLayer(node)) return [node];
    // The element of a folder with nothing under it stands for what the folder holds.
    return element && !parents.has(element.id) ? layersInFolder(map, node.id).filter(readable) : [];
  });
  return [...new Set(layers)];
}

/**
 * The entries of the settings that the caller may read, those of higher priority first; without settings every string
 * and text column of the published layers, named by the first of the layer's.
 */
export function searchEntries(
  map: MapState,
  caller: Caller,
  published: readonly LayerNode[],
  settings: readonly SearchSetting[],
): SearchEntry[] {
  if (settings.length === 0) return published.filter(hasObjects).flatMap(everyText);
  return [...settings]
    .sort((a, b) => (b.priority ?? 0) - (a.priority ?? 0))
    .flatMap((setting) => {
      const layer = map.nodes.get(setting.layerId);
      if (!layer || !isLayer(layer) || !hasObjects(layer) || !mayRead(map, caller, layer)) return [];
      const search = layer.columns.find((column) => column.id === setting.searchColumnId);
      const name = layer.columns.find((column) => column.id === setting.nameColumnId);
      return search && name && isSearchable(search) && isNaming(name) ? [{ layer, search, name }] : [];
    });
}

function everyText(layer: LayerNode): SearchEntry[] {
  const texts = layer.columns.filter(isText);
  return texts.map((search) => ({ layer, search, name: texts[0]! }));
}

/** Whether a column's values can be searched. */
export const isSearchable = (column: Column): boolean =>
  hasValues(column) && definitionOf(column).isSearchable;

/** Whether a column's values can name objects. */
export const isNaming = (column: Column): boolean => hasValues(column) && definitionOf(column).isComparable;

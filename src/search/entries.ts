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
import { detailsOf, namingColumn } from "./address.js";
import type { SearchSetting } from "./settings.js";

/** What a search covers: names of published layers, and columns of layers. */

/** A column whose values are searched, and the column with the names of the objects. */
export interface SearchEntry {
  readonly layer: LayerNode;
  readonly search: Column;
  readonly name: Column;
  /** Objects that match as well as others are ordered by its numbers, the greatest first. */
  readonly weight?: Column | undefined;
  /** Their values tell objects of one name apart: parts, such as those of an address, and the columns of each. */
  readonly details: readonly (readonly Column[])[];
  /** As in the settings; default 0. */
  readonly priority: number;
}

/** Whether what one of the entries finds may be worth more than what matches as well in the other. */
export const weighTogether = (one: SearchEntry, other: SearchEntry): boolean =>
  one.layer === other.layer &&
  one.priority === other.priority &&
  one.weight !== undefined &&
  one.weight === other.weight;

/** Columns that evidently hold numbers by which objects matter. */
const weightCode = /^(pop|population|inhabitants|residents)$/i;

/** The published layers that the caller may read, without duplicates, in tree order. */
export function publishedLayers(map: MapState, caller: Caller): LayerNode[] {
  const readable = (layer: LayerNode) => mayRead(map, caller, layer);
  const { publication } = map;
  if (!publication) return fullTree(map, readable).flatMap(({ node }) => (isLayer(node) ? [node] : []));
  const shown = publicationTree(map, publication, readable);
  const parents = new Set(publication.map((element) => element.parentId));
  const layers = shown.flatMap(({ node, element }) => {
    if (isLayer(node)) return [node];
    // The element of a folder without child elements represents all layers in the folder.
    return element && !parents.has(element.id) ? layersInFolder(map, node.id).filter(readable) : [];
  });
  return [...new Set(layers)];
}

/**
 * The entries of the settings that the caller may read, sorted by descending priority. Without settings: every string
 * and text column of the published layers, with the first of each layer as name column, and a weight and
 * details where columns evidently hold them.
 */
export function searchEntries(
  map: MapState,
  caller: Caller,
  published: readonly LayerNode[],
  settings: readonly SearchSetting[],
): SearchEntry[] {
  if (settings.length === 0) {
    const language = map.project.languages[0];
    return published.filter(hasObjects).flatMap((layer) => textEntries(layer, language));
  }
  return [...settings]
    .sort((a, b) => (b.priority ?? 0) - (a.priority ?? 0))
    .flatMap((setting) => {
      const layer = map.nodes.get(setting.layerId);
      if (!layer || !isLayer(layer) || !hasObjects(layer) || !mayRead(map, caller, layer)) return [];
      const search = layer.columns.find((column) => column.id === setting.searchColumnId);
      const name = layer.columns.find((column) => column.id === setting.nameColumnId);
      if (!search || !name || !isSearchable(search) || !isNaming(name)) return [];
      const weight = layer.columns.find((column) => column.id === setting.weightColumnId);
      const detail = layer.columns.find((column) => column.id === setting.detailColumnId);
      return [
        {
          ...{ layer, search, name },
          weight: weight && isWeighing(weight) ? weight : undefined,
          details: detail && isNaming(detail) ? [[detail]] : [],
          priority: setting.priority ?? 0,
        },
      ];
    });
}

function textEntries(layer: LayerNode, language: string): SearchEntry[] {
  const columns = layer.columns.filter(isText);
  const name = namingColumn(columns, language);
  if (!name) return [];
  const weight = layer.columns.find((column) => weightCode.test(column.code) && isWeighing(column));
  const details = detailsOf(layer.columns.filter(isNaming), name);
  return columns.map((search) => ({ layer, search, name, weight, details, priority: 0 }));
}

/** Whether a column's values can be searched. */
export const isSearchable = (column: Column): boolean =>
  hasValues(column) && definitionOf(column).isSearchable;

/** Whether a column's values can be used as names of objects. */
export const isNaming = (column: Column): boolean => hasValues(column) && definitionOf(column).isComparable;

/** Whether objects can be ordered by a column's values. */
export const isWeighing = (column: Column): boolean => column.type === "number" && !column.localizedValue;

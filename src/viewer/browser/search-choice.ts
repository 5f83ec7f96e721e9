import { isWholeMap, type LayerTree, type TreeItem, unlisted } from "./layer-tree.js";
import type { MapView } from "./map-view.js";
import type { ObjectFinder } from "./object-finder.js";
import type { SearchResult } from "./search-results.js";

/** Goes to what was chosen from the results of a search. */
export function goToResult(
  result: SearchResult,
  {
    tree,
    view,
    finder,
    switchOn,
  }: {
    readonly tree: LayerTree;
    readonly view: MapView;
    readonly finder: ObjectFinder;
    switchOn(layer: TreeItem): void;
  },
): void {
  switch (result.kind) {
    case "place": {
      const { lat, lon } = result.place;
      finder.close();
      view.map.setView([lat, lon], Math.max(view.map.getZoom(), 13));
      view.highlight(L.latLng(lat, lon));
      return;
    }
    case "layer":
      switchOn(result.layer);
      view.fit(tree.extent([result.layer]));
      return;
    case "object": {
      const own = tree.layerOf(result.layer);
      if (own) switchOn(own);
      const layer = own && !isWholeMap(own) ? own : unlisted(result.layer, result.layerTitle);
      void finder.open(layer, result.id, { goTo: true });
      return;
    }
  }
}

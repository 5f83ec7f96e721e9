import type { Locale } from "./attributes.js";
import type { LayerTree } from "./layer-tree.js";
import type { ColumnInfo, MapId, MapServer } from "./map-server.js";
import type { MapView } from "./map-view.js";
import type { Hit } from "./objects.js";
import type { Toasts } from "./toasts.js";

/** What tools have of the page, and the page of tools. */

export interface ToolParts {
  readonly server: MapServer;
  readonly locale: Locale;
  readonly view: MapView;
  readonly toasts: Toasts;
  readonly root: HTMLElement;
  /** The map that is open. */
  readonly opened: () => { readonly mapId: MapId; readonly tree: LayerTree } | undefined;
  /** Shows the attributes of an object. */
  readonly showObject: (hit: Hit, columns: readonly ColumnInfo[], latlng: L.LatLng) => void;
}

export interface ClosableTool {
  close(): void;
}

/** A panel about objects that a tool has opened. */
export interface OpenTool extends ClosableTool {
  /** Objects of the map have changed. */
  changed(): void;
  /** An object was highlighted on the map. */
  highlighted(hit: Hit): void;
}

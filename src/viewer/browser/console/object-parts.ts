import type { Locale } from "../attributes.js";
import type { TreeItem } from "../layer-tree.js";
import type { MapId, MapServer } from "../map-server.js";
import type { MapView } from "../map-view.js";
import type { Click } from "../objects.js";
import type { Sessions } from "../sessions.js";
import type { Toasts } from "../toasts.js";
import type { Edits } from "./edits.js";

/** What the editor of objects has of the console, and the console of the editor. */

export interface ObjectsParts {
  readonly server: MapServer;
  readonly sessions: Sessions;
  readonly edits: Edits;
  readonly locale: Locale;
  readonly view: MapView;
  readonly toasts: Toasts;
  readonly root: HTMLElement;
  /** What covers the map at its left. */
  readonly side: HTMLElement;
  /** Shows tiles as they are now. */
  renew(): void;
  /** A form is shown, where another panel may be. */
  shown(): void;
}
/** What is opened. */
export interface ObjectsOf {
  readonly mapId: MapId;
  readonly item: TreeItem;
  /** Of the project's data, the main one first. */
  readonly languages: readonly string[];
}
export interface ObjectsTool {
  close(): void;
  /** Closes the form of an object; what is written in it is kept. */
  closeForm(): void;
  clicked(click: Click): void;
  /** Objects of the layer were changed, by others too. */
  changed(): void;
}

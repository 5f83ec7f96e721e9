import type { View } from "../address.js";
import type { Locale } from "../attributes.js";
import { h } from "../dom.js";
import { mapControls, scaleBar } from "../map-controls.js";
import { MapView } from "../map-view.js";
import type { Click } from "../objects.js";
import { TileStack } from "../tile-stack.js";

export interface MapCanvasEvents {
  moved(view: View): void;
  clicked(click: Click): void;
  /** Tiles are missing, or all are there again. */
  missing(isMissing: boolean): void;
  /** All of the map is wanted to be seen. */
  home(): void;
}

/** What the map is drawn on, with what belongs to it in the page. */
export class MapCanvas {
  readonly view: MapView;
  readonly tiles: TileStack;
  readonly attribution = h("div", { class: "attribution" });
  /** Lies below everything else. */
  readonly map = h("div", { class: "map", id: "map" });
  readonly progress = h("div", { class: "progress", "aria-hidden": "true" });
  readonly controls: HTMLElement;
  readonly bottomLine: HTMLElement;

  /** @param root takes the map at once, which needs its size */
  constructor(root: HTMLElement, locale: Locale, events: MapCanvasEvents) {
    root.append(this.map);
    this.view = new MapView(this.map, locale.t("mapLabel"), {
      moved: () => events.moved(this.view.view),
      clicked: (click) => events.clicked(click),
      menu: () => undefined,
    });
    const { map } = this.view;
    this.tiles = new TileStack(map, {
      loading: (isLoading) => this.progress.classList.toggle("busy", isLoading),
      doubtful: () => undefined,
      failed: () => events.missing(true),
      complete: () => events.missing(false),
      drawn: () => undefined,
    });
    this.controls = mapControls(map, locale, true, {
      home: () => events.home(),
      measure: () => undefined,
      bookmarks: () => undefined,
      locate: () => undefined,
      print: () => undefined,
    });
    this.bottomLine = h("footer", { class: "bottom-line" }, scaleBar(map, locale), this.attribution);
  }
}

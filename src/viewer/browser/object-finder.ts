import type { Locale } from "./attributes.js";
import { copyText } from "./clipboard.js";
import type { LayerTree } from "./layer-tree.js";
import { type ColumnInfo, type MapId, type MapServer, ServerError } from "./map-server.js";
import type { MapView } from "./map-view.js";
import { ObjectPanel } from "./object-panel.js";
import { type Click, findObjects } from "./objects.js";
import type { Toasts } from "./toasts.js";

/** Finds the objects at a click and shows them in the object panel. */
export class ObjectFinder {
  readonly panel: ObjectPanel;
  private running: AbortController | undefined;
  private clicked: L.LatLng | undefined;
  /** Columns by map and layer; requested once. */
  private readonly columns = new Map<string, Promise<readonly ColumnInfo[]>>();

  constructor(
    private readonly parts: {
      readonly server: MapServer;
      readonly locale: Locale;
      readonly view: MapView;
      readonly toasts: Toasts;
    },
    private readonly opened: () => { readonly mapId: MapId; readonly tree: LayerTree } | undefined,
  ) {
    const { view, toasts, locale } = parts;
    this.panel = new ObjectPanel(locale, {
      highlight: (hit) => view.highlight(this.clicked, hit),
      zoomTo: (hit) => view.zoomTo(hit),
      copy: (text) =>
        void copyText(text).then((copied) => copied && toasts.show(locale.t("coordinatesCopied"), "good")),
      closed: () => {
        this.clicked = undefined;
        view.highlight(undefined);
        view.map.getContainer().focus({ preventScroll: true });
      },
    });
  }

  async find(click: Click): Promise<void> {
    const opened = this.opened();
    this.running?.abort();
    if (!opened) return;
    const { server, view, toasts, locale } = this.parts;
    const running = new AbortController();
    this.running = running;
    const container = view.map.getContainer();
    container.classList.add("searching");
    this.clicked = click.latlng;
    view.highlight(click.latlng);
    try {
      const columnsOf = (mapId: MapId, layer: string) => this.columnsOf(mapId, layer);
      const of = { server, map: view.map, ...opened, columnsOf };
      const found = await findObjects(of, click, running.signal);
      if (running.signal.aborted) return;
      if (found.hits.length === 0) {
        this.close();
        toasts.show(locale.t("nothingHere"));
        return;
      }
      this.panel.show({ ...found, latlng: click.latlng });
      view.uncover(click.latlng);
    } catch {
      if (running.signal.aborted) return;
      this.close();
      toasts.show(locale.t("queryFailed"), "bad");
    } finally {
      if (this.running === running) container.classList.remove("searching");
    }
  }

  /** Closes the panel and removes the highlight. */
  close(): void {
    this.running?.abort();
    this.panel.close();
    this.clicked = undefined;
    this.parts.view.highlight(undefined);
  }

  private columnsOf(mapId: MapId, layer: string): Promise<readonly ColumnInfo[]> {
    const key = JSON.stringify([mapId.project, mapId.map, layer]);
    let columns = this.columns.get(key);
    if (!columns) {
      // After an error codes are shown instead of titles, and the next click retries; 404 means that there are no titles.
      columns = this.parts.server.structure(mapId, layer).catch((error: unknown) => {
        if (!(error instanceof ServerError && error.status === 404)) this.columns.delete(key);
        return [];
      });
      this.columns.set(key, columns);
    }
    return columns;
  }
}

import type { Reader } from "./attributes.js";
import { copyText } from "./clipboard.js";
import type { LayerTree } from "./layer-tree.js";
import { type ColumnInfo, type MapPlace, type MapServer, ServerError } from "./map-server.js";
import type { MapView } from "./map-view.js";
import { ObjectPanel } from "./object-panel.js";
import { type Click, findObjects } from "./objects.js";
import type { Toasts } from "./toasts.js";

/** Answers a click on the map with what is there. */
export class ObjectFinder {
  readonly panel: ObjectPanel;
  private running: AbortController | undefined;
  private clicked: L.LatLng | undefined;
  /** Columns by map and layer; asked for once. */
  private readonly columns = new Map<string, Promise<readonly ColumnInfo[]>>();

  constructor(
    private readonly parts: {
      readonly server: MapServer;
      readonly reader: Reader;
      readonly view: MapView;
      readonly toasts: Toasts;
    },
    private readonly opened: () => { readonly place: MapPlace; readonly tree: LayerTree } | undefined,
  ) {
    const { view, toasts, reader } = parts;
    this.panel = new ObjectPanel(reader, {
      highlight: (hit) => view.mark(this.clicked, hit),
      zoomTo: (hit) => view.zoomTo(hit),
      copy: (text) =>
        void copyText(text).then((copied) => copied && toasts.show(reader.t("coordinatesCopied"), "good")),
      closed: () => {
        this.clicked = undefined;
        view.mark(undefined);
        view.map.getContainer().focus({ preventScroll: true });
      },
    });
  }

  async find(click: Click): Promise<void> {
    const opened = this.opened();
    this.running?.abort();
    if (!opened) return;
    const { server, view, toasts, reader } = this.parts;
    const running = new AbortController();
    this.running = running;
    const container = view.map.getContainer();
    container.classList.add("searching");
    this.clicked = click.latlng;
    view.mark(click.latlng);
    try {
      const columnsOf = (place: MapPlace, layer: string) => this.columnsOf(place, layer);
      const of = { server, map: view.map, ...opened, columnsOf };
      const found = await findObjects(of, click, running.signal);
      if (running.signal.aborted) return;
      if (found.hits.length === 0) {
        this.close();
        toasts.show(reader.t("nothingHere"));
        return;
      }
      this.panel.show({ ...found, latlng: click.latlng });
      view.uncover(click.latlng);
    } catch {
      if (running.signal.aborted) return;
      this.close();
      toasts.show(reader.t("queryFailed"), "bad");
    } finally {
      if (this.running === running) container.classList.remove("searching");
    }
  }

  /** Forgets what was found. */
  close(): void {
    this.running?.abort();
    this.panel.close();
    this.clicked = undefined;
    this.parts.view.mark(undefined);
  }

  private columnsOf(place: MapPlace, layer: string): Promise<readonly ColumnInfo[]> {
    const key = JSON.stringify([place.project, place.map, layer]);
    let columns = this.columns.get(key);
    if (!columns) {
      // Without titles the codes of the fields do; unless there are none at all, the next click asks again.
      columns = this.parts.server.structure(place, layer).catch((error: unknown) => {
        if (!(error instanceof ServerError && error.status === 404)) this.columns.delete(key);
        return [];
      });
      this.columns.set(key, columns);
    }
    return columns;
  }
}

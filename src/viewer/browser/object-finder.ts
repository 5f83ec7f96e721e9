import type { ObjectRef } from "./address.js";
import { attachmentList } from "./attachments.js";
import type { Locale } from "./attributes.js";
import { copyText } from "./clipboard.js";
import { LayerColumns } from "./columns.js";
import type { LayerTree, TreeItem } from "./layer-tree.js";
import { type MapId, type MapServer, ServerError } from "./map-server.js";
import type { MapView } from "./map-view.js";
import { type Found, ObjectPanel } from "./object-panel.js";
import { type Click, centerOf, findObjects, type Hit, shiftOf } from "./objects.js";
import { Pictures } from "./pictures.js";
import { symbolPixels } from "./swatch.js";
import type { Toasts } from "./toasts.js";

/** Finds the objects at a click and shows them in the object panel. */
export class ObjectFinder {
  readonly panel: ObjectPanel;
  private running: AbortController | undefined;
  /** What had the focus when objects were asked for. */
  private asker: Element | null = null;
  private clicked: L.LatLng | undefined;
  /** The object that is being loaded. */
  private wanted: ObjectRef | undefined;
  private readonly columns: LayerColumns;
  private readonly pictures = new Pictures(60);

  constructor(
    private readonly parts: {
      readonly server: MapServer;
      readonly locale: Locale;
      readonly view: MapView;
      readonly toasts: Toasts;
    },
    private readonly opened: () => { readonly mapId: MapId; readonly tree: LayerTree } | undefined,
    private readonly changed: () => void,
  ) {
    const { view, toasts, locale } = parts;
    this.columns = new LayerColumns(parts.server);
    this.panel = new ObjectPanel(locale, {
      shown: () => this.changed(),
      highlight: (hit) => view.highlight(this.clicked, hit),
      zoomTo: (hit) => view.zoomTo(hit),
      symbol: async ({ element }) => {
        const mapId = this.opened()?.mapId;
        if (!mapId) throw new Error("No map is open.");
        return parts.server.legends(mapId, this.pictures).symbol(element.code, symbolPixels);
      },
      files: (hit, ids, gallery) => this.files(hit, ids, gallery),
      dataLanguage: () => {
        const mapId = this.opened()?.mapId;
        return mapId ? parts.server.readIn(mapId.project) : locale.language;
      },
      copy: (text) =>
        void copyText(text).then((copied) => copied && toasts.show(locale.t("coordinatesCopied"), "good")),
      closed: () => {
        this.clicked = undefined;
        this.pictures.clear();
        view.highlight(undefined);
        view.map.getContainer().focus({ preventScroll: true });
      },
    });
    // It may become higher, as when one of several objects is chosen.
    new ResizeObserver(() => {
      if (this.panel.isOpen) this.uncoverSeen();
    }).observe(this.panel.element);
  }

  private files(hit: Hit, ids: string, gallery: HTMLElement): Node {
    const { server, locale, toasts } = this.parts;
    const mapId = this.opened()?.mapId;
    if (!mapId) return document.createTextNode("");
    const source = server.attachments(mapId, hit.layer.element.code, hit.object.id, this.pictures);
    const failed = () => toasts.show(locale.t("downloadFailed"), "bad");
    return attachmentList(ids, { ...source, failed }, locale, gallery);
  }

  /** The object that is shown, or being loaded; none if the tree of the map has not its layer. */
  get shown(): ObjectRef | undefined {
    const { shown } = this.panel;
    if (this.wanted || !shown) return this.wanted;
    return shown.layer.layerId > 0 ? { layer: shown.layer.layerId, id: shown.object.id } : undefined;
  }

  /** Shows the object of a link, or none. */
  async follow(object: ObjectRef | undefined, { goTo }: { readonly goTo: boolean }): Promise<void> {
    const { shown } = this;
    if (object && shown?.layer === object.layer && shown.id === object.id) return;
    if (!object) {
      if (shown) this.close();
      return;
    }
    const layer = this.opened()?.tree.leaves.find(({ layerId }) => layerId === object.layer);
    if (layer) await this.open(layer, object.id, { goTo });
    else {
      this.close();
      this.parts.toasts.show(this.parts.locale.t("objectGone"), "bad");
      this.changed();
    }
  }

  async find(click: Click): Promise<void> {
    const opened = this.opened();
    this.running?.abort();
    this.wanted = undefined;
    if (!opened) return;
    const { server, view, toasts, locale } = this.parts;
    const running = new AbortController();
    this.running = running;
    this.asker = document.activeElement;
    const container = view.map.getContainer();
    container.classList.add("searching");
    this.clicked = click.latlng;
    view.highlight(click.latlng);
    try {
      const columnsOf = (mapId: MapId, layer: string) => this.columns.of(mapId, layer);
      const of = { server, map: view.map, ...opened, columnsOf };
      const found = await findObjects(of, click, running.signal);
      if (running.signal.aborted) return;
      if ("box" in found) {
        this.close();
        view.part(found.box);
        return;
      }
      if (found.hits.length === 0) {
        this.close();
        toasts.show(locale.t("nothingHere"));
        return;
      }
      await this.show({ ...found, latlng: click.latlng }, opened.mapId, running.signal);
      if (running.signal.aborted) return;
      view.uncover(click.latlng);
    } catch {
      if (running.signal.aborted) return;
      this.close();
      toasts.show(locale.t("queryFailed"), "bad");
    } finally {
      if (this.running === running) container.classList.remove("searching");
    }
  }

  /** Shows an object that was not clicked, and goes to it unless the view is to stay. Says so if there is none. */
  async open(layer: TreeItem, id: number, { goTo }: { readonly goTo: boolean }): Promise<void> {
    const opened = this.opened();
    this.running?.abort();
    if (!opened) return;
    const { server, toasts, locale } = this.parts;
    const { code } = layer.element;
    const running = new AbortController();
    const wanted = { layer: layer.layerId, id };
    this.running = running;
    this.asker = document.activeElement;
    this.wanted = layer.layerId > 0 ? wanted : undefined;
    let problem: "objectGone" | "queryFailed" | undefined;
    try {
      const columns = await this.columns.of(opened.mapId, code);
      const object = await server.object(opened.mapId, { layer: code, columns }, id, running.signal);
      if (running.signal.aborted) return;
      if (object) await this.showAlone({ layer, object }, opened.mapId, { goTo, signal: running.signal });
      else problem = "objectGone";
    } catch (error) {
      if (running.signal.aborted) return;
      problem =
        error instanceof ServerError && [403, 404].includes(error.status) ? "objectGone" : "queryFailed";
    }
    if (running.signal.aborted) return;
    this.wanted = undefined;
    if (problem) {
      this.close();
      toasts.show(locale.t(problem), "bad");
    }
    this.changed();
    if (!problem && !goTo) this.uncoverSeen();
  }

  /** Moves the map when the panel covers the place of the object; not to one that is elsewhere, for the map may be on its way there. */
  private uncoverSeen(): void {
    const { view } = this.parts;
    if (this.clicked && view.map.getBounds().contains(this.clicked)) view.uncover(this.clicked);
  }

  private async showAlone(
    { layer, object }: Pick<Hit, "layer" | "object">,
    mapId: MapId,
    { goTo, signal }: { readonly goTo: boolean; readonly signal: AbortSignal },
  ): Promise<void> {
    const { view } = this.parts;
    const center = centerOf(object) ?? view.map.getCenter();
    const hit = { layer, object, shift: shiftOf(view.map, view.map.getCenter(), object) };
    this.clicked = object.geom ? L.latLng(center.lat, center.lng + hit.shift) : undefined;
    await this.show({ hits: [hit], hasMore: false, latlng: center }, mapId, signal);
    if (goTo && object.geom && !signal.aborted) view.zoomTo(hit);
  }

  /** Closes the panel and removes the highlight. */
  close(): void {
    this.running?.abort();
    this.wanted = undefined;
    this.panel.close();
    this.clicked = undefined;
    this.parts.view.highlight(undefined);
  }

  /** Shows what was found; of a single object at once with the titles of its attributes. */
  private async show(found: Omit<Found, "columns">, mapId: MapId, signal: AbortSignal): Promise<void> {
    const { columns } = this;
    const [only, second] = found.hits;
    if (only && !second) await columns.of(mapId, only.layer.element.code);
    if (signal.aborted) return;
    const { activeElement } = document;
    this.panel.show(
      {
        ...found,
        columns: {
          known: (layer) => columns.known(mapId, layer.element.code),
          of: (layer) => columns.of(mapId, layer.element.code),
        },
      },
      { takesFocus: activeElement === this.asker || activeElement === document.body },
    );
  }
}

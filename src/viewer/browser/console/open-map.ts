import type { BaseChoice, View } from "../address.js";
import { h } from "../dom.js";
import { type StartView, startViewOf } from "../first-view.js";
import { LayerTree, type TreeElement, type TreeItem } from "../layer-tree.js";
import { baseAttribution, type LayersPanel, ownBase } from "../layers-panel.js";
import type { MapId, MapServer } from "../map-server.js";
import { Pictures } from "../pictures.js";
import type { PopupMenu } from "../popup-menu.js";
import type { Translate } from "../texts.js";
import type { TileSource } from "../tile-source.js";
import type { Edits } from "./edits.js";
import { keepFocus } from "./focus.js";
import type { MapCanvas } from "./map-canvas.js";
import type { ObjectEditing } from "./object-editing.js";
import type { StylePanel } from "./style-panel.js";
import type { EditableTree } from "./tree-editing.js";
import { Trial } from "./trial.js";
import { isSame, type Workplace } from "./workplace.js";

export interface OpenMapParts {
  readonly place: Workplace;
  readonly server: MapServer;
  readonly edits: Edits;
  readonly t: Translate;
  readonly canvas: MapCanvas;
  readonly layers: LayersPanel;
  readonly rows: EditableTree;
  readonly menu: PopupMenu;
  readonly style: StylePanel;
  readonly objects: ObjectEditing;
  /** What covers the map at its left. */
  readonly side: HTMLElement;
}

/** Largest number of layers that addresses of tiles name: servers read no longer ones, so that beyond it the map's own choice is shown. */
const mostNamed = 200;

/** The map that is open: its tree, in the panel and as tiles, as the server has it. */
export class OpenMap {
  private readonly symbols = new Pictures();
  private shown: LayerTree | undefined;
  /** The user may switch it off. */
  private base: BaseChoice = "own";
  /** Numbers of the latest tree that was asked for, and of that which is shown: older ones are let go. */
  private readonly numbers = { asked: 0, shown: 0 };
  /** Whether a tree has come that could not be shown, for its rows were being edited. */
  private isLate = false;

  /** A look that is tried, of a layer. */
  private readonly trial = new Trial(() => this.showTiles());

  constructor(private readonly parts: OpenMapParts) {}

  /** Shows a layer as it would be with a style or visualization that is not saved; undefined = as it is. */
  preview(item: TreeItem, body: object | undefined): void {
    const { place, server, canvas } = this.parts;
    const { mapId } = place;
    if (body === undefined || !mapId || !this.shown) {
      this.trial.end(item.layerId);
      return;
    }
    const { map } = canvas.view;
    const asked = { source: this.source(this.shown, mapId), map, layerId: item.layerId };
    const path = server.previewPath(mapId, item.element.code);
    this.trial.begin(asked, { path, body: JSON.stringify(body) });
  }

  get tree(): LayerTree | undefined {
    return this.shown;
  }

  /** The layer that is worked on. */
  get chosen(): TreeItem | undefined {
    return this.itemOf(this.parts.style.layerId);
  }

  itemOf(layerId: number | undefined): TreeItem | undefined {
    return this.shown?.leaves.find((leaf) => leaf.layerId === layerId);
  }

  /** Ids of the layers that are on here. */
  get on(): ReadonlySet<number> {
    return new Set(this.shown?.visible.map(({ layerId }) => layerId));
  }

  close(): void {
    const { place, server, rows, menu, style, objects, canvas, layers } = this.parts;
    if (place.mapId) server.forgetState(place.mapId);
    rows.begin(undefined);
    menu.close();
    place.mapId = undefined;
    this.shown = undefined;
    style.close();
    objects.close();
    this.trial.end();
    canvas.tiles.clear();
    layers.hide();
    canvas.attribution.replaceChildren();
  }

  /** Opens a map. @param shows makes room for it, when it is there @param view undefined = all of it @throws ServerError */
  async open(
    mapId: MapId,
    isCurrent: () => boolean,
    shows: () => void,
    view: View | undefined,
  ): Promise<void> {
    const number = ++this.numbers.asked;
    const elements = await this.elements(mapId);
    if (!isCurrent()) return;
    const { place } = this.parts;
    if (!isSame(place.mapId, mapId)) this.close();
    this.numbers.shown = number;
    place.mapId = mapId;
    this.shown = new LayerTree(elements);
    shows();
    this.showTree();
    if (view) this.parts.canvas.view.setView(view);
    else this.fit(undefined, false);
  }

  /** Shows it as it is now. @throws ServerError */
  reload(): Promise<void> {
    return this.renew((mapId) => this.elements(mapId), true);
  }

  /** Shows what others have changed: who is not signed in any more is not asked to. @throws ServerError */
  follow(): Promise<void> {
    return this.renew((mapId) => this.parts.server.allLayers(mapId), false);
  }

  /** @param isOwn whether it was changed here, and is shown anew in any case */
  private async renew(read: (mapId: MapId) => Promise<TreeElement[]>, isOwn: boolean): Promise<void> {
    const { place, rows } = this.parts;
    const { mapId } = place;
    if (!mapId || !this.shown) return;
    const number = ++this.numbers.asked;
    this.parts.server.forgetState(mapId);
    const elements = await read(mapId);
    if (!isSame(place.mapId, mapId) || !this.shown || number < this.numbers.shown) return;
    if (!isOwn && JSON.stringify(elements) === JSON.stringify(this.shown.elements)) return;
    if (rows.isBusy) {
      this.isLate = true;
      return;
    }
    this.numbers.shown = number;
    const known = new Set(this.shown.leaves.map(({ layerId }) => layerId));
    const { on } = this;
    const next = new LayerTree(elements);
    // What was switched here stays; what is new is on.
    for (const leaf of next.leaves) next.set(leaf, on.has(leaf.layerId) || !known.has(leaf.layerId));
    this.shown = next;
    this.showTree();
    this.parts.canvas.tiles.renew(undefined);
  }

  /** What the list of maps says of it is something else: its base map, perhaps. */
  listedAnew(): void {
    if (!this.shown) return;
    if (this.parts.rows.isBusy) {
      this.isLate = true;
      return;
    }
    this.showTree();
    this.parts.canvas.tiles.renew(undefined);
  }

  openStyle(item: TreeItem): void {
    const { style, objects, rows, canvas, side } = this.parts;
    if (item.isFolder) return;
    objects.closeForm();
    canvas.view.panels = { side, object: style.element };
    void style.open(item);
    rows.choose(item);
    const extent = this.shown?.extent([item]);
    if (extent) canvas.view.clearBox(extent);
  }

  openObjects(item: TreeItem): void {
    const { mapId, project } = this.parts.place;
    if (mapId) void this.parts.objects.open({ mapId, item, languages: project?.languages ?? [] });
  }

  /** Rows can be made anew. */
  async settled(): Promise<void> {
    if (this.isLate) await this.reload();
  }

  /** Of a map that is open something has the focus: what had it may be gone. */
  keepFocus(): void {
    if (this.shown) keepFocus(this.parts.layers.element.querySelector<HTMLElement>(".layers-header"));
  }

  /** What the map shows now. */
  get seen(): StartView {
    return startViewOf(this.parts.canvas.view.seen);
  }

  /** @param items default: all */
  fit(items?: readonly TreeItem[], isAnimated?: boolean): void {
    this.parts.canvas.view.fit(this.shown?.extent(items), isAnimated);
  }

  /** The user has switched layers or the base map. */
  switched(): void {
    this.base = this.parts.layers.base;
    this.showTiles();
  }

  showTiles(): void {
    const { shown: tree } = this;
    const { place, canvas, t } = this.parts;
    const { mapId, project, listed } = place;
    if (!tree || !mapId) return;
    canvas.tiles.show([{ source: { ...this.source(tree, mapId), ...this.trial.shown }, opacity: 1 }]);
    const { own } = ownBase(project, listed);
    const source = baseAttribution(t, { own, choice: this.base }, project?.baseAttribution);
    canvas.attribution.replaceChildren(
      h("span", {}, "Mapwright"),
      ...(source ? [h("span", {}, source)] : []),
    );
  }

  private source({ visible, selection }: LayerTree, mapId: MapId): TileSource {
    const layers = visible.length > mostNamed ? selection : visible.map(({ layerId }) => layerId);
    return this.parts.server.tiles(mapId, { layers, base: this.parts.layers.base });
  }

  private showTree(): void {
    const { shown: tree } = this;
    const { place, server, layers, rows, style, objects, canvas } = this.parts;
    const { mapId, project, listed } = place;
    if (!tree || !mapId) return;
    this.symbols.clear();
    this.isLate = false;
    const { focused } = rows;
    rows.begin(mapId, tree);
    const offer = { ...ownBase(project, listed), choice: this.base };
    layers.show(tree, offer, server.legends(mapId, this.symbols));
    layers.zoomed(canvas.view.view.zoom);
    rows.choose(this.chosen);
    style.renewed(this.chosen);
    objects.renewed(tree);
    if (focused !== undefined) {
      rows.focus(focused.id, focused.control);
      this.keepFocus();
    }
    this.showTiles();
  }

  private elements(mapId: MapId): Promise<TreeElement[]> {
    const { edits, server } = this.parts;
    return edits.inSession(mapId.project, () => server.allLayers(mapId));
  }
}

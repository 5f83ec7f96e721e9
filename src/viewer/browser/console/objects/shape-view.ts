import type { Translate } from "../../texts.js";
import {
  boundsOf,
  movedShape,
  positionAt,
  rounded,
  type Shape,
  type VertexAt,
  verticesOf,
  withoutVertex,
  withVertex,
  withVertexAfter,
} from "./shape.js";
import type { Snapping } from "./snapping.js";

/** A shape on the map with handles: at its vertices, between them, and one for all of it. They are moved by pointers and keys. */

/** More handles are not shown: there would be no room for them, and pages get slow. */
const mostHandles = 300;
/** Between vertices that are closer there is no handle. */
const leastGapPixels = 36;
const handlePixels = 32;
/** How far the handle for the whole shape is above it. */
const abovePixels = 34;
const steps: Readonly<Record<string, readonly [x: number, y: number]>> = {
  ArrowUp: [0, -1],
  ArrowDown: [0, 1],
  ArrowLeft: [-1, 0],
  ArrowRight: [1, 0],
};

export interface ShapeViewEvents {
  /** It was changed; @returns nothing when the last vertex shall go, which does not happen */
  changed(shape: Shape): void;
  /** Some vertices have no handles, or all have them. */
  crowded(isCrowded: boolean): void;
  /** Keys have led to a handle there. */
  reached(place: L.LatLng): void;
}

const latLng = ([lon = 0, lat = 0]: readonly number[]): L.LatLng => L.latLng(lat, lon);
const keyOf = ({ part, ring, index }: VertexAt): string => `${part}.${ring}.${index}`;

export class ShapeView {
  private readonly layers = L.featureGroup();
  private readonly handles = L.featureGroup();
  private readonly outline: L.Polyline<GeoJSON.LineString | GeoJSON.MultiLineString> | L.Polygon | undefined;
  private isDragging = false;
  /** Whether handles are made anew, and the one that had the focus gets it back. */
  private isRestoring = false;

  constructor(
    private readonly map: L.Map,
    private readonly t: Translate,
    private readonly snapping: Snapping,
    private shape: Shape,
    private readonly events: ShapeViewEvents,
  ) {
    const style = { className: "shape-outline", interactive: false };
    if (shape.kind === "Polygon") this.outline = L.polygon([], style);
    else if (shape.kind === "LineString")
      this.outline = L.polyline([], style) as L.Polyline<GeoJSON.LineString | GeoJSON.MultiLineString>;
    if (this.outline) this.layers.addLayer(this.outline);
    this.layers.addLayer(this.handles).addTo(map);
    map.on("moveend", this.moved);
    this.draw();
  }

  /** @param focused vertex whose handle gets the focus */
  show(shape: Shape, focused?: VertexAt | "all"): void {
    this.shape = shape;
    this.draw(focused);
  }

  focus(): void {
    const [first] = this.markers;
    first?.getElement()?.focus({ preventScroll: true });
  }

  remove(): void {
    this.map.off("moveend", this.moved);
    this.layers.remove();
  }

  private get markers(): L.Marker[] {
    return this.handles.getLayers() as L.Marker[];
  }

  private readonly moved = (): void => {
    if (this.isDragging) return;
    const focused = this.markers.find((marker) => marker.getElement() === document.activeElement);
    this.draw(focused && (focused.options as { readonly at?: VertexAt | "all" }).at);
  };

  private drawOutline(shape: Shape): void {
    const rings = shape.parts.map((part) => part.map((ring) => ring.map(latLng)));
    if (shape.kind === "Polygon") this.outline?.setLatLngs(rings as unknown as L.LatLng[][]);
    else this.outline?.setLatLngs(rings.map(([line]) => line!));
  }

  private draw(focused?: VertexAt | "all"): void {
    this.drawOutline(this.shape);
    this.handles.clearLayers();
    const seen = this.map.getBounds().pad(0.05);
    const all = verticesOf(this.shape);
    const near = all.filter((at) => seen.contains(latLng(positionAt(this.shape, at)!)));
    const step = Math.max(1, Math.ceil(near.length / mostHandles));
    this.events.crowded(step > 1);
    const shown = near.filter((_, index) => index % step === 0);
    const places = new Map(all.map((at, index) => [keyOf(at), index + 1]));
    for (const at of shown) this.addVertex(at, places.get(keyOf(at))!, all.length);
    if (step === 1 && this.shape.kind !== "Point") for (const at of shown) this.addBetween(at);
    if (all.length > 1) this.addWhole(seen);
    if (focused === undefined) return;
    const wanted = focused === "all" ? focused : keyOf(focused);
    this.isRestoring = true;
    for (const marker of this.markers) {
      const { at } = marker.options as { readonly at?: VertexAt | "all" };
      if ((at === "all" || at === undefined ? at : keyOf(at)) === wanted)
        marker.getElement()?.focus({ preventScroll: true });
    }
    this.isRestoring = false;
  }

  private handle(
    at: VertexAt | "all" | undefined,
    place: L.LatLng,
    className: string,
    label: string,
  ): L.Marker {
    const icon = L.divIcon({
      className: `shape-handle ${className}`,
      iconSize: [handlePixels, handlePixels],
    });
    const options = { icon, draggable: true, keyboard: at !== undefined, title: label, at };
    const marker = L.marker(place, options).addTo(this.handles);
    const element = marker.getElement();
    if (at === undefined) element?.setAttribute("aria-hidden", "true");
    else element?.setAttribute("aria-label", label);
    element?.addEventListener("focus", () => {
      if (!this.isRestoring && element.matches(":focus-visible")) this.events.reached(place);
    });
    marker.on("dragstart", () => {
      this.isDragging = true;
    });
    return marker;
  }

  private commit(shape: Shape, focused?: VertexAt | "all"): void {
    this.isDragging = false;
    this.show(shape, focused);
    this.events.changed(shape);
  }

  private addVertex(at: VertexAt, n: number, all: number): void {
    const place = latLng(positionAt(this.shape, at)!);
    const marker = this.handle(at, place, "vertex", this.t("vertexOf", { n, all }));
    const movedTo = ({ lat, lng }: L.LatLng) => withVertex(this.shape, at, lng, lat);
    this.onDrag(marker, movedTo, at);
    marker.getElement()?.addEventListener("keydown", (event) => {
      const to = this.stepped(event, marker.getLatLng());
      if (to) this.commit(movedTo(L.latLng(rounded(to.lat), rounded(to.lng))), at);
      else if (event.key === "Delete" || event.key === "Backspace") this.removeVertex(at);
      else if (event.key === "Insert" || event.key === "+") this.insertAfter(at);
      else return;
      event.preventDefault();
      event.stopPropagation();
    });
  }

  /** @param moved the shape with its vertex at another place @param at the vertex as it is then */
  private onDrag(marker: L.Marker, moved: (place: L.LatLng) => Shape, at: VertexAt): void {
    let place = marker.getLatLng();
    marker.on("drag", (event) => {
      const { originalEvent } = event as L.LeafletMouseEvent;
      place = this.snapping.shownAt(marker.getLatLng(), originalEvent);
      this.drawOutline(moved(place));
    });
    marker.on("dragend", () => this.commit(moved(place), at));
  }

  private removeVertex(at: VertexAt): void {
    const shape = withoutVertex(this.shape, at);
    if (!shape) return;
    const next = positionAt(shape, at) ? at : { ...at, index: Math.max(0, at.index - 1) };
    this.commit(shape, positionAt(shape, next) ? next : { part: 0, ring: 0, index: 0 });
  }

  /** The vertex after it, and the middle between them; undefined = a line ends there. */
  private middleAfter(at: VertexAt): L.LatLng | undefined {
    const ring = this.shape.parts[at.part]?.[at.ring];
    const isEnd = at.index === (ring?.length ?? 0) - 1;
    const next = ring?.[isEnd ? 0 : at.index + 1];
    if (!next || (isEnd && this.shape.kind === "LineString")) return undefined;
    const [from, to] = [latLng(ring[at.index]!), latLng(next)].map((one) => this.map.latLngToLayerPoint(one));
    if (from!.distanceTo(to!) < leastGapPixels) return undefined;
    return this.map.layerPointToLatLng(from!.add(to!).divideBy(2));
  }

  private insertAfter(at: VertexAt): void {
    const middle = this.middleAfter(at);
    if (!middle) return;
    const next = { ...at, index: at.index + 1 };
    this.commit(withVertexAfter(this.shape, at, rounded(middle.lng), rounded(middle.lat)), next);
  }

  private addBetween(at: VertexAt): void {
    const middle = this.middleAfter(at);
    if (!middle) return;
    const marker = this.handle(undefined, middle, "between", this.t("addVertex"));
    const added = ({ lat, lng }: L.LatLng) => withVertexAfter(this.shape, at, lng, lat);
    const vertex = { ...at, index: at.index + 1 };
    this.onDrag(marker, added, vertex);
    marker.on("click", () => this.commit(added(L.latLng(rounded(middle.lat), rounded(middle.lng))), vertex));
  }

  /** Moves everything as it is seen: on this map shapes keep their form so. */
  private movedBy(from: L.LatLng, to: L.LatLng): Shape {
    const { map } = this;
    const zoom = map.getZoom();
    const way = map.project(to, zoom).subtract(map.project(from, zoom));
    return movedShape(this.shape, (lon, lat) => {
      const place = map.unproject(map.project([lat, lon], zoom).add(way), zoom);
      return [place.lng, place.lat];
    });
  }

  private addWhole(seen: L.LatLngBounds): void {
    const [west, south, east, north] = boundsOf(this.shape);
    const top = this.map.latLngToLayerPoint([Math.min(north, seen.getNorth()), (west + east) / 2]);
    const above = this.map.layerPointToLatLng(top.subtract([0, abovePixels]));
    const place = seen.contains(above) ? above : L.latLng((south + north) / 2, (west + east) / 2);
    const marker = this.handle("all", place, "whole", this.t("wholeObject"));
    marker.on("drag", () => this.drawOutline(this.movedBy(place, marker.getLatLng())));
    marker.on("dragend", () => this.commit(this.movedBy(place, marker.getLatLng()), "all"));
    marker.getElement()?.addEventListener("keydown", (event) => {
      const to = this.stepped(event, place);
      if (!to) return;
      this.commit(this.movedBy(place, to), "all");
      event.preventDefault();
      event.stopPropagation();
    });
  }

  /** Where an arrow key leads; with Shift further. */
  private stepped({ key, shiftKey }: KeyboardEvent, from: L.LatLng): L.LatLng | undefined {
    const step = steps[key];
    if (!step) return undefined;
    const point = this.map.latLngToLayerPoint(from);
    return this.map.layerPointToLatLng(point.add(L.point(step[0], step[1]).multiplyBy(shiftKey ? 20 : 2)));
  }
}

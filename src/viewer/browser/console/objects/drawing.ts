import type { MapView } from "../../map-view.js";
import { leastVertices, type Position, type ShapeKind } from "./shape.js";
import type { Snapping } from "./snapping.js";

/** Draws a point, a line or an area, vertex after vertex, by presses on the map or by keys. */

export interface DrawingEvents {
  /** It has these vertices now. */
  changed(positions: readonly Position[]): void;
  /** Undefined = it was cancelled. */
  ended(positions: readonly Position[] | undefined): void;
}

/** A press so near at the last vertex, or the first one of an area, ends the drawing. */
const endPixels = 12;

const positionsOf = (vertices: readonly L.LatLng[]): readonly Position[] =>
  vertices.map(({ lat, lng }) => [lng, lat]);

export class Drawing {
  private readonly vertices: L.LatLng[] = [];
  private readonly line: L.Polyline | L.Polygon;
  private readonly next: L.Polyline;
  private readonly dots = L.featureGroup();
  private readonly container: HTMLElement;
  private isOver = false;

  constructor(
    private readonly view: MapView,
    private readonly snapping: Snapping,
    private readonly kind: ShapeKind,
    private readonly events: DrawingEvents,
    /** What was drawn before. */
    begun: readonly Position[] = [],
  ) {
    const { map } = view;
    this.container = map.getContainer();
    const style = { className: "shape-outline", interactive: false };
    this.line = (kind === "Polygon" ? L.polygon([], style) : L.polyline([], style)).addTo(map);
    this.next = L.polyline([], { className: "shape-next", interactive: false }).addTo(map);
    this.dots.addTo(map);
    view.take = (latlng) => this.add(latlng);
    map.on("mousemove", this.follow);
    this.container.classList.add("drawing");
    this.container.addEventListener("keydown", this.key, { capture: true });
    this.vertices.push(...begun.map(([lon = 0, lat = 0]) => L.latLng(lat, lon)));
    if (begun.length > 0) this.draw();
  }

  /** @param isByKey then a point lies where the map's middle is */
  finish(isByKey = false): void {
    if (isByKey && this.kind === "Point" && this.vertices.length === 0) this.add(this.view.map.getCenter());
    else if (this.vertices.length >= leastVertices[this.kind]) this.end(this.vertices);
  }

  cancel(): void {
    this.end(undefined);
  }

  undo(): boolean {
    if (!this.vertices.pop()) return false;
    this.draw();
    return true;
  }

  private add(latlng: L.LatLng): void {
    const { map } = this.view;
    const isAt = (vertex: L.LatLng | undefined) =>
      vertex !== undefined &&
      map.latLngToContainerPoint(vertex).distanceTo(map.latLngToContainerPoint(latlng)) < endPixels;
    const isClosing = this.kind === "Polygon" && this.vertices.length > 2 && isAt(this.vertices[0]);
    if (isAt(this.vertices.at(-1)) || isClosing) {
      this.finish();
      return;
    }
    const place = this.snapping.at(latlng);
    // It may be drawn to where the last one is.
    if (this.vertices.at(-1)?.equals(place, 0)) return;
    this.vertices.push(place);
    if (this.kind === "Point") this.finish();
    else this.draw();
  }

  private draw(): void {
    this.line.setLatLngs(this.vertices);
    this.next.setLatLngs([]);
    this.dots.clearLayers();
    for (const vertex of this.vertices)
      this.dots.addLayer(L.circleMarker(vertex, { className: "shape-dot", radius: 5, interactive: false }));
    this.events.changed(positionsOf(this.vertices));
  }

  private readonly follow = ({ latlng, originalEvent }: L.LeafletMouseEvent): void => {
    // Browsers tell of a move, too, when the map goes on below a pointer that lies still.
    if (originalEvent.movementX !== 0 || originalEvent.movementY !== 0)
      this.container.classList.remove("by-keys");
    const last = this.vertices.at(-1);
    if (last) this.next.setLatLngs([last, this.snapping.at(latlng)]);
  };

  private readonly key = (event: KeyboardEvent): void => {
    if (event.target !== this.container) return;
    if (event.key === " ") this.add(this.view.map.getCenter());
    else if (event.key === "Delete" || event.key === "Backspace") this.undo();
    else {
      if (event.key.startsWith("Arrow")) this.container.classList.add("by-keys");
      return;
    }
    event.preventDefault();
    event.stopPropagation();
  };

  private end(vertices: readonly L.LatLng[] | undefined): void {
    if (this.isOver) return;
    this.isOver = true;
    const { map } = this.view;
    map.off("mousemove", this.follow);
    for (const layer of [this.line, this.next, this.dots]) layer.remove();
    this.container.classList.remove("drawing", "by-keys");
    this.container.removeEventListener("keydown", this.key, { capture: true });
    this.events.ended(vertices && positionsOf(vertices));
  }
}

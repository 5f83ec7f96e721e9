import type { MapView } from "../../map-view.js";
import { type Near, nearest } from "./nearest.js";
import { rounded } from "./shape.js";

/** Draws places to the vertices and edges of other objects of the layer that are in sight, so that neighbours meet. */

/** An object near. */
export interface Neighbour {
  readonly id: number;
  readonly geom?: GeoJSON.Geometry | null;
}

export interface SnapParts {
  readonly view: MapView;
  /** Objects in a box, exact; undefined = there are too many of them. */
  read(bounds: L.LatLngBounds, signal: AbortSignal): Promise<readonly Neighbour[] | undefined>;
  /** The object that is drawn, which is not drawn to itself. */
  own(): number | undefined;
}

const vertexPixels = 10;
const edgePixels = 7;
/** Where a finger presses is less sure. */
const wider = window.matchMedia("(pointer: coarse)").matches ? 1.8 : 1;
/** The map is read when it rests. */
const restMs = 200;

const itself = ({ lat, lng }: L.LatLng): L.LatLng => L.latLng(rounded(lat), rounded(lng));

export class Snapping {
  /** Is told whether the place that is shown is drawn to something. */
  told: (isSnapped: boolean) => void = () => undefined;
  private geometries: readonly GeoJSON.Geometry[] = [];
  private reading: AbortController | undefined;
  private waiting = 0;
  /** What was found last: a move is heard by who draws and by what shows where it would be. */
  private last: { readonly of: readonly unknown[]; readonly found: Near | undefined } | undefined;
  /** With Alt places are where they are pressed. */
  private isFree = false;
  private readonly mark = L.circleMarker([0, 0], { className: "shape-snap", radius: 9, interactive: false });

  constructor(private readonly parts: SnapParts) {}

  begin(): void {
    const { map } = this.parts.view;
    this.isFree = false;
    map.on("moveend", this.later);
    // Alt may be pressed after the last move; and fingers press without one.
    map.on("mousemove", this.moved);
    map.on("preclick", this.moved);
    document.addEventListener("keydown", this.key, { capture: true });
    document.addEventListener("keyup", this.key, { capture: true });
    this.read();
  }

  end(): void {
    const { map } = this.parts.view;
    map.off("moveend", this.later);
    map.off("mousemove", this.moved);
    map.off("preclick", this.moved);
    document.removeEventListener("keydown", this.key, { capture: true });
    document.removeEventListener("keyup", this.key, { capture: true });
    window.clearTimeout(this.waiting);
    this.reading?.abort();
    this.geometries = [];
    this.mark.remove();
  }

  /** The place that is meant by another one: a vertex or an edge near, or itself with the digits that places have. */
  at(latlng: L.LatLng): L.LatLng {
    return this.near(latlng) ?? itself(latlng);
  }

  /** As `at`, and shows what it is drawn to. */
  shownAt(latlng: L.LatLng, event?: Event): L.LatLng {
    if (event) this.isFree = (event as MouseEvent).altKey === true;
    const near = this.near(latlng);
    if (near) this.mark.setLatLng(near).addTo(this.parts.view.map);
    else this.mark.remove();
    this.told(near !== undefined);
    return near ?? itself(latlng);
  }

  private near(latlng: L.LatLng): L.LatLng | undefined {
    if (this.isFree) return undefined;
    const { map } = this.parts.view;
    const degrees = (360 / (256 * 2 ** map.getZoom())) * wider;
    // Objects are in the first copy of the world.
    const turn = 360 * Math.floor((latlng.lng + 180) / 360);
    const reach = { vertex: vertexPixels * degrees, edge: edgePixels * degrees };
    const of = [latlng.lng, latlng.lat, map.getZoom(), this.geometries];
    if (!this.last?.of.every((each, at) => each === of[at]))
      this.last = { of, found: nearest(this.geometries, [latlng.lng - turn, latlng.lat], reach) };
    const { found } = this.last;
    if (!found) return undefined;
    const [lon = 0, lat = 0] = found.position;
    // Of an edge there is no vertex whose digits could be kept.
    return found.isVertex ? L.latLng(lat, lon + turn) : L.latLng(rounded(lat), rounded(lon + turn));
  }

  private readonly moved = ({ latlng, originalEvent }: L.LeafletMouseEvent): void => {
    this.shownAt(latlng, originalEvent);
  };

  private readonly key = ({ altKey }: KeyboardEvent): void => {
    this.isFree = altKey;
  };

  private readonly later = (): void => {
    window.clearTimeout(this.waiting);
    this.waiting = window.setTimeout(() => this.read(), restMs);
  };

  private async load(signal: AbortSignal): Promise<void> {
    const { view, own, read } = this.parts;
    const found = (await read(view.map.getBounds(), signal)) ?? [];
    if (signal.aborted) return;
    const others = found.filter(({ id }) => id !== own());
    this.geometries = others.flatMap(({ geom }) => geom ?? []);
  }

  private read(): void {
    this.reading?.abort();
    this.reading = new AbortController();
    const { signal } = this.reading;
    // Without them it is drawn all the same.
    this.load(signal).catch(() => {
      if (!signal.aborted) this.geometries = [];
    });
  }
}

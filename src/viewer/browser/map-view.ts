import type { View } from "./address.js";
import { isWorld, leastZoom, phonePages, worldView } from "./first-view.js";
import type { Box } from "./layer-tree.js";
import { maxLat } from "./mercator.js";
import type { Click, Hit } from "./objects.js";

/** Wraps the Leaflet map: view, highlighted objects and clicks. */

export interface MapViewEvents {
  moved(): void;
  clicked(click: Click): void;
  /** The other button, a long press, or the key for menus. */
  menu(latlng: L.LatLng): void;
}

/** What covers the map; without `side` only small buttons do. */
export interface Panels {
  readonly side: HTMLElement | undefined;
  readonly object: HTMLElement;
  /** Lies over the map while a shape is drawn or changed; beside the panel of the object stand the map's buttons then. */
  readonly bar?: HTMLElement;
}

/** In pixels. */
interface Padding {
  readonly paddingTopLeft: L.PointTuple;
  readonly paddingBottomRight: L.PointTuple;
}

/** The handle above a shape, the shape's own half below it, and a gap. */
const handlesPixels = 64;
/** A panel that leaves less of the map is looked at by itself. */
const leastRoomPixels = 120;
/** The map's buttons where they stand beside a panel. */
const buttonsPixels = 52;

const phone = window.matchMedia(phonePages);

export class MapView {
  readonly map: L.Map;
  /** Pixels at the bottom that a panel covers. */
  covered = 0;
  /** Takes the places that are pressed, in place of a search for objects. */
  take: ((latlng: L.LatLng) => void) | undefined;
  /** Is told each object that is highlighted. */
  highlighted: (hit: Hit) => void = () => undefined;
  panels: Panels | undefined;
  /** What the page shows, while the map has the size of a paper. */
  private onPage: { readonly center: L.LatLng; readonly zoom: number } | undefined;
  private readonly highlights = L.featureGroup();
  private clickMarker: L.Marker | undefined;

  private isZooming = false;

  constructor(element: HTMLElement, label: string, events: MapViewEvents) {
    this.map = L.map(element, {
      zoomControl: false,
      attributionControl: false,
      worldCopyJump: true,
      maxZoom: 22,
      minZoom: 0,
      zoomSnap: 1,
      wheelPxPerZoomLevel: 90,
      maxBounds: [
        [-maxLat, -100_000],
        [maxLat, 100_000],
      ],
      maxBoundsViscosity: 1,
    });
    this.map.setView([20, 10], 2);
    this.highlights.addTo(this.map);
    element.setAttribute("role", "application");
    element.setAttribute("aria-label", label);
    this.map.on("zoomstart", () => {
      this.isZooming = true;
    });
    this.map.on("moveend", () => {
      this.isZooming = false;
      events.moved();
    });
    this.map.on("resize", () => this.limitZoom());
    this.limitZoom();
    this.map.on("click", (event: L.LeafletMouseEvent) => {
      const touched = (event.originalEvent as PointerEvent).pointerType === "touch";
      if (this.take) this.take(event.latlng);
      else events.clicked({ latlng: event.latlng, radius: touched ? 14 : 6 });
    });
    this.map.on("contextmenu", (event: L.LeafletMouseEvent) => {
      L.DomEvent.preventDefault(event.originalEvent);
      events.menu(event.latlng);
    });
    element.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || event.shiftKey || event.target !== element) return;
      if (this.take) this.take(this.map.getCenter());
      else events.clicked({ latlng: this.map.getCenter(), radius: 10 });
    });
  }

  get view(): View {
    const center = this.map.getCenter().wrap();
    return { zoom: this.map.getZoom(), lat: center.lat, lon: center.lng };
  }

  setView({ lat, lon, zoom }: View): void {
    this.jump([lat, lon], zoom, { animate: false });
  }

  private jump(center: L.LatLngExpression, zoom: number, how: L.ZoomPanOptions): void {
    // Steps go to whole zooms, but a link may name one between them.
    const { options } = this.map;
    const { zoomSnap } = options;
    options.zoomSnap = 0;
    this.map.setView(center, zoom, how);
    if (zoomSnap !== undefined) options.zoomSnap = zoomSnap;
  }

  /** Waits until the map is at the zoom that it is on its way to. */
  zoomed(): Promise<void> {
    return new Promise((resolve) => {
      if (this.isZooming) this.map.once("moveend", () => resolve());
      else resolve();
    });
  }

  /** Gives the map a size of its own in pixels, and a zoom, as for paper; undefined = those of the page. */
  resize(
    paper: { readonly width: number; readonly height: number; readonly zoom: number } | undefined,
  ): void {
    const { map } = this;
    const shown = this.onPage ?? { center: map.getCenter(), zoom: map.getZoom() };
    this.onPage = paper && shown;
    const { style } = map.getContainer();
    style.width = paper ? `${paper.width}px` : "";
    style.height = paper ? `${paper.height}px` : "";
    map.invalidateSize({ animate: false });
    const how = { animate: false, reset: true } as L.ZoomPanOptions;
    this.jump(shown.center, paper?.zoom ?? shown.zoom, how);
  }

  /**
   * Zooms to a box, in the part of the map that panels do not cover. Without a box: the world.
   * @param maxZoom of data, which may be one point
   */
  fit(box: Box | undefined, animate = true, maxZoom = 16): void {
    if (box && !isWorld(box)) {
      this.map.fitBounds(boundsOf(box), { ...this.padding(), maxZoom, animate });
      return;
    }
    const size = this.map.getSize();
    const { zoom, lat, lon } = worldView(size.x, size.y, phone.matches);
    this.map.setView([lat, lon], zoom, { animate });
  }

  /** The part of the map that panels do not cover: fitted into the same page it is seen as now. */
  get seen(): Box {
    const bounds = this.boundsWithin(this.padding());
    return {
      sw: [bounds.getSouth(), bounds.getWest()],
      ne: [bounds.getNorth(), bounds.getEast()],
    };
  }

  private boundsWithin({ paddingTopLeft, paddingBottomRight }: Padding): L.LatLngBounds {
    return L.latLngBounds(
      this.map.containerPointToLatLng(paddingTopLeft),
      this.map.containerPointToLatLng(this.map.getSize().subtract(paddingBottomRight)),
    );
  }

  /** Zooms in on a box, by a step at least. */
  part({ sw, ne }: Box): void {
    const { map } = this;
    const bounds = L.latLngBounds([sw[0], sw[1]], [ne[0], ne[1]]);
    const next = Math.min(Math.floor(map.getZoom()) + 1, map.getMaxZoom());
    const { paddingTopLeft, paddingBottomRight } = this.padding();
    const padding = L.point(paddingTopLeft).add(L.point(paddingBottomRight));
    if (map.getBoundsZoom(bounds, false, padding) < next) map.setView(bounds.getCenter(), next);
    else map.fitBounds(bounds, { paddingTopLeft, paddingBottomRight });
  }

  /** Highlights an object's geometry, or marks the clicked point if there is none. */
  highlight(latlng: L.LatLng | undefined, hit?: Hit): void {
    this.highlights.clearLayers();
    this.clickMarker?.remove();
    this.clickMarker = undefined;
    if (hit?.object.geom) this.highlights.addLayer(highlightOf(hit));
    if (hit) this.highlighted(hit);
    // The clicked point is only marked without an object geometry.
    if (!latlng || hit?.object.geom) return;
    const icon = L.divIcon({ className: "clicked-place", iconSize: [18, 18] });
    this.clickMarker = L.marker(latlng, { icon, interactive: false, keyboard: false }).addTo(this.map);
  }

  /** Moves the map when the object panel covers the clicked point. */
  uncover(latlng: L.LatLng): void {
    const { paddingTopLeft, paddingBottomRight } = this.padding(true);
    this.map.panInside(latlng, { paddingTopLeft, paddingBottomRight });
  }

  /**
   * Moves the map when the object is not in sight, and no closer than it is seen now, if it fits.
   * @param isBesideObject whether it shall be seen beside the panel of the object, which leaves phones no room
   */
  reveal(hit: Hit, isBesideObject = false): void {
    // It hears nothing on its way to another zoom.
    if (this.isZooming) {
      this.map.once("moveend", () => this.reveal(hit, isBesideObject));
      return;
    }
    const bounds = highlightOf(hit).getBounds();
    if (bounds.isValid()) this.revealWithin(bounds, this.padding(isBesideObject && !phone.matches));
  }

  private revealWithin(bounds: L.LatLngBounds, padding: Padding): void {
    if (this.boundsWithin(padding).contains(bounds)) return;
    const { paddingTopLeft, paddingBottomRight } = padding;
    this.map.fitBounds(bounds, { paddingTopLeft, paddingBottomRight, maxZoom: this.map.getZoom() });
  }

  /**
   * Moves the map when panels cover a part of an object that is all on the page. An object of which only a part is on the
   * page is looked at from near: there the map stays.
   */
  clear(hit: Hit): void {
    if (this.isZooming) {
      this.map.once("moveend", () => this.clear(hit));
      return;
    }
    const bounds = highlightOf(hit).getBounds();
    if (bounds.isValid() && this.map.getBounds().contains(bounds)) this.reveal(hit, true);
  }

  /** As `clear`, of a box, where the panel leaves room for it. */
  clearBox(box: Box): void {
    const bounds = boundsOf(box);
    const padding = this.padding(true);
    const { x, y } = this.map
      .getSize()
      .subtract(L.point(padding.paddingTopLeft))
      .subtract(L.point(padding.paddingBottomRight));
    const hasRoom = Math.min(x, y) >= leastRoomPixels;
    if (hasRoom && this.map.getBounds().contains(bounds)) this.revealWithin(bounds, padding);
  }

  zoomTo(hit: Hit): void {
    const bounds = highlightOf(hit).getBounds();
    if (!bounds.isValid()) return;
    const isPoint = bounds.getNorthEast().equals(bounds.getSouthWest());
    const maxZoom = isPoint ? Math.max(12, this.map.getZoom()) : 18;
    this.map.flyToBounds(bounds, { ...this.padding(true), maxZoom, duration: 0.8 });
  }

  /** Padding in pixels for the panels that cover the map, where they come to rest. */
  private padding(withObject = false): Padding {
    const size = this.map.getSize();
    const { side, object, bar } = this.panels ?? {};
    const isOpen = object !== undefined && object.offsetWidth > 0;
    const isOver = bar !== undefined && bar.offsetWidth > 0;
    if (phone.matches) {
      // The bar lies at the bottom, in place of the panels.
      if (isOver) {
        const below = size.y - bar.offsetTop;
        return { paddingTopLeft: [24, 72 + handlesPixels], paddingBottomRight: [24, below + 24] };
      }
      const below = withObject && isOpen ? size.y - object.offsetTop : side ? 66 : 24;
      return {
        paddingTopLeft: [24, side ? 134 : 72],
        paddingBottomRight: [24, Math.max(this.covered, below) + 24],
      };
    }
    const buttons = bar ? buttonsPixels : 0;
    const right = withObject && isOpen ? size.x - object.offsetLeft + buttons + 24 : 72;
    const left = side ? side.offsetLeft + side.offsetWidth + 16 : 24;
    const top = isOver ? bar.offsetTop + bar.offsetHeight + handlesPixels : 72;
    const bottom = this.covered + 48;
    // Between two panels there may be no room.
    const hasWidth = left + right + 96 <= size.x;
    const hasHeight = top + bottom + 96 <= size.y;
    return {
      paddingTopLeft: [hasWidth ? left : 24, hasHeight ? top : 24],
      paddingBottomRight: [right, bottom],
    };
  }

  /** Sets the minimum zoom so that the world fills the height of the page. */
  private limitZoom(): void {
    if (this.onPage) return;
    this.map.setMinZoom(leastZoom(this.map.getSize().y));
  }
}

const boundsOf = ({ sw, ne }: Box): L.LatLngBounds =>
  L.latLngBounds([Math.max(sw[0], -maxLat), sw[1]], [Math.min(ne[0], maxLat), ne[1]]);

/** The highlight of an object's geometry: a coloured line on a light casing, visible on any map. */
function highlightOf(hit: Hit): L.FeatureGroup {
  const isAcross = liesAcross180(hit.object.geom);
  const coordsToLatLng = ([lon, lat]: [number, number] | [number, number, number]) =>
    L.latLng(lat, lon + (isAcross && lon < 0 ? 360 : 0) + hit.shift);
  const geometryLayer = (className: string, radius: number) =>
    L.geoJSON(hit.object.geom ?? undefined, {
      coordsToLatLng,
      interactive: false,
      style: () => ({ className }),
      pointToLayer: (_, latlng) => L.circleMarker(latlng, { radius, className, interactive: false }),
    });
  return L.featureGroup([geometryLayer("mark-casing", 9), geometryLayer("mark", 9)]);
}

/** Whether its parts on both sides of 180° are closer together there than across Greenwich. */
function liesAcross180(geometry: GeoJSON.Geometry | null | undefined): boolean {
  let [west, east, westAcross, eastAcross] = [Infinity, -Infinity, Infinity, -Infinity];
  const read = (part: unknown): void => {
    if (!Array.isArray(part)) return;
    const [lon] = part;
    if (typeof lon !== "number") {
      for (const each of part) read(each);
      return;
    }
    const moved = lon < 0 ? lon + 360 : lon;
    [west, east] = [Math.min(west, lon), Math.max(east, lon)];
    [westAcross, eastAcross] = [Math.min(westAcross, moved), Math.max(eastAcross, moved)];
  };
  const readAll = (one: GeoJSON.Geometry): void => {
    if (one.type === "GeometryCollection") for (const each of one.geometries) readAll(each);
    else read(one.coordinates);
  };
  if (geometry) readAll(geometry);
  return east - west > 180 && eastAcross - westAcross < east - west;
}

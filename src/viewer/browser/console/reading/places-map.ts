import { button, h, icon } from "../../dom.js";
import type { Translate } from "../../texts.js";
import type { TileSource } from "../../tile-source.js";
import { MapTiles } from "../../tiles.js";
import type { Preview } from "./look.js";

/** A small map of the places of the first rows, and of the box of all of them. */

const mostLat = 85;
/** What lies around a place tells whether it is the right one. */
const closestZoom = 8;

export class PlacesMap {
  readonly element = h("div", { class: "reading-map", hidden: true });
  private readonly none: HTMLElement;
  private readonly board = h("div", { class: "map" });
  private map: L.Map | undefined;
  private shown: L.FeatureGroup | undefined;

  constructor(
    private readonly t: Translate,
    /** Of what is drawn below. */
    private readonly base: TileSource,
  ) {
    this.none = h("p", { class: "hint" }, t("readingNoPlaces"));
  }

  /** @param isWanted whether places are to be expected */
  show({ bbox, features }: Preview, isWanted: boolean): void {
    const shapes = features.flatMap(({ geom }) => (geom && hasPlace(geom) ? [geom as GeoJSON.Geometry] : []));
    this.element.hidden = shapes.length === 0 && !isWanted;
    this.element.classList.toggle("empty", shapes.length === 0);
    if (shapes.length === 0) {
      this.element.replaceChildren(this.none);
      return;
    }
    if (this.none.isConnected || !this.map) this.element.replaceChildren(this.board, this.zooms());
    const map = this.begun();
    this.shown?.remove();
    const drawn = L.featureGroup(["mark-casing", "mark"].map((name) => shapesOf(shapes, name)));
    const bounds = bbox
      ? L.latLngBounds([within(bbox.sw[0]), bbox.sw[1]], [within(bbox.ne[0]), bbox.ne[1]])
      : drawn.getBounds();
    if (bbox && !bounds.getSouthWest().equals(bounds.getNorthEast())) drawn.addLayer(outlineOf(bounds));
    this.shown = drawn.addTo(map);
    map.invalidateSize({ animate: false });
    map.fitBounds(bounds, { maxZoom: closestZoom, padding: [18, 18], animate: false });
  }

  hide(): void {
    this.element.hidden = true;
  }

  remove(): void {
    this.map?.remove();
  }

  private begun(): L.Map {
    if (this.map) return this.map;
    const { board } = this;
    board.setAttribute("role", "application");
    board.setAttribute("aria-label", this.t("readingMap"));
    this.map = L.map(board, {
      ...{ zoomControl: false, attributionControl: false, scrollWheelZoom: false },
      ...{ worldCopyJump: true, maxZoom: 18, fadeAnimation: false, zoomAnimation: false },
    });
    this.map.setView([20, 10], 1);
    const quiet = () => undefined;
    const events = { loading: quiet, doubtful: quiet, failed: quiet, drawn: quiet, complete: quiet };
    new MapTiles(this.map, events, 0).show(this.base, 1);
    return this.map;
  }

  private zooms(): HTMLElement {
    const { t } = this;
    const one = (label: "zoomIn" | "zoomOut", sign: "plus" | "minus", step: number) =>
      button(
        { class: "icon-button", "aria-label": t(label), title: t(label) },
        () => this.map?.setZoom(this.map.getZoom() + step),
        icon(sign),
      );
    return h("div", { class: "reading-zooms" }, one("zoomIn", "plus", 1), one("zoomOut", "minus", -1));
  }
}

/** Whether a shape has a position. */
function hasPlace(geom: object): boolean {
  const { coordinates, geometries } = geom as { coordinates?: unknown; geometries?: readonly object[] };
  if (geometries) return geometries.some(hasPlace);
  return Array.isArray(coordinates) && coordinates.flat(4).length > 0;
}

const within = (lat: number): number => Math.max(-mostLat, Math.min(mostLat, lat));

const shapesOf = (shapes: readonly GeoJSON.Geometry[], className: string): L.FeatureGroup =>
  L.featureGroup(
    shapes.map((shape) =>
      L.geoJSON(shape, {
        interactive: false,
        style: () => ({ className }),
        pointToLayer: (_, latlng) => L.circleMarker(latlng, { radius: 5, className, interactive: false }),
      }),
    ),
  );

const outlineOf = (bounds: L.LatLngBounds): L.Polygon =>
  L.polygon([bounds.getSouthWest(), bounds.getNorthWest(), bounds.getNorthEast(), bounds.getSouthEast()], {
    className: "reading-box",
    interactive: false,
  });

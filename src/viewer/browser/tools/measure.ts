import { button, h, icon } from "../dom.js";
import type { ClosableTool, ToolParts } from "../tool-parts.js";
import { areaOf, greatCircle, lengthOf, nearest, type Place } from "./sphere.js";
import { areaText, lengthText } from "./units.js";

/** Measures distances and areas between places that are set on the map, and can be moved and removed. */

type Kind = "distance" | "area";

/** Each is a marker and a part of the line. */
const maxPlaces = 500;
/** By which arrow keys move a place. */
const stepPixels = 8;

export function openMeasure(parts: ToolParts, first: L.LatLng | undefined, closed: () => void): ClosableTool {
  return new Measure(parts, first, closed);
}

class Measure implements ClosableTool {
  private readonly element: HTMLElement;
  private readonly result = h("output", { class: "measure-result", "aria-live": "polite" });
  private readonly more = h("p", { class: "measure-more" });
  private readonly hint: HTMLElement;
  private readonly finishButton: HTMLButtonElement;
  private readonly undoButton: HTMLButtonElement;
  private readonly choices: Readonly<Record<Kind, HTMLButtonElement>>;
  private readonly drawn = L.featureGroup();
  private readonly casing: L.Polyline;
  private readonly line: L.Polyline;
  private readonly area: L.Polygon;
  private markers: L.Marker[] = [];
  private kind: Kind = "distance";
  private isFinished = false;
  private isOpen = true;

  constructor(
    private readonly parts: ToolParts,
    first: L.LatLng | undefined,
    private readonly closed: () => void,
  ) {
    const { t } = parts.locale;
    const { map } = parts.view;
    const choice = (kind: Kind, label: string) =>
      button(
        { class: "segment", "aria-pressed": String(kind === "distance") },
        () => this.choose(kind),
        label,
      );
    this.choices = {
      distance: choice("distance", t("measureDistance")),
      area: choice("area", t("measureArea")),
    };
    const { units } = parts.locale;
    const unitChoices: HTMLElement[] = [];
    const showUnits = () => {
      for (const [at, choice] of unitChoices.entries())
        choice.setAttribute("aria-pressed", String((at === 1) === units.isImperial));
    };
    const unitChoice = (imperial: boolean, label: string) => {
      const press = () => {
        units.choose(imperial);
        showUnits();
        this.update();
      };
      const choice = button({ class: "segment" }, press, label);
      unitChoices.push(choice);
      return choice;
    };
    this.hint = h("p", { class: "hint" }, t("measureHint"));
    this.undoButton = button(
      { class: "button small" },
      () => this.remove(this.markers.at(-1)),
      t("undoPoint"),
    );
    this.finishButton = button({ class: "button small main" }, () => this.finish(), t("finish"));
    this.element = h(
      "section",
      { class: "card measure", "aria-label": t("measure") },
      h(
        "header",
        {},
        h(
          "div",
          { class: "segments", role: "group", "aria-label": t("measure") },
          this.choices.distance,
          this.choices.area,
        ),
        h(
          "div",
          { class: "segments", role: "group", "aria-label": t("units") },
          unitChoice(false, t("unitsMetric")),
          unitChoice(true, t("unitsImperial")),
        ),
        button(
          { class: "icon-button", "aria-label": t("close"), title: t("close") },
          () => this.close(),
          icon("close"),
        ),
      ),
      this.result,
      this.more,
      this.hint,
      h(
        "div",
        { class: "measure-actions" },
        this.undoButton,
        button({ class: "button small" }, () => this.clear(), t("startAgain")),
        this.finishButton,
      ),
    );
    showUnits();
    const options = { interactive: false, noClip: true, smoothFactor: 1 };
    this.area = L.polygon([], { ...options, className: "measure-area" });
    this.casing = L.polyline([], { ...options, className: "measure-casing" });
    this.line = L.polyline([], { ...options, className: "measure-line" });
    for (const layer of [this.area, this.casing, this.line]) this.drawn.addLayer(layer);
    this.drawn.addTo(map);
    parts.root.append(this.element);
    this.wasDoubleClickZoom = map.doubleClickZoom.enabled();
    map.doubleClickZoom.disable();
    map.on("dblclick", this.finishing);
    document.addEventListener("keydown", this.key);
    this.take();
    if (first) this.add(first);
    this.update();
    map.getContainer().focus({ preventScroll: true });
  }

  private readonly wasDoubleClickZoom: boolean;

  close(): void {
    if (!this.isOpen) return;
    this.isOpen = false;
    const { view } = this.parts;
    view.take = undefined;
    view.map.off("dblclick", this.finishing);
    if (this.wasDoubleClickZoom) view.map.doubleClickZoom.enable();
    document.removeEventListener("keydown", this.key);
    for (const marker of this.markers) marker.remove();
    this.drawn.remove();
    view.map.getContainer().classList.remove("measuring");
    this.element.remove();
    this.closed();
  }

  /** Presses on the map set places. */
  private take(): void {
    const { view } = this.parts;
    view.take = (latlng) => this.add(latlng);
    view.map.getContainer().classList.add("measuring");
  }

  private choose(kind: Kind): void {
    this.kind = kind;
    for (const [name, choice] of Object.entries(this.choices))
      choice.setAttribute("aria-pressed", String(name === kind));
    this.update();
  }

  private get places(): Place[] {
    return this.markers.map((marker) => [marker.getLatLng().lat, marker.getLatLng().lng]);
  }

  private add(latlng: L.LatLng): void {
    const { view, locale } = this.parts;
    const last = this.markers.at(-1)?.getLatLng();
    // The second press of two that finish is at the same place.
    if (this.isFinished || this.markers.length >= maxPlaces || last?.equals(latlng)) return;
    const at = L.latLng(latlng.lat, last ? nearest(latlng.lng, last.lng) : latlng.lng);
    const marker = L.marker(at, {
      icon: L.divIcon({ className: "measure-place", iconSize: [26, 26] }),
      draggable: true,
      autoPan: true,
      keyboard: true,
      title: locale.t("measurePoint", { n: this.markers.length + 1 }),
    });
    marker.on("drag", () => this.update());
    marker.on("click", (event) => L.DomEvent.stopPropagation(event));
    marker.on("dblclick contextmenu", (event) => {
      L.DomEvent.stopPropagation(event as L.LeafletMouseEvent);
      L.DomEvent.preventDefault((event as L.LeafletMouseEvent).originalEvent);
      if (event.type === "contextmenu") this.remove(marker);
      else this.finish();
    });
    marker.addTo(view.map);
    this.markers.push(marker);
    this.update();
  }

  private remove(marker: L.Marker | undefined): void {
    if (!marker) return;
    const hadFocus = marker.getElement() === document.activeElement;
    marker.remove();
    this.markers = this.markers.filter((one) => one !== marker);
    if (hadFocus) (this.markers.at(-1)?.getElement() ?? this.parts.view.map.getContainer()).focus();
    if (this.isFinished && this.markers.length === 0) this.clear();
    else this.update();
  }

  private clear(): void {
    for (const marker of this.markers) marker.remove();
    this.markers = [];
    this.isFinished = false;
    this.take();
    this.update();
    this.parts.view.map.getContainer().focus({ preventScroll: true });
  }

  private readonly finishing = (): void => this.finish();

  /** No more places are set; those that are can still be moved. */
  private finish(): void {
    if (this.isFinished || this.markers.length < 2) return;
    this.isFinished = true;
    this.parts.view.take = undefined;
    this.parts.view.map.getContainer().classList.remove("measuring");
    this.update();
  }

  private readonly key = (event: KeyboardEvent): void => {
    const { map } = this.parts.view;
    const target = event.target as HTMLElement;
    const marker = this.markers.find((one) => one.getElement() === target);
    const isHere =
      target === map.getContainer() ||
      marker !== undefined ||
      this.element.contains(target) ||
      target === document.body;
    if (!isHere || event.defaultPrevented) return;
    if (event.key === "Escape") this.close();
    else if (event.key === "Enter" && event.shiftKey) this.finish();
    else if ((event.key === "Delete" || event.key === "Backspace") && !this.element.contains(target))
      this.remove(marker ?? this.markers.at(-1));
    else if (marker && event.key.startsWith("Arrow")) {
      const step = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
      if (!step) return;
      const at = map
        .latLngToContainerPoint(marker.getLatLng())
        .add([step[0]! * stepPixels, step[1]! * stepPixels]);
      marker.setLatLng(map.containerPointToLatLng(at));
      this.update();
    } else return;
    event.preventDefault();
    event.stopPropagation();
  };

  private update(): void {
    const { locale } = this.parts;
    const { t } = locale;
    const { places } = this;
    const isArea = this.kind === "area" && places.length > 2;
    const ring = isArea
      ? [...places, [places[0]![0], nearest(places[0]![1], places.at(-1)![1])] as const]
      : places;
    const shown = ring.slice(1).flatMap((place, index) => greatCircle(ring[index]!, place));
    const latlngs = (shown.length > 0 ? shown : places).map(([lat, lon]) => L.latLng(lat, lon));
    this.line.setLatLngs(latlngs);
    this.casing.setLatLngs(latlngs);
    this.area.setLatLngs(isArea ? latlngs : []);
    const length = lengthText(lengthOf(ring), locale);
    this.result.textContent = isArea ? areaText(areaOf(places), locale) : this.kind === "area" ? "—" : length;
    this.more.textContent = isArea ? t("perimeter", { length }) : "";
    this.hint.hidden = this.isFinished;
    this.finishButton.disabled = this.isFinished || places.length < 2;
    this.undoButton.disabled = places.length === 0;
  }
}

import type { Translate } from "./texts.js";
import type { Toasts } from "./toasts.js";

/**
 * Shows where the user is, with the circle in which that is likely. The map follows until it is moved; then the position stays
 * shown, and the button follows again. Pressed while it follows, it stops.
 */
export class MyPosition {
  private watch: number | undefined;
  private shown: { readonly dot: L.CircleMarker; readonly circle: L.Circle } | undefined;
  private isFollowing = false;
  private button: HTMLElement | undefined;

  constructor(
    private readonly map: L.Map,
    private readonly t: Translate,
    private readonly toasts: Toasts,
  ) {
    map.on("dragstart", () => this.follow(false));
    map.getContainer().addEventListener("keydown", (event) => {
      if (event.key.startsWith("Arrow")) this.follow(false);
    });
  }

  press(button: HTMLElement): void {
    this.button = button;
    if (this.isFollowing) {
      this.stop();
      return;
    }
    this.follow(true);
    if (this.watch !== undefined) {
      if (this.shown) this.map.flyTo(this.shown.dot.getLatLng(), this.map.getZoom(), { duration: 0.6 });
      return;
    }
    this.toasts.show(this.t("locating"));
    this.watch = navigator.geolocation.watchPosition(
      (position) => this.found(position),
      (error) => this.failed(error),
      { enableHighAccuracy: true, timeout: 15_000, maximumAge: 5_000 },
    );
  }

  private follow(isFollowing: boolean): void {
    this.isFollowing = isFollowing;
    this.label();
  }

  private label(): void {
    if (!this.button) return;
    const label = this.t(
      this.isFollowing ? "stopLocating" : this.watch === undefined ? "locate" : "followMe",
    );
    this.button.setAttribute("aria-pressed", String(this.isFollowing));
    this.button.setAttribute("aria-label", label);
    this.button.title = label;
    this.button.classList.toggle("on", this.watch !== undefined);
  }

  private found({ coords }: GeolocationPosition): void {
    const at = L.latLng(coords.latitude, coords.longitude);
    // In the copy of the world that is looked at.
    at.lng += 360 * Math.round((this.map.getCenter().lng - at.lng) / 360);
    if (this.shown) {
      this.shown.dot.setLatLng(at);
      this.shown.circle.setLatLng(at).setRadius(coords.accuracy);
      if (this.isFollowing) this.map.panTo(at);
    } else {
      this.shown = {
        circle: L.circle(at, { radius: coords.accuracy, className: "me-accuracy", interactive: false }),
        dot: L.circleMarker(at, { radius: 7, className: "me", interactive: false }),
      };
      this.shown.circle.addTo(this.map);
      this.shown.dot.addTo(this.map);
      if (this.isFollowing) this.map.flyTo(at, Math.max(this.map.getZoom(), 13), { duration: 1 });
    }
    this.label();
  }

  private failed(error: GeolocationPositionError): void {
    // A position that was found stays; the next one may come.
    if (this.shown && error.code !== error.PERMISSION_DENIED) return;
    this.stop();
    this.toasts.show(this.t(error.code === error.PERMISSION_DENIED ? "locateDenied" : "locateFailed"), "bad");
  }

  private stop(): void {
    if (this.watch !== undefined) navigator.geolocation.clearWatch(this.watch);
    this.watch = undefined;
    this.shown?.dot.remove();
    this.shown?.circle.remove();
    this.shown = undefined;
    this.follow(false);
  }
}

import type { TileSource } from "./tile-source.js";

/** Keeps the first picture over the map until the map has its tiles. */

/** The tiles of the map fade in for 200 ms. */
const fadeMs = 250;

/** The map stands on whole pixels. */
const degreesOfPixel = (zoom: number): number => 360 / (256 * 2 ** zoom);

export class FirstCover {
  private picture = globalThis.firstPicture;

  constructor(private readonly map: L.Map) {
    globalThis.firstPicture = undefined;
    if (this.picture) map.getContainer().after(this.picture.element);
  }

  /** When its tiles were asked for, in milliseconds since the page was opened; undefined = there are none. */
  get since(): number | undefined {
    return this.picture?.since;
  }

  /** The map shows these from now on, which may be something else, or elsewhere. */
  showing(sources: readonly TileSource[]): void {
    if (!this.picture) return;
    const { view, source } = this.picture;
    const [shown, more] = sources;
    const isSame =
      shown?.path === source.path &&
      shown.query === source.query &&
      !more &&
      this.map.getZoom() === view.zoom &&
      Math.abs(this.map.getCenter().lng - view.lon) < degreesOfPixel(view.zoom);
    if (isSame) this.map.once("movestart move zoomstart", () => this.end());
    else this.end();
  }

  /** All tiles of the map are there. */
  complete(): void {
    if (this.picture) window.setTimeout(() => this.end(), fadeMs);
  }

  end(): void {
    this.picture?.element.remove();
    this.picture = undefined;
  }
}

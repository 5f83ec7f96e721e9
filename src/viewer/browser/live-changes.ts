import { withQuery } from "./paths.js";

/** What changes in the open map while it is looked at, as the server tells it. */

/** West, south, east, north in degrees. */
export type ChangedArea = readonly [number, number, number, number];

export interface LiveEvents {
  /** Objects of these layers changed in these areas; undefined = of any, or anywhere. */
  changed(areas: readonly ChangedArea[] | undefined, layers: readonly number[] | undefined): void;
  /** Layers, styles or rights changed. */
  mapChanged(): void;
  /** They may have changed while nothing was heard. */
  mapUnwatched(): void;
  /** The session may have ended. */
  sessionDoubtful(): void;
}

/** After the server refused, as when too many maps are open. */
const restMs = 30_000;
/** As the server takes it. */
const mostSeconds = 600;

export class LiveChanges {
  private url: string | undefined;
  /** When the tiles that are shown were asked for, in milliseconds since the page was opened. */
  private shownSince = 0;
  private state: () => string | undefined = () => undefined;
  private source: EventSource | undefined;
  private resting: number | undefined;

  constructor(private readonly events: LiveEvents) {
    // A browser has few connections to a server, which the page that is seen needs.
    document.addEventListener("visibilitychange", () => {
      if (document.hidden) this.disconnect();
      else this.reconnect();
    });
  }

  /**
   * @param url of the map's changes
   * @param shownSince when the first tiles were asked for, in milliseconds since the page was opened
   * @param state of the map whose layers are shown, as the server names it
   */
  open(url: string, shownSince: number, state: () => string | undefined): void {
    if (url === this.url) return;
    this.disconnect();
    this.url = url;
    this.state = state;
    this.shownSince = shownSince;
    if (!document.hidden) this.connect();
  }

  close(): void {
    this.disconnect();
    this.url = undefined;
  }

  private connect(): void {
    const { url } = this;
    if (url === undefined || this.source) return;
    const seconds = Math.min(mostSeconds, Math.ceil((performance.now() - this.shownSince) / 1000) + 1);
    const asked = withQuery("", { recent: seconds, state: this.state() }).slice(1);
    const source = new EventSource(`${url}${url.includes("?") ? "&" : "?"}${asked}`);
    this.source = source;
    source.addEventListener("change", (event: MessageEvent<string>) => {
      const { areas, layers } = JSON.parse(event.data) as {
        readonly areas: readonly ChangedArea[] | null;
        readonly layers: readonly number[];
      };
      this.events.changed(areas ?? undefined, layers);
    });
    source.addEventListener("map", () => this.events.mapChanged());
    source.addEventListener("session", () => this.events.sessionDoubtful());
    source.addEventListener("error", () => {
      // Else the browser comes back by itself, and names the last event that it has seen.
      if (source.readyState !== EventSource.CLOSED || this.source !== source) return;
      this.disconnect();
      this.events.sessionDoubtful();
      this.resting = window.setTimeout(() => this.reconnect(), restMs);
    });
  }

  /** After a time in which nothing was heard. */
  private reconnect(): void {
    if (this.url === undefined || this.source) return;
    this.disconnect();
    // All tiles are looked at again.
    this.shownSince = performance.now();
    this.connect();
    this.events.mapUnwatched();
    this.events.changed(undefined, undefined);
  }

  private disconnect(): void {
    window.clearTimeout(this.resting);
    this.source?.close();
    this.source = undefined;
  }
}

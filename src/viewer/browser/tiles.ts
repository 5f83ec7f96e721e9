/** The tile layers of the map: failed tiles are retried, and changes do not flicker. */

export interface TileSource {
  readonly path: string;
  /** The rest of the query after x, y and z, beginning with &. */
  readonly query: string;
}

export interface TileEvents {
  /** Whether tiles are being loaded. */
  loading(isLoading: boolean): void;
  /** A tile failed after all retries. */
  failed(): void;
}

const attempts = 4;
const firstPauseMs = 600;

class RetryingTiles extends L.TileLayer {
  private readonly retryTimers = new WeakMap<HTMLElement, number>();

  constructor(
    private readonly source: TileSource,
    zIndex: number,
  ) {
    super("", { maxZoom: 22, zIndex, keepBuffer: 3, updateWhenZooming: false });
    this.on("tileunload", (event: L.TileEvent) => window.clearTimeout(this.retryTimers.get(event.tile)));
  }

  /** The API counts y from the bottom (TMS). */
  override getTileUrl({ x, y, z }: L.Coords): string {
    return `${this.source.path}?x=${x}&y=${2 ** z - 1 - y}&z=${z}${this.source.query}`;
  }

  override createTile(coords: L.Coords, done: L.DoneCallback): HTMLElement {
    const tile = document.createElement("img");
    const url = this.getTileUrl(coords);
    let attempt = 1;
    tile.alt = "";
    tile.onload = () => done(undefined, tile);
    tile.onerror = () => {
      if (attempt === attempts) {
        done(new Error("the tile could not be loaded"), tile);
        return;
      }
      const pause = firstPauseMs * 2 ** (attempt - 1) * (0.75 + Math.random() / 2);
      attempt += 1;
      this.retryTimers.set(
        tile,
        window.setTimeout(() => {
          tile.src = url;
        }, pause),
      );
    };
    tile.src = url;
    return tile;
  }
}

export class MapTiles {
  private source: TileSource | undefined;
  private current: RetryingTiles | undefined;
  /** Previous layers, shown until the current one is complete. */
  private previous: RetryingTiles[] = [];
  private zIndex = 1;

  constructor(
    private readonly map: L.Map,
    private readonly events: TileEvents,
  ) {}

  /** Changes the tile source; the old tiles stay below until the new ones are loaded. */
  show(source: TileSource): void {
    if (this.source?.path === source.path && this.source.query === source.query) return;
    if (this.source && this.source.path !== source.path) this.clear();
    this.source = source;
    if (this.current) this.previous.push(this.current);
    // Keeps only the oldest previous layer, which is the most complete.
    for (const unfinished of this.previous.splice(1)) unfinished.remove();
    this.zIndex += 1;
    const tiles = new RetryingTiles(source, this.zIndex);
    this.current = tiles;
    tiles.on("loading", () => this.events.loading(true));
    tiles.on("load", () => {
      if (this.current !== tiles) return;
      this.events.loading(false);
      // The new tiles fade in over the old ones for 200 ms.
      window.setTimeout(() => {
        if (this.current === tiles) for (const old of this.previous.splice(0)) old.remove();
      }, 250);
    });
    tiles.on("tileerror", () => this.events.failed());
    tiles.addTo(this.map);
  }

  clear(): void {
    for (const tiles of this.previous.splice(0)) tiles.remove();
    this.current?.remove();
    this.current = undefined;
    this.source = undefined;
    this.events.loading(false);
  }
}

/** The map's picture: tiles that are asked for again when the server was busy, changed without flicker. */

export interface TileSource {
  readonly path: string;
  /** What follows x, y and z in the query, with the & before it. */
  readonly query: string;
}

export interface PictureEvents {
  /** Whether tiles are on their way. */
  loading(isLoading: boolean): void;
  /** A tile did not come, however often it was asked for. */
  failed(): void;
}

const attempts = 4;
const firstPauseMs = 600;

class RetryingTiles extends L.TileLayer {
  private readonly pauses = new WeakMap<HTMLElement, number>();

  constructor(
    private readonly source: TileSource,
    zIndex: number,
  ) {
    super("", { maxZoom: 22, zIndex, keepBuffer: 3, updateWhenZooming: false });
    this.on("tileunload", (event: L.TileEvent) => window.clearTimeout(this.pauses.get(event.tile)));
  }

  /** The contract's address; its y counts from the bottom. */
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
        done(new Error("the tile did not come"), tile);
        return;
      }
      const pause = firstPauseMs * 2 ** (attempt - 1) * (0.75 + Math.random() / 2);
      attempt += 1;
      this.pauses.set(
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

export class MapPicture {
  private source: TileSource | undefined;
  private current: RetryingTiles | undefined;
  /** Pictures that stay until the current one is complete. */
  private outgoing: RetryingTiles[] = [];
  private zIndex = 1;

  constructor(
    private readonly map: L.Map,
    private readonly events: PictureEvents,
  ) {}

  /** Changes the picture; the old one stays below until the new one is there. */
  show(source: TileSource): void {
    if (this.source?.path === source.path && this.source.query === source.query) return;
    if (this.source && this.source.path !== source.path) this.clear();
    this.source = source;
    if (this.current) this.outgoing.push(this.current);
    // An unfinished picture has nothing to hold the place with, unless it is all that there is.
    for (const unfinished of this.outgoing.splice(1)) unfinished.remove();
    this.zIndex += 1;
    const tiles = new RetryingTiles(source, this.zIndex);
    this.current = tiles;
    tiles.on("loading", () => this.events.loading(true));
    tiles.on("load", () => {
      if (this.current !== tiles) return;
      this.events.loading(false);
      // The new tiles fade in over the old ones for 200 ms.
      window.setTimeout(() => {
        if (this.current === tiles) for (const old of this.outgoing.splice(0)) old.remove();
      }, 250);
    });
    tiles.on("tileerror", () => this.events.failed());
    tiles.addTo(this.map);
  }

  clear(): void {
    for (const tiles of this.outgoing.splice(0)) tiles.remove();
    this.current?.remove();
    this.current = undefined;
    this.source = undefined;
    this.events.loading(false);
  }
}

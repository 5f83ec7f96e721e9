import { attention, isAttended } from "./attention.js";
import type { ChangedArea } from "./live-changes.js";
import { columnOf, rowOf } from "./mercator.js";
import { type TilePost, type TileSource, tileAddress } from "./tile-source.js";

/** The tile layers of the map: failed tiles are retried, and changes do not flicker. */

export interface TileEvents {
  /** Whether tiles are being loaded. */
  loading(isLoading: boolean): void;
  /** A tile failed for the first time. */
  doubtful(): void;
  /** A tile failed several times, or again after that. It is tried again, at longer and longer intervals. */
  failed(): void;
  /** A tile came by a way that tells its headers. @param missing names of what it lacks, as it cannot be drawn just then */
  drawn(address: string, missing: string | undefined): void;
  /** No tile is missing any more. */
  complete(): void;
}

/** Failed attempts before the user is told. */
const attempts = 4;
const firstPauseMs = 600;
const longestPauseMs = 60_000;

/** Symbols and labels of what changed reach into tiles beside it. */
const reachTiles = 2;

/** Number of zooms by which a tile may be enlarged: its names are large then, but can be read. */
const readableZooms = 1;

class RetryingTiles extends L.TileLayer {
  /** Of Leaflet: the tiles of each zoom. */
  declare private readonly _levels: Readonly<Record<number, { readonly el: HTMLElement } | undefined>>;
  /** Tiles that failed, with what tries them again at once. */
  private readonly failing = new Map<HTMLElement, { readonly timer: number; readonly retry: () => void }>();
  /** Tiles that are loaded again; true = they have to be once more. */
  private readonly renewing = new Map<HTMLImageElement, boolean>();
  /** Have a later picture than the first that was asked for, which may come after it. */
  private readonly renewed = new WeakSet<HTMLImageElement>();
  /** The browser may have pictures that are not current any more. */
  private hasChanged: boolean;
  /** Ends what is asked for tiles that nobody will see. */
  private readonly gone = new AbortController();

  constructor(
    private readonly source: TileSource,
    zIndex: number,
    opacity: number,
    hasChanged: boolean,
  ) {
    super("", { maxZoom: 22, zIndex, opacity, keepBuffer: 3, updateWhenZooming: false });
    this.hasChanged = hasChanged;
    // Those that are still loading when another zoom is shown are aborted, and not unloaded.
    this.on("tileunload tileabort", (event) => {
      const { tile } = event as L.TileEvent;
      const wasFailing = this.failing.has(tile);
      this.forget(tile);
      if (wasFailing && this.failing.size === 0) this.fire("complete");
    });
    const online = () => {
      for (const [tile, { retry }] of [...this.failing]) {
        this.forget(tile);
        retry();
      }
    };
    this.on("add", () => window.addEventListener("online", online));
    this.on("remove", () => {
      window.removeEventListener("online", online);
      this.gone.abort();
    });
  }

  private forget(tile: HTMLElement): void {
    window.clearTimeout(this.failing.get(tile)?.timer);
    this.failing.delete(tile);
  }

  /** The picture as it is now, as the address of its bytes. @throws when it cannot be loaded */
  private async checked(url: string): Promise<string> {
    const { src, missing } = await checkedPicture(url, this.gone.signal, this.source.post);
    this.fire("drawn", { address: new URL(url, document.baseURI).href, missing });
    return src;
  }

  /** Leaflet calls this for each zoom of which tiles are shown, when another zoom comes. */
  _onUpdateLevel(zoom: number): void {
    const isHuge = zoom + readableZooms < (this._tileZoom ?? zoom);
    this._levels[zoom]?.el.classList.toggle("huge", isHuge);
  }

  override getTileUrl(coords: L.Coords): string {
    return tileAddress(this.source, coords);
  }

  /** Loads the tiles that are shown in these areas again; undefined = all. */
  renew(areas: readonly ChangedArea[] | undefined): void {
    // Objects without a place are on no tile.
    if (areas?.length === 0) return;
    this.hasChanged = true;
    for (const { el, coords } of Object.values(this._tiles)) {
      if (areas && !areas.some((area) => touches(area, coords))) continue;
      void this.renewTile(el as HTMLImageElement, coords);
    }
  }

  /** The whole addresses of its tiles. */
  addresses(): string[] {
    return Object.values(this._tiles).map(({ coords }) => this.addressOf(coords));
  }

  /** Loads the tiles of these addresses again. */
  renewAt(addresses: ReadonlySet<string>): void {
    this.hasChanged = true;
    for (const { el, coords } of Object.values(this._tiles))
      if (addresses.has(this.addressOf(coords))) void this.renewTile(el as HTMLImageElement, coords);
  }

  private addressOf(coords: L.Coords): string {
    return new URL(this.getTileUrl(coords), document.baseURI).href;
  }

  private async renewTile(tile: HTMLImageElement, coords: L.Coords): Promise<void> {
    if (this.renewing.has(tile)) {
      this.renewing.set(tile, true);
      return;
    }
    this.renewing.set(tile, false);
    try {
      const fresh = new Image();
      fresh.src = await this.checked(this.getTileUrl(coords));
      // Until it can be drawn, the old picture stays.
      await fresh.decode();
      this.renewed.add(tile);
      // It does not fade in, as it would if Leaflet heard of it. But of the first picture Leaflet has to hear.
      if (tile.classList.contains("leaflet-tile-loaded")) tile.onload = () => URL.revokeObjectURL(fresh.src);
      tile.src = fresh.src;
    } catch {
      // The next change or move tries it again.
    } finally {
      const again = this.renewing.get(tile);
      this.renewing.delete(tile);
      if (again && tile.isConnected) void this.renewTile(tile, coords);
    }
  }

  override createTile(coords: L.Coords, done: L.DoneCallback): HTMLElement {
    const tile = document.createElement("img");
    const url = this.getTileUrl(coords);
    const load = () => {
      if (!this.source.post && !this.hasChanged && isAttended() && window.isSecureContext) tile.src = url;
      else
        this.checked(url).then(
          (src) => {
            if (this.renewed.has(tile)) URL.revokeObjectURL(src);
            else tile.src = src;
          },
          () => this.renewed.has(tile) || tile.dispatchEvent(new Event("error")),
        );
    };
    let attempt = 1;
    tile.alt = "";
    tile.onload = () => {
      if (tile.src.startsWith("blob:")) URL.revokeObjectURL(tile.src);
      const hadFailed = attempt > 1;
      attempt = 1;
      this.forget(tile);
      done(undefined, tile);
      if (hadFailed && this.failing.size === 0) this.fire("complete");
    };
    tile.onerror = () => {
      if (!tile.isConnected) return; // it is not shown any more
      if (attempt === 1) this.fire("doubtful");
      if (attempt === attempts) done(new Error("the tile could not be loaded"), tile);
      if (attempt >= attempts) this.fire("failing");
      const pause = Math.min(longestPauseMs, firstPauseMs * 2 ** (attempt - 1)) * (0.75 + Math.random() / 2);
      attempt += 1;
      this.forget(tile);
      this.failing.set(tile, { timer: window.setTimeout(load, pause), retry: load });
    };
    load();
    return tile;
  }
}

/**
 * The picture as it is now, as the address of its bytes, with what it lacks. For a picture that it has shown, the browser would not ask the server
 * again, whatever that said.
 */
async function checkedPicture(
  url: string,
  signal: AbortSignal,
  post: TilePost | undefined,
): Promise<{ readonly src: string; readonly missing: string | undefined }> {
  const answer = await askTile(url, signal, post);
  if (!answer.ok) throw new Error(`${answer.status}`);
  const missing = answer.headers.get("x-tile-incomplete") ?? undefined;
  return { src: URL.createObjectURL(await answer.blob()), missing };
}

/** @throws AbortError, TypeError without an answer */
export const askTile = (url: string, signal: AbortSignal, post: TilePost | undefined): Promise<Response> =>
  post
    ? fetch(url, {
        ...{ method: "POST", body: post.body, signal },
        headers: { ...attention(), "content-type": "application/json" },
      })
    : fetch(url, { cache: "no-cache", headers: attention(), signal });

/** Whether a change in the area may be seen in the tile. */
function touches([west, south, east, north]: ChangedArea, { x, y, z }: L.Coords): boolean {
  const tiles = 2 ** z;
  if (y + 1 + reachTiles < rowOf(north, tiles) || y - reachTiles > rowOf(south, tiles)) return false;
  const width = columnOf(east, tiles) - columnOf(west, tiles) + 1 + 2 * reachTiles;
  // In any copy of the world.
  const first = columnOf(west, tiles) - 1 - reachTiles;
  return (((x - first) % tiles) + tiles) % tiles <= width;
}

export class MapTiles {
  private source: TileSource | undefined;
  private current: RetryingTiles | undefined;
  /** Previous layers, shown until the current one is complete. */
  private previous: RetryingTiles[] = [];
  /** Since the map was opened. What is tried comes before something that is saved. */
  private hasChanged = false;
  private zIndex: number;

  constructor(
    private readonly map: L.Map,
    private readonly events: TileEvents,
    /** Of the picture among those that lie over each other, from the lowest. */
    place = 0,
  ) {
    this.zIndex = place * 100_000;
  }

  /** Changes the tile source; the old tiles stay below until the new ones are loaded. */
  show(source: TileSource, opacity = 1): void {
    const before = this.source;
    if (before?.path === source.path && before.query === source.query && before.post === source.post) {
      this.current?.setOpacity(opacity);
      return;
    }
    if (this.source && this.source.path !== source.path) this.clear();
    this.source = source;
    if (source.post) this.hasChanged = true;
    if (this.current) this.previous.push(this.current);
    // Keeps only the oldest previous layer, which is the most complete.
    for (const unfinished of this.previous.splice(1)) unfinished.remove();
    this.zIndex += 1;
    const tiles = new RetryingTiles(source, this.zIndex, opacity, this.hasChanged);
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
    tiles.on("failing", () => this.events.failed());
    tiles.on("drawn", (event) => {
      const { address, missing } = event as L.LeafletEvent & { address: string; missing: string | undefined };
      this.events.drawn(address, missing);
    });
    tiles.on("doubtful", () => this.events.doubtful());
    tiles.on("complete", () => this.events.complete());
    tiles.addTo(this.map);
  }

  /** Shows what changed in these areas (undefined = anywhere), without a flicker. */
  renew(areas: readonly ChangedArea[] | undefined): void {
    this.hasChanged ||= areas?.length !== 0;
    this.current?.renew(areas);
  }

  /** Addresses of the tiles that it shows. */
  addresses(): string[] {
    return this.current?.addresses() ?? [];
  }

  /** Loads the tiles of these addresses again. */
  renewAt(addresses: ReadonlySet<string>): void {
    this.hasChanged = true;
    this.current?.renewAt(addresses);
  }

  clear(): void {
    for (const tiles of this.previous.splice(0)) tiles.remove();
    this.current?.remove();
    this.current = undefined;
    this.source = undefined;
    this.hasChanged = false;
    this.events.loading(false);
  }
}

/**
 * Which layers the shown tiles lack, as they cannot be drawn just then. The server says so of each tile in `Server-Timing`, the
 * only header of an image that scripts see. Browsers tell it on https only: elsewhere tiles are not loaded as images, and say it
 * by `drawn`. One of these tiles is loaded again from time to
 * time, since nobody keeps them and the server draws each anew; when it lacks nothing any more, the others are.
 */

export interface ShownTiles {
  /** Addresses of the tiles that are shown. */
  addresses(): string[];
  /** Loads the tiles of these addresses again. */
  renewAt(addresses: ReadonlySet<string>): void;
}

/** The name of the server's metric. Its description names the layers. */
const metric = "incomplete";
const firstPauseMs = 8_000;
const longestPauseMs = 64_000;
/** Tiles that are remembered; of more, those loaded longest ago are forgotten. */
const mostKnown = 500;

export class MissingLayers {
  /** Codes of layers by the addresses of tiles that lack them, those that were loaded longest ago first. */
  private readonly lacking = new Map<string, readonly string[]>();
  private told: ReadonlySet<string> = new Set();
  /** The address of the tile that is loaded again. */
  private tried: string | undefined;
  private timer: number | undefined;

  constructor(
    private readonly tiles: ShownTiles,
    private readonly tell: (codes: ReadonlySet<string>) => void,
  ) {
    new PerformanceObserver((list) => this.loaded(list.getEntries() as PerformanceResourceTiming[])).observe({
      type: "resource",
      buffered: true,
    });
  }

  /** Other tiles are shown, or the same have been loaded. */
  update(): void {
    const codes = new Set(this.shown().flatMap((address) => this.lacking.get(address) ?? []));
    if (codes.size === this.told.size && [...codes].every((code) => this.told.has(code))) return;
    this.told = codes;
    this.tell(codes);
    this.wait(firstPauseMs);
  }

  private loaded(entries: readonly PerformanceResourceTiming[]): void {
    for (const { name, serverTiming = [] } of entries) {
      const found = serverTiming.find((timing) => timing.name === metric);
      if (found || window.isSecureContext) this.note(name, found?.description);
    }
    this.update();
  }

  /** A tile has come by a way that tells its headers. @param missing what it lacks */
  drawn(address: string, missing: string | undefined): void {
    this.note(address, missing);
    this.update();
  }

  private note(address: string, missing: string | undefined): void {
    this.lacking.delete(address);
    if (missing) this.lacking.set(address, missing.split(", "));
    for (const name of [...this.lacking.keys()].slice(0, -mostKnown)) this.lacking.delete(name);
    if (address !== this.tried) return;
    this.tried = undefined;
    if (!missing) this.tiles.renewAt(new Set(this.shown()));
  }

  /** Those of the shown tiles that lack something. */
  private shown(): string[] {
    if (this.lacking.size === 0) return [];
    const addresses = new Set(this.tiles.addresses());
    return [...this.lacking.keys()].filter((address) => addresses.has(address));
  }

  private wait(pauseMs: number): void {
    window.clearTimeout(this.timer);
    if (this.told.size === 0) return;
    this.timer = window.setTimeout(
      () => {
        this.tried = this.shown()[0];
        if (this.tried !== undefined && !document.hidden) this.tiles.renewAt(new Set([this.tried]));
        this.wait(Math.min(longestPauseMs, 2 * pauseMs));
      },
      pauseMs * (0.75 + Math.random() / 2),
    );
  }
}

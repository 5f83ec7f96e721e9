import type { ChangedArea } from "./live-changes.js";
import type { ShownTiles } from "./missing-layers.js";
import type { TileSource } from "./tile-source.js";
import { MapTiles, type TileEvents } from "./tiles.js";

/** Pictures of a map that lie over each other: one, unless layers are translucent. */

export interface Picture {
  readonly source: TileSource;
  /** From 0 to 1. */
  readonly opacity: number;
}

export class TileStack implements ShownTiles {
  private readonly pictures: MapTiles[] = [];
  private readonly loading = new Set<number>();

  constructor(
    private readonly map: L.Map,
    private readonly events: TileEvents,
  ) {}

  /** Shows these pictures, from the lowest. */
  show(pictures: readonly Picture[]): void {
    for (const [place, { source, opacity }] of pictures.entries()) {
      this.pictures[place] ??= this.made(place);
      this.pictures[place].show(source, opacity);
    }
    for (const tiles of this.pictures.splice(pictures.length)) tiles.clear();
  }

  /** Shows what changed in these areas (undefined = anywhere), without a flicker. */
  renew(areas: readonly ChangedArea[] | undefined): void {
    for (const tiles of this.pictures) tiles.renew(areas);
  }

  addresses(): string[] {
    return this.pictures.flatMap((tiles) => tiles.addresses());
  }

  renewAt(addresses: ReadonlySet<string>): void {
    for (const tiles of this.pictures) tiles.renewAt(addresses);
  }

  clear(): void {
    this.show([]);
  }

  private made(place: number): MapTiles {
    const events: TileEvents = {
      loading: (isLoading) => {
        if (isLoading) this.loading.add(place);
        else this.loading.delete(place);
        this.events.loading(this.loading.size > 0);
      },
      doubtful: () => this.events.doubtful(),
      failed: () => this.events.failed(),
      complete: () => this.events.complete(),
      drawn: (address, missing) => this.events.drawn(address, missing),
    };
    return new MapTiles(this.map, events, place);
  }
}

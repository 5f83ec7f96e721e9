import { LRUCache } from "lru-cache";
import type { MapSource } from "../../src/hosts/messages.js";
import type { Mapnik, MapnikMap } from "./mapnik.js";

/**
 * Loaded Mapnik maps, kept by the hash of their XML. One map serves one render at a time, so each source has as
 * many of them as renders have run at once.
 */
export class LoadedMaps {
  private readonly idle: LRUCache<string, MapnikMap[]>;

  constructor(
    private readonly mapnik: Mapnik,
    sources: number,
  ) {
    this.idle = new LRUCache({ max: sources });
  }

  /** Lends a map to `work`; it comes back when the promise settles, unless it failed. */
  async use<T>(source: MapSource, work: (map: MapnikMap) => Promise<T>): Promise<T> {
    const map = this.idle.get(source.digest)?.pop() ?? this.load(source);
    const result = await work(map);
    const idle = this.idle.get(source.digest);
    if (idle) idle.push(map);
    else this.idle.set(source.digest, [map]);
    return result;
  }

  private load(source: MapSource): MapnikMap {
    const map = new this.mapnik.Map(256, 256);
    map.fromStringSync(source.xml, { strict: true });
    // Reads the font files once instead of at each render.
    map.loadFonts();
    return map;
  }
}

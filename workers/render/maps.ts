import { LRUCache } from "lru-cache";
import type { MapSource } from "../../src/hosts/messages.js";
import type { Mapnik, MapnikMap } from "./mapnik.js";

/**
 * Loaded Mapnik maps by the hash of their XML. One map serves one render at a time, so each source has as many maps
 * as renders have run at once.
 */
export class LoadedMaps {
  private readonly idle: LRUCache<string, MapnikMap[]>;

  constructor(
    private readonly mapnik: Mapnik,
    maxSources: number,
  ) {
    this.idle = new LRUCache({ max: maxSources });
  }

  /** Lends a map to `work`. It is kept for the next render unless `work` failed. */
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
    // Otherwise each render reads the font files.
    map.loadFonts();
    return map;
  }
}

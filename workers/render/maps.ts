import { LRUCache } from "lru-cache";
import type { MapSource } from "../../src/hosts/messages.js";
import { escapeXml } from "../../src/style/mapnik-xml.js";
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
    /** What the names of pictures in maps are relative to. */
    private readonly pictures: string,
  ) {
    this.idle = new LRUCache({ max: maxSources });
  }

  /** Lends a map to `work`. It is kept for the next render unless `work` failed. */
  async use<T>(source: MapSource, files: Files, work: (map: MapnikMap) => Promise<T>): Promise<T> {
    const map = this.idle.get(source.digest)?.pop() ?? this.load(source, files);
    const result = await work(map);
    const idle = this.idle.get(source.digest);
    if (idle) idle.push(map);
    else this.idle.set(source.digest, [map]);
    return result;
  }

  private load({ xml }: MapSource, files: Files): MapnikMap {
    const map = new this.mapnik.Map(256, 256);
    map.fromStringSync(withPaths(xml, files), { strict: true, base: this.pictures });
    // Otherwise each render reads the font files.
    map.loadFonts();
    return map;
  }
}

/** Files are open from when a map is loaded. */
type Files = Readonly<Record<string, string>>;

/** Texts of users are escaped, so this element is one of ours. */
const fileParameter = /(?<=<Parameter name="file">)[^<]*(?=<)/g;

const withPaths = (xml: string, files: Files): string =>
  xml.replace(fileParameter, (name) => {
    const path = Object.hasOwn(files, name) ? files[name] : undefined;
    if (path === undefined) throw new Error("The map shows an image that was not sent with it.");
    return escapeXml(path);
  });

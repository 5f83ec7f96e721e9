import { LRUCache } from "lru-cache";
import type { MapSource } from "../../src/hosts/messages.js";
import { escapeXml } from "../../src/style/mapnik-xml.js";
import { type Datasources, loadXml } from "./datasources.js";
import { takeApart } from "./layers.js";
import type { Mapnik, MapnikMap } from "./mapnik.js";
import type { Slots } from "./slots.js";

/** Memory of a loaded map: without layers, and for each character of its XML without datasources. */
const mapBytes = 8_000;
const bytesPerCharacter = 12;

interface Cost {
  readonly bytes: number;
  /** Whether drawing it takes long: each layer is a statement at least. */
  readonly isWide: boolean;
}
const wideLayers = 100;

/** Loaded maps of one source that are not in use. */
interface Idle extends Cost {
  readonly maps: readonly MapnikMap[];
}

export interface Loaded extends Cost {
  readonly map: MapnikMap;
}

/**
 * Loaded Mapnik maps by the hash of their XML, bounded in memory. One map serves one render at a time, so each source has
 * as many maps as renders have run at once.
 */
export class LoadedMaps {
  private readonly idle: LRUCache<string, Idle>;

  constructor(
    private readonly mapnik: Mapnik,
    private readonly datasources: Datasources,
    /** Taken while Mapnik reads XML. */
    private readonly loader: Slots,
    bytes: number,
    /** What the names of pictures in maps are relative to. */
    private readonly pictures: string,
  ) {
    this.idle = new LRUCache({
      maxSize: bytes,
      sizeCalculation: (idle) => 1 + idle.maps.length * idle.bytes,
      dispose: ({ maps }, _digest, reason) => {
        if (reason !== "set") for (const map of maps) map.clear();
      },
    });
  }

  /** Lends a map to `work`. It is kept for the next render unless `work` failed. */
  async use<T>(source: MapSource, files: Files, work: (loaded: Loaded) => Promise<T>): Promise<T> {
    const loaded = this.taken(source.digest) ?? (await this.load(source, files));
    const result = await work(loaded);
    this.give(source.digest, loaded);
    return result;
  }

  private taken(digest: string): Loaded | undefined {
    const idle = this.idle.get(digest);
    const map = idle?.maps.at(-1);
    if (!idle || !map) return undefined;
    this.idle.set(digest, { ...idle, maps: idle.maps.slice(0, -1) });
    return { map, bytes: idle.bytes, isWide: idle.isWide };
  }

  private give(digest: string, { map, ...cost }: Loaded): void {
    this.idle.set(digest, { maps: [...(this.idle.get(digest)?.maps ?? []), map], ...cost });
    // It alone is too large.
    if (!this.idle.has(digest)) map.clear();
  }

  private async load({ xml }: MapSource, files: Files): Promise<Loaded> {
    const { styles, layers, sources } = takeApart(withPaths(xml, files));
    const shared = await this.datasources.get(sources.filter((source) => source !== undefined));
    const map = new this.mapnik.Map(256, 256);
    await this.loader.run(async () => {
      await loadXml(map, styles, { base: this.pictures, strict: true });
      if (sources.length === 0) return;
      const rest = new this.mapnik.Map(256, 256);
      // Not strictly, as the styles of the layers are elsewhere.
      await loadXml(rest, layers, { base: this.pictures, strict: false });
      for (const [index, source] of sources.entries()) {
        const layer = rest.get_layer(index);
        if (source !== undefined) layer.datasource = shared.get(source)!;
        map.add_layer(layer);
      }
      rest.clear();
    });
    // Otherwise each render reads the font files.
    map.loadFonts();
    return {
      map,
      bytes: mapBytes + bytesPerCharacter * (styles.length + layers.length),
      isWide: sources.length >= wideLayers,
    };
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

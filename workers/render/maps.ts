import { statSync } from "node:fs";
import { isAbsolute, join } from "node:path";
import { LRUCache } from "lru-cache";
import type { MapSource } from "../../src/hosts/messages.js";
import { escapeXml, xmlOf } from "../../src/style/mapnik-xml.js";
import { bytesOfSource, type Datasources, loadXml } from "./datasources.js";
import { type LayerXml, takeApart } from "./layers.js";
import type { Mapnik, MapnikLayer, MapnikMap } from "./mapnik.js";
import { GivenUp, type Slots } from "./slots.js";

/** Memory of a loaded map: without layers, and for each character of its XML without datasources. */
const mapBytes = 8_000;
const bytesPerCharacter = 12;
/** Drawing as many layers takes long: each is a statement at least. */
const wideLayers = 100;

/** A map with its styles, and the layers that it can show. */
interface Loaded {
  readonly map: MapnikMap;
  readonly parts: readonly LayerXml[];
  readonly layers: readonly MapnikLayer[];
  readonly bytes: number;
  /** Indices of the layers that have their datasource. */
  readonly ready: Set<number>;
  /** Indices of the layers that the map has now. */
  shown: readonly number[];
}

/** What is drawn of a map. */
export interface Use {
  readonly source: MapSource;
  /** Paths by the names that the map has for files. They are open from when the map is loaded. */
  readonly files?: Readonly<Record<string, string>> | undefined;
  /** Names of layers that are left out. */
  readonly without?: readonly string[] | undefined;
}

/**
 * Loaded Mapnik maps by the hash of their XML, bounded in memory. One map serves one render at a time, so each source has
 * as many maps as renders have run at once. Layers are loaded when they are first drawn.
 */
export class LoadedMaps {
  /** Those that are not in use. */
  private readonly idle: LRUCache<string, readonly Loaded[]>;

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
      sizeCalculation: (maps) => maps.reduce((sum, { bytes }) => sum + bytes, 1),
      dispose: (maps, _digest, reason) => {
        if (reason !== "set") for (const { map } of maps) map.clear();
      },
    });
  }

  /** Lends a map to `work`. It is kept for the next render unless `work` failed. */
  async use<T>(use: Use, work: (map: MapnikMap, isWide: boolean) => Promise<T>): Promise<T> {
    const { digest } = use.source;
    const loaded = this.taken(digest) ?? (await this.load(use));
    let result: T;
    try {
      await this.show(loaded, use.without ?? []);
      result = await work(loaded.map, loaded.shown.length >= wideLayers);
    } catch (error) {
      if (error instanceof GivenUp) this.keep(digest, loaded);
      else loaded.map.clear();
      throw error;
    }
    this.keep(digest, loaded);
    return result;
  }

  private keep(digest: string, loaded: Loaded): void {
    const idle = [...(this.idle.get(digest) ?? []), loaded];
    this.idle.set(digest, idle);
    // They are too large together, and were let go without `dispose`.
    if (!this.idle.has(digest)) for (const { map } of idle) map.clear();
  }

  private taken(digest: string): Loaded | undefined {
    const maps = this.idle.get(digest);
    const last = maps?.at(-1);
    if (maps && last) this.idle.set(digest, maps.slice(0, -1));
    return last;
  }

  private async load({ source, files = {} }: Use): Promise<Loaded> {
    const map = new this.mapnik.Map(256, 256);
    const fonts = this.withFonts(map, xmlOf(source));
    const { styles, layers, parts } = takeApart(withPaths(fonts.xml, files));
    const all = new this.mapnik.Map(256, 256);
    await this.loader.run(async () => {
      await loadXml(map, styles, { base: this.pictures, strict: true });
      // Not strictly, as the styles of the layers are elsewhere.
      if (layers !== "") await loadXml(all, layers, { base: this.pictures, strict: false });
    });
    // Otherwise each render reads the font files.
    map.loadFonts();
    const loaded: Loaded = {
      map,
      parts,
      layers: parts.map((_, index) => all.get_layer(index)),
      // With its datasources, which it keeps also when they are no longer shared with others.
      bytes:
        mapBytes +
        fonts.bytes +
        bytesPerCharacter * (styles.length + layers.length) +
        parts.reduce((sum, { source }) => sum + (source === undefined ? 0 : bytesOfSource(source)), 0),
      ready: new Set(),
      shown: [],
    };
    all.clear();
    return loaded;
  }

  /**
   * Gives the map the fonts of its project, which no other map sees.
   * @returns its XML without those that are not there, and the memory that they take
   */
  private withFonts(map: MapnikMap, xml: string): { readonly xml: string; readonly bytes: number } {
    let bytes = 0;
    const known = xml.replace(projectFont, (element, digest: string) => {
      const path = join(this.pictures, `${digest}.font`);
      if (!map.registerFonts(path)) return "";
      bytes += statSync(path).size;
      return element;
    });
    return { xml: known, bytes };
  }

  /** Gives the map its layers, from the bottom to the top. */
  private async show(loaded: Loaded, without: readonly string[]): Promise<void> {
    const { map, parts, layers, ready, shown } = loaded;
    const left = new Set(without);
    const wanted: number[] = [];
    for (const [index, { name }] of parts.entries()) if (!left.has(name)) wanted.push(index);
    const missing = wanted.filter((index) => parts[index]!.source !== undefined && !ready.has(index));
    if (missing.length > 0) {
      const sources = await this.datasources.get(missing.map((index) => parts[index]!.source!));
      for (const index of missing) {
        layers[index]!.datasource = sources.get(parts[index]!.source!)!;
        ready.add(index);
      }
    }
    if (wanted.length === shown.length && wanted.every((index, at) => shown[at] === index)) return;
    // The last first, so that no other has to move.
    for (let at = shown.length - 1; at >= 0; at--) map.remove_layer(at);
    for (const index of wanted) map.add_layer(layers[index]!);
    loaded.shown = wanted;
  }
}

/** Texts of users are escaped, so these elements are ours. */
const projectFont = /<Font face-name="([0-9a-f]{64}) Regular"\/>/g;
const fileParameter = /(?<=<Parameter name="file">)[^<]*(?=<)/g;

const withPaths = (xml: string, files: NonNullable<Use["files"]>): string =>
  xml.replace(fileParameter, (name) => {
    const path = Object.hasOwn(files, name) ? files[name] : undefined;
    if (path === undefined) throw new Error("The map shows an image that was not sent with it.");
    // Mapnik would look for it beneath the pictures.
    if (!isAbsolute(path)) throw new Error(`The path of an image is not absolute: ${path}`);
    return escapeXml(path);
  });

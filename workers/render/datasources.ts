import { LRUCache } from "lru-cache";
import type { LoadingServer } from "./database/server.js";
import type { Mapnik, MapnikDatasource, MapnikMap } from "./mapnik.js";
import type { Slots } from "./slots.js";

/** Layers that are loaded at a time, so that other maps get their turn between them. */
const batch = 50;
/** Memory of a datasource besides its texts, which it has several times. */
const sourceBytes = 4_000;
const copies = 6;
/** Memory of the datasource of an element. */
export const bytesOfSource = (element: string): number => sourceBytes + copies * element.length;
/** A while after layers were loaded, connections that came in between are replaced by direct ones. */
const restMs = 1_000;
/** Most connections that are replaced then: more than renders can have. */
const mostReplaced = 64;

/** Of the pool of connections that all datasources of layers use: Mapnik has one for each time limit. */
const anyDatasource = `<Datasource>${Object.entries({
  type: "postgis",
  table: "(select null::geometry as geom$) as layer$",
  geometry_field: "geom$",
  srid: "3857",
  connect_timeout: "5",
})
  .map(([name, value]) => `<Parameter name="${name}">${value}</Parameter>`)
  .join("")}</Datasource>`;

/** Loaded datasources by the XML of their elements. Maps share them, so that a changed map loads what changed. */
export class Datasources {
  private readonly known: LRUCache<string, MapnikDatasource>;
  private resting: NodeJS.Timeout | undefined;

  constructor(
    private readonly mapnik: Mapnik,
    /** Taken for each batch. */
    private readonly loader: Slots,
    private readonly server: LoadingServer,
    bytes: number,
  ) {
    this.known = new LRUCache({
      maxSize: bytes,
      sizeCalculation: (_source, xml) => bytesOfSource(xml),
    });
  }

  /** The datasources by their elements. @throws what Mapnik says of one that cannot be loaded */
  async get(elements: Iterable<string>): Promise<ReadonlyMap<string, MapnikDatasource>> {
    const found = new Map<string, MapnikDatasource>();
    const missing: string[] = [];
    for (const element of new Set(elements)) if (!this.find(element, found)) missing.push(element);
    while (missing.length > 0) {
      const next = missing.splice(0, batch);
      await this.loader.run(async () => {
        // Another map may have loaded some meanwhile.
        const rest = next.filter((element) => !this.find(element, found));
        const loaded = await this.server.during(() => this.load(rest));
        for (const [index, element] of rest.entries()) {
          found.set(element, loaded[index]!);
          this.known.set(element, loaded[index]!);
        }
      });
      this.restLater();
    }
    return found;
  }

  private find(element: string, found: Map<string, MapnikDatasource>): boolean {
    const source = this.known.get(element);
    if (source) found.set(element, source);
    return source !== undefined;
  }

  private async load(elements: readonly string[]): Promise<MapnikDatasource[]> {
    const layers = elements.map((element, index) => `<Layer name="${index}">${element}</Layer>`);
    const map = new this.mapnik.Map(1, 1);
    await loadXml(map, `<Map>${layers.join("")}</Map>`, { strict: true, base: "" });
    const sources = elements.map((_, index) => map.get_layer(index).datasource!);
    map.clear();
    return sources;
  }

  private restLater(): void {
    clearTimeout(this.resting);
    this.resting = setTimeout(() => {
      this.replaceConnections().catch(() => undefined);
    }, restMs);
    this.resting.unref();
  }

  /**
   * Mapnik keeps its connections, also those to the server that only serves while layers are loaded. It closes an idle one
   * for each datasource that it loads.
   */
  private async replaceConnections(): Promise<void> {
    for (let tries = 0; this.server.connections > 0 && tries < mostReplaced; tries++)
      await this.loader.run(() => this.load([anyDatasource]));
    this.server.rest();
  }
}

/** Loads the XML into the map, on another thread. */
export const loadXml = (
  map: MapnikMap,
  xml: string,
  options: { strict: boolean; base: string },
): Promise<void> =>
  new Promise((resolve, reject) => {
    map.fromString(xml, options, (error) => (error ? reject(error) : resolve()));
  });

import { createHash } from "node:crypto";
import { LRUCache } from "lru-cache";
import { tileBox } from "../../src/geo/tile.js";
import type { MapSource, MetatileRequest, MetatileResponse, RenderedTile } from "../../src/hosts/messages.js";
import type { Mapnik, MapnikImage, MapnikView } from "./mapnik.js";
import type { LoadedMaps } from "./maps.js";

/** Draws metatiles and cuts them into encoded tiles. */

const tilePixels = 256;
/** Decoded base metatiles of 1024 px take 4 MiB each. */
const baseBytes = 128 * 1024 ** 2;

export class MetatileRenderer {
  /** Pixels of base metatiles, shared by all maps over the same base map. */
  private readonly bases = new LRUCache<string, Buffer>({
    maxSize: baseBytes,
    sizeCalculation: (pixels) => pixels.length,
  });
  /** Encodings of one-colour tiles by side, encoding and colour. */
  private readonly solids = new LRUCache<string, RenderedTile>({ max: 512 });

  constructor(
    private readonly mapnik: Mapnik,
    private readonly maps: LoadedMaps,
  ) {}

  async render(request: MetatileRequest): Promise<MetatileResponse> {
    const started = performance.now();
    const image = await this.draw(request);
    const side = tilePixels * request.scale;
    const tiles: Promise<RenderedTile>[] = [];
    for (let row = 0; row < request.count; row++) {
      for (let column = 0; column < request.count; column++) {
        tiles.push(this.encode(image.view(column * side, row * side, side, side), side, request.encoding));
      }
    }
    return { tiles: await Promise.all(tiles), renderMs: performance.now() - started };
  }

  private async draw(request: MetatileRequest): Promise<MapnikImage> {
    const side = tilePixels * request.scale * request.count;
    if (!request.base) return this.paint(request, request.map, new this.mapnik.Image(side, side));
    const { origin, scale } = request;
    const key = `${request.base.digest} ${request.base.versions} ${origin.z}/${origin.x}/${origin.y} ${request.count} ${scale}`;
    let pixels = this.bases.get(key);
    if (!pixels) {
      const base = await this.paint(request, request.base, new this.mapnik.Image(side, side));
      pixels = base.data();
      this.bases.set(key, pixels);
    }
    // A copy, as Mapnik draws into the buffer that it is given. The base is opaque, so premultiplied and plain pixels
    // are the same, and the map can be drawn over it.
    return this.paint(
      request,
      request.map,
      this.mapnik.Image.fromBufferSync(side, side, Buffer.from(pixels)),
    );
  }

  private paint(request: MetatileRequest, source: MapSource, image: MapnikImage): Promise<MapnikImage> {
    return this.maps.use(
      source,
      (map) =>
        new Promise((resolve, reject) => {
          map.resize(image.width(), image.height());
          map.extent = tileBox(request.origin, request.count);
          map.bufferSize = request.bufferPixels * request.scale;
          map.render(
            image,
            { scale: request.scale, buffer_size: request.bufferPixels * request.scale },
            (error, drawn) => (error ? reject(error) : resolve(drawn)),
          );
        }),
    );
  }

  private async encode(view: MapnikView, side: number, encoding: string): Promise<RenderedTile> {
    if (!view.isSolidSync()) return renderedTile(await encode(view, encoding));
    const solid = view.getPixel(0, 0) >>> 0;
    const key = `${side} ${encoding} ${solid}`;
    const known = this.solids.get(key);
    if (known) return known;
    const tile = { ...renderedTile(await encode(view, encoding)), solid };
    this.solids.set(key, tile);
    return tile;
  }
}

const encode = (view: MapnikView, encoding: string): Promise<Buffer> =>
  new Promise((resolve, reject) => {
    view.encode(encoding, (error, bytes) => (error ? reject(error) : resolve(bytes)));
  });

function renderedTile(bytes: Buffer): RenderedTile {
  return { bytes, hash: createHash("sha1").update(bytes).digest("base64url").slice(0, 20) };
}

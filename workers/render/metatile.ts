import { createHash } from "node:crypto";
import { LRUCache } from "lru-cache";
import { metatileOf, tileBox } from "../../src/geo/tile.js";
import type {
  MetatilePart,
  MetatileRequest,
  MetatileResponse,
  PartImage,
  RenderedTile,
} from "../../src/hosts/messages.js";
import type { Mapnik, MapnikImage, MapnikView } from "./mapnik.js";
import type { LoadedMaps } from "./maps.js";
import type { Slots } from "./slots.js";

/** Draws metatiles and cuts them into encoded tiles. */

const tilePixels = 256;
/** Decoded base metatiles of 1024 px take 4 MiB each. */
const baseBytes = 128 * 1024 ** 2;

/** Tiles a side of the metatiles that parts are cut out of. */
const largerSizes = [4, 2];

type Square = Pick<MetatileRequest, "origin" | "count">;
type OnWait = (waits: boolean) => void;
type Drawing = MetatileRequest & { readonly onWait: OnWait };
type MapPart = Extract<MetatilePart, { kind: "map" }>;

export class MetatileRenderer {
  /** Pixels of first parts that are kept: base maps, shared by all maps over them. Multiplied by alpha. */
  private readonly bases = new LRUCache<string, Buffer>({
    maxSize: baseBytes,
    sizeCalculation: (pixels) => pixels.length,
  });
  /** Encodings of one-colour tiles by side, encoding and colour. */
  private readonly solids = new LRUCache<string, RenderedTile>({ max: 512 });
  /** Images that are being encoded: views of them do not keep their memory. */
  private readonly encoding = new Set<MapnikImage>();

  constructor(
    private readonly mapnik: Mapnik,
    private readonly maps: LoadedMaps,
    /** Taken while Mapnik draws. */
    private readonly renders: Slots,
  ) {}

  /** @param onWait called when it waits for a slot, and when that is over */
  async render(wanted: MetatileRequest, onWait: OnWait = () => undefined): Promise<MetatileResponse> {
    const started = performance.now();
    const request: Drawing = { ...wanted, onWait };
    const image = await this.draw(request);
    this.encoding.add(image);
    try {
      return { ...(await this.encodeAll(request, image)), renderMs: performance.now() - started };
    } finally {
      this.encoding.delete(image);
    }
  }

  private async encodeAll(
    request: Drawing,
    image: MapnikImage,
  ): Promise<Pick<MetatileResponse, "tiles" | "encoded">> {
    const side = tilePixels * request.scale;
    const tiles: Promise<RenderedTile>[] = [];
    let encoded = 0;
    const onEncode = () => void encoded++;
    for (let row = 0; row < request.count; row++) {
      for (let column = 0; column < request.count; column++) {
        const view = image.view(column * side, row * side, side, side);
        tiles.push(this.encode(view, side, request.encoding, onEncode));
      }
    }
    return { tiles: await Promise.all(tiles), encoded };
  }

  /** Draws the parts one over the other. Between them colours are multiplied by alpha, as Mapnik needs them. */
  private async draw(request: Drawing): Promise<MapnikImage> {
    const side = tilePixels * request.scale * request.count;
    let canvas: MapnikImage | undefined;
    for (const [index, part] of request.parts.entries()) {
      if (canvas) canvas = await premultiplied(canvas);
      if (part.kind === "image") canvas = await this.overlay(canvas, part.image, side);
      else if (part.keep !== undefined && !canvas) {
        const pixels = await this.kept(request, part, part.keep, side);
        // A copy where Mapnik draws into the buffer that it is given.
        const canBeShared = isApart(request.parts[index + 1]);
        canvas = this.image(side, canBeShared ? pixels : Buffer.from(pixels), { premultiplied: true });
      } else if (canvas && isApart(part)) {
        const below = canvas;
        const own = await premultiplied(await this.paint(request, part, new this.mapnik.Image(side, side)));
        canvas = await changed(own, (done) =>
          own.composite(below, { comp_op: this.mapnik.compositeOp.dst_over }, done),
        );
      } else canvas = await this.paint(request, part, canvas ?? new this.mapnik.Image(side, side));
    }
    if (!canvas) return new this.mapnik.Image(side, side);
    return canvas.premultiplied() ? changed(canvas, (done) => canvas.demultiply(done)) : canvas;
  }

  /** The pixels of a first part, which are kept: others read them too. */
  private async kept(request: Drawing, part: MapPart, state: string, side: number): Promise<Buffer> {
    const keyOf = ({ origin, count }: Square) =>
      `${part.map.digest} ${state} ${origin.z}/${origin.x}/${origin.y} ${count} ${request.scale} ${request.bufferPixels}`;
    const key = keyOf(request);
    let pixels = this.bases.get(key) ?? this.cutOut(request, keyOf);
    if (!pixels) {
      const drawn = await this.paint(request, part, new this.mapnik.Image(side, side));
      pixels = (await premultiplied(drawn)).data();
      this.bases.set(key, pixels);
    }
    return pixels;
  }

  /** The pixels of a part of a larger metatile that is kept. */
  private cutOut(
    part: Square & { readonly scale: number },
    keyOf: (square: Square) => string,
  ): Buffer | undefined {
    for (const size of largerSizes) {
      const whole = metatileOf(part.origin, size);
      const pixels = whole.count > part.count ? this.bases.get(keyOf(whole)) : undefined;
      if (!pixels) continue;
      const bytes = 4 * tilePixels * part.scale;
      const [left, top] = [part.origin.x - whole.origin.x, part.origin.y - whole.origin.y];
      const [row, wholeRow] = [bytes * part.count, bytes * whole.count];
      const rows = tilePixels * part.scale * part.count;
      const cut = Buffer.allocUnsafe(row * rows);
      for (let line = 0; line < rows; line++) {
        const start = (tilePixels * part.scale * top + line) * wholeRow + left * bytes;
        pixels.copy(cut, line * row, start, start + row);
      }
      return cut;
    }
    return undefined;
  }

  private async overlay(
    canvas: MapnikImage | undefined,
    { pixels, opacity = 1 }: PartImage,
    side: number,
  ): Promise<MapnikImage> {
    if (pixels.length !== 4 * side * side) throw new Error("An image has another size than its metatile.");
    const own = Buffer.from(pixels.buffer, pixels.byteOffset, pixels.length);
    const image = await premultiplied(this.image(side, own));
    if (!canvas && opacity === 1) return image;
    const below = canvas ?? this.image(side, Buffer.alloc(pixels.length), { premultiplied: true });
    return changed(below, (done) => below.composite(image, { opacity }, done));
  }

  private image(side: number, pixels: Buffer, options = { premultiplied: false }): MapnikImage {
    return this.mapnik.Image.fromBufferSync(side, side, pixels, options);
  }

  private paint(request: Drawing, part: MapPart, image: MapnikImage): Promise<MapnikImage> {
    return this.maps.use({ source: part.map, files: part.files, without: part.without }, (map, isWide) =>
      this.renders.run(
        () =>
          changed(image, (done) => {
            map.resize(image.width(), image.height());
            map.extent = tileBox(request.origin, request.count);
            map.bufferSize = request.bufferPixels * request.scale;
            map.render(
              image,
              { scale: request.scale, buffer_size: request.bufferPixels * request.scale },
              done,
            );
          }),
        { isLong: isWide, owner: request.owner, onWait: request.onWait },
      ),
    );
  }

  /** @param onEncode called unless the tile has the encoding of an earlier one */
  private async encode(
    view: MapnikView,
    side: number,
    encoding: string,
    onEncode: () => void,
  ): Promise<RenderedTile> {
    const encoded = async () => {
      onEncode();
      return renderedTile(await encode(view, encoding));
    };
    if (!view.isSolidSync()) return encoded();
    const solid = view.getPixel(0, 0) >>> 0;
    const key = `${side} ${encoding} ${solid}`;
    const known = this.solids.get(key);
    if (known) return known;
    const tile = { ...(await encoded()), solid };
    this.solids.set(key, tile);
    return tile;
  }
}

const isApart = (part: MetatilePart | undefined): boolean => part?.kind === "map" && part.isApart === true;

/** By an image, the one that keeps the buffer of its pixels, as long as it is there itself. */
const keepers = new WeakMap<MapnikImage, MapnikImage>();

/**
 * Calls one of Mapnik's asynchronous methods, which changes the image. It answers another object for the same pixels, which
 * does not keep a buffer that they are in.
 */
const changed = (
  image: MapnikImage,
  start: (done: (error: Error | null, image: MapnikImage) => void) => void,
): Promise<MapnikImage> =>
  new Promise((resolve, reject) => {
    start((error, result) => {
      if (error) return reject(error);
      keepers.set(result, image);
      resolve(result);
    });
  });

const premultiplied = async (image: MapnikImage): Promise<MapnikImage> =>
  image.premultiplied() ? image : changed(image, (done) => image.premultiply(done));

const encode = (view: MapnikView, encoding: string): Promise<Buffer> =>
  new Promise((resolve, reject) => {
    view.encode(encoding, (error, bytes) => (error ? reject(error) : resolve(bytes)));
  });

function renderedTile(bytes: Buffer): RenderedTile {
  return { bytes, hash: createHash("sha1").update(bytes).digest("base64url").slice(0, 20) };
}

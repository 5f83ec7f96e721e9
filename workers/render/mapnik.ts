import { createRequire } from "node:module";
import { join } from "node:path";

/** Types of the part of Mapnik that is used, and loading it with only the plugins and fonts that styles may use. */

const require = createRequire(import.meta.url);

export interface MapnikImage {
  width(): number;
  height(): number;
  /** RGBA, 4 bytes a pixel, row by row. */
  data(): Buffer;
  encode(format: string, callback: (error: Error | null, bytes: Buffer) => void): void;
  view(x: number, y: number, width: number, height: number): MapnikView;
  /** Whether colours are multiplied by alpha, as Mapnik needs them for drawing over them. */
  premultiplied(): boolean;
  premultiply(callback: ImageCallback): void;
  demultiply(callback: ImageCallback): void;
  /** Draws a premultiplied image over this one, which must be premultiplied too, or as the operation says. */
  composite(
    image: MapnikImage,
    options: { opacity?: number; comp_op?: number },
    callback: ImageCallback,
  ): void;
}
type ImageCallback = (error: Error | null, image: MapnikImage) => void;
export interface MapnikView {
  isSolidSync(): boolean;
  /** Pixel of a solid view as 0xAABBGGRR. */
  getPixel(x: number, y: number): number;
  encode(format: string, callback: (error: Error | null, bytes: Buffer) => void): void;
}
/** Shared by layers; its statements run on connections that all datasources share. */
export type MapnikDatasource = object;
export interface MapnikLayer {
  datasource: MapnikDatasource | null;
}
export interface MapnikMap {
  width: number;
  height: number;
  bufferSize: number;
  /** [xmin, ymin, xmax, ymax] in the map's reference system. */
  extent: readonly [number, number, number, number];
  /** Reads the XML on a thread of libuv's pool. */
  fromString(
    xml: string,
    options: { strict: boolean; base?: string },
    callback: (error: Error | null) => void,
  ): void;
  fromStringSync(xml: string, options: { strict: boolean; base?: string }): void;
  loadFonts(): void;
  /** Makes the fonts of a file or folder known to this map only. @returns whether there are any */
  registerFonts(path: string): boolean;
  /** A copy of the layer, which shares its datasource. */
  get_layer(index: number): MapnikLayer;
  /** Adds a copy of the layer over the others. */
  add_layer(layer: MapnikLayer): void;
  remove_layer(index: number): void;
  /** Frees what it holds, which the garbage collector does not know of. */
  clear(): void;
  resize(width: number, height: number): void;
  render(image: MapnikImage, options: { scale: number; buffer_size: number }, callback: ImageCallback): void;
}
export interface Mapnik {
  Map: new (width: number, height: number, srs?: string) => MapnikMap;
  Image: {
    new (width: number, height: number): MapnikImage;
    /** The image keeps the buffer and draws into it. */
    fromBufferSync(
      width: number,
      height: number,
      bytes: Buffer,
      options?: { premultiplied: boolean },
    ): MapnikImage;
    /** Decodes a PNG or WebP. */
    fromBytes(bytes: Buffer, callback: ImageCallback): void;
  };
  compositeOp: { readonly dst_over: number };
  registerDatasource(path: string): boolean;
  registerFonts(path: string, options?: { recurse: boolean }): boolean;
  fonts(): string[];
  Logger: { setSeverity(level: number): void; readonly NONE: number };
  settings: { paths: { input_plugins: string; fonts: string } };
}

/** Loads Mapnik; allowed in one thread of a process only. */
export function loadMapnik(): Mapnik {
  const mapnik = require("mapnik") as Mapnik;
  // Only the plugins of our datasources. That for images opens GeoTIFFs of our own: the environment leaves GDAL nothing else.
  // That for GeoJSON reads the made-up objects of symbols, which are texts in their maps.
  for (const plugin of ["postgis+pgraster", "gdal+ogr", "geojson"])
    mapnik.registerDatasource(join(mapnik.settings.paths.input_plugins, `${plugin}.input`));
  mapnik.registerFonts("/usr/share/fonts/truetype/dejavu", { recurse: true });
  // It would write unstructured lines to standard error, even harmless warnings (the built-in marker has no size in
  // pixels). Errors of a render are returned by the render.
  mapnik.Logger.setSeverity(mapnik.Logger.NONE);
  return mapnik;
}

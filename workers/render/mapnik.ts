import { createRequire } from "node:module";
import { join } from "node:path";

/** The part of Mapnik that we use, typed, with only the inputs and fonts registered that styles may reach. */

export interface MapnikImage {
  width(): number;
  height(): number;
  /** RGBA, 4 bytes a pixel, row by row. */
  data(): Buffer;
  view(x: number, y: number, width: number, height: number): MapnikView;
}
export interface MapnikView {
  isSolidSync(): boolean;
  /** Pixel of a solid view as 0xAABBGGRR. */
  getPixel(x: number, y: number): number;
  encode(format: string, callback: (error: Error | null, bytes: Buffer) => void): void;
}
export interface MapnikMap {
  width: number;
  height: number;
  bufferSize: number;
  /** [xmin, ymin, xmax, ymax] in the map's reference system. */
  extent: readonly [number, number, number, number];
  fromStringSync(xml: string, options: { strict: boolean; base?: string }): void;
  loadFonts(): void;
  resize(width: number, height: number): void;
  render(
    image: MapnikImage,
    options: { scale: number; buffer_size: number },
    callback: (error: Error | null, image: MapnikImage) => void,
  ): void;
}
export interface Mapnik {
  Map: new (width: number, height: number, srs?: string) => MapnikMap;
  Image: {
    new (width: number, height: number): MapnikImage;
    fromBufferSync(width: number, height: number, bytes: Buffer): MapnikImage;
  };
  registerDatasource(path: string): boolean;
  registerFonts(path: string, options?: { recurse: boolean }): boolean;
  fonts(): string[];
  Logger: { setSeverity(level: number): void; readonly NONE: number };
  settings: { paths: { input_plugins: string; fonts: string } };
}

/** Loads Mapnik; allowed in one thread of a process only. */
export function loadMapnik(): Mapnik {
  const mapnik = createRequire(import.meta.url)("mapnik") as Mapnik;
  // Only what our own datasources need: no plug-in that opens files or addresses.
  mapnik.registerDatasource(join(mapnik.settings.paths.input_plugins, "postgis+pgraster.input"));
  mapnik.registerFonts("/usr/share/fonts/truetype/dejavu", { recurse: true });
  // It writes lines of its own shape to the error output, some of them about nothing (the built-in marker has no
  // size in pixels). What goes wrong in a render comes as its error.
  mapnik.Logger.setSeverity(mapnik.Logger.NONE);
  return mapnik;
}

import type { SymbolRequest } from "../../src/hosts/messages.js";
import type { Mapnik, MapnikImage } from "./mapnik.js";
import type { LoadedMaps } from "./maps.js";
import type { Slots } from "./slots.js";

/** What draws symbols. */
export interface SymbolTools {
  readonly mapnik: Mapnik;
  readonly maps: LoadedMaps;
  /** Taken while Mapnik draws. */
  readonly renders: Slots;
  /** As for `Slots`. */
  readonly onWait: (waits: boolean) => void;
}

/** Draws a symbol of a legend as a PNG. */
export function drawSymbol(
  { mapnik, maps, renders, onWait }: SymbolTools,
  request: SymbolRequest,
): Promise<Buffer> {
  const { size, scale, extent } = request;
  return maps.use({ source: request.map, files: request.files }, async (map) => {
    map.resize(size, size);
    map.extent = extent;
    const drawn = await renders.run(
      () =>
        new Promise<MapnikImage>((resolve, reject) => {
          map.render(new mapnik.Image(size, size), { scale, buffer_size: map.bufferSize }, (error, image) =>
            error ? reject(error) : resolve(image),
          );
        }),
      { onWait },
    );
    return new Promise((resolve, reject) => {
      drawn.encode("png32:z=1", (error, bytes) => (error ? reject(error) : resolve(bytes)));
    });
  });
}

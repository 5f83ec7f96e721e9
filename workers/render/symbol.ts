import type { SymbolRequest } from "../../src/hosts/messages.js";
import type { Mapnik, MapnikImage } from "./mapnik.js";
import type { LoadedMaps } from "./maps.js";

/** Draws a symbol of a legend as a PNG. */
export function drawSymbol(mapnik: Mapnik, maps: LoadedMaps, request: SymbolRequest): Promise<Buffer> {
  const { size, scale, extent } = request;
  return maps.use({ source: request.map, files: request.files }, async (map) => {
    map.resize(size, size);
    map.extent = extent;
    const drawn = await new Promise<MapnikImage>((resolve, reject) => {
      map.render(new mapnik.Image(size, size), { scale, buffer_size: map.bufferSize }, (error, image) =>
        error ? reject(error) : resolve(image),
      );
    });
    return new Promise((resolve, reject) => {
      drawn.encode("png32:z=1", (error, bytes) => (error ? reject(error) : resolve(bytes)));
    });
  });
}

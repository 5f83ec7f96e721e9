import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type MercatorBox, type TileCoord, tileBox } from "../../src/geo/tile.js";
import { emptyPicture } from "../../src/tiles/dots.js";
import { loadMapnik, type MapnikMap, type MapnikView } from "../../workers/render/mapnik.js";
import { answerParent } from "../child.js";

/** The minimum work for a metatile: Mapnik renders it, and its tiles are encoded. Nothing is cached. */

export interface MapDefinition {
  readonly xml: string;
  readonly bufferPixels: number;
}
export interface DrawRequest {
  /** By zoom. */
  readonly maps: Readonly<Record<number, MapDefinition>>;
  readonly metatiles: readonly { readonly origin: TileCoord; readonly count: number }[];
  readonly concurrency: number;
}

const tilePixels = 256;
const mapnik = loadMapnik();
/** What the names of pictures in maps are relative to. */
const pictures = mkdtempSync(join(tmpdir(), "mapwright-bench-"));
writeFileSync(join(pictures, emptyPicture.name), emptyPicture.content);
process.on("exit", () => rmSync(pictures, { recursive: true, force: true }));
/** Loaded maps that are not in use, by their XML. */
const idle = new Map<string, MapnikMap[]>();

function load(xml: string): MapnikMap {
  const map = new mapnik.Map(tilePixels, tilePixels);
  map.fromStringSync(xml, { base: pictures, strict: true });
  map.loadFonts();
  return map;
}

async function draw(definition: MapDefinition, box: MercatorBox, count: number): Promise<void> {
  const map = idle.get(definition.xml)?.pop() ?? load(definition.xml);
  const side = tilePixels * count;
  const image = new mapnik.Image(side, side);
  map.resize(side, side);
  map.extent = box;
  map.bufferSize = definition.bufferPixels;
  await new Promise<void>((resolve, reject) => {
    map.render(image, { scale: 1, buffer_size: definition.bufferPixels }, (error) =>
      error ? reject(error) : resolve(),
    );
  });
  idle.set(definition.xml, [...(idle.get(definition.xml) ?? []), map]);
  const views = Array.from({ length: count * count }, (_, index) =>
    image.view((index % count) * tilePixels, Math.floor(index / count) * tilePixels, tilePixels, tilePixels),
  );
  await Promise.all(views.map(encode));
}

const encode = (view: MapnikView): Promise<Buffer> =>
  new Promise((resolve, reject) => {
    view.encode("png32:z=1", (error, bytes) => (error ? reject(error) : resolve(bytes)));
  });

answerParent<DrawRequest, { readonly seconds: number }>(async ({ maps, metatiles, concurrency }) => {
  const started = performance.now();
  let next = 0;
  const loop = async () => {
    for (let metatile = metatiles[next++]; metatile; metatile = metatiles[next++]) {
      const { origin, count } = metatile;
      await draw(maps[origin.z]!, tileBox(origin, count), count);
    }
  };
  await Promise.all(Array.from({ length: concurrency }, loop));
  return { seconds: (performance.now() - started) / 1000 };
});

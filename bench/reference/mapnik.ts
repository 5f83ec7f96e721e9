import { type MercatorBox, type TileCoord, tileBox } from "../../src/geo/tile.js";
import { loadMapnik, type MapnikMap, type MapnikView } from "../../workers/render/mapnik.js";
import { answerParent } from "../child.js";

/** The least that a process can do for a metatile: Mapnik draws it, and its tiles are encoded. Nothing is kept. */

export interface Sheet {
  readonly xml: string;
  readonly bufferPixels: number;
}
export interface DrawRequest {
  /** By zoom. */
  readonly sheets: Readonly<Record<number, Sheet>>;
  readonly metatiles: readonly { readonly origin: TileCoord; readonly count: number }[];
  readonly concurrency: number;
}

const tilePixels = 256;
const mapnik = loadMapnik();
/** Loaded maps that nobody draws with, by their XML. */
const idle = new Map<string, MapnikMap[]>();

function load(xml: string): MapnikMap {
  const map = new mapnik.Map(tilePixels, tilePixels);
  map.fromStringSync(xml, { strict: true });
  map.loadFonts();
  return map;
}

async function draw(sheet: Sheet, box: MercatorBox, count: number): Promise<void> {
  const map = idle.get(sheet.xml)?.pop() ?? load(sheet.xml);
  const side = tilePixels * count;
  const image = new mapnik.Image(side, side);
  map.resize(side, side);
  map.extent = box;
  map.bufferSize = sheet.bufferPixels;
  await new Promise<void>((resolve, reject) => {
    map.render(image, { scale: 1, buffer_size: sheet.bufferPixels }, (error) =>
      error ? reject(error) : resolve(),
    );
  });
  idle.set(sheet.xml, [...(idle.get(sheet.xml) ?? []), map]);
  const views = Array.from({ length: count * count }, (_, index) =>
    image.view((index % count) * tilePixels, Math.floor(index / count) * tilePixels, tilePixels, tilePixels),
  );
  await Promise.all(views.map(encode));
}

const encode = (view: MapnikView): Promise<Buffer> =>
  new Promise((resolve, reject) => {
    view.encode("png32:z=1", (error, bytes) => (error ? reject(error) : resolve(bytes)));
  });

answerParent<DrawRequest, { readonly seconds: number }>(async ({ sheets, metatiles, concurrency }) => {
  const started = performance.now();
  let next = 0;
  const loop = async () => {
    for (let metatile = metatiles[next++]; metatile; metatile = metatiles[next++]) {
      const { origin, count } = metatile;
      await draw(sheets[origin.z]!, tileBox(origin, count), count);
    }
  };
  await Promise.all(Array.from({ length: concurrency }, loop));
  return { seconds: (performance.now() - started) / 1000 };
});

import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import t from "tap";
import type { MetatileRequest } from "../../src/hosts/messages.js";
import type { Datasources } from "../../workers/render/datasources.js";
import { loadMapnik } from "../../workers/render/mapnik.js";
import { LoadedMaps } from "../../workers/render/maps.js";
import { MetatileRenderer } from "../../workers/render/metatile.js";
import { Slots } from "../../workers/render/slots.js";

/** The memory that a metatile is drawn into is not freed while it is drawn and encoded. */

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;

const mapnik = loadMapnik();
const noLayers: Pick<Datasources, "get"> = { get: async () => new Map() };
const count = 4;
const side = 256 * count;
const map = (digest: string) => ({
  kind: "map" as const,
  map: { digest, xml: [{ text: '<Map srs="epsg:3857"/>' }] },
});
const request = {
  ...{ origin: { z: 2, x: 0, y: 0 }, count, scale: 1, encoding: "png32:z=9", bufferPixels: 0 },
};
/** Of no tile one colour. */
const pixels = () =>
  Buffer.from(Array.from({ length: 4 * side * side }, (_, at) => (at % 4 === 3 ? 255 : (at * at) % 251)));

for (const [name, parts] of Object.entries({
  "a map over an image": [{ kind: "image", image: { pixels: pixels() } }, map("over")],
  "a map over a base map": [{ ...map("base"), keep: "1" }, map("over")],
  "an image over an image": [
    { kind: "image", image: { pixels: pixels() } },
    { kind: "image", image: { pixels: pixels(), opacity: 0.5 } },
  ],
  "a faint image alone": [{ kind: "image", image: { pixels: pixels(), opacity: 0.5 } }],
} satisfies Record<string, MetatileRequest["parts"]>)) {
  t.test(`${name}, while garbage is collected`, async (t) => {
    const maps = new LoadedMaps(mapnik, noLayers as Datasources, new Slots(1), 1024 ** 2, "");
    const renderer = new MetatileRenderer(mapnik, maps, new Slots(2));
    const draw = async () => (await renderer.render({ ...request, parts })).tiles.map(({ hash }) => hash);
    const hashes = await draw();
    let isOver = false;
    const collect = () => {
      collectGarbage();
      if (!isOver) setImmediate(collect);
    };
    collect();
    for (let round = 0; round < 5; round++)
      for (const drawn of await Promise.all([draw(), draw()])) t.same(drawn, hashes);
    isOver = true;
  });
}

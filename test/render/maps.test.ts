import t from "tap";
import type { Datasources } from "../../workers/render/datasources.js";
import { takeApart } from "../../workers/render/layers.js";
import { loadMapnik, type Mapnik } from "../../workers/render/mapnik.js";
import { LoadedMaps } from "../../workers/render/maps.js";
import { MetatileRenderer } from "../../workers/render/metatile.js";
import { Slots } from "../../workers/render/slots.js";

const mapnik = loadMapnik();

/** Counts the maps that are made; two are made for each load. */
let made = 0;
const counting: Mapnik = new Proxy(mapnik, {
  get: (target, name, receiver) => {
    if (name === "Map") made++;
    return Reflect.get(target, name, receiver);
  },
});
const noLayers: Pick<Datasources, "get"> = { get: async () => new Map() };

const loadedMaps = (bytes: number) =>
  new LoadedMaps(counting, noLayers as Datasources, new Slots(1), bytes, "");
const source = (index: number, more = "") => ({
  digest: `map ${index}`,
  xml: [{ text: `<Map srs="epsg:3857" background-color="rgb(${index % 256},0,0)">${more}</Map>` }],
});
async function useAll(maps: LoadedMaps, count: number): Promise<number> {
  const before = made;
  for (let index = 0; index < count; index++)
    await maps.use({ source: source(index) }, async () => undefined);
  return (made - before) / 2;
}

t.test("maps are kept by their memory, whatever their number", async (t) => {
  const many = loadedMaps(64 * 1024 ** 2);
  for (const count of [60, 70, 500]) {
    await useAll(many, count);
    t.equal(await useAll(many, count), 0, `${count} maps in turn are loaded once`);
  }
  const few = loadedMaps(100_000);
  await useAll(few, 50);
  t.equal(await useAll(few, 50), 50, "where they do not fit, each is loaded again");
  t.equal(await useAll(few, 3), 3);
  t.equal(await useAll(few, 3), 0);
});

t.test("a map takes the memory of its datasources too", async (t) => {
  const layer = `<Layer name="l"><Datasource><Parameter name="type">postgis</Parameter>${" ".repeat(20_000)}</Datasource></Layer>`;
  const maps = loadedMaps(1024 ** 2);
  const use = async (index: number) => {
    const before = made;
    await maps.use({ source: source(index, layer), without: ["l"] }, async () => undefined);
    return made - before;
  };
  for (let index = 0; index < 20; index++) await use(index);
  t.equal(await use(19), 0);
  t.ok((await use(0)) > 0);
});

t.test("pixels of a base map are kept for each buffer that it is drawn with", async (t) => {
  const point = (x: number) => ({
    type: "Feature",
    properties: {},
    geometry: { type: "Point", coordinates: [x, 0] },
  });
  const inline = JSON.stringify({ type: "FeatureCollection", features: [point(-2.2e7)] }).replaceAll(
    '"',
    "&quot;",
  );
  const xml =
    '<Map srs="epsg:3857"><Style name="s"><Rule><MarkersSymbolizer width="80" height="80" fill="red" allow-overlap="true"/></Rule></Style>' +
    '<Layer name="l" srs="epsg:3857"><StyleName>s</StyleName><Datasource><Parameter name="type">geojson</Parameter>' +
    `<Parameter name="inline">${inline}</Parameter></Datasource></Layer></Map>`;
  const maps = new LoadedMaps(mapnik, noLayers as Datasources, new Slots(1), 1024 ** 2, "");
  const renderer = new MetatileRenderer(mapnik, maps, new Slots(1));
  const draw = async (bufferPixels: number) => {
    const { tiles } = await renderer.render({
      parts: [{ kind: "map", map: { digest: "base", xml: [{ text: xml }] }, keep: "1" }],
      ...{ origin: { z: 0, x: 0, y: 0 }, count: 1, scale: 1, encoding: "png32", bufferPixels },
    });
    return tiles[0]!.hash;
  };
  const narrow = await draw(1);
  t.not(await draw(64), narrow);
  t.equal(await draw(1), narrow);
});

t.test("a map that was loaded for a render which waited for too long is used for the next one", async (t) => {
  const maps = loadedMaps(1024 ** 2);
  const slots = new Slots(1, 0, 20);
  const before = made;
  let end = (): void => undefined;
  const held = slots.run(() => new Promise<void>((resolve) => (end = resolve)));
  await t.rejects(
    maps.use({ source: source(1) }, () => slots.run(async () => 1)),
    { message: "It waited for others for too long." },
  );
  end();
  await held;
  t.equal(await maps.use({ source: source(1) }, () => slots.run(async () => 2)), 2);
  t.equal((made - before) / 2, 1);
});

t.test("a map whose render failed is not used again", async (t) => {
  const maps = loadedMaps(1024 ** 2);
  const use = (work: () => Promise<number>) => maps.use({ source: source(1) }, work);
  t.equal(await use(async () => 1), 1);
  const before = made;
  await t.rejects(
    use(() => Promise.reject(new Error("no"))),
    { message: "no" },
  );
  t.equal(made, before);
  t.equal(await use(async () => 2), 2);
  t.equal((made - before) / 2, 1);
});

t.test("the XML of a map is taken apart where its elements are, not where texts look like them", (t) => {
  const layer = (name: string, type: string, text = "") =>
    `<Layer name="${name}"><StyleName>a</StyleName><Datasource><Parameter name="type">${type}</Parameter>` +
    `<Parameter name="table">${text}</Parameter></Datasource></Layer>`;
  const style = '<Style name="a"><Rule><Filter>&lt;Layer name=&quot;x&quot;&gt;</Filter></Rule></Style>';
  const escaped = "&lt;/Datasource&gt;&lt;Layer &gt;";
  const { styles, layers, parts } = takeApart(
    `<?xml version="1.0"?>\n<Map srs="epsg:3857">${style}${layer("l1", "postgis", escaped)}${layer("l2", "gdal")}</Map>`,
  );
  t.equal(styles, `<?xml version="1.0"?>\n<Map srs="epsg:3857">${style}</Map>`);
  t.same(
    parts.map(({ name, source }) => [name, source?.includes(escaped)]),
    [
      ["l1", true],
      ["l2", undefined],
    ],
  );
  t.equal(layers.match(/<Datasource>/g)?.length, 1, "images are not shared");
  t.notOk(layers.includes("postgis"));
  t.same(takeApart("<Map/>"), { styles: "<Map/>", layers: "", parts: [] });
  t.end();
});

import t from "tap";
import { makeMap, tileUrl } from "../support/maps.js";
import { picture } from "../support/pictures.js";
import { startServer } from "../support/server.js";

/** The legend of bars and lines whose sizes tell a value: squares as large as the charts on tiles. */

const server = await startServer();
t.teardown(() => server.stop());
const token = await server.token("editor");
await makeMap(server, "m");

const must = async (method: string, path: string, body?: unknown) => {
  const answer = await server.api(method, `m/layers/${path}`, { token, body });
  if (answer.status !== 200) throw new Error(answer.text);
  return answer.json;
};
const { id } = await must("POST", "", { code: "l" });
const places = [
  [2, 100],
  [5, 500],
  [8, 1000],
] as const;
await must("POST", "l/import/", {
  type: "FeatureCollection",
  features: places.map(([lon, n]) => ({
    type: "Feature",
    geometry: { type: "Point", coordinates: [lon, 5] },
    properties: { a: 1, b: 2, n },
  })),
});

const columns = [{ code: "a" }, { code: "b" }];
const show = (type: number, settings: object) =>
  must("PUT", "l/visualization/", {
    visualSettings: {
      ...{ type, showBorder: false },
      classesSettings: { columns, sizeFrom: 10, sizeTo: 60, showScale: true, ...settings },
    },
  });
const read = (query = "?extended=1") => must("GET", `l/legend/${query}`);

/** Pixels that the panel behind a chart is wide. */
async function widthAt(lon: number): Promise<number> {
  const url = tileUrl(server, "m", { lon: 5, lat: 5, z: 5 }, `&base=0&layers=${id}`);
  const tile = await picture(await (await fetch(url)).arrayBuffer());
  const y = Math.floor((0.5 - Math.log(Math.tan(Math.PI / 4 + Math.PI / 72)) / (2 * Math.PI)) * 8192) % 256;
  const x = Math.floor((lon / 360) * 8192);
  let width = 0;
  for (let at = Math.max(0, x - 35); at <= Math.min(255, x + 35); at++)
    if (tile.at(at, y - 2)[3] > 100) width++;
  return width;
}

for (const [kind, type] of [
  ["bars", 5],
  ["lines", 6],
] as const)
  t.test(`${kind} whose sizes tell a value have squares in the legend, to scale`, async (t) => {
    await show(type, { sizeType: 3, sizeColumnCode: "n", allowOverlap: true });
    t.equal((await read("")).classificators.length, 2, "clients of the contract see the columns");
    const legend = await read();
    t.equal(legend.sizeTitle, "n");
    const items = legend.classificators.slice(2);
    t.match(
      items,
      places.map(([, value]) => ({ value, isSquare: true })),
    );
    t.same(
      items.map(({ text }: { text: string }) => text),
      ["100", "500", "1,000"],
    );
    for (const [at, [lon]] of places.entries()) {
      const width = await widthAt(lon);
      t.ok(Math.abs(width - items[at].size) <= 1.5, `${lon}: ${width}, ${items[at].size}`);
    }
    const painted: number[] = [];
    for (const { icon } of items) {
      const drawn = await picture(await (await fetch(`${server.url}${icon}&size=64`)).arrayBuffer());
      painted.push(Math.sqrt(drawn.painted));
    }
    for (const [at, side] of painted.entries())
      t.ok(Math.abs(side - items[at].size) <= 3, `a symbol as large: ${side}, ${items[at].size}`);
    await show(type, { sizeType: 2 });
    t.match(await read(), { sizeTitle: null }, "of a sum the client says so");
    t.match((await read()).classificators.at(-1), { noRoom: "dot" }, "after the sizes");
    await show(type, { sizeType: 1 });
    t.notOk("sizeTitle" in (await read()), "charts of one size tell nothing by it");
  });

t.test("the sizes of pies are circles", async (t) => {
  await show(4, { sizeType: 3, sizeColumnCode: "n", showScale: false });
  for (const item of (await read()).classificators) t.notOk("isSquare" in item);
});

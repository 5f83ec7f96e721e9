import t from "tap";
import { setGrant } from "../../src/access/grants.js";
import { addObject, makeMap, makeStyledLayer, square } from "../support/maps.js";
import { startServer } from "../support/server.js";

/** TileJSON tells where the layers of a map are, and at which zooms they are drawn. */

const server = await startServer({ nodes: 2, config: { externalHosts: ["tiles.example.org"] } });
t.teardown(() => server.stop());
const token = await server.token("editor");
await makeMap(server, "m");
const near = await makeStyledLayer(server, "m", "near", "#near { polygon-fill: #f00; }");
const far = await makeStyledLayer(server, "m", "far", "#far [zoom >= 5][zoom <= 9] { polygon-fill: #f00; }");
await makeStyledLayer(server, "m", "empty", "#empty { polygon-fill: #f00; }");
await addObject(server, "near", square(10, 50, 2), { map: "m" });
await addObject(server, "far", square(-20, -10, 1), { map: "m" });

const ask = async (query = "", { node = 0, map = "m", name = "tile.json", headers = {} } = {}) => {
  const answer = await fetch(`${server.urls[node]}/tms/p/${map}/${name}?${query}`, { headers });
  t.equal(answer.status, 200);
  return (await answer.json()) as any;
};
/** Whether bounds contain others, and are no more than a little larger. */
const isAbout = (bounds: number[], wanted: number[]) =>
  bounds.every((side, at) => (at < 2 ? side <= wanted[at]! + 2e-6 : side >= wanted[at]! - 2e-6)) &&
  bounds.every((side, at) => Math.abs(side - wanted[at]!) < 0.01);

t.test("bounds are those of the layers that are drawn, unless a base map is", async (t) => {
  const whole = await ask("base=0");
  t.ok(isAbout(whole.bounds, [-20, -10, 12, 52]), whole.bounds);
  t.match(whole, { minzoom: 0, maxzoom: 22, center: [-4, 21, 3] });
  const one = await ask(`base=0&layers=${far.id}`);
  t.ok(isAbout(one.bounds, [-20, -10, -19, -9]), one.bounds);
  t.equal(one.minzoom, 5);
  const based = await ask(`layers=${far.id}`);
  t.same(based.bounds, [-180, -85.0511287798066, 180, 85.0511287798066]);
  t.equal(based.minzoom, 0);
  t.same(based.center, one.center);
  const none = await ask("base=0&layers=999999");
  t.same(none.bounds, based.bounds);
  t.same([none.center, none.layers], [undefined, []]);
});

t.test("each layer is told with its bounds and zooms, from the bottom to the top", async (t) => {
  const { layers } = await ask("lng=ru");
  t.match(layers, [
    { id: "empty", bounds: null },
    { id: "far", layer_id: far.id, name: "far", minzoom: 5, maxzoom: 9 },
    { id: "near", layer_id: near.id, minzoom: 0, maxzoom: 22 },
  ]);
  t.ok(isAbout(layers[2].bounds, [10, 50, 12, 52]));
});

t.test(
  "views are where their source is, other services anywhere, and no bounds leave the world",
  async (t) => {
    const make = (body: object) => server.api("POST", "m/layers/", { token, body });
    t.equal((await make({ code: "view", type: "virtual", source: { layer: "far" } })).status, 200);
    const url = "https://tiles.example.org/{z}/{x}/{y}.png";
    t.equal((await make({ code: "service", type: "external", source: { url, minZoom: 3 } })).status, 200);
    const { layers } = await ask();
    const of = (code: string) => layers.find(({ id }: { id: string }) => id === code);
    t.ok(isAbout(of("view").bounds, [-20, -10, -19, -9]));
    t.match(of("service"), { minzoom: 3, maxzoom: 22 });
    t.equal(of("service").bounds[0], -180);
    await makeStyledLayer(server, "m", "date_line", "");
    await addObject(server, "date_line", square(175, 0, 10), { map: "m" });
    const [west, , east] = (await ask()).layers.find(({ id }: { id: string }) => id === "date_line").bounds;
    t.same([west, east], [-180, 180]);
  },
);

t.test("an edit is seen in the next answer, on each node", async (t) => {
  for (const node of [0, 1]) await ask("base=0", { node });
  await addObject(server, "near", square(60, 60, 1), { map: "m" });
  for (const node of [0, 1]) {
    const { layers } = await ask("base=0", { node });
    const { bounds } = layers.find(({ id }: { id: string }) => id === "near");
    t.ok(isAbout(bounds, [10, 50, 61, 61]), bounds);
  }
});

t.test("vector tiles have the bounds of their layers", async (t) => {
  await makeMap(server, "v");
  await makeStyledLayer(server, "v", "a", "#a [zoom >= 3] { polygon-fill: #f00; }");
  await addObject(server, "a", square(10, 50, 2), { map: "v" });
  const json = await ask("", { map: "v", name: "tile.mvt.json" });
  t.ok(isAbout(json.bounds, [10, 50, 12, 52]), json.bounds);
  t.match(json, { minzoom: 3, vector_layers: [{ id: "a", minzoom: 3 }] });
});

t.test("of a layer that the caller may not read nothing is told", async (t) => {
  const { services } = server.nodes[0]!;
  await setGrant(services.db, { project: "p", map: "m", layer: "far", login: null }, 0);
  await services.changes.propagate();
  const codes = async (headers = {}) =>
    (await ask("base=0", { headers })).layers.map(({ id }: { id: string }) => id);
  t.notOk((await codes()).includes("far"));
  t.ok((await codes({ "x-token": token })).includes("far"));
});

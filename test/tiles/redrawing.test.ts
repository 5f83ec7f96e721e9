import t from "tap";
import { setGrant } from "../../src/access/grants.js";
import { addObject, makeMap, makeStyledLayer, square, tileUrl } from "../support/maps.js";
import { startServer, waitFor } from "../support/server.js";

/** Tiles that many ask for are drawn again before anybody waits for them. */

const server = await startServer({ config: { "tiles.redrawHot": true } });
t.teardown(() => server.stop());
const { services } = server.nodes[0]!;
await makeMap(server, "m");
await makeStyledLayer(server, "m", "a", "#a { polygon-fill: #ff0000; polygon-opacity: 0.5; }");
await addObject(server, "a", square(5, 5, 10), { map: "m" });
const get = async (url: string): Promise<string | null> => {
  const answer = await fetch(url);
  await answer.arrayBuffer();
  return answer.headers.get("etag");
};
const hot = tileUrl(server, "m", { lon: 6, lat: 6, z: 9 }, "&base=0");
const once = tileUrl(server, "m", { lon: 60, lat: 6, z: 9 }, "&base=0");
const pause = () => new Promise((resolve) => setTimeout(resolve, 1_200));

t.test("a tile that was asked for several times is drawn again by itself after an edit", async (t) => {
  for (let count = 0; count < 4; count++) await get(hot);
  await get(once);
  const before = services.tiles.rendered;
  const old = await get(hot);
  await addObject(server, "a", square(6.2, 6.2, 0.5), { map: "m" });
  await addObject(server, "a", square(60.2, 6.2, 0.5), { map: "m" });
  await waitFor(async () => services.tiles.rendered > before);
  await pause();
  t.equal(services.tiles.rendered, before + 1, "once, and no other");
  t.not(await get(hot), old);
  t.equal(services.tiles.rendered, before + 1, "nobody waited for it");
  await get(once);
  t.equal(services.tiles.rendered, before + 2);
});

t.test("not again before it is asked for again", async (t) => {
  const before = services.tiles.rendered;
  for (let count = 0; count < 3; count++) {
    await addObject(server, "a", square(6.2 + count / 10, 6.2, 0.5), { map: "m" });
    await pause();
  }
  t.equal(services.tiles.rendered, before);
});

t.test("an object at the other end of the world, beside the tile", async (t) => {
  const beyond = tileUrl(server, "m", { lon: -179.9999, lat: 6, z: 9 }, "&base=0");
  for (let count = 0; count < 4; count++) await get(beyond);
  const before = services.tiles.rendered;
  await addObject(server, "a", square(179.9, 5.9, 0.099), { map: "m" });
  await waitFor(async () => services.tiles.rendered > before);
  // It is counted before it is kept.
  await pause();
  await get(beyond);
  t.equal(services.tiles.rendered, before + 1);
});

t.test("a map that was closed is not drawn", async (t) => {
  for (let count = 0; count < 4; count++) await get(hot);
  const before = services.tiles.rendered;
  await setGrant(services.db, { project: "p", map: "m", login: null }, 0);
  await services.changes.propagate();
  await addObject(server, "a", square(6.9, 6.9, 0.5), { map: "m" });
  await pause();
  t.equal(services.tiles.rendered, before);
});

import t from "tap";
import { addObject, makeMap, makeStyledLayer, square, tileUrl } from "../support/maps.js";
import { picture } from "../support/pictures.js";
import { watchSafety } from "../support/safe.js";
import { startServer } from "../support/server.js";

/** Objects at the ends of the world, and in other turns around it. */

const server = await startServer();
t.teardown(() => server.stop());
const editor = await server.token("editor");
await makeMap(server, "m");
await makeStyledLayer(
  server,
  "m",
  "a",
  "#a { marker-width: 20; marker-fill: #ff0000; marker-line-width: 0; marker-allow-overlap: true; } #a::area { polygon-fill: #ff0000; }",
);
const objects = "m/layers/a/objects/";
const safe = await watchSafety(t, server, `/api/2.8/p/${objects}`);

/** Pixels that are drawn on the tile of the place at zoom 3, which is 45° wide. */
async function painted(lon: number, lat: number): Promise<number> {
  const answer = await fetch(tileUrl(server, "m", { lon, lat, z: 3 }, "&base=0"));
  if (answer.status !== 200) throw new Error(`${answer.status}`);
  return (await picture(await answer.arrayBuffer())).painted;
}
/** Middles of all eight tiles around the equator's north. */
const around = Array.from({ length: 8 }, (_, index) => -157.5 + 45 * index);
/** Those of them on which something is drawn. */
async function drawnAt(lat = 10): Promise<number[]> {
  const pixels = await Promise.all(around.map((lon) => painted(lon, lat)));
  return around.filter((_, index) => pixels[index]! > 0);
}
const remove = (id: number) => server.api("DELETE", `${objects}${id}/`, { token: editor });
const point = (lon: number, lat: number) => ({ type: "Point", coordinates: [lon, lat] });

t.test("points are drawn at their place, in whatever turn of the world they were given", async (t) => {
  for (const [lon, tiles] of [
    [170, [157.5]],
    [190, [-157.5]],
    [-190, [157.5]],
    [359, [-22.5, 22.5]],
    [-359, [-22.5, 22.5]],
  ] as const) {
    const id = await addObject(server, "a", point(lon, 10), { map: "m" });
    t.same(await drawnAt(), tiles, `${lon}`);
    await remove(id);
    t.same(await drawnAt(), [], `${lon}: it is gone everywhere`);
  }
  for (const [lon, tile] of [
    [180, 157.5],
    [-180, -157.5],
  ] as const) {
    const id = await addObject(server, "a", point(lon, 10), { map: "m" });
    t.ok((await drawnAt()).includes(tile), `${lon}, at the edge of the world`);
    await remove(id);
    t.same(await drawnAt(), [], `${lon}: it is gone everywhere`);
  }
  await safe.accept();
  await safe.holds(t, "longitudes");
});

t.test("an area over the end of the world is drawn on both sides of it", async (t) => {
  for (const lon of [170, -190]) {
    const id = await addObject(server, "a", square(lon, 5, 20), { map: "m" });
    t.same(await drawnAt(), [-157.5, 157.5], `${lon}`);
    await remove(id);
    t.same(await drawnAt(), [], `${lon}: it is gone on both sides`);
  }
});

t.test("a pole is kept, and draws nothing", async (t) => {
  for (const lat of [90, -90]) {
    const id = await addObject(server, "a", point(10, lat), { map: "m" });
    const read = await server.api("GET", `${objects}${id}/?returnGeom=1`);
    t.match(read, { status: 200, json: { geom: point(10, lat) } });
    t.equal(await painted(10, 85 * Math.sign(lat)), 0);
    t.same(await drawnAt(), []);
    await remove(id);
  }
  const beyond = await server.api("POST", objects, {
    token: editor,
    body: { fields: {}, geom: point(10, 91) },
  });
  t.match(beyond, { status: 500, json: { code: "invalid_geometry" } });
  await safe.accept();
  await safe.holds(t, "poles");
});

import t from "tap";
import { makeMap, makeStyledLayer, tileUrl } from "../support/maps.js";
import { picture } from "../support/pictures.js";
import { startServer, waitFor } from "../support/server.js";
import { fetchVectors, vectorUrl } from "../support/vector-tiles.js";

/**
 * An edit beside the 180th meridian is on the tiles on both sides of it at once. After each edit one tile is asked of one
 * node, so that no other look makes current what this one finds.
 */

const server = await startServer({ nodes: 2 });
t.teardown(() => server.stop());
const { api } = server;
const token = await server.token("editor");
const zooms = [0, 1, 2, 4, 9, 14];
const lat = 10;

/** Longitude so many pixels of a zoom from the meridian, to the east of it if they are more than 0. */
const beside = (pixels: number, z: number): number => {
  const degrees = (pixels * 360) / 256 / 2 ** z;
  return degrees > 0 ? degrees - 180 : degrees + 180;
};

/** Numbers from 0 to 1 that are the same in each run (mulberry32). */
function randomOf(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

const styles = {
  alone: "#a { marker-width: 40; marker-fill: #f00; marker-allow-overlap: true; }",
  colliding: "#a { marker-width: 40; marker-fill: #f00; }",
};

for (const [map, css] of Object.entries(styles)) {
  t.test(`markers, ${map}`, async (t) => {
    await makeMap(server, map);
    await makeStyledLayer(server, map, "a", css);
    const objects = `${map}/layers/a/objects/`;
    const random = randomOf(map.length);
    const one = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)]!;
    /** Whether the object is seen on the tile of that side. */
    const looks = {
      image: async (z: number, side: number, node: number) => {
        const place = { lon: side < 0 ? 179.9999 : -179.9999, lat, z };
        const answer = await fetch(tileUrl(server, map, place, "&base=0", node));
        return (await picture(await answer.arrayBuffer())).painted > 0;
      },
      vectors: async (z: number, side: number, node: number) => {
        const place = { lon: side < 0 ? 179.9999 : -179.9999, lat, z };
        const { layers } = await fetchVectors(vectorUrl(server, map, place, "", node));
        return (layers.get("a") ?? []).length > 0;
      },
    };
    let id: number | undefined;
    let seen = 0;
    for (let step = 0; step < 150; step++) {
      const z = one(zooms);
      const place = random() < 0.6 ? beside(one([-2, -1, 1, 2]), z) : undefined;
      const node = one([0, 1]);
      // At low zooms all of the world is on the tile.
      const isGone = place === undefined;
      if (isGone && id !== undefined) {
        const gone = await api("DELETE", `${objects}${id}/`, { token, node });
        t.equal(gone.status, 200);
        id = undefined;
      } else if (!isGone) {
        const body = { fields: {}, geom: { type: "Point", coordinates: [place, lat] } };
        const answer =
          id === undefined
            ? await api("POST", objects, { token, node, body })
            : await api("PUT", `${objects}${id}/`, { token, node, body });
        t.equal(answer.status, 200);
        id ??= answer.json.id as number;
      }
      const [kind, side, asked] = [one(["image", "image", "vectors"] as const), one([-1, 1]), one([0, 1])];
      const found = await looks[kind](z, side, asked);
      if (found) seen++;
      t.equal(found, !isGone, `step ${step}: ${kind} at zoom ${z}, side ${side}, node ${asked}`);
    }
    t.ok(seen > 40);
  });
}

t.test("tiles away from the meridian are not drawn again", async (t) => {
  const renders = () => server.nodes[0]!.services.tiles.rendered;
  const away = tileUrl(server, "alone", { lon: 120, lat, z: 9 }, "&base=0");
  await fetch(away);
  const before = renders();
  const body = { fields: {}, geom: { type: "Point", coordinates: [179.999, lat] } };
  t.equal((await api("POST", "alone/layers/a/objects/", { token, body })).status, 200);
  await fetch(away);
  t.equal(renders(), before);
});

t.test("who listens hears of an area that touches tiles on both sides", async (t) => {
  const controller = new AbortController();
  t.teardown(() => controller.abort());
  const answer = await fetch(`${server.urls[1]}/tms/p/alone/changes/`, { signal: controller.signal });
  let heard = "";
  const reading = (async () => {
    for await (const chunk of answer.body!) heard += Buffer.from(chunk as Uint8Array).toString();
  })().catch(() => undefined);
  await waitFor(() => heard.includes("id: "));
  const body = { fields: {}, geom: { type: "Point", coordinates: [179.999, lat] } };
  t.equal((await api("POST", "alone/layers/a/objects/", { token, body })).status, 200);
  await waitFor(() => heard.includes("event: change"));
  const [, json] = /event: change\ndata: (.*)\n/.exec(heard)!;
  const [west, , east] = JSON.parse(json!).areas[0] as number[];
  t.ok(west! <= 179.999 && 179.999 <= east! && east! < 180.1, json!);
  controller.abort();
  await reading;
});

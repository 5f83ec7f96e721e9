import t from "tap";
import { lockWaiters } from "../support/locks.js";
import { addObject, makeMap, makeStyledLayer, square } from "../support/maps.js";
import { startServer, waitFor } from "../support/server.js";
import { fetchVectors, vectorUrl } from "../support/vector-tiles.js";

/** Never a stale vector tile: two nodes on one database and one Redis. */

const server = await startServer({ nodes: 2 });
t.teardown(() => server.stop());
const token = await server.token("admin");
const fill = "#a { polygon-fill: #ff0000; }";
const here = { lon: 10, lat: 10, z: 6 };
const elsewhere = { lon: -120, lat: -40, z: 6 };
const nodes = [0, 1] as const;
const made = () => server.nodes.map(({ services }) => services.vectorTiles.rendered);
const total = () => made().reduce((sum, count) => sum + count, 0);
const ids = async (url: string, layer = "a") =>
  ((await fetchVectors(url)).layers.get(layer) ?? []).map(({ id }) => id);
const must = async (method: string, path: string, body?: unknown, node = 0) => {
  const answer = await server.api(method, path, { token, body, node });
  if (answer.status !== 200) throw new Error(`${method} ${path}: ${answer.status} ${answer.text}`);
  return answer.json;
};

t.test("an edit is in the next tile on every node, whatever was cached before", async (t) => {
  await makeMap(server, "m1");
  const layer = await makeStyledLayer(server, "m1", "a", fill);
  await makeStyledLayer(server, "m1", "b", fill);
  await must("POST", "m1/layers/a/structure/", { code: "name", type: "string" });
  const queries = ["", "?lng=ru", `?layers=${layer.id}`, `?layers=${layer.id}&lng=ru`, "?other=1"];
  const look = (node: number) =>
    Promise.all(queries.map((query) => ids(vectorUrl(server, "m1", here, query, node))));
  for (const node of [...nodes, ...nodes])
    t.same(
      await look(node),
      queries.map(() => []),
    );
  for (const node of nodes) {
    const id = await addObject(server, "a", square(9, 9, 3), { map: "m1", node });
    for (const asked of nodes)
      t.same(
        await look(asked),
        queries.map(() => [id]),
        `made on node ${node}, asked on ${asked}`,
      );
    await must("PUT", `m1/layers/a/objects/${id}/`, { fields: { name: `by ${node}` } }, node);
    for (const asked of nodes) {
      const { layers } = await fetchVectors(vectorUrl(server, "m1", here, "", asked));
      t.same(layers.get("a")![0]!.properties, { name: `by ${node}` }, "a value alone");
    }
    await must("DELETE", `m1/layers/a/objects/${id}/`, undefined, 1 - node);
    for (const asked of nodes)
      t.same(
        await look(asked),
        queries.map(() => []),
        `deleted on node ${1 - node}, asked on ${asked}`,
      );
  }
});

t.test("tiles that an edit does not touch stay cached, on every node", async (t) => {
  await makeMap(server, "m2");
  await makeStyledLayer(server, "m2", "a", fill);
  await addObject(server, "a", square(-121, -41, 2), { map: "m2" });
  const tags = () =>
    Promise.all(
      nodes.map(async (node) =>
        (await fetchVectors(vectorUrl(server, "m2", elsewhere, "", node))).headers.get("etag"),
      ),
    );
  const before = await tags();
  const count = total();
  const id = await addObject(server, "a", square(9, 9, 3), { map: "m2" });
  t.same(await tags(), before);
  t.equal(total(), count, "nothing was made");
  t.same(await ids(vectorUrl(server, "m2", here)), [id]);
  t.equal(total(), count + 1);
});

t.test("an object just beyond the edge of a tile, within its buffer, is of the tile", async (t) => {
  await makeMap(server, "edge");
  await makeStyledLayer(server, "edge", "a", fill);
  // Tiles at zoom 6 are 5.625 degrees wide, and their buffer is a sixty-fourth of that: this one begins at 5.625.
  const point = (lon: number) => ({ type: "Point", coordinates: [lon, 10] });
  const url = vectorUrl(server, "edge", { lon: 8, lat: 10, z: 6 });
  t.same(await ids(url), []);
  const near = await addObject(server, "a", point(5.6), { map: "edge" });
  t.same(await ids(url), [near]);
  const count = total();
  await addObject(server, "a", point(5.4), { map: "edge" });
  t.same(await ids(url), [near]);
  t.equal(total(), count, "beyond the buffer it is none of the tile's business");
});

t.test("an edit by any SQL client is seen on every node", async (t) => {
  await makeMap(server, "m3");
  const { id } = await makeStyledLayer(server, "m3", "a", fill);
  for (const node of nodes) t.same(await ids(vectorUrl(server, "m3", here, "", node)), []);
  await server.sql.query(
    `insert into layers.l${id} (geom) values (st_setsrid(st_geomfromgeojson($1), 4326))`,
    [JSON.stringify(square(9, 9, 3))],
  );
  for (const node of nodes)
    await waitFor(async () => (await ids(vectorUrl(server, "m3", here, "", node))).length === 1);
  t.pass("both nodes show it");
});

t.test(
  "what a statement read before an edit is not kept for its address, nor given to later ones",
  async (t) => {
    await makeMap(server, "m4");
    const top = await makeStyledLayer(server, "m4", "top", fill);
    await makeStyledLayer(server, "m4", "bottom", fill);
    await fetchVectors(vectorUrl(server, "m4", elsewhere));
    const url = vectorUrl(server, "m4", here);
    await server.sql.query("begin");
    await server.sql.query(`lock table layers.l${top.id} in access exclusive mode`);
    const early = ids(url, "bottom");
    await lockWaiters(server.sql);
    const id = await addObject(server, "bottom", square(9, 9, 3), { map: "m4" });
    // It must not wait for the statement of `early`, which began before the edit.
    const late = ids(vectorUrl(server, "m4", here, "?late"), "bottom");
    await lockWaiters(server.sql, 2);
    await server.sql.query("rollback");
    t.ok((await early).length <= 1, "asked before the edit, it may show what was");
    t.same(await late, [id]);
    // Nothing else is asked for at this address: another request could put right what the first left behind.
    t.same(await ids(url, "bottom"), [id]);
  },
);

t.test("changes of columns, of languages and of layers are in the next tile on every node", async (t) => {
  await makeMap(server, "m5");
  await makeStyledLayer(server, "m5", "a", fill);
  await must("POST", "m5/layers/a/structure/", { code: "name", type: "string" });
  const id = await addObject(server, "a", square(9, 9, 3), { map: "m5" });
  await must("PUT", `m5/layers/a/objects/${id}/`, { fields: { name: "17" } });
  const look = async (node: number) =>
    (await fetchVectors(vectorUrl(server, "m5", here, "", node))).layers.get("a")?.[0]?.properties;
  const seen = async (expected: unknown, why: string) => {
    for (const node of nodes) t.same(await look(node), expected, why);
  };
  await seen({ name: "17" }, "at first");
  await must("PUT", "m5/layers/a/structure/name/", { code: "number", type: "number" });
  await seen({ number: 17 }, "renamed, and a number now");
  await must("PATCH", "m5/layers/a/structure/number/", { type: "number", localized_value: true });
  await seen({ number: 17 }, "localised");
  await must("DELETE", "m5/layers/a/structure/number/");
  await seen({}, "deleted");
  await must("PATCH", "m5/layers/a/", { parent_id: 0, css_style: "#a[zoom>10] { polygon-fill: #f00; }" });
  await seen(undefined, "drawn from zoom 11 on");
  await must("DELETE", "m5/layers/a/");
  await seen(undefined, "no layer");
});

t.test("a tile that one node made, the other takes from Redis", async (t) => {
  await makeMap(server, "m6");
  await makeStyledLayer(server, "m6", "a", fill);
  const id = await addObject(server, "a", square(9, 9, 3), { map: "m6" });
  const first = await fetchVectors(vectorUrl(server, "m6", here, "", 0));
  const before = made();
  const second = await fetchVectors(vectorUrl(server, "m6", here, "", 1));
  t.same(made(), before);
  t.same(second.bytes, first.bytes);
  t.equal(second.headers.get("etag"), first.headers.get("etag"));
  t.same(
    second.layers.get("a")!.map((feature) => feature.id),
    [id],
  );
});

t.test("without Redis tiles are made, and edits are seen", async (t) => {
  await makeMap(server, "m7");
  const { id } = await makeStyledLayer(server, "m7", "a", fill);
  for (const { services } of server.nodes) services.redis.disconnect();
  for (const node of nodes) t.same(await ids(vectorUrl(server, "m7", here, "", node)), []);
  await server.sql.query(
    `insert into layers.l${id} (geom) values (st_setsrid(st_geomfromgeojson($1), 4326))`,
    [JSON.stringify(square(9, 9, 3))],
  );
  for (const node of nodes)
    await waitFor(async () => (await ids(vectorUrl(server, "m7", here, "", node))).length === 1);
  t.pass("both nodes show it");
});

import t from "tap";
import { publicCaller } from "../../src/catalog/state.js";
import { png } from "../../src/tiles/formats.js";
import { asSuperuser } from "../support/database.js";
import { addObject, makeMap, makeStyledLayer, square, tileUrl } from "../support/maps.js";
import { picture } from "../support/pictures.js";
import { startServer, waitFor } from "../support/server.js";

/** Never a stale tile: two nodes on one database and one Redis. */

const server = await startServer({ nodes: 2 });
t.teardown(() => server.stop());

const red = "#a { polygon-fill: #ff0000; }";
const renders = () => server.nodes.reduce((sum, node) => sum + Number(node.services.tiles.rendered), 0);
const fetchTile = async (url: string) => {
  const answer = await fetch(url);
  const body = Buffer.from(await answer.arrayBuffer());
  return {
    status: answer.status,
    etag: answer.headers.get("etag"),
    body,
    painted: (await picture(body)).painted,
  };
};
const here = { lon: 10, lat: 10, z: 6 };
const elsewhere = { lon: -120, lat: -40, z: 6 };

/** Waits until somebody waits for a lock in this database. */
const untilBlocked = () =>
  waitFor(async () => {
    const [found] = await server.nodes[0]!.services.db.query<{ waits: number }>(
      `select count(*)::int as waits from pg_locks
       where not granted and database = (select oid from pg_database where datname = current_database())`,
    );
    return found!.waits > 0;
  });

/** Gives a layer objects at the ends of the world, so that it is read for each tile, although nothing of it is seen. */
const surround = (layer: number) =>
  server.sql.query(
    `insert into layers.l${layer} (geom)
     select st_setsrid(st_point(x, y), 4326) from (values (-179, -80), (179, 80)) place (x, y)`,
  );

t.test("an edit is in the next tile on every node, whatever was cached before", async (t) => {
  await makeMap(server, "m1");
  const layer = await makeStyledLayer(server, "m1", "a", red);
  await makeStyledLayer(server, "m1", "b", red);
  const parameters: string[] = [];
  for (const base of ["", "&base=0"]) {
    for (const layers of ["", `&layers=${layer.id}`]) {
      for (const retina of ["", "&retina=2", "&retina=3"]) {
        for (const q of ["", "&q=1"]) {
          for (const lng of ["", "&lng=ru"]) parameters.push(base + layers + retina + q + lng);
        }
      }
    }
  }
  const look = (node: number) =>
    Promise.all(parameters.map((query) => fetchTile(tileUrl(server, "m1", here, query, node))));
  for (const node of [0, 1, 0, 1]) {
    for (const tile of await look(node)) t.equal(tile.painted, 0);
  }
  for (const node of [0, 1]) {
    const id = await addObject(server, "a", square(9, 9, 3), { map: "m1", node });
    for (const asked of [0, 1]) {
      const tiles = await look(asked);
      t.ok(
        tiles.every((tile) => tile.status === 200 && tile.painted > 0),
        `made on node ${node}, asked on ${asked}`,
      );
    }
    const token = await server.token("editor");
    await server.api("DELETE", `m1/layers/a/objects/${id}/`, { token, node: 1 - node });
    for (const asked of [0, 1]) {
      const tiles = await look(asked);
      t.ok(
        tiles.every((tile) => tile.painted === 0),
        `deleted on node ${1 - node}, asked on ${asked}`,
      );
    }
  }
});

t.test("tiles that an edit does not touch stay cached", async (t) => {
  await makeMap(server, "m2");
  await makeStyledLayer(server, "m2", "a", red);
  await addObject(server, "a", square(-121, -41, 2), { map: "m2" });
  const before = await fetchTile(tileUrl(server, "m2", elsewhere));
  const drawn = renders();
  await addObject(server, "a", square(9, 9, 3), { map: "m2" });
  const after = await fetchTile(tileUrl(server, "m2", elsewhere));
  t.equal(after.etag, before.etag);
  t.equal(renders(), drawn, "nothing was drawn");
  t.ok((await fetchTile(tileUrl(server, "m2", here))).painted > 0);
});

t.test("an edit by any SQL client is seen on every node", async (t) => {
  await makeMap(server, "m3");
  const { id } = await makeStyledLayer(server, "m3", "a", red);
  for (const node of [0, 1]) t.equal((await fetchTile(tileUrl(server, "m3", here, "", node))).painted, 0);
  await server.sql.query(
    `insert into layers.l${id} (geom) values (st_setsrid(st_geomfromgeojson($1), 4326))`,
    [JSON.stringify(square(9, 9, 3))],
  );
  for (const node of [0, 1]) {
    await waitFor(async () => (await fetchTile(tileUrl(server, "m3", here, "", node))).painted > 0);
  }
  t.pass("both nodes show it");
});

t.test("a render that is slow and began before an edit does not pass for a current tile", async (t) => {
  await makeMap(server, "m4");
  // Layers are drawn from the bottom of the tree: `top` is made first, `bottom` is read first.
  const top = await makeStyledLayer(server, "m4", "top", "#top { line-width: 1; }");
  await surround(top.id);
  await makeStyledLayer(server, "m4", "bottom", red);
  // Mapnik asks for the layers' columns when it loads a map: that is done before the lock.
  await fetchTile(tileUrl(server, "m4", elsewhere, "&base=0"));
  await server.sql.query("begin");
  await server.sql.query(`lock table layers.l${top.id} in access exclusive mode`);
  const early = fetchTile(tileUrl(server, "m4", here, "&base=0"));
  await untilBlocked();
  // The bottom layer has been read: this edit is not in that render.
  await addObject(server, "bottom", square(9, 9, 3), { map: "m4" });
  const late = [0, 1].map((node) => fetchTile(tileUrl(server, "m4", here, "&base=0", node)));
  await new Promise((resolve) => setTimeout(resolve, 100));
  await server.sql.query("rollback");
  t.equal((await early).painted, 0, "asked before the edit, it shows what was");
  for (const tile of late) t.ok((await tile).painted > 0, "asked after the edit's answer, it shows the edit");
  for (const node of [0, 1])
    t.ok((await fetchTile(tileUrl(server, "m4", here, "&base=0", node))).painted > 0);
});

t.test("what a render drew before an edit is not kept for its address", async (t) => {
  await makeMap(server, "m9");
  const top = await makeStyledLayer(server, "m9", "top", "#top { line-width: 1; }");
  await surround(top.id);
  await makeStyledLayer(server, "m9", "bottom", red);
  await fetchTile(tileUrl(server, "m9", elsewhere, "&base=0"));
  await server.sql.query("begin");
  await server.sql.query(`lock table layers.l${top.id} in access exclusive mode`);
  const address = tileUrl(server, "m9", here, "&base=0");
  const early = fetchTile(address);
  await untilBlocked();
  await addObject(server, "bottom", square(9, 9, 3), { map: "m9" });
  await server.sql.query("rollback");
  t.equal((await early).painted, 0, "asked before the edit, it may show what was");
  // Nothing else is asked for meanwhile: another request could put right what this one left behind.
  t.ok((await fetchTile(address)).painted > 0);
});

t.test("an address whose plan was crowded out by others still hears of edits", async (t) => {
  await makeMap(server, "m10");
  const layers = [];
  for (let index = 0; index < 11; index++) {
    layers.push(await makeStyledLayer(server, "m10", `l${index}`, red));
  }
  const address = tileUrl(server, "m10", here, `&base=0&layers=${layers[0]!.id}`);
  t.equal((await fetchTile(address)).painted, 0);
  const { catalog, planner } = server.nodes[0]!.services;
  const map = await catalog.map("p", "m10");
  const coord = { z: here.z, x: 0, y: 0 };
  // As many plans as anybody can ask for by other combinations of layers.
  for (let subset = 0; subset < 1_300; subset++) {
    const ids = layers.slice(1).flatMap((layer, index) => ((subset >> index) & 1 ? [layer.id] : []));
    const scale = subset < 1024 ? 1 : 2;
    const wish = {
      coord,
      base: false,
      layers: ids,
      scale,
      language: undefined,
      format: png,
      quality: 0,
    } as const;
    await planner.plan(map, publicCaller, wish);
  }
  await addObject(server, "l0", square(9, 9, 3), { map: "m10" });
  t.ok((await fetchTile(address)).painted > 0);
});

t.test("an edit in the middle of a render is seen though many other plans were made meanwhile", async (t) => {
  await makeMap(server, "m11");
  const top = await makeStyledLayer(server, "m11", "top", "#top { line-width: 1; }");
  await surround(top.id);
  await makeStyledLayer(server, "m11", "bottom", red);
  const others = [];
  for (let index = 0; index < 11; index++) {
    others.push((await makeStyledLayer(server, "m11", `l${index}`, red)).id);
  }
  const query = `&base=0&layers=${top.id},`;
  const { id: bottom } = (await server.api("GET", "m11/layers/bottom/")).json;
  const address = (node: number) => tileUrl(server, "m11", here, `${query}${bottom}`, node);
  for (const node of [0, 1]) await fetchTile(tileUrl(server, "m11", elsewhere, `${query}${bottom}`, node));
  await server.sql.query("begin");
  await server.sql.query(`lock table layers.l${top.id} in access exclusive mode`);
  const early = fetchTile(address(0));
  await untilBlocked();
  await addObject(server, "bottom", square(9, 9, 3), { map: "m11", node: 1 });
  for (const { services } of server.nodes) {
    const map = await services.catalog.map("p", "m11");
    for (let subset = 0; subset < 1_300; subset++) {
      const layers = others.filter((_, index) => (subset >> index) & 1);
      const coord = { z: here.z, x: 0, y: 0 };
      const wish = {
        coord,
        base: false,
        layers,
        scale: 1,
        language: undefined,
        format: png,
        quality: 0,
      } as const;
      await services.planner.plan(map, publicCaller, wish);
    }
  }
  await server.sql.query("rollback");
  t.equal((await early).painted, 0, "asked before the edit, it may show what was");
  for (const node of [0, 1, 0, 1]) t.ok((await fetchTile(address(node))).painted > 0);
});

t.test("an edit while the notification connections are cut is seen at once", async (t) => {
  await makeMap(server, "m5");
  const { id } = await makeStyledLayer(server, "m5", "a", red);
  await surround(id);
  for (const node of [0, 1]) t.equal((await fetchTile(tileUrl(server, "m5", here, "", node))).painted, 0);
  // A while after it has loaded layers, the render host opens other connections, which it keeps.
  await new Promise((resolve) => setTimeout(resolve, 2_000));
  for (const node of [0, 1])
    t.equal((await fetchTile(tileUrl(server, "m5", elsewhere, "", node))).painted, 0);
  const role = new URL(server.database.url).username;
  // No new connection can be made, so the cut ones stay cut.
  const limit = (connections: number) =>
    asSuperuser("postgres", (client) => client.query(`alter role ${role} connection limit ${connections}`));
  await limit(0);
  try {
    await server.sql.query(
      `select pg_terminate_backend(pid) from pg_stat_activity
       where datname = current_database() and application_name = 'mapwright listener'`,
    );
    await waitFor(() => server.nodes.every((node) => !node.services.changes.trusted));
    await server.sql.query(
      `insert into layers.l${id} (geom) values (st_setsrid(st_geomfromgeojson($1), 4326))`,
      [JSON.stringify(square(9, 9, 3))],
    );
    for (const node of [0, 1])
      t.ok((await fetchTile(tileUrl(server, "m5", here, "", node))).painted > 0, "SQL client");
    const style = await server.sql.query("update node set css_style = '#a {}' where id = $1", [id]);
    t.equal(style.rowCount, 1);
    for (const node of [0, 1])
      t.equal((await fetchTile(tileUrl(server, "m5", here, "", node))).painted, 0, "style");
  } finally {
    await limit(-1);
  }
  await waitFor(() => server.nodes.every((node) => node.services.changes.trusted));
  await server.sql.query("update node set css_style = $2 where id = $1", [id, red]);
  for (const node of [0, 1]) {
    await waitFor(async () => (await fetchTile(tileUrl(server, "m5", here, "", node))).painted > 0);
  }
});

t.test(
  "a change of style is in the next tile on every node and leaves other layers' tiles cached",
  async (t) => {
    await makeMap(server, "m6");
    await makeStyledLayer(server, "m6", "a", red);
    const b = await makeStyledLayer(server, "m6", "b", "#b { polygon-fill: #0000ff; }");
    await addObject(server, "a", square(5, 5, 10), { map: "m6" });
    await addObject(server, "b", square(5, 5, 10), { map: "m6" });
    const only = (layer: { id: number }, node: number) =>
      tileUrl(server, "m6", here, `&base=0&layers=${layer.id}`, node);
    for (const node of [0, 1]) await fetchTile(only(b, node));
    const token = await server.token("editor");
    const layers = await server.api("GET", "m6/layers/?type=full", { token });
    const a = layers.json.find((layer: { code: string }) => layer.code === "a");
    const drawn = renders();
    for (const [node, fill, expected] of [
      [0, "#00ff00", [0, 255, 0, 255]],
      [1, "#ffff00", [255, 255, 0, 255]],
    ] as const) {
      const changed = await server.api("PATCH", "m6/layers/a/", {
        token,
        node,
        body: { parent_id: 0, css_style: `#a { polygon-fill: ${fill}; }` },
      });
      t.equal(changed.status, 200, changed.text);
      for (const asked of [0, 1]) {
        const answer = await fetch(only(a, asked));
        t.same((await picture(await answer.arrayBuffer())).at(128, 128), expected);
      }
    }
    const afterStyles = renders();
    t.ok(afterStyles > drawn);
    for (const node of [0, 1]) await fetchTile(only(b, node));
    t.equal(renders(), afterStyles, "the other layer's tiles were not drawn again");
  },
);

t.test("deleting a layer takes it off the next tile on every node", async (t) => {
  await makeMap(server, "m7");
  await makeStyledLayer(server, "m7", "a", red);
  await addObject(server, "a", square(9, 9, 3), { map: "m7" });
  for (const node of [0, 1]) t.ok((await fetchTile(tileUrl(server, "m7", here, "", node))).painted > 0);
  const token = await server.token("editor");
  t.equal((await server.api("DELETE", "m7/layers/a/", { token })).status, 200);
  for (const node of [0, 1]) t.equal((await fetchTile(tileUrl(server, "m7", here, "", node))).painted, 0);
});

t.test(
  "where symbols give way to each other, an edit redraws the metatile that they share, and no other",
  async (t) => {
    await makeMap(server, "m8");
    await makeStyledLayer(server, "m8", "a", "#a { marker-width: 10; marker-fill: #ff0000; }");
    // Tiles of one metatile at zoom 6 are 5.6 degrees wide: the edit is three tiles away, far beyond a symbol's reach.
    const tile = { lon: 1, lat: 1, z: 6 };
    const point = (lon: number, lat: number) => ({ type: "Point", coordinates: [lon, lat] });
    await addObject(server, "a", point(1, 1), { map: "m8" });
    for (const place of [tile, elsewhere]) await fetchTile(tileUrl(server, "m8", place));
    const drawn = renders();
    await addObject(server, "a", point(18, 18), { map: "m8" });
    await fetchTile(tileUrl(server, "m8", elsewhere));
    t.equal(renders(), drawn);
    await fetchTile(tileUrl(server, "m8", tile));
    t.equal(renders(), drawn + 1);
  },
);

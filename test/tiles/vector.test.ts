import { get } from "node:http";
import { gunzipSync } from "node:zlib";
import t from "tap";
import { toldCdn } from "../support/cdn.js";
import { makeLayer } from "../support/layers.js";
import { lockWaiters } from "../support/locks.js";
import { addObject, makeMap, makeStyledLayer, square } from "../support/maps.js";
import { startServer, waitFor } from "../support/server.js";
import { decodeTile, fetchVectors, vectorUrl } from "../support/vector-tiles.js";

/** Vector tiles over HTTP: what they hold, headers, rights, and how the server holds out. */

const server = await startServer({
  config: { ...toldCdn, "tiles.queueLength": 3, statementTimeoutMs: 1_500 },
});
t.teardown(() => server.stop());
const { api, sql } = server;
const token = await server.token("admin");
const services = server.nodes[0]!.services;
const must = async (method: string, path: string, body?: unknown) => {
  const answer = await api(method, path, { token, body });
  if (answer.status !== 200) throw new Error(`${method} ${path}: ${answer.status} ${answer.text}`);
  return answer.json;
};
const fill = "#a { polygon-fill: #ff0000; }";
const here = { lon: 10, lat: 10, z: 6 };
const nowhere = { lon: -100, lat: -40, z: 6 };
const url = (query = "") => vectorUrl(server, "m", here, query);

await makeMap(server, "m");
const parks = await makeStyledLayer(server, "m", "parks", fill);
const stops = await makeStyledLayer(server, "m", "stops", "#a { marker-width: 4; }");
for (const [code, type, localized_value] of [
  ["name", "string", true],
  ["rank", "number", true],
  ["area", "number", false],
  ["open", "bool", false],
  ["seen", "datetime", false],
  ["data", "json", false],
  ["select", "text", false],
  ["n", "text", false],
  ["geom_3857", "number", false],
  ["layer", "string", false],
] as const)
  await must("POST", "m/layers/parks/structure/", { code, type, localized_value });
const park = await addObject(server, "parks", square(5, 5, 10), { map: "m" });
const values = {
  area: 12.5,
  open: false,
  seen: "2024-01-02T03:04:05Z",
  data: { a: [1, "x"] },
  select: "Robert'); drop table",
  n: "x".repeat(3_000),
  geom_3857: 7,
  layer: "y".repeat(900),
};
await must("PUT", `m/layers/parks/objects/${park}/`, {
  fields: { ...values, name: { en: "Wood", ru: "Лес" }, rank: { en: 2, ru: 20 } },
});
const bare = await addObject(server, "parks", square(8, 8, 1), { map: "m" });
await must("PUT", `m/layers/parks/objects/${bare}/`, { fields: { name: { ru: "Озеро" } } });
const stop = await addObject(server, "stops", { type: "Point", coordinates: [10, 10] }, { map: "m" });

/** The raw answer, as it comes. */
const raw = (address: string, headers: Record<string, string>) =>
  new Promise<{ status: number; headers: Record<string, unknown>; body: Buffer }>((resolve, reject) => {
    get(address, { headers }, (answer) => {
      const chunks: Buffer[] = [];
      answer.on("data", (chunk: Buffer) => chunks.push(chunk));
      answer.on("end", () =>
        resolve({ status: answer.statusCode!, headers: answer.headers, body: Buffer.concat(chunks) }),
      );
    }).on("error", reject);
  });

t.test("each layer is one of the tile, by its code, in the order in which they are drawn", async (t) => {
  const { status, headers, layers } = await fetchVectors(url());
  t.equal(status, 200);
  t.equal(headers.get("content-type"), "application/vnd.mapbox-vector-tile");
  // `stops` was made later: it is lower in the tree, so it is drawn first.
  const tree = await must("GET", "m/layers/?type=full");
  const order = tree.map(({ code }: { code: string }) => code).toReversed();
  t.same([...layers.keys()], order);
  t.same(
    layers.get("stops")!.map(({ id, type }) => [id, type]),
    [[stop, "Point"]],
  );
  t.same(
    layers.get("parks")!.map(({ id, type }) => [id, type]),
    [
      [park, "Polygon"],
      [bare, "Polygon"],
    ],
  );
});

t.test("attributes are the values of the columns, with their types; what is null is not there", async (t) => {
  const { layers } = await fetchVectors(url());
  const [first, second] = layers.get("parks")!;
  t.same(first!.properties, {
    ...values,
    name: "Wood",
    rank: 2,
    data: '{"a": [1, "x"]}',
    n: "x".repeat(1_000),
  });
  t.same(second!.properties, { name: "Озеро" }, "a value in another language rather than none");
  const russian = await fetchVectors(url("?lng=ru"));
  t.match(russian.layers.get("parks")![0]!.properties, { name: "Лес", rank: 20 });
  const unknown = await fetchVectors(url("?lng=xx"));
  t.match(unknown.layers.get("parks")![0]!.properties, { name: "Wood", rank: 2 });
});

t.test("geometry is in units of the tile and cut shortly beyond its edges", async (t) => {
  const { layers } = await fetchVectors(url());
  const all = layers.get("parks")![0]!.geometry.flat();
  for (const axis of ["x", "y"] as const) {
    const [least, most] = [Math.min, Math.max].map((of) => of(...all.map((point) => point[axis])));
    t.ok(least! >= -64 && most! <= 4160, `${axis} ${least} ${most}`);
  }
  const inside = await fetchVectors(vectorUrl(server, "m", { ...here, z: 9 }));
  t.same(
    inside.layers
      .get("parks")![0]!
      .geometry.flat()
      .map(({ x }) => x)
      .sort((a, b) => a - b)
      .filter((x, index, list) => list.indexOf(x) === index),
    [-64, 4160],
    "a tile inside of the square is full",
  );
});

t.test("layers= narrows, to layers and folders; what is of another map is ignored", async (t) => {
  const names = async (layers: string) => [...(await fetchVectors(url(`?layers=${layers}`))).layers.keys()];
  t.same(await names(`${parks.id}`), ["parks"]);
  t.same(await names(`${stops.id},999999`), ["stops"]);
  t.same(await names(""), []);
  const select = async (selected: boolean) => {
    await sql.query("update node set selected = $2 where id = $1", [stops.id, selected]);
    await services.changes.propagate();
  };
  await select(false);
  t.same([...(await fetchVectors(url())).layers.keys()], ["parks"]);
  t.same(await names(`${stops.id}`), ["stops"]);
  await select(true);
});

t.test("it is sent compressed to those who take gzip, and as it is to others", async (t) => {
  const address = url("?compressed");
  for (const round of ["made", "from the cache"]) {
    const packed = await raw(address, { "accept-encoding": "br, gzip;q=0.8" });
    t.equal(packed.headers["content-encoding"], "gzip", round);
    t.equal(packed.headers.vary, "Accept-Encoding");
    t.ok(decodeTile(gunzipSync(packed.body)).has("parks"));
    for (const accepted of ["", "identity", "br", "gzip;q=0", "gzip; q=0.000, *"]) {
      const plain = await raw(address, accepted === "" ? {} : { "accept-encoding": accepted });
      t.equal(plain.headers["content-encoding"], undefined, `${round}, ${accepted}`);
      t.equal(plain.headers.vary, "Accept-Encoding");
      t.ok(decodeTile(plain.body).has("parks"));
      t.not(plain.headers.etag, packed.headers.etag, "other bytes, another tag");
    }
    for (const accepted of ["*", "x-gzip", "GZIP"])
      t.equal((await raw(address, { "accept-encoding": accepted })).headers["content-encoding"], "gzip");
  }
});

t.test("a small tile is sent as it is to everybody", async (t) => {
  const answer = await raw(url(`?layers=${stops.id}`), { "accept-encoding": "gzip" });
  t.equal(answer.headers["content-encoding"], undefined);
  t.ok(decodeTile(answer.body).has("stops"));
});

t.test("an unchanged tile is 304 to its tag, in either encoding", async (t) => {
  for (const encoding of ["gzip", "identity"]) {
    const headers = { "accept-encoding": encoding };
    const { headers: first } = await raw(url(), headers);
    const again = await raw(url(), { ...headers, "if-none-match": String(first.etag) });
    t.equal(again.status, 304, encoding);
    t.equal(again.headers.vary, "Accept-Encoding");
    t.equal(again.body.length, 0);
  }
});

t.test("a tile without objects is 200 and no bytes, for any layers and encoding", async (t) => {
  for (const [address, encoding] of [
    [vectorUrl(server, "m", nowhere), "gzip"],
    [vectorUrl(server, "m", nowhere), "identity"],
    [url("?layers="), "gzip"],
  ] as const) {
    const answer = await raw(address, { "accept-encoding": encoding });
    t.equal(answer.status, 200);
    t.equal(answer.body.length, 0);
    t.equal(answer.headers["content-length"], "0");
    t.equal(answer.headers["content-encoding"], undefined);
    t.equal(answer.headers["content-type"], "application/vnd.mapbox-vector-tile");
  }
});

t.test("a layer is in the tiles of those zooms at which its style draws something", async (t) => {
  await makeMap(server, "zooms");
  await makeStyledLayer(server, "zooms", "near", "#a[zoom>=5][zoom<=8] { polygon-fill: #f00; }");
  await makeStyledLayer(server, "zooms", "plain", "#a { }");
  for (const layer of ["near", "plain"]) await addObject(server, layer, square(5, 5, 10), { map: "zooms" });
  for (const z of [0, 4, 5, 8, 9, 22]) {
    const { layers } = await fetchVectors(vectorUrl(server, "zooms", { ...here, z }));
    t.equal(layers.has("near"), z >= 5 && z <= 8, `${z}`);
    t.ok(layers.has("plain"), "a style that draws nothing says nothing about zooms");
  }
  const json = (await (await fetch(`${server.url}/tms/p/zooms/tile.mvt.json`)).json()) as any;
  t.match(
    json.vector_layers.find(({ id }: { id: string }) => id === "near"),
    { minzoom: 5, maxzoom: 8 },
  );
});

t.test("TileJSON lists the layers with their fields", async (t) => {
  const json = (await (
    await fetch(`${server.url}/tms/p/m/tile.mvt.json?lng=ru&layers=${parks.id}`)
  ).json()) as any;
  t.equal(json.tilejson, "3.0.0");
  t.match(json.tiles[0], new RegExp(`/tms/p/m/\\{z\\}/\\{x\\}/\\{y\\}\\.mvt\\?layers=${parks.id}&lng=ru$`));
  t.same(
    json.vector_layers.map(({ id }: { id: string }) => id),
    ["parks"],
  );
  t.same(json.vector_layers[0].fields, {
    name: "String",
    rank: "Number",
    area: "Number",
    open: "Boolean",
    seen: "String",
    data: "String",
    select: "String",
    n: "String",
    geom_3857: "Number",
    layer: "String",
  });
  t.same([json.vector_layers[0].minzoom, json.vector_layers[0].maxzoom], [0, 22]);
});

t.test("objects beyond 180 degrees are in each copy of the world that they touch", async (t) => {
  await makeMap(server, "world");
  await makeStyledLayer(server, "world", "a", fill);
  const wide = await addObject(server, "a", square(150, 0, 60), { map: "world" });
  const ids = async (lon: number) =>
    ((await fetchVectors(vectorUrl(server, "world", { lon, lat: 10, z: 3 }))).layers.get("a") ?? []).map(
      ({ id }) => id,
    );
  t.same(await ids(157.5), [wide]);
  t.same(await ids(-157.5), [wide]);
  t.same(await ids(22.5), []);
});

t.test("virtual and materialized layers are in the tiles, layers that clients draw are not", async (t) => {
  for (const [code, type] of [
    ["views", "virtual"],
    ["copies", "material"],
  ] as const)
    await must("POST", "m/layers/", {
      ...{ code, type, css_style: fill },
      source: { layer: "parks", filter: "area > 1", columns: ["area"] },
    });
  const derived = await fetchVectors(url());
  for (const code of ["views", "copies"]) {
    t.equal(derived.layers.get(code)?.length, 1, code);
    t.match(derived.layers.get(code)![0]!.properties, { area: 12.5 });
  }
  await must("PUT", "m/layers/copies/vector/", { vectorSettings: {} });
  t.notOk((await fetchVectors(url())).layers.has("copies"));
  for (const code of ["views", "copies"]) await must("DELETE", `m/layers/${code}/`);
});

t.test("large layers come from their generalized tables", async (t) => {
  await makeMap(server, "large");
  const { id } = await makeStyledLayer(server, "large", "a", "#a { line-width: 1; }");
  await must("POST", "large/layers/a/structure/", { code: "name", type: "string" });
  await sql.query(
    `insert into layers.l${id} (geom) select st_setsrid(st_makeline(array(
       select st_point(k % 20 + n * 0.01, 40 + random() * 0.01) from generate_series(0, 99) n)), 4326)
     from generate_series(1, 400) k`,
  );
  const vertices = async () => {
    const tile = await fetchVectors(vectorUrl(server, "large", { lon: 10, lat: 40, z: 3 }));
    return tile.layers.get("a")!.reduce((sum, { geometry }) => sum + geometry.flat().length, 0);
  };
  await services.changes.propagate();
  const before = await vertices();
  await sql.query("select generalize_layer($1)", [id]);
  await services.changes.propagate();
  const after = await vertices();
  t.ok(after > 0 && after < before, `${after} of ${before}`);
});

t.test("a map that is not public is for those who may read it, from no cache and at once", async (t) => {
  const viewer = await server.token("viewer");
  const address = url("?rights");
  const publish = (open: boolean) =>
    sql.query("update map set has_publication = $1 where code = 'm'", [open]);
  const open = await raw(address, { "accept-encoding": "gzip" });
  t.match(open.headers["cache-control"], /^public/);
  t.match(open.headers["surrogate-key"], new RegExp(`^mapwright p\\d+ m\\d+ .*l${parks.id}`));
  await publish(false);
  await waitFor(async () => (await fetch(address)).status === 403);
  t.equal((await fetch(`${server.url}/tms/p/m/tile.mvt.json`)).status, 403);
  const own = await fetch(`${address}&token=${viewer}`);
  t.equal(own.status, 200);
  t.equal(own.headers.get("cache-control"), "private, no-store");
  t.equal(own.headers.get("surrogate-key"), null);
  t.equal((await fetch(address)).status, 403, "what a token was shown is for nobody else");
  t.equal((await fetch(`${address}&token=made-up`)).status, 401);
  await publish(true);
  await waitFor(async () => (await fetch(address)).status === 200);
});

t.test("a layer that the caller may not read is in neither tiles nor TileJSON", async (t) => {
  await sql.query(
    `insert into access_grant (project_id, map_id, layer_id, rights)
     select m.project_id, m.id, n.id, 0 from node n join map m on m.id = n.map_id where n.id = $1`,
    [parks.id],
  );
  await services.changes.propagate();
  const names = async (query: string) => [...(await fetchVectors(url(query))).layers.keys()];
  await waitFor(async () => (await names("?grants")).length === 1);
  t.same(await names("?grants"), ["stops"]);
  t.same(await names(`?layers=${parks.id},${stops.id}`), ["stops"]);
  const json = (await (await fetch(`${server.url}/tms/p/m/tile.mvt.json`)).json()) as any;
  t.same(
    json.vector_layers.map(({ id }: { id: string }) => id),
    ["stops"],
  );
  t.same((await names(`?token=${token}`)).length, 2);
  await sql.query("delete from access_grant");
  await services.changes.propagate();
  await waitFor(async () => (await names("?grants")).length === 2);
});

t.test("addresses that are none are refused", async (t) => {
  const status = async (path: string) => (await fetch(`${server.url}/tms/p/m/${path}`)).status;
  for (const path of [
    "6/64/30.mvt",
    "6/33/64.mvt",
    "23/0/0.mvt",
    "-1/0/0.mvt",
    "6/1.5/0.mvt",
    "6/33/30@2x.mvt",
    "6/33/.mvt",
    "6/33/1e3.mvt",
    "6/33/999999999999.mvt",
    "6/33/30.mvt?layers=a",
    "6/33/30.mvt?layers='",
    "6/33/30.mvt?lng=%27%3B",
    "6/33/30.mvtx",
    "tile.mvt.json?layers=x",
  ])
    t.equal(await status(path), 400, path);
  t.equal((await fetch(`${server.url}/tms/p/none/6/33/30.mvt`)).status, 404);
});

/** While it runs, no object of the layer can be read. */
async function withLockedLayer(work: () => Promise<void>): Promise<void> {
  await sql.query("begin");
  await sql.query(`lock table layers.l${parks.id} in access exclusive mode`);
  try {
    await work();
  } finally {
    await sql.query("rollback");
  }
}

/** Statements of vector tiles that run now. */
async function running(): Promise<number> {
  // Within a transaction, what was seen once is seen again.
  await sql.query("select pg_stat_clear_snapshot()");
  const { rows } = await sql.query(
    "select from pg_stat_activity where datname = current_database() and state = 'active' and query like 'select n, case%st_asmvt(%'",
  );
  return rows.length;
}

t.test("requests for the same tile wait for one statement, and when all leave it is cancelled", async (t) => {
  const before = services.vectorTiles.rendered;
  await withLockedLayer(async () => {
    const leave = new AbortController();
    const gone = Array.from({ length: 20 }, (_, index) =>
      fetch(vectorUrl(server, "m", { lon: 7, lat: 7, z: 12 }, `?n=${index}`), { signal: leave.signal }),
    );
    await lockWaiters(sql);
    await waitFor(() => services.vectorTiles.making === 1);
    t.equal(await running(), 1);
    leave.abort();
    for (const one of gone) await t.rejects(one);
    await waitFor(async () => (await running()) === 0);
    await waitFor(() => services.vectorTiles.making === 0);
  });
  t.equal(services.vectorTiles.rendered, before);
  t.equal((await fetch(vectorUrl(server, "m", { lon: 7, lat: 7, z: 12 }))).status, 200);
});

t.test("they leave connections to others; beyond the queue they are refused with Retry-After", async (t) => {
  await withLockedLayer(async () => {
    const pending = Array.from({ length: 12 }, (_, index) =>
      fetch(vectorUrl(server, "m", { lon: 5.5 + index / 2, lat: 12, z: 13 })),
    );
    const statuses = (await Promise.all(pending)).map((answer) => {
      if (answer.status === 503) t.ok(Number(answer.headers.get("retry-after")) >= 1);
      return answer.status;
    });
    t.same(new Set(statuses), new Set([200, 503]), "refused at once, or without the layer at the deadline");
  });
  // Two connections of ten, and a queue of three.
  t.ok((await fetch(vectorUrl(server, "m", { lon: 5.5, lat: 12, z: 13 }))).status === 200, "not remembered");
});

t.test(
  "a project whose tiles take long, and fill the queue, keeps those of another from nothing",
  async (t) => {
    const other = await makeLayer(sql, "other");
    await sql.query(`insert into ${other.table} (geom) values (st_setsrid(st_makepoint(10, 10), 4326))`);
    const leave = new AbortController();
    await withLockedLayer(async () => {
      const pending = Array.from({ length: 12 }, (_, index) =>
        fetch(vectorUrl(server, "m", { lon: 5.5 + index / 2, lat: 9, z: 13 }), {
          signal: leave.signal,
        }).catch(() => undefined),
      );
      await waitFor(async () => (await running()) === 2);
      const path = new URL(url()).pathname.replace("/p/m/", "/other/m/");
      const { status, layers } = await fetchVectors(server.url + path);
      t.equal(status, 200);
      t.equal(layers.get("l")?.length, 1);
      t.equal(await running(), 2, "the others still wait");
      leave.abort();
      await Promise.all(pending);
    });
  },
);

t.test("while vector tiles wait, objects are read", async (t) => {
  await withLockedLayer(async () => {
    const leave = new AbortController();
    const pending = Array.from({ length: 5 }, (_, index) =>
      fetch(vectorUrl(server, "m", { lon: 5.5 + index / 2, lat: 6, z: 14 }), {
        signal: leave.signal,
      }).catch(() => undefined),
    );
    await lockWaiters(sql);
    t.equal((await api("GET", "m/layers/stops/objects/", { token })).status, 200);
    const { total, idle } = services.db.counts();
    t.ok(total - idle <= 2, `${total - idle} connections are taken`);
    leave.abort();
    await Promise.all(pending);
  });
});

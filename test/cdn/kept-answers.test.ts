import t from "tap";
import type { Database } from "../../src/storage/postgres.js";
import { startNoting } from "../support/listening.js";
import { makeMap, makeStyledLayer } from "../support/maps.js";
import { startServer, waitFor } from "../support/server.js";
import { changeUses } from "../support/uses.js";

/** What is not current when it is sent is kept by nobody: the CDN was told of the change before it had the answer. */

const cache = await startNoting();
t.teardown(() => cache.stop());
const server = await startServer({
  nodes: 2,
  config: { "edge.kind": "hook", "edge.urls": [cache.url], "edge.repeatSeconds": 0 },
});
t.teardown(() => server.stop());
const { api, sql } = server;
const editor = await server.token("editor");
await makeMap(server, "m");
const { id: layer } = await makeStyledLayer(server, "m", "a", "#a { marker-width: 3; }");
await api("POST", "m/layers/a/structure/", { token: editor, body: { code: "size", type: "number" } });
const { rows: columns } = await sql.query(
  "select id from layer_column where layer_id = $1 and code = 'size'",
  [layer],
);
const column = `c${columns[0].id}`;
const object = { fields: { size: 1 }, geom: { type: "Point", coordinates: [1, 2] } };
const add = async (size: number) => {
  const answer = await api("POST", "m/layers/a/objects/", {
    token: editor,
    body: { ...object, fields: { size } },
    node: 1,
  });
  if (answer.status !== 200) throw new Error(answer.text);
  return answer.json.id as number;
};
const first = await add(1);
await add(9);
await sql.query(`insert into layers.l${layer} (geom) select st_buffer(st_setsrid(st_makepoint(n % 170, n % 80), 4326), 1, 16)
  from generate_series(1, 3000) n`);
/** A file that is a picture. */
const png = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  "base64",
);
await api("POST", "m/layers/a/structure/", { token: editor, body: { code: "photo", type: "file" } });
const form = new FormData();
form.set("field", "photo");
form.set("file", new Blob([png], { type: "image/png" }), "dot.png");
const sent = await fetch(`${server.url}/api/2.8/p/m/layers/a/objects/${first}/files/?token=${editor}`, {
  method: "POST",
  body: form,
});
const { uuid } = (await sent.json()) as { uuid: string };

const get = async (path: string) => {
  const answer = await fetch(`${server.url}/api/${path}`);
  await answer.arrayBuffer();
  return answer;
};
const kept = "public, max-age=0, s-maxage=86400";

t.test("answers with class borders that are not those of now", async (t) => {
  const visualSettings = {
    type: 1,
    columnCode: "size",
    classesCount: 2,
    classesSettings: { minColor: "#000000", midColor: "#800000", maxColor: "#ff0000" },
  };
  const set = await api("PUT", "m/layers/a/visualization/", { token: editor, body: { visualSettings } });
  t.equal(set.status, 200, set.text);
  const paths = [
    ...["2.8/p/m/layers/", "2.8/p/m/layers/?type=full&returnBbox=1", "2.2/p/m/layers/", "2.0/p/m/layers/"],
    ...["2.8/p/m/layers/a/", "2.2/p/m/layers/a/"],
    ...["2.8/p/m/layers/a/legend/", "2.8/p/m/layers/a/legend/?extended=1", "2.2/p/m/layers/a/legend/"],
    ...["2.8/p/m/layers/a/icon/", "2.8/p/m/layers/a/icon/?class=1&size=20"],
  ];
  for (const path of paths) {
    const answer = await get(path);
    t.equal(answer.status, 200, path);
    t.equal(answer.headers.get("cache-control"), kept, path);
  }
  const etags = await Promise.all(paths.map(async (path) => (await get(path)).headers.get("etag")!));
  // The statistics fail, as those that take too long do.
  await sql.query(`alter table layers.l${layer} rename column ${column} to hidden`);
  await sql.query(`insert into layers.l${layer} (geom) values (st_setsrid(st_makepoint(3, 4), 4326))`);
  await server.nodes[0]!.services.changes.propagate();
  for (const [at, path] of paths.entries()) {
    for (const headers of [{}, { "if-none-match": etags[at]! }]) {
      const answer = await fetch(`${server.url}/api/${path}`, { headers });
      await answer.arrayBuffer();
      t.equal(answer.status, 200, path);
      t.equal(answer.headers.get("cache-control"), "no-store", path);
      for (const name of ["etag", "surrogate-key"])
        t.equal(answer.headers.get(name), null, `${path}: ${name}`);
    }
  }
  const other = await get("2.8/p/m/layers/a/structure/");
  t.equal(other.headers.get("cache-control"), kept);
  await sql.query(`alter table layers.l${layer} rename column hidden to ${column}`);
  await api("DELETE", "m/layers/a/visualization/", { token: editor });
  for (const path of ["2.8/p/m/layers/", "2.8/p/m/layers/a/"])
    t.equal((await get(path)).headers.get("cache-control"), kept, path);
});

/** What happens when a statement of a request of this node was answered. */
let afterRead: (() => Promise<void>) | undefined;
t.teardown(
  changeUses(server.nodes[0]!.services.db, (db: Database) => {
    const [query, stream] = [db.query.bind(db), db.streamBytes.bind(db)];
    const read = async () => {
      const act = afterRead;
      afterRead = undefined;
      await act?.();
    };
    return {
      query: (async (...args: Parameters<typeof query>) => {
        const rows = await query(...args);
        if (args[0].includes(`layers.l${layer}`) || args[0].includes("blob")) await read();
        return rows;
      }) as typeof query,
      streamBytes: async function* (...args: Parameters<typeof stream>) {
        for await (const batch of stream(...args)) {
          await read();
          yield batch;
        }
      } as typeof stream,
    };
  }),
);

const reads = [
  "objects/?limit=5&fields=size",
  "objects/?limit=5&sort=size",
  "objects/?bbox=1&fbbox=1.9,0.9,2.1,1.1",
  "objects/?limit=200&returnGeom=1&format=geojson",
  "count/?precise=1",
  "bbox/",
  "?returnBbox=1",
];

t.test("answers that were read while an edit came", async (t) => {
  for (const path of [...reads.map((read) => `2.8/p/m/layers/a/${read}`), "2.8/p/m/layers/?returnBbox=1"]) {
    const quiet = await get(path);
    t.equal(quiet.status, 200, path);
    t.equal(quiet.headers.get("cache-control"), kept, path);
    // Boxes that nothing has changed are not read again.
    await add(2);
    afterRead = async () => void (await add(2));
    const answer = await get(path);
    t.equal(afterRead, undefined, `${path}: there was an edit meanwhile`);
    t.equal(answer.headers.get("cache-control"), "no-store", path);
    for (const name of ["etag", "surrogate-key"]) t.equal(answer.headers.get(name), null, `${path}: ${name}`);
  }
});

t.test("answers that were read while the map changed", async (t) => {
  let names = 0;
  for (const path of ["2.8/p/m/layers/a/objects/?limit=5", "2.8/p/m/layers/?returnBbox=1"]) {
    await add(2);
    afterRead = async () => {
      const body = { parent_id: 0, name: `name ${names++}` };
      t.equal((await api("PATCH", "m/layers/a/", { token: editor, body, node: 1 })).status, 200);
    };
    t.equal((await get(path)).headers.get("cache-control"), "no-store", path);
    t.equal((await get(path)).headers.get("cache-control"), kept, path);
  }
});

t.test("images that were made while an edit came", async (t) => {
  const path = `2.8/p/image/${uuid}/?w=3`;
  t.equal((await get(path)).headers.get("cache-control"), kept);
  afterRead = async () => void (await add(2));
  t.equal((await get(path)).headers.get("cache-control"), "no-store");
});

t.test("long lists, whose headers are sent before their end", async (t) => {
  for (const path of ["objects/?returnGeom=1&fields=*", "objects/?format=geojson&sort=size&returnGeom=1"]) {
    const answer = await fetch(`${server.url}/api/2.8/p/m/layers/a/${path}`);
    t.equal(answer.headers.get("cache-control"), "public, max-age=0, s-maxage=0", path);
    const etag = answer.headers.get("etag")!;
    t.ok((await answer.arrayBuffer()).byteLength > 5_000_000);
    const again = await fetch(`${server.url}/api/2.8/p/m/layers/a/${path}`, {
      headers: { "if-none-match": etag },
    });
    t.equal(again.status, 304, path);
    t.equal(again.headers.get("cache-control"), kept, "it was read while nothing changed");
  }
});

t.test("a list whose reader leaves is held no longer", async (t) => {
  const path = `${server.url}/api/2.8/p/m/layers/a/objects/?returnGeom=1&fields=*`;
  const { readAhead } = server.nodes[0]!.services;
  const leave = new AbortController();
  const left = await fetch(path, { signal: leave.signal });
  t.equal(left.status, 200);
  leave.abort();
  await (await fetch(path, { method: "HEAD" })).arrayBuffer();
  await waitFor(() => readAhead.bytes === 0);
});

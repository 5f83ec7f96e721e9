import t from "tap";
import { addObject, makeMap, makeStyledLayer, square } from "../support/maps.js";
import { startServer, waitFor } from "../support/server.js";
import { changeUses } from "../support/uses.js";

/** What the public is answered is kept by caches, which ask whether it is current. */

const server = await startServer({ nodes: 2 });
t.teardown(() => server.stop());
await makeMap(server, "m");
const layer = await makeStyledLayer(server, "m", "a", "#a { polygon-fill: #f00; }");
const object = await addObject(server, "a", square(10, 50, 1), { map: "m" });
const token = await server.token("editor");

const get = (path: string, headers: Record<string, string> = {}, node = 0) =>
  fetch(`${server.urls[node]}/api/2.8/p/m/${path}`, { headers });

const lists = [
  "layers/a/objects/?fields=*",
  "layers/a/objects/?fields=*&format=geojson&returnGeom=1",
  "layers/a/objects/?sort=svc_id&limit=5",
  "layers/a/count/?precise=1",
  "layers/a/bbox/",
];
const others = ["", "layers/", "layers/a/", "layers/a/structure/", "layers/a/legend/?extended=1"];

/** Statements on the layer's table that nodes send for requests. */
let statements = 0;
const count = (statement: unknown) => {
  if (JSON.stringify(statement).includes(`layers.l${layer.id}`)) statements++;
};
for (const { services } of server.nodes) {
  const stop = changeUses(services.db, (db) => {
    const [query, stream] = [db.query.bind(db), db.streamBytes.bind(db)];
    return {
      query: ((...args: Parameters<typeof query>) => {
        count(args[0]);
        return query(...args);
      }) as typeof query,
      streamBytes: ((...args: Parameters<typeof stream>) => {
        count(args[0]);
        return stream(...args);
      }) as typeof stream,
    };
  });
  t.teardown(stop);
}

t.test("an answer that a client has is not made again", async (t) => {
  for (const path of [...lists, ...others]) {
    const first = await get(path);
    t.equal(first.status, 200, path);
    t.equal(first.headers.get("cache-control"), "public, max-age=0, must-revalidate", path);
    const etag = first.headers.get("etag")!;
    t.match(etag, /^"([\da-f]{20}-)?[\w-]{20}(-gzip)?"$/, path);
    const text = await first.text();
    t.ok(!lists.includes(path) || statements > 0);
    for (const node of [0, 1]) {
      // A node may know the layer's version only after it was asked once.
      if (node === 1) await get(path, {}, 1);
      const counted = statements;
      const again = await get(path, { "if-none-match": etag }, node);
      t.equal(again.status, 304, `${path} of node ${node}`);
      t.equal(again.headers.get("etag")?.replace("-gzip", ""), etag.replace("-gzip", ""));
      t.equal(await again.text(), "");
      t.equal(statements, counted, `${path}: no statement`);
    }
    t.equal((await get(path, { "if-none-match": '"another"' })).status, 200);
    t.equal(await (await get(path)).text(), text);
  }
});

t.test("HEAD has the headers of GET", async (t) => {
  const head = async (path: string, method: string): Promise<Record<string, unknown>> => {
    const headers = { "accept-encoding": "identity" };
    const answer = await fetch(`${server.url}/api/2.8/p/m/${path}`, { method, headers });
    await answer.arrayBuffer();
    const {
      date,
      connection,
      "transfer-encoding": framing,
      "x-request-id": id,
      ...rest
    } = Object.fromEntries(answer.headers);
    return { status: answer.status, ...rest };
  };
  for (const path of [...lists, ...others, "search/?phrase=a"]) {
    const asked = await head(path, "GET");
    t.same(await head(path, "HEAD"), asked, path);
    t.type(asked.etag, "string", path);
  }
});

t.test("after an edit or a change of the map it is made again, by each node", async (t) => {
  const tags = async (node: number) =>
    Promise.all([...lists, ...others].map(async (path) => (await get(path, {}, node)).headers.get("etag")!));
  const known = await tags(0);
  const edited = await server.api("PUT", `m/layers/a/objects/${object}/`, {
    token,
    body: { geom: square(20, 50, 1) },
  });
  t.equal(edited.status, 200, edited.text);
  for (const node of [1, 0])
    for (const [index, path] of lists.entries())
      t.equal((await get(path, { "if-none-match": known[index]! }, node)).status, 200, path);
  for (const [index, path] of others.entries())
    t.equal((await get(path, { "if-none-match": known[lists.length + index]! }, 1)).status, 304, path);

  const before = await tags(1);
  const renamed = await server.api("PATCH", "m/layers/a/", { token, body: { parent_id: 0, name: "other" } });
  t.equal(renamed.status, 200, renamed.text);
  for (const path of ["layers/", "layers/a/"])
    t.equal(
      (await get(path, { "if-none-match": before[lists.length + others.indexOf(path)]! }, 1)).status,
      200,
      path,
    );
});

t.test("the tree of a map is made once for each who may see another, and again after a change", async (t) => {
  const { services } = server.nodes[0]!;
  const { texts } = services;
  let made = 0;
  const of: typeof texts.of = (source, make) =>
    texts.of(source, () => {
      made++;
      return make();
    });
  Object.assign(services, { texts: { of } });
  t.teardown(() => Object.assign(services, { texts }));
  const tree = async (query = "", headers = {}) => (await get(`layers/?type=full${query}`, headers)).text();
  const [first] = await Promise.all(Array.from({ length: 8 }, () => tree()));
  t.equal(made, 1, "by those who ask at once, too");
  t.equal(await tree(), first);
  t.equal(made, 1);
  const access = async (headers: Record<string, string>) =>
    JSON.parse(await tree("&with_access=1", headers))[0].access as number;
  t.not(await access({ "x-token": token }), await access({}));
  t.equal(made, 3);
  const renamed = await server.api("PATCH", "m/layers/a/", { token, body: { parent_id: 0, name: "Fields" } });
  t.equal(renamed.status, 200, renamed.text);
  t.equal(JSON.parse(await tree())[0].name, "Fields");
});

t.test("what a token decided is kept by nobody, and what may not be read any more is refused", async (t) => {
  for (const path of [...lists, ...others]) {
    const own = await get(path, { "x-token": token });
    t.equal(own.headers.get("cache-control"), "private, no-store", path);
    const again = await get(path, { "x-token": token, "if-none-match": own.headers.get("etag") ?? "x" });
    // What can be changed has an ETag, for who does so, too.
    t.equal(again.status, lists.includes(path) ? 200 : 304, path);
  }
  const known = (await get(lists[0]!)).headers.get("etag")!;
  await server.sql.query("update map set has_publication = false where code = 'm'");
  await waitFor(async () => (await get(lists[0]!, { "if-none-match": known })).status === 403);
});

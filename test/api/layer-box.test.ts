import t from "tap";
import { boxOf, KeptBoxes } from "../../src/features/layer-boxes.js";
import { addObject, makeMap, makeStyledLayer } from "../support/maps.js";
import { startServer } from "../support/server.js";

/** The box of a layer, by itself. */

const server = await startServer({ nodes: 2 });
t.teardown(() => server.stop());
await makeMap(server, "m");
await makeStyledLayer(server, "m", "a", "#a { line-width: 1; }");
const box = (path: string) => server.api("GET", `m/layers/${path}`);

t.test("a layer without geometry has none", async (t) => {
  const answer = await box("a/bbox/");
  t.equal(answer.status, 200);
  t.equal(answer.json, null);
});

t.test("it holds Lat, Lon in degrees and y, x in metres, and follows edits at once", async (t) => {
  await addObject(server, "a", { type: "Point", coordinates: [10, 50] }, { map: "m" });
  await addObject(server, "a", { type: "Point", coordinates: [-20, 60] }, { map: "m" });
  t.same((await box("a/bbox/")).json, { sw: [50, -20], ne: [60, 10] });
  const metres = (await box("a/bbox/?bboxSR=3857")).json;
  t.same(metres.sw.map(Math.round), [6446276, -2226390]);
  t.same(metres.ne.map(Math.round), [8399738, 1113195]);
  await addObject(server, "a", { type: "Point", coordinates: [11, 61] }, { map: "m" });
  t.same((await box("a/bbox/")).json, { sw: [50, -20], ne: [61, 11] });
});

t.test("it is read again when objects have changed, and not before", async (t) => {
  const { db, catalog, versions } = server.nodes[0]!.services;
  let reads = 0;
  const query = (...given: Parameters<typeof db.query>) => {
    reads++;
    return db.query(...given);
  };
  const counted = Object.create(db, { query: { value: query } });
  const boxes = new KeptBoxes(versions);
  const state = await catalog.map("p", "m");
  const layer = state!.layers.get("a")!;
  const now = { sw: [50, -20], ne: [61, 11] };
  t.same(await boxOf(boxes, counted, layer, 4326), now);
  const first = reads;
  t.same(await boxOf(boxes, counted, layer, 4326), now);
  t.equal(reads, first);
  await server.sql.query(`insert into layers.l${layer.id} (geom) values ('SRID=4326;POINT(12 62)')`);
  await server.nodes[0]!.services.changes.propagate();
  t.same(await boxOf(boxes, counted, layer, 4326), { ...now, ne: [62, 12] }, "also by another program");
  t.ok(reads > first);
});

t.test("those of derived layers and of folders follow, at every node", async (t) => {
  const token = await server.token("editor");
  const body = { code: "v", type: "virtual", source: { layer: "a" } };
  const made = await server.api("POST", "m/layers/", { token, body });
  t.equal(made.status, 200, made.text);
  const seen = async (node: number) => {
    const { json } = await server.api("GET", "m/layers/?type=full&returnBbox=1", { token, node });
    return Object.fromEntries(json.map(({ code, bbox }: { code: string; bbox: unknown }) => [code, bbox]));
  };
  const before = { sw: [50, -20], ne: [62, 12] };
  for (const node of [0, 1]) t.same(await seen(node), { a: before, v: before });
  await addObject(server, "a", { type: "Point", coordinates: [13, 63] }, { map: "m" });
  const after = { ...before, ne: [63, 13] };
  for (const node of [1, 0]) t.same(await seen(node), { a: after, v: after });
});

t.test("an answer of an older version that is made before the commit has its box, too", async (t) => {
  const token = await server.token("editor");
  const answer = await fetch(`${server.url}/api/2.2/p/m/layers/`, {
    method: "POST",
    headers: { "x-token": token, "idempotency-key": "once", "content-type": "application/json" },
    body: JSON.stringify({ code: "new", name: "New" }),
  });
  t.equal(answer.status, 200);
  t.match(await answer.json(), { code: "new", bbox: null });
});

t.test("what is no layer has no box, and other systems are refused", async (t) => {
  const token = await server.token("editor");
  await server.api("POST", "m/folders/", { token, body: { code: "f" } });
  t.equal((await box("f/bbox/")).status, 404);
  t.equal((await box("nothing/bbox/")).status, 404);
  t.equal((await box("a/bbox/?bboxSR=0")).status, 400);
});

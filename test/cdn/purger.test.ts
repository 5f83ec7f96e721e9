import t from "tap";
import { keysOf } from "../../src/cdn/purger.js";
import { type Changed, noteDropped } from "../../src/cdn/state.js";
import { startNode } from "../../src/node.js";
import { startNoting } from "../support/listening.js";
import { quietLog } from "../support/log.js";
import { addObject, makeMap, makeStyledLayer, square } from "../support/maps.js";
import { startServer, waitFor } from "../support/server.js";

/** No change is left out, whatever ends or fails meanwhile; one node tells the CDN at a time. */

const hook = await startNoting();
t.teardown(() => hook.stop());
const config = { "edge.kind": "hook", "edge.urls": [hook.url], "edge.repeatSeconds": 0 };
const server = await startServer({ nodes: 2, config });
t.teardown(() => server.stop());
const { api, sql } = server;
const token = await server.token("editor");
await makeMap(server, "m");
const { id: layer } = await makeStyledLayer(server, "m", "a", "#a { polygon-fill: #f00; }");
const object = await addObject(server, "a", square(10, 50, 1), { map: "m" });

const outdated = async () => Number((await sql.query("select count(*) from edge_outdated")).rows[0].count);
const told = () => waitFor(async () => (await outdated()) === 0);
const keys = () => hook.sent.flatMap(({ body }) => body.keys) as string[];
const move = (lon: number, node = 0) =>
  api("PUT", `m/layers/a/objects/${object}/`, { token, node, body: { geom: square(lon, 50, 1) } });
const metric = async (node: number, name: string) => {
  const text = await (await fetch(`${server.urls[node]}/metrics`)).text();
  return Number(new RegExp(`^mapwright_${name} (\\S+)$`, "m").exec(text)?.[1]);
};
const leaders = async () =>
  (await Promise.all([0, 1].map((node) => metric(node, "edge_leads")))) as [number, number];

t.test("at first everything is dropped, then what changes", async (t) => {
  await waitFor(() => keys().length > 0);
  t.equal(keys()[0], "mapwright");
  await told();
  hook.sent.length = 0;
  for (const node of [0, 1]) {
    t.equal((await move(20 + node, node)).status, 200);
    await told();
  }
  t.ok(keys().includes(`o${layer}`));
  t.ok(keys().some((key) => key.startsWith("t")));
  t.notOk(keys().includes("mapwright"));
  t.same((await leaders()).toSorted(), [0, 1], "one node tells it");
  hook.sent.length = 0;
  t.equal(
    (await api("PUT", "m/publication/", { token: await server.token("admin"), body: [] })).status < 500,
    true,
  );
});

t.test("what the CDN does not take is told again, with all that came meanwhile", async (t) => {
  await told();
  hook.sent.length = 0;
  hook.answer = () => ({ status: 503 });
  for (let lon = 30; lon < 40; lon += 5)
    t.equal((await move(lon)).status, 200, "edits do not wait for the CDN");
  await waitFor(() => hook.sent.length >= 2);
  t.not(await outdated(), 0);
  const leader = (await leaders()).indexOf(1);
  for (const node of [0, 1])
    t.ok((await metric(node, "edge_lag_seconds")) > 0, "also the node that does not tell it knows");
  t.ok((await metric(leader, "edge_purges_failed")) >= 1);
  hook.sent.length = 0;
  hook.answer = () => ({ status: 200 });
  await told();
  t.ok(keys().includes(`o${layer}`));
  for (const node of [0, 1]) await waitFor(async () => (await metric(node, "edge_lag_seconds")) === 0);
});

t.test("another node goes on where the one that told the CDN was cut off", async (t) => {
  await told();
  const before = (await leaders()).indexOf(1);
  hook.sent.length = 0;
  // It has read what changed, and does not come to tell it.
  hook.answer = () => new Promise(() => undefined);
  t.equal((await move(50)).status, 200);
  await waitFor(() => hook.sent.length === 1);
  hook.answer = () => ({ status: 200 });
  hook.sent.length = 0;
  const { rowCount } = await sql.query(
    `select pg_terminate_backend(l.pid) from pg_locks l join pg_database d on d.oid = l.database
     where l.locktype = 'advisory' and d.datname = current_database() and l.objid::bigint = hashtext('mapwright edge')::bigint & 4294967295 and l.granted`,
  );
  t.equal(rowCount, 1, "one connection holds the lock");
  await told();
  t.ok(keys().includes(`o${layer}`), "the change was told");
  await waitFor(async () => (await leaders()).reduce((sum, one) => sum + one, 0) === 1);
  t.pass(`node ${before} told it before, node ${(await leaders()).indexOf(1)} does now`);
});

t.test("what changes while no node is there is told by the next one", async (t) => {
  const first = await startServer({ config });
  const { sql } = first;
  await makeMap(first, "n");
  const { id } = await makeStyledLayer(first, "n", "b", "#b { polygon-fill: #f00; }");
  await addObject(first, "b", square(10, 50, 1), { map: "n" });
  const isTold = async () =>
    Number((await sql.query("select count(*) from edge_outdated")).rows[0].count) === 0;
  await waitFor(isTold);
  const { config: own } = first.nodes[0]!.services;
  await first.nodes[0]!.stop(1_000);
  await sql.query(`update layers.l${id} set geom = st_translate(geom, 1, 0)`);
  t.notOk(await isTold());
  hook.sent.length = 0;
  const second = await startNode(own, quietLog);
  await waitFor(isTold);
  t.ok(keys().includes(`o${id}`));
  t.notOk(keys().includes("mapwright"), "the CDN keeps the rest");
  await second.stop(1_000);
  await sql.end();
  await first.database.drop();
});

t.test("many changes are told twice to a CDN that wants that, and no more often", async (t) => {
  const own = await startServer({ config: { ...config, "edge.repeatSeconds": 2 } });
  const { sql } = own;
  const isTold = async () =>
    Number((await sql.query("select count(*) from edge_outdated")).rows[0].count) === 0;
  await waitFor(isTold);
  hook.sent.length = 0;
  const { rows } = await sql.query(
    "insert into project (code, name) select 'many' || n, '{}' from generate_series(1, 2500) n returning id, revision",
  );
  await waitFor(() => keys().length >= rows.length);
  // While these wait to be told again, one of them changes.
  const { id } = rows[0];
  await sql.query("update project set revision = revision + 1 where id = $1", [id]);
  await waitFor(isTold);
  const times = new Map<string, number>();
  for (const key of keys()) times.set(key, (times.get(key) ?? 0) + 1);
  const others = rows.slice(1).map((row: { id: number }) => times.get(`p${row.id}`));
  t.same([...new Set(others)], [2]);
  t.ok([3, 4].includes(times.get(`p${id}`)!), "what changed again meanwhile is told for that, too");
  await own.stop();
});

t.test("what the CDN does not take is in the way of nothing else", async (t) => {
  const own = await startServer({ config });
  const { sql } = own;
  const left = async () => (await sql.query("select id from edge_outdated")).rows.map(({ id }) => Number(id));
  await waitFor(async () => (await left()).length === 0);
  const first = await sql.query("insert into project (code, name) values ('many1', '{}') returning id");
  const refused = Number(first.rows[0].id);
  await waitFor(async () => (await left()).length === 0);
  // Before it changes: the node is as fast as the test.
  hook.answer = ({ body }) => ({ status: body.keys.includes(`p${refused}`) ? 500 : 200 });
  const { rows } = await sql.query(
    `with refused as (update project set revision = revision + 1 where id = $1)
     insert into project (code, name) select 'many' || n, '{}' from generate_series(2, 2500) n returning id`,
    [refused],
  );
  await waitFor(async () => (await left()).length <= 1_000);
  t.ok((await left()).includes(refused));
  const last = Number(rows.at(-1).id);
  await sql.query("update project set revision = revision + 1 where id = $1", [last]);
  await sql.query("select pg_notify('mapwright', 'P ' || $1)", [last]);
  await waitFor(async () => !(await left()).includes(last));
  hook.answer = () => ({ status: 200 });
  await waitFor(async () => (await left()).length === 0);
  await own.stop();
});

t.test("what changes while all is looked through is told at once, wherever it stands", async (t) => {
  await told();
  let release = (): void => undefined;
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  let batches = 0;
  hook.answer = async ({ body }) => {
    // Layers come before projects: this is the second batch of the latter.
    if (body.keys.length >= 1_000 && ++batches === 2) await held;
    return { status: 200 };
  };
  await sql.query(
    "insert into project (code, name) select 'more' || n, '{}' from generate_series(1, 2500) n",
  );
  await sql.query("select pg_notify('mapwright', 'C')");
  await waitFor(() => batches === 2);
  hook.sent.length = 0;
  t.equal((await move(62)).status, 200);
  release();
  await waitFor(() => keys().includes(`o${layer}`));
  hook.answer = () => ({ status: 200 });
  await told();
});

t.test("what changes while it is noted that all was told is told at once", async (t) => {
  await told();
  hook.sent.length = 0;
  await sql.query("begin");
  await sql.query("select from edge for update");
  await waitFor(async () => {
    await sql.query("select pg_stat_clear_snapshot()");
    const { rowCount } = await sql.query(
      "select from pg_stat_activity where wait_event_type = 'Lock' and query like 'update edge set told_at%'",
    );
    return rowCount === 1;
  });
  t.equal((await move(63)).status, 200);
  const released = performance.now();
  await sql.query("rollback");
  await waitFor(() => keys().includes(`o${layer}`));
  const { at } = hook.sent.find(({ body }) => body.keys.includes(`o${layer}`))!;
  // Five seconds later it is noted again.
  t.ok(at - released < 2_500, `${at - released} ms`);
});

t.test("edits that never stop do not look as if they were not told", async (t) => {
  hook.answer = async () => {
    await new Promise((resolve) => setTimeout(resolve, 200));
    return { status: 200 };
  };
  const at = async () => String((await sql.query("select told_at::text from edge")).rows[0].told_at);
  const before = await at();
  await waitFor(async () => {
    await sql.query("update project set revision = revision + 1 where code = 'p'");
    await sql.query("select pg_notify('mapwright', 'P ' || id) from project where code = 'p'");
    return (await at()) !== before;
  });
  t.not(await at(), before);
  hook.answer = () => ({ status: 200 });
  await told();
});

t.test("open maps hear of a change when the CDN has dropped the old tiles", async (t) => {
  await told();
  const controller = new AbortController();
  t.teardown(() => controller.abort());
  const answer = await fetch(`${server.urls[1]}/tms/p/m/changes/`, { signal: controller.signal });
  let heard = "";
  void (async () => {
    for await (const chunk of answer.body!) heard += Buffer.from(chunk as Uint8Array).toString();
  })().catch(() => undefined);
  await waitFor(() => heard.includes("id:"));
  let release = (): void => undefined;
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  hook.sent.length = 0;
  hook.answer = async () => {
    await held;
    return { status: 200 };
  };
  t.equal((await move(60)).status, 200);
  await waitFor(() => hook.sent.length > 0);
  await new Promise((resolve) => setTimeout(resolve, 300));
  t.notMatch(heard, /event: change/, "the old tile is still there");
  release();
  hook.answer = () => ({ status: 200 });
  await waitFor(() => heard.includes("event: change"));
});

t.test("another history of the database drops everything", async (t) => {
  await told();
  hook.sent.length = 0;
  await sql.query("update epoch set token = 'another'");
  await move(61);
  await waitFor(() => keys().includes("mapwright"));
  await told();
  t.equal(await outdated(), 0);
});

t.test("too many keys are told by the names of layers, then all at once", async (t) => {
  const change = (id: number, boxes: number): Changed => ({
    ...{ kind: "layer", id, version: 2, purged: 1, map: 7, isWide: false },
    area: Array.from({ length: boxes }, (_, index) => [index * 1e5, 0, index * 1e5, 0]).flat(),
  });
  const told = (changed: Changed[], most: number) => keysOf(changed, { most, turn: async () => undefined });
  const small = (await told([change(1, 1)], 10_000))!;
  t.ok(small.length > 50 && !small.includes("l1"));
  const both = (await told([change(1, 1), change(2, 100)], small.length + 50))!;
  t.ok(both.includes("l2") && !both.includes("l1"), "the layer with more is told as a whole");
  t.ok(both.length <= small.length + 50);
  const manyLayers = Array.from({ length: 200 }, (_, id) => change(id, 1));
  t.equal(await told(manyLayers, 100), undefined, "everything");
  t.equal((await told(manyLayers, 1_000))!.includes("l7"), true);
  t.ok(
    (await told([{ ...change(3, 1), map: null, version: null }], 100))!.includes("l3"),
    "a layer that is gone",
  );
});

t.test("what is told twice in one batch is noted by its later version", async (t) => {
  const told = [5, 6].map((version) => ({ kind: "layer" as const, id: 987_654, version }));
  await noteDropped(server.nodes[0]!.services.db, told);
  const { rows } = await server.sql.query("select version::int from edge_purged where id = 987654");
  t.same(rows, [{ version: 6 }]);
  await server.sql.query("delete from edge_purged where id = 987654");
});

import { once } from "node:events";
import net from "node:net";
import t, { type Test } from "tap";
import { addObject, makeMap, makeStyledLayer, square } from "../support/maps.js";
import { startServer, waitFor } from "../support/server.js";

/** One client reads what is slow, leaves what it asked for, or does not read what it gets; another one is served. */

const server = await startServer({
  config: { databaseConnections: 10, trustedProxies: "127.0.0.1", publicTimeoutMs: 20_000 },
});
t.teardown(() => server.stop());
const { api, sql } = server;
const { db } = server.nodes[0]!.services;

await makeMap(server, "m");
const base = await makeStyledLayer(server, "m", "base", "#l { polygon-fill: #f00; }");
await addObject(server, "base", square(10, 10, 1), { map: "m" });
const object = await addObject(server, "base", square(12, 10, 1), { map: "m" });
await sql.query(
  `insert into layers.l${base.id} (geom) select st_setsrid(st_makepoint(i % 180, i % 80), 4326) from generate_series(1, 60000) i`,
);
const view = await api("POST", "m/layers/", {
  token: await server.token("editor"),
  body: { code: "slow", type: "virtual", source: { layer: "base" } },
});
const { definition } = (
  await sql.query(`select rtrim(pg_get_viewdef('layers.l${view.json.id}'::regclass), '; \n') as definition`)
).rows[0];
await sql.query(
  `create or replace view layers.l${view.json.id} as ${definition} where svc_id > 2 or pg_sleep(600) is not null`,
);

const from = (client: string) => ({ "x-forwarded-for": client });
const hostile = from("203.0.113.1");
const other = from("198.51.100.2");
const layers = `${server.url}/api/2.8/p/m/layers`;
const purposes = () => db.counts().purposes;
const isFree = () => {
  const { idle, total, waiting } = db.counts();
  return waiting === 0 && idle === total;
};

/** Requests of a client; `leave` ends them all. */
function flood(urls: readonly string[], headers: Record<string, string>, sent: RequestInit = {}) {
  const leaving = new AbortController();
  const statuses: number[] = [];
  const ended = Promise.all(
    urls.map(async (url) => {
      try {
        const answer = await fetch(url, { ...sent, headers, signal: leaving.signal });
        statuses.push(answer.status);
        await answer.arrayBuffer();
      } catch (error) {
        if (!leaving.signal.aborted) throw error;
      }
    }),
  );
  const leave = () => {
    leaving.abort();
    return ended;
  };
  return { statuses, leave };
}

/** What somebody else wants meanwhile: a login, single objects, a short list, a long one, and a write. */
async function served(t: Test): Promise<void> {
  const ask = (path: string) => fetch(`${layers}/base/${path}`, { headers: other });
  const login = await api("POST", "login/", {
    body: { user: "editor", pass: "editoreditor" },
    headers: other,
  });
  t.equal(login.status, 200, "a login");
  for (const path of [
    `objects/${object}/`,
    `objects/${object}/?returnGeom=1`,
    "objects/?limit=5&fields=*",
    "bbox/",
    "objects/",
  ]) {
    const answer = await ask(path);
    t.equal(answer.status, 200, path);
    await answer.arrayBuffer();
  }
  const written = await api("POST", "m/layers/base/objects/", {
    token: login.json.token,
    body: { fields: {}, geom: square(1, 1, 1) },
    headers: other,
  });
  t.equal(written.status, 200, "a write");
}

const many = (count: number, path: string) => Array.from({ length: count }, () => `${layers}/${path}`);

t.test("slow reads of one client leave places to others, and end with their client", async (t) => {
  const asked = flood(many(12, "slow/objects/?limit=10&geomZoom=3&returnGeom=1"), hostile);
  await waitFor(() => purposes().reads.held + purposes().reads.waiting === 12);
  const { held } = purposes().reads;
  t.ok(held <= 5, `${held} of ten places`);
  await served(t);
  await asked.leave();
  await waitFor(isFree);
});

t.test(
  "visualizations of many objects that are tried leave places to who writes, and end with their client",
  async (t) => {
    const editing = {
      ...hostile,
      "x-token": await server.token("editor"),
      "content-type": "application/json",
    };
    const body = JSON.stringify({ type: 1, columnCode: "svc_id" });
    const asked = flood(many(12, "slow/visualization/?dry_run=1"), editing, { method: "PUT", body });
    await waitFor(() => purposes().reads.held + purposes().reads.waiting === 12);
    t.equal(purposes().writes.held, 0);
    await served(t);
    await asked.leave();
    await waitFor(isFree);
  },
);

t.test("a statement that a client asks for is one process of the database", async (t) => {
  const cheap =
    "set local parallel_setup_cost = 0; set local parallel_tuple_cost = 0; set local min_parallel_table_scan_size = 0";
  const explain = `explain select count(*) from layers.l${base.id} where st_npoints(geom) > 1`;
  const plan = async (query: (text: string) => Promise<object[]>): Promise<string> => {
    for (const text of cheap.split("; ")) await query(text);
    return JSON.stringify(await query(explain));
  };
  const own = await db.transaction((tx) => plan((text) => tx.query(text)));
  await sql.query("begin");
  const others = await plan(async (text) => (await sql.query(text)).rows);
  await sql.query("rollback");
  t.match(others, "Gather", "PostgreSQL would take several");
  t.notMatch(own, "Gather");
});

t.test("what a client abandoned is cancelled, a few at a time, and what waited is dropped", async (t) => {
  const slow = [
    ...many(20, "slow/objects/1/?returnGeom=1"),
    ...many(20, "slow/bbox/"),
    ...many(10, "slow/objects/?limit=10"),
    ...many(10, "slow/count/?precise=true"),
  ];
  const before = db.counts().cancelRequests;
  const asked = flood(slow, hostile);
  await waitFor(() => purposes().reads.held + purposes().reads.waiting === slow.length);
  const { held } = purposes().reads;
  await asked.leave();
  await waitFor(isFree);
  const sent = db.counts().cancelRequests - before;
  t.ok(sent >= held && sent < 2 * held + 2, `${sent} cancel requests for ${held} statements`);
  await sql.query("select pg_stat_clear_snapshot()");
  const { rows } = await sql.query(
    "select 1 from pg_stat_activity where datname = current_database() and query like '%layers.l%' and state = 'active' and application_name = 'mapwright'",
  );
  t.equal(rows.length, 0, "no statement is left");
  await served(t);
});

t.test("slow lists of one client leave places to others", async (t) => {
  const asked = flood(many(12, "slow/objects/"), hostile);
  await waitFor(() => purposes().lists.held + purposes().lists.waiting === 12);
  t.ok(purposes().lists.held <= 4);
  await served(t);
  await asked.leave();
  await waitFor(isFree);
});

t.test("slow reads by many addresses let others log in, and the node is ready all the while", async (t) => {
  const floods = Array.from({ length: 24 }, (_, index) =>
    flood(many(2, "slow/objects/1/?returnGeom=1"), from(`203.0.113.${index + 10}`)),
  );
  await waitFor(() => purposes().reads.held + purposes().reads.waiting === 48);
  t.ok(purposes().reads.waiting > 30, "there is no place for more reads");
  const ready = await Promise.all(
    [1, 2, 3].map(async () => {
      const answer = await fetch(`${server.url}/health/ready`, { headers: other });
      return [answer.status, ((await answer.json()) as { checks: { database: boolean } }).checks.database];
    }),
  );
  t.same(ready, [
    [200, true],
    [200, true],
    [200, true],
  ]);
  const body = { user: "editor", pass: "editoreditor" };
  const login = await api("POST", "login/", { body, headers: other });
  t.equal(login.status, 200, login.text);
  t.ok(purposes().reads.waiting > 30, "they still wait");
  await Promise.all(floods.map(({ leave }) => leave()));
  await waitFor(isFree);
});

/** The body of a response in chunks. */
function dechunked(response: string): string {
  let body = "";
  for (let at = response.indexOf("\r\n\r\n") + 4; ; ) {
    const end = response.indexOf("\r\n", at);
    const length = Number.parseInt(response.slice(at, end), 16);
    if (length === 0) return body;
    body += response.slice(end + 2, end + 2 + length);
    at = end + 2 + length + 2;
  }
}

/** A client that asks for a long list and does not read. */
async function unread(): Promise<net.Socket> {
  const { port } = new URL(server.url);
  const socket = net.connect({ port: Number(port), host: "127.0.0.1" });
  await once(socket, "connect");
  socket.pause();
  const path = "/api/2.8/p/m/layers/base/objects/?fields=*&returnGeom=1&returnBbox=1";
  socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: ${hostile["x-forwarded-for"]}\r\n\r\n`);
  return socket;
}

t.test("lists that are not read leave places to others, and go on when they are", async (t) => {
  const { refused } = purposes().lists;
  // More than may be read at once, and few enough to follow each other within the time that one waits on a busy machine.
  const sockets = await Promise.all(Array.from({ length: 7 }, () => unread()));
  await waitFor(() => purposes().lists.held >= 3);
  await served(t);
  // Those that nobody reads give theirs to those that wait, so that all have begun at last.
  await waitFor(() => purposes().lists.waiting === 0);
  t.equal(purposes().lists.refused, refused);
  t.ok(purposes().lists.held > 0, "none has been sent whole");
  const [first] = sockets as [net.Socket];
  let text = "";
  first.setEncoding("utf8").on("data", (data) => {
    text += data;
  });
  first.resume();
  await waitFor(() => text.endsWith("0\r\n\r\n"));
  const ids = (JSON.parse(dechunked(text)) as { id: number }[]).map(({ id }) => id);
  t.ok(ids.length >= 60_002, `${ids.length} objects`);
  t.ok(
    ids.every((id, i) => i === 0 || id > ids[i - 1]!),
    "each once, in their order",
  );
  for (const socket of sockets) socket.destroy();
  await waitFor(isFree);
});

t.test("what the public reads has less time than what users read", async (t) => {
  const strict = await startServer({ config: { publicTimeoutMs: 200 } });
  t.teardown(() => strict.stop());
  await makeMap(strict, "m");
  const layer = await makeStyledLayer(strict, "m", "l", "#l { polygon-fill: #f00; }");
  const token = await strict.token("viewer");
  for (const path of ["m/layers/l/objects/?limit=10", "m/layers/l/objects/", "m/layers/l/bbox/"]) {
    await strict.sql.query(`begin; lock table layers.l${layer.id} in access exclusive mode`);
    const waiting = strict.api("GET", path, { token });
    const refused = await strict.api("GET", path);
    t.match(refused, { status: 503, json: { code: "busy" } }, path);
    await strict.sql.query("rollback");
    t.equal((await waiting).status, 200, `${path}, for a user`);
  }
});

import { setTimeout as sleep } from "node:timers/promises";
import t from "tap";
import { checkHosts } from "../../src/doctor/check-hosts.js";
import { checkPostgres } from "../../src/doctor/checks.js";
import { Clusters } from "../support/clusters.js";
import { makeMap, makeStyledLayer, square, tileUrl } from "../support/maps.js";
import { picture } from "../support/pictures.js";
import { startServer, waitFor } from "../support/server.js";

/** The primary is killed while users write, and its synchronous standby takes its place: DATABASE_URL names both. */

t.setTimeout(180_000);

const clusters = new Clusters();
t.teardown(() => clusters.stop());
const first = await clusters.createWithSchema();
const second = await (await first.baseBackup({ standby: true })).start();
await first.makeSynchronous();
const single = `postgresql://mapwright@127.0.0.1:${first.port}/mapwright`;
const both = `postgresql://mapwright@127.0.0.1:${first.port},127.0.0.1:${second.port}/mapwright?target_session_attrs=read-write`;
const server = await startServer({ nodes: 2, databaseUrl: single, config: { databaseUrl: both } });
t.teardown(() => server.stop());

const writers = 4;
/** Between two objects there is room on the map for their tiles. */
const zoom = 8;
const stride = 2;

const statuses = new Set<number>();
const acknowledged: string[] = [];
const tried = new Set<string>();
const stale: string[] = [];
let lastAnswered = 0;
let isOver = false;

async function send(name: string, place: { lon: number; lat: number }, node: number, token: string) {
  tried.add(name);
  while (!isOver) {
    const answer = await server.api("POST", "m/layers/a/objects/", {
      token,
      body: { fields: { name }, geom: square(place.lon, place.lat, 0.5) },
      headers: { "idempotency-key": name },
      node,
    });
    statuses.add(answer.status);
    if (answer.status === 200) {
      acknowledged.push(name);
      lastAnswered = performance.now();
      return true;
    }
    t.match(answer.headers.get("retry-after"), /^\d+$/, answer.text);
    await sleep(50);
  }
  return false;
}

/** @returns undefined where the tile could not be had as a whole */
async function painted(place: { lon: number; lat: number }, node: number): Promise<boolean | undefined> {
  const answer = await fetch(
    tileUrl(server, "m", { lon: place.lon + 0.25, lat: place.lat + 0.25, z: zoom }, "&base=0", node),
  );
  statuses.add(answer.status);
  const body = await answer.arrayBuffer();
  if (answer.status !== 200 || answer.headers.has("x-tile-incomplete")) return undefined;
  return (await picture(body)).painted > 0;
}

async function write(writer: number): Promise<void> {
  const token = await server.token("editor");
  for (let count = 0; !isOver; count++) {
    const name = `w${writer}-${count}`;
    const at = writer * 1_000 + count;
    const place = {
      lon: -179 + stride * (at % 178),
      lat: -70 + stride * (Math.floor(at / 178) + 14 * writer),
    };
    const node = count % 2;
    await painted(place, 1 - node);
    if (!(await send(name, place, node, token))) return;
    // On the other node, which has just seen that it is empty.
    if ((await painted(place, 1 - node)) === false) stale.push(name);
    await sleep(10);
  }
}

t.test("no answered edit is lost, none is done twice, and no tile is stale", async (t) => {
  await makeMap(server, "m");
  await makeStyledLayer(server, "m", "a", "#a { polygon-fill: #ff0000; }");
  const token = await server.token("admin");
  const column = { token, body: { code: "name", type: "string" } };
  t.equal((await server.api("POST", "m/layers/a/structure/", column)).status, 200);
  t.match(
    (await checkHosts(both)).map(({ ok, found }) => [ok, found]),
    [
      [true, /takes writes/],
      [true, /a standby/],
      [true, /^synchronous/],
    ],
  );

  await second.sql("postgres", "select pg_wal_replay_pause()");
  await first.sql(
    "postgres",
    "select count(pg_logical_emit_message(false, 'x', repeat('x', 1000000))) from generate_series(1, 80)",
  );
  t.match(
    (await checkHosts(both))[1],
    { ok: false, found: /a standby, (7\d|8\d) MB behind/, advice: /pg_stat_replication/ },
    "a standby that has fallen behind is told",
  );
  await second.sql("postgres", "select pg_wal_replay_resume()");
  await waitFor(async () => (await checkHosts(both))[1]!.ok);

  const running = Array.from({ length: writers }, (_, writer) => write(writer));
  await sleep(2_000);
  await first.crash();
  await sleep(500);
  for (const url of server.urls)
    t.equal((await fetch(`${url}/health/ready`)).status, 503, "there is no primary");
  t.match(await checkPostgres(both), [{ ok: false, found: /no server of DATABASE_URL takes writes/ }]);
  const before = acknowledged.length;
  const promoted = performance.now();
  await second.sql("postgres", "select pg_promote()");
  await waitFor(() => acknowledged.length > before);
  t.comment(
    `${before} edits before; the first one after it ${Math.round(lastAnswered - promoted)} ms after the promotion`,
  );
  await waitFor(() => server.nodes.every((node) => node.services.changes.trusted));
  await sleep(2_000);
  isOver = true;
  await Promise.all(running);
  t.comment(`${acknowledged.length} edits in all, statuses ${[...statuses]}`);

  t.same(
    [...statuses].filter((status) => ![200, 503].includes(status)),
    [],
    "nothing fails unexpectedly",
  );
  const [layer] = (await second.sql("mapwright", "select id from mapwright.node where code = 'a'")) as {
    id: string;
  }[];
  const stored = (await second.sql(
    "mapwright",
    `select substring((to_jsonb(o) - 'geom')::text from 'w[0-9]+-[0-9]+') as name from layers.l${layer!.id} o`,
  )) as { name: string }[];
  const names = new Set(stored.map(({ name }) => name));
  t.same(
    acknowledged.filter((name) => !names.has(name)),
    [],
    "nothing that was answered is lost",
  );
  t.equal(stored.length, names.size, "nothing was done twice");
  t.same(
    [...names].filter((name) => !tried.has(name)),
    [],
  );
  t.same(stale, [], "an answered edit is in the next tile of the other node");
  for (const url of server.urls) t.equal((await fetch(`${url}/health/ready`)).status, 200);
  t.match(
    (await checkHosts(both)).map(({ ok, found, advice }) => [ok, found, advice]),
    [
      [false, /cannot be reached/, /take it out of DATABASE_URL/],
      [true, /takes writes/],
      [true, "asynchronous", /synchronous_standby_names/],
    ],
  );
});

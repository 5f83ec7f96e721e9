import { setTimeout as sleep } from "node:timers/promises";
import t from "tap";
import { startNode } from "../../src/node.js";
import { Clusters, SwitchableProxy } from "../support/clusters.js";
import { quietLog } from "../support/log.js";
import { addObject, makeMap, makeStyledLayer, square, tileUrl } from "../support/maps.js";
import { picture } from "../support/pictures.js";
import { startServer, waitFor } from "../support/server.js";

/** A primary that waits for its standby, is kept from writing, or has a standby in its place: what writers and viewers see. */

t.setTimeout(180_000);

const clusters = new Clusters();
t.teardown(() => clusters.stop());
const first = await clusters.createWithSchema();
const second = await (await first.baseBackup({ standby: true })).start();
const single = `postgresql://mapwright@127.0.0.1:${first.port}/mapwright`;
const both = `postgresql://mapwright@127.0.0.1:${first.port},127.0.0.1:${second.port}/mapwright`;
/** A short one: a node waits so much and 5 s more for an answer. */
const statementTimeoutMs = 500;
const server = await startServer({ databaseUrl: single, config: { databaseUrl: both, statementTimeoutMs } });
t.teardown(() => server.stop());
await makeMap(server, "m");
const layer = await makeStyledLayer(server, "m", "a", "#a { polygon-fill: #ff0000; }");
const token = await server.token("editor");

const set = async (setting: string) => {
  await first.sql("postgres", `alter system set ${setting}`);
  await first.sql("postgres", "select pg_reload_conf()");
};
const post = (geom: unknown = square(0, 0, 1)) =>
  server.api("POST", "m/layers/a/objects/", { token, body: { fields: {}, geom } });
const waiting = () => first.sql("postgres", "select pid from pg_stat_activity where wait_event = 'SyncRep'");
const count = async (cluster = first) =>
  (await cluster.sql("mapwright", `select from layers.l${layer.id}`)).length;

t.test("while a commit waits for a standby nothing of ours ends it", async (t) => {
  const before = await count();
  await set("synchronous_standby_names = 'absent'");
  const answer = await post();
  t.equal(answer.status, 503, answer.text);
  t.equal(answer.json.code, "outcome_unknown", "its time was up");
  t.match(answer.headers.get("retry-after"), /^\d+$/);
  // PostgreSQL looks every 5 s whether a client is there (client_connection_check_interval).
  await sleep(6_000);
  t.equal((await waiting()).length, 1, "it waits on");
  t.equal(await count(), before, "nobody has seen it yet");
  await set("synchronous_standby_names = ''");
  await waitFor(async () => (await count()) === before + 1);
});

t.test("a commit whose wait an administrator ends is not told as done", async (t) => {
  await set("synchronous_standby_names = 'absent'");
  for (const send of [() => post(), () => server.api("POST", "m/folders/", { token, body: { name: "f" } })]) {
    const answering = send();
    await waitFor(async () => (await waiting()).length === 1);
    await first.sql(
      "postgres",
      "select pg_cancel_backend(pid) from pg_stat_activity where wait_event = 'SyncRep'",
    );
    const answer = await answering;
    t.equal(answer.status, 503, answer.text);
    t.equal(answer.json.code, "outcome_unknown");
  }
  await set("synchronous_standby_names = ''");
  t.equal((await post()).status, 200);
});

t.test(
  "while a proxy leads to a standby, edits are told to come again, and nobody is sent there",
  async (t) => {
    const board = new SwitchableProxy();
    const port = await board.listen();
    board.switchTo(first.port);
    const { config } = server.nodes[0]!.services;
    const databaseUrl = `postgresql://mapwright@127.0.0.1:${port}/mapwright`;
    const node = await startNode({ ...config, databaseUrl, databaseDirectUrl: "", port: 0 }, quietLog);
    t.teardown(async () => {
      await node.stop(500);
      await board.close();
    });
    await node.services.render.whenReady();
    const url = `http://127.0.0.1:${node.port}`;
    const ask = async (method: string, path: string, body?: unknown) => {
      const headers = { "x-token": token, "content-type": "application/json" };
      const answer = await fetch(`${url}${path}`, {
        method,
        headers,
        ...(body ? { body: JSON.stringify(body) } : {}),
      });
      return { status: answer.status, again: answer.headers.get("retry-after"), text: await answer.text() };
    };
    const edit = () => ask("POST", "/api/2.8/p/m/layers/a/objects/", { fields: {}, geom: square(3, 3, 1) });
    t.equal((await edit()).status, 200);
    t.equal((await ask("GET", "/health/ready")).status, 200);
    const before = await count();
    board.switchTo(second.port);
    for (let n = 0; n < 5; n++) {
      const answer = await edit();
      t.equal(answer.status, 503, answer.text);
      t.equal(JSON.parse(answer.text).code, "busy");
      t.match(answer.again, /^\d+$/);
    }
    // What it has found holds for a moment.
    await waitFor(async () => (await ask("GET", "/health/ready")).status === 503);
    t.notOk(node.services.changes.trusted);
    board.switchTo(first.port);
    await waitFor(async () => (await edit()).status === 200);
    t.equal(await count(), before + 1);
    await waitFor(async () => (await ask("GET", "/health/ready")).status === 200);
  },
);

t.test("a primary that is kept from writing is left for its standby", async (t) => {
  const place = { lon: 20.5, lat: 20.5, z: 6 };
  const painted = async () => {
    const answer = await fetch(tileUrl(server, "m", place, "&base=0"));
    return answer.status === 200 ? (await picture(await answer.arrayBuffer())).painted > 0 : undefined;
  };
  await waitFor(() => server.nodes[0]!.services.changes.trusted);
  await addObject(server, "a", square(0, 0, 1), { map: "m" });
  t.equal(await painted(), false);
  await set("default_transaction_read_only = on");
  const refused = await post();
  t.equal(refused.status, 503, refused.text);
  t.equal(refused.json.code, "busy");
  await waitFor(async () => (await fetch(`${server.url}/health/ready`)).status === 503);
  // What it hears there is of no use any more.
  await waitFor(() => !server.nodes[0]!.services.changes.trusted);
  const [written] = (await first.sql("postgres", "select pg_current_wal_flush_lsn() as at")) as {
    at: string;
  }[];
  await waitFor(async () => {
    const [state] = (await second.sql(
      "postgres",
      `select pg_last_wal_replay_lsn() >= '${written!.at}' as level`,
    )) as { level: boolean }[];
    return state!.level;
  });
  const before = await count();
  await second.sql("postgres", "select pg_promote()");
  const promoted = performance.now();
  const statuses = new Set<number>();
  await waitFor(async () => {
    const { status } = await post(square(20, 20, 1));
    statuses.add(status);
    return status === 200;
  });
  t.comment(`an edit was taken ${Math.round(performance.now() - promoted)} ms after the promotion`);
  t.same(
    [...statuses].filter((status) => ![200, 503].includes(status)),
    [],
  );
  t.equal(await painted(), true, "the old primary, which is still there, is not read any more");
  t.equal(await count(second), before + 1);
  const point = { type: "Point", coordinates: [30, 30] };
  const features = [{ type: "Feature", properties: {}, geometry: point }];
  const imported = await server.api("POST", "m/layers/a/import/?action=2", {
    token: await server.token("admin"),
    body: { type: "FeatureCollection", features },
  });
  t.equal(imported.status, 200, imported.text);
  t.equal(await count(second), before + 2, "files are imported there");
  const file = await server.api("GET", "m/layers/a/export/?format=fgb", { token });
  t.equal(file.status, 200, "and exported");
  t.equal(await count(first), before);
  await waitFor(async () => (await fetch(`${server.url}/health/ready`)).status === 200);
  const sessions =
    "select from pg_stat_activity where application_name like 'mapwright%' and usename = 'mapwright'";
  await waitFor(async () => (await first.sql("postgres", sessions)).length === 0);
  t.ok(server.nodes[0]!.services.changes.trusted);
});

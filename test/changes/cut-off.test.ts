import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t, { type Test } from "tap";
import type { Config } from "../../src/config.js";
import { startLocalServices } from "../../src/local-services/services.js";
import { type Node, startNode } from "../../src/node.js";
import { DatabaseLink } from "../support/database-link.js";
import { quietLog } from "../support/log.js";
import { addObject, makeMap, makeStyledLayer, square } from "../support/maps.js";
import { startServer, waitFor } from "../support/server.js";

/** A node whose way to the database is cut, slow or silent, beside one that goes on working. */

/** A Redis of its own, as it is made full here. */
const folder = await mkdtemp(join(tmpdir(), "mapwright-cut-off-"));
const own = await startLocalServices({ dataDir: folder, log: quietLog, durable: false, database: false });
t.teardown(async () => {
  await own.stop();
  await rm(folder, { recursive: true, force: true });
});
const server = await startServer({ config: { redisUrl: own.redisUrl } });
t.teardown(() => server.stop());
const { services } = server.nodes[0]!;
const token = await server.token("editor");
await makeMap(server, "m");
await makeStyledLayer(server, "m", "a", "#a { polygon-fill: #f00; }");
let size = 0;
/** An edit of the first node that changes the tile. */
function edit(): Promise<unknown> {
  size += 2;
  return addObject(server, "a", square(0, 0, size), { map: "m" });
}

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
const urlOf = (node: Node) => `http://127.0.0.1:${node.port}`;
const tile = async (url: string) => {
  const answer = await fetch(`${url}/tms/p/m/0/0/0.png?base=0`);
  const body = Buffer.from(await answer.arrayBuffer()).toString("base64");
  return { status: answer.status, body: answer.status === 200 ? body : "" };
};

/** Another node, over a link of its own. */
async function linked(t: Test, config: Partial<Config> = {}) {
  const link = await DatabaseLink.to(server.database.url);
  const node = await startNode(
    { ...services.config, ...config, databaseUrl: link.url, databaseDirectUrl: "", port: 0 },
    quietLog,
  );
  t.teardown(async () => {
    link.restore();
    await node.stop(500);
    await link.close();
  });
  await node.services.render.whenReady();
  const url = urlOf(node);
  await tile(url);
  // Until it knows which word was left last.
  await pause(1_500);
  return { link, node, url, isTrusted: () => node.services.changes.trusted };
}

/** Asserts that a node answers with what is there now, or not at all. */
async function isNotStale(t: Test, url: string, what: string): Promise<void> {
  const now = await tile(server.url);
  const seen = await tile(url);
  t.ok(seen.status === 503 || seen.body === now.body, `${what}: ${seen.status}`);
}

t.test("a node that another one gave up when it started does not answer from memory", async (t) => {
  const { link, url } = await linked(t);
  link.cut();
  await pause(300);
  // It finds the node's connection gone, and no edit waits for the node.
  const third = await startNode({ ...services.config, port: 0 }, quietLog);
  t.teardown(() => third.stop(500));
  await pause(3_000);
  await edit();
  await isNotStale(t, url, "after an edit");
  await server.sql.query("update map set has_publication = false where code = 'm'");
  await services.changes.propagate();
  t.equal((await tile(server.url)).status, 403);
  t.not((await tile(url)).status, 200, "what is closed is closed everywhere");
  await server.sql.query("update map set has_publication = true where code = 'm'");
  await services.changes.propagate();
  link.restore();
  await waitFor(async () => (await tile(url)).body === (await tile(server.url)).body);
});

t.test("the word that something was changed counts until what was missed has been read", async (t) => {
  const { link, node, url, isTrusted } = await linked(t, {
    databaseConnections: 2,
    statementTimeoutMs: 60_000,
  });
  link.cutListening();
  await pause(100);
  await edit();
  // Nothing can be read meanwhile.
  const sleeping = [0, 1].map(() => node.services.db.query("select pg_sleep(30)").catch(() => undefined));
  await pause(200);
  await isNotStale(t, url, "while it does not listen");
  link.restore();
  for (let look = 0; look < 3; look++) {
    await isNotStale(t, url, `while what was missed cannot be read, look ${look}`);
    t.notOk(isTrusted());
    await pause(2_000);
  }
  await server.sql.query(
    "select pg_cancel_backend(pid) from pg_stat_activity where datname = current_database() and query like '%pg_sleep(30)%' and pid <> pg_backend_pid()",
  );
  await Promise.all(sleeping);
  await waitFor(isTrusted);
  await isNotStale(t, url, "afterwards");
});

t.test(
  "the word that something was changed is left when Redis is full, and as soon as it takes any",
  async (t) => {
    const { link, url, isTrusted } = await linked(t);
    const { redis } = services;
    /** Of Redis: it takes no values, as one that is full, or nothing, as one whose replicas are away. */
    const states = { full: ["maxmemory", "1"], alone: ["min-replicas-to-write", "1"] } as const;
    // Else it would let go of sessions.
    const [, policy = ""] = (await redis.config("GET", "maxmemory-policy")) as string[];
    await redis.config("SET", "maxmemory-policy", "noeviction");
    const enter = ([setting, value]: readonly [string, string]) => redis.config("SET", setting, value);
    const leave = ([setting]: readonly [string, string]) => redis.config("SET", setting, "0");
    t.teardown(async () => {
      for (const state of Object.values(states)) await leave(state);
      await redis.config("SET", "maxmemory-policy", policy);
    });
    const close = async (isClosed: boolean) => {
      await server.sql.query("update map set has_publication = $1 where code = 'm'", [!isClosed]);
      await services.changes.propagate();
    };
    const cut = async () => {
      await waitFor(isTrusted);
      // Until it knows which word was left last.
      await pause(1_500);
      await tile(url);
      link.cut();
      await pause(300);
      t.equal((await tile(url)).status, 200, "it answers from memory");
    };
    await cut();
    await enter(states.full);
    await close(true);
    t.not((await tile(url)).status, 200, "what is closed is closed everywhere");
    await leave(states.full);
    await close(false);
    link.restore();

    await cut();
    await enter(states.alone);
    let isAnswered = false;
    const closing = close(true).then(() => {
      isAnswered = true;
    });
    await pause(3_000);
    t.notOk(isAnswered, "nobody is told that it is done while the other node cannot know it");
    await leave(states.alone);
    await closing;
    t.not((await tile(url)).status, 200, "what is closed is closed everywhere");
    await close(false);
  },
);

for (const [rule, answered] of [
  ["refuse", [503, null, null]],
  ["serve:60", [200, "no-store", "a date"]],
] as const)
  t.test(`a node that cannot even ask Redis whether it is current: ${rule}`, async (t) => {
    const redis = await DatabaseLink.to(services.config.redisUrl);
    const { link, url, isTrusted } = await linked(t, { redisUrl: redis.url, freshnessWhenCutOff: rule });
    t.teardown(() => redis.close());
    await waitFor(isTrusted);
    link.cut();
    redis.cut();
    await waitFor(() => !isTrusted());
    for (const path of ["/tms/p/m/0/0/0.png?base=0", "/api/2.8/p/m/"]) {
      const { status, headers } = await fetch(`${url}${path}`);
      const freshAt = headers.get("x-fresh-at");
      t.same([status, status === 503 ? null : headers.get("cache-control"), freshAt && "a date"], answered);
      if (freshAt !== null) t.ok(Math.abs(Date.now() - Date.parse(freshAt)) < 60_000, freshAt);
    }
    redis.restore();
    link.restore();
    await waitFor(isTrusted);
    const { status, headers } = await fetch(`${url}/tms/p/m/0/0/0.png?base=0`);
    t.same([status, headers.get("x-fresh-at")], [200, null]);
  });

t.test("an answer that is repeated under its key waits until all have heard of the write", async (t) => {
  const { link, url, isTrusted } = await linked(t);
  await tile(url);
  link.listeningDelayMs = 500;
  // Longer than a proof takes.
  await pause(2_000);
  const send = () =>
    server.api("POST", "m/layers/a/objects/", {
      token,
      body: { fields: {}, geom: square(0, 0, size + 2) },
      headers: { "idempotency-key": "slow" },
    });
  const before = await tile(url);
  const first = send();
  // The write is committed, and the other node has not heard of it.
  await waitFor(
    async () => (await server.sql.query("select from idempotency_key where key = 'slow'")).rowCount === 1,
  );
  t.ok(isTrusted());
  const again = await send();
  t.equal(again.status, 200);
  t.not((await tile(url)).body, before.body, "the edit is seen");
  t.equal((await first).text, again.text);
});

t.test(
  "connections that have gone silent are given up, and what waited for them is asked anew",
  async (t) => {
    const { link, node, url } = await linked(t, { databaseConnections: 3, statementTimeoutMs: 2_000 });
    await Promise.all([0, 1, 2].map(() => node.services.db.query("select pg_sleep(0.2)")));
    const ask = () =>
      fetch(`${url}/api/2.8/p/m/layers/a/objects/?limit=1`, { signal: AbortSignal.timeout(30_000) });
    // The catalogue is to be read, too.
    await server.sql.query("update map set name = 'again' where code = 'm'");
    link.silence();
    const answers = await Promise.all([ask(), ask(), ask(), ask()]);
    for (const { status } of answers) t.ok(status === 200 || status === 503, `${status}`);
    await waitFor(async () => (await ask()).status === 200);
  },
);

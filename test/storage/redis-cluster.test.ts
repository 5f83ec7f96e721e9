import { randomBytes } from "node:crypto";
import t from "tap";
import { ClientLimits } from "../../src/access/client-limits.js";
import { LoginThrottle } from "../../src/access/login-throttle.js";
import { closeSessionsOf, openSessions } from "../../src/access/sessions.js";
import { openTileKeys } from "../../src/access/tile-keys.js";
import { systemClock } from "../../src/clock.js";
import { briefly, openRedis } from "../../src/storage/redis.js";
import { TileMemory } from "../../src/tiles/memory.js";
import { TileStore } from "../../src/tiles/store.js";
import { quietLog } from "../support/log.js";
import { keptLog } from "../support/log-lines.js";
import { copied, type RedisServer, RedisServers } from "../support/redis-servers.js";
import { waitFor } from "../support/server.js";

/** Keys lie on several servers: what is used together is in one place, and the rest is spread. */

const servers = await RedisServers.create();
t.teardown(() => servers.stop());
const password = "p:@ss/wörd";
const nodes = await servers.cluster([], password);
const url = `redis+cluster://:${encodeURIComponent(password)}@${nodes.map(({ port }) => `127.0.0.1:${port}`).join()}`;
const { log, lines } = keptLog();
const redis = openRedis(url, log, { prefix: "t:" });
t.teardown(() => redis.disconnect());
await redis.connect();
const prefix = "t:";
const session = { accountId: 1, login: "ann", projectId: 1, origin: "api" } as const;
const sessions = openSessions(redis, { idleSeconds: 60, prefix });
const memory = new TileMemory(2 ** 20);
const store = new TileStore(briefly(redis), prefix, 60, memory, systemClock);
const tile = (text: string) => ({
  bytes: new TextEncoder().encode(text),
  hash: text.padEnd(20, "-"),
  solid: undefined,
  versions: [1],
});
const names = Array.from({ length: 60 }, (_, index) => `tile ${index}`);

/** A key that lies on this server. */
function keyOf({ port }: RedisServer): string {
  for (let number = 0; ; number++) {
    const key = `k${number}`;
    if (redis.serverOf(key) === `127.0.0.1:${port}`) return key;
  }
}

t.test("sessions, with their keys for tiles", async (t) => {
  const token = await sessions.open(session);
  t.same(await sessions.find(token), session);
  const clock = { now: () => performance.now() };
  const keys = openTileKeys(redis, { idleSeconds: 60, seconds: 600, prefix, clock });
  const { key } = await keys.make(token, { accountId: 1, mapId: 7 });
  t.same(await keys.find(key, 7), session);
  t.same(await keys.find(key, 7), session, "found again");
  t.equal(await keys.find(key, 8), "other");
  t.ok(await keys.revoke(key, 7, 1));
  t.equal(await keys.find(key, 7), undefined);
  const others = await Promise.all([1, 2].map((accountId) => sessions.open({ ...session, accountId })));
  t.equal(await closeSessionsOf(redis, prefix, 1), 2);
  t.equal(await sessions.find(others[0]!), undefined);
  t.ok(await sessions.find(others[1]!));
});

t.test("failed logins, and limits of clients", async (t) => {
  const limits = {
    windowSeconds: 60,
    failuresPerLoginAndAddress: 1,
    failuresPerAddress: 9,
    failuresPerLogin: 9,
  };
  const throttle = new LoginThrottle(redis, prefix, limits);
  const attempt = { login: "ann", address: "2001:db8::1" };
  await throttle.admit(attempt);
  await throttle.failed(attempt);
  await t.rejects(throttle.admit(attempt), /login is unknown/);
  await throttle.succeeded(attempt);
  await throttle.admit(attempt);
  const perMinute = { tiles: 0, reads: 1, lists: 0, writes: 0, transfers: 0, pictures: 0 };
  const clients = new ClientLimits({
    redis: briefly(redis),
    prefix,
    perMinute,
    clock: systemClock,
    log: quietLog,
  });
  await clients.admit("reads", "2001:db8:0:1::/64");
  await t.rejects(clients.admit("reads", "2001:db8:0:1::/64"));
});

t.test("tiles on all servers, read together", async (t) => {
  store.put(names.map((name) => [name, tile(name)] as const));
  await waitFor(async () => (await Promise.all(names.map((name) => store.get(name)))).every(Boolean));
  const found = await Promise.all([...names, "none"].map((name) => store.get(name)));
  t.same(
    found.slice(0, -1).map((one) => Buffer.from(one!.bytes).toString()),
    names,
  );
  t.equal(found.at(-1), undefined);
  for (const { cli } of nodes.slice(0, 3)) t.ok(Number(await cli.dbsize()) > 5);
  const release = await store.lock("one", 1_000);
  t.ok(release);
  t.equal(await store.lock("one", 1_000), undefined);
  release!();
});

t.test("while one server hangs only its own keys are missed, until its replica takes over", async (t) => {
  const [first] = nodes as [(typeof nodes)[number]];
  const token = await sessions.open(session);
  await copied(first, keyOf(first));
  first.pause();
  const start = performance.now();
  let found = 0;
  for (let round = 0; round < 30; round++)
    found = (await Promise.all(names.map((name) => store.get(name)))).filter(Boolean).length;
  t.comment(`30 rounds in ${performance.now() - start} ms, ${found} tiles found in the last`);
  t.ok(found > 20, "those of the others are found");
  await waitFor(async () => (await Promise.all(names.map((name) => store.get(name)))).every(Boolean));
  t.comment(`all are found after ${performance.now() - start} ms`);
  await waitFor(async () => (await sessions.find(token).catch(() => undefined)) !== undefined);
  await waitFor(() => redis.trouble === undefined);
  first.resume();
  await waitFor(async () => (await first.cli.info("replication")).includes("role:slave"));
  t.ok(await sessions.find(token));
  t.match(lines.map(({ msg }) => msg).slice(-1), ["Redis is back"]);
});

t.test("a server that is killed without a replica is missed, and the others go on", async (t) => {
  const last = nodes[2]!;
  const { incarnation } = redis;
  for (const { cli } of nodes) await cli.config("SET", "cluster-require-full-coverage", "no");
  await last.kill();
  const counts: number[] = [];
  await waitFor(async () => {
    counts.push((await Promise.all(names.map((name) => store.get(name)))).filter(Boolean).length);
    return redis.trouble !== undefined;
  });
  t.ok(Math.min(...counts.slice(1)) > 20);
  t.match(redis.trouble, /^Redis /);
  const isOfSessions = redis.serverOf("t:{t:access}") === `127.0.0.1:${last.port}`;
  t.equal(
    redis.incarnation !== incarnation,
    isOfSessions,
    "only a server that has sessions counts as another",
  );
  await last.start();
  await waitFor(() => redis.trouble === undefined);
  store.put(names.map((name) => [name, tile(name)] as const));
  await waitFor(async () => (await Promise.all(names.map((name) => store.get(name)))).every(Boolean));
});

t.test("the wrong password lets nobody in", async (t) => {
  const other = openRedis(
    url.replace(encodeURIComponent(password), randomBytes(6).toString("hex")),
    quietLog,
  );
  await t.rejects(other.connect());
  t.match(other.trouble, /cannot be reached/);
  other.disconnect();
});

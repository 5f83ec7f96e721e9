import { once } from "node:events";
import { type AddressInfo, connect, createServer } from "node:net";
import t, { type Test } from "tap";
import { Acknowledgements } from "../../src/changes/acknowledgements.js";
import { systemClock } from "../../src/clock.js";
import { briefly, openRedis, type Redis } from "../../src/storage/redis.js";
import { keptLog } from "../support/log-lines.js";
import { RedisServers } from "../support/redis-servers.js";
import { waitFor } from "../support/server.js";

/** What becomes of one Redis is said once, costs nobody time, and is over when it is over. */

const servers = await RedisServers.create();
t.teardown(() => servers.stop());

interface Opened {
  readonly redis: Redis;
  /** What the log said, from the first line on. */
  readonly said: () => string[];
}

async function opened(t: Test, url: string): Promise<Opened> {
  const { log, lines } = keptLog();
  const redis = openRedis(url, log, { prefix: "t:" });
  t.teardown(() => redis.disconnect());
  await redis.connect();
  await redis.ask();
  return { redis, said: () => lines.map(({ msg }) => msg) };
}

/** How many of these commands were refused. */
async function refusals(count: number, send: () => Promise<unknown>): Promise<number> {
  let refused = 0;
  for (let done = 0; done < count; done++) await send().catch(() => refused++);
  return refused;
}

t.test("one that hangs is waited for once, and used again as soon as it answers", async (t) => {
  const server = await servers.start();
  const { redis, said } = await opened(t, server.url);
  const cache = briefly(redis);
  await redis.set("t:kept", "1");
  server.pause();
  t.teardown(() => server.resume());
  const start = performance.now();
  await t.rejects(cache.get("t:kept"), /does not answer/);
  await t.rejects(redis.get("t:kept"), /does not answer/);
  t.equal(redis.trouble, "Redis does not answer");
  const known = performance.now();
  // Waiting for each would take ten times as long as a busy machine may need.
  t.equal(await refusals(1_000, () => cache.get("t:kept")), 1_000);
  t.equal(await refusals(1_000, () => redis.get("t:kept")), 1_000);
  t.comment(`found out in ${known - start} ms, then 2,000 commands in ${performance.now() - known} ms`);
  t.ok(performance.now() - known < 10_000);
  // Meanwhile the connection is given up, which is nothing new to who reads the log.
  await waitFor(() => redis.status !== "ready");
  t.match(redis.trouble, /^Redis /);
  server.resume();
  const resumed = performance.now();
  await waitFor(() => redis.trouble === undefined);
  t.comment(`back in ${performance.now() - resumed} ms`);
  t.equal(await redis.get("t:kept"), "1");
  t.equal(await cache.get("t:kept"), "1");
  t.same(said(), ["Redis does not answer", "Redis is back"]);
});

t.test("one that is slow with much work is not taken for one that hangs", async (t) => {
  const server = await servers.start();
  const { redis, said } = await opened(t, server.url);
  const work = "local n = 0 for i = 1, 2000000 do n = n + 1 end return n";
  const start = performance.now();
  while (performance.now() - start < 700) t.equal(await redis.eval(work, 0), 2_000_000);
  t.same(said(), []);
});

t.test("one that is killed is back with its next start", async (t) => {
  const server = await servers.start();
  const { redis, said } = await opened(t, server.url);
  const { incarnation } = redis;
  await server.kill();
  await waitFor(() => redis.trouble !== undefined);
  await t.rejects(redis.get("t:kept"));
  await waitFor(() => said().length > 0);
  await server.start();
  await waitFor(() => redis.trouble === undefined);
  t.equal(await redis.get("t:kept"), null);
  t.not(redis.incarnation, incarnation, "it is another one, which may lack what was written last");
  t.same(said(), ["Redis cannot be reached", "Redis is back"]);
});

t.test("a node that starts while Redis is away hears of acknowledgements when it is there", async (t) => {
  const server = await servers.start();
  await server.kill();
  const { log } = keptLog();
  const redis = openRedis(server.url, log, { prefix: "t:" });
  const heard: string[] = [];
  const acknowledgements = new Acknowledgements({
    ...{ redis, log, prefix: "t:", nodeId: "n", clock: systemClock },
    acknowledged: (from) => heard.push(from),
    notify: async () => undefined,
  });
  await acknowledgements.start();
  t.teardown(async () => {
    await acknowledgements.stop();
    redis.disconnect();
  });
  await server.start();
  await waitFor(async () => {
    await server.cli.publish("t:heard:n", "other m1");
    return heard.includes("other");
  });
});

t.test("a connection that was lost leads to the same server again", async (t) => {
  const server = await servers.start();
  const { redis } = await opened(t, server.url);
  const { incarnation } = redis;
  const lost = new Promise((resolve) => redis.on("close" as "error", resolve));
  await server.cli.call("CLIENT", "KILL", "TYPE", "normal");
  await lost;
  await waitFor(() => redis.trouble === undefined && redis.status === "ready");
  await redis.ask();
  t.equal(redis.incarnation, incarnation);
});

t.test("one that becomes a read-only replica", async (t) => {
  const primary = await servers.start();
  const server = await servers.start();
  const { redis, said } = await opened(t, server.url);
  await server.cli.replicaof("127.0.0.1", primary.port);
  await t.rejects(redis.set("t:a", "1"), /READONLY|closed/);
  await waitFor(() => redis.trouble !== undefined);
  t.match(redis.trouble, /is a read-only replica/);
  await waitFor(() =>
    redis.get("t:a").then(
      (value) => value === null,
      () => false,
    ),
  );
  await server.cli.call("REPLICAOF", "NO", "ONE");
  await waitFor(() => redis.trouble === undefined);
  t.equal(await redis.set("t:a", "1"), "OK");
  t.match(said(), [/read-only replica/, "Redis is back"]);
  t.equal(said().length, 2);
});

t.test("one that is a read-only replica from the start", async (t) => {
  const primary = await servers.start();
  const server = await servers.start([`replicaof 127.0.0.1 ${primary.port}`]);
  const { redis, said } = await opened(t, server.url);
  await waitFor(() => redis.trouble !== undefined);
  t.match(said(), [/read-only replica/]);
  t.equal(said().length, 1);
});

t.test("one that is full", async (t) => {
  const server = await servers.start(["maxmemory-policy noeviction"]);
  const { redis, said } = await opened(t, server.url);
  await redis.set("t:kept", "1");
  await server.cli.config("SET", "maxmemory", "1");
  await t.rejects(redis.set("t:a", "1"), /OOM/);
  await t.rejects(redis.eval("return redis.call('SET', KEYS[1], '1')", 1, "t:b"), /OOM/);
  t.match(redis.trouble, /is full/);
  t.equal(await redis.getex("t:kept", "EX", 60), "1", "sessions that are in it go on");
  await server.cli.config("SET", "maxmemory", "0");
  await waitFor(() => redis.trouble === undefined);
  t.match(said(), [/is full/, "Redis is back"]);
  t.equal(said().length, 2);
});

t.test("an address of one server that leads to a node of a cluster, or to a Sentinel", async (t) => {
  const node = await servers.start(["cluster-enabled yes"]);
  const sentinel = await servers.start([], { mode: "--sentinel" });
  for (const [{ url }, trouble] of [
    [node, /is a node of a cluster.*redis\+cluster:\/\//],
    [sentinel, /is a Sentinel.*redis\+sentinel:\/\//],
  ] as const) {
    const { redis, said } = await opened(t, url);
    await waitFor(() => redis.trouble !== undefined);
    t.match(redis.trouble, trouble);
    t.match(said(), [trouble]);
    t.equal(said().length, 1);
  }
});

t.test("what comes slowly through a thin line is no silence", async (t) => {
  const server = await servers.start();
  await server.cli.set("t:large", Buffer.alloc(2_000_000));
  const proxy = createServer((client) => {
    const target = connect(server.port, "127.0.0.1");
    client.on("error", () => target.destroy()).on("close", () => target.destroy());
    client.pipe(target);
    target
      .on("error", () => client.destroy())
      .on("data", (data) => {
        client.write(data);
        target.pause();
        setTimeout(() => target.resume(), 30);
      });
  });
  proxy.listen(0, "127.0.0.1");
  await once(proxy, "listening");
  t.teardown(() => proxy.close());
  const { redis, said } = await opened(t, `redis://127.0.0.1:${(proxy.address() as AddressInfo).port}`);
  const start = performance.now();
  const value = await briefly(redis).getBuffer("t:large");
  t.equal(value?.length, 2_000_000);
  t.comment(`${performance.now() - start} ms`);
  t.ok(performance.now() - start > 500);
  t.same(said(), []);
  redis.disconnect();
});

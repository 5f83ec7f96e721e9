import t from "tap";
import { ClientLimits } from "../../src/access/client-limits.js";
import { openRedis } from "../../src/storage/redis.js";
import { failure } from "../support/failure.js";
import { quietLog } from "../support/log.js";
import { addObject, makeMap, makeStyledLayer, square, tileUrl } from "../support/maps.js";
import { startServer } from "../support/server.js";

/** How many requests a client may send, where that is limited: two nodes, and clients behind a proxy. */

const limit = 8;
const server = await startServer({
  nodes: 2,
  config: { trustedProxies: ["127.0.0.1"], "limits.reads": limit },
});
t.teardown(() => server.stop());
await makeMap(server, "m");
await makeStyledLayer(server, "m", "a", "#a { polygon-fill: #f00; }");
await addObject(server, "a", square(5, 5, 1), { map: "m" });
const token = await server.token("viewer");

/** Statuses of as many short reads, by both nodes in turn. */
async function read(count: number, from: string, more: { readonly token?: string } = {}) {
  const answers = [];
  for (let index = 0; index < count; index++)
    answers.push(
      await server.api("GET", "m/layers/a/", {
        ...more,
        node: index % 2,
        headers: { "x-forwarded-for": from },
      }),
    );
  return answers;
}
const refusedOf = (answers: readonly { readonly status: number }[]) =>
  answers.filter(({ status }) => status === 429).length;

t.test("nodes count the requests of a client together, and refuse nobody else's", async (t) => {
  const answers = await read(2 * limit, "198.51.100.1");
  t.match(answers[0]!.headers.get("ratelimit"), /^"reads";r=7;t=\d+$/);
  t.equal(answers[0]!.headers.get("ratelimit-policy"), '"reads";q=8;w=60');
  // A window may end meanwhile, of which the next one then covers a little less.
  t.ok(Math.abs(refusedOf(answers) - limit) <= 1, `${refusedOf(answers)} were refused`);
  const { headers, text, status } = answers.at(-1)!;
  t.equal(status, 429);
  t.match(headers.get("ratelimit"), /^"reads";r=0;t=\d+$/);
  t.ok(Number(headers.get("retry-after")) >= 1);
  t.match(text, /You may send 8 requests of this kind in a minute/);
  t.equal(refusedOf(await read(4, "198.51.100.2")), 0, "another address");
  t.equal(refusedOf(await read(4, "2001:db8::1")) + refusedOf(await read(4, "2001:db8:0:1::1")), 0);
  t.ok(refusedOf(await read(limit, "2001:db8::2")) >= 3, "64 bits of an address are one client");
  t.equal(refusedOf(await read(4, "198.51.100.1", { token })), 0, "an account at the same address");
  t.ok(refusedOf(await read(limit, "198.51.100.9", { token })) >= 3, "which counts at any address");
  const site = await Promise.all(
    Array.from({ length: 20 * limit }, (_, index) => read(1, `2001:db8:7:${(index % 40).toString(16)}::1`)),
  );
  t.ok(refusedOf(site.flat()) >= 3 * limit, "a site may send as much as 16 of its networks");
  t.equal(refusedOf(await read(1, "2001:db8:8::1")), 0, "another site");
  const total = server.nodes.reduce((sum, node) => sum + node.services.limits.refused, 0);
  t.ok(total > limit, "metrics have it");
});

t.test("other work of the client is not refused", async (t) => {
  const headers = { "x-forwarded-for": "198.51.100.1" };
  // A window may have ended meanwhile, of which the next one then covers a little less.
  t.equal(refusedOf((await read(limit, "198.51.100.1")).slice(-1)), 1);
  const list = await server.api("GET", "m/layers/a/objects/", { headers });
  t.match(list, { status: 200 });
  t.equal(list.headers.get("ratelimit"), null);
  t.equal((await fetch(tileUrl(server, "m", { lon: 5, lat: 5, z: 5 }, ""), { headers })).status, 200);
  const login = await server.api("POST", "login/", {
    headers,
    body: { user: "viewer", pass: "viewerviewer" },
  });
  t.equal(login.status, 200);
});

t.test("without Redis each node counts, over a sliding minute", async (t) => {
  const clock = { ms: 0, now: () => clock.ms };
  const perMinute = { tiles: 0, reads: 10, lists: 0, writes: 0, transfers: 0, pictures: 0 };
  const away = openRedis("redis://127.0.0.1:1", quietLog);
  t.teardown(() => away.disconnect());
  const limits = new ClientLimits({ redis: away, prefix: "t:", perMinute, clock, log: quietLog });
  t.same([limits.applies("reads"), limits.applies("writes")], [true, false]);
  const admitted = async (client = "a") => {
    let count = 0;
    while (await limits.admit("reads", client).catch(() => undefined)) count++;
    return count;
  };
  t.equal(await admitted(), 10);
  t.match(await limits.admit("reads", "b"), { limit: 10, left: 9, seconds: 60 });
  await t.rejects(limits.admit("reads", "a"), failure("too_many"));
  clock.ms = 60_000;
  t.equal(await admitted(), 0, "the minute before counts whole");
  clock.ms = 90_000;
  t.equal(await admitted(), 5, "and half of it half");
  clock.ms = 240_000;
  t.equal(await admitted(), 10);
});

t.test("what its site is refused counts for no network", async (t) => {
  const { redis } = server.nodes[0]!.services;
  const perMinute = { tiles: 0, reads: 2, lists: 0, writes: 0, transfers: 0, pictures: 0 };
  const clock = { ms: 0, now: () => clock.ms };
  const away = openRedis("redis://127.0.0.1:1", quietLog);
  t.teardown(() => away.disconnect());
  const late = "2001:db8:9:ff";
  const useOf = async (limits: ClientLimits) => {
    let count = 0;
    for (let index = 0; index < 32; index++) await limits.admit("reads", `2001:db8:9:${index % 16}`);
    for (let index = 0; index < 8; index++)
      await limits.admit("reads", late).then(
        () => count++,
        () => undefined,
      );
    return count;
  };
  const together = new ClientLimits({ redis, prefix: "t:", perMinute, clock, log: quietLog });
  const admitted = await useOf(together);
  const counted = await redis.hmget(`t:l:reads:${late}`, "c", "p");
  // A window may end meanwhile, after which there is room for one.
  t.equal(Number(counted[0] ?? 0) + Number(counted[1] ?? 0), admitted);
  t.ok(admitted < 2, "the site is full");

  const alone = new ClientLimits({ redis: away, prefix: "t:", perMinute, clock, log: quietLog });
  t.equal(await useOf(alone), 0);
  clock.ms = 90_000;
  t.match(await alone.admit("reads", late), { left: 1 });
  t.match(await alone.admit("reads", late), { left: 0 });
});

t.test("by default nothing is limited", async (t) => {
  const { config } = server.nodes[0]!.services;
  t.same(
    { ...config.limits, reads: 0 },
    { tiles: 0, reads: 0, lists: 0, writes: 0, transfers: 0, pictures: 0 },
  );
});

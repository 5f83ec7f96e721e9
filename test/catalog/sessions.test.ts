import { setTimeout as sleep } from "node:timers/promises";
import t from "tap";
import { closeSessionsOf, openSessions, type Session } from "../../src/access/sessions.js";
import { openRedis } from "../../src/storage/redis.js";
import { failure } from "../support/failure.js";
import { quietLog } from "../support/log.js";
import { freshPrefix, testRedisUrl } from "../support/redis.js";

const session: Session = { accountId: 7, login: "anna", projectId: 3, origin: "api" };

async function redisFor(t: { teardown(handler: () => void): void }) {
  const redis = openRedis(testRedisUrl(), quietLog);
  await redis.connect();
  t.teardown(() => redis.disconnect());
  return redis;
}

t.test("a token finds its session until it is closed", async (t) => {
  const redis = await redisFor(t);
  const sessions = openSessions(redis, { idleSeconds: 60, prefix: freshPrefix() });
  const token = await sessions.open(session);
  t.match(token, /^[A-Za-z0-9_-]{43}$/);
  t.same(await sessions.find(token), session);
  await sessions.close(token);
  t.equal(await sessions.find(token), undefined);
});

t.test("what is no token finds nothing", async (t) => {
  const redis = await redisFor(t);
  const sessions = openSessions(redis, { idleSeconds: 60, prefix: freshPrefix() });
  await sessions.open(session);
  for (const token of ["", "x", "*".repeat(43), "A".repeat(43), "A".repeat(100_000)]) {
    t.equal(await sessions.find(token), undefined);
  }
});

t.test("Redis holds the hash of a token and not the token", async (t) => {
  const redis = await redisFor(t);
  const prefix = freshPrefix();
  const sessions = openSessions(redis, { idleSeconds: 60, prefix });
  const token = await sessions.open(session);
  const keys = await redis.keys(`${prefix}*`);
  t.equal(keys.length, 1);
  t.notMatch(keys[0], token);
  t.notMatch(await redis.get(keys[0]!), token);
});

t.test("every use starts the idle time again, and without use the session ends", async (t) => {
  const redis = await redisFor(t);
  const prefix = freshPrefix();
  const sessions = openSessions(redis, { idleSeconds: 100, prefix });
  const token = await sessions.open(session);
  const [key] = await redis.keys(`${prefix}*`);
  await redis.expire(key!, 5);
  t.same(await sessions.find(token), session);
  t.ok((await redis.ttl(key!)) > 90, "the whole idle time is left after a use");

  const short = openSessions(redis, { idleSeconds: 1, prefix });
  const brief = await short.open(session);
  t.same(await short.find(brief), session);
  while ((await redis.exists(...(await redis.keys(`${prefix}*`)))) > 1) await sleep(50);
  t.equal(await short.find(brief), undefined);
});

t.test("while Redis is away a token is neither right nor wrong", async (t) => {
  const redis = openRedis("redis://127.0.0.1:1/0", quietLog);
  t.teardown(() => redis.disconnect());
  const sessions = openSessions(redis, { idleSeconds: 60, prefix: freshPrefix() });
  await t.rejects(sessions.find("A".repeat(43)), failure("busy"));
  await t.rejects(sessions.open(session), failure("busy"));
});

t.test("all sessions of one account can be ended at once, also those that it asked for", async (t) => {
  const redis = await redisFor(t);
  const prefix = `${freshPrefix()}[x]*`;
  const sessions = openSessions(redis, { idleSeconds: 60, prefix });
  const own = [
    await sessions.open(session),
    await sessions.open({ ...session, projectId: 4 }),
    await sessions.open({ ...session, accountId: 8, grantedBy: { accountId: 7, login: "anna" } }),
  ];
  const others = await sessions.open({ ...session, accountId: 8 });
  t.equal(await closeSessionsOf(redis, prefix, 7), 3);
  for (const token of own) t.equal(await sessions.find(token), undefined);
  t.ok(await sessions.find(others));
});

import t from "tap";
import { openSessions } from "../../src/access/sessions.js";
import { MissedChanges } from "../../src/changes/missed-changes.js";
import { systemClock } from "../../src/clock.js";
import { openRedis, type Redis } from "../../src/storage/redis.js";
import { quietLog } from "../support/log.js";
import { keptLog } from "../support/log-lines.js";
import { copied, RedisServers } from "../support/redis-servers.js";
import { waitFor } from "../support/server.js";

/** Sentinel puts a replica in the place of a primary that is gone, and the client goes there. */

const session = { accountId: 1, login: "ann", projectId: 1, origin: "api" } as const;
const password = "p:@ss/wörd";

const servers = await RedisServers.create();
t.teardown(() => servers.stop());

/** What a node without its database can tell by Redis. */
function nodeAt(redis: Redis) {
  const missed = new MissedChanges(redis, "t:", quietLog, systemClock);
  const isCurrent = () =>
    missed.requireNone(undefined).then(
      () => true,
      () => false,
    );
  const becomeCurrent = () =>
    waitFor(() => {
      missed.refresh();
      missed.confirm(missed.token);
      return isCurrent();
    });
  return { isCurrent, becomeCurrent };
}

for (const way of ["is killed", "hangs"] as const)
  t.test(`sessions are there when the primary ${way}`, async (t) => {
    const { primary, replica, sentinel } = await servers.withSentinel("secret");
    const { log, lines } = keptLog();
    // One Sentinel is away, of which nobody is told.
    const url = `redis+sentinel://:secret@127.0.0.1:1,127.0.0.1:${sentinel.port}/maps`;
    const redis = openRedis(url, log, { prefix: "t:" });
    t.teardown(() => redis.disconnect());
    await redis.connect();
    await redis.ask();
    t.equal(redis.trouble, undefined);
    const sessions = openSessions(redis, { idleSeconds: 60, prefix: "t:" });
    const token = await sessions.open(session);
    const { isCurrent, becomeCurrent } = nodeAt(redis);
    await becomeCurrent();
    await copied(primary);
    if (way === "hangs") primary.pause();
    else await primary.kill();
    const start = performance.now();
    const isFound = async () => (await sessions.find(token).catch(() => undefined)) !== undefined;
    // A Sentinel that had no turn for two seconds does nothing for half a minute (TILT).
    await waitFor(isFound).catch(() => waitFor(isFound));
    t.comment(`found on the replica after ${performance.now() - start} ms`);
    t.same(await sessions.find(token), session);
    t.match(await redis.info("server"), new RegExp(`tcp_port:${replica.port}\\b`));
    await waitFor(() => redis.trouble === undefined);
    t.equal(lines.length, 2, "gone, and back");
    t.equal(await isCurrent(), false, "the replica may lack the word that a change was missed");
    if (way === "hangs") primary.resume();
    else await primary.start();
    // It is a replica now, which confirms what is written.
    await becomeCurrent();
    t.same(await sessions.find(token), session, "also when the former primary is there again");
  });

t.test("a primary that is cut off from its replica and from Sentinel proves nothing", async (t) => {
  const { primary, replica, sentinel } = await servers.withSentinel("secret");
  const redis = openRedis(`redis+sentinel://:secret@127.0.0.1:${sentinel.port}/maps`, quietLog, {
    prefix: "t:",
  });
  t.teardown(() => redis.disconnect());
  await redis.connect();
  const { isCurrent, becomeCurrent } = nodeAt(redis);
  await becomeCurrent();
  await copied(primary);
  // Where the others are, they may make it the primary, and tell it what this node misses.
  sentinel.pause();
  replica.pause();
  await waitFor(async () => !(await isCurrent()));
  t.equal(redis.trouble, undefined, "for all else it is there");
  replica.resume();
  await waitFor(isCurrent);
  sentinel.resume();
});

t.test("a name that Sentinel does not know is no primary", async (t) => {
  const { sentinel } = await servers.withSentinel(password);
  const { log, lines } = keptLog();
  const redis = openRedis(`redis+sentinel://127.0.0.1:${sentinel.port}/other`, log);
  redis.connect().catch(() => undefined);
  await waitFor(() => lines.length > 0);
  t.match(redis.trouble, /cannot be reached/);
  redis.disconnect();
});

t.test("a failover that is told just while a connection is made does not end it", async (t) => {
  const { sentinel } = await servers.withSentinel(password);
  const redis = openRedis(
    `redis+sentinel://:${encodeURIComponent(password)}@127.0.0.1:${sentinel.port}/maps`,
    quietLog,
  );
  await redis.connect();
  const listener = redis.listener()!;
  t.teardown(() => {
    redis.disconnect();
    listener.disconnect();
  });
  await listener.subscribe("any");
  interface Parts {
    readonly status: string;
    readonly stream: { destroy(): void };
    readonly connector: { disconnect(): void };
  }
  const [one, other] = [redis, listener] as unknown as [Parts, Parts];
  // It is asked for the primary, and takes its time.
  sentinel.pause();
  one.stream.destroy();
  other.stream.destroy();
  await waitFor(() => one.status === "connecting" && other.status === "connecting");
  // As the client itself does when one of its connections to a Sentinel hears of a failover.
  one.connector.disconnect();
  listener.disconnect(true);
  sentinel.resume();
  await waitFor(() => redis.status === "ready" && listener.status === "ready");
  t.equal(await redis.set("t:any", "1"), "OK");
  redis.disconnect();
  listener.disconnect();
  await waitFor(() => redis.status === "end" && listener.status === "end");
});

import t from "tap";
import { parseRedisUrl } from "../../src/redis-url.js";

/** Addresses of Redis, and what is none. */

t.test("one server, or a socket", async (t) => {
  for (const url of ["redis://127.0.0.1:6379/0", "rediss://:p%40ss@cache", "redis://[::1]:6379"])
    t.same(parseRedisUrl(url), { kind: "server", url });
  t.same(parseRedisUrl("unix:///run/redis.sock"), { kind: "socket", path: "/run/redis.sock" });
});

t.test("Sentinel", async (t) => {
  t.same(parseRedisUrl("redis+sentinel://a,10.0.0.2:26380,[::1]:5/maps"), {
    kind: "sentinel",
    sentinels: [
      { host: "a", port: 26_379 },
      { host: "10.0.0.2", port: 26_380 },
      { host: "::1", port: 5 },
    ],
    name: "maps",
    db: 0,
  });
  t.match(parseRedisUrl("redis+sentinel://me:p%40%3A%2F@a/maps/3"), {
    username: "me",
    password: "p@:/",
    name: "maps",
    db: 3,
  });
  t.match(parseRedisUrl("redis+sentinel://:secret@a/maps"), { username: undefined, password: "secret" });
});

t.test("a cluster", async (t) => {
  t.same(parseRedisUrl("redis+cluster://:secret@a,b:7000/"), {
    kind: "cluster",
    nodes: [
      { host: "a", port: 6_379 },
      { host: "b", port: 7_000 },
    ],
    password: "secret",
  });
});

t.test("what is none", async (t) => {
  for (const url of [
    "",
    "localhost",
    "http://a",
    "redis://a:1,b:2",
    "redis://a:99999",
    "redis+sentinel://a",
    "redis+sentinel://a/",
    "redis+sentinel://a/maps/x",
    "redis+sentinel://a:0/maps",
    "redis+sentinel://a:65536/maps",
    "redis+sentinel://a,,b/maps",
    "redis+sentinel:///maps",
    "redis+sentinel://p%zz@a/maps",
    "redis+cluster://",
    "redis+cluster://a/maps",
    "redis+cluster://a b",
    "redis+other://a",
  ])
    t.equal(parseRedisUrl(url), undefined, url);
});

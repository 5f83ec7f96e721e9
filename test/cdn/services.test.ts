import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import t from "tap";
import { CdnHeaders } from "../../src/cdn/headers.js";
import { purgeServicesOf } from "../../src/cdn/purge-services.js";
import { loadConfig } from "../../src/config.js";
import { startNoting } from "../support/listening.js";

/** What each kind of CDN is sent, by a server that checks it. */

const signal = new AbortController().signal;
/** The service of a configuration with one instance. */
const serviceOf = (flags: Record<string, unknown>) => [...purgeServicesOf(config(flags)).values()][0]!;
const many = (count: number) => Array.from({ length: count }, (_, index) => `t1.${index}`);
const config = (flags: Record<string, unknown>) => loadConfig({ environment: {}, flags });

t.test("an answer that stalls, or has no end, is not waited for", async (t) => {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  let answer = (_response: ServerResponse): void => undefined;
  const server = createServer((_request, response) => answer(response.writeHead(200)));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.teardown(() => {
    server.close();
    server.closeAllConnections();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const service = serviceOf({ "edge.kind": "varnish", "edge.urls": [url] });
  const begun = new Promise<void>((resolve) => {
    answer = (response) => {
      response.write("said");
      resolve();
    };
  });
  const stopping = new AbortController();
  const told = t.rejects(service.purge(["p1"], stopping.signal), { message: "stopped" });
  await begun;
  for (let round = 0; round < 10; round++) {
    await sleep(20);
    collect();
  }
  stopping.abort(new Error("stopped"));
  await told;
  answer = (response) => {
    const more = () => {
      while (!response.destroyed && response.write("x".repeat(65_536)));
    };
    response.on("drain", more);
    more();
  };
  await t.rejects(service.purge(["p1"], signal), { message: /too much/ });
});

t.test("Fastly", async (t) => {
  const api = await startNoting();
  t.teardown(() => api.stop());
  const service = serviceOf({
    "edge.kind": "fastly",
    "edge.urls": [api.url],
    "edge.service": "SERVICE1",
    "edge.token": "secret",
  });
  await service.purge(many(600), signal);
  t.same(
    api.sent.map(({ method, path, body }) => [method, path, body.surrogate_keys.length]),
    [256, 256, 88].map((count) => ["POST", "/service/SERVICE1/purge", count]),
  );
  t.same(
    api.sent.flatMap(({ body }) => body.surrogate_keys),
    many(600),
  );
  for (const { headers } of api.sent)
    t.match(headers, {
      "fastly-key": "secret",
      "fastly-soft-purge": "1",
      "content-type": "application/json",
    });
  api.sent.length = 0;
  await service.forget(["mapwright", "p1"], signal);
  t.match(api.sent, [
    {
      method: "POST",
      path: "/service/SERVICE1/purge",
      body: { surrogate_keys: ["mapwright", "p1"] },
      headers: { "fastly-key": "secret" },
    },
  ]);
  t.equal(api.sent[0]!.headers["fastly-soft-purge"], undefined, "nothing is asked for by its ETag");
  api.answer = () => ({ status: 401, body: { msg: "Provided credentials are missing or invalid" } });
  await t.rejects(service.purge(["p1"], signal), /401.*credentials/);
});

t.test("Cloudflare, and its limits", async (t) => {
  const api = await startNoting();
  t.teardown(() => api.stop());
  const flags = {
    "edge.kind": "cloudflare",
    "edge.urls": [api.url],
    "edge.service": "zone1",
    "edge.token": "secret",
  };
  const service = serviceOf({ ...flags, "edge.perMinute": 600 });
  t.equal(service.mostKeys, 1_200, "half of the 25 requests that may follow each other");
  await service.purge(many(250), signal);
  t.same(
    api.sent.map(({ method, path, body }) => [method, path, body.tags.length]),
    [100, 100, 50].map((count) => ["POST", "/zones/zone1/purge_cache", count]),
  );
  t.equal(api.sent[0]!.headers.authorization, "Bearer secret");
  await service.forget(["mapwright"], signal);
  t.same(api.sent.at(-1)!.body, { tags: ["mapwright"] }, "the zone may have other sites");

  // The bucket runs empty: then requests come as it fills again, ten a second.
  api.sent.length = 0;
  const before = performance.now();
  await service.purge(many(3_000), signal);
  t.equal(api.sent.length, 30);
  t.equal(service.mostKeys, 100, "less is told while few requests are left");
  t.ok(api.sent.at(-1)!.at - before >= 5 * 100 * 0.8, "the last wait for their turn");

  api.sent.length = 0;
  api.answer = () => ({ status: 429, headers: { "retry-after": "1" }, body: { success: false } });
  await t.rejects(service.purge(["p1"], signal), /429/);
  api.answer = () => ({ status: 200, body: { success: true } });
  await service.purge(["p1"], signal);
  t.ok(api.sent[1]!.at - api.sent[0]!.at >= 900, "it waits as long as it is told");
  api.answer = () => ({ status: 200, body: { success: false, errors: [{ message: "no such zone" }] } });
  await t.rejects(service.purge(["p1"], signal), /no such zone/);
});

t.test("a hook", async (t) => {
  const hook = await startNoting();
  t.teardown(() => hook.stop());
  const service = serviceOf({
    "edge.kind": "hook",
    "edge.urls": [`${hook.url}/drop`],
    "edge.token": "secret",
  });
  await service.purge(["p1", "l2"], signal);
  await service.forget(["mapwright"], signal);
  t.match(hook.sent, [
    {
      method: "POST",
      path: "/drop",
      body: { keys: ["p1", "l2"] },
      headers: { authorization: "Bearer secret" },
    },
    { method: "POST", path: "/drop", body: { keys: ["mapwright"] } },
  ]);
  hook.answer = () => ({ status: 302, headers: { location: "http://127.0.0.1:1/" } });
  await t.rejects(service.purge(["p1"], signal), "a redirect is no answer");
  hook.answer = () => new Promise(() => undefined);
  const controller = new AbortController();
  setTimeout(() => controller.abort(), 100);
  await t.rejects(service.purge(["p1"], controller.signal), "it ends with its caller");
});

t.test("Varnish: each instance, in headers that it takes, twice", async (t) => {
  const instances = [await startNoting(), await startNoting()];
  t.teardown(() => Promise.all(instances.map((one) => one.stop())));
  const services = purgeServicesOf(
    config({ "edge.kind": "varnish", "edge.urls": instances.map(({ url }) => url) }),
  );
  t.same(
    [...services.keys()],
    instances.map(({ url }) => url),
  );
  for (const [index, service] of [...services.values()].entries()) {
    const { sent } = instances[index]!;
    await service.purge(many(2_000), signal);
    const lists = sent.map(({ headers }) => String(headers["mapwright-keys"]));
    t.ok(lists.every((list) => list.length < 8_000));
    t.same(lists.join(" ").split(" "), [...many(2_000), ...many(2_000)]);
    t.ok(sent.every(({ method }) => method === "PURGE"));
    sent.length = 0;
    await service.forget(["mapwright", "p1"], signal);
    t.same(
      sent.map(({ headers }) => headers["mapwright-forgotten"]),
      ["mapwright p1", "mapwright p1"],
    );
  }
  instances[1]!.answer = () => ({ status: 403 });
  await t.rejects([...services.values()][1]!.purge(["p1"], signal), /403/);
});

t.test("headers tell each CDN how long it may keep an answer, and others to ask", async (t) => {
  const of = (flags: Record<string, unknown>, secondsLeft?: number) =>
    new CdnHeaders(config(flags)).keyed(["p1", "l2"], secondsLeft);
  const revalidated = "public, max-age=0, must-revalidate";
  t.same(of({}), { "cache-control": revalidated }, "nobody drops by keys");
  t.same(of({ "tiles.cacheControl": "public, max-age=5" }), { "cache-control": "public, max-age=5" });
  t.same(of({ "edge.kind": "nginx" }), { "cache-control": revalidated, "x-accel-expires": "@1" });
  const varnish = { "edge.kind": "varnish", "edge.urls": ["http://127.0.0.1:6081"] };
  t.same(of(varnish), {
    "cache-control": "public, max-age=0, s-maxage=86400",
    "surrogate-key": "mapwright p1 l2",
  });
  t.equal(
    of(varnish, 60)["cache-control"],
    "public, max-age=0, s-maxage=60",
    "what is not ours has its own time",
  );
  t.equal(of({ ...varnish, "edge.seconds": 30 }, 60)["cache-control"], "public, max-age=0, s-maxage=30");
  const fastly = { "edge.kind": "fastly", "edge.service": "s", "edge.token": "t" };
  t.same(of(fastly), {
    "cache-control": revalidated,
    "surrogate-control": "max-age=86400",
    "surrogate-key": "mapwright p1 l2",
  });
  t.same(of({ ...fastly, "edge.kind": "cloudflare" }), {
    "cache-control": revalidated,
    "cdn-cache-control": "public, max-age=86400",
    "cache-tag": "mapwright,p1,l2",
  });
  t.same(of({ ...varnish, "tiles.cacheControl": "public, max-age=5, s-maxage=500" }, 100), {
    "cache-control": "public, max-age=5, s-maxage=100",
    "surrogate-key": "mapwright p1 l2",
  });
});

t.test("a configuration says what it lacks", async (t) => {
  t.throws(() => config({ "edge.kind": "varnish" }), /edge\.urls.*addresses of Varnish/);
  t.throws(() => config({ "edge.kind": "fastly", "edge.token": "t" }), /edge\.service.*Fastly/);
  t.throws(() => config({ "edge.kind": "cloudflare", "edge.service": "z" }), /edge\.token.*Cloudflare/);
  t.throws(() => config({ "edge.kind": "hook", "edge.urls": ["file:///etc"] }), /edge\.urls/);
});

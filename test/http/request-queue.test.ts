import t from "tap";
import { cachedRoute, prebuildHeaders } from "../../src/http/cached.js";
import { json, type Route } from "../../src/http/types.js";
import { eventually, startServer, Wire } from "./harness.js";

/** Requests that come all at once leave the event loop to others. */

const many = 200;
/** So that a few requests take as long as those of a turn may. */
const spinMs = 3;

function spin(): void {
  const end = performance.now() + spinMs;
  while (performance.now() < end);
}

const get = (path: string) => `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`;

t.test("requests sent without waiting for answers", async (t) => {
  let ran = 0;
  const routes: readonly Route<undefined>[] = [
    { methods: ["GET"], path: "/", handler: () => json("home") },
    { methods: ["POST"], path: "/echo/", handler: async ({ body }) => json(await body.json()) },
    {
      methods: ["GET"],
      path: "/slow/",
      handler: () => {
        ran++;
        spin();
        return json("slow");
      },
    },
  ];
  const server = await startServer(routes, {
    cached: (path) => {
      if (path !== "/cached/") return undefined;
      ran++;
      spin();
      return { etag: '"1"', body: new Uint8Array(9), ...prebuildHeaders({ etag: '"1"' }) };
    },
  });
  t.teardown(server.close);

  for (const path of ["/slow/", "/cached/"]) {
    await t.test(`${path} of one connection does not keep another waiting`, async (t) => {
      ran = 0;
      const greedy = new Wire(server.port);
      const other = new Wire(server.port);
      t.teardown(() => greedy.leave());
      t.teardown(() => other.leave());
      greedy.send(get(path).repeat(many));
      other.send(get("/"));
      await other.until((text) => text.includes("home"));
      t.ok(ran < many / 2, `${ran} of ${many} had run when the other was answered`);
      await eventually(() => greedy.closed);
      await eventually(() => server.server.openRequests() === 0);
      t.ok(
        server.answered.some(({ status }) => status === 499),
        "what waited had lost its client",
      );
    });
  }

  await t.test("of a hundred connections each is answered", async (t) => {
    const wires = Array.from({ length: 100 }, () => new Wire(server.port));
    t.teardown(() => {
      for (const wire of wires) wire.leave();
    });
    for (const [index, wire] of wires.entries()) wire.send(get(index % 2 === 0 ? "/slow/" : "/cached/"));
    for (const wire of wires) await wire.until((text) => text.includes("HTTP/1.1 200"));
    t.equal(server.server.openRequests(), 0);
  });

  await t.test("an answer that is kept is found also by requests that had to wait", async (t) => {
    const wires = Array.from({ length: 40 }, () => new Wire(server.port));
    t.teardown(() => {
      for (const wire of wires) wire.leave();
    });
    for (const wire of wires) wire.send(get("/"));
    for (const wire of wires) await wire.until((text) => text.includes("home"));
    ran = 0;
    server.answered.length = 0;
    for (const wire of wires) wire.send(get("/cached/"));
    for (const wire of wires) await wire.until((text) => text.split("HTTP/1.1 ").length > 2);
    t.equal(ran, wires.length);
    t.same([...new Set(server.answered.map(({ route }) => route))], [cachedRoute]);
    const head = (method: string, more = "") => `${method} /cached/ HTTP/1.1\r\nHost: x\r\n${more}\r\n`;
    const asked = wires.map((wire, index) => {
      const before = wire.received.length;
      const [method, more] = [
        ["GET", ""],
        ["HEAD", ""],
        ["GET", 'If-None-Match: "1"\r\n'],
        ["GET", "Connection: close\r\n"],
        ["GET", "X-Token: t\r\n"],
      ][index % 5] as [string, string];
      wire.send(head(method, more));
      return async () => (await wire.until((text) => text.includes("\r\n\r\n", before))).slice(before);
    });
    for (const [index, answer] of asked.entries())
      t.match(
        await answer(),
        [
          /^HTTP\/1.1 200 OK\r\netag: "1"[\s\S]*\r\n\r\n\0{9}$/i,
          /^HTTP\/1.1 200 OK\r\netag: "1"[\s\S]*content-length: 9\r\n[\s\S]*\r\n\r\n$/i,
          /^HTTP\/1.1 304 Not Modified\r\netag: "1"[\s\S]*\r\n\r\n$/i,
          /^HTTP\/1.1 200 OK\r\netag: "1"[\s\S]*connection: close[\s\S]*\0{9}$/i,
          /^HTTP\/1.1 404 /,
        ][index % 5]!,
        `${index}`,
      );
  });

  await t.test("a body that comes while its request waits is whole", async (t) => {
    const greedy = new Wire(server.port);
    const other = new Wire(server.port);
    t.teardown(() => greedy.leave());
    t.teardown(() => other.leave());
    greedy.send(get("/slow/").repeat(many));
    other.send(`POST /echo/ HTTP/1.1\r\nHost: x\r\nContent-Length: 13\r\n\r\n{"a":"whole"}`);
    t.match(await other.until((text) => text.includes("whole")), /^HTTP\/1\.1 200/);
  });
});

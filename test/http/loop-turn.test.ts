import t from "tap";
import { prebuildHeaders } from "../../src/http/cached.js";
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

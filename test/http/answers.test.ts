import t from "tap";
import { loadConfig } from "../../src/config.js";
import { busy, failed, forbidden, notFound, unauthenticated } from "../../src/errors.js";
import { type CachedReply, prebuildHeaders } from "../../src/http/cached.js";
import { createServer, type Server } from "../../src/http/server.js";
import { json, type Route } from "../../src/http/types.js";
import { quietLog } from "../support/log.js";
import { freePort, startServer } from "./harness.js";

const fail = (path: string, error: () => unknown): Route<undefined> => ({
  methods: ["GET"],
  path,
  handler: () => {
    throw error();
  },
});

const routes: readonly Route<undefined>[] = [
  { methods: ["GET"], path: "/maps/:map/", handler: ({ params }) => json({ map: params.map }) },
  { methods: ["GET"], path: "/maps/available/", handler: () => json("available") },
  { methods: ["POST", "DELETE"], path: "/maps/:map/", handler: () => json(true) },
  { methods: ["GET"], path: "/text/", handler: () => ({ kind: "json_text", text: '[{"a":1}]' }) },
  { methods: ["GET"], path: "/nothing/", handler: () => json(undefined) },
  {
    methods: ["GET"],
    path: "/picture/",
    handler: () => ({
      kind: "bytes",
      body: Buffer.from("picture"),
      headers: {
        "content-type": "image/png",
        etag: '"p1"',
        "cache-control": "public",
        "surrogate-key": "m1 l2",
      },
    }),
  },
  {
    methods: ["GET"],
    path: "/split/",
    handler: () => ({ kind: "bytes", body: "x", headers: { "x-name": "a\r\nx-evil: 1" } }),
  },
  {
    methods: ["GET"],
    path: "/query/",
    handler: ({ query }) => json([...query.names()].map((name) => [name, query.get(name)])),
  },
  fail("/fail/missing/", () => notFound('map "<script>"')),
  fail("/fail/token/", () => unauthenticated()),
  fail("/fail/rights/", () => forbidden()),
  fail("/fail/style/", () => failed("invalid_style", "The style does not parse.", { line: 3 })),
  fail("/fail/busy/", () => busy("Too many tiles wait.", 7)),
  fail("/fail/timeout/", () => Object.assign(new Error("canceling statement"), { code: "57014" })),
  fail("/fail/bug/", () => new Error('relation "secret_table" does not exist at /srv/x.ts')),
  fail("/fail/nonsense/", () => "a string"),
];

t.test("answers", async (t) => {
  const server = await startServer(routes);
  t.teardown(server.close);
  const get = (path: string, init?: RequestInit) => fetch(server.url + path, init);

  await t.test("JSON comes with its type, is not stored, and names its request", async (t) => {
    const answer = await get("/maps/roads/");
    t.equal(answer.status, 200);
    t.equal(answer.headers.get("content-type"), "application/json; charset=utf-8");
    t.equal(answer.headers.get("cache-control"), "no-store");
    t.equal(answer.headers.get("access-control-allow-origin"), "*");
    t.equal(answer.headers.get("access-control-allow-credentials"), null);
    t.equal(answer.headers.get("x-content-type-options"), "nosniff");
    t.equal(answer.headers.get("referrer-policy"), "no-referrer");
    t.match(answer.headers.get("x-request-id"), /^[0-9a-f]{8}-\w+$/);
    t.equal(answer.headers.get("uwebsockets"), null);
    t.same(await answer.json(), { map: "roads" });
  });

  await t.test("ready JSON text is sent as it is, and nothing as null", async (t) => {
    t.equal(await (await get("/text/")).text(), '[{"a":1}]');
    t.equal(await (await get("/nothing/")).text(), "null");
  });

  await t.test("the slash at the end is optional and nothing is redirected", async (t) => {
    const answer = await get("/maps/roads", { redirect: "manual" });
    t.equal(answer.status, 200);
    t.same(await answer.json(), { map: "roads" });
  });

  await t.test("a static segment beats a variable one, whatever the method", async (t) => {
    t.same(await (await get("/maps/available/")).json(), "available");
    const wrong = await get("/maps/available/", { method: "DELETE" });
    t.equal(wrong.status, 405);
    t.equal(wrong.headers.get("allow"), "GET, HEAD, OPTIONS");
  });

  await t.test("segments are decoded once", async (t) => {
    t.same(await (await get("/maps/%D0%B6%2F%2525/")).json(), { map: "ж/%25" });
    t.same(await (await get("/%6daps/x/")).json(), { map: "x" });
  });

  await t.test("paths and queries that are not well encoded are refused", async (t) => {
    for (const path of [
      "/maps/%zz/",
      "/maps/%ff/",
      "/maps/%00/",
      "/maps/%ed%a0%80/",
      "/maps/%",
      "/query/?a=%00",
      "/query/?a=%ff",
      "/query/?%=1",
    ]) {
      t.equal((await get(path)).status, 400, path);
    }
  });

  await t.test("of repeated parameters the first counts", async (t) => {
    t.same(await (await get("/query/?b=1&a=x+y%2B&b=2&c&__proto__=p&&=e")).json(), [
      ["b", "1"],
      ["a", "x y+"],
      ["c", ""],
      ["__proto__", "p"],
      ["", "e"],
    ]);
  });

  await t.test("HEAD has the headers of GET and no body", async (t) => {
    const answer = await get("/maps/roads/", { method: "HEAD" });
    t.equal(answer.status, 200);
    t.equal(answer.headers.get("content-length"), String('{"map":"roads"}'.length));
    t.equal(await answer.text(), "");
  });

  await t.test("OPTIONS answers 204 for every path", async (t) => {
    const known = await get("/maps/roads/", { method: "OPTIONS" });
    t.equal(known.status, 204);
    t.same(
      new Set(known.headers.get("allow")?.split(", ")),
      new Set(["GET", "HEAD", "POST", "DELETE", "OPTIONS"]),
    );
    t.equal(known.headers.get("access-control-allow-methods"), known.headers.get("allow"));
    t.match(known.headers.get("access-control-allow-headers"), /Authorization/);
    t.equal(known.headers.get("access-control-allow-origin"), "*");
    const unknown = await get("/no/such/", { method: "OPTIONS" });
    t.equal(unknown.status, 204);
    t.match(unknown.headers.get("allow"), /PATCH/);
  });

  await t.test("an unknown path is 404, a wrong or unknown method 405 with Allow", async (t) => {
    for (const path of ["/no/such/", "/maps/", "/maps//", "/maps/a/b/", "//", `/${"x/".repeat(60)}`]) {
      const answer = await get(path);
      t.equal(answer.status, 404, path);
      t.equal(answer.headers.get("content-type"), "text/html; charset=utf-8");
    }
    const wrong = await get("/maps/roads/", { method: "PUT", body: "{}" });
    t.equal(wrong.status, 405);
    t.match(wrong.headers.get("allow"), /GET.*POST|POST.*GET/);
    t.ok((await wrong.text()).includes(`This address supports only ${wrong.headers.get("allow")}.`));
    t.equal((await get("/maps/roads/", { method: "BREW" })).status, 405);
  });

  await t.test("failures become pages with an escaped reason", async (t) => {
    const answer = await get("/fail/missing/");
    t.equal(answer.status, 404);
    const page = await answer.text();
    t.match(page, "There is no map &quot;&lt;script&gt;&quot;.");
    t.notMatch(page, "<script>");
    t.equal((await get("/fail/token/")).status, 401);
    t.equal((await get("/fail/token/")).headers.get("www-authenticate"), "Bearer");
    t.equal((await get("/fail/rights/")).status, 403);
  });

  await t.test("failures become problem details where they are asked for", async (t) => {
    const answer = await get("/fail/missing/", {
      headers: { accept: "text/html;q=0.1, application/problem+json" },
    });
    t.equal(answer.headers.get("content-type"), "application/problem+json");
    t.same(await answer.json(), {
      type: "about:blank",
      title: "Not Found",
      status: 404,
      detail: 'There is no map "<script>".',
    });
  });

  await t.test("execution failures keep their code and data", async (t) => {
    const answer = await get("/fail/style/");
    t.equal(answer.status, 500);
    t.equal(answer.headers.get("content-type"), "application/json; charset=utf-8");
    t.same(await answer.json(), {
      error: "error",
      code: "invalid_style",
      message: "The style does not parse.",
      data: { line: 3 },
    });
  });

  await t.test("busy says when to come back, and so does a query that took too long", async (t) => {
    const answer = await get("/fail/busy/");
    t.equal(answer.status, 503);
    t.equal(answer.headers.get("retry-after"), "7");
    t.equal(((await answer.json()) as { code: string }).code, "busy");
    t.equal((await get("/fail/timeout/")).status, 503);
  });

  await t.test("an unexpected error shows its id only, and the log has the rest", async (t) => {
    for (const path of ["/fail/bug/", "/fail/nonsense/", "/split/"]) {
      const answer = await get(path);
      t.equal(answer.status, 500, path);
      const id = answer.headers.get("x-request-id") as string;
      t.same(await answer.json(), {
        error: "error",
        code: "internal",
        message: "An unexpected error occurred.",
        data: { request: id },
      });
      t.ok(server.logLines.some((line) => line.includes(id) && line.includes('"err"')));
      t.equal(answer.headers.get("x-evil"), null);
    }
    t.ok(server.logLines.some((line) => line.includes("secret_table")));
  });

  await t.test("an ETag that the client has makes a 304, in every form of If-None-Match", async (t) => {
    for (const tags of ['"p1"', 'W/"p1"', '"other", W/"p1" , "x"', "*"]) {
      const answer = await get("/picture/", { headers: { "if-none-match": tags } });
      t.equal(answer.status, 304, tags);
      t.equal(answer.headers.get("etag"), '"p1"');
      t.equal(answer.headers.get("cache-control"), "public");
      t.equal(answer.headers.get("surrogate-key"), "m1 l2");
      t.equal(answer.headers.get("access-control-allow-origin"), "*");
    }
    for (const tags of ['"p2"', "p1", '"p1', '"p11"']) {
      t.equal((await get("/picture/", { headers: { "if-none-match": tags } })).status, 200, tags);
    }
  });

  await t.test("queries and headers reach no log line", async (t) => {
    await get("/query/?token=SECRET1", {
      headers: { authorization: "Bearer SECRET2", "x-token": "SECRET3" },
    });
    await get("/fail/bug/?token=SECRET4");
    t.notOk(server.logLines.some((line) => line.includes("SECRET")));
    t.ok(server.logLines.some((line) => line.includes('"path":"/query/"')));
  });

  await t.test("every answer is counted with its route", async (t) => {
    server.answered.length = 0;
    await get("/maps/roads/");
    await get("/no/such/");
    t.same(server.answered, [
      { route: "/maps/:map/", method: "GET", status: 200 },
      { route: "", method: "GET", status: 404 },
    ]);
    t.equal(server.server.openRequests(), 0);
  });
});

t.test("cached answers", async (t) => {
  const body = Buffer.alloc(300_000, "tile");
  const small: CachedReply = {
    etag: '"t1"',
    body: new Uint8Array(Buffer.from("small tile")),
    ...prebuildHeaders({
      "content-type": "image/png",
      etag: '"t1"',
      "cache-control": "public, max-age=0",
      "surrogate-key": "p1 m2",
    }),
  };
  const large: CachedReply = { ...small, body };
  const cache = new Map([
    ["/tile/", small],
    ["/tile/?z=1&x=%zz", small],
    ["/large/", large],
  ]);
  const server = await startServer([{ methods: ["GET"], path: "/tile/", handler: () => json("handler") }], {
    cached: (path, query) => cache.get(query === "" ? path : `${path}?${query}`),
  });
  t.teardown(server.close);
  const get = (path: string, init?: RequestInit) => fetch(server.url + path, init);

  await t.test("are found by path and query as they came", async (t) => {
    for (const path of ["/tile/", "/tile/?", "/tile/?z=1&x=%zz"]) {
      const answer = await get(path);
      t.equal(answer.status, 200);
      t.equal(answer.headers.get("content-type"), "image/png");
      t.equal(answer.headers.get("etag"), '"t1"');
      t.equal(answer.headers.get("surrogate-key"), "p1 m2");
      t.equal(answer.headers.get("cache-control"), "public, max-age=0");
      t.equal(answer.headers.get("access-control-allow-origin"), "*");
      t.equal(answer.headers.get("x-content-type-options"), "nosniff");
      t.equal(await answer.text(), "small tile");
    }
    t.equal(await (await get("/tile/?z=2")).json(), "handler");
    t.same(server.answered[0], { route: "(cached)", method: "GET", status: 200 });
  });

  await t.test("answer 304 and HEAD, again and again on one connection", async (t) => {
    for (let i = 0; i < 5; i++) {
      const unchanged = await get("/tile/", { headers: { "if-none-match": 'W/"t1"' } });
      t.equal(unchanged.status, 304);
      t.equal(unchanged.headers.get("etag"), '"t1"');
      t.equal(unchanged.headers.get("surrogate-key"), "p1 m2");
      t.equal(unchanged.headers.get("cache-control"), "public, max-age=0");
      t.equal(unchanged.headers.get("access-control-allow-origin"), "*");
      const head = await get("/tile/", { method: "HEAD" });
      t.equal(head.status, 200);
      t.equal(head.headers.get("content-length"), "10");
      t.equal(head.headers.get("etag"), '"t1"');
    }
  });

  await t.test("are not given to a request that carries a token or a body", async (t) => {
    t.equal(await (await get("/tile/", { headers: { authorization: "Bearer x" } })).json(), "handler");
    t.equal(await (await get("/tile/", { headers: { "x-token": "x" } })).json(), "handler");
  });

  await t.test("arrive whole when they are larger than the socket takes at once", async (t) => {
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => get("/large/").then((a) => a.arrayBuffer())),
    );
    for (const answer of answers) t.ok(body.equals(new Uint8Array(answer)));
  });

  t.throws(
    () => prebuildHeaders({ "content-type": "image/png", etag: '"a\r\nx: 1"' }),
    "a value cannot break out",
  );
  t.throws(() => prebuildHeaders({ "content-type": "image/png", "x y": "1" }));
});

t.test("a port is shared by servers that all want to, and by no others", async (t) => {
  const servers: Server[] = [];
  t.teardown(() => Promise.all(servers.map((server) => server.close(0))));
  const other = () => {
    const made = createServer<undefined>({
      routes: [],
      services: undefined,
      log: quietLog,
      config: loadConfig({ environment: {} }),
    });
    servers.push(made);
    return made;
  };
  const port = await freePort();
  t.equal(await other().listen("127.0.0.1", port, { shared: true }), port);
  t.equal(await other().listen("127.0.0.1", port, { shared: true }), port);
  await t.rejects(other().listen("127.0.0.1", port));
  const alone = await other().listen("127.0.0.1", 0);
  await t.rejects(other().listen("127.0.0.1", alone, { shared: true }));
});

import t from "tap";
import { prebuildHeaders } from "../../src/http/cached.js";
import { json, type Route } from "../../src/http/types.js";
import { eventually, freePort, speak, startServer, statusOf, Wire } from "../http/harness.js";
import { startPlainNginx } from "../support/cdn.js";

/** Proxies and clients that speak an older HTTP, or close each connection. */

const routes: readonly Route<undefined>[] = [
  { methods: ["GET"], path: "/json/", handler: () => json("an answer") },
  { methods: ["POST"], path: "/echo/", handler: async ({ body }) => json(await body.json()) },
  {
    methods: ["GET"],
    path: "/stream/",
    handler: () => ({ kind: "stream", chunks: chunks(), headers: { "content-type": "text/plain" } }),
  },
];
async function* chunks() {
  for (const part of ["a", "stream"]) yield part;
}
const prebuilt = prebuildHeaders({ etag: '"1"', "content-type": "image/png" });
const server = await startServer(routes, {
  cached: (path) => (path === "/tile/" ? { etag: '"1"', body: new Uint8Array(9), ...prebuilt } : undefined),
});
t.teardown(server.close);

const lines = (...more: readonly string[]) => ["Host: x", ...more, "", ""].join("\r\n");
/** The values of a header of a raw answer. */
const values = (answer: string, name: string) =>
  [...answer.matchAll(new RegExp(`^${name}: *(.*)\\r$`, "gim"))].map(([, value]) => value);

const requests: readonly (readonly [
  start: string,
  status: number,
  headers?: readonly string[],
  body?: string,
])[] = [
  ["GET /tile/", 200],
  ["HEAD /tile/", 200],
  ["GET /tile/", 304, ['If-None-Match: "1"']],
  ["GET /json/", 200],
  ["HEAD /json/", 200],
  ["GET /stream/", 200],
  ["POST /echo/", 200, ["Content-Length: 3"], "[1]"],
  ["POST /echo/", 400, ["Content-Length: 2"], "[1"],
  ["OPTIONS /json/", 204],
  ["DELETE /json/", 405],
  ["GET /nowhere/", 404],
  ["POST /echo/", 400, ["Content-Length: 3", "Content-Length: 4"], "[1]"],
];

t.test("Connection: close is answered with that header, and the connection ends", async (t) => {
  for (const [start, status, headers = [], body = ""] of requests)
    for (const value of ["close", "Close"]) {
      const head = lines(`Connection: ${value}`, ...headers);
      const answer = await speak(server.port, `${start} HTTP/1.1\r\n${head}${body}`);
      t.equal(statusOf(answer), status, start);
      t.same(values(answer, "connection"), ["close"], `${start} ${status}: ${value}`);
    }
});

t.test("among other options it is found, and other options are none", async (t) => {
  for (const start of ["GET /tile/", "GET /json/"])
    for (const [value, expected] of [
      ["keep-alive, close", ["close"]],
      ["close,TE", ["close"]],
      ["keep-alive", []],
      ["closed", []],
      ["", []],
    ] as const) {
      const wire = new Wire(server.port);
      await wire.send(`${start} HTTP/1.1\r\n${lines(`Connection: ${value}`)}`);
      const answer = await wire.until((text) => text.includes("\r\n\r\n"));
      wire.leave();
      t.same(values(answer, "connection"), expected, `${start} ${value}`);
    }
});

t.test("a kept connection is not told to close", async (t) => {
  const wire = new Wire(server.port);
  const text = requests.slice(0, -1).map(([start, , headers = [], body = ""]) => {
    return `${start} HTTP/1.1\r\n${lines(...headers)}${body}`;
  });
  for (const [index, one] of text.entries()) {
    await wire.send(one);
    await wire.until((received) => received.split("HTTP/1.1 ").length === index + 2);
    await eventually(() => server.server.openRequests() === 0);
  }
  t.same(values(wire.received, "connection"), []);
  t.notOk(wire.closed);
  wire.leave();
});

t.test("HTTP/1.0 is refused with the reason", async (t) => {
  for (const path of ["/tile/", "/json/"]) {
    const answer = await speak(server.port, `GET ${path} HTTP/1.0\r\n${lines()}`);
    t.equal(statusOf(answer), 505);
    t.same(values(answer, "connection"), ["close"]);
    t.match(answer, "does not support HTTP/1.0");
  }
});

t.test("a plain nginx shows that reason; with HTTP/1.1 it is served", async (t) => {
  const get = async (url: string, path: string, headers: Record<string, string> = {}) => {
    const answer = await fetch(url + path, { headers });
    return { status: answer.status, text: await answer.text() };
  };
  const port = await freePort();
  const plain = await startPlainNginx(port, server.port);
  t.match(await get(plain.url, "/json/"), { status: 505, text: /does not support HTTP\/1\.0/ });
  await plain.stop();
  for (const more of ["proxy_http_version 1.1;", 'proxy_http_version 1.1; proxy_set_header Connection "";']) {
    const cache = await startPlainNginx(port, server.port, more);
    for (let round = 0; round < 3; round++) {
      t.same(await get(cache.url, "/json/"), { status: 200, text: '"an answer"' });
      t.same(await get(cache.url, "/stream/"), { status: 200, text: "astream" });
      t.equal((await get(cache.url, "/tile/")).text.length, 9);
    }
    const long = await get(cache.url, "/json/", { "x-long": "a".repeat(5_000) });
    t.match(long, { status: 431, text: /Request Header Fields Too Large/ });
    await cache.stop();
  }
});

t.test("a header field over the limit is refused with the reason", async (t) => {
  for (const bytes of [4_200, 20_000]) {
    const answer = await speak(
      server.port,
      `GET /json/ HTTP/1.1\r\n${lines(`X-Long: ${"a".repeat(bytes)}`)}`,
    );
    t.equal(statusOf(answer), 431, `${bytes}`);
    t.same(values(answer, "connection"), ["close"]);
    t.match(answer, "Request Header Fields Too Large");
  }
  t.match(
    await speak(
      server.port,
      `GET /json/ HTTP/1.1\r\n${lines(`X: ${"a".repeat(3_500)}`, "Connection: close")}`,
    ),
    "an answer",
  );
});

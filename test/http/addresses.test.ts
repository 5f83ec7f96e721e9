import t from "tap";
import { addressText, createForwardedReader } from "../../src/http/forwarded.js";
import { contentDisposition } from "../../src/http/headers.js";
import { createRouter } from "../../src/http/router.js";
import { json, type Method, type Route } from "../../src/http/types.js";
import { startServer } from "./harness.js";

const routes: readonly Route<undefined>[] = [
  { methods: ["GET"], path: "/", handler: () => json("root") },
  {
    methods: ["GET"],
    path: "/who/",
    handler: ({ baseUrl, remoteAddress, path, rawQuery }) => json({ baseUrl, remoteAddress, path, rawQuery }),
  },
];
const who = async (url: string, headers: Record<string, string> = {}) =>
  (await fetch(url, { headers })).json();
const forged = {
  "x-forwarded-proto": "https",
  "x-forwarded-host": "maps.example.org",
  "x-forwarded-prefix": "/geo",
  "x-forwarded-for": "203.0.113.9",
};

t.test("X-Forwarded headers count from trusted proxies only", async (t) => {
  const open = await startServer(routes);
  t.teardown(open.close);
  t.same(await who(`${open.url}/who/?a=1&b`, forged), {
    baseUrl: open.url,
    remoteAddress: "127.0.0.1",
    path: "/who/",
    rawQuery: "a=1&b",
  });
  const behind = await startServer(routes, { config: { trustedProxies: ["127.0.0.0/8"] } });
  t.teardown(behind.close);
  t.match(await who(`${behind.url}/who/`, forged), {
    baseUrl: "https://maps.example.org/geo",
    remoteAddress: "203.0.113.9",
  });
  t.match(
    await who(`${behind.url}/who/`, {
      "x-forwarded-host": "a/../b",
      "x-forwarded-prefix": "//evil",
      "x-forwarded-for": "<x>",
    }),
    {
      baseUrl: behind.url,
      remoteAddress: "127.0.0.1",
    },
  );
});

t.test("the configured prefix is served with and without", async (t) => {
  const server = await startServer(routes, { config: { baseUrl: "https://maps.example.org/geo" } });
  t.teardown(server.close);
  for (const path of ["/who/", "/geo/who/", "/geo/who"]) {
    t.match(await who(server.url + path), { baseUrl: "https://maps.example.org/geo", path });
  }
  t.equal(await who(`${server.url}/geo`), "root");
  t.equal(await who(`${server.url}/geo/`), "root");
  t.equal((await fetch(`${server.url}/geology/`)).status, 404);
});

t.test("the client is the nearest address that is no trusted proxy", (t) => {
  const reader = createForwardedReader("", ["10.0.0.0/8", "::1"]);
  const client = (peer: string, chain: string) =>
    reader.read(peer, (name) => (name === "x-forwarded-for" ? chain : undefined)).remoteAddress;
  t.equal(client("10.0.0.1", "6.6.6.6, 203.0.113.9, 10.2.3.4"), "203.0.113.9");
  t.equal(client("::1", "2001:db8::1"), "2001:db8::1");
  t.equal(client("10.0.0.1", "10.0.0.2"), "10.0.0.2");
  t.equal(client("10.0.0.1", "6.6.6.6, junk"), "10.0.0.1");
  t.equal(client("192.0.2.1", "203.0.113.9"), "192.0.2.1");
  t.throws(() => createForwardedReader("", ["proxy.local"]), "a name is no address");
  t.throws(() => createForwardedReader("", ["10.0.0.0/33"]));
  t.end();
});

t.test("a configured address counts before what a proxy says", (t) => {
  const read = (base: string, headers: Record<string, string>) =>
    createForwardedReader(base, ["10.0.0.1"]).read("10.0.0.1", (name) => headers[name]).baseUrl;
  t.equal(read("", { host: "h:80", "x-forwarded-proto": "https" }), "https://h:80");
  t.equal(read("https://a.org/geo", { host: "h", "x-forwarded-proto": "http" }), "https://a.org/geo");
  t.equal(read("https://a.org/geo", { host: "h", "x-forwarded-host": "b.org" }), "https://a.org/geo");
  t.equal(read("https://a.org", { host: "h", "x-forwarded-prefix": "/b" }), "https://a.org");
  t.equal(
    read("/geo", { host: "h", "x-forwarded-host": "b.org", "x-forwarded-prefix": "/b" }),
    "http://b.org/geo",
  );
  t.equal(read("/geo", { host: "h" }), "http://h/geo");
  t.equal(read("/geo", { host: 'h"><script>' }), "/geo");
  t.equal(read("", { host: "h", "x-forwarded-host": "evil.org, b.org" }), "http://b.org");
  t.end();
});

t.test("addresses are written in their usual form", (t) => {
  const bytes = (hex: string) => Uint8Array.from(Buffer.from(hex, "hex"));
  t.equal(addressText(bytes("7f000001")), "127.0.0.1");
  t.equal(addressText(bytes("00000000000000000000ffffcb007109")), "203.0.113.9");
  t.equal(addressText(bytes("00000000000000000000000000000001")), "::1");
  t.equal(addressText(bytes("20010db8000000000001000000000001")), "2001:db8::1:0:0:1");
  t.equal(addressText(bytes("20010db8000100020003000400050006")), "2001:db8:1:2:3:4:5:6");
  t.equal(addressText(bytes("")), "");
  t.end();
});

t.test("file names of any kind fit into one header", (t) => {
  t.equal(contentDisposition("attachment", "plan.pdf"), 'attachment; filename="plan.pdf"');
  t.equal(
    contentDisposition("inline", "план (1).pdf"),
    `inline; filename="____ (1).pdf"; filename*=UTF-8''%D0%BF%D0%BB%D0%B0%D0%BD%20%281%29.pdf`,
  );
  t.equal(
    contentDisposition("attachment", 'a"\r\nx: 1\\../b'),
    `attachment; filename="a___x: 1_.._b"; filename*=UTF-8''a%22__x%3A%201_.._b`,
  );
  t.match(
    contentDisposition("attachment", "\ud800😀"),
    /^attachment; filename="__"; filename\*=UTF-8''_%F0%9F%98%80$/,
  );
  t.equal(
    contentDisposition("attachment", "photo\u202egpj.exe\u2066\u200f\u061c"),
    'attachment; filename="photo_gpj.exe___"',
    "what would turn its direction on the screen",
  );
  t.match(
    contentDisposition("attachment", "\u0645\u06cc\u200c\u062e.txt"),
    /%E2%80%8C/,
    "but not what joins letters",
  );
  t.end();
});

t.test("two routes for one address are a mistake", (t) => {
  const route = (path: string): Route<undefined> => ({ methods: ["GET"], path, handler: () => json(1) });
  t.throws(() => createRouter([route("/a/:b/"), route("/a/:c")]));
  t.doesNotThrow(() => createRouter([route("/a/:b/"), route("/a/b/"), route("/a/")]));
  t.end();
});

t.test("an address with a route of its own is never taken for another resource, whatever the method", (t) => {
  const route = (method: Method, path: string): Route<undefined> => ({
    methods: [method],
    path,
    handler: () => json(1),
  });
  const { find } = createRouter([
    route("GET", "/:map/"),
    route("POST", "/login/"),
    route("GET", "/login/as/:user/"),
  ]);
  t.match(find("/login/", "POST"), { route: { path: "/login/" } });
  t.same(find("/login/", "GET"), ["POST", "OPTIONS"]);
  t.match(find("/roads/", "HEAD"), { route: { path: "/:map/" }, params: { map: "roads" } });
  t.match(find("/login/as/ada/", "GET"), { params: { user: "ada" } });
  t.same(find("/login/as/", "GET"), [], "a part of an address has no methods");
  t.end();
});

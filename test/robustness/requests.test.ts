import { brotliCompressSync, deflateSync, gzipSync } from "node:zlib";
import t from "tap";
import { makeFileLayer, makeObject } from "../api/files.support.js";
import { makeMap } from "../support/maps.js";
import { watchSafety } from "../support/safe.js";
import { startServer } from "../support/server.js";

/** Hostile paths, methods and bodies, sent to whatever takes a body. */

const server = await startServer();
t.teardown(() => server.stop());
const token = await server.token("admin");
await makeMap(server, "m");
await makeFileLayer(server, "l");
const object = await makeObject(server, "l", { name: "a" });
const base = "/api/2.8/p";
const files = `${base}/m/layers/l/objects/${object}/files/`;
const safe = await watchSafety(t, server, `${base}/m/layers/l/objects/?fields=*`);
const send = (method: string, path: string, body: string | Uint8Array, headers: Record<string, string>) =>
  safe.ask(path, { method, body: body as never, headers: { "x-token": token, ...headers } });
const json = { "content-type": "application/json" };

t.test("an unknown path is 404 and an unknown method 405, and both are pages", async (t) => {
  for (const path of [
    "/nowhere",
    "//",
    "/api/",
    "/api/2.7",
    "/api/3.0/p/m/",
    "/api/2.8/p/m/layers/l/nothing/",
    "/api/2.8/p//layers/l/",
    "/api/2.8/p/m/layers/l/objects/1/geom/more/",
    "/api/2.8/p/m/..%2f..%2f..%2fetc%2fpasswd",
    "/..%2f..%2fetc/passwd",
    "/tms/p/m/1/2/3/4/5",
    `/${"a/".repeat(500)}`,
    "/.git/config",
    "/index.php",
  ]) {
    const answer = await safe.ask(path);
    t.equal(answer.status, 404, path);
    t.match(answer.headers.get("content-type"), /^text\/html/, path);
  }
  for (const method of ["BREW", "PROPFIND", "PURGE", "get", "LOCK", "DELETE", "PATCH"]) {
    for (const path of [
      `${base}/m/layers/`,
      `${base}/m/search/`,
      "/tms/p/m/?x=0&y=0&z=0",
      `${base}/login/`,
    ]) {
      const answer = await safe.ask(path, { method });
      // fetch itself writes these in capitals.
      if (method === "get") continue;
      t.equal(answer.status, 405, `${method} ${path}`);
      t.match(answer.headers.get("content-type"), /^text\/html/);
      t.match(answer.headers.get("allow"), /OPTIONS/);
    }
  }
  await safe.holds(t, "unknown paths and methods");
});

/** What takes a form. */
const forms = [
  `${base}/login/`,
  `${base}/ext-auth/`,
  `${base}/m/layers/l/filter/`,
  `${base}/m/layers/l/import/`,
  files,
];

t.test("a multipart body that is damaged is refused wherever one is taken", async (t) => {
  const part = (head: string, content = "x") => `--b\r\n${head}\r\n\r\n${content}\r\n`;
  const field = (name: string) => part(`Content-Disposition: form-data; name="${name}"`);
  const file = (name: string) => part(`Content-Disposition: form-data; name="${name}"; filename="a.geojson"`);
  const good = "multipart/form-data; boundary=b";
  const damaged: readonly (readonly [name: string, type: string, body: string])[] = [
    ["no boundary", "multipart/form-data", `${field("a")}--b--`],
    ["an empty boundary", "multipart/form-data; boundary=", `${field("a")}--b--`],
    ["a hostile boundary", `multipart/form-data; boundary="${"b".repeat(200)}"`, `${field("a")}--b--`],
    ["another boundary", "multipart/form-data; boundary=c", `${field("a")}--b--`],
    ["an empty name", good, `${field("")}--b--`],
    ["a file with an empty name", good, `${file("")}--b--`],
    ["no name", good, `${part("Content-Disposition: form-data")}--b--`],
    ["no disposition", good, `${part("Content-Type: text/plain")}--b--`],
    ["a name with NUL", good, `${field("a\0b")}--b--`],
    ["no end", good, field("a")],
    ["1001 fields", good, `${field("a").repeat(1_001)}--b--`],
    ["1001 names", good, `${Array.from({ length: 1_001 }, (_, i) => field(`f${i}`)).join("")}--b--`],
    ["1001 files", good, `${part("Content-Disposition: form-data; name=f; filename=a").repeat(1_001)}--b--`],
    ["an endless head", good, `--b\r\n${"X-A: b\r\n".repeat(5_000)}\r\nx\r\n--b--`],
  ];
  const endless: readonly (readonly [name: string, body: string])[] = [
    ["100 000 fields", `${field("a").repeat(100_000)}--b--`],
    ["100 000 files", `${file("file").repeat(100_000)}--b--`],
    ["a head of a megabyte", `--b\r\n${"X-A: b\r\n".repeat(125_000)}\r\nx\r\n--b--`],
  ];
  for (const path of forms) {
    for (const [name, type, body] of damaged) {
      const answer = await send("POST", path, body, { "content-type": type });
      t.equal(answer.status, 400, `${name} to ${path}: ${answer.text.slice(0, 150)}`);
      t.match(answer.headers.get("content-type"), /^text\/html/);
    }
    for (const [name, body] of endless) {
      const answer = await send("POST", path, body, { "content-type": good });
      t.ok([400, 413].includes(answer.status), `${name} to ${path}: ${answer.status}`);
    }
  }
  await safe.holds(t, "damaged multipart bodies");
});

/** What takes JSON, a body that each of them takes or knows what to say to, and a place in it for a value. */
const writers: readonly (readonly [method: string, path: string, around: (value: string) => string])[] = [
  ["POST", `${base}/login/`, (v) => `{"user":"x","pass":${v}}`],
  ["POST", `${base}/`, (v) => `{"code":"new","name":${v}}`],
  ["POST", `${base}/m/publish/`, (v) => `[{"id":1,"parent_id":0,"map_layer_id":${v}}]`],
  ["POST", `${base}/m/folders/`, (v) => `{"json":${v}}`],
  ["POST", `${base}/m/layers/`, (v) => `{"sort":${v}}`],
  ["PATCH", `${base}/m/layers/l/`, (v) => `{"parent_id":${v}}`],
  ["POST", `${base}/m/layers/l/structure/`, (v) => `{"code":"c","type":"string","format":${v}}`],
  ["PUT", `${base}/m/layers/l/constraints/`, (v) => `[{"type":"enum","columns":["name"],"definition":${v}}]`],
  ["POST", `${base}/m/layers/l/objects/`, (v) => `{"fields":{"name":${v}}}`],
  ["PUT", `${base}/m/layers/l/objects/${object}/`, (v) => `{"fields":{"name":${v}}}`],
  [
    "POST",
    `${base}/m/layers/l/objects/bulk/`,
    (v) => `[{"op":"update","id":${object},"fields":{"name":${v}}}]`,
  ],
  ["PATCH", `${base}/m/`, (v) => `{"name":${v}}`],
  ["PUT", `${base}/m/layers/l/objects/${object}/geom/`, (v) => `{"type":"Point","coordinates":${v}}`],
  ["POST", `${base}/m/layers/l/filter/`, (v) => `{"fields":${v}}`],
  ["PUT", `${base}/m/search/settings/`, (v) => `[{"layer":${v}}]`],
];

t.test("JSON that is too deep, not finite or no JSON is refused wherever JSON is taken", async (t) => {
  const deep = (levels: number, open = "[", close = "]") => open.repeat(levels) + close.repeat(levels);
  const values: readonly (readonly [name: string, value: string])[] = [
    ["30 000 arrays", deep(30_000)],
    ["10 000 objects", deep(10_000, '{"a":', "").replace(/$/, `1${"}".repeat(10_000)}`)],
    ["101 arrays", deep(101)],
    ["arrays without an end", "[".repeat(60_000)],
    ["1e999", "1e999"],
    ["-1e999", "[-1e999]"],
    ["a number of 10 000 digits", "9".repeat(10_000)],
    ["NaN", "NaN"],
    ["two values", "1} {"],
    ["a comment", "1 /* */"],
    ["a comma too many", "[1,]"],
    ["single quotes", "'a'"],
  ];
  for (const [method, path, around] of writers) {
    for (const [name, value] of values) {
      const answer = await send(method, path, around(value), json);
      t.equal(answer.status, 400, `${name} to ${method} ${path}: ${answer.text.slice(0, 150)}`);
    }
  }
  await safe.holds(t, "JSON that is none");
});

t.test("keys of a prototype are keys like any other, and of duplicate keys the last counts", async (t) => {
  const hostile =
    '{"__proto__":{"admin":true,"code":"x","fields":{}},"constructor":{"prototype":{"admin":true}}}';
  for (const [method, path, around] of writers) {
    const answer = await send(method, path, around(hostile), json);
    t.ok(
      [400, 403, 404, 500].includes(answer.status) || path.endsWith("/folders/"),
      `${answer.status} ${path}`,
    );
    if (answer.status === 500) t.not(answer.json.code, "internal", `${method} ${path}`);
    t.equal(({} as { admin?: unknown }).admin, undefined, path);
  }
  const whole = await send(
    "POST",
    `${base}/login/`,
    '{"__proto__":{"user":"admin","pass":"adminadmin"}}',
    json,
  );
  t.match(whole, { status: 500, json: { data: { required: ["user", "pass"] } } });
  const kept = await safe.ask(`${base}/m/layers/?type=full`);
  const folder = kept.json.find(({ type }: { type: string }) => type === "folder");
  t.ok(folder, "settings of a folder may be anything");
  const tree = await safe.ask(`${base}/m/folders/${folder.code}/`, { headers: { "x-token": token } });
  t.ok(Object.hasOwn(tree.json.json, "__proto__"), "and come back as they were sent");
  t.equal((await send("DELETE", `${base}/m/folders/${folder.code}/`, '{"parent_id":0}', json)).status, 200);
  const twice = await send(
    "PUT",
    `${base}/m/layers/l/objects/${object}/`,
    '{"fields":{"name":1,"name":"a"}}',
    json,
  );
  t.match(twice, { status: 200, json: { fields: { name: "a" } } });
  const users = await send(
    "POST",
    `${base}/login/`,
    '{"user":"nobody","user":"admin","pass":"x","pass":"adminadmin"}',
    json,
  );
  t.equal(users.status, 200);
  // The map has had a folder for a while, which counts as changes.
  await safe.accept();
  await safe.holds(t, "hostile keys");
});

t.test("a compressed body is refused before anything unpacks it", async (t) => {
  const bomb = Buffer.alloc(20_000_000);
  const codings: readonly (readonly [string, Buffer])[] = [
    ["gzip", gzipSync('{"user":"admin","pass":"adminadmin"}')],
    ["gzip", gzipSync(bomb)],
    ["GZIP", gzipSync(bomb)],
    ["x-gzip", gzipSync("{}")],
    ["deflate", deflateSync("{}")],
    ["br", brotliCompressSync("{}")],
    ["zstd", Buffer.from("{}")],
    ["identity, gzip", gzipSync("{}")],
    ["gzip, identity", gzipSync("{}")],
    ["nonsense", Buffer.from("{}")],
  ];
  for (const path of [...forms, ...writers.map(([, path]) => path)]) {
    const method = writers.find(([, one]) => one === path)?.[0] ?? "POST";
    for (const [coding, body] of codings) {
      const answer = await send(method, path, body, { ...json, "content-encoding": coding });
      t.equal(answer.status, 415, `${coding} to ${method} ${path}`);
    }
  }
  const plain = await send("POST", `${base}/login/`, '{"user":"admin","pass":"adminadmin"}', {
    ...json,
    "content-encoding": "identity",
  });
  t.equal(plain.status, 200);
  await safe.holds(t, "compressed bodies");
});

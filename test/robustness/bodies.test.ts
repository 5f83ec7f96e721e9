import { existsSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { makeFileLayer, makeObject } from "../api/files.support.js";
import { statusOf, Wire } from "../http/harness.js";
import { makeMap } from "../support/maps.js";
import { watchSafety } from "../support/safe.js";
import { startServer } from "../support/server.js";

/** Bodies that are too large, hold too much, or bring files where nobody wants any. */

const server = await startServer();
t.teardown(() => server.stop());
const { port, services } = server.nodes[0]!;
const [admin, viewer] = [await server.token("admin"), await server.token("viewer")];
await server.sql.query("update account set is_operator = true where login = 'admin'");
await makeMap(server, "m");
await makeFileLayer(server, "l");
const object = await makeObject(server, "l", { name: "a" });
await server.api("POST", "m/folders/", { token: admin, body: { code: "f" } });
const base = "/api/2.8/p";
const layer = `${base}/m/layers/l`;
const safe = await watchSafety(t, server, `${layer}/objects/?fields=*`);

const json = { "content-type": "application/json" };
const multipart = { "content-type": "multipart/form-data; boundary=b" };

interface Described {
  readonly name: string;
  readonly method: string;
  readonly path: string;
  readonly bytes: number;
  readonly bytesWithoutToken: number;
  /** Whether the operation says that it reads a body. */
  readonly hasBody: boolean;
}

/** Every operation that may come with a body, as the description has it, at an address of something that is there. */
const operations: Described[] = [];
const parts: Readonly<Record<string, string>> = {
  project: "p",
  map: "m",
  layer: "l",
  folder: "f",
  column: "name",
  object: String(object),
  file: "1",
  path: "a.png",
  code: "p",
};
const { paths } = (await safe.ask("/openapi.json")).json;
for (const [path, methods] of Object.entries<any>(paths)) {
  for (const [method, operation] of Object.entries<any>(methods)) {
    const limits = operation["x-body-limits"];
    if (limits === undefined) continue;
    operations.push({
      name: `${method.toUpperCase()} ${path}`,
      method: method.toUpperCase(),
      path: path.replace(/\{(\w+)\}/g, (_, name: string) => parts[name]!),
      bytes: limits.bytes,
      bytesWithoutToken: limits.bytesWithoutToken ?? limits.bytes,
      hasBody: operation.requestBody !== undefined,
    });
  }
}
/** What takes files looks for tokens in forms of several parts only: anything else nobody may send, of any size. */
const takesFile = ({ name }: Described) =>
  /^POST .*\/(import|files|pictures)\/$|^PUT .*\/(pictures|fonts)\//.test(name);

/** Sends the head of a request that announces a body, and nothing of the body. */
async function announced({ method, path }: Described, bytes: number, headers: string): Promise<string> {
  const wire = new Wire(port);
  await wire.send(`${method} ${path} HTTP/1.1\r\nHost: x\r\n${headers}Content-Length: ${bytes}\r\n\r\n`);
  const answer = await wire.until((text) => /<\/html>|"message"/.test(text));
  wire.leave();
  return answer;
}

/** Sends a body in chunks, without end, until there is an answer. */
async function pour({ method, path }: Described, headers: string): Promise<string> {
  const wire = new Wire(port);
  await wire.send(`${method} ${path} HTTP/1.1\r\nHost: x\r\n${headers}Transfer-Encoding: chunked\r\n\r\n`);
  const chunk = `4000\r\n${'{"a":1, '.padEnd(0x4000, " ")}\r\n`;
  while (!wire.received && !wire.closed) await wire.send(chunk);
  const answer = await wire.until((text) => /<\/html>|"message"/.test(text));
  wire.leave();
  return answer;
}

t.test("what nobody may send is refused unread, by every operation", async (t) => {
  t.ok(operations.length > 25, `${operations.length} operations`);
  for (const operation of operations) {
    const { name, bytesWithoutToken: most, bytes } = operation;
    const status = takesFile(operation) ? 401 : 413;
    for (const type of ["application/json", "application/x-www-form-urlencoded"]) {
      const headers = `Content-Type: ${type}\r\n`;
      for (const size of [most + 1, 15_000_000, 15_000_000_000]) {
        const wanted = size > 1024 ** 3 ? 413 : status;
        const answer = await announced(operation, size, headers);
        t.equal(statusOf(answer), wanted, `${name}: ${size} bytes of ${type}`);
        if (most < bytes && wanted === 413 && size < 1024 ** 3)
          t.match(answer, /send the token in the header X-Token/, `${name} says what to do`);
      }
    }
    const poured = await pour(operation, "Content-Type: application/json\r\n");
    t.equal(statusOf(poured), status, `${name}: in chunks`);
  }
  await safe.holds(t, "bodies that nobody may send");
});

t.test("what is beyond the operation is refused unread from users as well", async (t) => {
  for (const operation of operations.filter(({ hasBody }) => hasBody)) {
    const { name, bytes } = operation;
    if (takesFile(operation) || name.endsWith("/ext-login/")) continue;
    const headers = `Content-Type: application/json\r\nX-Token: ${admin}\r\n`;
    t.equal(statusOf(await announced(operation, bytes + 1, headers)), 413, name);
  }
  await safe.holds(t, "bodies that are too large");
});

t.test("a large body is not read before the rights are known", async (t) => {
  const large = operations.filter((one) => takesFile(one) || one.bytesWithoutToken < one.bytes);
  t.ok(large.length > 12);
  for (const operation of large) {
    const headers = `Content-Type: application/json\r\nX-Token: ${viewer}\r\n`;
    t.equal(statusOf(await announced(operation, operation.bytes, headers)), 403, operation.name);
  }
  await safe.holds(t, "bodies of users without the right");
});

t.test("a token in a body counts in a small one only, also where everybody may send more", async (t) => {
  const token = await server.token("admin");
  const padding = "x".repeat(70_000);
  for (const [method, path, body] of [
    ["POST", `${layer}/objects/`, { token, fields: { name: padding } }],
    ["PUT", `${layer}/objects/${object}/`, { token, fields: { name: padding } }],
    ["POST", `${base}/m/layers/`, { token, css_style: `/* ${padding} */` }],
    ["POST", `${layer}/filter/`, { token, unknown: padding }],
    ["POST", `${layer}/export/`, { token, format: "geojson", unknown: padding }],
  ] as const) {
    const answer = await safe.ask(path, { method, headers: json, body: JSON.stringify(body) });
    t.equal(answer.status, 413, path);
    t.match(answer.text, /send the token in the header X-Token/, path);
  }
  const open = await safe.ask(`${layer}/filter/`, {
    method: "POST",
    headers: json,
    body: JSON.stringify({ fields: "name", unknown: padding }),
  });
  t.match(open, { status: 200, json: [{ fields: { name: "a" } }] }, "without a token everybody's selection");
  const small = await safe.ask(`${layer}/objects/`, {
    method: "POST",
    headers: json,
    body: JSON.stringify({ token, fields: { name: "x".repeat(60_000) } }),
  });
  t.equal(small.status, 200);
  const large = await safe.ask(`${layer}/objects/${small.json.id}/`, {
    method: "PUT",
    headers: { ...json, "x-token": token },
    body: JSON.stringify({ fields: { name: "x".repeat(2_000_000) } }),
  });
  t.equal(large.status, 200, "with the token before it, data may be large");
  t.equal((await server.api("DELETE", `m/layers/l/objects/${small.json.id}/`, { token })).status, 200);
  await safe.holds(t, "tokens in large bodies");
});

/** A JSON object of so many members. */
const members = (count: number) =>
  `{${Array.from({ length: count }, (_, i) => `"${i.toString(36)}":1`).join(",")}}`;

t.test("JSON that holds more than an operation can mean is refused before it is parsed", async (t) => {
  const arrays = `{"fields":[${"[],".repeat(200_000)}1]}`;
  const objects = `{"fields":[${"{},".repeat(200_000)}1]}`;
  for (const [name, path, body, status, told] of [
    ["a login", `${base}/login/`, members(1_001), 400, /more than 1000 named values/],
    ["a login of a million", `${base}/login/`, members(1_200_000), 413, /larger than 65536/],
    ["a selection", `${layer}/filter/`, members(100_000), 400, /more than 1000 named values/],
    ["a selection of arrays", `${layer}/filter/`, arrays, 400, /more than 40000 values/],
    ["a selection of objects", `${layer}/filter/`, objects, 400, /more than 40000 values/],
    ["an object", `${layer}/objects/`, `{"fields":${members(500_000)}}`, 400, /more than 50000 named values/],
  ] as const) {
    const headers = name === "an object" ? { ...json, "x-token": admin } : json;
    const answer = await safe.ask(path, { method: "POST", headers, body });
    t.equal(answer.status, status, `${name}: ${answer.text}`);
    t.match(answer.text, told, name);
  }
  await safe.holds(t, "bodies that hold too much");
});

const field = (name: string, value: string) =>
  `--b\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`;
const file = (content: string, name = "file") =>
  `--b\r\nContent-Disposition: form-data; name="${name}"; filename="a.geojson"\r\n\r\n${content}\r\n`;
const end = "--b--\r\n";
const geojson = JSON.stringify({ type: "FeatureCollection", features: [] });
const uploads = [`${layer}/import/`, `${layer}/objects/${object}/files/`];
/** The folder for temporary files is made with the first of them. */
const wasWritten = () => existsSync(join(services.config.dataDir, "tmp"));

t.test("nothing that a stranger sends is written to the disk", async (t) => {
  t.notOk(wasWritten());
  const large = "x".repeat(3_000_000);
  for (const { name, method, path } of operations) {
    for (const body of [
      file(large),
      file(large, "other"),
      field("token", "made-up") + file(large),
      field("token", viewer) + file(large),
    ]) {
      const answer = await safe.ask(path, { method, headers: multipart, body: body + end });
      t.ok([401, 403, 404, 413].includes(answer.status), `${name}: ${answer.status}`);
      t.notOk(wasWritten(), name);
    }
  }
  for (const path of uploads) {
    for (const [name, body, status, told] of [
      ["no token", file("x"), 401, /valid session token/],
      ["no token, a large file", file(large), 413, /send the token in the header X-Token/],
      ["a token that is none", field("token", "made-up") + file(large), 401, /unknown or has expired/],
      ["a viewer's", field("token", viewer) + file(large), 403, /rights/],
      ["a token that is none, after the file", file("x") + field("token", "made-up"), 401, /unknown/],
      ["a viewer's, after the file", file("x") + field("token", viewer), 403, /rights/],
      ["a good one, after the file", file("x") + field("token", admin), 401, /came before the token/],
      ["a good one, after a large file", file(large) + field("token", admin), 413, /X-Token/],
      ["a good one, and no file of that name", field("token", admin) + file(large, "other"), 413, /X-Token/],
    ] as const) {
      const answer = await safe.ask(path, { method: "POST", headers: multipart, body: body + end });
      t.equal(answer.status, status, `${name} to ${path}: ${answer.text}`);
      t.match(answer.text, told, name);
      t.notOk(wasWritten(), name);
    }
  }
  await safe.holds(t, "files of strangers");
});

t.test("who may not send a file is told so before it comes", async (t) => {
  for (const path of uploads) {
    for (const [token, status] of [
      ["made-up", 401],
      [viewer, 403],
    ] as const) {
      const opening = field("token", token) + file("x").slice(0, -2);
      const wire = new Wire(port);
      await wire.send(
        `POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Type: ${multipart["content-type"]}\r\n` +
          `Content-Length: 500000000\r\n\r\n${opening}`,
      );
      t.equal(statusOf(await wire.until((text) => text.includes("</html>"))), status, path);
      wire.leave();
    }
  }
  t.notOk(wasWritten());
  await safe.holds(t, "files that were announced");
});

t.test("who may send a file is served, wherever the token stands before it", async (t) => {
  const comment = `${geojson.slice(0, -1)},"comment":"${"x".repeat(200_000)}"}`;
  const attached: number[] = [];
  for (const path of uploads) {
    const own = field("field", "files");
    const ways: readonly (readonly [name: string, path: string, headers: object, body: string])[] = [
      ["a field before it", path, {}, field("token", admin) + own + file(comment)],
      ["a field before it, parameters after it", path, {}, field("token", admin) + file(comment) + own],
      ["a header", path, { "x-token": admin }, file(comment) + own],
      ["the query", `${path}?token=${admin}`, {}, file(comment) + own],
      [
        "a header, another file before it",
        path,
        { authorization: `Bearer ${admin}` },
        file("y", "z") + file(comment) + own,
      ],
      [
        "a header and a field after it",
        path,
        { "x-token": admin },
        file(comment) + own + field("token", "made-up"),
      ],
    ];
    for (const [name, address, headers, body] of ways) {
      const answer = await safe.ask(address, {
        method: "POST",
        headers: { ...multipart, ...headers },
        body: body + end,
      });
      t.equal(answer.status, 200, `${name} to ${path}: ${answer.text}`);
      if (path.endsWith("/files/")) attached.push(answer.json.id);
    }
  }
  t.ok(wasWritten());
  for (const id of attached) {
    const gone = await server.api("DELETE", `m/layers/l/objects/${object}/files/${id}/?field=files`, {
      token: admin,
    });
    t.equal(gone.status, 200);
  }
  await safe.holds(t, "files of users");
});

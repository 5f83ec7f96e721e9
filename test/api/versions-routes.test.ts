import sharp from "sharp";
import t from "tap";
import { apiRoutes } from "../../src/api/routes.js";
import { makeMap } from "../support/maps.js";
import { startServer } from "../support/server.js";

/** Which operations the older versions have: every route of the current version is served by them, or is not there. */

const server = await startServer();
t.teardown(() => server.stop());
const editor = await server.token("editor");
const { url } = server;

/** Every operation of the contract, with the versions that have it. */
const contract: Readonly<Record<string, "2.8" | "2.2" | "2.0">> = {
  "POST P/login/": "2.0",
  "POST P/ext-login/": "2.8",
  "POST P/ext-auth/": "2.8",
  "GET P/authorized/": "2.8",
  "POST P/logout/": "2.0",
  "GET P/users/list/": "2.8",
  "POST P/": "2.0",
  "GET P/:map/": "2.0",
  "GET P/maps/available/": "2.8",
  "GET P/maps/public/": "2.8",
  "GET P/:map/layers/": "2.0",
  "POST P/:map/publish/": "2.0",
  "POST P/:map/folders/": "2.8",
  "GET P/:map/folders/:folder/": "2.8",
  "PUT P/:map/folders/:folder/": "2.8",
  "PATCH P/:map/folders/:folder/": "2.8",
  "DELETE P/:map/folders/:folder/": "2.8",
  "POST P/:map/layers/": "2.0",
  "GET P/:map/layers/:layer/": "2.0",
  "PUT P/:map/layers/:layer/": "2.0",
  "PATCH P/:map/layers/:layer/": "2.0",
  "DELETE P/:map/layers/:layer/": "2.0",
  "GET P/:map/layers/:layer/legend/": "2.0",
  "GET P/:map/layers/:layer/bbox/": "2.8",
  "POST P/:map/layers/:layer/refresh/": "2.8",
  "GET P/:map/layers/:layer/icon/": "2.8",
  "GET P/:map/layers/:layer/structure/": "2.0",
  "POST P/:map/layers/:layer/structure/": "2.8",
  "PUT P/:map/layers/:layer/structure/:column/": "2.0",
  "PATCH P/:map/layers/:layer/structure/:column/": "2.0",
  "DELETE P/:map/layers/:layer/structure/:column/": "2.8",
  "GET P/:map/layers/:layer/constraints/": "2.8",
  "POST P/:map/layers/:layer/import/": "2.0",
  "GET P/:map/layers/:layer/export/": "2.0",
  "POST P/:map/layers/:layer/makevalid/": "2.8",
  "GET P/:map/layers/:layer/count/": "2.2",
  "GET P/:map/layers/:layer/objects/": "2.0",
  "POST P/:map/layers/:layer/filter/": "2.8",
  "GET P/:map/layers/:layer/objects/:object/": "2.0",
  "POST P/:map/layers/:layer/objects/": "2.2",
  "PUT P/:map/layers/:layer/objects/:object/": "2.2",
  "DELETE P/:map/layers/:layer/objects/:object/": "2.2",
  "GET P/:map/layers/:layer/objects/:object/geom/": "2.0",
  "PUT P/:map/layers/:layer/objects/:object/geom/": "2.0",
  "POST P/:map/layers/:layer/objects/:object/files/": "2.0",
  "DELETE P/:map/layers/:layer/objects/:object/files/:file/": "2.0",
  // Where the path leads that the contract's File has.
  "GET P/:map/layers/:layer/objects/:object/files/:file/": "2.0",
  "GET P/:map/search/": "2.8",
  "GET P/image/:file/": "2.0",
};

/** What goes beyond the contract, no older version has. */
const since = (operation: string): string => contract[operation] ?? "2.8";

async function must(method: string, path: string, body: unknown) {
  const form = body instanceof FormData;
  const answer = await fetch(`${url}/api/2.8/p/${path}`, {
    method,
    headers: { "x-token": editor, ...(form ? {} : { "content-type": "application/json" }) },
    body: form ? body : JSON.stringify(body),
  });
  const text = await answer.text();
  if (answer.status !== 200) throw new Error(`${method} ${path}: ${answer.status} ${text}`);
  return JSON.parse(text);
}

await makeMap(server, "m");
await must("POST", "m/folders/", { code: "d" });
await must("POST", "m/layers/", { code: "l" });
await must("POST", "m/layers/l/structure/", { code: "c", type: "number" });
await must("POST", "m/layers/l/structure/", { code: "f", type: "file" });
await must("PUT", "m/layers/l/visualization/", { visualSettings: { type: 1, columnCode: "c" } });
const object = (await must("POST", "m/layers/l/objects/", { fields: { c: 1 } })).id;
const form = new FormData();
const pixels = await sharp({ create: { width: 2, height: 2, channels: 3, background: "red" } })
  .png()
  .toBuffer();
form.set("field", "f");
form.set("file", new File([new Uint8Array(pixels)], "a.png"));
const file = await must("POST", `m/layers/l/objects/${object}/files/`, form);
const parts: Record<string, string> = {
  map: "m",
  folder: "d",
  layer: "l",
  column: "c",
  object: String(object),
  file: file.uuid,
};

const operations = apiRoutes.flatMap(({ methods, path }) =>
  path.startsWith("/api/2.8/:project/")
    ? methods.map((method) => ({ method, below: path.slice("/api/2.8/:project".length) }))
    : [],
);
const methods = ["GET", "POST", "PUT", "PATCH", "DELETE"];

/** Without a token: what changes something is refused, what anybody may read is answered. */
async function ask(version: string, method: string, below: string) {
  const path = below.replace(/:(\w+)\*?/g, (_, name: string) => parts[name] ?? name);
  const answer = await fetch(`${url}/api/${version}/p${path}`, { method });
  return { status: answer.status, page: await answer.text() };
}

for (const version of ["2.2", "2.0"]) {
  t.test(`${version} has the operations that the contract gives it, and no others`, async (t) => {
    for (const { method, below } of operations) {
      const operation = `${method} P${below}`;
      const { status, page } = await ask(version, method, below);
      if (since(operation) <= version) {
        // No token, no login: nothing that changes something goes through.
        const wanted = method === "GET" ? [200, 401, 500] : [401, 500];
        t.ok(wanted.includes(status), `${operation}: ${status}`);
      } else {
        t.equal(status, 404, operation);
        t.match(page, `no such operation in version ${version}`, operation);
      }
    }
  });

  t.test(`in ${version} a path without any operation is none for every method`, async (t) => {
    const paths = new Set(operations.map(({ below }) => below));
    for (const below of paths) {
      const served = operations.some(
        (one) => one.below === below && since(`${one.method} P${below}`) <= version,
      );
      if (served) continue;
      for (const method of methods) {
        const { status } = await ask(version, method, below);
        t.equal(status, 404, `${method} P${below}`);
      }
    }
  });

  t.test(`in ${version} a method that no version has is not allowed`, async (t) => {
    t.equal((await ask(version, "DELETE", "/:map/layers/")).status, 405);
    t.equal((await ask(version, "PATCH", "/login/")).status, 405);
  });

  t.test(`paths of ${version} work without their slash and for HEAD and OPTIONS`, async (t) => {
    for (const [method, status] of [
      ["GET", 200],
      ["HEAD", 200],
      ["OPTIONS", 204],
    ] as const) {
      const answer = await fetch(`${url}/api/${version}/p/m/layers`, { method });
      t.equal(answer.status, status, method);
      t.equal(answer.headers.get("access-control-allow-origin"), "*", method);
    }
  });
}

t.test("a version that there is not has nothing", async (t) => {
  for (const version of ["2.1", "2.9", "2", "v2.2"])
    t.equal((await ask(version, "GET", "/:map/")).status, 404);
});

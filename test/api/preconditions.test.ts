import t from "tap";
import { isResource } from "../../src/api/request/resource.js";
import { apiRoutes } from "../../src/api/routes.js";
import { blockFont } from "../support/fonts.js";
import { type ApiOptions, startServer } from "../support/server.js";
import { zipOf } from "../support/zip.js";

/** ETags of all that can be changed, and changes that are meant for one state of it. Those of objects: object-tags.test.ts. */

const server = await startServer({ nodes: 2 });
t.teardown(() => server.stop());
const token = await server.token("admin");
const ask = (method: string, path: string, options: ApiOptions = {}) =>
  server.api(method, path, { token, ...options });
const done = async (method: string, path: string, body?: unknown) => {
  const answer = await ask(method, path, { body });
  if (answer.status !== 200) throw new Error(`${method} ${path}: ${answer.status} ${answer.text}`);
  return answer;
};

await done("POST", "", { code: "m", css_style: "#a { line-width: 1; }" });
await done("POST", "m/folders/", { code: "f" });
const layer = (await done("POST", "m/layers/", { code: "a", name: "A" })).json;
await done("POST", "m/layers/a/structure/", { code: "n", type: "number" });
await done("POST", "m/layers/a/structure/", { code: "files", type: "file" });
const point = (x: number) => ({ type: "Point", coordinates: [x, 2] });
const object = (await done("POST", "m/layers/a/objects/", { fields: { n: 1 }, geom: point(1) })).json;
await done("POST", "m/layers/", { code: "copy", type: "material", source: { layer: "a" } });

const L = "m/layers/a/";
const svg = (size: number) =>
  `<svg xmlns="http://www.w3.org/2000/svg" width="${size}" height="9"><rect width="${size}" height="9"/></svg>`;
const upload = (file: string | Uint8Array, name: string): FormData => {
  const form = new FormData();
  form.set("file", new File([file as never], name));
  form.set("field", "files");
  return form;
};
let count = 0;

interface Line {
  /** Where its state is read. */
  readonly of: string;
  readonly path: string;
  readonly body?: () => unknown;
  /** A change of it by somebody else. */
  readonly meanwhile: readonly [method: string, path: string, body: () => unknown];
}

const renamed: Line["meanwhile"] = ["PATCH", L, () => ({ parent_id: 0, name: `A ${++count}` })];
const moreColumns: Line["meanwhile"] = [
  "POST",
  `${L}structure/`,
  () => ({ code: `c${++count}`, type: "string" }),
];
const named = () => ({ name: `new ${++count}` });
const placed = () => ({ parent_id: 0, name: `new ${++count}` });
const map = { of: "m/", path: "m/", meanwhile: ["PATCH", "m/", named] } as const;
const folder = {
  of: "m/folders/f/",
  path: "m/folders/f/",
  meanwhile: ["PATCH", "m/folders/f/", placed],
} as const;
const aLayer = { of: L, path: L, meanwhile: renamed } as const;
const column = { of: `${L}structure/`, path: `${L}structure/`, meanwhile: moreColumns } as const;
const picture = {
  of: "pictures/",
  path: "pictures/x.svg",
  meanwhile: ["PUT", "pictures/other.svg", () => svg(++count)],
} as const;
const font = {
  of: "fonts/",
  path: "fonts/x.otf",
  meanwhile: ["PUT", "fonts/other.otf", () => blockFont({ family: `Other ${++count}` })],
} as const;
const anObject = {
  of: `${L}objects/${object.id}/`,
  path: `${L}objects/${object.id}/files/`,
  meanwhile: ["PUT", `${L}objects/${object.id}/`, () => ({ fields: { n: ++count } })],
} as const;
const file = await fetch(`${server.url}/api/2.8/p/${anObject.path}`, {
  method: "POST",
  headers: { "x-token": token },
  body: upload("text", "a.txt"),
}).then((answer) => answer.json() as Promise<{ id: number }>);
const nina = (await done("POST", "members/", { login: "nina", password: "correct-horse" })).json;
const everybody = {
  of: "members/",
  path: `members/${nina.id}/`,
  meanwhile: ["PATCH", "members/0/", () => ({ grants: [{ map: "m", layer: "a", rights: ++count % 2 }] })],
} as const;
const heat = { visualSettings: { type: 1, columnCode: "n", classesCount: 3 } };

/** By the ids of operations, with the method where there are several; those that delete what others need come last. */
const lines: Readonly<Record<string, Line>> = {
  changeMap_PUT: { ...map, body: named },
  changeMap_PATCH: { ...map, body: named },
  changeFolder_PUT: { ...folder, body: placed },
  changeFolder_PATCH: { ...folder, body: placed },
  savePublicationTree: {
    of: "m/layers/",
    path: "m/publish/",
    body: () => [{ id: 1, parent_id: 0, map_layer_id: layer.id, selected: ++count % 2 === 0 }],
    meanwhile: renamed,
  },
  changeLayer_PUT: { ...aLayer, body: placed },
  changeLayer_PATCH: { ...aLayer, body: () => ({ parent_id: 0, css_style: "#a { marker-fill: red; }" }) },
  saveVisualization: { ...aLayer, path: `${L}visualization/`, body: () => heat },
  deleteVisualization: { ...aLayer, path: `${L}visualization/` },
  saveVectorSettings: { ...aLayer, path: `${L}vector/`, body: () => ({ minZoom: 3 }) },
  deleteVectorSettings: { ...aLayer, path: `${L}vector/` },
  createColumn: { ...column, body: () => ({ code: `d${++count}`, type: "string" }) },
  changeColumn_PUT: { ...column, path: `${L}structure/n/`, body: () => ({ type: "number", name: "N" }) },
  changeColumn_PATCH: { ...column, path: `${L}structure/n/`, body: () => ({ type: "number", name: "M" }) },
  saveConstraints: {
    of: `${L}constraints/`,
    path: `${L}constraints/`,
    body: () => [{ type: "range", columns: ["n"], definition: [0, 1_000] }],
    meanwhile: [
      "PUT",
      `${L}constraints/`,
      () => [{ type: "range", name: `${++count}`, columns: ["n"], definition: [0, null] }],
    ],
  },
  saveSearchSettings: {
    of: "m/search/settings/",
    path: "m/search/settings/",
    body: () => [{ layer: "a", search_column: "n", priority: 1 }],
    meanwhile: [
      "PUT",
      "m/search/settings/",
      () => [{ layer: "a", search_column: "n", priority: 10 + ++count }],
    ],
  },
  importData: {
    ...aLayer,
    path: `${L}import/`,
    body: () => ({ type: "Feature", properties: { n: 5 }, geometry: point(5) }),
  },
  repairLayer: { ...aLayer, path: `${L}makevalid/` },
  refreshLayer: {
    of: "m/layers/copy/",
    path: "m/layers/copy/refresh/",
    meanwhile: ["PATCH", "m/layers/copy/", placed],
  },
  attachFile: { ...anObject, body: () => upload("more", "b.txt") },
  detachFile: { ...anObject, path: `${anObject.path}${file.id}/?field=files` },
  savePictures: { ...picture, path: "pictures/", body: () => zipOf({ "y.svg": svg(7) }) },
  savePicture: { ...picture, body: () => svg(8) },
  deletePicture: picture,
  saveFont: { ...font, body: () => blockFont({ family: "X" }) },
  deleteFont: font,
  addMember: {
    ...everybody,
    path: "members/",
    body: () => ({ login: `user${++count}`, password: "correct-horse" }),
  },
  changeMember: { ...everybody, body: () => ({ grants: [{ map: "m", rights: ++count % 4 }] }) },
  removeMember: everybody,
  deleteLayer: {
    ...aLayer,
    of: "m/layers/copy/",
    path: "m/layers/copy/",
    meanwhile: ["PATCH", "m/layers/copy/", placed],
  },
  deleteColumn: { ...column, path: `${L}structure/n/` },
  deleteFolder: folder,
  deleteMap: map,
};

const operations = apiRoutes.flatMap((operation) =>
  operation.methods
    .filter((method) => method !== "GET")
    .map((method) => ({
      operation,
      method,
      name: operation.description.id + (operation.methods.length > 1 ? `_${method}` : ""),
    })),
);

t.test("each operation that changes something takes If-Match, or says why not", (t) => {
  const missing = operations.filter(({ operation }) => operation.changes === undefined);
  t.same(
    missing.map(({ name }) => name),
    [],
    "add `changes` to its definition",
  );
  const conditional = operations.filter(({ operation }) => isResource(operation.changes));
  t.same(conditional.map(({ name }) => name).sort(), Object.keys(lines).sort(), "add a line to this test");
  t.end();
});

async function send(method: string, path: string, body: unknown, headers: Record<string, string> = {}) {
  const isRaw = body instanceof FormData || body instanceof Uint8Array || typeof body === "string";
  const type =
    body instanceof FormData || body === undefined
      ? {}
      : { "content-type": isRaw ? "application/octet-stream" : "application/json" };
  const answer = await fetch(`${server.urls[1]}/api/2.8/p/${path}`, {
    method,
    headers: { "x-token": token, ...type, ...headers },
    ...(body !== undefined && { body: (isRaw ? body : JSON.stringify(body)) as never }),
  });
  return { status: answer.status, etag: answer.headers.get("etag"), text: await answer.text() };
}

for (const [name, line] of Object.entries(lines))
  t.test(`${name} with a stale ETag changes nothing, with the present one it does`, async (t) => {
    const { operation, method } = operations.find((one) => one.name === name)!;
    const first = await ask("GET", line.of);
    const stale = first.headers.get("etag")!;
    t.match(stale, /^"[^"]+"$/, "a strong ETag");
    t.equal((await ask("GET", line.of, { node: 1 })).headers.get("etag"), stale, "of all nodes");
    t.equal((await ask("GET", line.of, { headers: { "if-none-match": stale } })).status, 304);
    const [other, path, change] = line.meanwhile;
    const changed = await send(other, path, change());
    t.equal(changed.status, 200, changed.text);
    const before = await ask("GET", line.of);
    const present = before.headers.get("etag")!;
    t.not(present, stale, "the change has another");
    const body = await line.body?.();
    const refused = await send(method, line.path, body, { "if-match": stale });
    t.equal(refused.status, 412, refused.text);
    const after = await ask("GET", line.of);
    t.equal(after.text, before.text, "nothing has changed");
    t.equal(after.headers.get("etag"), present);
    const made = await send(method, line.path, await line.body?.(), {
      "if-match": `"other", ${present}`,
      "idempotency-key": `key of ${name}`.replaceAll(" ", "-"),
    });
    t.equal(made.status, 200, made.text);
    if (operation.shows) {
      const now = await ask("GET", line.of);
      const tag = name === "repairLayer" ? now.headers.get("etag")!.split("-")[0] : now.headers.get("etag");
      t.match(made.etag, tag!, "the answer has the new ETag");
    }
  });

let again: { readonly id: number };
t.test("all of it can be made again", async () => {
  await done("POST", "", { code: "m" });
  await done("POST", "m/folders/", { code: "f" });
  again = (await done("POST", "m/layers/", { code: "a", name: "A" })).json;
  await done("POST", "m/layers/a/structure/", { code: "n", type: "number" });
});

t.test("of two editors on two nodes who saw the same state one comes through", async (t) => {
  const races: readonly [string, string, string, () => unknown][] = [
    ["m/", "PATCH", "m/", named],
    ["m/folders/f/", "PATCH", "m/folders/f/", placed],
    [L, "PATCH", L, placed],
    [L, "PUT", `${L}vector/`, () => ({ minZoom: ++count % 20 })],
    [`${L}structure/`, "POST", `${L}structure/`, () => ({ code: `r${++count}`, type: "string" })],
    [`${L}constraints/`, "PUT", `${L}constraints/`, lines.saveConstraints!.meanwhile[2]],
    ["m/search/settings/", "PUT", "m/search/settings/", lines.saveSearchSettings!.meanwhile[2]],
    [
      "m/layers/",
      "POST",
      "m/publish/",
      () => [{ id: ++count, parent_id: 0, map_layer_id: again.id, sort: count }],
    ],
  ];
  for (const [of, method, path, body] of races) {
    const tag = (await ask("GET", of)).headers.get("etag")!;
    const headers = { "if-match": tag };
    const answers = await Promise.all(
      [0, 1, 0, 1].map((node) => ask(method, path, { node, headers, body: body() })),
    );
    t.same(answers.map(({ status }) => status).sort(), [200, 412, 412, 412], `${method} ${path}`);
  }
});

t.test("objects are no part of what they belong to, unless the answer shows them", async (t) => {
  const paths = ["m/", L, `${L}structure/`, "m/layers/", "m/layers/?type=full"];
  const tags = async () =>
    Promise.all(paths.map(async (path) => (await ask("GET", path)).headers.get("etag")));
  const boxed = async () => (await ask("GET", `${L}?returnBbox=1`)).headers.get("etag")!;
  const [before, box] = [await tags(), await boxed()];
  await done("POST", `${L}objects/`, { fields: { n: 3 }, geom: point(9) });
  t.same(await tags(), before);
  t.not(await boxed(), box, "a box that is shown is part of the answer");
  const headers = { "if-match": box };
  t.equal((await ask("PATCH", L, { body: placed(), headers })).status, 200, "but not of what is changed");
});

t.test("the ETag is of all languages and of each way to ask", async (t) => {
  const tag = (await ask("GET", `${L}?lng=ru`)).headers.get("etag")!;
  await done("PATCH", `${L}?lng=ru`, { parent_id: 0, localized_name: true, name: { en: "E", ru: "R" } });
  t.equal((await ask("PATCH", L, { body: placed(), headers: { "if-match": tag } })).status, 412);
  const shared = (await server.api("GET", L)).headers.get("etag")!;
  t.equal(
    (await ask("PATCH", L, { body: placed(), headers: { "if-match": shared } })).status,
    200,
    "the public's",
  );
  const full = (await ask("GET", "m/layers/?type=full&returnCss=1")).headers.get("etag")!;
  t.equal((await ask("POST", "m/publish/", { body: [], headers: { "if-match": full } })).status, 200);
});

t.test("a key and an ETag stand for one request", async (t) => {
  const tag = (await ask("GET", "m/")).headers.get("etag")!;
  const headers = { "if-match": tag, "idempotency-key": "once" };
  const body = named();
  const first = await ask("PATCH", "m/", { body, headers });
  t.equal(first.status, 200, first.text);
  const repeated = await ask("PATCH", "m/", { body, headers, node: 1 });
  t.same([repeated.status, repeated.text], [200, first.text], "its answer is that of the first");
  t.equal(repeated.headers.get("etag"), first.headers.get("etag"));
  const stale = { "if-match": tag, "idempotency-key": "another" };
  t.equal((await ask("PATCH", "m/", { body: named(), headers: stale })).status, 412);
  const now = { "if-match": first.headers.get("etag")!, "idempotency-key": "another" };
  t.equal(
    (await ask("PATCH", "m/", { body: named(), headers: now })).status,
    200,
    "nothing was kept of that",
  );
});

t.test("any state, none, and what is no tag", async (t) => {
  const patch = (tag: string, path = L) =>
    ask("PATCH", path, { body: placed(), headers: { "if-match": tag } });
  t.equal((await patch("*")).status, 200);
  t.equal((await patch("*", "m/layers/none/")).status, 404);
  for (const tag of ["nonsense", "", `W/${(await ask("GET", L)).headers.get("etag")}`])
    t.equal((await patch(tag)).status, 412, tag);
  const put = (tag: string, path: string) => send("PUT", path, svg(5), { "if-match": tag });
  t.equal((await put("*", "pictures/none.svg")).status, 412, "there is no such picture");
  t.equal((await put((await ask("GET", "pictures/")).headers.get("etag")!, "pictures/new.svg")).status, 200);
  const viewer = await server.token("viewer");
  const stale = { token: viewer, body: placed(), headers: { "if-match": '"x"' } };
  t.equal((await server.api("PATCH", L, stale)).status, 403, "rights come first");
});

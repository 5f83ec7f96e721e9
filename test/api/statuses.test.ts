import { gzipSync } from "node:zlib";
import t from "tap";
import { makeMap, makeStyledLayer } from "../support/maps.js";
import { watchSafety } from "../support/safe.js";
import { startServer } from "../support/server.js";

/** The contract's table "Case to status", row by row, and the pages that refusals are. */

const server = await startServer({ config: { maxBodyBytes: 100_000, maxUploadBytes: 200_000 } });
t.teardown(() => server.stop());
const editor = await server.token("editor");
await makeMap(server, "m");
const layer = await makeStyledLayer(server, "m", "l", "#l { polygon-fill: #f00; }");
await makeMap(server, "other");
await makeStyledLayer(server, "other", "foreign", "#l { polygon-fill: #f00; }");
await makeMap(server, "private");
const made = async (path: string, body: unknown, token = editor): Promise<number> => {
  const answer = await server.api("POST", path, { token, body });
  if (answer.status !== 200) throw new Error(answer.text);
  return answer.json.id;
};
await made("m/folders/", { code: "f" });
const foreignFolder = await made("other/folders/", { code: "ff" });
const source = { layer: "l" };
await made("m/layers/", { code: "mine", type: "material", source });
await made("m/layers/", { code: "theirs", type: "material", source }, await server.token("admin"));
await server.sql.query("update map set has_publication = false where code = 'private'");
await server.nodes[0]!.services.changes.propagate();
const safe = await watchSafety(t, server, "/api/2.8/p/m/");

interface Row {
  readonly condition: string;
  readonly method: string;
  /** Below `/api/2.8/`. */
  readonly path: string;
  readonly body?: unknown;
  /** Default: an editor's. */
  readonly token?: string | null;
  readonly status: number;
  /** Of a 500. */
  readonly code?: string;
}

const missing = [
  { name: "missing", parent: undefined },
  { name: "nonexistent", parent: 999_999 },
  { name: "a layer", parent: layer.id },
  { name: "of another map", parent: foreignFolder },
];
const geometry = { type: "Point", coordinates: [0, 0] };

const table: readonly Row[] = [
  ...["GET m/", "GET m/layers/", "POST login/", "GET authorized/", "GET maps/available/"].map((request) => {
    const [method = "", path = ""] = request.split(" ");
    return {
      condition: `project code does not exist: ${request}`,
      method,
      path: `none/${path}`,
      ...(method === "POST" ? { body: { user: "a", pass: "b" } } : {}),
      token: null,
      status: 500,
      code: "project_not_found",
    };
  }),
  {
    condition: "unknown login",
    method: "POST",
    path: "p/login/",
    body: { user: "nobody", pass: "x" },
    token: null,
    status: 403,
  },
  {
    condition: "wrong password",
    method: "POST",
    path: "p/login/",
    body: { user: "editor", pass: "x" },
    token: null,
    status: 403,
  },
  {
    condition: "unknown login at ext-auth",
    method: "POST",
    path: "p/ext-auth/",
    body: { login: "nobody" },
    status: 403,
  },
  ...["", "layers/", "layers/x/", "layers/x/objects/", "layers/x/structure/", "search/?phrase=a"].map(
    (path) => ({
      condition: `map not published and user not authenticated: ${path}`,
      method: "GET",
      path: `p/private/${path}`,
      token: null,
      status: 403,
    }),
  ),
  ...[
    "",
    "layers/",
    "layers/l/",
    "layers/l/objects/",
    "layers/l/structure/",
    "folders/f/",
    "search/?phrase=a",
  ].map((path) => ({
    condition: `map code does not exist: ${path}`,
    method: "GET",
    path: `p/none/${path}`,
    status: 404,
  })),
  ...missing
    .flatMap(({ name, parent }) => [
      ...(["PUT", "PATCH", "DELETE"] as const).map((method) => ({
        condition: `folder's parent ${name}: ${method}`,
        method,
        path: "p/m/folders/f/",
        body: { parent_id: parent },
        // A folder is deleted without a body as well.
        status: method === "DELETE" && parent === undefined ? 0 : 404,
      })),
      ...(["PUT", "PATCH"] as const).map((method) => ({
        condition: `layer's parent ${name}: ${method}`,
        method,
        path: "p/m/layers/l/",
        body: { parent_id: parent },
        status: 404,
      })),
      ...(parent === undefined
        ? []
        : [
            {
              condition: `new layer's parent ${name}`,
              method: "POST",
              path: "p/m/layers/",
              body: { parent_id: parent },
              status: 404,
            },
            {
              condition: `new folder's parent ${name}`,
              method: "POST",
              path: "p/m/folders/",
              body: { parent_id: parent },
              status: 404,
            },
          ]),
    ])
    .filter(({ status }) => status !== 0),
  { condition: "folder does not exist on get", method: "GET", path: "p/m/folders/none/", status: 404 },
  { condition: "folder of another map on get", method: "GET", path: "p/m/folders/ff/", status: 404 },
  { condition: "layer does not exist on delete", method: "DELETE", path: "p/m/layers/none/", status: 404 },
  { condition: "layer of another map on delete", method: "DELETE", path: "p/m/layers/foreign/", status: 404 },
  {
    condition: "layer does not exist on change",
    method: "PATCH",
    path: "p/m/layers/none/",
    body: { parent_id: 0 },
    status: 404,
  },
  {
    condition: "column does not exist on delete",
    method: "DELETE",
    path: "p/m/layers/l/structure/none/",
    status: 404,
  },
  {
    condition: "column does not exist on change",
    method: "PUT",
    path: "p/m/layers/l/structure/none/",
    body: { type: "string" },
    status: 404,
  },
  {
    condition: "object does not exist on change",
    method: "PUT",
    path: "p/m/layers/l/objects/999/",
    body: { fields: {} },
    status: 404,
  },
  {
    condition: "object does not exist on delete",
    method: "DELETE",
    path: "p/m/layers/l/objects/999/",
    status: 404,
  },
  {
    condition: "object does not exist on geometry get",
    method: "GET",
    path: "p/m/layers/l/objects/999/geom/",
    status: 404,
  },
  {
    condition: "object does not exist on geometry change",
    method: "PUT",
    path: "p/m/layers/l/objects/999/geom/",
    body: geometry,
    status: 404,
  },
  { condition: "legend of an unknown layer", method: "GET", path: "p/m/layers/none/legend/", status: 404 },
  {
    condition: "legend of a layer that is no visualization",
    method: "GET",
    path: "p/m/layers/l/legend/",
    status: 404,
  },
  { condition: "bbox of an unknown layer", method: "GET", path: "p/m/layers/none/bbox/", status: 404 },
  { condition: "bbox of a folder", method: "GET", path: "p/m/layers/f/bbox/", status: 404 },
  {
    condition: "structure of an unknown layer",
    method: "GET",
    path: "p/m/layers/none/structure/",
    status: 404,
  },
  {
    condition: "invalid CartoCSS on layer create",
    method: "POST",
    path: "p/m/layers/",
    body: { css_style: "#a {" },
    status: 500,
    code: "invalid_style",
  },
  {
    condition: "invalid CartoCSS on layer change",
    method: "PATCH",
    path: "p/m/layers/l/",
    body: { parent_id: 0, css_style: "#a { polygon-fil: #f00; }" },
    status: 500,
    code: "invalid_style",
  },
  {
    condition: "column created without type",
    method: "POST",
    path: "p/m/layers/l/structure/",
    body: { code: "a" },
    status: 500,
    code: "type_required",
  },
  {
    condition: "column changed without type",
    method: "PUT",
    path: "p/m/layers/l/structure/svc_id/",
    body: { name: "a" },
    status: 500,
    code: "type_required",
  },
  {
    condition: "refresh of a layer that is not materialized",
    method: "POST",
    path: "p/m/layers/l/refresh/",
    status: 500,
    code: "not_materialized",
  },
  {
    condition: "refresh by a user who is not the owner",
    method: "POST",
    path: "p/m/layers/theirs/refresh/",
    status: 403,
  },
  {
    condition: "filter column not listed in fields",
    method: "GET",
    path: "p/m/layers/l/objects/?fcode=svc_id&fval=1",
    token: null,
    status: 500,
    code: "filter_column_not_listed",
  },
  {
    condition: "filter column not listed in fields of a body",
    method: "POST",
    path: "p/m/layers/l/filter/",
    body: { fcode: "svc_id", fval: 1 },
    token: null,
    status: 500,
    code: "filter_column_not_listed",
  },
  {
    condition: "invalid export format",
    method: "GET",
    path: "p/m/layers/l/export/?format=doc",
    status: 500,
    code: "invalid_format",
  },
];

t.test("every case of the contract's table has its status, and nothing changes", async (t) => {
  for (const { condition, method, path, body, token = editor, status, code } of table) {
    const answer = await safe.ask(`/api/2.8/${path}`, {
      method,
      headers: {
        ...(token ? { "x-token": token } : {}),
        ...(body === undefined ? {} : { "content-type": "application/json" }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    t.equal(answer.status, status, `${condition}: ${answer.text.slice(0, 150)}`);
    if (status === 500) {
      t.equal(answer.json.code, code, condition);
      t.match(answer.headers.get("content-type"), /^application\/json/);
    } else t.match(answer.headers.get("content-type"), /^text\/html/, condition);
  }
  t.equal(
    (await server.api("POST", "m/layers/mine/refresh/", { token: editor })).status,
    200,
    "the owner may",
  );
  await safe.holds(t, "the table of cases");
});

const hostile = '<script>alert("1")</script>&\'';
const pages: readonly (readonly [status: number, name: string, path: string, init: RequestInit])[] = [
  [400, "damaged encoding", "/api/2.8/p/%ff/", {}],
  [400, "a number that is none", `/api/2.8/p/m/layers/l/objects/?limit=${encodeURIComponent(hostile)}`, {}],
  [
    400,
    "damaged JSON",
    "/api/2.8/p/login/",
    { method: "POST", body: `{${hostile}`, headers: { "content-type": "application/json" } },
  ],
  [401, "no token", "/api/2.8/p/maps/available/", {}],
  [401, "a made-up token", `/api/2.8/p/m/?token=${encodeURIComponent(hostile)}`, {}],
  [
    403,
    "a wrong password",
    "/api/2.8/p/login/",
    { method: "POST", body: new URLSearchParams({ user: hostile, pass: hostile }) },
  ],
  [403, "a private map", "/api/2.8/p/private/", {}],
  [404, "an unknown map", `/api/2.8/p/${encodeURIComponent(hostile)}/`, {}],
  [404, "an unknown layer", `/api/2.8/p/m/layers/${encodeURIComponent(hostile)}/`, {}],
  [404, "an unknown path", `/${encodeURIComponent(hostile)}`, {}],
  [405, "another method", "/api/2.8/p/m/", { method: "POST" }],
  [405, "an unknown method", "/api/2.8/p/m/", { method: "BREW" }],
  [
    413,
    "a large body",
    "/api/2.8/p/login/",
    { method: "POST", body: "x".repeat(100_001), headers: { "content-type": "application/json" } },
  ],
  [
    415,
    "a compressed body",
    "/api/2.8/p/login/",
    {
      method: "POST",
      body: gzipSync("{}") as never,
      headers: { "content-type": "application/json", "content-encoding": "gzip" },
    },
  ],
];

t.test("a refusal is a short page with the reason in one sentence, or problem details", async (t) => {
  for (const [status, name, path, init] of pages) {
    const page = await safe.ask(path, init);
    t.equal(page.status, status, name);
    t.equal(page.headers.get("content-type"), "text/html; charset=utf-8", name);
    t.equal(page.headers.get("cache-control"), "no-store", name);
    t.equal(page.headers.get("x-content-type-options"), "nosniff", name);
    t.notOk(/<script|alert\("/.test(page.text), `${name}: nothing of the request is markup`);
    const [, reason = ""] = /<p>([^<]*)<\/p>/.exec(page.text) ?? [];
    t.match(reason, /^[^\n]*[.]$/, `${name}: ${reason}`);
    t.ok(page.text.length < 1_500, `${name} is short`);

    const problem = await safe.ask(path, {
      ...init,
      headers: { ...(init.headers as Record<string, string>), accept: "application/problem+json" },
    });
    t.equal(problem.status, status, name);
    t.equal(problem.headers.get("content-type"), "application/problem+json", name);
    t.match(problem.json, { type: "about:blank", title: String, status, detail: String }, name);
    t.same(Object.keys(problem.json).sort(), ["detail", "status", "title", "type"]);
    const escaped = problem.json.detail.replace(
      /[&<>"']/g,
      (c: string) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" })[c],
    );
    t.equal(escaped, reason, `${name}: the same reason in both`);
    for (const answer of [page, problem]) {
      if (status === 405) t.match(answer.headers.get("allow"), /GET/);
      if (status === 401) t.equal(answer.headers.get("www-authenticate"), "Bearer");
    }
  }
  await safe.holds(t, "refusals");
});

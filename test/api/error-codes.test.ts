import { Writable } from "node:stream";
import t from "tap";
import { type ExecutionCode, executionCodes } from "../../src/errors.js";
import { createLog } from "../../src/log.js";
import { addObject, makeMap, makeStyledLayer, square } from "../support/maps.js";
import { watchSafety } from "../support/safe.js";
import { type ApiAnswer, startServer } from "../support/server.js";

/** Every code of an execution error, each provoked by a request. */

let logged = "";
const log = createLog(
  "info",
  "test",
  new Writable({
    write(chunk, _encoding, done) {
      logged += chunk;
      done();
    },
  }) as unknown as Parameters<typeof createLog>[2],
);
const server = await startServer({ log, config: { statementTimeoutMs: 2_000 } });
t.teardown(() => server.stop());
const token = await server.token("admin");
const { api, sql } = server;
const post = (path: string, body: unknown) => api("POST", path, { token, body });

await makeMap(server, "m");
const layer = await makeStyledLayer(server, "m", "l", "#l { polygon-fill: #f00; }");
const victim = await makeStyledLayer(server, "m", "victim", "#l { polygon-fill: #f00; }");
for (const column of [
  { code: "name", type: "string", required: true },
  { code: "size", type: "number" },
  { code: "kind", type: "string" },
]) {
  const made = await post("m/layers/l/structure/", column);
  if (made.status !== 200) throw new Error(made.text);
}
await addObject(server, "victim", square(1, 1, 1), { map: "m" });
const { id: object } = (await post("m/layers/l/objects/", { fields: { name: "a" } })).json;
const constraint = { type: "enum", columns: ["kind"], definition: ["a", "b"] };
const constrained = await api("PUT", "m/layers/l/constraints/", { token, body: [constraint] });
if (constrained.status !== 200) throw new Error(constrained.text);

await post("m/layers/", { code: "new" });
/** A PNG of one pixel. */
const picture = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  "base64",
);

/** A body that is no JSON of ours, as it stands. */
async function raw(
  path: string,
  body: RequestInit["body"],
  headers: Record<string, string> = {},
): Promise<ApiAnswer> {
  const answer = await fetch(`${server.url}/api/2.8/p/${path}`, {
    method: "POST",
    headers: { "x-token": token, ...headers },
    body: body ?? null,
  });
  const text = await answer.text();
  return { status: answer.status, headers: answer.headers, text, json: JSON.parse(text) };
}

function fileForm(field: string): FormData {
  const form = new FormData();
  form.set("field", field);
  form.set("file", new File(["x"], "a.txt"));
  return form;
}

interface Case {
  readonly request: () => Promise<ApiAnswer>;
  /** What `data` is; a pattern of it where it goes on to say more. */
  readonly data: Readonly<Record<string, unknown>>;
}

const cases: Readonly<Record<ExecutionCode, Case>> = {
  project_not_found: {
    request: async () => {
      const answer = await fetch(`${server.url}/api/2.8/none/m/`);
      const text = await answer.text();
      return { status: answer.status, headers: answer.headers, text, json: JSON.parse(text) };
    },
    data: {},
  },
  required_parameters: {
    request: () => api("POST", "login/", { body: {} }),
    data: { required: ["user", "pass"] },
  },
  invalid_value: {
    request: () => post("m/layers/l/objects/", { fields: { size: "x", svc_id: 7 } }),
    data: { columns: { size: String, svc_id: String, name: String }, required: ["name"] },
  },
  invalid_style: {
    request: () => post("m/layers/", { css_style: "#a { polygon-fill: " }),
    data: {},
  },
  invalid_format: { request: () => api("GET", "m/layers/l/export/?format=doc", { token }), data: {} },
  invalid_geometry: {
    request: () =>
      post("m/layers/l/objects/", {
        fields: { name: "a" },
        geom: { type: "Polygon", coordinates: [[[0, 0]]] },
      }),
    data: {},
  },
  invalid_code: { request: () => post("m/layers/l/structure/", { code: "a b", type: "string" }), data: {} },
  code_exists: { request: () => post("m/layers/l/structure/", { code: "name", type: "string" }), data: {} },
  filter_column_not_listed: {
    request: () => api("GET", "m/layers/l/objects/?fields=name&fcode=size&fval=1"),
    data: { column: "size" },
  },
  unknown_column: {
    request: () => api("GET", "m/layers/l/objects/?fields=name,nothing&sort=name"),
    data: { columns: { nothing: String } },
  },
  type_required: {
    request: () => post("m/layers/l/structure/", { code: "new" }),
    data: { required: ["type"] },
  },
  unknown_type: { request: () => post("m/layers/l/structure/", { code: "new", type: "blob" }), data: {} },
  project_full: {
    request: async () => {
      const { fullProjects } = server.nodes[0]!.services;
      await server.sql.query(
        "insert into project_disk_use (project_id, bytes, most_bytes) select id, 2, 1 from project",
      );
      await fullProjects.read();
      try {
        return await post("m/layers/l/objects/", { fields: { name: "x" } });
      } finally {
        await server.sql.query("update project_disk_use set most_bytes = null");
        await fullProjects.read();
      }
    },
    data: {},
  },
  not_materialized: { request: () => post("m/layers/l/refresh/", {}), data: { type: "layer" } },
  import_failed: { request: () => raw("m/layers/l/import/", '{"type":"FeatureCollection"'), data: {} },
  unsupported_format: {
    request: () => raw("m/layers/l/import/", "MZ", { "x-filename": "a.exe" }),
    data: {},
  },
  no_georeference: {
    request: () => raw("m/layers/new/import/", picture as never, { "x-filename": "a.png" }),
    data: {},
  },
  file_column_required: {
    request: () => raw(`m/layers/l/objects/${object}/files/`, fileForm("name")),
    data: { field: "name" },
  },
  constraint_violated: {
    request: () => post("m/layers/l/objects/", { fields: { name: "b", kind: "c" } }),
    data: { columns: { kind: String } },
  },
  busy: {
    request: async () => {
      await sql.query(`begin; lock table layers.l${layer.id} in access exclusive mode`);
      try {
        return await api("GET", "m/layers/l/count/?precise=true");
      } finally {
        await sql.query("rollback");
      }
    },
    data: { retryAfterSeconds: Number },
  },
  outcome_unknown: {
    request: async () => {
      // Ends the connection of the statement that makes the object, from within.
      await sql.query(`create function end_connection() returns trigger language plpgsql security definer as
        $$ begin perform pg_terminate_backend(pg_backend_pid()); return null; end $$`);
      await sql.query(
        `create trigger zz_end after insert on layers.l${victim.id} execute function end_connection()`,
      );
      try {
        return await post("m/layers/victim/objects/", { fields: {} });
      } finally {
        await sql.query("drop function end_connection() cascade");
      }
    },
    data: { retryAfterSeconds: Number },
  },
  internal: {
    request: async () => {
      await sql.query(`alter table layers.l${victim.id} rename to away`);
      try {
        return await api("GET", "m/layers/victim/objects/?fields=*");
      } finally {
        await sql.query(`alter table layers.away rename to l${victim.id}`);
      }
    },
    data: { request: String },
  },
};

const safe = await watchSafety(t, server, "/api/2.8/p/m/layers/victim/objects/");

t.test("every code has its request", async (t) => {
  t.same(Object.keys(cases).sort(), [...executionCodes].sort());
});

for (const code of executionCodes) {
  t.test(`${code} is answered as the contract says`, async (t) => {
    const { request, data } = cases[code];
    const answer = await request();
    const isForNow = code === "busy" || code === "outcome_unknown";
    t.equal(answer.status, isForNow ? 503 : 500, answer.text);
    t.match(answer.headers.get("content-type"), /^application\/json/);
    t.equal(answer.headers.get("cache-control"), "no-store");
    t.same(Object.keys(answer.json), ["error", "code", "message", "data"]);
    t.equal(answer.json.error, "error");
    t.equal(answer.json.code, code);
    t.match(answer.json.message, /^[^\n]+[.?]$/, "sentences of one line");
    t.ok(typeof answer.json.data === "object" && !Array.isArray(answer.json.data));
    t.match(answer.json.data, data);
    if (Object.keys(data).length > 0) t.same(Object.keys(answer.json.data).sort(), Object.keys(data).sort());
    t.notMatch(
      answer.text,
      /\bselect\b|layers\.|\bl\d+\b|\/src\/|node_modules|\.[jt]s:\d|\n\s+at |relation|password/i,
    );
    if (isForNow) t.match(answer.headers.get("retry-after"), /^[1-9]\d*$/);
    else t.equal(answer.headers.get("retry-after"), null);
    await safe.holds(t, code);
  });
}

t.test("an internal error is told by its id, under which the log has the rest", async (t) => {
  const answer = await cases.internal.request();
  const id = answer.json.data.request;
  t.equal(id, answer.headers.get("x-request-id"));
  t.ok(logged.split("\n").some((line) => line.includes(id) && line.includes(`layers.l${victim.id}`)));
  t.equal(answer.json.message, "An unexpected error occurred.");
  const problem = await api("GET", "m/layers/l/objects/?sort=x", {
    headers: { accept: "application/problem+json" },
  });
  t.match(problem, { status: 500, json: { error: "error", code: "unknown_column" } }, "whatever is accepted");
});

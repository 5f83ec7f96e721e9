import t from "tap";
import { ConfigError, loadConfig } from "../../src/config.js";
import { makeMap, makeStyledLayer } from "../support/maps.js";
import { readPdf } from "../support/pdf.js";
import { startServer } from "../support/server.js";

/** An installation where svc_id has another name, too. */

const server = await startServer({ config: { idAlias: "obj_id" } });
t.teardown(() => server.stop());
const { api } = server;
const editor = await server.token("editor");
await makeMap(server, "m");
await makeStyledLayer(server, "m", "l", "#a { marker-width: 3; [obj_id > 1] { marker-width: 5; } }");
const structure = (body: object) => api("POST", "m/layers/l/structure/", { token: editor, body });
await structure({ code: "title", type: "string" });
const point = { type: "Point", coordinates: [1, 1] };
const add = async (title: string) =>
  (
    await api("POST", "m/layers/l/objects/", {
      token: editor,
      body: { fields: { title }, geom: point },
    })
  ).json;
const [one, two] = [await add("Oslo"), await add("Bergen")];
const list = async (query: string) => (await api("GET", `m/layers/l/objects/?${query}`)).json;

t.test("answers have the id under both names", async (t) => {
  t.same(one.fields, { svc_id: one.id, obj_id: one.id, title: "Oslo" });
  t.same((await api("GET", `m/layers/l/objects/${one.id}/`)).json.fields, one.fields);
  t.same(await list("fields=*&limit=1"), [{ id: one.id, fields: one.fields }]);
  t.same(await list("fields=obj_id&limit=1"), [{ id: one.id, fields: { obj_id: one.id } }]);
  t.same(await list("fields=title&limit=1"), [{ id: one.id, fields: { title: "Oslo" } }]);
  const columns = (await api("GET", "m/layers/l/structure/")).json;
  t.same(
    columns.map(({ code, type }: { code: string; type: string }) => [code, type]),
    [
      ["svc_id", "number"],
      ["obj_id", "number"],
      ["geom", "geom"],
      ["title", "string"],
    ],
  );
  for (const fields of ["", "&fields=title", "&fields=obj_id,title", "&fields=*"]) {
    const [feature] = ((await list(`format=geojson&limit=1${fields}`)) as { features: any[] }).features;
    t.same(
      feature.properties,
      fields === "" ? { svc_id: one.id, obj_id: one.id } : one.fields,
      `properties ${fields}`,
    );
  }
  const [found] = (await api("GET", "m/search/?phrase=Oslo")).json;
  t.match(found, { type: "object", svc_id: one.id, obj_id: one.id });
});

t.test("a document has the id once", async (t) => {
  const answer = await fetch(`${server.url}/api/2.8/p/m/layers/l/objects/${one.id}/?f=pdf`);
  const lines = readPdf(Buffer.from(await answer.arrayBuffer())).text.split("\n");
  t.same(
    lines.filter((line) => ["svc_id", "obj_id", "title"].includes(line)),
    ["svc_id", "title"],
  );
});

t.test("the name is taken wherever svc_id is", async (t) => {
  t.same(await list(`fields=obj_id&fcode=obj_id&fval=${two.id}`), [
    { id: two.id, fields: { obj_id: two.id } },
  ]);
  t.same(
    (await list("sort=obj_id,d")).map(({ id }: { id: number }) => id),
    [two.id, one.id],
  );
  const body = {
    code: "v",
    type: "virtual",
    source: { layer: "l", filter: `obj_id = ${two.id}`, columns: ["obj_id", "title"] },
  };
  t.equal((await api("POST", "m/layers/", { token: editor, body })).status, 200);
  t.match((await api("GET", "m/layers/v/objects/?fields=*")).json, [
    { id: two.id, fields: { obj_id: two.id, svc_id: two.id } },
  ]);
  const change = (fields: object) =>
    api("PUT", `m/layers/l/objects/${two.id}/`, { token: editor, body: { fields } });
  t.match(await change({ obj_id: two.id, title: "Tromsø" }), {
    status: 200,
    json: { fields: { title: "Tromsø" } },
  });
  t.match((await change({ obj_id: two.id + 1 })).json, { code: "invalid_value" });
  t.equal((await fetch(`${server.url}/tms/p/m/?x=0&y=0&z=0`)).status, 200);
});

t.test("no column has or gets the name", async (t) => {
  t.match(await structure({ code: "obj_id", type: "string" }), {
    status: 500,
    json: { code: "code_exists" },
  });
  const path = (code: string) => `m/layers/l/structure/${code}/`;
  t.match(await api("PATCH", path("title"), { token: editor, body: { type: "string", code: "obj_id" } }), {
    status: 500,
    json: { code: "code_exists" },
  });
  t.equal((await api("DELETE", path("obj_id"), { token: editor })).status, 404);
  t.equal((await api("DELETE", path("svc_id"), { token: editor })).status, 500);
  t.equal((await api("GET", `m/layers/l/objects/${one.id}/`)).json.fields.obj_id, one.id);
});

t.test("an import takes ids under the name, and what was listed comes back as it was", async (t) => {
  const send = (properties: object) =>
    api("POST", "m/layers/l/import/", {
      token: editor,
      body: { type: "FeatureCollection", features: [{ type: "Feature", geometry: point, properties }] },
    });
  t.equal((await send({ obj_id: one.id, title: "Bodø" })).status, 200);
  t.match(await list("fields=title&sort=svc_id"), [{ fields: { title: "Bodø" } }, {}]);
  const whole = (await api("GET", "m/layers/l/objects/?format=geojson&fields=*")).json;
  t.equal((await api("POST", "m/layers/l/import/", { token: editor, body: whole })).status, 200);
  t.same((await api("GET", "m/layers/l/objects/?format=geojson&fields=*")).json, whole);
  t.equal((await api("GET", "m/layers/l/structure/")).json.length, 4);
});

t.test("a layer that has a column of the name keeps it", async (t) => {
  const { id } = await makeStyledLayer(server, "m", "old", "#a { marker-width: 3; }");
  const { rows } = await server.sql.query(
    "insert into layer_column (layer_id, code, type, sort) values ($1, 'obj_id', 'string', 5) returning id",
    [id],
  );
  await server.sql.query(`alter table layers.l${id} add column c${rows[0].id} text`);
  const { services } = server.nodes[0]!;
  await services.changes.propagate();
  const body = { fields: { obj_id: "a-1" } };
  t.match((await api("POST", "m/layers/old/objects/", { token: editor, body })).json, {
    fields: { obj_id: "a-1" },
  });
});

t.test("the setting takes codes of columns that mean nothing else", async (t) => {
  for (const idAlias of ["", "gid", "_Id9"])
    t.equal(loadConfig({ environment: {}, flags: { idAlias } }).idAlias, idAlias);
  for (const idAlias of ["svc_id", "geom", "__proto__", "name", "value", "1a", "a b", 'a"', "x".repeat(45)])
    t.throws(() => loadConfig({ environment: {}, flags: { idAlias } }), ConfigError, idAlias);
});

import t from "tap";
import { lockWaiters } from "../support/locks.js";
import { startServer } from "../support/server.js";

/** Copies of layers. */

const server = await startServer();
t.teardown(() => server.stop());
const token = await server.token("admin");
const ask = (method: string, path: string, body?: unknown) =>
  server.api(method, path, { token, ...(body !== undefined && { body }) });
await ask("POST", "", { code: "m" });
await ask("POST", "m/layers/", { code: "towns", name: "Towns", json: { viewer: { title: "name" } } });
await ask("POST", "m/layers/towns/import/", {
  type: "FeatureCollection",
  features: [1, 2, 3].map((x) => ({
    type: "Feature",
    properties: { name: `T${x}`, people: x * 100 },
    geometry: { type: "Point", coordinates: [10 + x, 50] },
  })),
});
await ask("POST", "m/layers/", { code: "below" });

t.test("a copy stands above its layer, and has what that has", async (t) => {
  const visualSettings = {
    ...{ type: 1, columnCode: "people", classesCount: 2 },
    ...{ showText: true, textSettings: { column: "name" } },
  };
  t.equal((await ask("PUT", "m/layers/towns/visualization/", { visualSettings })).status, 200);
  const made = await ask("POST", "m/layers/towns/copy/", { code: "again", name: "Towns (copy)" });
  t.equal(made.status, 200, made.text);
  t.match(made.json, {
    code: "again",
    name: "Towns (copy)",
    json: { viewer: { title: "name" } },
    style_mode: 3,
  });
  t.match(made.json.visualSettings, { columnCode: "people", textSettings: { column: "name" } });
  const columns = async (layer: string) => (await ask("GET", `m/layers/${layer}/structure/`)).json;
  const codes = (list: { code: string }[]) => list.map(({ code }) => code);
  t.same(codes(await columns("again")), codes(await columns("towns")));
  const people = (await columns("again")).find(({ code }: { code: string }) => code === "people").id;
  t.equal(made.json.visualSettings.column, people, "its own column");
  t.same(codes((await ask("GET", "m/layers/?type=full")).json), ["again", "towns", "below"]);
  t.equal((await ask("GET", "m/layers/again/count/")).json, 3);
  const original = (await ask("GET", "m/layers/towns/")).json;
  t.equal(made.json.css_style, original.css_style);
  t.not(made.json.visualSettings.id, original.visualSettings.id);
  t.end();
});

t.test("rules of columns and names in other languages come along", async (t) => {
  await ask("POST", "m/layers/", { code: "named", name: { en: "Parks", de: "Parks da" } });
  await ask("POST", "m/layers/named/structure/", { code: "kind", type: "string", required: true });
  const rules = [{ type: "pattern", name: "Letters", columns: ["kind"], definition: ["[a-z]+"] }];
  const put = await ask("PUT", "m/layers/named/constraints/", rules);
  t.equal(put.status, 200, put.text);
  t.equal((await ask("POST", "m/layers/named/objects/", { fields: { kind: "a" } })).status, 200);
  const made = await ask("POST", "m/layers/named/copy/?lng=de", { code: "named2", name: "Neu" });
  t.equal(made.status, 200, made.text);
  const nameIn = async (lng: string) => (await ask("GET", `m/layers/named2/?lng=${lng}`)).json.name;
  t.same([await nameIn("en"), await nameIn("de")], ["Parks", "Neu"]);
  const own = (await ask("GET", "m/layers/named2/structure/")).json.find(
    (c: { code: string }) => c.code === "kind",
  );
  t.equal(own.required, true);
  t.match((await ask("GET", "m/layers/named2/constraints/")).json, [{ type: "pattern", name: "Letters" }]);
  const wrong = await ask("POST", "m/layers/named2/objects/", { fields: { kind: "7" } });
  t.match(wrong.json, { code: "constraint_violated" });
  t.equal((await ask("POST", "m/layers/named2/objects/", { fields: { kind: "b" } })).status, 200);
});

t.test("a layer that has no objects of its own is not copied", async (t) => {
  await ask("POST", "m/layers/", { code: "v", type: "virtual", source: { layer: "towns" } });
  const refused = await ask("POST", "m/layers/v/copy/", {});
  t.match(refused.json, { code: "invalid_value" });
});

t.test("who may not see a layer does not see its copy", async (t) => {
  await server.sql.query(
    `insert into access_grant (project_id, map_id, layer_id, account_id, rights)
     select m.project_id, m.id, n.id, null, 0 from node n join map m on m.id = n.map_id where n.code = 'below'`,
  );
  await server.nodes[0]!.services.changes.propagate();
  await ask("POST", "m/layers/below/copy/", { code: "hidden" });
  const shown = await server.api("GET", "m/layers/hidden/");
  const original = await server.api("GET", "m/layers/below/");
  t.equal(shown.status, original.status);
  t.not(shown.status, 200);
});

t.test("while objects are copied, others change the map", async (t) => {
  const { id } = (await ask("GET", "m/layers/towns/")).json;
  await server.sql.query(`begin; lock table layers.l${id} in access exclusive mode`);
  const copying = ask("POST", "m/layers/towns/copy/", { code: "slow" });
  await lockWaiters(server.sql);
  const changed = await ask("PATCH", "m/layers/named/", { parent_id: 0, json: { a: 1 } });
  const styled = await ask("PATCH", "m/layers/towns/", {
    parent_id: 0,
    css_style: "#towns { marker-width: 3; }",
  });
  t.same([changed.status, styled.status], [200, 200], changed.text);
  await server.sql.query("rollback");
  const made = await copying;
  t.equal(made.status, 200, made.text);
  t.match(made.json.css_style, /marker-width: 3/, "it looks as the layer does by then");
  t.equal((await ask("GET", "m/layers/slow/count/")).json, 3);
  const shown = (await ask("GET", "history/?layer=slow")).json.entries;
  t.match(shown, [{ kind: "layer", change: "created", map: "m" }]);
  t.equal(shown.length, 1);
});

t.test("a layer that is deleted while it is copied leaves nothing", async (t) => {
  const { id } = (await ask("GET", "m/layers/slow/")).json;
  await server.sql.query(`begin; lock table layers.l${id} in access exclusive mode`);
  const copying = ask("POST", "m/layers/slow/copy/", { code: "late" });
  await lockWaiters(server.sql);
  t.equal((await ask("DELETE", "m/layers/slow/")).status, 200);
  await server.sql.query("rollback");
  t.equal((await copying).status, 404);
  t.equal((await ask("GET", "m/layers/late/")).status, 404);
});

t.test("who is kept from a layer while it is copied is kept from its copy", async (t) => {
  await server.sql.query("begin; select from project where code = 'p' for update");
  const copying = ask("POST", "m/layers/named/copy/", { code: "kept" });
  await lockWaiters(server.sql);
  await server.sql.query(
    `insert into access_grant (project_id, map_id, layer_id, account_id, rights)
     select m.project_id, m.id, n.id, null, 0 from node n join map m on m.id = n.map_id where n.code = 'named'; commit`,
  );
  t.equal((await copying).status, 200);
  const grants = await server.sql.query(
    "select g.rights from access_grant g join node n on n.id = g.layer_id where n.code = 'kept'",
  );
  t.same(grants.rows, [{ rights: 0 }]);
});

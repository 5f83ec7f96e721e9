import t from "tap";
import { setGrant } from "../../src/access/grants.js";
import { emptyBins } from "../support/bin.js";
import { addObject, makeMap, makeStyledLayer, square, tileUrl } from "../support/maps.js";
import { startServer, waitFor } from "../support/server.js";
import { makeFileLayer, send } from "./files.support.js";

/** Maps are changed, renamed and deleted, with all that goes by them. */

const server = await startServer({ nodes: 2 });
t.teardown(() => server.stop());
const { api, sql } = server;
const { services } = server.nodes[0]!;
const [admin, viewer] = [await server.token("admin"), await server.token("viewer")];
const here = { lon: 10.5, lat: 50.5, z: 5 };

t.test("PATCH leaves what it does not name, PUT resets it", async (t) => {
  await api("POST", "", {
    token: admin,
    body: { code: "m", name: { en: "Map", ru: "Карта" }, css_style: "Map { background-color: #aabbcc }" },
  });
  const patched = await api("PATCH", "m/", { token: admin, body: { name: "Plan" } });
  t.match(patched, { status: 200, json: { code: "m", name: "Plan", css_style: /aabbcc/ } });
  t.same((await api("GET", "m/?lng=ru")).json.name, "Карта", "the other language stays");
  t.match((await api("PATCH", "m/", { token: admin, body: {} })).json, { name: "Plan", css_style: /aabbcc/ });
  const restyled = await api("PATCH", "m/", {
    token: admin,
    body: { css_style: "Map { background-color: #112233; font-directory: url(x) }" },
  });
  t.match(restyled.json, { name: "Plan", css_style: /112233/, notices: [/font-directory/] });
  t.match((await api("PUT", "m/", { token: admin, body: { name: "Only" } })).json, {
    code: "m",
    name: "Only",
    css_style: "",
    has_publication: true,
  });
  t.same((await api("GET", "m/", { node: 1 })).json.name, "Only", "on every node");
});

t.test("codes and styles of a changed map keep to the rules of a new one", async (t) => {
  await makeMap(server, "taken");
  const code = async (body: unknown) => (await api("PATCH", "m/", { token: admin, body })).json?.code;
  t.equal(await code({ code: "taken" }), "code_exists");
  for (const bad of ["maps", "a b", "", "x".repeat(65)]) t.equal(await code({ code: bad }), "invalid_code");
  t.equal(await code({ css_style: "#a { nonsense" }), "invalid_style");
  t.equal(await code({ name: 7 }), "invalid_value");
  t.equal((await api("PATCH", "m/", { token: admin, body: [] })).status, 400);
  t.equal(await code({ code: "m" }), "m", "its own code is no other's");
  t.equal((await api("PATCH", "m/", { token: await server.token("editor"), body: {} })).status, 403);
  t.equal((await api("DELETE", "m/", { token: await server.token("editor") })).status, 403);
  t.equal((await api("DELETE", "m/")).status, 401);
});

t.test("a style of the map that breaks one of its layers is refused", async (t) => {
  await makeMap(server, "vars", "@green: #00ff00;");
  await makeStyledLayer(server, "vars", "l", "#l { polygon-fill: @green }");
  await makeStyledLayer(server, "vars", "plain", "#l { polygon-fill: #f00 }");
  const put = (css_style: string) => api("PATCH", "vars/", { token: admin, body: { css_style } });
  t.match(await put("@red: #f00;"), {
    status: 500,
    json: { code: "invalid_style", message: /layer "l"/, data: { layer: "l" } },
  });
  t.match(await put("@green: #0f0;"), { status: 200, json: { css_style: "@green: #0f0;" } });
  await sql.query("update node set css_style = '#l { polygon-fill: @none }' where code = 'plain'");
  await services.changes.propagate();
  t.equal((await put("@green: #0e0;")).status, 200, "what was not valid before keeps nobody from a change");
});

t.test("a renamed map has its new code everywhere, and the old one is free", async (t) => {
  await makeMap(server, "before");
  await makeStyledLayer(server, "before", "a", "#a { polygon-fill: #f00 }");
  await addObject(server, "a", square(10, 50, 1), { map: "before" });
  const tile = async (map: string, node: number) => {
    const answer = await fetch(tileUrl(server, map, here, "&base=0", node));
    return { status: answer.status, bytes: Buffer.from(await answer.arrayBuffer()) };
  };
  const drawn = await tile("before", 0);
  t.equal((await tile("before", 1)).status, 200);
  const renamed = await api("PATCH", "before/", { token: admin, body: { code: "after" } });
  t.match(renamed, { status: 200, json: { code: "after" } });
  for (const node of [0, 1]) {
    t.equal((await tile("before", node)).status, 404, "cached tiles too");
    t.same(await tile("after", node), drawn);
    t.equal((await api("GET", "before/layers/a/objects/", { node })).status, 404);
    t.equal((await api("GET", "after/layers/a/objects/", { node })).json.length, 1);
  }
  await makeMap(server, "before");
  for (const node of [0, 1]) {
    t.not(
      (await tile("before", node)).bytes.equals(drawn.bytes),
      true,
      "nothing of the map that had the code",
    );
  }
  const swap = async (from: string, to: string) =>
    (await api("PATCH", `${from}/`, { token: admin, body: { code: to } })).status;
  t.same(
    [await swap("before", "aside"), await swap("after", "before"), await swap("aside", "after")],
    [200, 200, 200],
  );
  for (const node of [0, 1]) t.same(await tile("before", node), drawn);
});

t.test("a deleted map is gone, with all that was in it, on every node", async (t) => {
  const id = await makeMap(server, "gone");
  const layer = await makeStyledLayer(server, "gone", "a", "#a { polygon-fill: #f00 }");
  await addObject(server, "a", square(10, 50, 1), { map: "gone" });
  await sql.query(
    `insert into import_job (id, account_id, project_id, layer_id)
     select gen_random_uuid(), a.id, p.id, $1 from account a, project p where a.login = 'admin' and p.code = 'p'`,
    [layer.id],
  );
  const address = tileUrl(server, "gone", here, "&base=0");
  t.equal((await fetch(address)).status, 200);
  t.equal((await fetch(address)).status, 200);
  const open = await fetch(`${server.urls[1]}/tms/p/gone/changes/`);
  t.equal(open.status, 200);
  let ended = false;
  const listening = open.text().then(() => {
    ended = true;
  });
  const deleted = await api("DELETE", "gone/", { token: admin });
  t.same([deleted.status, deleted.json], [200, null]);
  await waitFor(() => ended);
  await listening;
  for (const node of [0, 1]) {
    for (const path of ["gone/", "gone/layers/", "gone/layers/a/objects/", "gone/search/?phrase=a"])
      t.equal((await api("GET", path, { node })).status, 404, path);
    t.equal((await fetch(tileUrl(server, "gone", here, "&base=0", node))).status, 404);
    t.equal((await fetch(`${server.urls[node]}/tms/p/gone/tile.json`)).status, 404);
    t.equal((await fetch(`${server.urls[node]}/tms/p/gone/changes/`)).status, 404);
  }
  t.equal((await api("DELETE", "gone/", { token: admin })).status, 404);
  t.same((await sql.query("select 1 from import_job where layer_id = $1", [layer.id])).rows, []);
  await emptyBins(server.nodes[0]!.services.db);
  const left = "select 1 from map where id = $1 union all select 1 from pg_class where relname = $2";
  t.same((await sql.query(left, [id, `l${layer.id}`])).rows, []);
  await makeMap(server, "gone");
  t.same((await api("GET", "gone/layers/?type=full")).json, []);
});

t.test("its files and images are gone too", async (t) => {
  await makeMap(server, "filed");
  await makeFileLayer(server, "l", "filed");
  const object = await addObject(server, "l", square(1, 1, 1), { map: "filed" });
  const file = await send(server, `../../filed/layers/l/objects/${object}`, { bytes: "text" });
  t.equal(file.status, 200, file.text);
  t.equal((await fetch(`${server.url}${file.json.path}`)).status, 200);
  t.equal((await api("DELETE", "filed/", { token: admin })).status, 200);
  t.equal((await fetch(`${server.url}${file.json.path}`)).status, 404);
  t.equal((await api("GET", `image/${file.json.uuid}/`)).status, 404);
});

t.test("who may administer one map may delete it, but no layer that is kept from it", async (t) => {
  await makeMap(server, "lent");
  await makeStyledLayer(server, "lent", "l", "");
  const give = async (rights: number, layer?: string) => {
    await setGrant(services.db, { project: "p", map: "lent", layer, login: "viewer" }, rights);
    await services.changes.propagate();
  };
  await give(15);
  t.equal((await api("PATCH", "lent/", { token: viewer, body: { name: "x" } })).status, 200);
  t.equal((await api("PATCH", "m/", { token: viewer, body: { name: "x" } })).status, 403);
  await give(1, "l");
  t.equal((await api("DELETE", "lent/", { token: viewer })).status, 403);
  t.equal((await api("GET", "lent/layers/l/")).status, 200);
  await give(15, "l");
  t.equal((await api("DELETE", "lent/", { token: viewer })).status, 200);
});

t.test("with an Idempotency-Key a change and a deletion are done once", async (t) => {
  await makeMap(server, "once");
  const headers = (key: string) => ({ "idempotency-key": key });
  const rename = () =>
    api("PATCH", "once/", { token: admin, body: { code: "twice" }, headers: headers("map-1") });
  t.match(await rename(), { status: 200, json: { code: "twice" } });
  t.match(await rename(), { status: 200, json: { code: "twice" } });
  const remove = () => api("DELETE", "twice/", { token: admin, headers: headers("map-2") });
  t.equal((await remove()).status, 200);
  t.equal((await remove()).status, 200);
  t.equal((await api("DELETE", "twice/", { token: admin })).status, 404);
});

t.test("a map is opened to the public and closed again, and both keep what is not said", async (t) => {
  const [admin, editor] = [await server.token("admin"), await server.token("editor")];
  const body = { code: "gate", has_publication: false };
  t.equal((await server.api("POST", "", { token: admin, body })).json.has_publication, false);
  const seen = async () => (await server.api("GET", "gate/")).status;
  t.equal(await seen(), 403);
  const change = async (method: string, body: object, token = admin) =>
    server.api(method, "gate/", { token, body });
  t.equal((await change("PATCH", { has_publication: 1 }, editor)).status, 403);
  t.equal((await change("PATCH", { has_publication: 1 })).json.has_publication, true);
  t.equal(await seen(), 200);
  t.equal((await change("PUT", { name: "Gate" })).json.has_publication, true);
  t.equal((await change("PATCH", { has_publication: false })).json.name, "Gate");
  t.equal(await seen(), 403);
});

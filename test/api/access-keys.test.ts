import t from "tap";
import { setGrant } from "../../src/access/grants.js";
import { checkPostgres } from "../../src/doctor/checks.js";
import { lockWaiters } from "../support/locks.js";
import { addObject, makeMap, makeStyledLayer, square } from "../support/maps.js";
import { startServer, waitFor } from "../support/server.js";

/** Keys that last: what they open, for how long, and what they do not open. */

const server = await startServer({ nodes: 2 });
t.teardown(() => server.stop());
const { api } = server;
const admin = await server.token("admin");
const editor = await server.token("editor");
for (const map of ["open", "closed", "other"]) {
  await makeMap(server, map);
  await makeStyledLayer(server, map, `${map}a`, "#a { polygon-fill: #f00; }");
  await makeStyledLayer(server, map, `${map}b`, "#b { polygon-fill: #0f0; }");
  await addObject(server, `${map}a`, square(10, 10, 20), { map });
}
await server.sql.query("update map set has_publication = false where code <> 'open'");
await server.nodes[0]!.services.changes.propagate();

async function make(body: object, token = admin) {
  const { status, json } = await api("POST", "keys/", { token, body });
  t.equal(status, 200, JSON.stringify(json));
  return json as { readonly id: number; readonly key: string; readonly [name: string]: unknown };
}
const post = (map: string, layer: string, token: string, node = 0) =>
  api("POST", `${map}/layers/${layer}/objects/`, {
    token,
    node,
    body: { fields: {}, geom: square(50, 10, 5) },
  });
const status = async (method: string, path: string, token: string, node = 0) =>
  (await api(method, path, { token, node })).status;
const tile = async (query: string, headers: Record<string, string> = {}) =>
  (await fetch(`${server.url}/tms/p/closed/0/0/0.png?base=0${query}`, { headers })).status;

t.test("a key is made, listed without itself, and ended by administrators alone", async (t) => {
  const { key, id, ...shown } = await make({ name: "QGIS of the office", map: "closed" });
  t.match(key, /^mwk_[\w-]{43}$/);
  t.match(shown, {
    name: "QGIS of the office",
    rights: "read",
    map: "closed",
    layer: null,
    expires: null,
    used: null,
    created_by: "admin",
  });
  const list = await api("GET", "keys/", { token: admin });
  t.match(list.json, [{ id, name: "QGIS of the office" }]);
  t.notOk(list.text.includes(key));
  t.equal(list.headers.get("cache-control"), "private, no-store");
  const { rows } = await server.sql.query(
    "select k::text as row from access_key k union all select a::text from account a",
  );
  t.notOk(
    rows.some(({ row }) => row.includes(key)),
    "it is stored nowhere",
  );
  for (const token of [editor, key]) {
    t.equal(await status("GET", "keys/", token), 403);
    t.equal((await api("POST", "keys/", { token, body: { name: "x" } })).status, 403);
    t.equal(await status("DELETE", `keys/${id}/`, token), 403);
  }
  t.equal((await api("POST", "keys/", { body: { name: "x" } })).status, 401);
  t.notOk(
    JSON.stringify((await api("GET", "users/list/", { token: admin })).json).includes("key:"),
    "it is no user",
  );
  t.equal(await status("GET", "closed/", key), 200);
  t.equal(await status("GET", "closed/", key, 1), 200, "on each node");
  t.equal(await status("DELETE", `keys/${id}/`, admin), 200);
  for (const node of [0, 1])
    t.equal(await status("GET", "closed/", key, node), 401, "ended everywhere, and at once");
  t.equal(await status("DELETE", `keys/${id}/`, admin), 404);
});

t.test(
  "it is taken wherever a token is, as a password of HTTP Basic, and in addresses of tiles",
  async (t) => {
    const { key } = await make({ name: "tiles", map: "closed" });
    const basic = (user: string, password: string) => ({
      authorization: `Basic ${Buffer.from(`${user}:${password}`).toString("base64")}`,
    });
    t.equal(await tile(""), 403);
    for (const [query, headers] of [
      [`&token=${key}`, {}],
      [`&key=${key}`, {}],
      ["", { "x-token": key }],
      ["", { authorization: `Bearer ${key}` }],
      ["", basic("anybody", key)],
      ["", basic("", key)],
      ["", basic(key, "")],
    ] as const)
      t.equal(await tile(query, headers), 200, `${query} ${JSON.stringify(headers)}`);
    t.equal(await tile("", basic("admin", "adminadmin")), 403, "passwords of users are not");
    t.equal(await tile("", { authorization: "Basic %%%" }), 403);
    t.equal((await api("GET", "authorized/", { token: key })).text, "true");
    const json: any = await (
      await fetch(`${server.url}/tms/p/closed/tile.json`, { headers: basic("x", key) })
    ).json();
    t.equal(
      (await fetch(json.tiles[0].replace(/\{[xyz]\}/g, "0"))).status,
      200,
      "a TileJSON has it in its addresses",
    );
    const { headers } = await fetch(`${server.url}/tms/p/closed/0/0/0.png`, { headers: basic("x", key) });
    t.match(headers.get("cache-control"), /private, no-store/);
    t.equal(await status("GET", `other/?token=${key}`, key), 403, "another map is closed to it");
    t.match(await api("POST", "closed/tile-key/", { token: key }), {
      status: 500,
      json: { code: "invalid_value" },
    });
  },
);

t.test("what a key does not open", async (t) => {
  const key = (await make({ name: "session", map: "closed" })).key;
  const authorization = (password: string) => ({
    authorization: `Basic ${Buffer.from(`x:${password}`).toString("base64")}`,
  });
  t.equal((await api("POST", "logout/", { body: { token: key } })).status, 403, "it is no session");
  const edits = (await make({ name: "edits", rights: "edit", map: "closed" })).key;
  t.equal(await tile(`&token=${edits}`), 200);
  t.equal(await tile(`&key=${edits}`), 403, "one that edits stands in no address");
  const described = await fetch(`${server.url}/tms/p/closed/tile.json`, { headers: authorization(edits) });
  t.notOk((await described.text()).includes(edits));
});

t.test("it may do what it says, there, and nothing else", async (t) => {
  const read = (await make({ name: "read" })).key;
  const edit = (await make({ name: "edit", rights: "edit" })).key;
  const ofMap = (await make({ name: "map", rights: "edit", map: "closed" })).key;
  const ofLayer = (await make({ name: "layer", rights: "edit", map: "closed", layer: "closeda" })).key;
  t.same(
    await Promise.all(
      [read, edit, ofMap, ofLayer].map(async (key) => [
        (await post("closed", "closeda", key)).status,
        (await post("closed", "closedb", key)).status,
        (await post("other", "othera", key)).status,
        (await post("open", "opena", key)).status,
      ]),
    ),
    [
      [403, 403, 403, 403],
      [200, 200, 200, 200],
      [200, 200, 403, 403],
      [200, 403, 403, 403],
    ],
  );
  t.equal(await status("GET", "closed/layers/closedb/objects/", ofLayer), 403);
  t.equal(await status("GET", "open/layers/opena/objects/", ofLayer), 200, "what is public stays so");
  for (const key of [edit, ofMap]) {
    t.equal(await status("GET", "users/list/", key), 403, "none of them administers");
    t.equal((await api("POST", "ext-auth/", { token: key, body: { login: "viewer" } })).status, 403);
    t.equal((await api("PATCH", "closed/", { token: key, body: { name: "x" } })).status, 403);
  }
  t.equal((await api("POST", "", { token: ofMap, body: { code: "new" } })).status, 403);
  t.equal((await api("POST", "", { token: edit, body: { code: "new" } })).status, 200);
});

t.test("a key is no way to more than its maker has, nor to what needs an account", async (t) => {
  const { db, changes } = server.nodes[0]!.services;
  await setGrant(db, { project: "p", login: "viewer" }, 15);
  await setGrant(db, { project: "p", map: "closed", login: "viewer" }, 0);
  await setGrant(db, { project: "p", map: "open", login: null }, 15);
  await changes.propagate();
  const viewer = await server.token("viewer");
  t.equal(await status("GET", "keys/", viewer), 200);
  t.equal((await api("POST", "keys/", { token: viewer, body: { name: "x" } })).status, 403);
  const { key } = await make({ name: "reads", map: "closed" });
  t.equal((await post("open", "opena", key)).status, 403);
  t.equal((await api("PATCH", "open/", { token: key, body: { name: "x" } })).status, 403);
  await setGrant(db, { project: "p", map: "open", login: null }, undefined);
  await setGrant(db, { project: "p", login: "viewer" }, undefined);
  await changes.propagate();
});

t.test("one of another project, one that is over, and what is none, are refused", async (t) => {
  const soon = new Date(Date.now() + 2_500).toISOString();
  const { key } = await make({ name: "soon", expires: soon, map: "closed" });
  t.equal(await tile(`&token=${key}`), 200);
  await waitFor(async () => (await tile(`&token=${key}`)) === 401);
  t.equal((await api("POST", "open/layers/opena/objects/", { token: key, body: {} })).status, 401);
  const { createProject } = await import("../../src/catalog/projects.js");
  await createProject(server.nodes[0]!.services.db, { code: "second", languages: ["en"] });
  const own = (await make({ name: "own", rights: "edit" })).key;
  const answer = await fetch(`${server.url}/api/2.8/second/maps/available/`, { headers: { "x-token": own } });
  t.equal(answer.status, 401);
  t.equal(await status("GET", "closed/", `mwk_${"a".repeat(43)}`), 401);
});

t.test("what is not understood is told", async (t) => {
  for (const [body, status] of [
    [{}, 500],
    [{ name: " " }, 500],
    [{ name: "x", rights: "admin" }, 400],
    [{ name: "x", layer: "closeda" }, 500],
    [{ name: "x", map: "none" }, 404],
    [{ name: "x", map: "closed", layer: "none" }, 404],
    [{ name: "x", expires: "tomorrow" }, 500],
    [{ name: "x", expires: "2020-01-01" }, 500],
    [{ name: "x".repeat(201) }, 400],
    [{ name: "\u001b[2Jx" }, 500],
    [{ name: "x\u0000" }, 400],
  ] as const)
    t.equal((await api("POST", "keys/", { token: admin, body })).status, status, JSON.stringify(body));
  t.equal(await status("DELETE", "keys/none/", admin), 404);
  t.match((await api("POST", "", { token: admin, body: { code: "keys" } })).json, { code: "invalid_code" });
});

t.test("one that is over makes room for another", async (t) => {
  await server.sql.query(`
    with made as (insert into account (login, password_hash) select 'key:' || gen_random_uuid(), '' from generate_series(1, 1000)
      returning id)
    insert into access_key (account_id, project_id, name, hash, created_by)
      select made.id, project.id, 'many', made.id::text, '' from made, project where project.code = 'p'`);
  const body = { name: "more" };
  t.match((await api("POST", "keys/", { token: admin, body })).json, { code: "invalid_value" });
  await server.sql.query("update access_key set ends_at = now() where name = 'many'");
  await make(body);
  t.equal((await server.sql.query("select from access_key where name = 'many'")).rowCount, 0);
});

t.test("a map that had that code before is told by doctor, and takes another code", async (t) => {
  await makeMap(server, "before");
  await server.sql.query("update map set code = 'keys' where code = 'before'");
  const told = async () =>
    (await checkPostgres(server.database.url)).filter(({ name }) => name === "codes of maps");
  const [check] = await told();
  t.match(check, { ok: false, found: /p\/keys/ });
  await server.sql.query(/UPDATE .*/.exec(check!.advice!)![0]);
  await waitFor(async () => (await status("GET", "keys2/", admin)) === 200);
  t.same(await told(), []);
});

t.test("who is no administrator any more when the request has come makes no key", async (t) => {
  const login = { login: "leaving", password: "leavingleaving", role: "admin" };
  t.equal((await api("POST", "members/", { token: admin, body: login })).status, 200);
  const { token } = (await api("POST", "login/", { body: { user: "leaving", pass: login.password } })).json;
  await server.sql.query("begin; select from project where code = 'p' for update");
  const making = api("POST", "keys/", { token, body: { name: "for later", rights: "edit" } });
  await lockWaiters(server.sql);
  await server.sql.query("update membership set role = 'viewer' where login = 'leaving'; commit");
  t.equal((await making).status, 403);
  const names = (await api("GET", "keys/", { token: admin })).json.map(({ name }: { name: string }) => name);
  t.notOk(names.includes("for later"));
});

t.test("its use is told, and it goes with its map and its project", async (t) => {
  const { key, id } = await make({ name: "used", map: "other" });
  t.equal(await status("GET", "other/", key), 200);
  const shown = async () =>
    (await api("GET", "keys/", { token: admin })).json.find((one: { id: number }) => one.id === id);
  await waitFor(async () => (await shown()).used !== null);
  t.match(await (await fetch(`${server.url}/metrics`)).text(), /mapwright_key_requests_total [1-9]/);
  t.equal((await api("DELETE", "other/", { token: admin })).status, 200);
  t.match(await shown(), { rights: "none", map: null });
  t.equal(await status("GET", "closed/", key), 403, "it has not become one for all maps");
  const { deleteProject } = await import("../../src/catalog/projects.js");
  await deleteProject(server.nodes[0]!.services.db, "p");
  const { rows } = await server.sql.query("select login from account where login like 'key:%'");
  t.same(rows, []);
});

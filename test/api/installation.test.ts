import t from "tap";
import { addMember } from "../../src/access/accounts.js";
import { setOperator } from "../../src/access/operators.js";
import { measureProjects } from "../../src/catalog/disk-use.js";
import { layerTable } from "../../src/catalog/layer-table.js";
import { createProject } from "../../src/catalog/projects.js";
import { startNode } from "../../src/node.js";
import { lockWaiters } from "../support/locks.js";
import { quietLog } from "../support/log.js";
import { addObject, makeMap, makeStyledLayer, square } from "../support/maps.js";
import { startServer } from "../support/server.js";

/** What operators see and do of the installation, and who is none. */

const server = await startServer({});
t.teardown(() => server.stop());
const { services } = server.nodes[0]!;
const { db } = services;
const project = await services.catalog.project("p");
const boss = await addMember(db, {
  login: "boss",
  password: "boss-of-all",
  projectId: project.id,
  role: "viewer",
});
await setOperator(db, boss.id, true);
await services.changes.propagate();
const admin = await server.token("admin");

async function signedIn(login: string, pass: string): Promise<string> {
  const body = new URLSearchParams({ user: login, pass });
  const answer = await fetch(`${server.url}/api/2.8/p/login/`, { method: "POST", body });
  return ((await answer.json()) as { token: string }).token;
}
const operator = await signedIn("boss", "boss-of-all");

async function ask(method: string, path: string, token?: string, body?: unknown) {
  const answer = await fetch(`${server.url}/installation/${path}`, {
    method,
    headers: { "content-type": "application/json", ...(token !== undefined && { "x-token": token }) },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const text = await answer.text();
  const isJson = answer.headers.get("content-type")?.startsWith("application/json");
  return { status: answer.status, json: isJson ? JSON.parse(text) : undefined, headers: answer.headers };
}

await makeMap(server, "m");
await makeStyledLayer(server, "m", "a", "#a { polygon-fill: #f00; }");
const object = await addObject(server, "a", square(0, 0, 1), { map: "m" });

t.test("who is no operator any more when the request has come changes nothing", async (t) => {
  const demoted = async (holding: string, act: () => ReturnType<typeof ask>) => {
    await server.sql.query("begin");
    await server.sql.query(holding);
    const asked = act();
    await lockWaiters(server.sql);
    await setOperator(db, boss.id, false);
    await server.sql.query("rollback");
    const { status } = await asked;
    await setOperator(db, boss.id, true);
    return status;
  };
  const change = { administrator: "friend" };
  t.equal(
    await demoted("select from project where code = 'p' for update", () =>
      ask("PATCH", "projects/p/", operator, change),
    ),
    403,
  );
  t.equal(
    await demoted("insert into project (code, languages) values ('late', '{en}')", () =>
      ask("POST", "projects/", operator, { code: "late", ...change }),
    ),
    403,
  );
  const { rows } = await server.sql.query("select from membership where login = 'friend'");
  t.equal(rows.length, 0);
});

t.test("an operator is who signs in as one, and nobody in an operator's name", async (t) => {
  t.same((await ask("GET", "", operator)).json, { operator: true });
  t.same((await ask("GET", "", admin)).json, { operator: false });
  const login = { login: "boss" };
  const lent = await server.api("POST", "ext-auth/", { token: admin, body: login });
  t.equal(lent.status, 200, lent.text);
  const key = await server.api("POST", "keys/", { token: admin, body: { name: "k", rights: "edit" } });
  const open = (login: string, more: { isByPassword?: true } = {}) =>
    services.sessions.open({ accountId: boss.id, login, projectId: project.id, origin: "api", ...more });
  // As other systems open them, and as they were before sessions said so.
  const external = await open("boss");
  // The id was an account's that a restored backup does not have.
  const before = await open("somebody", { isByPassword: true });
  t.same((await ask("GET", "", lent.json.token)).json, { operator: false });
  t.same((await ask("GET", "", external)).json, { operator: false });
  t.same((await ask("GET", "", before)).json, { operator: false });
  const refused: [string | undefined, number][] = [
    [undefined, 401],
    ["unknown", 401],
    [key.json.key, 401],
    [admin, 403],
    [lent.json.token, 403],
    [external, 403],
    [before, 403],
  ];
  const requests = [
    ["GET", "projects/"],
    ["PATCH", "projects/p/", { name: "mine" }],
    ["GET", "state/"],
  ] as const;
  for (const [token, status] of refused)
    for (const [method, path, body] of requests)
      t.equal((await ask(method, path, token, body)).status, status, `${method} ${path}, ${token}`);
  t.not((await services.catalog.project("p")).name, "mine");
});

t.test("who is an operator no longer, or has left the project, is refused at once", async (t) => {
  await setOperator(db, boss.id, false);
  t.equal((await ask("GET", "projects/", operator)).status, 403);
  await setOperator(db, boss.id, true);
  t.equal((await ask("GET", "projects/", operator)).status, 200);
  const other = await createProject(db, { code: "q" });
  const gone = await addMember(db, {
    login: "gone",
    password: "gone-tomorrow",
    projectId: other,
    role: "admin",
  });
  await setOperator(db, gone.id, true);
  const session = {
    accountId: gone.id,
    login: "gone",
    projectId: other,
    origin: "console",
    isByPassword: true,
  } as const;
  const token = await services.sessions.open(session);
  t.equal((await ask("GET", "projects/", token)).status, 200);
  await db.query("delete from membership where account_id = $1", [gone.id]);
  t.equal((await ask("GET", "projects/", token)).status, 403);
});

t.test("the list has all projects, and what they take", async (t) => {
  await measureProjects(db);
  const { json, headers } = await ask("GET", "projects/", operator);
  t.match(json, [
    { code: "p", maps: 1, layers: 1, users: 4, bytes: Number, measured: /^\d{4}-/, most_bytes: null },
    { code: "q", maps: 0, layers: 0, users: 0, bytes: 0 },
  ]);
  t.equal(json.length, 2, "the base map's is not among them");
  t.ok(json[0].bytes >= 16_384, "a table with its indexes");
  t.equal(headers.get("cache-control"), "private, no-store");
});

t.test("an administrator who cannot sign in any more gets a link by the operator", async (t) => {
  const made = await ask("POST", "projects/", operator, { code: "lost", administrator: "ina" });
  const accept = async (invitation: string, password: string) =>
    (
      await fetch(`${server.url}/api/2.8/lost/invitation/`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ invitation, password }),
      })
    ).status;
  const first = made.json.invitation.invitation;
  const invite = (administrator: unknown, more = {}) =>
    ask("PATCH", "projects/lost/", operator, { administrator, ...more });
  const second = await invite("ina", { name: "Found" });
  t.match(second.json, { name: "Found", users: 1, administrators: ["ina"] });
  t.equal(await accept(first, "ina-was-here"), 403, "the last one counts");
  t.equal(await accept(second.json.invitation.invitation, "ina-was-here"), 200);
  // Others become administrators.
  const { id } = await services.catalog.project("lost");
  await addMember(db, { login: "otto", password: "otto-otto", projectId: id, role: "viewer" });
  t.match((await invite("otto")).json, { users: 2, administrators: ["ina", "otto"] });
  t.match((await invite("new")).json, { users: 3, administrators: ["ina", "new", "otto"] });
  t.equal((await invite("no spaces here")).status, 500);
  t.equal((await invite("")).status, 500);
  // Accounts with rights elsewhere.
  const shared = await addMember(db, {
    login: "shared",
    password: "shared-shared",
    projectId: id,
    role: "viewer",
  });
  await addMember(db, { login: "shared", accountId: shared.id, projectId: project.id, role: "viewer" });
  t.equal((await invite("shared", { name: "Half" })).status, 500);
  t.equal((await services.catalog.project("lost")).name, "Found", "nothing is done by halves");
  t.equal((await ask("PATCH", "projects/p/", operator, { administrator: "boss" })).status, 500);
  t.equal((await ask("PATCH", "projects/lost/", admin, { administrator: "ina" })).status, 403);
  t.equal((await ask("PATCH", "projects/none/", operator, { administrator: "ina" })).status, 500);
  await db.query("delete from project where code = 'lost'");
  await services.changes.propagate();
});

t.test("what lies in the bin counts until it leaves it", async (t) => {
  const bytes = async () => {
    await db.execute("update project_disk_use set measured_at = null");
    await measureProjects(db);
    return (await ask("GET", "projects/", operator)).json[0].bytes as number;
  };
  const before = await bytes();
  await makeStyledLayer(server, "m", "old", "#old { polygon-fill: #f00; }");
  const more = await bytes();
  t.ok(more > before);
  await server.api("DELETE", "m/layers/old/", { token: admin });
  t.equal(await bytes(), more);
  const [entry] = (await server.api("GET", "bin/", { token: admin })).json.entries;
  t.equal((await server.api("DELETE", `bin/${entry.id}/`, { token: admin })).status, 200);
  t.equal(await bytes(), before);
});

t.test("a table that is being changed is measured later, and others at once", async (t) => {
  await db.execute("update project_disk_use set bytes = null, measured_at = null");
  const bytes = async () =>
    (await ask("GET", "projects/", operator)).json.map((one: { bytes: number | null }) => one.bytes);
  const [layer] = await db.query<{ id: number }>("select id from node where code = 'a'");
  await db.transaction(async (tx) => {
    await tx.execute(`lock table ${layerTable(layer!.id)} in access exclusive mode`);
    await measureProjects(db);
    t.same(await bytes(), [null, 0]);
  });
  await measureProjects(db);
  t.match(await bytes(), [Number, 0]);
});

t.test("a title and a limit are set, and nothing else", async (t) => {
  const answer = await ask("PATCH", "projects/p/", operator, {
    name: "Town",
    most_bytes: 10 ** 9,
    code: "x",
  });
  t.match(answer.json, { code: "p", name: "Town", most_bytes: 10 ** 9, bytes: Number });
  t.equal(answer.headers.get("x-ignored"), "code");
  t.match((await ask("PATCH", "projects/p/", operator, { most_bytes: null })).json, {
    name: "Town",
    most_bytes: null,
  });
  t.equal((await services.catalog.project("p")).name, "Town");
  for (const most_bytes of [0, -1, 1.5, "many", 1e300])
    t.match(await ask("PATCH", "projects/p/", operator, { most_bytes }), {
      status: 500,
      json: { code: "invalid_value" },
    });
  t.match(await ask("PATCH", "projects/p/", operator, { name: " " }), {
    status: 500,
    json: { code: "invalid_value" },
  });
  t.match(await ask("PATCH", "projects/none/", operator, {}), {
    status: 500,
    json: { code: "project_not_found" },
  });
});

t.test("a project is made with its first administrator, or not at all", async (t) => {
  const made = {
    code: "harbour",
    name: "Harbour",
    languages: ["en", "ru"],
    administrator: "olga",
    most_bytes: 10 ** 6,
  };
  for (const token of [admin, undefined])
    t.notOk((await ask("POST", "projects/", token, made)).status === 200);
  const refused: [object, string][] = [
    [{ ...made, administrator: undefined }, "required_parameters"],
    [{ ...made, code: undefined }, "required_parameters"],
    [{ ...made, code: "a b" }, "invalid_code"],
    [{ ...made, code: "p" }, "code_exists"],
    [{ ...made, languages: [] }, "invalid_value"],
    [{ ...made, administrator: "public" }, "invalid_value"],
    [{ ...made, most_bytes: 0 }, "invalid_value"],
  ];
  for (const [body, code] of refused)
    t.match(
      await ask("POST", "projects/", operator, body),
      { status: 500, json: { code } },
      JSON.stringify(body),
    );
  t.equal((await ask("GET", "projects/", operator)).json.length, 2, "nothing is left of what was refused");
  const { json, status } = await ask("POST", "projects/", operator, made);
  t.equal(status, 200);
  t.match(json, {
    code: "harbour",
    users: 1,
    most_bytes: 10 ** 6,
    invitation: { invitation: /^mwi_/, expires: /^\d{4}-/ },
  });
  const send = (path: string, body: object) =>
    fetch(`${server.url}/api/2.8/harbour/${path}`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    });
  t.equal((await send("login/", { user: "olga", pass: "x" })).status, 403, "no password is hers yet");
  const { invitation } = json.invitation;
  t.equal((await send("invitation/", { invitation, password: "of-the-harbour" })).status, 200);
  const login = (await (await send("login/", { user: "olga", pass: "of-the-harbour" })).json()) as {
    token: string;
  };
  const maps = await fetch(`${server.url}/api/2.8/harbour/users/list/`, {
    headers: { "x-token": login.token },
  });
  t.same(await maps.json(), ["olga"]);
});

t.test("nobody gets an operator's account by an invitation", async (t) => {
  const members: { id: number; login: string }[] = (await server.api("GET", "members/", { token: admin }))
    .json;
  const id = members.find(({ login }) => login === "boss")!.id;
  t.match(await server.api("POST", `members/${id}/invitation/`, { token: admin }), {
    status: 500,
    json: { code: "invalid_value", message: /operator/ },
  });
  await setOperator(db, boss.id, false);
  const { json } = await server.api("POST", `members/${id}/invitation/`, { token: admin });
  await setOperator(db, boss.id, true);
  const accepted = await server.api("POST", "invitation/", { body: { ...json, password: "mine-now-all" } });
  t.equal(accepted.status, 403, "one that was made before counts no more");
  await setOperator(db, boss.id, false);
  const late = await server.api("POST", "invitation/", { body: json });
  t.equal(late.status, 403, "nor later");
  await setOperator(db, boss.id, true);
});

t.test("a project that is full takes nothing more, and is served and emptied as before", async (t) => {
  const editor = await server.token("editor");
  const add = (body: unknown = { fields: {}, geom: square(5, 5, 1) }) =>
    server.api("POST", "m/layers/a/objects/", { token: editor, body });
  const bulk = (edits: unknown[]) =>
    server.api("POST", "m/layers/a/objects/bulk/", { token: editor, body: edits });
  const create = { op: "create", fields: {}, geom: square(7, 7, 1) };
  const upload = (path: string, token = editor) =>
    fetch(`${server.url}/api/2.8/p/${path}`, {
      method: "POST",
      headers: { "x-token": token, "content-type": "application/geo+json" },
      body: '{"type":"FeatureCollection","features":[]}',
    });
  await ask("PATCH", "projects/p/", operator, { most_bytes: 1 });
  const line = {
    type: "LineString",
    coordinates: [
      [0.5, -1],
      [0.5, 2],
    ],
  };
  const copy = { code: "copy", name: "Copy", type: "material", source: { layer: "a" } };
  const refusals = [
    await add(),
    await bulk([create]),
    await server.api("POST", `m/layers/a/objects/${object}/split/`, { token: editor, body: { line } }),
    await server.api("POST", "m/layers/", { token: admin, body: copy }),
  ];
  for (const refused of refusals) t.match(refused, { status: 500, json: { code: "project_full" } });
  const imported = await upload("m/layers/a/import/");
  t.match(await imported.json(), { code: "project_full" });
  const png = await fetch(`${server.url}/api/2.8/p/pictures/a.png`, {
    method: "PUT",
    headers: { "x-token": admin },
    body: Buffer.from([1, 2, 3]),
  });
  t.match(await png.json(), { code: "project_full" });
  t.equal((await fetch(`${server.url}/tms/p/m/0/0/0.png`)).status, 200);
  const moved = { geom: square(1, 1, 1) };
  t.equal(
    (await server.api("PUT", `m/layers/a/objects/${object}/`, { token: editor, body: moved })).status,
    200,
  );
  const [{ id }] = (await server.api("GET", "m/layers/a/objects/", { token: editor })).json.features ?? [
    { id: object },
  ];
  t.equal((await bulk([{ op: "delete", id }])).status, 200);
  const later = await startNode({ ...services.config, port: 0 }, quietLog);
  t.teardown(() => later.stop(0));
  t.throws(() => later.services.fullProjects.requireRoom(project), "a node that starts knows of it");
  await ask("PATCH", "projects/p/", operator, { most_bytes: null });
  t.equal((await add()).status, 200);
});

t.test("a node starts without its database, and learns later which projects are full", async (t) => {
  const node = await startNode(
    { ...services.config, port: 0, databaseUrl: "postgresql://nobody@127.0.0.1:1/none" },
    quietLog,
  );
  t.teardown(() => node.stop(0));
  t.doesNotThrow(() => node.services.fullProjects.requireRoom(project));
});

t.test("what is wrong is told as doctor tells it, with imports and layers", async (t) => {
  await db.query(
    `insert into import_job (id, account_id, project_id, layer_id, rows)
     select gen_random_uuid(), $1, $2, n.id, 7 from node n where n.code = 'a'`,
    [boss.id, project.id],
  );
  const [first, second] = await Promise.all([ask("GET", "state/", operator), ask("GET", "state/", operator)]);
  t.equal(first.status, 200);
  t.ok(first.json.checks.some(({ name, ok }: { name: string; ok: boolean }) => name === "PostgreSQL" && ok));
  t.ok(first.json.checks.some(({ name }: { name: string }) => name === "raster layers"));
  t.equal(first.json.checked, second.json.checked, "examined once");
  t.match(first.json.imports, [
    { project: "p", map: "m", layer: "a", login: "boss", state: "running", rows: 7, finished: null },
  ]);
  t.same(first.json.layers, []);
});

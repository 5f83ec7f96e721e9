import t from "tap";
import { addMember } from "../../src/access/accounts.js";
import { setGrant } from "../../src/access/grants.js";
import { createProject } from "../../src/catalog/projects.js";
import { makeMap, makeStyledLayer } from "../support/maps.js";
import { type ApiOptions, startServer } from "../support/server.js";

/** Users of a project and their rights, as its administrators change them: what holds, and what nobody gets by it. */

const server = await startServer({ nodes: 2 });
t.teardown(() => server.stop());
const { services } = server.nodes[0]!;
const { db } = services;
const [admin, editor] = [await server.token("admin"), await server.token("editor")];
for (const map of ["open", "closed"]) {
  await makeMap(server, map);
  await makeStyledLayer(server, map, `${map}a`, "#a { polygon-fill: #f00; }");
  await makeStyledLayer(server, map, `${map}b`, "#b { polygon-fill: #0f0; }");
}
await server.sql.query("update map set has_publication = false where code = 'closed'");
const project = await services.catalog.project("p");
const other = await createProject(db, { code: "q" });
await db.query("insert into map (project_id, code) values ($1, 'theirs') returning id", [other]);
await services.changes.propagate();

const password = "correct-horse";
const ask = (method: string, path: string, body?: unknown, options: ApiOptions = {}) =>
  server.api(method, `members/${path}`, { token: admin, ...(body !== undefined && { body }), ...options });

interface Shown {
  readonly id: number;
  readonly login: string;
  readonly role: string | null;
  readonly grants: readonly object[];
}
async function done(method: string, path: string, body?: unknown, options?: ApiOptions): Promise<Shown> {
  const { status, json, text } = await ask(method, path, body, options);
  if (status !== 200) throw new Error(`${method} members/${path}: ${status} ${text}`);
  return json;
}
const listed = async (): Promise<readonly Shown[]> => (await ask("GET", "")).json;
const idOf = async (login: string): Promise<number> =>
  (await listed()).find((one) => one.login === login)!.id;

async function signedIn(login: string, where = "p", pass = password) {
  const answer = await fetch(`${server.url}/api/2.8/${where}/login/`, {
    method: "POST",
    body: new URLSearchParams({ user: login, pass }),
  });
  return answer.ok ? ((await answer.json()) as { token: string }).token : answer.status;
}
async function tokenOf(login: string): Promise<string> {
  const token = await signedIn(login);
  if (typeof token === "number") throw new Error(`${login} cannot sign in: ${token}`);
  return token;
}
/** Of a request at the second node, which has not made the change. */
const status = async (method: string, path: string, token?: string, body?: unknown) =>
  (await server.api(method, path, { node: 1, ...(token && { token }), ...(body !== undefined && { body }) }))
    .status;
const object = { fields: {} };

t.test("the list has the public and the users, and nobody else's", async (t) => {
  await server.api("POST", "keys/", { token: admin, body: { name: "a key", map: "open" } });
  await addMember(db, { login: "stranger", password, projectId: other, role: "admin" });
  const { json, headers } = await ask("GET", "");
  t.same(
    json.map(({ login, role, grants }: Shown) => [login, role, grants]),
    [
      ["public", null, []],
      ["admin", "admin", []],
      ["editor", "editor", []],
      ["viewer", "viewer", []],
    ],
  );
  t.equal(json[0].id, 0);
  t.equal(headers.get("cache-control"), "private, no-store");
});

t.test("a user is added, signs in, and sees what the role says", async (t) => {
  const anna = await done("POST", "", { login: "anna", password });
  t.match(anna, { login: "anna", role: "viewer", grants: [] });
  const token = await tokenOf("anna");
  t.equal(await status("GET", "closed/", token), 200);
  t.equal(await status("POST", "open/layers/opena/objects/", token, object), 403);
  t.equal((await ask("POST", "", { login: "anna", password: "other-horse" })).status, 500, "there is one");
  t.equal(await signedIn("anna", "p", "other-horse"), 403, "whose password stays");
  for (const body of [
    { login: "short", password: "1234567" },
    { login: "samesame", password: "samesame" },
    { login: "public", password },
    { login: "with space", password },
    { login: "x".repeat(129), password },
    { login: "any", password, role: "owner" },
    { password },
  ])
    t.match(
      await ask("POST", "", body),
      { status: 500, json: { code: /invalid_value|required_parameters/ } },
      JSON.stringify(body),
    );
});

t.test("a login that another project has is another user, and nothing tells of the first", async (t) => {
  const known = await ask("POST", "", { login: "stranger", password: "battery-staple" });
  const unknown = await ask("POST", "", { login: "nobody", password: "battery-staple" });
  t.equal(known.status, 200);
  t.same(Object.keys(known.json), Object.keys(unknown.json));
  t.equal(await signedIn("stranger", "q", "battery-staple"), 403);
  t.equal(await signedIn("stranger", "p"), 403);
  t.type(await signedIn("stranger", "q"), "string");
  const [theirs] = await db.query<{ id: number }>(
    "select account_id as id from membership where project_id = $1",
    [other],
  );
  for (const id of [theirs!.id, 999_999_999, "x", -1]) {
    t.equal((await ask("PATCH", `${id}/`, { role: "viewer" })).status, 404);
    t.equal((await ask("DELETE", `${id}/`)).status, 404);
  }
  for (const login of ["stranger", "nobody"]) await ask("DELETE", `${await idOf(login)}/`);
  t.type(await signedIn("stranger", "q"), "string", "the other one is as it was");
});

t.test("rights on a map and a layer hold from the next request on, and others stay", async (t) => {
  const id = await idOf("anna");
  const token = await tokenOf("anna");
  const may = async () => [
    await status("GET", "closed/layers/closeda/", token),
    await status("GET", "closed/layers/closedb/", token),
    await status("POST", "closed/layers/closedb/objects/", token, object),
    await status("POST", "open/layers/opena/objects/", token, object),
  ];
  t.same(await may(), [200, 200, 403, 403]);
  const changed = await done("PATCH", `${id}/`, {
    grants: [
      { map: "closed", rights: 0 },
      { map: "closed", layer: "closedb", rights: 2 },
    ],
  });
  t.same(
    changed.grants,
    [
      { map: "closed", layer: null, rights: 0 },
      { map: "closed", layer: "closedb", rights: 3 },
    ],
    "to edit is to read, too",
  );
  t.same(await may(), [403, 200, 200, 403]);
  await done("PATCH", `${id}/`, { grants: [{ map: "open", rights: 3 }] });
  t.same(await may(), [403, 200, 200, 200]);
  await done("PATCH", `${id}/`, { grants: [{ map: "closed", rights: null }] });
  t.same(await may(), [200, 200, 200, 200]);
  await done("PATCH", `${id}/`, {
    grants: [
      { map: "closed", layer: "closedb", rights: null },
      { map: "open", rights: 1 },
      { map: "open", rights: null },
    ],
  });
  t.same((await listed()).find((one) => one.id === id)?.grants, [], "of two for one place the last counts");
  t.same(await may(), [200, 200, 403, 403]);
});

t.test("the public has rights, and no role", async (t) => {
  await done("PATCH", "0/", { grants: [{ map: "open", layer: "opena", rights: 0 }] });
  t.equal(await status("GET", "open/layers/opena/"), 403);
  t.equal(await status("GET", "open/layers/openb/"), 200);
  await done("PATCH", "0/", { grants: [{ map: "open", layer: "opena", rights: null }] });
  t.equal(await status("GET", "open/layers/opena/"), 200);
  t.equal((await ask("PATCH", "0/", { role: "viewer" })).status, 500);
  t.equal((await ask("DELETE", "0/")).status, 404);
});

t.test("what is no place and no right is refused, and nothing of the request is done", async (t) => {
  const id = await idOf("anna");
  const good = { map: "open", rights: 1 };
  for (const [grant, wanted] of [
    [{ map: "nowhere", rights: 1 }, 404],
    [{ map: "theirs", rights: 1 }, 404],
    [{ map: "open", layer: "closeda", rights: 1 }, 404],
    [{ layer: "opena", rights: 1 }, 500],
    [{ map: "open" }, 500],
    [{ map: "open", rights: 16 }, 500],
    [{ map: "open", rights: -1 }, 500],
    [{ map: "open", rights: "read" }, 500],
    ["read", 500],
  ] as const)
    t.equal(
      (await ask("PATCH", `${id}/`, { role: "editor", grants: [good, grant] })).status,
      wanted,
      JSON.stringify(grant),
    );
  t.equal((await ask("PATCH", `${id}/`, { grants: good })).status, 500);
  t.match(
    (await listed()).find((one) => one.id === id),
    { role: "viewer", grants: [] },
  );
});

t.test("to administer a map includes all other rights there, and none elsewhere", async (t) => {
  const id = await idOf("anna");
  const token = await tokenOf("anna");
  const changed = await done("PATCH", `${id}/`, { grants: [{ map: "open", rights: 8 }] });
  t.same(changed.grants, [{ map: "open", layer: null, rights: 15 }]);
  t.equal(await status("PATCH", "open/", token, { name: "Anna's" }), 200);
  t.equal(await status("GET", "members/", token), 403);
  t.equal(await status("PATCH", "closed/", token, { name: "Anna's" }), 403);
  await done("PATCH", `${id}/`, { grants: [{ map: "open", rights: null }] });
});

t.test("who administers by a grant sees the users, and changes none", async (t) => {
  await setGrant(db, { project: "p", login: "anna" }, 15);
  await services.changes.propagate();
  const token = await tokenOf("anna");
  t.equal((await ask("GET", "", undefined, { token })).status, 200);
  const id = await idOf("anna");
  t.equal((await ask("POST", "", { login: "any", password, role: "admin" }, { token })).status, 403);
  t.equal((await ask("PATCH", `${id}/`, { role: "admin" }, { token })).status, 403);
  t.equal((await ask("DELETE", `${await idOf("admin")}/`, undefined, { token })).status, 403);
  await setGrant(db, { project: "p", login: "anna" }, undefined);
  await services.changes.propagate();
  const key = (await server.api("POST", "keys/", { token: admin, body: { name: "all", rights: "edit" } }))
    .json.key;
  for (const [who, wanted] of [
    [editor, 403],
    [key, 403],
    [undefined, 401],
  ] as const)
    for (const [method, path, body] of [
      ["GET", "", undefined],
      ["POST", "", { login: "any", password }],
      ["PATCH", `${id}/`, { role: "admin" }],
      ["DELETE", `${id}/`, undefined],
    ] as const) {
      const answer = await server.api(method, `members/${path}`, { ...(who && { token: who }), body });
      t.equal(answer.status, wanted, `${method} ${path}`);
    }
});

t.test("the last administrator stays one, and who is removed is out at once", async (t) => {
  const first = await idOf("admin");
  for (const answer of [
    await ask("PATCH", `${first}/`, { role: "viewer" }),
    await ask("DELETE", `${first}/`),
  ])
    t.match(answer, { status: 500, json: { code: "invalid_value", message: /only administrator/ } });
  const id = await idOf("anna");
  t.match(await done("PATCH", `${id}/`, { role: "admin" }), { role: "admin" });
  const anna = await tokenOf("anna");
  t.match(await done("PATCH", `${first}/`, { role: "editor" }, { token: anna }), { role: "editor" });
  t.equal((await ask("GET", "")).status, 403, "who gave the role away has it no more");
  await done("PATCH", `${first}/`, { role: "admin" }, { token: anna });
  t.equal(await status("GET", "closed/", anna), 200);
  t.equal((await ask("DELETE", `${id}/`)).status, 200);
  t.equal(await status("GET", "closed/", anna), 401);
  t.equal(await signedIn("anna"), 403);
  t.notOk((await listed()).some(({ login }) => login === "anna"));
  t.equal((await ask("DELETE", `${id}/`)).status, 404);
});

t.test("an account of two projects leaves one of them", async (t) => {
  const both = await addMember(db, { login: "both", password, projectId: other, role: "viewer" });
  await addMember(db, { login: "both", accountId: both.id, projectId: project.id, role: "viewer" });
  await services.changes.propagate();
  t.equal((await ask("DELETE", `${both.id}/`)).status, 200);
  t.equal(await signedIn("both"), 403);
  t.type(await signedIn("both", "q"), "string");
});

t.test("of two administrators who take the role from each other one stays", async (t) => {
  const ids = [
    await idOf("admin"),
    (await done("POST", "", { login: "second", password, role: "admin" })).id,
  ];
  const tokens = [admin, await tokenOf("second")];
  for (let round = 0; round < 5; round++) {
    const answers = await Promise.all([
      ask("PATCH", `${ids[1]}/`, { role: "viewer" }, { token: tokens[0]!, node: 0 }),
      ask("PATCH", `${ids[0]}/`, { role: "viewer" }, { token: tokens[1]!, node: 1 }),
    ]);
    t.equal(answers.filter((answer) => answer.status === 200).length, 1);
    const winner = answers[0]!.status === 200 ? 0 : 1;
    t.ok([403, 500].includes(answers[1 - winner]!.status), "the other is none any more");
    await done("PATCH", `${ids[1 - winner]}/`, { role: "admin" }, { token: tokens[winner]! });
  }
});

t.test(
  "of two administrators who saw the same users one comes through, and a repeated change is one",
  async (t) => {
    const id = await idOf("viewer");
    const { headers } = await ask("GET", "");
    const etag = headers.get("etag")!;
    const answers = await Promise.all(
      [0, 1, 0, 1].map((node) =>
        ask(
          "PATCH",
          `${id}/`,
          { grants: [{ map: "open", rights: 3 }] },
          { node, headers: { "if-match": etag } },
        ),
      ),
    );
    t.same(answers.map((answer) => answer.status).sort(), [200, 412, 412, 412]);
    const again = { headers: { "idempotency-key": "one-change-of-rights" } };
    await done("PATCH", `${id}/`, { grants: [{ map: "open", rights: 1 }] }, again);
    await done("PATCH", `${id}/`, { grants: [{ map: "open", rights: 7 }] });
    const repeated = await done("PATCH", `${id}/`, { grants: [{ map: "open", rights: 1 }] }, again);
    t.same(repeated.grants, [{ map: "open", layer: null, rights: 1 }]);
    t.same((await listed()).find((one) => one.id === id)?.grants, [{ map: "open", layer: null, rights: 7 }]);
    await done("PATCH", `${id}/`, { grants: [{ map: "open", rights: null }] });
  },
);

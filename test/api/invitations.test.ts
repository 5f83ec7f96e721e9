import t from "tap";
import { accountOf, addMember, removeMember, setPassword } from "../../src/access/accounts.js";
import { pruneInvitations } from "../../src/access/invitations.js";
import { createProject, deleteProject } from "../../src/catalog/projects.js";
import { startServer, waitFor } from "../support/server.js";

/** Links by which users choose their passwords. */

const server = await startServer({
  nodes: 2,
  config: { trustedProxies: ["127.0.0.1"], "login.failuresPerAddress": 5 },
});
t.teardown(() => server.stop());
const { api, sql } = server;
const { services } = server.nodes[0]!;
const { db } = services;
const admin = await server.token("admin");
const editor = await server.token("editor");

const added = async (login: string, more: object = {}) =>
  (await api("POST", "members/", { token: admin, body: { login, ...more } })).json;
const invite = (id: number, token = admin) => api("POST", `members/${id}/invitation/`, { token });
const invitationOf = async (id: number): Promise<string> => (await invite(id)).json.invitation;
let clients = 0;
/** Of a client that nobody knows yet, if none is named. */
const accept = (
  body: { readonly invitation?: unknown; readonly password?: unknown },
  address = `192.0.2.${++clients}`,
  node = 0,
) => api("POST", "invitation/", { body, node, headers: { "x-forwarded-for": address } });
const login = (user: string, pass: string) => api("POST", "login/", { body: { user, pass } });
const invitedUntil = async (id: number) =>
  (await api("GET", "members/", { token: admin })).json.find((one: { id: number }) => one.id === id)
    .invited_until;

t.test("a user without a password chooses one, once", async (t) => {
  const { id, invited_until } = await added("anna");
  t.equal(invited_until, null);
  t.equal((await login("anna", "")).status, 403, "nobody logs in before");
  const made = await invite(id);
  t.equal(made.status, 200, made.text);
  t.match(made.headers.get("cache-control"), "no-store");
  const { invitation, expires } = made.json;
  const days = (Date.parse(expires) - Date.now()) / 86_400_000;
  t.ok(days > 6.9 && days < 7.1, expires);
  t.equal(await invitedUntil(id), expires, "administrators see that it is open");
  const { rows } = await sql.query("select * from invitation");
  t.notMatch(JSON.stringify(rows), invitation, "it is stored nowhere");
  t.same((await accept({ invitation })).json, { login: "anna" }, "without a password it tells whose it is");
  for (const password of ["short", "", "p".repeat(1_025), 12345678])
    t.match((await accept({ invitation, password })).json, { code: "invalid_value" }, `${password}`);
  const changed = await api("PATCH", `members/${id}/`, { token: admin, body: { role: "editor" } });
  t.equal(changed.json.invited_until, expires, "what is refused, or of other subjects, uses up nothing");
  t.same((await accept({ invitation, password: "chosen-by-anna" }, undefined, 1)).json, { login: "anna" });
  t.equal((await login("anna", "chosen-by-anna")).status, 200);
  t.equal(await invitedUntil(id), null);
  t.equal((await accept({ invitation, password: "another-one" })).status, 403);
  t.equal((await accept({ invitation })).status, 403);
  t.equal((await login("anna", "another-one")).status, 403);
});

t.test("a new password ends the sessions of the old one, and of several uses one counts", async (t) => {
  const { id } = await added("boris", { password: "first-of-boris" });
  const { token } = (await login("boris", "first-of-boris")).json;
  const [first, second] = [await invitationOf(id), await invitationOf(id)];
  t.equal(
    (await accept({ invitation: first, password: "stolen-link" })).status,
    403,
    "the one before is over",
  );
  t.equal((await api("GET", "authorized/", { token })).json, true, "nothing has changed yet");
  t.equal((await login("boris", "first-of-boris")).status, 200);
  const all = await Promise.all(
    [0, 1, 2, 3].map((n) =>
      accept({ invitation: second, password: `chosen-by-boris-${n}` }, undefined, n % 2),
    ),
  );
  t.same(all.map(({ status }) => status).sort(), [200, 403, 403, 403]);
  t.equal((await api("GET", "authorized/", { token })).json, false);
  t.equal((await login("boris", "first-of-boris")).status, 403);
  const winner = all.findIndex(({ status }) => status === 200);
  t.equal((await login("boris", `chosen-by-boris-${winner}`)).status, 200, "whose password it is");
});

t.test("what does not count is refused in the same words, and wrong ones are counted", async (t) => {
  const { id } = await added("carla");
  const invitation = await invitationOf(id);
  await sql.query("update invitation set ends_at = now() - interval '1 second' where account_id = $1", [id]);
  const password = "chosen-by-carla";
  const late = await accept({ invitation, password });
  t.equal(late.status, 403);
  t.match(late.text, "ask an administrator");
  t.equal(await invitedUntil(id), null);
  for (const other of ["mwi_", "\u{1f600}", `mwi_${"x".repeat(43)}`, `${invitation}x`]) {
    const answer = await accept({ invitation: other, password });
    t.same([answer.status, answer.text], [403, late.text], other.slice(0, 60));
  }
  const next = await invitationOf(id);
  for (let n = 0; n < 5; n++) {
    const wrong = await accept({ invitation: `mwi_${`${n}`.repeat(43)}` }, "198.51.100.1", n % 2);
    t.equal(wrong.headers.get("retry-after"), null);
  }
  const refused = await accept({ invitation: next, password }, "198.51.100.1");
  t.same([refused.status, refused.text], [403, late.text]);
  t.match(refused.headers.get("retry-after"), /^[1-9]\d*$/);
  t.equal(
    (
      await api("POST", "login/", {
        body: { user: "admin", pass: "adminadmin" },
        headers: { "x-forwarded-for": "198.51.100.1" },
      })
    ).status,
    403,
    "they count as failed logins",
  );
  t.equal((await accept({ invitation: next, password })).status, 200, "elsewhere it counts");
});

t.test(
  "an invitation ends with the user, the project, its time and a password of the operator",
  async (t) => {
    const { id } = await added("dora");
    const gone = await invitationOf(id);
    await api("DELETE", `members/${id}/`, { token: admin });
    t.equal((await accept({ invitation: gone, password: "chosen-by-dora" })).status, 403);
    const again = (await added("dora")).id;
    t.equal(
      (await accept({ invitation: gone, password: "chosen-by-dora" })).status,
      403,
      "not of who comes back",
    );
    const open = await invitationOf(again);
    await setPassword(db, await accountOf(db, "dora", "p"), "set-by-operator");
    t.equal((await accept({ invitation: open, password: "chosen-by-dora" })).status, 403);
    t.equal((await login("dora", "set-by-operator")).status, 200);

    await invitationOf(again);
    await sql.query("update invitation set ends_at = now() where account_id = $1", [again]);
    const { id: emil } = await added("emil");
    await invitationOf(emil);
    await pruneInvitations(db);
    const left = async () => (await sql.query("select account_id as id from invitation")).rows;
    t.same(await left(), [{ id: emil }], "those whose time is over are deleted");

    const project = await createProject(db, { code: "brief" });
    const boss = await addMember(db, {
      login: "boss",
      password: "boss-of-brief",
      projectId: project,
      role: "admin",
    });
    await services.changes.propagate();
    const elsewhere = async (path: string, body: object, token?: string) =>
      fetch(`${server.url}/api/2.8/brief/${path}`, {
        method: "POST",
        headers: { "content-type": "application/json", ...(token && { "x-token": token }) },
        body: JSON.stringify(body),
      });
    const opened = await elsewhere("login/", { user: "boss", pass: "boss-of-brief" });
    const { token } = (await opened.json()) as { token: string };
    t.equal(
      (await elsewhere(`members/${emil}/invitation/`, {}, token)).status,
      404,
      "no user of that project",
    );
    const made = await elsewhere(`members/${boss.id}/invitation/`, {}, token);
    const { invitation } = (await made.json()) as { invitation: string };
    t.equal((await accept({ invitation, password: "other-project" })).status, 403, "it is of its project");
    await deleteProject(db, "brief");
    t.same(await left(), [{ id: emil }]);
  },
);

t.test("only administrators invite, and nobody of several projects", async (t) => {
  const { id } = await added("fritz");
  t.equal((await invite(id, editor)).status, 403);
  t.equal((await api("POST", `members/${id}/invitation/`)).status, 401);
  t.equal((await invite(0)).status, 404, "the public has no password");
  t.equal((await invite(999_999_999)).status, 404);
  await server.nodes[0]!.services.changes.propagate();
  const other = await createProject(db, { code: "other" });
  const here = await accountOf(db, "admin", "p");
  const { id: project } = await services.catalog.project("p");
  const both = await addMember(db, {
    login: "fay",
    password: "fay-of-both",
    projectId: other,
    role: "admin",
  });
  const gil = await addMember(db, { login: "gil", password: "gil-of-p", projectId: project, role: "viewer" });
  const before = await invitationOf(gil.id);
  await addMember(db, { login: "fay", accountId: both.id, projectId: project, role: "viewer" });
  await addMember(db, { login: "gil", accountId: gil.id, projectId: other, role: "viewer" });
  await services.changes.propagate();
  const refused = await invite(both.id);
  t.match(refused.json, { code: "invalid_value", message: /only an operator/ });
  for (const password of [undefined, "taken-over"])
    t.equal((await accept({ invitation: before, password })).status, 403, "also when it was made before");
  t.equal((await login("gil", "gil-of-p")).status, 200);
  await removeMember(db, "gil", other);
  let meanwhile: ReturnType<typeof accept> | undefined;
  await db.transaction(async (tx) => {
    await tx.execute("insert into membership (project_id, account_id, role) values ($1, $2, 'viewer')", [
      other,
      gil.id,
    ]);
    meanwhile = accept({ invitation: before, password: "taken-over" });
    const waits =
      "select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock' and query like '%from account%'";
    await waitFor(async () => (await sql.query(waits)).rowCount === 1);
  });
  t.equal((await meanwhile)?.status, 403, "also when the other project comes at the same moment");
  t.equal((await login("gil", "gil-of-p")).status, 200);

  const deputy = await added("hanna", { password: "deputy-horse", role: "admin" });
  const { token } = (await login("hanna", "deputy-horse")).json;
  const kept = (await invite(id, token)).json.invitation;
  t.equal((await accept({ invitation: kept })).status, 200);
  await api("PATCH", `members/${deputy.id}/`, { token: admin, body: { role: "viewer" } });
  t.equal((await invite(here.id, token)).status, 403, "who was an administrator");
  t.equal((await accept({ invitation: kept, password: "taken-over" })).status, 403, "nor by one of then");
  const role = { login: "hanna", projectId: project };
  const losses: [string, () => Promise<unknown>][] = [
    ["the command user add", () => addMember(db, { ...role, role: "editor" })],
    ["the API", () => api("DELETE", `members/${deputy.id}/`, { token: admin })],
  ];
  for (const [by, lose] of losses) {
    await addMember(db, { ...role, role: "admin" });
    await services.changes.propagate();
    const invitation = (await invite(id, token)).json.invitation;
    await api("PATCH", `members/${gil.id}/`, { token: admin, body: { role: "viewer" } });
    t.equal((await accept({ invitation })).status, 200, "others who change end none");
    await lose();
    t.equal((await accept({ invitation })).status, 403, by);
  }
});

t.test("no secret is in the address, in Redis, or kept by an Idempotency-Key", async (t) => {
  const { id } = await added("ines");
  const options = { token: admin, headers: { "idempotency-key": "same" } };
  const made = async (): Promise<string> =>
    (await api("POST", `members/${id}/invitation/`, options)).json.invitation;
  const [first, second] = [await made(), await made()];
  t.not(first, second, "each is made anew");
  await accept({ invitation: `mwi_${"y".repeat(43)}` });
  const { redis, config } = services;
  for (const name of await redis.keys(`${config.redisPrefix}*`)) t.notMatch(name, /mwi_/);
  t.equal(
    (await api("POST", `invitation/?invitation=${second}`, { body: {} })).status,
    500,
    "only the body counts",
  );
  const kept = await sql.query("select 1 from idempotency_key where answer::text like '%mwi%'");
  t.equal(kept.rowCount, 0);
});

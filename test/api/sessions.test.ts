import t from "tap";
import { addMember, removeMember } from "../../src/access/accounts.js";
import { setGrant } from "../../src/access/grants.js";
import { createProject } from "../../src/catalog/projects.js";
import { startServer } from "../support/server.js";

const server = await startServer();
t.teardown(() => server.stop());
const { services } = server.nodes[0]!;
const { api } = server;
const base = `${server.url}/api/2.8/p`;

const form = (fields: Record<string, string>) =>
  fetch(`${base}/login/`, { method: "POST", body: new URLSearchParams(fields) });

t.test("login takes forms, multipart and JSON, under both pairs of names", async (t) => {
  const multipart = new FormData();
  multipart.set("user", "editor");
  multipart.set("pass", "editoreditor");
  const answers = [
    await form({ user: "editor", pass: "editoreditor" }),
    await form({ login: "editor", password: "editoreditor" }),
    await fetch(`${base}/login/`, { method: "POST", body: multipart }),
    await fetch(`${base}/login`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ user: "editor", pass: "editoreditor" }),
    }),
  ];
  const tokens = new Set<string>();
  for (const answer of answers) {
    t.equal(answer.status, 200);
    t.match(answer.headers.get("cache-control"), /private, no-store/);
    const body = (await answer.json()) as { token: string };
    t.same(Object.keys(body), ["token"]);
    t.match(body.token, /^[A-Za-z0-9_-]{43}$/);
    tokens.add(body.token);
  }
  t.equal(tokens.size, 4);
});

t.test("an unknown login and a wrong password are both 403", async (t) => {
  for (const fields of [
    { user: "nobody", pass: "x" },
    { user: "editor", pass: "x" },
    { user: "editor", pass: "" },
    { user: "' OR 1=1--", pass: "' OR 1=1--" },
  ]) {
    const answer = await form(fields);
    t.equal(answer.status, 403, JSON.stringify(fields));
    t.match(answer.headers.get("content-type"), /text\/html/);
  }
});

t.test("login names what is missing", async (t) => {
  t.match(await api("POST", "login/", { body: { user: "editor" } }), {
    status: 500,
    json: { error: "error", code: "required_parameters", data: { required: ["pass"] } },
  });
  t.match(await api("POST", "login/"), { status: 500, json: { data: { required: ["user", "pass"] } } });
});

t.test("an unknown project is 500", async (t) => {
  for (const path of ["login/", "authorized/", "users/list/"]) {
    const answer = await fetch(`${server.url}/api/2.8/nowhere/${path}`, {
      method: path === "login/" ? "POST" : "GET",
    });
    t.equal(answer.status, 500, path);
    t.match(await answer.json(), { code: "project_not_found" });
  }
});

t.test("a token is found in query, form, JSON body and headers", async (t) => {
  const token = await server.token("admin");
  const list = (path: string, headers: Record<string, string> = {}) => fetch(`${base}/${path}`, { headers });
  t.equal((await list(`users/list/?token=${token}`)).status, 200);
  t.equal((await list("users/list/", { authorization: `Bearer ${token}` })).status, 200);
  t.equal((await list("users/list/", { "x-token": token })).status, 200);
  t.equal((await list("users/list/", { cookie: `token=${token}` })).status, 401);
  t.equal((await list(`users/list/?token=wrong`, { "x-token": token })).status, 401, "the query comes first");
  t.equal((await list(`users/list/?token=`, { "x-token": token })).status, 200, "an empty one is none");

  for (const body of [
    new URLSearchParams({ token: await login() }),
    JSON.stringify({ token: await login() }),
  ]) {
    const answer = await fetch(`${base}/logout/`, {
      method: "POST",
      body,
      ...(typeof body === "string" ? { headers: { "content-type": "application/json" } } : {}),
    });
    t.equal(answer.status, 200);
    t.same(await answer.json(), { token: "" });
  }
});

const login = async (): Promise<string> =>
  (await api("POST", "login/", { body: { user: "viewer", pass: "viewerviewer" } })).json.token;

t.test("logout ends the session", async (t) => {
  const token = await login();
  t.equal((await api("GET", "authorized/", { token })).text, "true");
  t.match(await api("POST", "logout/", { token }), { status: 200, json: { token: "" } });
  t.equal((await api("GET", "authorized/", { token })).text, "false");
  t.equal((await api("GET", "maps/available/", { token })).status, 401);
  t.equal((await api("POST", "logout/", { token })).status, 401);
  t.equal((await api("POST", "logout/")).status, 401);
});

t.test("authorized is true for sessions of the API in this project only", async (t) => {
  t.equal((await api("GET", "authorized/")).text, "false");
  t.equal((await api("GET", "authorized/", { token: "made-up" })).text, "false");
  const project = await services.catalog.project("p");
  const [[accountId, { login }]] = project.members as unknown as [[number, { login: string }]];
  const session = { accountId, login, projectId: project.id };
  const console = await services.sessions.open({ ...session, origin: "console" });
  t.equal((await api("GET", "authorized/", { token: console })).text, "false");
  t.equal((await api("GET", "maps/available/", { token: console })).status, 200, "and still a session");
  const elsewhere = await services.sessions.open({ ...session, projectId: project.id + 1, origin: "api" });
  t.equal((await api("GET", "authorized/", { token: elsewhere })).text, "false");
});

t.test("a token of another project is forbidden", async (t) => {
  const other = await createProject(services.db, { code: "other" });
  await addMember(services.db, { login: "admin", password: "adminadmin", projectId: other, role: "admin" });
  const answer = await fetch(`${server.url}/api/2.8/other/login/`, {
    method: "POST",
    body: new URLSearchParams({ user: "admin", pass: "adminadmin" }),
  });
  const { token } = (await answer.json()) as { token: string };
  t.equal((await api("GET", "users/list/", { token })).status, 403);
  t.equal((await api("POST", "logout/", { token })).status, 403);
  const own = await fetch(`${server.url}/api/2.8/other/users/list/?token=${token}`);
  t.same(await own.json(), ["admin"]);
});

t.test("the user list is for administrators", async (t) => {
  t.same((await api("GET", "users/list/", { token: await server.token("admin") })).json, [
    "admin",
    "editor",
    "viewer",
  ]);
  t.equal((await api("GET", "users/list/", { token: await server.token("editor") })).status, 403);
  t.equal((await api("GET", "users/list/", { token: await server.token("viewer") })).status, 403);
  t.equal((await api("GET", "users/list/")).status, 401);
});

t.test("a user who leaves the project, or gets rights, does so at once", async (t) => {
  const project = await services.catalog.project("p");
  await addMember(services.db, { login: "guest", password: "guest", projectId: project.id, role: "viewer" });
  await services.changes.propagate();
  const token = (await api("POST", "login/", { body: { user: "guest", pass: "guest" } })).json.token;
  t.equal((await api("GET", "users/list/", { token })).status, 403);
  await setGrant(services.db, { project: "p", login: "guest" }, 15);
  await services.changes.propagate();
  t.equal((await api("GET", "users/list/", { token })).status, 200);
  await removeMember(services.db, "guest", project.id);
  await services.changes.propagate();
  t.equal((await api("GET", "users/list/", { token })).status, 401);
  t.equal((await api("GET", "authorized/", { token })).text, "false");
});

t.test("a session whose account's number is another one's after a restore is unknown", async (t) => {
  const project = await services.catalog.project("p");
  const join = async (login: string) => {
    await addMember(services.db, { login, password: login, projectId: project.id, role: "editor" });
    await services.changes.propagate();
    return (await api("POST", "login/", { body: { user: login, pass: login } })).json.token as string;
  };
  const eve = await join("eve");
  const lent = (await api("POST", "ext-auth/", { token: eve, body: { login: "viewer" } })).json.token;
  const statuses = async (token: string) => [
    (await api("GET", "maps/available/", { token })).status,
    (await api("GET", "authorized/", { token })).text,
  ];
  for (const token of [eve, lent]) t.same(await statuses(token), [200, "true"]);
  // As after a restore of yesterday, when there was no eve: her number is the next one's.
  await server.sql.query("update account set login = 'mallory' where login = 'eve'");
  await server.sql.query(
    "update membership set role = 'admin' where account_id = (select id from account where login = 'mallory')",
  );
  await services.changes.propagate();
  t.same(await statuses(eve), [401, "false"]);
  t.same(await statuses(lent), [401, "false"], "nor may she lend what is not hers");
  t.equal((await api("GET", "users/list/", { token: eve })).status, 401);
  t.equal((await api("POST", "ext-auth/", { token: eve, body: { login: "viewer" } })).status, 401);
  t.equal((await api("POST", "logout/", { token: eve })).status, 401);
});

t.test("a user of another project with the same login is another user", async (t) => {
  const twin = await createProject(services.db, { code: "twin" });
  const limit = server.nodes[0]!.services.config.login.failuresPerLoginAndAddress;
  await addMember(services.db, { login: "editor", password: "of the twin", projectId: twin, role: "viewer" });
  const login = async (project: string, pass: string) => {
    const answer = await fetch(`${server.url}/api/2.8/${project}/login/`, {
      method: "POST",
      body: new URLSearchParams({ user: "editor", pass }),
    });
    return {
      status: answer.status,
      token: answer.ok ? ((await answer.json()) as { token: string }).token : "",
    };
  };
  const [own, other] = [await login("p", "editoreditor"), await login("twin", "of the twin")];
  t.same([own.status, other.status], [200, 200]);
  t.equal((await login("twin", "editoreditor")).status, 403);
  t.equal((await login("p", "of the twin")).status, 403);
  t.not(
    (await services.sessions.find(own.token))?.accountId,
    (await services.sessions.find(other.token))?.accountId,
  );
  for (let time = 0; time <= limit; time++) await login("twin", "wrong");
  t.equal((await login("twin", "of the twin")).status, 403, "refused after so many failures");
  t.equal((await login("p", "editoreditor")).status, 200, "of the other one");
});

t.test("authorized is false for sessions that have ended, of whatever kind", async (t) => {
  const opened = await api("POST", "login/", { body: { user: "viewer", pass: "viewerviewer" } });
  const { token } = opened.json;
  t.equal((await api("GET", "authorized/", { token })).text, "true");
  t.equal((await api("GET", "authorized/", { headers: { "x-token": token } })).text, "true");
  await services.sessions.close(token);
  t.match(await api("GET", "authorized/", { token }), { status: 200, text: "false" });
  t.match(await api("GET", "authorized/?token="), { status: 200, text: "false" });
  t.match(await api("GET", "authorized/?token=%27"), { status: 200, text: "false" });
});

import t from "tap";
import { addMember, removeMember } from "../../src/access/accounts.js";
import { setGrant } from "../../src/access/grants.js";
import { setPublication } from "../../src/catalog/maps.js";
import { createProject } from "../../src/catalog/projects.js";
import type { Role } from "../../src/catalog/state.js";
import { startServer } from "../support/server.js";

const server = await startServer();
t.teardown(() => server.stop());
const { services } = server.nodes[0]!;
const project = await services.catalog.project("p");
const admin = await server.token("admin");
const editor = await server.token("editor");

const extAuth = (token: string | undefined, login: string) =>
  server.api("POST", "ext-auth/", { token, body: { login } });

/** A user with a session, straight in the database. */
async function user(login: string, role: Role): Promise<string> {
  await addMember(services.db, { login, password: login, projectId: project.id, role });
  await services.changes.propagate();
  const answer = await server.api("POST", "login/", { body: { user: login, pass: login } });
  return answer.json.token;
}

async function grant(
  login: string | null,
  rights: number | undefined,
  where: { map?: string; layer?: string } = {},
): Promise<void> {
  await setGrant(services.db, { project: "p", login, ...where }, rights);
  await services.changes.propagate();
}

await server.api("POST", "", { token: admin, body: { code: "m" } });
await server.api("POST", "m/layers/", { token: admin, body: { code: "l" } });
await server.api("POST", "", { token: admin, body: { code: "closed" } });
await setPublication(services.db, project.id, "closed", false);
await services.changes.propagate();

t.test("an editor gets a session of a user with no more rights", async (t) => {
  const answer = await extAuth(editor, "viewer");
  t.equal(answer.status, 200);
  t.match(answer.headers.get("cache-control"), /private, no-store/);
  t.same(Object.keys(answer.json), ["token"]);
  const { token } = answer.json;
  t.not(token, editor);
  t.equal((await server.api("GET", "authorized/", { token })).text, "true");
  t.equal((await server.api("POST", "m/layers/", { token, body: {} })).status, 403, "it is the viewer's");
  t.equal(
    (await server.api("POST", "m/layers/", { token: editor, body: {} })).status,
    200,
    "the own one stays",
  );
  t.equal((await extAuth(admin, "viewer")).status, 200);
  t.equal((await extAuth(admin, "editor")).status, 200);
  t.equal((await extAuth(admin, "admin")).status, 200);
  t.equal((await extAuth(editor, "editor")).status, 200);
});

t.test("token and login travel in the query and in forms too", async (t) => {
  const base = `${server.url}/api/2.8/p/ext-auth/`;
  for (const answer of [
    await fetch(`${base}?token=${editor}&login=viewer`, { method: "POST" }),
    await fetch(base, { method: "POST", body: new URLSearchParams({ token: editor, login: "viewer" }) }),
  ]) {
    t.equal(answer.status, 200);
    await answer.text();
  }
});

t.test("nobody gets more rights than their own", async (t) => {
  const unknown = await extAuth(editor, "nobody");
  t.equal(unknown.status, 403);
  const refused = await extAuth(editor, "admin");
  t.equal(refused.status, 403);
  t.equal(refused.text, unknown.text, "nor learns who there is");
  t.notMatch(refused.text, "token");
});

t.test("without edit rights on the project there is no session of others", async (t) => {
  const viewer = await server.token("viewer");
  t.equal((await extAuth(viewer, "viewer")).status, 403);
  t.equal((await extAuth(undefined, "viewer")).status, 401);
  t.equal((await extAuth("A".repeat(43), "viewer")).status, 401);
  const given = (await extAuth(editor, "viewer")).json.token;
  t.equal((await extAuth(given, "editor")).status, 403, "and what was given leads no further");
  t.match(await server.api("POST", "ext-auth/", { token: editor }), {
    status: 500,
    json: { code: "required_parameters", data: { required: ["login"] } },
  });
});

t.test("other projects have nothing to do with it", async (t) => {
  const other = await createProject(services.db, { code: "other" });
  await addMember(services.db, { login: "stranger", password: "s", projectId: other, role: "viewer" });
  await addMember(services.db, { login: "editor", password: "e", projectId: other, role: "viewer" });
  t.equal((await extAuth(editor, "stranger")).status, 403, "a user of another project is unknown here");
  const elsewhere = await fetch(`${server.url}/api/2.8/other/ext-auth/`, {
    method: "POST",
    body: new URLSearchParams({ token: editor, login: "stranger" }),
  });
  t.equal(elsewhere.status, 403, "nor does a session of one count in another");
});

t.test("grants count, not the role alone", async (t) => {
  await user("vera", "viewer");
  const edgar = await user("edgar", "editor");
  t.equal((await extAuth(edgar, "vera")).status, 200);

  await grant("vera", 15, { map: "m" });
  t.equal((await extAuth(edgar, "vera")).status, 403, "she administers a map");
  await grant("vera", 5, { map: "m" });
  t.equal((await extAuth(edgar, "vera")).status, 200, "he may as much");
  await grant("edgar", 1, { map: "m" });
  t.equal((await extAuth(edgar, "vera")).status, 403, "he may less there now");
  await grant("edgar", undefined, { map: "m" });

  await grant("edgar", 1, { map: "m", layer: "l" });
  t.equal((await extAuth(edgar, "vera")).status, 403, "or on a layer of it");
  await grant("vera", undefined, { map: "m" });
  t.equal((await extAuth(edgar, "vera")).status, 200);
  await grant("edgar", 0, { map: "m", layer: "l" });
  t.equal((await extAuth(edgar, "vera")).status, 403, "what he may not even see");
  await grant("edgar", undefined, { map: "m", layer: "l" });

  await grant("vera", 15);
  t.equal((await extAuth(edgar, "vera")).status, 403, "she administers the project");
  t.equal((await extAuth(admin, "vera")).status, 200);
  await grant("vera", undefined);

  await grant("edgar", 15);
  t.equal((await extAuth(edgar, "admin")).status, 403, "an administrator is more than all rights");
  await grant("edgar", 1);
  t.equal((await extAuth(edgar, "vera")).status, 403, "he may not edit the project");
  await grant("edgar", 3);
  t.equal((await extAuth(edgar, "vera")).status, 200);
  t.equal((await extAuth(edgar, "editor")).status, 403, "who may change its structure");
  await grant("edgar", undefined);
});

t.test("a map that is not published counts like any other", async (t) => {
  await server.api("POST", "", { token: admin, body: { code: "closed" } });
  await setPublication(services.db, project.id, "closed", false);
  await services.changes.propagate();
  await grant("edgar", 0, { map: "closed" });
  const edgar = (await server.api("POST", "login/", { body: { user: "edgar", pass: "edgar" } })).json.token;
  t.equal((await server.api("GET", "closed/", { token: edgar })).status, 403);
  t.equal((await extAuth(edgar, "vera")).status, 403);
  await grant("vera", 0, { map: "closed" });
  t.equal((await extAuth(edgar, "vera")).status, 200);
});

t.test("what the public may do is nobody's advantage", async (t) => {
  await grant(null, 7, { map: "m", layer: "l" });
  const edgar = (await server.api("POST", "login/", { body: { user: "edgar", pass: "edgar" } })).json.token;
  t.equal((await extAuth(edgar, "vera")).status, 200);
  await grant(null, 15, { map: "m", layer: "l" });
  t.equal((await extAuth(edgar, "vera")).status, 200, "both have it");
  await grant("edgar", 7, { map: "m", layer: "l" });
  t.equal((await extAuth(edgar, "vera")).status, 403, "a grant of his own replaces it");
});

t.test("what the other user gains ends the session for as long", async (t) => {
  const anna = await user("anna", "editor");
  await user("boris", "viewer");
  const given = (await extAuth(anna, "boris")).json.token as string;
  const own = (await server.api("POST", "login/", { body: { user: "boris", pass: "boris" } })).json.token;
  const uses = async (token: string) => (await server.api("GET", "m/layers/", { token })).status;
  const authorized = async (token: string) => (await server.api("GET", "authorized/", { token })).text;
  t.equal(await uses(given), 200);
  for (const where of [{}, { map: "m" }, { map: "m", layer: "l" }]) {
    await grant("boris", 15, where);
    t.equal(await uses(given), 401);
    t.equal(await authorized(given), "false");
    t.equal((await server.api("POST", "ext-auth/", { token: given, body: { login: "boris" } })).status, 401);
    t.equal((await fetch(`${server.url}/tms/p/closed/?x=0&y=0&z=0&token=${given}`)).status, 401);
    t.equal(await uses(own), 200, "his own session has all of it");
    await grant("boris", undefined, where);
    t.equal(await uses(given), 200);
    t.equal(await authorized(given), "true");
  }
  await grant("anna", 0, { map: "m" });
  t.equal(await uses(given), 401, "what she loses counts alike");
  await grant("anna", undefined, { map: "m" });
  t.equal(await uses(given), 200);
});

t.test("of a session that was got with such a session, the first asker's rights count", async (t) => {
  const clara = await user("clara", "editor");
  await user("dmitri", "editor");
  await user("elena", "viewer");
  const second = (await extAuth(clara, "dmitri")).json.token as string;
  const third = (await extAuth(second, "elena")).json.token as string;
  const uses = async (token: string) => (await server.api("GET", "m/layers/", { token })).status;
  t.same([await uses(second), await uses(third)], [200, 200]);
  await grant("dmitri", 15, { map: "m" });
  await grant("elena", 15, { map: "m" });
  t.same([await uses(second), await uses(third)], [401, 401]);
  await grant("elena", undefined, { map: "m" });
  t.same([await uses(second), await uses(third)], [401, 200]);
  await removeMember(services.db, "clara");
  await services.changes.propagate();
  t.same([await uses(second), await uses(third)], [401, 401], "nor does anything stay when she goes");
});

import pg from "pg";
import t from "tap";
import {
  accountOf,
  addMember,
  authenticate,
  listAccounts,
  projectLogins,
  removeMember,
  setPassword,
} from "../../src/access/accounts.js";
import { parseRights, setGrant } from "../../src/access/grants.js";
import { hashPassword, verifyPassword } from "../../src/access/passwords.js";
import { createLayer } from "../../src/catalog/layers.js";
import { loadProject } from "../../src/catalog/load.js";
import { createMap } from "../../src/catalog/maps.js";
import { createProject, deleteProject, listProjects, projectId } from "../../src/catalog/projects.js";
import { openDatabase } from "../../src/storage/postgres.js";
import { freshDatabase } from "../support/database.js";
import { failure } from "../support/failure.js";
import { lockWaiters } from "../support/locks.js";
import { quietLog } from "../support/log.js";

const database = await freshDatabase();
const db = openDatabase({ ...database.at, connections: 4, statementTimeoutMs: 10_000, log: quietLog });
const sql = new pg.Client({ connectionString: database.url });
await sql.connect();
t.teardown(async () => {
  await sql.end();
  await db.close();
  await database.drop();
});

t.test("a password verifies against its own hash only", async (t) => {
  const hash = await hashPassword("пароль 1");
  t.match(hash, /^\$argon2id\$v=19\$m=19456,t=2,p=1\$/);
  t.equal(await verifyPassword(hash, "пароль 1"), true);
  t.equal(await verifyPassword(hash, "пароль 2"), false);
  t.equal(await verifyPassword(undefined, "пароль 1"), false);
  t.equal(await verifyPassword(hash, "x".repeat(2_000)), false);
  await t.rejects(hashPassword(""), { code: "invalid_value" });
  await t.rejects(hashPassword("x".repeat(2_000)), { code: "invalid_value" });
});

t.test("projects are made, listed and deleted", async (t) => {
  await createProject(db, { code: "city", name: "Город", languages: ["ru", "en", "ru"] });
  await t.rejects(createProject(db, { code: "city" }), { code: "code_exists" });
  await t.rejects(createProject(db, { code: "no spaces" }), { code: "invalid_code" });
  await t.rejects(createProject(db, { code: "x", languages: ["english"] }), { code: "invalid_value" });
  await t.rejects(createProject(db, { code: "x", name: "nul\0" }), { code: "invalid_value" });
  t.match(await listProjects(db), [
    { code: "city", name: "Город", languages: ["ru", "en"], maps: 0, users: 0 },
  ]);
  await deleteProject(db, "city");
  await t.rejects(projectId(db, "city"), { code: "project_not_found" });
  await t.rejects(deleteProject(db, "city"), { code: "project_not_found" });
});

t.test("a login belongs to a project, unless one account is given a role in several", async (t) => {
  const first = await createProject(db, { code: "first" });
  const second = await createProject(db, { code: "second" });
  const third = await createProject(db, { code: "third" });
  const anna = await addMember(db, { login: "anna", password: "secret", projectId: first, role: "admin" });
  t.equal(anna.created, true);
  const other = await addMember(db, {
    login: "anna",
    password: "another",
    projectId: second,
    role: "viewer",
  });
  t.equal(other.created, true);
  t.not(other.id, anna.id);
  const again = await addMember(db, { login: "anna", projectId: first, role: "editor" });
  t.match(again, { created: false, id: anna.id }, "a new role, and the password stays");
  const shared = await addMember(db, { login: "anna", accountId: anna.id, projectId: third, role: "viewer" });
  t.match(shared, { created: false, id: anna.id });
  await t.rejects(
    addMember(db, { login: "anna", accountId: anna.id, projectId: second, role: "viewer" }),
    { code: "invalid_value" },
    "who has another account of that login there",
  );
  await addMember(db, { login: "boris", password: "другое", projectId: first, role: "editor" });
  await t.rejects(addMember(db, { login: "carl", projectId: first, role: "editor" }), {
    code: "invalid_value",
  });
  for (const login of ["", "public", "two words", "x".repeat(200), "nul\0", "a\nb"]) {
    await t.rejects(
      addMember(db, { login, password: "p", projectId: first, role: "viewer" }),
      { code: "invalid_value" },
      JSON.stringify(login.slice(0, 20)),
    );
  }
  t.same(await projectLogins(db, first), ["anna", "boris"]);
  t.match(await listAccounts(db), [
    { login: "anna", project: "first", role: "editor", account: anna.id },
    { login: "anna", project: "second", role: "viewer", account: other.id },
    { login: "anna", project: "third", role: "viewer", account: anna.id },
    { login: "boris", project: "first", role: "editor" },
  ]);
  const many = await Promise.all(
    Array.from({ length: 4 }, () =>
      addMember(db, { login: "dora", password: "at once", projectId: first, role: "viewer" }),
    ),
  );
  t.equal(new Set(many.map(({ id }) => id)).size, 1, "one account, also of many at once");
  t.same(
    await Promise.all([first, second, third].map((id) => authenticate(db, id, "anna", "secret"))).then(
      (all) => all.map((one) => one?.id),
    ),
    [anna.id, undefined, anna.id],
  );
  t.match(await authenticate(db, second, "anna", "another"), { id: other.id, login: "anna" });
  t.equal(await authenticate(db, first, "anna", "wrong"), undefined);
  t.equal(await authenticate(db, second, "boris", "другое"), undefined, "no role in that project");
  t.equal(await authenticate(db, first, "nobody", "secret"), undefined);
  t.equal(await authenticate(db, first, "anna\0", "secret"), undefined);

  t.same(await accountOf(db, "anna", "third"), { id: anna.id, login: "anna", projects: ["first", "third"] });
  await t.rejects(accountOf(db, "anna"), { code: "invalid_value", message: /of first, third; second/ });
  await t.rejects(accountOf(db, "nobody"), failure("not_found"));
  await t.rejects(accountOf(db, "boris", "second"), failure("not_found"));
  await setPassword(db, await accountOf(db, "anna", "first"), "new");
  t.ok(await authenticate(db, third, "anna", "new"));
  t.ok(await authenticate(db, second, "anna", "another"), "that of the other account stays");

  await removeMember(db, "anna", third);
  t.equal(await authenticate(db, third, "anna", "new"), undefined);
  t.ok(await authenticate(db, first, "anna", "new"));
  await t.rejects(removeMember(db, "anna", third), failure("not_found"));
  await t.rejects(removeMember(db, "anna"), { code: "invalid_value" }, "whose?");
  await removeMember(db, "anna", second);
  t.same(
    (await listAccounts(db)).filter(({ login }) => login === "anna").map(({ account }) => account),
    [anna.id],
    "an account goes with its last project",
  );
  await removeMember(db, "anna");
  t.equal(await authenticate(db, first, "anna", "new"), undefined);
  await addMember(db, { login: "emil", password: "emil", projectId: second, role: "viewer" });
  await deleteProject(db, "second");
  t.notOk(
    (await listAccounts(db)).some(({ login }) => login === "emil"),
    "or when that is deleted",
  );
});

t.test("grants are set, replaced and taken back", async (t) => {
  const project = await createProject(db, { code: "granted" });
  const user = await addMember(db, { login: "vera", password: "p", projectId: project, role: "viewer" });
  const map = await createMap(db, project, { code: "m" });
  const layer = await createLayer(db, map, { code: "l" });
  const grants = async () => (await loadProject(db, "granted"))!.grants;

  await setGrant(db, { project: "granted", map: "m", layer: "l", login: "vera" }, parseRights("read,edit"));
  t.same(await grants(), [{ mapId: map, layerId: layer.id, accountId: user.id, rights: 3 }]);
  await setGrant(db, { project: "granted", map: "m", layer: "l", login: "vera" }, parseRights("none"));
  await setGrant(db, { project: "granted", login: null }, parseRights("read"));
  t.same(
    (await grants()).map((grant) => grant.rights),
    [0, 1],
  );
  await setGrant(db, { project: "granted", map: "m", layer: "l", login: "vera" }, undefined);
  t.same(await grants(), [{ mapId: null, layerId: null, accountId: null, rights: 1 }]);

  await t.rejects(setGrant(db, { project: "nowhere", login: null }, 1), { code: "project_not_found" });
  await t.rejects(setGrant(db, { project: "granted", map: "x", login: null }, 1), failure("not_found"));
  await t.rejects(
    setGrant(db, { project: "granted", map: "m", layer: "x", login: null }, 1),
    failure("not_found"),
  );
  await t.rejects(setGrant(db, { project: "granted", login: "boris" }, 1), failure("not_found"));
  t.equal(parseRights("admin"), 15);
  t.equal(parseRights("structure"), 5);
  t.throws(() => parseRights("fly"), { code: "invalid_value" });
  t.throws(() => parseRights("constructor"), { code: "invalid_value" });
});

t.test("a role that is given while another one goes keeps its account", async (t) => {
  for (const goes of ["the role", "the project"]) {
    const from = await createProject(db, { code: `from${goes.length}` });
    const to = await createProject(db, { code: `to${goes.length}` });
    const { id } = await addMember(db, {
      login: "ida",
      password: "secret-1",
      projectId: from,
      role: "editor",
    });
    let going: Promise<unknown> | undefined;
    await db.transaction(async (tx) => {
      await tx.execute("insert into membership (project_id, account_id, role) values ($1, $2, 'viewer')", [
        to,
        id,
      ]);
      going = goes === "the role" ? removeMember(db, "ida", from) : deleteProject(db, `from${goes.length}`);
      await lockWaiters(sql);
    });
    await going;
    t.same(await projectLogins(db, to), ["ida"], goes);
  }
});

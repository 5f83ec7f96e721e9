import t from "tap";
import { addMember } from "../../src/access/accounts.js";
import { createProject } from "../../src/catalog/projects.js";
import { makeFileLayer, makeObject, send } from "../api/files.support.js";
import { makeMap, makeStyledLayer } from "../support/maps.js";
import { watchSafety } from "../support/safe.js";
import { startServer } from "../support/server.js";
import { sentStatements } from "../support/uses.js";

/** Who is trusted with what: guesses, ended sessions, and things of others. */

const server = await startServer({
  config: {
    trustedProxies: ["127.0.0.1"],
    "login.failuresPerLoginAndAddress": 5,
    "login.failuresPerAddress": 12,
  },
});
t.teardown(() => server.stop());
const editor = await server.token("editor");
const { services } = server.nodes[0]!;
const { redis, config } = services;
await makeMap(server, "m");
await makeFileLayer(server, "a");
await makeFileLayer(server, "b");
await makeMap(server, "n");
const closed = await makeMap(server, "closed");
await server.sql.query("update map set has_publication = false where id = $1", [closed]);
await services.changes.propagate();
const mine = await makeStyledLayer(server, "m", "mine", "#a { polygon-fill: #f00; }");
const foreign = await makeStyledLayer(server, "n", "foreign", "#a { polygon-fill: #f00; }");
const base = "/api/2.8/p";
const safe = await watchSafety(t, server, `${base}/m/layers/?type=full`);

const login = (user: string, pass: string, address: string) =>
  server.api("POST", "login/", { body: { user, pass }, headers: { "x-forwarded-for": address } });
const use = async (token: string) => (await server.api("GET", "maps/available/", { token })).status;

t.test("an unknown user and a wrong password are told alike, and throttled alike", async (t) => {
  // That both cost the same work is a test of the logins' own (test/catalog/throttle.test.ts).
  const seen: string[][] = [];
  for (const [user, address] of [
    ["nobody", "192.0.2.1"],
    ["editor", "192.0.2.2"],
    ["' or 1=1 --", "192.0.2.3"],
  ] as const) {
    const answers: string[] = [];
    for (let attempt = 0; attempt < 8; attempt++) {
      const { status, text, headers } = await login(user, "wrong", address);
      answers.push([status, text, headers.has("retry-after"), headers.get("content-type")].join(" "));
    }
    seen.push(answers);
  }
  t.same(seen[1], seen[0]);
  t.same(seen[2], seen[0]);
  t.match(seen[0]?.[0], /^403 .*false text\/html/s);
  t.same(
    seen[0]?.map((answer) => answer.includes(" true ")),
    [false, false, false, false, false, true, true, true],
    "five guesses for a login from an address",
  );
  t.equal(
    (await login("editor", "editoreditor", "192.0.2.2")).status,
    403,
    "the right one is too late there",
  );
  t.equal((await login("editor", "editoreditor", "192.0.2.4")).status, 200, "and right elsewhere");
  let refused = 0;
  for (let i = 0; i < 16; i++) {
    if ((await login(`user${i}`, "wrong", "192.0.2.5")).headers.has("retry-after")) refused++;
  }
  t.equal(refused, 4, "twelve guesses from an address");
  await safe.holds(t, "guesses");
});

t.test("on the list of maps a project without public ones is told like one that there is not", async (t) => {
  await createProject(services.db, { code: "quiet" });
  const { token } = (await login("editor", "editoreditor", "192.0.2.20")).json;
  const statements = sentStatements(services.db, t.teardown);
  const told = async (project: string) => {
    const ask = async (path: string, init: RequestInit = {}) => {
      const answer = await safe.ask(path, init);
      const headers = [...answer.headers].filter(([name]) => !/^(date|x-request-id)$/.test(name));
      return [answer.status, answer.text.replaceAll(project, "X"), headers.sort()];
    };
    const list = `/viewer/maps.json?project=${project}`;
    statements.length = 0;
    const toStrangers = await ask(list);
    const work = statements.length;
    return {
      toStrangers,
      work,
      toOthers: await ask(list, { headers: { "x-token": token } }),
      toNobody: await ask(list, { headers: { "x-token": "A".repeat(43) } }),
    };
  };
  await safe.accept();
  await safe.ask("/viewer/maps.json");
  const none = await told("nowhere");
  t.same(await told("quiet"), none);
  t.same(none.toStrangers.slice(0, 2), [200, "[]"]);
  t.equal(none.work, 0, "answered from the list of public maps");
  t.same([none.toOthers[0], none.toNobody[0]], [403, 401]);
  await safe.holds(t, "questions for projects");
});

t.test("a session lives 9:59 after its last use, and not 10:01", async (t) => {
  t.equal(config.sessionIdleSeconds, 600);
  const sessions = () => redis.keys(`${config.redisPrefix}s:*`);
  /** The clock of sessions is that of Redis: it is put forward by bringing their ends nearer. */
  const wait = async (seconds: number): Promise<void> => {
    await redis.pexpire(key, (await redis.pttl(key)) - seconds * 1_000);
  };
  const before = await sessions();
  const token = (await login("viewer", "viewerviewer", "192.0.2.6")).json.token;
  const key = (await sessions()).find((one) => !before.includes(one))!;
  for (let uses = 0; uses < 3; uses++) {
    await wait(9 * 60 + 59 - 1);
    t.equal(await use(token), 200, "after 9:59, less what the test itself takes");
  }
  t.equal((await server.api("GET", "authorized/", { token })).text, "true");
  await wait(10 * 60 + 1);
  t.equal(await use(token), 401, "after 10:01");
  t.equal((await server.api("GET", "authorized/", { token })).text, "false");
  t.equal(await use(token), 401, "and asking does not wake it");
  await safe.holds(t, "sessions that end");
});

t.test("tokens that are none, ended or another project's open nothing", async (t) => {
  const other = await createProject(services.db, { code: "q" });
  await addMember(services.db, { login: "stranger", password: "stranger", projectId: other, role: "admin" });
  await safe.accept();
  const fresh = async () => (await login("admin", "adminadmin", "192.0.2.7")).json.token as string;
  const ended = await fresh();
  t.equal((await server.api("POST", "logout/", { token: ended })).status, 200);
  const strange = await fetch(`${server.url}/api/2.8/q/login/`, {
    method: "POST",
    body: new URLSearchParams({ user: "stranger", pass: "stranger" }),
  });
  const foreignToken = ((await strange.json()) as { token: string }).token;
  const requests: readonly (readonly [string, string, unknown])[] = [
    ["GET", "maps/available/", undefined],
    ["GET", "users/list/", undefined],
    ["GET", "m/", undefined],
    ["GET", "m/layers/", undefined],
    ["POST", "", { code: "x" }],
    ["POST", "m/layers/", {}],
    ["DELETE", "m/layers/a/", undefined],
    ["POST", "m/layers/a/objects/", { fields: {} }],
    ["POST", "ext-auth/", { login: "viewer" }],
    ["POST", "logout/", undefined],
    ["POST", "m/publish/", []],
  ];
  for (const [name, token, status] of [
    ["made up", "A".repeat(43), 401],
    ["ended", ended, 401],
    ["a login", "admin", 401],
    ["another project's", foreignToken, 403],
  ] as const) {
    for (const [method, path, body] of requests) {
      t.equal((await server.api(method, path, { token, body })).status, status, `${name}: ${method} ${path}`);
    }
    const tile = await safe.ask("/tms/p/closed/?x=0&y=0&z=0", { headers: { "x-token": token } });
    t.equal(tile.status, status, `${name}: a tile`);
  }
  await safe.holds(t, "tokens that open nothing");
});

t.test("a file belongs to its object, whoever names its id", async (t) => {
  const one = await makeObject(server, "a");
  const other = await makeObject(server, "a");
  const elsewhere = await makeObject(server, "b");
  const { json: file } = await send(server, `a/objects/${one}`, { bytes: "mine" });
  await safe.accept();
  const read = async () => (await safe.ask(file.path)).text;
  for (const [layer, object] of [
    ["a", other],
    ["b", elsewhere],
  ] as const) {
    for (const fields of [
      { files: String(file.id) },
      { files: [file.id] },
      { papers: String(file.id) },
      { files: `${file.id},${file.id}` },
    ]) {
      const put = await server.api("PUT", `m/layers/${layer}/objects/${object}/`, {
        token: editor,
        body: { fields },
      });
      t.match(
        put,
        { status: 500, json: { code: "invalid_value", data: { columns: Object } } },
        JSON.stringify(fields),
      );
      const create = await server.api("POST", `m/layers/${layer}/objects/`, {
        token: editor,
        body: { fields },
      });
      t.match(create, { status: 500, json: { code: "invalid_value" } });
      const [code, named] = Object.entries(fields)[0]!;
      const imported = await safe.ask(`${base}/m/layers/${layer}/import/`, {
        method: "POST",
        headers: { "x-token": editor },
        body: JSON.stringify({
          type: "Feature",
          properties: { svc_id: object, [code]: String(named) },
          geometry: null,
        }),
      });
      t.match(
        imported,
        { status: 500, json: { code: "import_failed" } },
        `import of ${JSON.stringify(fields)}`,
      );
    }
    for (const id of [file.id, file.uuid]) {
      const gone = await server.api(
        "DELETE",
        `m/layers/${layer}/objects/${object}/files/${id}/?field=files`,
        { token: editor },
      );
      t.ok([400, 404].includes(gone.status), String(gone.status));
      t.equal((await safe.ask(`${base}/m/layers/${layer}/objects/${object}/files/${id}/`)).status, 404);
    }
  }
  t.equal(
    (
      await server.api("DELETE", `m/layers/a/objects/${one}/files/${file.id}/?field=papers`, {
        token: editor,
      })
    ).status,
    404,
  );
  t.equal(await read(), "mine");
  await safe.holds(t, "files of others");
});

t.test("what is of another map, or would lie in itself, is not there, and the tree stays", async (t) => {
  const folder = async (code: string, parent_id: number, map = "m"): Promise<number> =>
    (await server.api("POST", `${map}/folders/`, { token: editor, body: { code, parent_id } })).json.id;
  const a = await folder("a1", 0);
  const b = await folder("b1", a);
  const c = await folder("c1", b);
  const theirs = await folder("theirs", 0, "n");
  await safe.accept();
  const good = { id: 1, parent_id: 0, map_layer_id: mine.id };
  for (const wrong of [foreign.id, theirs, 999_999, -1, 0]) {
    const answer = await server.api("POST", "m/publish/", {
      token: editor,
      body: [good, { id: 2, parent_id: 1, map_layer_id: wrong }],
    });
    t.equal(answer.status, 404, `publishing ${wrong}`);
  }
  for (const [code, parent] of [
    ["a1", a],
    ["a1", b],
    ["a1", c],
    ["b1", c],
    ["c1", c],
    ["a1", theirs],
    ["a1", mine.id],
  ] as const) {
    for (const method of ["PUT", "PATCH"]) {
      const moved = await server.api(method, `m/folders/${code}/`, {
        token: editor,
        body: { parent_id: parent },
      });
      t.equal(moved.status, 404, `${method} ${code} under ${parent}`);
    }
  }
  for (const parent of [theirs, foreign.id, mine.id]) {
    const moved = await server.api("PATCH", "m/layers/mine/", { token: editor, body: { parent_id: parent } });
    t.equal(moved.status, 404, `a layer under ${parent}`);
  }
  await safe.holds(t, "trees that cannot be");
});

import t from "tap";
import { authenticate } from "../../src/access/accounts.js";
import { openSessions } from "../../src/access/sessions.js";
import { createFolder } from "../../src/catalog/folders.js";
import { createLayer } from "../../src/catalog/layers.js";
import { loadProject } from "../../src/catalog/load.js";
import { createMap, findMapId } from "../../src/catalog/maps.js";
import { projectId } from "../../src/catalog/projects.js";
import { openDatabase } from "../../src/storage/postgres.js";
import { openRedis } from "../../src/storage/redis.js";
import { freshDatabase } from "../support/database.js";
import { quietLog } from "../support/log.js";
import { freshPrefix, testRedisUrl } from "../support/redis.js";
import { runCommand } from "./support.js";

const database = await freshDatabase();
const prefix = freshPrefix();
const variables = {
  DATABASE_URL: database.url,
  REDIS_URL: testRedisUrl(),
  MAPWRIGHT_REDIS_PREFIX: prefix,
  MAPWRIGHT_SESSION_IDLE_SECONDS: "60",
};
const run = (line: string, input?: string) =>
  runCommand(line.split(" "), { variables, ...(input === undefined ? {} : { input }) });

const db = openDatabase({ ...database.at, connections: 2, statementTimeoutMs: 10_000, log: quietLog });
const redis = openRedis(testRedisUrl(), quietLog);
await redis.connect();
const sessions = openSessions(redis, { idleSeconds: 60, prefix });
t.teardown(async () => {
  redis.disconnect();
  await db.close();
  await database.drop();
});

t.test("projects are created, listed and deleted", async (t) => {
  const created = await run("project create city --name City --languages ru,en");
  t.equal(created.status, 0, created.stderr);
  t.equal(created.stdout, "", "messages go to standard error");
  await run("project create doomed");
  const list = await run("project list --json");
  t.match(JSON.parse(list.stdout), [
    { code: "city", name: "City", languages: ["ru", "en"] },
    { code: "doomed", languages: ["en"] },
  ]);
  const base = async () =>
    (await db.query<{ base: object }>("select base_map as base from project where code = 'city'"))[0];
  t.equal((await run("project base-map city none")).status, 0);
  t.same(await base(), { base: { kind: "none" } });
  const foreign = await run("project base-map city https://tiles.example.org/{z}/{x}/{y}.png");
  t.match(foreign, { status: 1, stderr: /externalHosts\. .*file of settings.* MAPWRIGHT_EXTERNAL_HOSTS/ });
  for (const [given, told] of [
    ["//t.example.org", /error: <base> must be a whole address such as/],
    ["https://t.example.org/{z}/{x}/{y}.png --min-zoom a", /error: --min-zoom must be a whole number/],
    [
      "https://t.example.org/{z}/{x}/{y}.png --min-zoom 9 --max-zoom 3",
      /error: --min-zoom is greater than --max-zoom/,
    ],
  ] as const)
    t.match(await run(`project base-map city ${given}`), { status: 1, stderr: told });
  const near = await run("project base-map city biultin");
  t.match(near, { status: 2, stderr: /builtin-dark, none, or the address .*; did you mean builtin\?/ });
  t.equal((await run("project base-map nowhere none")).status, 1);
  t.equal((await run("project base-map city builtin-dark")).status, 0);
  t.same(await base(), { base: { kind: "builtin", style: "dark" } });
  t.equal((await run("project base-map city builtin")).status, 0);
  t.same(await base(), { base: { kind: "builtin" } });
  t.equal((await run("project delete doomed --yes")).status, 0);
  t.match((await run("project list")).stdout, /^CODE .*\ncity +ru,en +0 +0 +City\n$/);
  const again = await run("project create city");
  t.equal(again.status, 1);
  t.match(again.stderr, /error: .*already/);
  t.equal((await run("project delete doomed --yes")).status, 1);
});

t.test("what cannot be undone is asked for, or meant", async (t) => {
  await run("project create kept");
  t.match(await run("project delete kept"), { status: 2, stderr: /--yes/ });
  t.match(await run("user remove nobody"), { status: 2, stderr: /--yes/ });
  t.match((await run("project list")).stdout, /^kept /m);
  t.match(await run("project delete kept --yes --json"), {
    status: 0,
    stdout: '{"project":"kept","deleted":true}\n',
    stderr: "",
  });
});

t.test("results and errors come as JSON where that is asked for", async (t) => {
  const json = async (line: string, input?: string) => {
    const { status, stdout, stderr } = await run(`${line} --json`, input);
    return { status, out: stdout && JSON.parse(stdout), error: stderr && JSON.parse(stderr).error };
  };
  t.match(await json("project create city"), {
    status: 1,
    out: "",
    error: { code: "code_exists", message: /already/ },
  });
  t.match(await json("project create json --name J"), {
    status: 0,
    out: { project: "json", name: "J" },
    error: "",
  });
  t.match(await json("map create json m"), {
    status: 0,
    out: { project: "json", map: "m", has_publication: true },
  });
  t.match(await json("map unpublish json m"), { status: 0, out: { has_publication: false } });
  t.match(await json("map group json m"), { status: 0, out: { map: "m", group_layers: 1 } });
  t.match(await json("map list json"), { out: [{ code: "m", group_layers: 1 }] });
  t.match(await json("map ungroup json m"), { status: 0, out: { group_layers: 0 } });
  t.match(await json("map create json whole --group-layers"), { out: { group_layers: 1 } });
  t.match(await json("map rename json m n"), { out: { map: "n", was: "m" } });
  t.match(await json("user add zoe --project json", "zoe's word\n"), {
    out: { login: "zoe", role: "viewer", created: true },
  });
  t.match(await json("grant zoe --project json --rights read"), { out: { login: "zoe", rights: "read" } });
  const opened = await json("session open zoe --project json");
  t.match(await sessions.find(opened.out.token), { login: "zoe" });
  t.match(await json("user remove zoe --yes"), { out: { login: "zoe", project: null, removed: true } });
  t.match(await json("map delete json n --yes"), { out: { map: "n", deleted: true } });
  t.match(await json("project delete nowhere --yes"), { status: 1, error: { code: "project_not_found" } });
  t.match(await json("project delete json"), { status: 2, error: { code: "usage", message: /--yes/ } });
  t.match(await json("project create"), {
    status: 2,
    error: { code: "usage", message: /missing required argument/ },
  });
  t.match(await json("project create a --nonsense"), {
    status: 2,
    error: { code: "usage", message: /unknown option/ },
  });
  t.match(await json("config check"), { status: 0, out: { valid: true } });
  await run("project delete json --yes");
});

t.test("passwords that are guessed soon are refused", async (t) => {
  await run("project create guarded");
  const add = (login: string, word: string) => run(`user add ${login} --project guarded`, `${word}\n`);
  t.match(await add("ann", "1234567"), { status: 1, stderr: /at least 8 characters/ });
  t.match(await add("annabella", "AnnaBella"), { status: 1, stderr: /not be the login/ });
  t.match(await add("ann", "пароль12"), { status: 0 });
  t.match(await run("user password ann", "short\n"), { status: 1, stderr: /at least 8 characters/ });
  await run("user remove ann --yes");
  await run("project delete guarded --yes");
});

t.test("a user's password comes from standard input where there is no terminal", async (t) => {
  const added = await run("user add anna --project city --role admin", "first word\nsecond line\n");
  t.equal(added.status, 0, added.stderr);
  const project = await projectId(db, "city");
  t.ok(await authenticate(db, project, "anna", "first word"));
  t.equal((await run("user add boris --project city", "")).status, 1);
  await run("project create second");
  t.match(await run("user add anna --project second", ""), { status: 1, stderr: /city.*--existing/s });
  const existing = await run("user add anna --existing --project second --role editor");
  t.match(existing, { status: 0, stderr: /same account and password as in city/ });
  const again = await run("user add anna --project city", "other password\n");
  t.match(
    again,
    { status: 1, stderr: /--role changes the role/ },
    "an administrator does not become a viewer",
  );
  t.match(await run("user add anna --project second --role viewer"), { stderr: /keeps its password/ });
  const [{ account }] = JSON.parse((await run("user list --json")).stdout);
  t.same(JSON.parse((await run("user list --json")).stdout), [
    { login: "anna", project: "city", role: "admin", account },
    { login: "anna", project: "second", role: "viewer", account },
  ]);
  t.match((await run("user list --project second")).stdout, /^LOGIN .*\nanna +second +viewer +\d+\n$/);
});

t.test("the same login in two projects is two users", async (t) => {
  await run("project create third");
  t.match(await run("user add anna --project third", "word of the third\n"), { status: 0 });
  const ids = Object.fromEntries(
    await Promise.all(["city", "second", "third"].map(async (code) => [code, await projectId(db, code)])),
  );
  const enters = async (code: string, word: string) =>
    (await authenticate(db, ids[code], "anna", word)) !== undefined;
  t.same([await enters("third", "word of the third"), await enters("third", "first word")], [true, false]);
  t.ok(await enters("city", "first word"));
  t.match(await run("user password anna", "new word\n"), {
    status: 1,
    stderr: /city, second; third.*Name a project/,
  });
  t.match(await run("user password anna --project third", "third word\n"), { status: 0 });
  const changed = await run("user password anna --project second", "another word\n");
  t.match(changed, { status: 0, stderr: /in all of its projects: city, second/ });
  t.same([await enters("city", "another word"), await enters("third", "third word")], [true, true]);
  await run("project create fourth");
  t.match(await run("user add anna --existing --project fourth"), {
    status: 1,
    stderr: /city, second; third/,
  });
  t.match(await run("user add anna --existing third --project fourth"), { status: 0 });
  t.match(await run("user add anna --existing third --project city"), {
    status: 1,
    stderr: /another account/,
  });
  t.match(await run("user remove anna --yes"), { status: 1, stderr: /Name a project/ });
  for (const code of ["third", "fourth"])
    t.equal((await run(`user remove anna --project ${code} --yes`)).status, 0);
  await run("project delete third --yes");
  await run("project delete fourth --yes");
  t.match(await run("user password anna", "first word\n"), { status: 0 }, "there is only one left");
});

t.test("a new password ends the sessions that were open", async (t) => {
  const opened = await run("session open anna --project city");
  t.equal(opened.status, 0, opened.stderr);
  const token = opened.stdout.trim();
  t.match(await sessions.find(token), { login: "anna", origin: "console" });
  t.equal((await run("user password anna", "new word\n")).status, 0);
  t.equal(await sessions.find(token), undefined);
  t.ok(await authenticate(db, await projectId(db, "city"), "anna", "new word"));
  t.match(await run("user password nobody", "some word\n"), { status: 1, stderr: /nobody/ });
  t.match(await run("session open nobody --project city"), { status: 1, stdout: "" });
  const api = await run("session open anna --project city --origin api");
  t.match(await sessions.find(api.stdout.trim()), { origin: "api" });
});

t.test("maps are listed, published and unpublished", async (t) => {
  const project = await projectId(db, "city");
  await createLayer(db, await createMap(db, project, { code: "roads" }), { code: "pipes" });
  t.equal((await run("map unpublish city roads")).status, 0);
  t.match(JSON.parse((await run("map list city --json")).stdout), [
    { code: "roads", has_publication: false },
  ]);
  t.match((await run("map list city")).stdout, /roads +no/);
  t.equal((await run("map publish city roads")).status, 0);
  t.match((await run("map list city")).stdout, /roads +yes/);
  t.equal((await run("map publish city nothing")).status, 1);
});

t.test("maps are created, renamed and deleted, and so are their layers", async (t) => {
  const codes = async () =>
    (JSON.parse((await run("map list city --json")).stdout) as { code: string }[]).map(({ code }) => code);
  t.match(await run("map create city paths --name Paths --unpublished"), { status: 0, stdout: "" });
  t.match(JSON.parse((await run("map list city --json")).stdout), [
    { code: "roads" },
    { code: "paths", name: "Paths", has_publication: false },
  ]);
  t.match(await run("map create city paths"), { status: 1, stderr: /already/ });
  t.match(await run("map rename city paths roads"), { status: 1, stderr: /already/ });
  t.match(await run("map rename city paths maps"), { status: 1, stderr: /reserved/ });
  t.match(await run("map rename city none ways"), { status: 1, stderr: /no map "none"/ });
  t.match(await run("map rename city paths ways"), { status: 0, stderr: /city\/ways now/ });
  t.same(await codes(), ["roads", "ways"]);

  const ways = await findMapId(db, await projectId(db, "city"), "ways");
  const folder = await createFolder(db, ways, { code: "f" });
  await createLayer(db, ways, { code: "inside", parentId: folder });
  await createLayer(db, ways, { code: "first", sort: 1 });
  const layers = JSON.parse((await run("layer list city ways --json")).stdout);
  t.match(layers, [
    { code: "first", folder: "", type: "layer" },
    { code: "inside", folder: "f" },
  ]);
  t.match((await run("layer list city ways")).stdout, /^ID +CODE .*\n\d+ +first .*\n\d+ +inside +layer +f$/m);
  t.match(await run("layer delete city ways first"), { status: 2, stderr: /--yes/ });
  t.match(await run("layer delete city ways first --yes"), { status: 0, stderr: /deleted/ });
  t.match(await run("layer delete city ways first --yes"), { status: 1, stderr: /no layer "first"/ });
  t.same(JSON.parse((await run("layer list city ways --json")).stdout).length, 1);
  t.match(await run("map delete city ways"), { status: 2, stderr: /--yes/ });
  t.same(await codes(), ["roads", "ways"]);
  t.match(await run("map delete city ways --yes"), { status: 0, stderr: /deleted/ });
  t.same(await codes(), ["roads"]);
  const tables = () =>
    db.query("select from pg_class where relname = any($1)", [
      layers.map(({ id }: { id: number }) => `l${id}`),
    ]);
  t.equal((await tables()).length, layers.length, "in the bin");
  t.match(await run("bin empty city --yes"), { status: 0 });
  t.same(await tables(), []);
});

t.test("every command tells which project, map, layer or user may be meant", async (t) => {
  for (const [line, meant] of [
    ["project base-map ctiy none", "city"],
    ["project delete ctiy --yes", "city"],
    ["user password anna --project ctiy", "city"],
    ["user add nina --existing ctiy --project city", "city"],
    ["session open anna --project ctiy", "city"],
    ["user password ana", "anna"],
    ["user password ana --project city", "anna"],
    ["user remove ana --yes", "anna"],
    ["user remove ana --project city --yes", "anna"],
    ["user add ana --existing --project city", "anna"],
    ["session open ana --project city", "anna"],
    ["grant ana --project city --rights read", "anna"],
    ["map publish city raods", "roads"],
    ["grant anna --project city --map raods --rights read", "roads"],
    ["grant anna --project city --map roads --layer pieps --rights read", "pipes"],
    ["layer delete city roads pieps --yes", "pipes"],
    ["export city roads pieps pipes.csv", "pipes"],
    ["export city roads roads.mbtiles --layers pieps", "pipes"],
    ["cache warm city roads --layers pieps", "pipes"],
  ] as const) {
    const { status, stderr } = await run(line, "battery-staple\n");
    t.equal(status, 1, line);
    t.match(stderr, `; did you mean ${meant}?`, line);
  }
});

t.test("grants are given and taken back", async (t) => {
  const grants = async () => (await loadProject(db, "city"))!.grants.map((grant) => grant.rights);
  t.equal((await run("grant anna --project city --map roads --layer pipes --rights read,edit")).status, 0);
  t.equal((await run("grant public --project city --map roads --rights none")).status, 0);
  t.same(await grants(), [3, 0]);
  t.equal((await run("grant public --project city --map roads --rights default")).status, 0);
  t.same(await grants(), [3]);
  t.match(await run("grant anna --project city --layer pipes --rights read"), { status: 2, stderr: /--map/ });
  t.equal((await run("grant anna --project city --rights fly")).status, 2);
  t.equal((await run("grant nobody --project city --rights read")).status, 1);
});

t.test("a grant that changes nothing for now says so", async (t) => {
  await run("map unpublish city roads");
  const told = async (line: string) => {
    const { status, stderr } = await run(line);
    t.equal(status, 0, line);
    return stderr;
  };
  const read = "grant public --project city --map roads --rights read";
  t.match(await told(read), /map is not published.* map publish city roads/);
  t.match(await told(`${read} --layer pipes`), /not published/);
  t.match(await run(`${read} --json`), { stdout: /"has_effect":false/ });
  t.notMatch(await told("grant public --project city --map roads --rights none"), /not published/);
  await run("map publish city roads");
  t.notMatch(await told(read), /not published/);
  t.match(await run(`${read} --json`), { stdout: /"has_effect":true/ });
  for (const place of ["", " --map roads"]) {
    const line = `grant anna --project city${place} --rights none`;
    await run("user add anna --project city --role admin");
    t.match(await told(line), /Administrators/);
    await run("user add anna --project city --role viewer");
    t.notMatch(await told(line), /Administrators/);
  }
});

t.test("removing a user ends the sessions and keeps other projects' roles", async (t) => {
  const token = (await run("session open anna --project city")).stdout.trim();
  t.equal((await run("user remove anna --project city --yes")).status, 0);
  t.equal(await sessions.find(token), undefined);
  t.match(JSON.parse((await run("user list --json")).stdout), [{ login: "anna", project: "second" }]);
  t.equal((await run("user remove anna --yes")).status, 0);
  t.equal((await run("user remove anna --yes")).status, 1);
});

t.test("a purge drops this installation's tiles and tells running nodes", async (t) => {
  const listener = await db.dedicated();
  const told = new Promise((resolve) => listener.once("notification", (message) => resolve(message.payload)));
  await listener.query("listen mapwright");
  await redis.set(`${prefix}t:one`, "x");
  await redis.set(`${prefix}t:solid:two`, "x");
  const other = freshPrefix();
  await redis.set(`${other}t:one`, "x");
  await redis.set(`${prefix}s:session`, "x");
  t.match(await run("cache purge"), { status: 0, stderr: /^2 keys / });
  t.equal(await told, "C");
  t.equal(await redis.exists(`${prefix}t:one`, `${prefix}t:solid:two`), 0);
  t.equal(await redis.exists(`${other}t:one`, `${prefix}s:session`), 2);
  await redis.del(`${other}t:one`, `${prefix}s:session`);
  await listener.end();
});

t.test("an empty database gets its schema from the first command", async (t) => {
  const bare = await freshDatabase({ bare: true });
  t.teardown(() => bare.drop());
  const created = await runCommand(["project", "create", "p"], {
    variables: { DATABASE_URL: bare.url, REDIS_URL: testRedisUrl() },
  });
  t.equal(created.status, 0, created.stderr);
});

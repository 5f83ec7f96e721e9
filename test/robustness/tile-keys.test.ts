import t from "tap";
import { accountOf, addMember, removeMember, setPassword } from "../../src/access/accounts.js";
import { closeSessionsOf } from "../../src/access/sessions.js";
import { setPublication } from "../../src/catalog/maps.js";
import { createProject } from "../../src/catalog/projects.js";
import { get, grant, login, makeClosedMap, makeKey, statusOf } from "../api/tile-keys.support.js";
import { makeMap } from "../support/maps.js";
import { watchSafety } from "../support/safe.js";
import { startServer } from "../support/server.js";

/** A key shows the tiles of its map for as long as its user may see them, and is nothing anywhere else. */

const server = await startServer({ nodes: 2, config: { trustedProxies: ["127.0.0.1"] } });
t.teardown(() => server.stop());
const { services } = server.nodes[0]!;
const { redis, config } = services;
await makeMap(server, "good");
await makeClosedMap(server, "m");
await makeClosedMap(server, "n");
const viewer = await server.token("viewer");
const object = (await server.api("GET", "m/layers/l/objects/", { token: viewer })).json[0].id;
const project = await services.catalog.project("p");
const safe = await watchSafety(t, server, "/api/2.8/p/good/");

/** Statuses of what the key shows, at both nodes. */
async function shown(map: string, key: string, code = "p"): Promise<number[]> {
  const found = new Set<number>();
  for (const url of server.urls)
    for (const path of [
      ...["6/33/30.png", "6/33/30.mvt", "tile.json", "tile.mvt.json"].map(
        (name) => `/tms/${code}/${map}/${name}?`,
      ),
      `/tms/${code}/${map}/?x=33&y=33&z=6&`,
      `/api/2.8/${code}/${map}/layers/l/icon/?`,
      `/api/2.8/${code}/${map}/layers/l/legend/?extended=1&`,
    ])
      found.add(await statusOf(`${url}${path}key=${key}`));
  return [...found];
}

t.test("keys that are none, altered, of another map or project show nothing", async (t) => {
  const { key } = await makeKey(server, "m", viewer);
  t.same(await shown("m", key), [200]);
  const flipped = key.replace(/^./, (first) => (first === "A" ? "B" : "A"));
  for (const bad of [
    flipped,
    key.slice(0, -1),
    key.slice(1),
    `${key}A`,
    key.toUpperCase(),
    [...key].reverse().join(""),
    "A".repeat(43),
    "A".repeat(2_000),
    "*",
    "k:*",
    "null",
    `${key}%0a`,
    encodeURIComponent("') return 1 --"),
    viewer,
  ])
    t.same(await shown("m", bad), [401], bad.slice(0, 60));
  for (const text of ["%00", `${key}%00`, `${key}%ff`]) t.same(await shown("m", text), [400], text);
  t.same(await shown("m", `&key=${key}`), [403], "an empty one is none, and the first counts");
  t.same(await shown("m", `wrong&key=${key}`), [401]);
  t.same(await shown("n", key), [403], "another map");
  t.match((await get(`${server.url}/tms/p/n/6/33/30.png?key=${key}`)).text, /This key is for another map/);
  t.same(await shown("none", key), [404]);
  const other = await createProject(services.db, { code: "q" });
  await addMember(services.db, { login: "viewer", password: "v", projectId: other, role: "admin" });
  await services.db.query("insert into map (project_id, code, has_publication) values ($1, 'm', false)", [
    other,
  ]);
  await services.changes.propagate();
  for (const name of ["6/33/30.png", "tile.json"])
    t.equal(await statusOf(`${server.url}/tms/q/m/${name}?key=${key}`), 403, "a map of that code elsewhere");
  t.same(await shown("m", key), [200], "and it is still good");
  await safe.accept();
  await safe.holds(t, "keys that are none");
});

t.test("a key is no token, wherever it is sent", async (t) => {
  const { key } = await makeKey(server, "m", viewer);
  const admin = await server.token("admin");
  const { key: powerful } = await makeKey(server, "m", admin);
  const layer = "m/layers/l";
  const operations: readonly (readonly [string, string, unknown?])[] = [
    ["GET", "m/"],
    ["GET", "m/layers/"],
    ["GET", `${layer}/`],
    ["GET", `${layer}/structure/`],
    ["GET", `${layer}/objects/`],
    ["GET", `${layer}/objects/${object}/`],
    ["GET", `${layer}/count/`],
    ["GET", `${layer}/bbox/`],
    ["GET", `${layer}/export/?format=geojson`],
    ["GET", "m/export/?format=pmtiles"],
    ["GET", "m/search/?phrase=x"],
    ["GET", "maps/available/"],
    ["GET", "users/list/"],
    ["POST", "m/tile-key/", {}],
    ["DELETE", "m/tile-key/"],
    ["POST", "ext-auth/", { login: "viewer" }],
    ["POST", "logout/", {}],
    ["POST", `${layer}/objects/`, { fields: {} }],
    ["DELETE", `${layer}/objects/${object}/`],
    ["DELETE", "m/"],
  ];
  for (const [method, path, body] of operations) {
    const with_ = (query: string) => `${path}${path.includes("?") ? "&" : "?"}${query}`;
    for (const secret of [key, powerful]) {
      const asKey = await server.api(method, with_(`key=${secret}`), { body });
      t.ok([401, 403].includes(asKey.status), `${method} ${path} with a key: ${asKey.status}`);
      t.equal((await server.api(method, path, { body, token: secret })).status, 401, `${method} ${path}`);
      t.equal((await server.api(method, with_(`token=${secret}`), { body })).status, 401);
      const bearer = { headers: { authorization: `Bearer ${secret}` } };
      t.equal((await server.api(method, path, { body, ...bearer })).status, 401);
    }
  }
  t.equal((await server.api("GET", `authorized/?key=${key}`)).text, "false");
  t.equal((await server.api("GET", `authorized/?token=${key}`)).text, "false");
  const tms = `${server.url}/tms/p/m`;
  t.equal(await statusOf(`${tms}/changes/?key=${key}`), 403, "no stream of changes");
  t.equal(await statusOf(`${tms}/6/33/30.png?token=${key}`), 401);
  t.equal(await statusOf(`${tms}/6/33/30.png`, { "x-token": key }), 401);
  t.equal(await statusOf(`${tms}/6/33/30.png?key=${key}`, { "x-token": "wrong" }), 401, "a token first");
  t.equal(await statusOf(`${tms}/6/33/30.png?key=wrong`, { "x-token": viewer }), 200);
  t.equal(await statusOf(`${tms}/6/33/30.png`, { key, "x-key": key, cookie: `key=${key}` }), 403);
  t.equal(await statusOf(`${server.url}/viewer/maps.json?project=p&token=${key}`), 401);
  t.equal((await server.api("GET", "m/", { token: viewer })).status, 200, "the session goes on");
  await safe.holds(t, "keys in place of tokens");
});

t.test("a key ends at once with what it stands on", async (t) => {
  const made = async (token: string) => (await makeKey(server, "m", token)).key;
  const fresh = () => login(server, "viewer");

  const left = await fresh();
  const key = await made(left);
  const json = await get(`${server.url}/tms/p/m/tile.json`, { "x-token": left });
  const shared = /key=([\w-]{43})/.exec(json.text)![1]!;
  t.same([await shown("m", key), await shown("m", shared)], [[200], [200]]);
  t.equal((await server.api("POST", "logout/", { token: left, node: 1 })).status, 200);
  t.same([await shown("m", key), await shown("m", shared)], [[401], [401]], "logout");
  t.equal((await server.api("POST", "m/tile-key/", { token: left, body: {} })).status, 401);

  const kept = await made(await fresh());
  await grant(server, { login: "viewer", map: "m" }, 0);
  t.same(await shown("m", kept), [403], "the right to read is taken away");
  await grant(server, { login: "viewer", map: "m" }, undefined);
  t.same(await shown("m", kept), [200]);
  t.equal((await server.api("DELETE", "m/tile-key/", { token: viewer, node: 1 })).json.ended > 0, true);
  t.same(await shown("m", kept), [401], "it is deleted");

  for (const user of ["leaver", "changer"])
    await addMember(services.db, {
      login: user,
      password: `${user}${user}`,
      projectId: project.id,
      role: "viewer",
    });
  await services.changes.propagate();
  const leavers = await made(await login(server, "leaver"));
  t.same(await shown("m", leavers), [200]);
  await removeMember(services.db, "leaver");
  await services.changes.propagate();
  t.same(await shown("m", leavers), [401], "the user is deleted, though the session is still there");

  const changers = await made(await login(server, "changer"));
  const { id } = await setPassword(services.db, await accountOf(services.db, "changer"), "another one");
  await closeSessionsOf(redis, config.redisPrefix, id);
  t.same(await shown("m", changers), [401], "a new password");

  const editor = await server.token("editor");
  const borrowed = (await server.api("POST", "ext-auth/", { token: editor, body: { login: "changer" } })).json
    .token;
  const borrowers = await made(borrowed);
  t.same(await shown("m", borrowers), [200]);
  await grant(server, { login: "changer", map: "m" }, 15);
  t.same(await shown("m", borrowers), [401], "a session of another, who may do more now");
  await grant(server, { login: "changer", map: "m" }, undefined);
  t.same(await shown("m", borrowers), [200]);

  const before = await made(viewer);
  await setPublication(services.db, project.id, "m", true);
  await services.changes.propagate();
  t.same(await shown("m", "A".repeat(43)), [200], "a map that is public needs none");
  await setPublication(services.db, project.id, "m", false);
  await services.changes.propagate();
  t.same([await shown("m", before), await shown("m", "A".repeat(43))], [[200], [401]]);
  await server.sql.query("update map set code = 'renamed' where code = 'm'");
  await services.changes.propagate();
  t.same([await shown("m", before), await shown("renamed", before)], [[404], [200]], "it is the map's own");
  await server.sql.query("update map set code = 'm' where code = 'renamed'");
  await services.changes.propagate();
  const admin = await server.token("admin");
  t.equal((await server.api("DELETE", "n/", { token: admin })).status, 200);
  t.same(await shown("n", before), [404]);
  await safe.accept();
  await safe.holds(t, "what keys stand on is taken away");
});

t.test("guesses count as requests of who guesses, and good keys as those of their users", async (t) => {
  const limited = await startServer({
    config: { trustedProxies: ["127.0.0.1"], "limits.tiles": 5 },
  });
  t.teardown(() => limited.stop());
  await makeClosedMap(limited, "m");
  const { key } = await makeKey(limited, "m", await limited.token("viewer"));
  const ask = (from: string, guess: string) =>
    statusOf(`${limited.url}/tms/p/m/6/33/30.png?key=${guess}`, { "x-forwarded-for": from });
  const guesses = [];
  for (let i = 0; i < 12; i++) guesses.push(await ask("198.51.100.1", String(i).padEnd(43, "A")));
  t.same(guesses.slice(0, 5), new Array(5).fill(401));
  t.ok(guesses.filter((status) => status === 429).length >= 5, guesses.join());
  t.equal(await ask("198.51.100.1", key), 200, "a good key is its user's, wherever it comes from");
  const uses = [];
  for (let i = 0; i < 12; i++) uses.push(await ask(`203.0.113.${i}`, key));
  t.ok(uses.filter((status) => status === 429).length >= 5, uses.join());
});

t.test("while keys cannot be checked the public's tiles go on, and no other", async (t) => {
  const alone = await startServer({ config: { redisUrl: "redis://127.0.0.1:1" } });
  t.teardown(() => alone.stop());
  for (const [code, open] of [
    ["m", true],
    ["closed", false],
  ])
    await alone.sql.query(
      "insert into map (project_id, code, has_publication) select id, $1, $2 from project where code = 'p'",
      [code, open],
    );
  const key = `key=${"A".repeat(43)}`;
  for (const name of ["0/0/0.png", "tile.json", "tile.mvt.json"]) {
    t.equal(await statusOf(`${alone.url}/tms/p/m/${name}?${key}`), 200);
    t.equal(await statusOf(`${alone.url}/tms/p/closed/${name}?${key}`), 503);
  }
});

import t from "tap";
import { secretHash } from "../../src/access/sessions.js";
import { mostOfAccount, mostOfSession } from "../../src/access/tile-keys.js";
import { toldCdn } from "../support/cdn.js";
import { makeMap, makeStyledLayer } from "../support/maps.js";
import { picture } from "../support/pictures.js";
import { startServer } from "../support/server.js";
import { get, grant, inRed, login, makeClosedMap, makeKey, statusOf } from "./tile-keys.support.js";

/** Keys by which other programs show the tiles of a map that is not public. */

const server = await startServer({
  nodes: 2,
  config: { ...toldCdn, tileKeySeconds: 3_600, sessionIdleSeconds: 120 },
});
/** After which a use of a key is one of its session again. */
const rest = () => new Promise((resolve) => setTimeout(resolve, 2_100));
t.teardown(() => server.stop());
const { services } = server.nodes[0]!;
const { redis, config } = services;
await makeClosedMap(server, "m");
const viewer = await server.token("viewer");
const tms = `${server.url}/tms/p/m`;

t.test("a key is made by who may read the map, and its addresses show it on each node", async (t) => {
  const before = Date.now();
  const made = await makeKey(server, "m", viewer);
  t.match(made.key, /^[\w-]{43}$/);
  t.equal(made.url, `${tms}/{z}/{x}/{y}.png?key=${made.key}`);
  t.equal(made.tilejson, `${tms}/tile.json?key=${made.key}`);
  const life = Date.parse(made.expires) - before;
  t.ok(life > 3_590_000 && life < 3_610_000, `${life} ms`);
  for (const url of server.urls) {
    const tile = await get(inRed(made.url).replace(server.url, url));
    t.equal(tile.status, 200);
    t.equal(tile.headers.get("cache-control"), "private, no-store");
    t.equal(tile.headers.get("surrogate-key"), null);
    t.same((await picture(tile.body)).at(128, 128), [255, 0, 0, 255]);
  }
  const key = `key=${made.key}`;
  const api = `${server.url}/api/2.8/p/m/layers/l`;
  for (const path of [
    `${tms}/6/33/30@2x.png?${key}`,
    `${tms}/6/33/30.webp?${key}`,
    `${tms}/6/33/30.mvt?${key}`,
    `${tms}/?x=33&y=33&z=6&${key}`,
    `${tms}/tms/6/33/33.png?${key}`,
    `${tms}/tms/tilemapresource.xml?${key}`,
    `${tms}/tile.json?${key}`,
    `${tms}/tile.mvt.json?${key}`,
    `${api}/icon/?${key}`,
    `${api}/legend/?extended=1&${key}`,
  ]) {
    const answer = await get(path);
    t.equal(answer.status, 200, path);
    t.equal(answer.headers.get("cache-control"), "private, no-store", path);
    t.equal(await statusOf(path.replace(key, "")), 403, `${path} without it`);
  }
});

t.test("a life that is shorter is as asked for, and a longer one is cut", async (t) => {
  const short = await makeKey(server, "m", viewer, { seconds: 60 });
  const left = Date.parse(short.expires) - Date.now();
  t.ok(left > 50_000 && left <= 61_000, `${left} ms`);
  const long = await makeKey(server, "m", viewer, { seconds: 1_000_000 });
  t.ok(Date.parse(long.expires) - Date.now() <= 3_601_000);
  const form = await fetch(`${server.url}/api/2.8/p/m/tile-key/`, {
    method: "POST",
    body: new URLSearchParams({ token: viewer, seconds: "60" }),
  });
  t.equal(form.status, 200, "by a form with the token, too");
  for (const seconds of [0, -1, 1.5, "x", {}])
    t.equal((await server.api("POST", "m/tile-key/", { token: viewer, body: { seconds } })).status, 400);
  const brief = await makeKey(server, "m", viewer, { seconds: 1 });
  t.equal(await statusOf(inRed(brief.url)), 200);
  await new Promise((resolve) => setTimeout(resolve, 1_100));
  t.match(await get(inRed(brief.url)), { status: 401, text: /The key is unknown or has expired/ });
});

t.test("a session is needed, and the right to read", async (t) => {
  for (const method of ["POST", "DELETE"]) {
    t.equal((await server.api(method, "m/tile-key/")).status, 401);
    t.equal((await server.api(method, "none/tile-key/", { token: viewer })).status, 404);
    await grant(server, { login: "viewer", map: "m" }, 0);
    t.equal((await server.api(method, "m/tile-key/", { token: viewer })).status, 403);
    await grant(server, { login: "viewer", map: "m" }, undefined);
    t.equal((await server.api(method, "m/tile-key/", { token: viewer })).status, 200);
  }
  t.equal((await server.api("GET", "m/tile-key/", { token: viewer })).status, 405);
});

t.test("tiles are those of the user, from the caches of all who see the same", async (t) => {
  const { metrics } = services;
  const { url, key } = await makeKey(server, "m", viewer);
  const own = await get(inRed(url));
  const byToken = await get(inRed(url).replace(/\?.*/, ""), { "x-token": viewer });
  const byOther = await get(inRed(url).replace(/\?.*/, ""), { "x-token": await server.token("admin") });
  t.same(own.body, byToken.body);
  t.same(own.body, byOther.body);
  t.equal(own.headers.get("etag"), byToken.headers.get("etag"));
  t.equal(await statusOf(inRed(url), { "if-none-match": own.headers.get("etag")! }), 304);
  const rendered = async () =>
    /mapwright_tiles_total\{source="render"\} \d+/.exec((await metrics.expose()).text)?.[0];
  const before = await rendered();
  t.ok(before);
  const another = await makeKey(server, "m", await login(server, "editor"));
  t.same((await get(inRed(another.url))).body, own.body);
  t.equal(await rendered(), before, "nothing is drawn again");
  const blue = `${tms}/6/37/30.png?base=0&key=${key}`;
  const { painted } = await picture((await get(blue)).body);
  t.ok(painted > 0);
  await grant(server, { login: "viewer", map: "m", layer: "kept" }, 0);
  t.equal((await picture((await get(blue)).body)).painted, 0, "a layer that is taken away is gone at once");
  await grant(server, { login: "viewer", map: "m", layer: "kept" }, undefined);
  t.same((await picture((await get(blue)).body)).painted, painted);
});

t.test("a TileJSON that a session asks for has a key, always the same one", async (t) => {
  const token = await login(server, "viewer");
  const json = async (query = "", name = "tile.json", of = token) => {
    const answer = await fetch(`${tms}/${name}${query}`, { headers: { "x-token": of } });
    t.equal(answer.headers.get("cache-control"), "private, no-store");
    const text = await answer.text();
    t.notMatch(text, of);
    return JSON.parse(text).tiles[0] as string;
  };
  const template = await json();
  t.match(template, new RegExp(`^${tms}/\\{z\\}/\\{x\\}/\\{y\\}\\.png\\?key=[\\w-]{43}$`));
  t.equal(await statusOf(inRed(template)), 200);
  t.equal(await json(), template);
  const key = template.replace(/.*key=/, "");
  t.equal(await json("", "tile.mvt.json"), `${tms}/{z}/{x}/{y}.mvt?key=${key}`);
  t.equal(
    await json("?base=0&lng=ru&f=webp"),
    template.replace(".png?", ".webp?").replace("key=", "base=0&lng=ru&key="),
  );
  t.not(await json("", "tile.json", await login(server, "viewer")), template, "another session's is another");
  const again = JSON.parse((await get(`${tms}/tile.json?key=${key}`)).text);
  t.same(again.tiles, [template], "a key is handed on as it is");
  t.same(
    (await server.api("DELETE", `m/tile-key/?key=${key}`, { token })).json,
    { ended: 1 },
    "it can be ended",
  );
  const next = await json();
  t.not(next, template, "and is not given again");
  t.equal(await statusOf(inRed(template)), 401);
  t.equal(await statusOf(inRed(next)), 200);
});

t.test("where the public sees the same there is no need of a key", async (t) => {
  await makeMap(server, "open");
  await makeStyledLayer(server, "open", "a", "#a { polygon-fill: #f00; }");
  const url = `${server.url}/tms/p/open/tile.json`;
  const tiles = async (headers: Record<string, string> = {}, query = "") =>
    JSON.parse((await get(url + query, headers)).text).tiles[0] as string;
  const open = await tiles();
  t.notMatch(open, /key=/);
  t.equal(await tiles({ "x-token": viewer }), open);
  const { key } = await makeKey(server, "open", viewer);
  t.equal(await tiles({}, `?key=${key}`), open);
  await grant(server, { login: null, map: "open", layer: "a" }, 0);
  t.match(await tiles({ "x-token": viewer }), /\?key=/, "a layer is kept from the public");
  t.equal(await tiles({}, `?key=${key}`), `${open}?key=${key}`);
  t.equal(await tiles(), open);
  for (const bad of ["A".repeat(43), "x", (await makeKey(server, "m", viewer)).key]) {
    const answer = await get(`${url}?key=${bad}`);
    t.equal(answer.status, 200, "a bad key is none where the public may see");
    t.equal(answer.headers.get("cache-control"), "private, no-store");
    t.equal(JSON.parse(answer.text).tiles[0], open);
  }
});

t.test("its use keeps the session, which shows no more than it, and no other use does", async (t) => {
  const token = await login(server, "viewer");
  const [before, m] = [await redis.keys(`${config.redisPrefix}s:*`), await makeKey(server, "m", token)];
  const session = `${config.redisPrefix}s:${secretHash(token)}`;
  t.ok(before.includes(session));
  const leftAfter = async (url: string, status: number) => {
    await redis.pexpire(session, 60_000);
    t.equal(await statusOf(url), status, url);
    return redis.pttl(session);
  };
  t.ok((await leftAfter(inRed(m.url), 200)) > 100_000, "who looks at a map asks for tiles only");
  await rest();
  t.ok((await leftAfter(m.tilejson, 200)) > 100_000);
  await makeClosedMap(server, "other");
  await rest();
  t.ok((await leftAfter(inRed(m.url).replace("/m/", "/other/"), 403)) <= 60_000, "another map");
  t.ok((await leftAfter(`${server.url}/api/2.8/p/m/?key=${m.key}`, 403)) <= 60_000);
  t.ok((await leftAfter(`${server.url}/api/2.8/p/m/?token=${m.key}`, 401)) <= 60_000);
  t.ok((await leftAfter(inRed(m.url), 200)) > 100_000);
  await redis.pexpire(session, 1);
  await new Promise((resolve) => setTimeout(resolve, 20));
  t.equal(await statusOf(inRed(m.url)), 401, "and it ends when nobody uses either");
  t.equal(await redis.exists(session), 0);
});

t.test("keys are ended one by one, all of a user, or by administrators all of a map", async (t) => {
  const tokens = { viewer: await login(server, "viewer"), editor: await login(server, "editor") };
  const admin = await server.token("admin");
  const end = async (token: string, query = "", map = "m") => {
    const answer = await server.api("DELETE", `${map}/tile-key/${query}`, { token });
    return answer.status === 200 ? answer.json.ended : answer.status;
  };
  for (const token of [...Object.values(tokens), admin]) await end(token);
  const [one, two] = [await makeKey(server, "m", tokens.viewer), await makeKey(server, "m", tokens.viewer)];
  const elsewhere = await makeKey(server, "other", tokens.viewer);
  const others = await makeKey(server, "m", tokens.editor);
  const works = async (made: { url: string }) => (await statusOf(inRed(made.url))) === 200;
  t.equal(await end(tokens.editor, `?key=${one.key}`), 0, "another's key");
  t.equal(await end(tokens.viewer, `?key=${one.key}`, "other"), 0, "another map's");
  t.equal(await end(tokens.viewer, "?key=nonsense"), 0);
  t.ok((await works(one)) && (await works(others)));
  t.equal(await end(tokens.viewer, `?key=${one.key}`), 1);
  t.equal(await end(tokens.viewer, `?key=${one.key}`), 0);
  t.same([await works(one), await works(two), await works(others)], [false, true, true]);
  const session = await makeKey(server, "m", await login(server, "viewer"));
  t.equal(await end(tokens.viewer), 2, "those of the user's other sessions, too");
  t.same(await Promise.all([two, session, elsewhere, others].map(works)), [false, false, true, true]);
  t.equal(await end(tokens.viewer, "?all=1"), 403);
  const third = await makeKey(server, "m", tokens.viewer);
  t.equal(await end(admin, `?all=1&key=${third.key}`), 1, "an administrator ends anybody's");
  t.equal(await end(admin), 0, "and has none here");
  t.ok(await works(others));
  t.equal(await end(admin, "?all=1"), 1);
  t.same(await Promise.all([elsewhere, others].map(works)), [true, false]);
});

t.test("a session has only so many keys, and others stay", async (t) => {
  const token = await login(server, "viewer");
  const ask = () => server.api("POST", "m/tile-key/", { token, body: {} });
  const answers = await Promise.all(Array.from({ length: mostOfSession + 6 }, ask));
  const made = answers.filter(({ status }) => status === 200);
  t.equal(made.length, mostOfSession);
  t.match(
    answers.find(({ status }) => status === 500),
    { json: { code: "invalid_value", message: /This session has 64 keys already/, data: { most: 64 } } },
  );
  t.equal(new Set(made.map(({ json }) => json.key)).size, mostOfSession);
  for (const { json } of made) t.equal(await statusOf(inRed(json.url)), 200);
  const other = await login(server, "viewer");
  t.ok(await makeKey(server, "m", other), "another session has its own");
  const json = await get(`${tms}/tile.json`, { "x-token": token });
  t.match(json.text, /key=/, "and a TileJSON has one still");
  t.equal((await server.api("DELETE", `m/tile-key/?key=${made[0]!.json.key}`, { token })).json.ended, 1);
  t.equal((await ask()).status, 200, "there is room for another");
  await server.api("DELETE", "m/tile-key/", { token });
});

t.test("keys of sessions that have ended make room, and no user takes more than a share", async (t) => {
  const { accountId } = (await services.sessions.find(await server.token("editor")))!;
  const list = `${config.redisPrefix}ka:${accountId}`;
  const ends = Date.now() + 1_000_000;
  const listed = (session: string, i: number) =>
    `${String(i).padStart(43, "h")} ${session} 1 a ${String(i).padStart(22, "n")}`;
  const dead = Array.from({ length: mostOfAccount }, (_, i) => [ends, listed("d".repeat(43), i)]);
  await redis.zadd(list, ...dead.flat());
  const token = await login(server, "editor");
  t.ok(await makeKey(server, "m", token), "in place of those whose session has ended");
  t.ok((await redis.zcard(list)) < mostOfAccount);
  const alive = Array.from({ length: mostOfAccount }, (_, i) => [ends - 1, listed(secretHash(viewer), i)]);
  await redis.zadd(list, ...alive.flat());
  t.match(await server.api("POST", "m/tile-key/", { token, body: {} }), {
    status: 500,
    json: { code: "invalid_value", data: { most: mostOfAccount } },
  });
  const json = await get(`${tms}/tile.json`, { "x-token": token });
  t.equal(json.status, 200);
  t.notMatch(json.text, /key=/);
  await redis.del(list);
});

t.test("a key that is not in the list of its user is none", async (t) => {
  const token = await login(server, "editor");
  const { accountId } = (await services.sessions.find(token))!;
  const { url } = await makeKey(server, "m", token);
  t.equal(await statusOf(inRed(url)), 200);
  await redis.del(`${config.redisPrefix}ka:${accountId}`);
  await rest();
  t.equal(await statusOf(inRed(url)), 401, "as if Redis had dropped the list for want of memory");
});

import { Writable } from "node:stream";
import t from "tap";
import { setPublication } from "../../src/catalog/maps.js";
import { createLog } from "../../src/log.js";
import { makeMap } from "../support/maps.js";
import { startServer } from "../support/server.js";

let logged = "";
const log = createLog(
  "trace",
  "test",
  new Writable({
    write(chunk, _encoding, done) {
      logged += chunk;
      done();
    },
  }) as unknown as Parameters<typeof createLog>[2],
);
const server = await startServer({ log });
t.teardown(() => server.stop());
const { catalog, redis, config } = server.nodes[0]!.services;
const base = `${server.url}/api/2.8/p`;
const tile = `${server.url}/tms/p/m/?x=0&y=0&z=0`;
await makeMap(server, "m");
const token = await server.token("admin");
const madeUp = "M".repeat(43);
await makeMap(server, "closed");
await setPublication(server.nodes[0]!.services.db, (await catalog.project("p")).id, "closed", false);
await server.nodes[0]!.services.changes.propagate();
const key: string = (await server.api("POST", "closed/tile-key/", { token, body: {} })).json.key;

/** Every way in which a token travels, in requests that succeed and in others that fail. */
async function travel(secret: string): Promise<Response[]> {
  const json = { "content-type": "application/json" };
  return [
    await fetch(`${base}/m/?token=${secret}`),
    await fetch(`${base}/m/`, { headers: { "x-token": secret } }),
    await fetch(`${base}/m/`, { headers: { authorization: `Bearer ${secret}` } }),
    await fetch(`${base}/nowhere/?token=${secret}`),
    await fetch(`${base}/m/nowhere/?token=${secret}`),
    await fetch(`${base}/m/?token=${secret}`, { method: "POST" }),
    await fetch(`${base}/ext-auth/`, {
      method: "POST",
      body: new URLSearchParams({ token: secret, login: "x" }),
    }),
    await fetch(`${base}/ext-login/`, { method: "POST", body: new URLSearchParams({ token: secret }) }),
    await fetch(`${base}/`, {
      method: "POST",
      headers: json,
      body: JSON.stringify({ token: secret, code: "a b" }),
    }),
    await fetch(`${base}/`, { method: "POST", headers: json, body: `{"token": "${secret}", ` }),
    await fetch(`${base}/m/layers/?type=x&token=${secret}`),
    await fetch(`${tile}&token=${secret}`),
    await fetch(`${tile}&z=99&token=${secret}`),
    await fetch(`${tile}&q=9&token=${secret}`),
    await fetch(`${server.url}/tms/p/m/tile.json?token=${secret}`),
    await fetch(`${server.url}/tms/p/m/0/0/0.png?token=${secret}`),
    await fetch(`${server.url}/?token=${secret}`),
    await fetch(`${server.url}/nowhere?token=${secret}`),
    await fetch(`${base}/m/?token=${secret}`, { headers: { accept: "application/problem+json" } }),
  ];
}

/** The ways of a key for tiles, in requests that succeed and in others that fail; but TileJSON, which is to have it. */
async function travelAsKey(secret: string): Promise<Response[]> {
  const closed = `${server.url}/tms/p/closed`;
  return Promise.all(
    [
      ...["0/0/0.png", "0/0/0.webp", "0/0/0.mvt", "0/0/9.png", "0/0/x.png", "99/0/0.png"].map(
        (path) => `${closed}/${path}?key=${secret}`,
      ),
      `${closed}/?x=0&y=0&z=0&key=${secret}`,
      `${closed}/?x=0&key=${secret}`,
      `${closed}/changes/?key=${secret}`,
      `${tile}&key=${secret}`,
      `${server.url}/tms/p/none/0/0/0.png?key=${secret}`,
      `${server.url}/tms/p/none/tile.json?key=${secret}`,
      `${server.url}/tms/p/m/tile.json?key=${secret}`,
      `${server.url}/tms/none/closed/0/0/0.png?key=${secret}`,
      `${base}/closed/layers/none/icon/?key=${secret}`,
      `${base}/closed/layers/none/legend/?key=${secret}`,
      `${base}/closed/?key=${secret}`,
      `${server.url}/nowhere?key=${secret}`,
    ].flatMap((url) => [
      fetch(url),
      fetch(url, { headers: { accept: "application/problem+json" } }),
      fetch(url, { method: "DELETE" }),
    ]),
  );
}

for (const [name, secret] of [
  ["a good token", token],
  ["a made-up one", madeUp],
  ["a key for tiles", key],
] as const) {
  t.test(`${name} is in no answer, and no answer sends it on`, async (t) => {
    for (const answer of [...(await travel(secret)), ...(await travelAsKey(secret))]) {
      const text = await answer.text();
      const path = new URL(answer.url).pathname;
      t.notMatch(text, secret, `${answer.status} ${path}`);
      t.notMatch(JSON.stringify([...answer.headers]), secret);
      t.equal(answer.headers.get("referrer-policy"), "no-referrer", path);
      t.equal(answer.headers.get("set-cookie"), null);
    }
  });
}

t.test("what a token decided is kept by nobody", async (t) => {
  for (const path of [`${base}/m/`, `${base}/m/layers/`, tile, `${server.url}/tms/p/m/tile.json`]) {
    for (const headers of [{ "x-token": token }, { authorization: `Bearer ${token}` }]) {
      const answer = await fetch(path, { headers });
      t.equal(answer.status, 200);
      t.equal(answer.headers.get("cache-control"), "private, no-store", path);
      await answer.arrayBuffer();
    }
  }
});

t.test("no cache has a token in a key or beside it", async (t) => {
  t.equal((await (await fetch(tile)).arrayBuffer()).byteLength > 0, true);
  const { tileAnswers } = server.nodes[0]!.services;
  t.ok(tileAnswers.ready("/tms/p/m/?x=0&y=0&z=0"), "a public answer is kept by its address");
  t.equal(tileAnswers.ready(`/tms/p/m/?x=0&y=0&z=0&token=${token}`), undefined);
  t.equal(tileAnswers.ready(`/tms/p/m/?x=0&y=0&z=0&token=${madeUp}`), undefined);
  for (const path of ["0/0/0.png", "0/0/0.mvt", "tile.json"])
    t.equal(tileAnswers.ready(`/tms/p/closed/${path}?key=${key}`), undefined);
  const names = await redis.keys(`${config.redisPrefix}*`);
  t.ok(names.some((name) => name.includes("k:")) && names.some((name) => name.includes("s:")));
  for (const name of names) {
    const type = await redis.type(name);
    const value = type === "string" ? await redis.getBuffer(name) : await redis.zrange(name, "0", "-1");
    for (const secret of [token, key]) t.notOk(name.includes(secret) || String(value).includes(secret), name);
  }
});

t.test("no log line has a token or a password", async (t) => {
  await server.api("POST", "login/", { body: { user: "editor", pass: "wrong-password" } });
  await fetch(`${base}/login/?user=editor&pass=wrong-password`, { method: "POST" });
  const { id } = (await server.api("POST", "members/", { token, body: { login: "anna" } })).json;
  const { invitation } = (await server.api("POST", `members/${id}/invitation/`, { token })).json;
  for (const password of ["short", "chosen-by-anna", "another-one"])
    await server.api("POST", "invitation/", { body: { invitation, password } });
  t.match(logged, "/api/2.8/p/invitation/", "requests are logged");
  for (const secret of [token, key, madeUp, "wrong-password", "adminadmin", invitation, "chosen-by-anna"])
    t.notOk(logged.includes(secret));
});

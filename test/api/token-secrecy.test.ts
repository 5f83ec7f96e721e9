import { Writable } from "node:stream";
import t from "tap";
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
const { redis, config } = server.nodes[0]!.services;
const base = `${server.url}/api/2.8/p`;
const tile = `${server.url}/tms/p/m/?x=0&y=0&z=0`;
await makeMap(server, "m");
const token = await server.token("admin");
const madeUp = "M".repeat(43);

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

for (const [name, secret] of [
  ["a good token", token],
  ["a made-up one", madeUp],
] as const) {
  t.test(`${name} is in no answer, and no answer sends it on`, async (t) => {
    for (const answer of await travel(secret)) {
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
      t.equal(answer.headers.get("surrogate-key"), null);
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
  const keys = await redis.keys(`${config.redisPrefix}*`);
  t.ok(keys.length > 1);
  for (const key of keys) {
    t.notMatch(key, token);
    if ((await redis.type(key)) === "string") t.notOk((await redis.getBuffer(key))!.includes(token), key);
  }
});

t.test("no log line has a token or a password", async (t) => {
  await server.api("POST", "login/", { body: { user: "editor", pass: "wrong-password" } });
  await fetch(`${base}/login/?user=editor&pass=wrong-password`, { method: "POST" });
  t.match(logged, "/api/2.8/p/m/", "requests are logged");
  for (const secret of [token, madeUp, "wrong-password", "adminadmin"]) t.notOk(logged.includes(secret));
});

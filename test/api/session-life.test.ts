import t from "tap";
import { accountOf, addMember, removeMember, setPassword } from "../../src/access/accounts.js";
import { closeSessionsOf } from "../../src/access/sessions.js";
import { callerOfToken, whoLooks } from "../../src/api/request/caller.js";
import { createProject } from "../../src/catalog/projects.js";
import { Watchers } from "../../src/changes/watchers.js";
import { MapEvents } from "../../src/tiles/map-events.js";
import { DatabaseLink } from "../support/database-link.js";
import { Hours } from "../support/hours.js";
import { addObject, makeMap, makeStyledLayer, square, tileUrl } from "../support/maps.js";
import { testRedisUrl } from "../support/redis.js";
import { startServer, waitFor } from "../support/server.js";

const server = await startServer({ nodes: 2, config: { sessionIdleSeconds: 600 } });
t.teardown(() => server.stop());
const { services } = server.nodes[0]!;
const { redis, config } = services;
const project = await services.catalog.project("p");
const keyOfSession = `${config.redisPrefix}s:*`;

const login = async (user: string, pass = `${user}${user}`): Promise<string> =>
  (await server.api("POST", "login/", { body: { user, pass } })).json.token;
const use = async (token: string, node = 0): Promise<number> =>
  (await server.api("GET", "maps/available/", { token, node })).status;

t.test("each use starts the idle time again, on every node, and without use the session ends", async (t) => {
  const token = await login("viewer");
  const [key] = await redis.keys(keyOfSession);
  for (const node of [0, 1, 0]) {
    await redis.pexpire(key!, 2_000);
    t.equal(await use(token, node), 200);
    t.ok((await redis.pttl(key!)) > 2_000, "all of it is left again");
  }
  await redis.pexpire(key!, 200);
  await waitFor(async () => (await redis.exists(key!)) === 0);
  t.equal(await use(token), 401);
  t.equal((await server.api("GET", "authorized/", { token })).text, "false");
});

t.test("asking whether one is authorized is a use, like any other request with the token", async (t) => {
  const token = await login("viewer");
  const [key] = await redis.keys(keyOfSession);
  await redis.pexpire(key!, 2_000);
  t.equal((await server.api("GET", "authorized/", { token })).text, "true");
  t.ok((await redis.pttl(key!)) > 2_000);
  await server.api("POST", "logout/", { token });
});

/** Logs in. @returns the token, and the key of the session in Redis */
async function newSession(user: string): Promise<[token: string, session: string]> {
  const known = new Set(await redis.keys(keyOfSession));
  const token = await login(user);
  return [token, (await redis.keys(keyOfSession)).find((key) => !known.has(key))!];
}

/** Opens a stream of changes. */
async function listen(token: string, { url }: Pick<typeof server, "url"> = server) {
  const stream = { heard: "", ended: false };
  const answer = await fetch(`${url}/tms/p/drawn/changes/?token=${token}`);
  t.equal(answer.status, 200);
  const decoder = new TextDecoder();
  void (async () => {
    for await (const chunk of answer.body!) stream.heard += decoder.decode(chunk as Uint8Array);
    stream.ended = true;
  })();
  await waitFor(() => stream.heard.includes("id:"));
  return stream;
}

t.test("what a page asks for by itself, left alone, is no use of its session", async (t) => {
  await makeMap(server, "drawn");
  await makeStyledLayer(server, "drawn", "a", "#a { polygon-fill: #f00; }");
  await addObject(server, "a", square(5, 5, 1), { map: "drawn" });
  const [token, session] = await newSession("viewer");
  const { key } = (await server.api("POST", "drawn/tile-key/", { token, body: {} })).json;
  const headers = { "x-unattended": "1" };
  const tile = tileUrl(server, "drawn", { lon: 5.5, lat: 5.5, z: 6 });
  const api = `${server.url}/api/2.8/p/`;
  const asks = [
    `${tile}&token=${token}`,
    `${tile}&key=${key}`,
    `${api}drawn/layers/?token=${token}`,
    `${api}drawn/layers/a/icon/?key=${key}`,
    `${api}authorized/?token=${token}`,
    `${server.url}/viewer/maps.json?project=p&token=${token}`,
  ];
  for (const ask of asks) {
    await redis.pexpire(session, 300_000);
    const answer = await fetch(ask, { headers });
    await answer.text();
    t.equal(answer.status, 200, ask);
    t.ok((await redis.pttl(session)) <= 300_000, `${ask} left alone`);
  }
  for (const ask of asks) {
    await redis.pexpire(session, 300_000);
    await (await fetch(ask)).text();
    t.ok((await redis.pttl(session)) > 300_000 || ask.includes("key="), ask);
  }
  await server.api("POST", "logout/", { token });
  t.equal((await fetch(asks[2]!, { headers })).status, 401);
});

t.test("listening to a map's changes keeps no session alive, and ends with it", async (t) => {
  const editor = await login("editor");
  const edit = async () => {
    const body = { parent_id: 0, name: `${Math.random()}` };
    t.equal((await server.api("PATCH", "drawn/layers/a/", { token: editor, body })).status, 200);
  };
  for (const isPublic of [true, false]) {
    await server.sql.query("update map set has_publication = $1 where code = 'drawn'", [isPublic]);
    await services.changes.propagate();
    const [token, session] = await newSession("viewer");
    await redis.pexpire(session, 300_000);
    const stream = await listen(token);
    t.ok(
      (await redis.pttl(session)) <= 300_000,
      "opened by a page itself, as after each loss of its connection",
    );
    await edit();
    await waitFor(() => stream.heard.includes("event: map"));
    t.ok((await redis.pttl(session)) <= 300_000, "looked at again");
    await redis.del(session);
    await edit();
    await waitFor(() => stream.ended);
    t.match(stream.heard, /event: session\ndata: \{\}\n\n$/);
  }
  await server.sql.query("update map set has_publication = true where code = 'drawn'");
  await services.changes.propagate();
});

t.test("a session that cannot be looked at just now has not ended", async (t) => {
  const link = await DatabaseLink.to(testRedisUrl());
  const other = await startServer({ config: { redisUrl: link.url } });
  t.teardown(async () => {
    await other.stop();
    await link.close();
  });
  await makeMap(other, "drawn");
  await other.sql.query("update map set has_publication = true");
  await other.nodes[0]!.services.changes.propagate();
  const stream = await listen(await other.token("viewer"), other);
  link.cut();
  await other.sql.query("update map set name = 'Other'");
  await waitFor(() => stream.ended || stream.heard.includes("\n\n:\n\n"));
  t.notMatch(stream.heard, /event/);
  link.restore();
  await waitFor(() => stream.ended || stream.heard.includes("event"));
  t.match(stream.heard, "event: map");
});

t.test("a page that is left alone for an hour loses its session", async (t) => {
  const clock = new Hours();
  const [token, session] = await newSession("viewer");
  const events = new MapEvents({
    ...{ db: services.db, changes: services.versions, watchers: new Watchers(), clock },
    slices: services.slices,
    cdn: { wait: async () => undefined },
    time: () => clock.now(),
  });
  const heard: string[] = [];
  let ended = false;
  const { signal } = new AbortController();
  const access = async () => {
    const map = await services.catalog.map("p", "drawn");
    return { map, caller: await callerOfToken(token, whoLooks(services), map.project) };
  };
  const listening = (async () => {
    for await (const text of events.listen({ access, client: "one", lastEventId: undefined, signal }))
      heard.push(text);
    ended = true;
  })();
  await waitFor(() => heard.length === 1);
  const beatMs = 8_000;
  for (let passed = 0; passed < 3_600_000 && !ended; passed += beatMs) {
    const count = heard.length;
    await waitFor(() => clock.waiting > 0 || ended);
    // Redis has a clock of its own.
    await redis.pexpire(session, Math.max(0, (await redis.pttl(session)) - beatMs));
    await clock.pass(beatMs);
    await waitFor(() => heard.length > count || ended);
  }
  await listening;
  t.match(heard.at(-1), /^event: session/);
  t.ok(clock.now() >= 560_000 && clock.now() < 680_000, `${clock.now()}`);
  t.equal(await use(token), 401);
});

t.test("made-up tokens are nobody's", async (t) => {
  const token = await login("viewer");
  const other = token.startsWith("A") ? "B" : "A";
  for (const wrong of [
    other + token.slice(1),
    token.slice(1),
    `${token}A`,
    token.toUpperCase(),
    "*",
    "s:*",
    "A".repeat(43),
    "A".repeat(3_000),
    "null",
    "undefined",
  ]) {
    t.equal((await server.api("GET", `maps/available/?token=${wrong}`)).status, 401, wrong.slice(0, 50));
  }
  await server.api("POST", "logout/", { token });
});

t.test("after logout the token is nobody's on any node, and the user's other sessions stay", async (t) => {
  const [token, other] = [await login("viewer"), await login("viewer")];
  t.equal((await server.api("POST", "logout/", { token, node: 1 })).json.token, "");
  t.equal(await use(token, 0), 401);
  t.equal(await use(token, 1), 401);
  t.equal(await use(other), 200);
});

t.test("a token of another project is refused everywhere", async (t) => {
  const other = await createProject(services.db, { code: "other" });
  await addMember(services.db, { login: "admin", password: "adminadmin", projectId: other, role: "admin" });
  const token = await login("admin");
  const paths = ["maps/available/", "maps/public/", "users/list/", "m/", "m/layers/"];
  await services.db.query("insert into map (project_id, code) values ($1, 'm') returning id", [other]);
  for (const path of paths) {
    const answer = await fetch(`${server.url}/api/2.8/other/${path}?token=${token}`);
    t.equal(answer.status, 403, path);
    await answer.text();
  }
  const authorized = await fetch(`${server.url}/api/2.8/other/authorized/?token=${token}`);
  t.equal(await authorized.text(), "false");
});

t.test("a new password or a removal ends the user's sessions", async (t) => {
  // Compiled styles and tiles are in the same Redis.
  const tile = await fetch(tileUrl(server, "drawn", { lon: 5.5, lat: 5.5, z: 6 }));
  t.equal(tile.status, 200);
  await tile.arrayBuffer();
  const stored = await redis.keys(`${config.redisPrefix}*`);
  t.ok(
    stored.some((key) => key.startsWith(`${config.redisPrefix}c:`)),
    stored.join(),
  );
  // As an older version stored them.
  await redis.set(`${config.redisPrefix}s:${"0".repeat(20)}:${"A".repeat(43)}`, "no session");
  const { id } = await addMember(services.db, {
    login: "guest",
    password: "guest",
    projectId: project.id,
    role: "viewer",
  });
  await services.changes.propagate();
  const [first, second] = [await login("guest", "guest"), await login("guest", "guest")];
  await setPassword(services.db, await accountOf(services.db, "guest"), "changed");
  t.equal(await closeSessionsOf(redis, config.redisPrefix, id), 2);
  t.same([await use(first), await use(second)], [401, 401]);
  t.equal((await server.api("POST", "login/", { body: { user: "guest", pass: "guest" } })).status, 403);

  const third = await login("guest", "changed");
  t.equal(await use(third), 200);
  await removeMember(services.db, "guest");
  await services.changes.propagate();
  t.equal(await use(third), 401, "at once, while the session is still there");
});

/** What happens between the check of the password and the session. */
async function duringLogin(user: string, happens: () => Promise<unknown>) {
  const { sessions } = services;
  const open = sessions.open.bind(sessions);
  sessions.open = async (session) => {
    sessions.open = open;
    await happens();
    return open(session);
  };
  return server.api("POST", "login/", { body: { user, pass: `${user}${user}` } });
}

t.test("a login that a new password or a removal overtakes opens no session", async (t) => {
  const closed = async (login: string) => {
    const account = await accountOf(services.db, login);
    await closeSessionsOf(redis, config.redisPrefix, account.id);
  };
  for (const login of ["early", "leaver"]) {
    const member = { login, password: `${login}${login}`, projectId: project.id, role: "viewer" } as const;
    await addMember(services.db, member);
  }
  const before = (await redis.keys(keyOfSession)).length;
  const overtaken = await duringLogin("early", async () => {
    await setPassword(services.db, await accountOf(services.db, "early"), "another one");
    await closed("early");
  });
  t.equal(overtaken.status, 403);
  const removed = await duringLogin("leaver", () => removeMember(services.db, "leaver", project.id));
  t.equal(removed.status, 403);
  t.equal((await redis.keys(keyOfSession)).length, before, "no session is left");
  t.ok(await login("early", "another one"));
});

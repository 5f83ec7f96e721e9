import { connect } from "node:net";
import t from "tap";
import { addMember, removeMember } from "../../src/access/accounts.js";
import { setGrant } from "../../src/access/grants.js";
import { apiRoutes } from "../../src/api/routes.js";
import { pruneAnswers } from "../../src/storage/idempotency-keys.js";
import { overtakenBench } from "../robustness/overtaken.bench.support.js";
import { type Case, cases } from "../robustness/overtaken-cases.support.js";
import { startServer, waitFor } from "../support/server.js";
import { changeUses } from "../support/uses.js";

/** Writes under an Idempotency-Key: done once, and answered alike. */

const server = await startServer({ nodes: 2 });
t.teardown(() => server.stop());
const token = await server.token("editor");
const admin = await server.token("admin");
await server.api("POST", "", { token: admin, body: { code: "m" } });
const layer = (await server.api("POST", "m/layers/", { token, body: { code: "l" } })).json;
await server.api("POST", "m/layers/l/structure/", { token, body: { code: "name", type: "string" } });
const objects = "m/layers/l/objects/";
const make = (name: string, key: string, options: object = {}) =>
  server.api("POST", objects, {
    token,
    body: { fields: { name } },
    headers: { "idempotency-key": key },
    ...options,
  });
const count = async () =>
  Number((await server.sql.query(`select count(*) from layers.l${layer.id}`)).rows[0].count);

t.test("the same request under the same key is done once, on every node", async (t) => {
  const before = await count();
  const first = await make("a", "one");
  t.equal(first.status, 200, first.text);
  for (const node of [0, 1, 0]) {
    const again = await make("a", "one", { node });
    t.same([again.status, again.text], [first.status, first.text]);
    t.equal(again.headers.get("etag"), first.headers.get("etag"));
    t.equal(again.headers.get("cache-control"), first.headers.get("cache-control"));
  }
  t.equal((await make("a", '"one"')).text, first.text, "a string in quotes is the same key");
  t.equal(await count(), before + 1);
  const shown = await server.api("GET", `${objects}${first.json.id}/`, { token, node: 1 });
  t.equal(shown.headers.get("etag"), first.headers.get("etag"), "the object's version is the answer's");
  t.not((await make("a", "two")).json.id, first.json.id, "another key is another request");
});

t.test("a key stands for one request of one user", async (t) => {
  await make("b", "mine");
  const before = await count();
  const other = await make("c", "mine");
  t.equal(other.status, 500);
  t.equal(other.json.code, "invalid_value");
  t.equal(other.json.data.parameter, "Idempotency-Key");
  t.equal(await count(), before);
  t.equal((await make("b", "mine", { token: admin })).status, 200);
  t.equal(await count(), before + 1, "another user's key is another one");
  const fresh = await server.token("editor");
  t.equal((await make("b", "mine", { token: fresh })).status, 200);
  t.equal(await count(), before + 1, "a new session of the same user is the same user");
  t.equal(
    (
      await server.api("POST", objects, {
        body: { token: fresh, fields: { name: "d" } },
        headers: { "idempotency-key": "body" },
      })
    ).status,
    200,
  );
  t.equal(
    (
      await server.api("POST", objects, {
        body: { token, fields: { name: "d" } },
        headers: { "idempotency-key": "body" },
      })
    ).status,
    200,
  );
  t.equal(await count(), before + 2, "wherever the token is");
});

t.test("requests under one key at once do it once", async (t) => {
  const before = await count();
  const answers = await Promise.all(
    Array.from({ length: 20 }, (_, index) => make("e", "at-once", { node: index % 2 })),
  );
  t.equal(await count(), before + 1);
  const done = answers.filter(({ status }) => status === 200);
  t.ok(done.length >= 1);
  t.equal(new Set(done.map(({ text }) => text)).size, 1);
  for (const { status, json, headers } of answers.filter(({ status }) => status !== 200)) {
    t.equal(status, 503);
    t.equal(json.code, "busy");
    t.match(headers.get("retry-after"), /^\d+$/);
  }
  t.equal((await make("e", "at-once")).text, done[0]!.text);
});

t.test("what was refused is not kept", async (t) => {
  const before = await count();
  const refused = await server.api("POST", objects, {
    token,
    body: { fields: { nothing: 1 } },
    headers: { "idempotency-key": "corrected" },
  });
  t.equal(refused.status, 500);
  t.equal((await make("f", "corrected")).status, 200);
  t.equal(await count(), before + 1);
  t.equal((await make("g", "x".repeat(256))).status, 400);
  t.equal((await make("g", "two words")).status, 400);
  t.equal((await make("g", "none", { token: "A".repeat(43) })).status, 401);
  t.equal(await count(), before + 1);
});

t.test("the token of an upload comes before it", async (t) => {
  const form = new FormData();
  form.set("token", token);
  form.set("file", new File([JSON.stringify({ type: "FeatureCollection", features: [] })], "a.geojson"));
  const send = (query: string) =>
    fetch(`${server.url}/api/2.8/p/m/layers/l/import/${query}`, {
      method: "POST",
      headers: { "idempotency-key": "upload" },
      body: form,
    });
  const refused = await send("");
  t.equal(refused.status, 400);
  t.match(await refused.text(), /the token of an upload/);
  const first = await send(`?token=${token}`);
  t.equal(first.status, 200);
  t.equal(await (await send(`?token=${token}`)).text(), await first.text());
});

t.test("a key stands for one file", async (t) => {
  const send = async (name: string, other?: string, key = "file") => {
    const form = new FormData();
    for (const value of other === undefined ? [name] : [name, other]) {
      const feature = { type: "Feature", properties: { name: value }, geometry: null };
      form.append("file", new File([JSON.stringify(feature)], `${value}.geojson`));
    }
    const answer = await fetch(`${server.url}/api/2.8/p/m/layers/l/import/`, {
      method: "POST",
      headers: { "x-token": token, "idempotency-key": key },
      body: form,
    });
    const text = await answer.text();
    return { status: answer.status, text, json: JSON.parse(text) };
  };
  const before = await count();
  const first = await send("aaa");
  t.equal(first.status, 200, first.text);
  t.equal((await send("aaa")).text, first.text);
  const other = await send("bbb");
  t.equal(other.json.code, "invalid_value", "one of the same length, too");
  t.equal(await count(), before + 1);
  t.equal((await send("aaa", "ccc", "two-files")).status, 200);
  t.equal((await send("aaa", "ddd", "two-files")).json.code, "invalid_value", "all files of a form count");
  t.equal((await send("aaa", "ccc", "two-files")).status, 200);
  t.equal(await count(), before + 3);
});

t.test("an import under a key leaves nothing behind, and holds nobody up", async (t) => {
  const body = { type: "Feature", properties: { name: "z" }, geometry: null };
  const headers = { "idempotency-key": "import" };
  const imported = server.api("POST", "m/layers/l/import/", { token, body, headers });
  t.equal((await imported).status, 200);
  const { rows } = await server.sql.query(
    "select relname from pg_class where relnamespace = 'staging'::regnamespace and relkind = 'r'",
  );
  t.same(rows, []);
  t.equal((await make("after it", "after-import")).status, 200);
});

t.test("a large body waits for its thread before anything is written", async (t) => {
  const { services } = server.nodes[0]!;
  const held: number[] = [];
  const digest = services.bodies.digest.bind(services.bodies);
  Object.assign(services.bodies, {
    digest: (...given: Parameters<typeof digest>) => {
      held.push(services.db.counts().purposes.writes.held);
      return digest(...given);
    },
  });
  t.teardown(() => Object.assign(services.bodies, { digest }));
  const made = await make("x".repeat(200_000), "large");
  t.equal(made.status, 200);
  t.same(held, [0]);
  t.equal((await make("x".repeat(200_000), "large")).text, made.text);
});

t.test("strangers with a key are refused before their body is read", async (t) => {
  const { hostname, port } = new URL(server.url);
  const socket = connect(Number(port), hostname);
  let answered = "";
  socket.on("data", (data) => {
    answered += data;
  });
  socket.on("error", () => undefined);
  socket.write(
    `POST /api/2.8/p/${objects} HTTP/1.1\r\nhost: x\r\nidempotency-key: stranger\r\n` +
      "content-type: application/octet-stream\r\ncontent-length: 1000000\r\n\r\nbeginning",
  );
  await waitFor(() => answered.includes("\r\n\r\n"));
  t.match(answered, /^HTTP\/1.1 401 /);
  socket.destroy();
});

t.test("settings of one write do not outlive it", async (t) => {
  // A pattern is looked at under a time limit of its own.
  const constraint = { type: "pattern", columns: ["name"], definition: "[a-z ]*" };
  const set = await server.api("PUT", "m/layers/l/constraints/", { token: admin, body: [constraint] });
  t.equal(set.status, 200, set.text);
  await server.sql.query(`begin; lock table layers.l${layer.id} in access exclusive mode`);
  const writing = make("waits", "waits");
  await new Promise((resolve) => setTimeout(resolve, 2_500));
  await server.sql.query("commit");
  t.equal((await writing).status, 200);
  await server.api("PUT", "m/layers/l/constraints/", { token: admin, body: [] });
});

t.test("older versions give the same answer again, too", async (t) => {
  const patch = async () => {
    const answer = await fetch(`${server.url}/api/2.2/p/m/layers/l/`, {
      method: "PATCH",
      headers: { "x-token": token, "content-type": "application/json", "idempotency-key": "older" },
      body: JSON.stringify({ parent_id: 0, name: "older" }),
    });
    return { status: answer.status, text: await answer.text() };
  };
  const first = await patch();
  t.equal(first.status, 200, first.text);
  t.match(first.text, /"g_type"/);
  await server.api("POST", objects, {
    token,
    body: { fields: {}, geom: { type: "Point", coordinates: [70, 70] } },
  });
  t.same(await patch(), first);
});

t.test("a request that finds what another one under its key has done is answered as that one", async (t) => {
  await server.api("POST", "m/layers/", { token, body: { code: "gone" } });
  const drop = (node: number) =>
    server.api("DELETE", "m/layers/gone/", { token, node, headers: { "idempotency-key": "gone" } });
  // The second looks for an answer before there is one, and for the layer when it is gone.
  const { db } = server.nodes[1]!.services;
  let isFirst = true;
  let look: () => void = () => undefined;
  const looked = new Promise<void>((resolve) => {
    look = resolve;
  });
  let goOn: () => void = () => undefined;
  const mayGoOn = new Promise<void>((resolve) => {
    goOn = resolve;
  });
  const stop = changeUses(db, (used) => {
    const query = used.query.bind(used);
    return {
      query: async (text, ...rest) => {
        const rows = await query(text, ...rest);
        if (isFirst && text.includes("idempotency_key")) {
          isFirst = false;
          look();
          await mayGoOn;
        }
        return rows as never;
      },
    };
  });
  t.teardown(stop);
  const second = drop(1);
  await looked;
  const first = await drop(0);
  t.equal(first.status, 200);
  goOn();
  const { status, text } = await second;
  t.same([status, text], [first.status, first.text]);
});

t.test("the answer is given to who may still do what it answers, and to nobody else", async (t) => {
  const projectId = (await server.nodes[0]!.services.catalog.project("p")).id;
  const { db } = server.nodes[0]!.services;
  await addMember(db, { login: "writer", password: "writerwriter", projectId, role: "editor" });
  const own = (await server.api("POST", "login/", { body: { user: "writer", pass: "writerwriter" } })).json
    .token;
  await server.api("POST", "", { token: admin, body: { code: "shared" } });
  await server.api("POST", "shared/layers/", { token, body: { code: "s" } });
  const send = (method: string, path: string, key: string, body?: unknown, node = 0) =>
    server.api(method, path, { token: own, node, body, headers: { "idempotency-key": key } });
  const create = (node = 0) => send("POST", "shared/layers/s/objects/", "w1", { fields: {} }, node);
  const rename = (node = 0) => send("PATCH", "shared/layers/s/", "w2", { parent_id: 0, code: "t" }, node);
  const first = await create();
  t.equal(first.status, 200, first.text);
  const renamed = await rename();
  t.equal(renamed.status, 200, renamed.text);
  for (const node of [0, 1]) {
    t.equal((await create(node)).text, first.text, "the layer has another code by now");
    t.equal((await rename(node)).text, renamed.text);
  }
  // Another layer has the code: its rights are its own.
  t.equal((await server.api("POST", "shared/layers/", { token, body: { code: "s" } })).status, 200);
  t.equal((await create()).text, first.text);
  await setGrant(db, { project: "p", login: "writer", map: "shared", layer: "t" }, 1);
  await server.nodes[0]!.services.changes.propagate();
  for (const node of [0, 1]) {
    t.equal((await create(node)).status, 403, "the right on the layer was withdrawn");
    t.equal((await rename(node)).status, 403);
  }
  t.equal(
    (await server.api("POST", "shared/layers/s/objects/", { token: own, body: { fields: {} } })).status,
    200,
  );
  await setGrant(db, { project: "p", login: "writer", map: "shared", layer: "t" }, undefined);
  await server.nodes[0]!.services.changes.propagate();
  t.equal((await create(1)).text, first.text, "and given again");
  await setGrant(db, { project: "p", login: "writer" }, 0);
  await server.nodes[0]!.services.changes.propagate();
  t.equal((await create(1)).status, 403, "all rights were withdrawn");
  await setGrant(db, { project: "p", login: "writer" }, undefined);
  await server.nodes[0]!.services.changes.propagate();
  const drop = () => send("DELETE", "shared/layers/t/", "w3");
  const dropped = await drop();
  t.equal(dropped.status, 200, dropped.text);
  t.equal((await drop()).text, dropped.text, "what it deleted is gone, and it is told so again");
  t.equal((await create()).status, 404, "the layer is gone");
  const last = await send("POST", "shared/layers/s/objects/", "w4", { fields: {} });
  t.equal(last.status, 200);
  await server.api("POST", "logout/", { token: own });
  t.equal((await send("POST", "shared/layers/s/objects/", "w4", { fields: {} })).status, 401);
  await removeMember(db, "writer");
});

t.test("an edit under a key is on the next tile of every node", async (t) => {
  await server.api("PATCH", "m/layers/l/", { token, body: { css_style: "#l { polygon-fill: #f00; }" } });
  const tile = async (node: number) =>
    Buffer.from(await (await fetch(`${server.urls[node]}/tms/p/m/0/0/0.png?base=0`)).arrayBuffer()).toString(
      "base64",
    );
  const square = (size: number) => ({
    type: "Polygon",
    coordinates: [
      [
        [0, 0],
        [size, 0],
        [size, size],
        [0, size],
        [0, 0],
      ],
    ],
  });
  for (let size = 5; size <= 60; size += 5) {
    const before = [await tile(0), await tile(1)];
    const answer = await server.api("POST", objects, {
      token,
      body: { fields: {}, geom: square(size) },
      headers: { "idempotency-key": `square-${size}` },
    });
    t.equal(answer.status, 200, answer.text);
    const after = [await tile(1), await tile(0)];
    t.not(after[0], before[1]);
    t.not(after[1], before[0]);
  }
});

t.test("answers are kept for a day", async (t) => {
  await make("h", "old");
  const { db } = server.nodes[0]!.services;
  const kept = async () => (await server.sql.query("select from idempotency_key where key = 'old'")).rowCount;
  await pruneAnswers(db);
  t.equal(await kept(), 1);
  await server.sql.query(
    "update idempotency_key set answered_at = now() - interval '25 hours' where key = 'old'",
  );
  const before = await count();
  t.equal((await make("i", "old")).status, 200, "after a day the key may be given to another request");
  t.equal(await count(), before + 1);
  await server.sql.query(
    "update idempotency_key set answered_at = now() - interval '25 hours' where key = 'old'",
  );
  await pruneAnswers(db);
  t.equal(await kept(), 0);
});

t.test("every operation that changes something takes a key, and no other", async (t) => {
  const changing =
    /^(create|copy|change|delete|save|attach|detach|repair|refresh|import|restore|empty|undo|split|merge)/;
  const named = apiRoutes.filter(({ headers }) => Object.hasOwn(headers, "idempotency-key"));
  t.same(
    named.map(({ description }) => description.id),
    apiRoutes
      .filter(({ description }) => changing.test(description.id))
      .map(({ description }) => description.id),
  );
  for (const { methods } of named) t.notOk(methods.includes("GET"));
});

t.test("every operation is done once under a key, in each of its forms", async (t) => {
  const bench = await overtakenBench();
  t.teardown(() => bench.stop());
  const writes = new Set(
    apiRoutes.filter(({ headers }) => Object.hasOwn(headers, "idempotency-key")).map(({ path }) => path),
  );
  const state = async () => {
    const { rows } = await bench.server.sql.query(
      // Not of what is deleted, whose removal goes on behind the answers.
      `select (select json_agg(m.revision order by m.id) from map m where project_id <> 0) as maps,
         (select json_agg(l.version order by l.id) from layer l join node n using (id) join map m on m.id = n.map_id
            where m.project_id <> 0) as layers,
         (select json_agg(p.revision order by p.id) from project p where p.id <> 0) as projects,
         (select count(*) from file) as files`,
    );
    return rows[0];
  };
  const isWrite = ({ method, path }: Case) => method !== "GET" && writes.has(path);
  let tried = 0;
  for (const at of cases.filter(isWrite)) {
    const world = await bench.makeWorld(at);
    const headers = { "idempotency-key": `case-${++tried}` };
    const first = await bench.ask(at, world, headers);
    t.equal(first.status, at.ok, `${at.name}: ${first.text}`);
    const before = await state();
    const second = await bench.ask(at, world, headers);
    t.same(second, first, at.name);
    t.same(await state(), before, `${at.name}: nothing was done again`);
  }
  t.ok(tried > 25, `${tried} requests`);
});

import t from "tap";
import { addObject, makeMap, makeStyledLayer, square } from "../support/maps.js";
import { startServer, waitFor } from "../support/server.js";

/** One client makes changes that take minutes; others change something as well. */

const server = await startServer({ config: { databaseConnections: 10, trustedProxies: "127.0.0.1" } });
t.teardown(() => server.stop());
const { api, sql } = server;
const { db } = server.nodes[0]!.services;
const token = await server.token("admin");
await makeMap(server, "m");
const locked = await makeStyledLayer(server, "m", "locked", "#l { polygon-fill: #f00; }");
await makeStyledLayer(server, "m", "free", "#l { polygon-fill: #f00; }");
const object = await addObject(server, "free", square(1, 1, 1), { map: "m" });
const headers = (client: string) => ({ "x-forwarded-for": client });
const post = (client: string, path: string, body?: unknown) =>
  api("POST", path, { token, headers: headers(client), ...(body === undefined ? {} : { body }) });
const background = () => db.counts().purposes.background;

t.test("long changes of one client leave places to those of others, and to everything else", async (t) => {
  await sql.query(`begin; lock table layers.l${locked.id} in share mode`);
  const long = Array.from({ length: 4 }, () => post("203.0.113.1", "m/layers/locked/makevalid/"));
  await waitFor(() => background().waiting === 3);
  t.equal(background().held, 1, "one client has one of the two places");
  t.equal(db.counts().purposes.writes.held, 0);
  const other = "198.51.100.2";
  const changed = [
    await post(other, "m/layers/free/makevalid/"),
    await post(other, "m/layers/free/structure/", { code: "name", type: "string" }),
    await post(other, "m/layers/free/objects/", { fields: { name: "a" } }),
    await api("POST", "login/", { body: { user: "editor", pass: "editoreditor" }, headers: headers(other) }),
    await api("GET", `m/layers/free/objects/${object}/`, { headers: headers(other) }),
  ];
  t.same(
    changed.map(({ status }) => status),
    [200, 200, 200, 200, 200],
  );
  await sql.query("rollback");
  t.same(
    (await Promise.all(long)).map(({ status }) => status),
    [200, 200, 200, 200],
    "and they have their turns",
  );
  t.match(background(), { held: 0, waiting: 0, refused: 0 });
});

t.test("one that finds no place in time is told when to come again", async (t) => {
  await sql.query(`begin; lock table layers.l${locked.id} in share mode`);
  const clients = ["203.0.113.1", "203.0.113.2", "203.0.113.3"];
  const long = clients.map((client) => post(client, "m/layers/locked/makevalid/"));
  await waitFor(() => background().refused === 1);
  await sql.query("rollback");
  const answers = await Promise.all(long);
  t.same(answers.map(({ status }) => status).sort(), [200, 200, 503]);
  const refused = answers.find(({ status }) => status === 503)!;
  t.match(refused.json, { code: "busy" });
  t.match(refused.headers.get("retry-after"), /^[1-9]\d*$/);
});

import t from "tap";
import { makeFileLayer, makeObject, send } from "../api/files.support.js";
import { freshDatabase } from "../support/database.js";
import { DatabaseLink } from "../support/database-link.js";
import { startServer, waitFor } from "../support/server.js";

/** Writes whose connection to the database is lost at the worst moments, and what their clients are told. */

const database = await freshDatabase();
const link = await DatabaseLink.to(database.url);
const server = await startServer({ databaseUrl: database.url, config: { databaseUrl: link.url } });
t.teardown(async () => {
  await server.stop();
  await link.close();
  await database.drop();
});
const token = await server.token("admin");
const post = (path: string, body: unknown, key?: string) =>
  server.api("POST", path, { token, body, headers: key === undefined ? {} : { "idempotency-key": key } });
await post("", { code: "m" });
const layer = (await post("m/layers/", { code: "l" })).json;
await post("m/layers/l/structure/", { code: "name", type: "string" });
const objects = async (name: string) =>
  (
    await server.sql.query(`select svc_id from layers.l${layer.id} o where to_jsonb(o)::text like $1`, [
      `%"${name}"%`,
    ])
  ).rowCount;
const folders = async (name: string) =>
  (await server.sql.query("select id from node where type = 'folder' and name = $1", [name])).rowCount;

t.test(
  "an object whose insertion nobody heard the end of is there, and its client told that it may be",
  async (t) => {
    link.severAt("insert into layers.");
    const answer = await post("m/layers/l/objects/", { fields: { name: "one" } });
    t.equal(answer.status, 503, answer.text);
    t.equal(answer.json.code, "outcome_unknown");
    t.match(answer.headers.get("retry-after"), /^\d+$/);
    t.equal(await objects("one"), 1);
    t.equal(
      (await post("m/layers/l/objects/", { fields: { name: "two" } })).status,
      200,
      "the server goes on",
    );
  },
);

t.test("so is a folder whose COMMIT nobody heard the end of", async (t) => {
  link.severAt("commit\0");
  const answer = await post("m/folders/", { name: "one" });
  t.equal(answer.status, 503, answer.text);
  t.equal(answer.json.code, "outcome_unknown");
  t.equal(await folders("one"), 1);
});

t.test("a file whose COMMIT nobody heard the end of keeps its bytes", async (t) => {
  await makeFileLayer(server, "papers");
  const id = await makeObject(server, "papers");
  link.severAt("commit\0");
  const answer = await send(server, `papers/objects/${id}`, { bytes: "kept" });
  t.match(answer, { status: 503, json: { code: "outcome_unknown" } });
  const { rows } = await server.sql.query("select uuid from file");
  t.equal(rows.length, 1);
  t.equal(await server.nodes[0]!.services.blobs.size(rows[0].uuid), 4);
});

t.test(
  "a write that was lost before its COMMIT was not done, and its client told to come again",
  async (t) => {
    link.severAt("insert into node", { before: true });
    const answer = await post("m/folders/", { name: "two" });
    t.equal(answer.status, 503, answer.text);
    t.equal(answer.json.code, "busy");
    t.equal(await folders("two"), 0);
  },
);

t.test("a write whose answer could not be read afterwards says that it was done", async (t) => {
  // The map is known before, and read anew for the answer.
  await waitFor(() => server.nodes[0]!.services.changes.trusted);
  t.equal((await server.api("GET", "m/layers/", { token })).status, 200);
  link.severAt("'map' as kind", { before: true });
  const answer = await post("m/folders/", { name: "three" });
  t.equal(answer.status, 503, answer.text);
  t.equal(answer.json.code, "outcome_unknown");
  t.match(answer.json.message, /^This was done/);
  t.equal(await folders("three"), 1);
});

t.test("a write that is lost with its BEGIN is sent again over another connection", async (t) => {
  for (const before of [true, false]) {
    const name = `begun ${before}`;
    link.severAt("begin\0", { before });
    const answer = await post("m/folders/", { name });
    t.equal(answer.status, 200, answer.text);
    t.equal(await folders(name), 1);
  }
});

for (const [path, wish, count] of [
  ["m/layers/l/objects/", (name: string) => ({ fields: { name } }), objects],
  ["m/folders/", (name: string) => ({ name }), folders],
] as const) {
  t.test(`with a key the outcome is found out: ${path}`, async (t) => {
    for (const [name, at, before, done] of [
      ["committed", "commit\0", false, 1],
      ["not committed", "commit\0", true, 0],
      ["kept", '{"kind":"json', false, 0],
      ["held", "savepoint part\0", false, 0],
    ] as const) {
      const send = () => post(path, wish(name), `${path} ${name}`.replaceAll(" ", "-"));
      link.severAt(at, { before });
      const first = await send();
      t.equal(first.status, 503, `${name}: ${first.text}`);
      t.equal(first.json.code, at === "commit\0" ? "outcome_unknown" : "busy", name);
      t.equal(await count(name), done, name);
      let second = await send();
      // The server may take a moment to see that its client is gone.
      for (let again = 0; second.status === 503 && again < 50; again++) {
        await new Promise((resolve) => setTimeout(resolve, 20));
        second = await send();
      }
      t.equal(second.status, 200, `${name}: ${second.text}`);
      const third = await send();
      t.same([third.status, third.text], [second.status, second.text], name);
      t.equal(await count(name), 1, name);
    }
  });
}

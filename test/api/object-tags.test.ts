import t from "tap";
import { startServer, waitFor } from "../support/server.js";

/** ETags of objects, and changes that are meant for one state of an object. */

const server = await startServer();
t.teardown(() => server.stop());
const token = await server.token("admin");
const made = async (path: string, body: unknown) => {
  const answer = await server.api("POST", path, { token, body });
  if (answer.status !== 200) throw new Error(answer.text);
  return answer;
};
await made("", { code: "m" });
await made("m/layers/", { code: "a" });
await made("m/layers/a/structure/", { code: "n", type: "number" });
const first = await made("m/layers/a/objects/", {
  fields: { n: 1 },
  geom: { type: "Point", coordinates: [1, 2] },
});
const path = `m/layers/a/objects/${first.json.id}/`;
const put = (n: number, tag?: string) =>
  server.api("PUT", path, {
    token,
    body: { fields: { n } },
    ...(tag === undefined ? {} : { headers: { "if-match": tag } }),
  });
const tagOf = async (query = "") => (await server.api("GET", path + query)).headers.get("etag")!;

t.test("an object's ETag changes with each write, whoever writes", async (t) => {
  const tag = first.headers.get("etag")!;
  t.match(tag, /^"[^"]+"$/);
  t.equal(await tagOf(), tag, "what creating answered is what reading answers");
  const changed = await put(2);
  t.not(changed.headers.get("etag"), tag);
  t.equal(await tagOf(), changed.headers.get("etag"));
  const { id } = (await server.api("GET", "m/layers/a/")).json;
  await server.sql.query(`update layers.l${id} set svc_id = svc_id`);
  t.not(await tagOf(), changed.headers.get("etag"), "a write by SQL counts");
});

t.test("a client that has the object is told so", async (t) => {
  const tag = await tagOf();
  const again = await server.api("GET", path, { headers: { "if-none-match": tag } });
  t.equal(again.status, 304);
  t.equal(again.text, "");
  await put(3);
  t.equal((await server.api("GET", path, { headers: { "if-none-match": tag } })).json.fields.n, 3);
});

t.test("what a list of columns shows is part of the tag", async (t) => {
  const tag = await tagOf();
  await made("m/layers/a/structure/", { code: "later", type: "string" });
  t.not(await tagOf(), tag);
  const renamed = await put(4, tag);
  t.equal(renamed.status, 200, "but the object itself has not changed");
});

t.test("a change for the object's present state is made, one for an earlier state is refused", async (t) => {
  const tag = await tagOf();
  t.equal((await put(5, tag)).status, 200);
  const late = await put(6, tag);
  t.equal(late.status, 412);
  t.match(late.headers.get("content-type"), "text/html");
  t.equal((await server.api("GET", path)).json.fields.n, 5);
  t.equal((await put(7, `"other", ${await tagOf()}`)).status, 200, "one of several");
  t.equal((await put(8, "*")).status, 200, "any");
  t.equal((await put(9, `W/${await tagOf()}`)).status, 412, "weak tags are never the same");
  t.equal((await put(9, "nonsense")).status, 412);
  t.equal((await put(9, "")).status, 412);
  t.equal((await server.api("GET", path)).json.fields.n, 8);
});

t.test("a change of nothing, of the geometry and a deletion keep to it as well", async (t) => {
  const old = await tagOf();
  await put(10);
  const headers = { "if-match": old };
  t.equal((await server.api("PUT", path, { token, body: { fields: {} }, headers })).status, 412);
  const geometry = { type: "Point", coordinates: [9, 9] };
  t.equal((await server.api("PUT", `${path}geom/`, { token, body: geometry, headers })).status, 412);
  t.equal((await server.api("DELETE", path, { token, headers })).status, 412);
  const now = { "if-match": await tagOf() };
  t.equal((await server.api("PUT", `${path}geom/`, { token, body: geometry, headers: now })).status, 200);
  t.equal((await server.api("DELETE", path, { token, headers: now })).status, 412, "that changed it");
});

t.test("an object that is not there is not found, whatever its tag", async (t) => {
  const headers = { "if-match": await tagOf() };
  const missing = "m/layers/a/objects/999999/";
  t.equal((await server.api("PUT", missing, { token, body: { fields: { n: 1 } }, headers })).status, 404);
  t.equal((await server.api("DELETE", missing, { token, headers })).status, 404);
});

t.test("of many writers who saw the same state one comes through, and the others are told", async (t) => {
  for (let round = 0; round < 5; round++) {
    const tag = await tagOf();
    const answers = await Promise.all(Array.from({ length: 8 }, (_, i) => put(100 * round + i, tag)));
    const statuses = answers.map(({ status }) => status).sort();
    t.same(statuses, [200, 412, 412, 412, 412, 412, 412, 412]);
    const winner = answers.find(({ status }) => status === 200)!;
    t.same((await server.api("GET", path)).json, winner.json);
  }
});

t.test("a write with If-None-Match is answered as any other", async (t) => {
  const changed = await server.api("PUT", path, {
    token,
    body: { fields: { n: 77 } },
    headers: { "if-none-match": "*" },
  });
  t.equal(changed.status, 200);
  t.equal(changed.json.fields.n, 77);
});

t.test("objects of virtual layers have no tag, and those of materialized ones have", async (t) => {
  await made("m/layers/", { code: "v", type: "virtual", source: { layer: "a" } });
  await made("m/layers/", { code: "s", type: "material", source: { layer: "a" } });
  const view = await server.api("GET", `m/layers/v/objects/${first.json.id}/`);
  t.equal(view.status, 200);
  t.equal(view.headers.get("etag"), null);
  const [object] = (await server.api("GET", "m/layers/s/objects/")).json;
  t.match((await server.api("GET", `m/layers/s/objects/${object.id}/`)).headers.get("etag"), /^"/);
});

t.test("pages of other origins may send If-Match", async (t) => {
  const answer = await fetch(`${server.url}/api/2.8/p/${path}`, {
    method: "OPTIONS",
    headers: { origin: "https://example.org", "access-control-request-method": "PUT" },
  });
  t.match(answer.headers.get("access-control-allow-headers"), /\*|if-match/i);
});

t.test("while nobody knows whose history the database's is, no ETag is that of an object", async (t) => {
  const tag = await tagOf();
  const { n } = (await server.api("GET", path)).json.fields;
  await server.sql.query("update epoch set identity = 'another'");
  t.equal((await put(n + 1, tag)).status, 412);
  t.equal((await server.api("GET", path, { headers: { "if-none-match": tag } })).status, 200);
  const { services } = server.nodes[0]!;
  await waitFor(async () => (await tagOf()) !== tag && services.changes.trusted);
  t.equal((await put(n + 1, tag)).status, 412, "nor afterwards");
  t.equal((await put(n + 1, await tagOf())).status, 200);
});

import t from "tap";
import { makeFileLayer, makeObject } from "../api/files.support.js";
import { makeMap } from "../support/maps.js";
import { watchSafety } from "../support/safe.js";
import { startServer } from "../support/server.js";

/** Lists of a client's own: how long they may be, and how little of them an error tells back. */

const server = await startServer();
t.teardown(() => server.stop());
const admin = await server.token("admin");
await makeMap(server, "m");
await makeFileLayer(server, "l");
await makeObject(server, "l", { name: "a" });
const base = "/api/2.8/p";
const layer = `${base}/m/layers/l`;
const safe = await watchSafety(t, server, `${layer}/objects/?fields=*`);

const json = { "content-type": "application/json" };
const form = { "content-type": "application/x-www-form-urlencoded" };

/** No error is longer, whatever was sent. */
const maxAnswer = 10_000;
const large = 1_000_000;

/** Distinct names, some bytes of them. */
function names(bytes: number, separator = ","): string {
  const made: string[] = [];
  for (let length = 0; length < bytes; length += made.at(-1)!.length + 1) made.push(made.length.toString(36));
  return made.join(separator);
}

t.test(
  "a list that is longer than it can mean is refused, and no error grows with what was sent",
  async (t) => {
    const cases: readonly (readonly [name: string, body: object, status: number, told: RegExp])[] = [
      ["names", { fields: names(large) }, 400, /fields has at most 2000 members/],
      ["names in an array", { fields: names(100_000).split(",") }, 400, /fields has at most 2000 members/],
      ["one name again and again", { fields: "name,".repeat(large / 5) }, 400, /fields has at most 2000/],
      ["one long name", { fields: "x".repeat(large) }, 500, /unknown_column/],
      ["2000 unknown names", { fields: names(8_000).split(",").slice(0, 2_000) }, 500, /"more":1980/],
      ["terms", { sort: names(large, "|") }, 400, /sort has at most 100 members/],
      ["one term again and again", { sort: "name,d|".repeat(large / 7) }, 400, /sort has at most 100/],
      ["a long term", { sort: "x".repeat(large) }, 500, /unknown_column/],
      ["a long column", { fcode: "x".repeat(large), fval: "1" }, 400, /fcode has at most 10000 characters/],
      ["a long value", { fields: "name", fcode: "name", fval: "x".repeat(large) }, 400, /fval has at most/],
      ["a long language", { fields: "*", lng: "x".repeat(large) }, 400, /lng has at most 100 characters/],
      ["numbers of a box", { fbbox: "1,".repeat(large / 2) }, 400, /fbbox must be four numbers/],
      ["digits of a box", { fbbox: `1,2,3,${"4".repeat(large)}` }, 400, /fbbox must be four numbers/],
      ["digits of a number", { limit: "1".repeat(large) }, 400, /limit must be a whole number/],
    ];
    for (const [name, body, status, told] of cases) {
      const text = JSON.stringify(body);
      const answer = await safe.ask(`${layer}/filter/`, { method: "POST", headers: json, body: text });
      t.equal(answer.status, status, `${name}: ${answer.text.slice(0, 200)}`);
      t.match(answer.text, told, name);
      t.ok(answer.text.length < maxAnswer, `${name}: an answer of ${answer.text.length} characters`);
    }
    const forms: readonly (readonly [name: string, path: string, body: string])[] = [
      ["a form of many names", `${layer}/filter/`, names(large, "&")],
      ["a login of many names", `${base}/login/`, names(60_000, "&")],
      ["names in a form", `${layer}/filter/`, `fields=${names(large)}`],
      ["ids", `${layer}/export/`, `format=geojson&feature_ids=${"1,".repeat(large / 2)}`],
      ["languages", `${layer}/export/`, `format=geojson&langs=${names(large)}`],
      ["a long format", `${layer}/export/`, `format=${"x".repeat(large)}`],
    ];
    for (const [name, path, body] of forms) {
      const answer = await safe.ask(path, { method: "POST", headers: form, body });
      t.equal(answer.status, 400, `${name}: ${answer.text.slice(0, 200)}`);
      t.ok(answer.text.length < maxAnswer, `${name}: an answer of ${answer.text.length} characters`);
    }
    await safe.holds(t, "lists that are too long");
  },
);

t.test("a list as long as it can mean is served", async (t) => {
  const post = (path: string, body: object) =>
    safe.ask(`${layer}/${path}/`, { method: "POST", headers: json, body: JSON.stringify(body) });
  t.match(await post("filter", { fields: "name,".repeat(1_999) }), { json: [{ fields: { name: "a" } }] });
  t.match(await post("filter", { sort: Array(100).fill("name,d").join("|") }), { json: [{ id: Number }] });
  const ids = Array.from({ length: 30_000 }, (_, i) => i);
  t.match(await post("export", { format: "geojson", feature_ids: ids }), {
    json: { features: [{ properties: { name: "a" } }] },
  });
  await safe.holds(t, "long lists");
});

t.test("of many unknown names the first are told, shortened, and how many more there are", async (t) => {
  const send = (method: string, path: string, body: unknown) =>
    safe.ask(path, { method, headers: { ...json, "x-token": admin }, body: JSON.stringify(body) });
  const list = names(20_000).split(",");
  const created = await send("POST", `${layer}/objects/`, {
    fields: Object.fromEntries(list.map((name) => [name, 1])),
  });
  t.match(created, { status: 500, json: { code: "unknown_column" } });
  t.equal(Object.keys(created.json.data.columns).length, 20);
  t.equal(created.json.data.more, list.length - 20);
  const few = await send("POST", `${layer}/objects/`, { fields: { a: 1, b: 2 } });
  t.same(Object.keys(few.json.data.columns), ["a", "b"]);
  t.notOk("more" in few.json.data, "all of few are told");
  const derived = await send("POST", `${base}/m/layers/`, {
    type: "virtual",
    source: { layer: "l", columns: list },
  });
  t.match(derived.json, { code: "unknown_column", data: { more: list.length - 20 } });
  const long = "\u{1f332}".repeat(5_000);
  for (const [method, path, body] of [
    ["POST", `${layer}/objects/`, { fields: { [long]: 1 } }],
    ["PUT", `${base}/m/search/settings/`, [{ layer: "l", search_column: long }]],
    ["PUT", `${base}/m/search/settings/`, [{ layer: long, search_column: "name" }]],
    ["DELETE", `${layer}/objects/1/files/1/`, { field: long }],
  ] as const) {
    const answer = await send(method, path, body);
    t.ok([404, 500].includes(answer.status), `${path}: ${answer.status}`);
    t.match(answer.text, "\u{1f332}…", path);
    t.ok(answer.text.length < 1_000, `${path}: an answer of ${answer.text.length} characters`);
  }
  for (const { text } of [created, derived]) t.ok(text.length < maxAnswer, `${text.length} characters`);
  await safe.holds(t, "unknown names");
});

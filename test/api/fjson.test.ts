import t from "tap";
import { makeMap, makeStyledLayer } from "../support/maps.js";
import { startServer } from "../support/server.js";

/** Values by the formats of their columns: f=fjson. */

const server = await startServer();
t.teardown(() => server.stop());
await makeMap(server, "m");
const token = await server.token("editor");
await makeStyledLayer(server, "m", "l", "#a { marker-width: 4; }");
const column = async (code: string, type: string, rest: object = {}) => {
  const body = { code, type, ...rest };
  const answer = await server.api("POST", "m/layers/l/structure/", { token, body });
  if (answer.status !== 200) throw new Error(answer.text);
};
const format = { kind: "number", decimals: 2, grouping: true, prefix: "", suffix: " м²" };
await column("plain", "number");
await column("area", "number", { format });
await column("loose", "number", {
  format: { kind: "number", grouping: false, prefix: { en: "No. ", ru: "№ " } },
});
await column("moment", "datetime");
await column("day", "datetime", { format: { kind: "datetime", pattern: "dd.MM.yyyy HH:mm" } });
await column("long", "datetime", {
  format: { kind: "datetime", pattern: { en: "EEEE, MMMM d 'at' h:mm a", ru: "d MMMM yyyy 'г.', EEE" } },
});
await column("flag", "bool");
await column("word", "bool", { format: { kind: "bool", true: "да", false: "нет" } });
await column("text", "string");
await column("data", "json");
await column("local", "number", { localized_value: true });
const moment = "2024-05-01T14:05:09.5+02:00";
const fields = {
  plain: 1234567.125,
  area: 1234.5,
  loose: -1234,
  moment,
  day: moment,
  long: moment,
  flag: true,
  word: false,
  text: "1234",
  data: { a: 1 },
  local: 1234,
};
const made = await server.api("POST", "m/layers/l/objects/", {
  token,
  body: { fields, geom: { type: "Point", coordinates: [1.5, 2.25] } },
});
const id: number = made.json.id;
const get = async (query: string) => (await server.api("GET", `m/layers/l/objects/${id}/?${query}`)).json;

const english = {
  svc_id: id,
  plain: "1,234,567.125",
  area: "1,234.50 м²",
  loose: "No. -1234",
  moment: "2024-05-01T12:05:09.5Z",
  day: "01.05.2024 12:05",
  long: "Wednesday, May 1 at 12:05 PM",
  flag: "true",
  word: "нет",
  text: "1234",
  data: { a: 1 },
  local: "1,234",
};

t.test("without f=fjson values are as they are", async (t) => {
  for (const query of ["", "f=json", "f="])
    t.match((await get(query)).fields, { plain: 1234567.125, day: "2024-05-01T12:05:09.5Z", word: false });
});

t.test("a form that an operation does not have is refused", async (t) => {
  const refused = { status: 500, json: { code: "invalid_format" } };
  t.match(await server.api("GET", `m/layers/l/objects/${id}/?f=other`), refused);
  for (const f of ["pdf", "xml"]) {
    t.match(await server.api("GET", `m/layers/l/objects/?f=${f}`), refused);
    t.match(await server.api("POST", "m/layers/l/filter/", { body: { f } }), refused);
    for (const path of ["m/", "m/layers/", "m/layers/l/", "m/layers/l/structure/", "m/layers/l/count/"]) {
      t.match(await server.api("GET", `${path}?f=${f}`), refused, path);
      t.equal((await server.api("GET", `${path}?f=fjson`)).status, 200, path);
    }
  }
});

t.test("an object's values are formatted", async (t) => {
  t.strictSame(await get("f=fjson"), { id, fields: english });
  const whole = await get("f=fjson&returnGeom=1&returnBbox=1");
  t.strictSame(whole.geom, { type: "Point", coordinates: [1.5, 2.25] });
  t.match(whole.bbox, { sw: [2.25, 1.5] });
});

t.test("formats follow the language", async (t) => {
  const { fields } = await get("f=fjson&lng=ru");
  t.match(fields, {
    plain: "1\u00a0234\u00a0567,125",
    area: "1\u00a0234,50 м²",
    loose: "№ -1234",
    day: "01.05.2024 12:05",
    long: "1 мая 2024 г., ср",
    word: "нет",
  });
  t.equal((await get("f=fjson&lng=de")).fields.area, "1.234,50 м²");
  for (const lng of ["xx-!!", "constructor", "__proto__", "x", "%00", "a".repeat(2000)]) {
    const answer = await server.api("GET", `m/layers/l/objects/${id}/?f=fjson&lng=${lng}`);
    t.ok(answer.status === 400 || answer.json.fields.area === "1,234.50 м²", lng.slice(0, 20));
  }
});

t.test("lists are formatted, short and long", async (t) => {
  const list = (query: string) => server.api("GET", `m/layers/l/objects/?f=fjson&${query}`);
  t.strictSame((await list("fields=*&limit=1")).json, [{ id, fields: english }]);
  t.strictSame((await list("fields=*")).json, [{ id, fields: english }]);
  t.strictSame((await list("fields=area")).json, [{ id, fields: { area: english.area } }]);
  t.strictSame((await list("")).json, [{ id }]);
  t.strictSame((await list("fields=area&fcode=area&fval=1234.5")).json.length, 1, "filters compare values");
  const filtered = await server.api("POST", "m/layers/l/filter/", { body: { f: "fjson", fields: "area" } });
  t.strictSame(filtered.json, [{ id, fields: { area: english.area } }]);
  const features = (await list("fields=area&format=geojson")).json;
  t.match(features, { features: [{ properties: { svc_id: id, area: english.area } }] });
});

t.test("empty values stay empty", async (t) => {
  const { json } = await server.api("POST", "m/layers/l/objects/", { token, body: { fields: {} } });
  const object = (await server.api("GET", `m/layers/l/objects/${json.id}/?f=fjson`)).json;
  for (const [code, value] of Object.entries(object.fields))
    if (code !== "svc_id") t.equal(value, null, code);
  t.strictSame((await server.api("GET", "m/layers/l/objects/999/?f=fjson")).json, { id: 999, fields: {} });
});

t.test("a long list is formatted to its end", async (t) => {
  const { rows } = await server.sql.query(
    "select 'layers.l' || c.layer_id as table, 'c' || c.id as name from layer_column c where code = 'area'",
  );
  await server.sql.query(
    `insert into ${rows[0].table} (${rows[0].name}) select n + 0.125 from generate_series(1, 20000) n`,
  );
  const { json } = await server.api("GET", "m/layers/l/objects/?f=fjson&fields=area");
  t.equal(json.length, 20_002);
  t.equal(json.at(-1).fields.area, "20,000.13 м²");
});

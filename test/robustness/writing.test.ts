import t from "tap";
import { speak, statusOf } from "../http/harness.js";
import { addObject, makeMap, makeStyledLayer, square } from "../support/maps.js";
import { watchSafety } from "../support/safe.js";
import { startServer } from "../support/server.js";

/** Hostile names, texts and geometries in requests that write: they are kept as they are, or refused before any SQL. */

const server = await startServer();
t.teardown(() => server.stop());
const token = await server.token("editor");
await makeMap(server, "m");
await makeStyledLayer(server, "m", "l", "#l { polygon-fill: #f00; }");
await makeStyledLayer(server, "m", "codes", "#l { polygon-fill: #f00; }");
const name = await server.api("POST", "m/layers/l/structure/", {
  token,
  body: { code: "name", type: "string" },
});
if (name.status !== 200) throw new Error(name.text);
await addObject(server, "l", square(1, 1, 1), { map: "m" });

const base = "/api/2.8/p/m/layers";
const safe = await watchSafety(t, server, `${base}/l/objects/?fields=*`);
const json = { "content-type": "application/json", "x-token": token };
const send = (method: string, path: string, body: string | Uint8Array) =>
  safe.ask(path, { method, headers: json, body: body as never });
const port = Number(new URL(server.url).port);

t.test("codes that the rules forbid are refused, whatever PostgreSQL would make of them", async (t) => {
  for (const code of [
    'a"b',
    "a'b",
    "a b",
    "a;drop table project",
    "a".repeat(45),
    "1a",
    "",
    "я",
    "a\u0301",
    "a-b",
    "__proto__",
    "a\n",
  ]) {
    const made = await send("POST", `${base}/l/structure/`, JSON.stringify({ code, type: "string" }));
    t.equal(made.status, 500, code);
    t.equal(made.json.code, code === "" ? "required_parameters" : "invalid_code", code);
    const changed = await send(
      "PATCH",
      `${base}/l/structure/name/`,
      JSON.stringify({ code: code || "a b", type: "string" }),
    );
    t.match(changed, { status: 500, json: { code: "invalid_code" } }, `${code} as a new code`);
  }
  for (const code of ["svc_id", "geom", "name"]) {
    const made = await send("POST", `${base}/l/structure/`, JSON.stringify({ code, type: "string" }));
    t.match(made, { status: 500, json: { code: "code_exists" } }, code);
  }
  t.equal(({} as { type?: unknown }).type, undefined);
  await safe.holds(t, "hostile codes");
});

t.test("a column may be called what PostgreSQL and JavaScript call their own", async (t) => {
  const codes = [
    "constructor",
    "toString",
    "hasOwnProperty",
    "__defineGetter__",
    "ctid",
    "xmin",
    "oid",
    "tableoid",
    "geom_3857",
    "select",
    "NULL",
    "c1",
    "_",
    "a".repeat(44),
  ];
  for (const code of codes) {
    const made = await send("POST", `${base}/codes/structure/`, JSON.stringify({ code, type: "string" }));
    t.match(made, { status: 200, json: { code } }, code);
  }
  const values = Object.fromEntries(codes.map((code) => [code, `value of ${code}`]));
  const made = await send("POST", `${base}/codes/objects/`, JSON.stringify({ fields: values }));
  t.equal(made.status, 200, made.text);
  t.same(made.json.fields, { svc_id: made.json.id, ...values });
  for (const code of codes) {
    const query = new URLSearchParams({
      fields: code,
      fcode: code,
      fval: `value of ${code}`,
      sort: `${code},d`,
    });
    const found = await safe.ask(`${base}/codes/objects/?${query}`);
    t.same(found.json, [{ id: made.json.id, fields: { [code]: values[code] } }], code);
    const changed = await send(
      "PUT",
      `${base}/codes/objects/${made.json.id}/`,
      `{"fields":{${JSON.stringify(code)}:"changed"}}`,
    );
    t.equal(changed.json.fields[code], "changed", code);
  }
  const features = await safe.ask(`${base}/codes/objects/?format=geojson&fields=*`);
  t.equal(Object.keys(features.json.features[0].properties).length, codes.length + 1);
  for (const code of codes) {
    t.equal((await send("DELETE", `${base}/codes/structure/${code}/`, "")).status, 200, code);
  }
  const left = await safe.ask(`${base}/codes/objects/${made.json.id}/`);
  t.same(left.json, { id: made.json.id, fields: { svc_id: made.json.id } });
  await safe.accept();
  await safe.holds(t, "columns of every name");
});

t.test("keys of an object's fields are columns or refused, and no prototype is reached", async (t) => {
  for (const text of [
    '{"fields":{"__proto__":"x"}}',
    '{"fields":{"__proto__":{"name":"x"}}}',
    '{"fields":{"constructor":{"prototype":{"polluted":1}}}}',
    '{"fields":{"toString":1}}',
    '{"fields":{"name\\"; drop table project; --":1}}',
    '{"fields":{"c1":"x"}}',
    '{"fields":{"ctid":"(0,1)"}}',
    '{"fields":{"geom_3857":"x"}}',
  ]) {
    const made = await send("POST", `${base}/l/objects/`, text);
    t.match(made, { status: 500, json: { code: "unknown_column", data: { columns: Object } } }, text);
  }
  for (const text of ['{"__proto__":{"fields":{}}}', '{"constructor":{"fields":{}}}']) {
    t.match(await send("POST", `${base}/l/objects/`, text), {
      status: 500,
      json: { code: "required_parameters", data: { required: ["fields"] } },
    });
  }
  t.equal(({} as { polluted?: unknown }).polluted, undefined);
  await safe.holds(t, "hostile keys");
});

/** Process ids of the server's connections to its database; those that idle for long it closes itself. */
async function connections(condition = "true"): Promise<number[]> {
  const { rows } = await server.sql.query(
    `select pid from pg_stat_activity
     where datname = current_database() and application_name = 'mapwright' and ${condition}`,
  );
  return rows.map(({ pid }: { pid: number }) => pid);
}

t.test("text that is no text is refused, and no database connection is lost over it", async (t) => {
  await Promise.all(Array.from({ length: 4 }, () => safe.ask(`${base}/l/objects/`)));
  const before = await connections("state_change > clock_timestamp() - interval '1 second'");
  const values = ['"a\\u0000b"', '"\\ud800"', '"\\udc00\\ud800"', '"x\\ud83d"'];
  for (const value of values) {
    for (const [method, path, body] of [
      ["POST", "l/objects/", `{"fields":{"name":${value}}}`],
      ["POST", "l/objects/", `{"fields":{${value}:1}}`],
      ["POST", "l/filter/", `{"fields":"name","fcode":"name","fval":${value}}`],
      ["POST", "l/filter/", `{"fields":${value}}`],
      ["PATCH", "l/structure/name/", `{"type":"string","name":${value}}`],
      ["POST", "", `{"code":${value}}`],
      ["POST", "", `{"code":"new","name":{"en":${value}}}`],
      ["POST", "", `{"code":"new","css_style":${value}}`],
    ] as const) {
      t.equal((await send(method, `${base}/${path}`, body)).status, 400, `${method} ${path} ${body}`);
    }
    t.equal((await send("POST", "/api/2.8/p/", `{"code":"x","name":${value}}`)).status, 400);
    t.equal((await send("POST", "/api/2.8/p/login/", `{"user":${value},"pass":"x"}`)).status, 400);
    t.equal((await send("POST", "/api/2.8/p/ext-auth/", `{"login":${value}}`)).status, 400);
  }
  for (const bytes of [[0xff], [0xc0, 0x80], [0xed, 0xa0, 0x80], [0xf5, 0x80, 0x80, 0x80], [0xc3]]) {
    const body = Buffer.concat([Buffer.from('{"fields":{"name":"'), Buffer.from(bytes), Buffer.from('"}}')]);
    t.equal((await send("POST", `${base}/l/objects/`, body)).status, 400, `bytes ${bytes}`);
  }
  for (const damaged of ["%00", "%ff", "%c0%80", "%ed%a0%80", "%f5%80%80%80", "%c3", "%zz", "a%00b"]) {
    for (const path of [
      `/api/2.8/${damaged}/m/`,
      `/api/2.8/p/${damaged}/`,
      `${base}/${damaged}/`,
      `${base}/l/structure/${damaged}/`,
      `${base}/l/objects/${damaged}/`,
      `/api/2.8/p/image/${damaged}/`,
      `/tms/p/${damaged}/?x=0&y=0&z=0`,
      `${base}/l/objects/?fields=${damaged}`,
      `${base}/l/objects/?fields=name&fcode=name&fval=${damaged}`,
      `/api/2.8/p/m/search/?phrase=${damaged}`,
      `/api/2.8/p/m/?token=${damaged}`,
    ]) {
      t.equal((await safe.ask(path)).status, 400, path);
    }
  }
  for (const bytes of ["\xff", "\xc0\x80", "\xed\xa0\x80"]) {
    const answer = await speak(
      port,
      `GET ${base}/${bytes}/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`,
    );
    t.equal(statusOf(answer), 400, "bytes in the path");
  }
  const after = await connections();
  t.same(
    before.filter((pid) => !after.includes(pid)),
    [],
    "every connection is still there",
  );
  await safe.holds(t, "text that is none");
});

const nested = (levels: number): string =>
  '{"type":"GeometryCollection","geometries":['.repeat(levels) +
  '{"type":"Point","coordinates":[1,2]}' +
  "]}".repeat(levels);
const many = (count: number, one: string): string => `[${`${one},`.repeat(count - 1)}${one}]`;

/** What is no geometry, and the status by which a request body and (as a feature of a file) an import is refused. */
const geometries: readonly (readonly [name: string, text: string, body: number])[] = [
  ["collections 10 000 deep", nested(10_000), 400],
  ["collections 40 deep", nested(40), 500],
  ["a polygon of one point", '{"type":"Polygon","coordinates":[[[0,0]]]}', 500],
  ["a ring that is not closed", '{"type":"Polygon","coordinates":[[[0,0],[0,1],[1,1],[1,0]]]}', 500],
  ["a line of one point", '{"type":"LineString","coordinates":[[0,0]]}', 500],
  ["NaN as text", '{"type":"Point","coordinates":["NaN","NaN"]}', 500],
  ["NaN", '{"type":"Point","coordinates":[NaN,0]}', 400],
  ["Infinity", '{"type":"Point","coordinates":[Infinity,0]}', 400],
  ["1e999", '{"type":"Point","coordinates":[1e999,0]}', 400],
  ["null", '{"type":"Point","coordinates":[null,null]}', 500],
  ["latitude 91", '{"type":"Point","coordinates":[0,91]}', 500],
  ["longitude 1e300", '{"type":"Point","coordinates":[1e300,0]}', 500],
  ["no coordinates", '{"type":"Point"}', 500],
  ["coordinates of a prototype", '{"type":"Point","__proto__":{"coordinates":[0,0]}}', 500],
  ["a type of the prototype", '{"type":"constructor","coordinates":[0,0]}', 500],
  ["coordinates nested 90 deep", `{"type":"Point","coordinates":${"[".repeat(90)}0,0${"]".repeat(90)}}`, 500],
  ["a collection of text", '{"type":"GeometryCollection","geometries":["POINT(0 0)"]}', 500],
  ["WKT", '"POINT(0 0)"', 500],
];

/** Geometries of no place, which are geometries all the same. */
const empty: readonly (readonly [name: string, text: string])[] = [
  ["a point without coordinates", '{"type":"Point","coordinates":[]}'],
  ["a line without coordinates", '{"type":"LineString","coordinates":[]}'],
  ["a polygon without rings", '{"type":"Polygon","coordinates":[]}'],
  ["an empty collection", '{"type":"GeometryCollection","geometries":[]}'],
  [
    "a collection of an empty one",
    '{"type":"GeometryCollection","geometries":[{"type":"MultiPoint","coordinates":[]}]}',
  ],
];

/** What a request body may not be, and a file, whose features may have more numbers, may. */
const stricter: typeof empty = [
  ["a position of 1000 numbers", `{"type":"Point","coordinates":${many(1_000, "1")}}`],
];

const asFile = (geometry: string) =>
  `{"type":"FeatureCollection","features":[{"type":"Feature","properties":{},"geometry":${geometry}}]}`;

t.test("geometry that is none is refused, in a body and in a file alike", async (t) => {
  for (const [what, text, status] of geometries) {
    for (const [method, path, body] of [
      ["POST", "l/objects/", `{"fields":{},"geom":${text}}`],
      ["PUT", "l/objects/1/", `{"fields":{},"geom":${text}}`],
      ["PUT", "l/objects/1/geom/", text],
    ] as const) {
      const answer = await send(method, `${base}/${path}`, body);
      t.equal(answer.status, status, `${what}: ${method} ${path}: ${answer.text.slice(0, 200)}`);
      if (status === 500) t.equal(answer.json.code, "invalid_geometry", what);
    }
    const imported = await send("POST", `${base}/l/import/`, asFile(text));
    t.equal(imported.status, 500, `${what} in a file: ${imported.text.slice(0, 200)}`);
    t.match(imported.json.code, /^(invalid_geometry|import_failed)$/, what);
  }
  for (const [what, text] of stricter) {
    const answer = await send("POST", `${base}/l/objects/`, `{"fields":{},"geom":${text}}`);
    t.match(answer, { status: 500, json: { code: "invalid_geometry" } }, what);
  }
  for (const [what, text] of empty) {
    const answer = await send("POST", `${base}/l/objects/`, `{"fields":{},"geom":${text}}`);
    t.equal(answer.status, 200, `${what}: ${answer.text.slice(0, 200)}`);
    await send("DELETE", `${base}/l/objects/${answer.json.id}/`, "");
  }
  await safe.holds(t, "geometry that is none");
});

t.test("collections of two or three levels come back as they were sent", async (t) => {
  const token_ = { "x-token": token };
  for (const levels of [1, 2, 3]) {
    const made = await send(
      "POST",
      `${base}/l/objects/?returnGeom=1`,
      `{"fields":{},"geom":${nested(levels)}}`,
    );
    t.equal(made.status, 200, made.text);
    t.same(made.json.geom, JSON.parse(nested(levels)));
    const path = `${base}/l/objects/${made.json.id}/`;
    t.same((await safe.ask(`${path}geom/`, { headers: token_ })).json, JSON.parse(nested(levels)));
    const mercator = await safe.ask(`${path}?returnGeom=1&geomSR=3857&geomZoom=5&returnBbox=1`);
    t.equal(mercator.status, 200, mercator.text);
    t.same(mercator.json.bbox, { sw: [2, 1], ne: [2, 1] });
    const centre = await safe.ask(`${base}/l/objects/?returnGeom=1&returnCentroid=1&fields=name`);
    t.equal(centre.status, 200, centre.text);
    t.equal((await send("DELETE", path, "")).status, 200);
  }
  const imported = await send("POST", `${base}/l/import/`, asFile(nested(3)));
  t.equal(imported.status, 200, imported.text);
  const list = await safe.ask(`${base}/l/objects/?returnGeom=1&sort=svc_id,d&limit=1`);
  t.same(list.json[0].geom, JSON.parse(nested(3)));
  await send("DELETE", `${base}/l/objects/${list.json[0].id}/`, "");
  const tile = await fetch(`${server.url}/tms/p/m/?x=0&y=0&z=0`);
  t.equal(tile.status, 200);
  await safe.holds(t, "collections");
});

t.test(
  "what a file leaves without a place, or gives more numbers than places have, is served as any other",
  async (t) => {
    for (const [what, text] of [...empty, ...stricter]) {
      const imported = await send("POST", `${base}/l/import/`, asFile(text));
      t.equal(imported.status, 200, `${what}: ${imported.text.slice(0, 200)}`);
      const list = await safe.ask(`${base}/l/objects/?returnGeom=1&returnBbox=1&sort=svc_id,d&limit=1`);
      t.equal(list.status, 200, what);
      for (const query of [
        "geomZoom=3&returnGeom=1",
        "returnGeom=1&returnCentroid=1",
        "returnGeom=1&geomSR=3857",
        "format=geojson",
        "fbbox=-90,-180,90,180",
      ]) {
        t.equal((await safe.ask(`${base}/l/objects/?${query}`)).status, 200, `${what}: ${query}`);
      }
      t.equal((await safe.ask(`${base}/l/bbox/`)).status, 200, what);
      t.equal((await safe.ask(`/tms/p/m/?x=0&y=0&z=0&n=${list.json[0].id}`)).status, 200, what);
      await send("DELETE", `${base}/l/objects/${list.json[0].id}/`, "");
    }
    await safe.holds(t, "features without any place");
  },
);

t.test("ten million positions are too many, and others are served meanwhile", async (t) => {
  const points = many(10_000_000, "[1,2]");
  const geometry = `{"type":"MultiPoint","coordinates":${points}}`;
  const body = send("POST", `${base}/l/objects/`, `{"fields":{},"geom":${geometry}}`);
  t.equal((await safe.ask(`${base}/l/objects/`)).status, 200);
  t.equal((await body).status, 413);
  const file = send("POST", `${base}/l/import/`, asFile(geometry));
  let settled = false;
  const watch = file.finally(() => {
    settled = true;
  });
  let served = 0;
  while (!settled) {
    const answer = await safe.ask(`${base}/l/objects/`, { signal: AbortSignal.timeout(10_000) });
    if (answer.status !== 200) t.fail(answer.text);
    served++;
  }
  t.ok(served > 0, `${served} others were served`);
  const answer = await watch;
  t.equal(answer.status, 500, answer.text.slice(0, 200));
  t.equal(answer.json.code, "invalid_geometry");
  await safe.holds(t, "ten million positions");
});

import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t from "tap";
import { makeMap } from "../support/maps.js";
import { startServer, waitFor } from "../support/server.js";
import { changeUses } from "../support/uses.js";

const server = await startServer();
t.teardown(() => server.stop());
const [admin, editor] = [await server.token("admin"), await server.token("editor")];
await makeMap(server, "m");

async function must(method: string, path: string, body?: unknown) {
  const answer = await server.api(method, path, { token: editor, body });
  if (answer.status !== 200) throw new Error(`${method} ${path}: ${answer.status} ${answer.text}`);
  return answer.json;
}
const layer = (body: object) => must("POST", "m/layers/", body);
const column = (code: string, body: object) => must("POST", `m/layers/${code}/structure/`, body);
const exported = (code: string, query = "", token?: string) =>
  server.api("GET", `m/layers/${code}/export/?format=geojson${query}`, { token });
const objects = async (code: string, query = "") =>
  (await must("GET", `m/layers/${code}/objects/?fields=*&returnGeom=1&sort=svc_id${query}`)) as any[];
/** Objects in each language that the tests use. */
const everything = async (code: string) =>
  Promise.all(["", "&lng=en", "&lng=ru", "&lng=de"].map((query) => objects(code, query)));
const replace = (code: string, text: string, query = "") =>
  fetch(`${server.url}/api/2.8/p/m/layers/${code}/import/?action=1${query}`, {
    method: "POST",
    headers: { "x-token": editor },
    body: text,
  });

const types = ["number", "string", "text", "datetime", "bool", "json"] as const;
const geometries = [
  { type: "Point", coordinates: [30.123456789012, -50.000000000001] },
  {
    type: "MultiPolygon",
    coordinates: [
      [
        [
          [0, 0],
          [10, 0],
          [10, 10],
          [0, 0],
        ],
      ],
    ],
  },
  {
    type: "GeometryCollection",
    geometries: [
      { type: "Point", coordinates: [1, 2] },
      {
        type: "LineString",
        coordinates: [
          [1, 2],
          [3, 4],
        ],
      },
    ],
  },
  null,
  null,
];
const values: readonly Record<string, unknown>[] = [
  {
    number: 9007199254740991,
    string: 'Ёлка "🎄" \\ \u0001 \t\n\u2028',
    text: "",
    datetime: "2024-02-29T12:30:00.123456+03:00",
    bool: true,
    json: { a: [1, null, { ключ: "ü" }], __proto__2: 1e-7 },
  },
  { number: 0.1, string: "", text: "12", datetime: "0001-01-01", bool: false, json: [] },
  { number: -1e-7, string: "true", text: "2024-01-01", datetime: "9999-12-31T23:59:59Z", json: [[{}]] },
  { number: 123456789.12345679, string: "null", text: "<b>&amp;", json: { "": "" } },
  {},
];

async function makeAll(code: string, localized: boolean): Promise<void> {
  await layer({ code });
  await column(code, { code: "head", type: "title" });
  for (const type of types) {
    await column(code, { code: type, type });
    if (localized) await column(code, { code: `l_${type}`, type, localized_value: true });
  }
}

async function fill(code: string, languages: readonly string[]): Promise<void> {
  for (const [index, geom] of geometries.entries()) {
    const fields: Record<string, unknown> = { ...values[index] };
    const { id } = await must("POST", `m/layers/${code}/objects/`, { fields, geom });
    for (const [shift, lng] of languages.entries()) {
      const own = values[(index + shift) % values.length]!;
      const localised = Object.entries(own).map(([key, value]) => [`l_${key}`, value]);
      await must("PUT", `m/layers/${code}/objects/${id}/?lng=${lng}`, {
        fields: Object.fromEntries(localised),
      });
    }
  }
}

t.test("a layer comes as a FeatureCollection under its name", async (t) => {
  await layer({ code: "named", name: { ru: 'Улицы / "центр"', en: "Streets" } });
  const { id } = await must("POST", "m/layers/named/objects/", {
    fields: {},
    geom: { type: "Point", coordinates: [1, 2] },
  });
  const answer = await exported("named");
  t.equal(answer.status, 200);
  t.equal(answer.headers.get("content-type"), "application/geo+json");
  t.equal(answer.headers.get("content-disposition"), 'attachment; filename="Streets.geojson"');
  t.strictSame(answer.json, {
    type: "FeatureCollection",
    features: [
      { type: "Feature", id, geometry: { type: "Point", coordinates: [1, 2] }, properties: { svc_id: id } },
    ],
  });
  t.equal(
    (await exported("named", "&lng=ru")).headers.get("content-disposition"),
    `attachment; filename="_____ _ _______.geojson"; filename*=UTF-8''${encodeURIComponent("Улицы _ _центр_.geojson")}`,
  );
});

t.test("an empty layer is an empty collection", async (t) => {
  await layer({ code: "empty" });
  const answer = await exported("empty");
  t.equal(answer.headers.get("content-disposition"), 'attachment; filename="empty.geojson"');
  t.strictSame(answer.json, { type: "FeatureCollection", features: [] });
});

t.test("an import of the file gives the same objects", async (t) => {
  await makeAll("all", true);
  await fill("all", ["en", "ru", "de"]);
  const { id } = await must("GET", "m/layers/all/");
  await server.sql.query(
    `update layers.l${id} set geom = 'SRID=4326;LINESTRING EMPTY' where svc_id = (select max(svc_id) from layers.l${id})`,
  );
  const before = await everything("all");
  const file = await exported("all");
  t.equal(file.status, 200, file.text);
  for (const object of before[0] ?? [])
    await must("PUT", `m/layers/all/objects/${object.id}/`, { fields: { string: "changed" }, geom: null });
  const answer = await replace("all", file.text);
  t.equal(answer.status, 200, await answer.text());
  t.strictSame(await everything("all"), before);
  t.equal((await exported("all")).text, file.text, "and the next file is the same");
});

t.test("merging the file changes nothing, and what it says wins", async (t) => {
  const before = await everything("all");
  const file = await exported("all");
  const send = (text: string) => server.api("POST", "m/layers/all/import/", { token: editor, body: text });
  t.equal((await send(JSON.parse(file.text))).status, 200);
  t.strictSame(await everything("all"), before);
  const id = before[0]![0].id;
  const properties = { svc_id: id, l_string_ru: "иное", l_string_en: null };
  const merged = await send({
    type: "FeatureCollection",
    features: [{ type: "Feature", properties }],
  } as never);
  t.equal(merged.status, 200, merged.text);
  const [english, russian, german] = await Promise.all(
    ["en", "ru", "de"].map(
      async (lng) => (await must("GET", `m/layers/all/objects/${id}/?lng=${lng}`)).fields.l_string,
    ),
  );
  t.not(english, before[1]![0].fields.l_string, "taken away");
  t.equal(russian, "иное");
  t.equal(german, before[3]![0].fields.l_string, "what the file does not name stays");
});

t.test("a new layer takes the file with all its languages as columns", async (t) => {
  const file = await exported("all");
  await layer({ code: "copy" });
  const answer = await replace("copy", file.text);
  t.equal(answer.status, 200);
  const [original] = await objects("all", "&lng=ru");
  const [copied] = await objects("copy");
  t.equal(copied.fields.l_string_ru, original.fields.l_string);
  t.equal(copied.fields.string, original.fields.string);
  t.strictSame(copied.geom, original.geom);
  t.equal(copied.id, original.id);
});

t.test("JSON values of all kinds come back, and texts that look like them", async (t) => {
  await layer({ code: "kinds" });
  await column("kinds", { code: "j", type: "json" });
  await column("kinds", { code: "l", type: "json", localized_value: true });
  const kinds = [
    ["text", "", "5", "-0.5e3", "true", "false", "null", "{", "[1]", '{"a":1}', "2024-01-01", "-", "01"],
    [5, -0.5e3, 1e-7, true, false, { a: "5" }, ["5", 5], [], {}],
  ].flat();
  for (const value of kinds)
    await must("POST", "m/layers/kinds/objects/", { fields: { j: value, l: value } });
  const before = await objects("kinds");
  t.strictSame(
    before.map((object) => object.fields.j),
    kinds,
  );
  const file = await exported("kinds");
  t.equal((await replace("kinds", file.text)).status, 200);
  t.strictSame(await objects("kinds"), before);
  t.equal((await exported("kinds")).text, file.text);
});

t.test("languages can be chosen, and one alone keeps the columns' codes", async (t) => {
  await layer({ code: "tongues" });
  await column("tongues", { code: "name", type: "string", localized_value: true });
  await column("tongues", { code: "name_ru", type: "string" });
  await must("POST", "m/layers/tongues/objects/", {
    fields: { name: { en: "Moscow", ru: "Москва", de: "Moskau" }, name_ru: "own" },
  });
  const properties = async (query: string) => {
    const { svc_id: _, ...rest } = (await exported("tongues", query)).json.features[0].properties;
    return rest;
  };
  t.strictSame(await properties(""), {
    name_en: "Moscow",
    "name:ru": "Москва",
    "name:de": "Moskau",
    name_ru: "own",
  });
  t.strictSame(await properties("&langs="), await properties(""));
  t.strictSame(await properties("&langs=ru"), { name: "Москва", name_ru: "own" });
  t.strictSame(await properties("&langs=fr"), { name: null, name_ru: "own" });
  t.strictSame(await properties("&langs=de,en,de"), {
    "name:de": "Moskau",
    name_en: "Moscow",
    name_ru: "own",
  });
  const before = await everything("tongues");
  const file = await exported("tongues");
  t.equal((await replace("tongues", file.text)).status, 200);
  t.strictSame(await everything("tongues"), before);
  const russian = await exported("tongues", "&langs=ru");
  t.equal((await replace("tongues", russian.text, "&lng=ru")).status, 200);
  t.match(await objects("tongues", "&lng=ru"), [{ fields: { name: "Москва" } }]);
  for (const langs of ["r", "ru;en", "ru,'", "ru,%00", "a b", `${"aa,".repeat(3)}x`, "ru\\"])
    t.equal((await exported("tongues", `&langs=${langs}`)).status, 400, langs);
});

t.test("objects keep their files, and nobody else's", async (t) => {
  await layer({ code: "filed" });
  await column("filed", { code: "f", type: "file" });
  await column("filed", { code: "g", type: "file", localized_value: true });
  const [one, two] = [
    await must("POST", "m/layers/filed/objects/", { fields: {} }),
    await must("POST", "m/layers/filed/objects/", { fields: {} }),
  ];
  const attach = async (id: number, field: string, lng = "en") => {
    const form = new FormData();
    form.set("field", field);
    form.set("file", new File(["text"], "a.txt"));
    const path = `m/layers/filed/objects/${id}/files/?lng=${lng}`;
    const answer = await fetch(`${server.url}/api/2.8/p/${path}`, {
      method: "POST",
      headers: { "x-token": editor },
      body: form,
    });
    t.equal(answer.status, 200);
    return ((await answer.json()) as { id: number }).id;
  };
  const ids = [await attach(one.id, "f"), await attach(one.id, "f")];
  const russian = await attach(one.id, "g", "ru");
  const other = await attach(two.id, "f");
  const before = await everything("filed");
  const file = await exported("filed");
  t.match(file.json.features[0].properties, { f: ids.join(","), g_en: null, g_ru: String(russian) });
  t.equal((await replace("filed", file.text)).status, 200);
  t.strictSame(await everything("filed"), before);
  const forged = (properties: object) =>
    replace(
      "filed",
      JSON.stringify({ type: "FeatureCollection", features: [{ type: "Feature", properties }] }),
    );
  for (const properties of [
    { svc_id: one.id, f: String(other) },
    { svc_id: one.id, f: `${ids[0]},${other}` },
    { svc_id: one.id, f: String(russian) },
    { svc_id: two.id, g_ru: String(russian) },
    { f: String(ids[0]) },
    { svc_id: one.id, f: "1e3" },
    { svc_id: one.id, f: "1;drop table file" },
  ]) {
    const answer = await forged(properties);
    t.equal(answer.status, 500);
    t.match(await answer.json(), { code: "import_failed", data: { feature: 1 } }, JSON.stringify(properties));
  }
  t.strictSame(await everything("filed"), before);
});

t.test("a file in EPSG:3857 says so, and its import finds the places again", async (t) => {
  await layer({ code: "web" });
  await must("POST", "m/layers/web/objects/", {
    fields: {},
    geom: { type: "Point", coordinates: [10, 50] },
  });
  const file = await exported("web", "&geomSR=3857");
  t.match(file.json.crs.properties.name, /EPSG::3857$/);
  t.equal(Math.round(file.json.features[0].geometry.coordinates[0]), 1113195);
  t.equal((await replace("web", file.text)).status, 200);
  const [object] = await objects("web");
  t.equal(Math.round(object.geom.coordinates[0] * 1e9), 10e9);
  t.equal(Math.round(object.geom.coordinates[1] * 1e9), 50e9);
  t.equal((await exported("web", "&geomSR=4258")).status, 400);
});

t.test("objects are chosen by id and by box", async (t) => {
  await layer({ code: "chosen" });
  const made: number[] = [];
  for (let i = 0; i < 5; i++) {
    const geom = { type: "Point", coordinates: [i * 10, i] };
    made.push((await must("POST", "m/layers/chosen/objects/", { fields: {}, geom })).id);
  }
  const ids = async (query: string) => {
    const answer = await exported("chosen", query);
    return answer.json?.features.map((feature: { id: number }) => feature.id) ?? answer.status;
  };
  t.same(await ids(`&feature_ids=${made[3]},${made[1]}, ${made[1]},999999`), [made[1], made[3]]);
  t.same(await ids("&feature_ids="), made);
  t.same(await ids("&feature_ids=0"), []);
  t.same(await ids("&fbbox=0.5,5,2.5,25"), [made[1], made[2]]);
  t.same(await ids(`&fbbox=0.5,5,2.5,25&feature_ids=${made[2]},${made[4]}`), [made[2]]);
  for (const damaged of [
    "1,",
    ",",
    "1,,2",
    "1.5",
    "1e3",
    "x",
    "1;2",
    "1' or '1'='1",
    "1) or (1=1",
    "1%00",
    "99999999999999999",
    "NaN",
    "Infinity",
  ])
    t.equal(await ids(`&feature_ids=${damaged}`), 400, damaged);
  t.equal(await ids("&fbbox=1,2,3"), 400);
});

t.test("objects are chosen by a filter, and columns by their codes", async (t) => {
  await layer({ code: "picked" });
  await column("picked", { code: "n", type: "number" });
  await column("picked", { code: "s", type: "string" });
  for (let n = 1; n <= 3; n++) await must("POST", "m/layers/picked/objects/", { fields: { n, s: `s${n}` } });
  const ask = (query: Record<string, string>) => exported("picked", `&${new URLSearchParams(query)}`);
  const properties = async (query: Record<string, string>) =>
    (await ask(query)).json.features.map(({ properties: { svc_id: _, ...rest } }: any) => rest);
  t.same(await properties({ filter: "n > 1 and s <> 's3'" }), [{ n: 2, s: "s2" }]);
  t.same(await properties({ filter: " ", fields: "s" }), [{ s: "s1" }, { s: "s2" }, { s: "s3" }]);
  t.same(await properties({ filter: "s matches 's[13]'", fields: "n,svc_id" }), [{ n: 1 }, { n: 3 }]);
  t.same(await properties({ fields: "*", filter: "n = 1" }), [{ n: 1, s: "s1" }]);
  for (const [query, code] of [
    [{ filter: "n > " }, "invalid_value"],
    [{ filter: "none > 1" }, "unknown_column"],
    [{ filter: "s matches '['" }, "invalid_value"],
    [{ filter: "n > 1); drop table layer; --" }, "invalid_value"],
    [{ fields: "n,none" }, "unknown_column"],
    [{ fields: "n;drop" }, "unknown_column"],
  ] as const)
    t.match(await ask(query), { status: 500, json: { code } }, JSON.stringify(query));
  const body = { format: "geojson", filter: "n = 3", fields: "n" };
  const answer = await server.api("POST", "m/layers/picked/export/", { body });
  t.match(answer.json.features, [{ properties: { n: 3 } }]);
});

t.test("more ids than an address holds come in a body", async (t) => {
  const some = await objects("chosen");
  const list = [...Array.from({ length: 29_998 }, (_, i) => 10_000_000 + i), some[0].id, some[4].id];
  const answer = await server.api("POST", "m/layers/chosen/export/", {
    body: { format: "geojson", feature_ids: list.join(",") },
  });
  t.equal(answer.status, 200, answer.text.slice(0, 200));
  t.same(
    answer.json.features.map((feature: { id: number }) => feature.id),
    [some[0].id, some[4].id],
  );
  const damaged = { format: "geojson", feature_ids: `${list.join(",")},x` };
  t.equal((await server.api("POST", "m/layers/chosen/export/", { body: damaged })).status, 400);
});

t.test("zip packs the file, the same as without it", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "mapwright-test-"));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  for (const [code, name] of [
    ["all", "all.geojson"],
    ["empty", "empty.geojson"],
    ["named", "Улицы _ _центр_.geojson"],
  ] as const) {
    const answer = await fetch(
      `${server.url}/api/2.8/p/m/layers/${code}/export/?format=geojson&zip=1&lng=ru`,
    );
    t.equal(answer.status, 200);
    t.equal(answer.headers.get("content-type"), "application/zip");
    t.match(answer.headers.get("content-disposition"), /\.zip/);
    const path = join(folder, `${code}.zip`);
    writeFileSync(path, Buffer.from(await answer.arrayBuffer()));
    const script =
      "import json,sys,zipfile; z=zipfile.ZipFile(sys.argv[1]); assert z.testzip() is None; " +
      "print(json.dumps({n: z.read(n).decode() for n in z.namelist()}))";
    const packed = JSON.parse(execFileSync("python3", ["-c", script, path], { encoding: "utf8" }));
    t.strictSame(packed, { [name]: (await exported(code)).text });
  }
  t.equal((await exported("all", "&zip=2")).status, 400);
  t.equal((await exported("all", "&zip=0")).headers.get("content-type"), "application/geo+json");
});

t.test("formats are those of the contract", async (t) => {
  const ask = (query: string) => server.api("GET", `m/layers/named/export/${query}`);
  t.match(await ask(""), {
    status: 500,
    json: { code: "required_parameters", data: { required: ["format"] } },
  });
  t.match(await ask("?format=geotif"), { status: 500, json: { code: "unsupported_format" } });
  for (const format of ["GeoJSON", "pdf", "constructor", "__proto__", "geojson,shp", "%27"])
    t.match(await ask(`?format=${format}`), { status: 500, json: { code: "invalid_format" } }, format);
});

t.test("who may read a layer may export it, and learns of no other", async (t) => {
  t.equal((await exported("named")).headers.get("cache-control"), "no-store");
  t.equal((await exported("named", "", editor)).headers.get("cache-control"), "private, no-store");
  t.equal((await exported("none")).status, 404);
  t.equal((await exported("named", "&token=unknown")).status, 401);
  await server.sql.query("update map set has_publication = false where code = 'm'");
  const { services } = server.nodes[0]!;
  await services.changes.propagate();
  t.equal((await exported("named")).status, 403);
  t.equal((await exported("none")).status, 403);
  t.equal((await exported("named", "", editor)).status, 200);
  await server.sql.query("update map set has_publication = true where code = 'm'");
  await services.changes.propagate();
});

t.test("virtual and material layers are exported like others", async (t) => {
  await layer({ code: "source" });
  await column("source", { code: "n", type: "number" });
  await column("source", { code: "name", type: "string", localized_value: true });
  for (let n = 1; n <= 3; n++)
    await must("POST", "m/layers/source/objects/", { fields: { n, name: { en: `e${n}`, ru: `р${n}` } } });
  for (const type of ["virtual", "material"]) {
    await layer({ code: type, type, source: { layer: "source", filter: "n > 1" } });
    const { features } = (await exported(type)).json;
    t.match(
      features.map((feature: any) => feature.properties),
      [
        { n: 2, name_en: "e2", name_ru: "р2" },
        { n: 3, name_en: "e3", name_ru: "р3" },
      ],
      type,
    );
  }
});

t.test("older versions export too", async (t) => {
  for (const version of ["2.0", "2.2"]) {
    const answer = await fetch(`${server.url}/api/${version}/p/m/layers/named/export/?format=geojson`);
    t.match(await answer.json(), { type: "FeatureCollection" }, version);
  }
});

const long = await layer({ code: "long" });
await column("long", { code: "s", type: "string" });
const { rows: columns } = await server.sql.query(
  "select id from layer_column where layer_id = $1 and code = 's'",
  [long.id],
);
await server.sql.query(
  `insert into layers.l${long.id} (geom, c${columns[0].id})
   select st_setsrid(st_makepoint(i % 360 - 180, i % 170 - 85), 4326), (select string_agg(md5(i::text || j), '') from generate_series(1, 10) j) from generate_series(1, 100000) i`,
);

/** Connections of the pool that are in use. */
const inUse = () => {
  const { total, idle } = server.nodes[0]!.services.db.counts();
  return total - idle;
};
const openStreams = async () => {
  const { rows } = await server.sql.query(
    "select count(*)::int as n from pg_stat_activity where datname = current_database() and query like '%\"Feature\"%' and pid <> pg_backend_pid() and (state = 'active' or state like 'idle in%')",
  );
  return rows[0].n as number;
};

for (const zip of [0, 1]) {
  t.test(`a client that leaves ends the query (zip=${zip})`, async (t) => {
    const leaving = new AbortController();
    const path = `m/layers/long/export/?format=geojson&zip=${zip}`;
    const answer = await fetch(`${server.url}/api/2.8/p/${path}`, { signal: leaving.signal });
    const reader = answer.body!.getReader();
    await reader.read();
    leaving.abort();
    await reader.read().catch(() => undefined);
    await waitFor(async () => inUse() === 0 && (await openStreams()) === 0);
    t.pass("released");
    const head = await fetch(`${server.url}/api/2.8/p/${path}`, { method: "HEAD" });
    t.equal(head.status, 200);
    await waitFor(async () => inUse() === 0 && (await openStreams()) === 0);
    t.pass("HEAD holds nothing");
  });

  t.test(`what a client does not read is not made (zip=${zip})`, async (t) => {
    let read = 0;
    const { db } = server.nodes[0]!.services;
    const stop = changeUses(db, (used) => {
      const { streamBytes } = used;
      return {
        streamBytes: async function* (...args: Parameters<typeof streamBytes>) {
          for await (const batch of streamBytes.apply(used, args)) {
            read += batch.count;
            yield batch;
          }
        },
      };
    });
    t.teardown(stop);
    const socket = connect(Number(new URL(server.url).port), "127.0.0.1");
    socket.pause();
    socket.write(
      `GET /api/2.8/p/m/layers/long/export/?format=geojson&zip=${zip} HTTP/1.1\r\nHost: x\r\n\r\n`,
    );
    let before = -1;
    await waitFor(async () => {
      await new Promise((resolve) => setTimeout(resolve, 300));
      const still = read > 0 && read === before;
      before = read;
      return still;
    });
    t.ok(read < 90_000, `${read} of 100000 objects were read`);
    socket.destroy();
    await waitFor(() => inUse() === 0);
  });
}

t.test("a long layer comes whole", async (t) => {
  const answer = await exported("long", "", admin);
  t.equal(answer.json.features.length, 100_000);
  t.equal(new Set(answer.json.features.map((feature: any) => feature.id)).size, 100_000);
});

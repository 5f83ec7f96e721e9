import t from "tap";
import { setPublication } from "../../src/catalog/maps.js";
import { startServer } from "../support/server.js";

const server = await startServer();
t.teardown(() => server.stop());
const { api } = server;
const { services } = server.nodes[0]!;
const [admin, editor, viewer] = [
  await server.token("admin"),
  await server.token("editor"),
  await server.token("viewer"),
];

await api("POST", "", { token: editor, body: { code: "m", name: "Map" } });
const mapId = Number((await server.sql.query("select id from map where code = 'm'")).rows[0].id);
const makeLayer = async (code: string, name: unknown, columns: readonly Record<string, unknown>[]) => {
  const made = await api("POST", "m/layers/", { token: editor, body: { code, name } });
  for (const column of columns) {
    const { id } = (
      await server.sql.query(
        "insert into layer_column (layer_id, code, type, sort) values ($1, $2, $3, 5) returning id",
        [made.json.id, column.code, column.type],
      )
    ).rows[0];
    await server.sql.query(
      `alter table layers.l${made.json.id} add column c${id} ${column.type === "number" ? "float8" : "text"}`,
    );
  }
  await services.changes.propagate();
  return made.json.id as number;
};
const lakes = await makeLayer("lakes", { en: "Lakes", ru: "Озёра" }, [
  { code: "name", type: "string" },
  { code: "depth", type: "number" },
]);
const rivers = await makeLayer("rivers", "Lake feeders", [{ code: "title", type: "text" }]);
const add = async (layer: string, fields: unknown) =>
  (await api("POST", `m/layers/${layer}/objects/`, { token: editor, body: { fields } })).json.id as number;
const baikal = await add("lakes", { name: "Байкал", depth: 1642 });
await add("lakes", { name: "Lake Onega", depth: 127 });
await add("rivers", { title: "Lake river" });

const find = (query: string, token?: string) => api("GET", `m/search/?${query}`, { token });
const encoded = (phrase: string) => `phrase=${encodeURIComponent(phrase)}`;
const settings = (body: unknown, token: string | undefined = admin) =>
  api("PUT", "m/search/settings/", { token, body });

t.test("objects and layers come as the contract shows them", async (t) => {
  t.same((await find(encoded("байкал"))).json, [
    {
      name: "Байкал",
      svc_id: baikal,
      priority: 30,
      layer: "lakes",
      type: "object",
      name_column: "name",
      search_column: "name",
      layer_name: "Озёра",
      layer_icon: "/api/2.8/p/m/layers/lakes/icon/",
      value: "Байкал",
    },
  ]);
  t.same((await find("phrase=lake")).json, [
    {
      id: rivers,
      code: "rivers",
      name: "Lake feeders",
      priority: 20,
      type: "layer",
      icon: "/api/2.8/p/m/layers/rivers/icon/",
    },
    ...(await find("phrase=lake")).json.slice(1),
  ]);
  t.same(
    (await find("phrase=lake&limit=10")).json.map((item: any) => [item.type, item.priority, item.value]),
    [
      ["layer", 20, undefined],
      ["object", 20, "Lake Onega"],
      ["object", 20, "Lake river"],
    ],
  );
});

t.test("lang tells the language of layer names; it is ru unless said otherwise", async (t) => {
  t.match((await find(encoded("озера"))).json, [{ id: lakes, name: "Озёра", priority: 30, type: "layer" }]);
  t.match((await find("phrase=lakes&lang=en")).json, [{ id: lakes, name: "Lakes", priority: 30 }]);
  t.match((await find("phrase=lakes&lng=en")).json, [{ id: lakes }]);
  t.match((await find("phrase=lakes&lang=de")).json, [{ id: lakes }], "the main language stands in");
  t.notMatch(
    (await find("phrase=lakes")).json,
    [{ id: lakes }],
    "other languages are not looked at, but what is like the phrase is found",
  );
});

t.test("limit is three unless said otherwise", async (t) => {
  for (const name of ["Pond A", "Pond B", "Pond C", "Pond D"]) await add("lakes", { name });
  t.equal((await find("phrase=pond")).json.length, 3);
  t.equal((await find("phrase=pond&limit=1")).json.length, 1);
  t.equal((await find("phrase=pond&limit=4")).json.length, 4);
  t.equal((await find("phrase=pond&limit=1e12")).json.length, 4);
  t.same((await find("phrase=pond&limit=0")).json, []);
  for (const limit of ["-1", "x", "1.5"])
    t.equal((await find(`phrase=pond&limit=${limit}`)).status, 400, limit);
});

t.test("phrase is required", async (t) => {
  for (const query of ["", "phrase=", "limit=3"]) {
    t.match(await find(query), {
      status: 500,
      json: { code: "required_parameters", data: { required: ["phrase"] } },
    });
  }
  t.same((await find("phrase=%20%09")).json, []);
});

t.test("an edit is found by the search after its answer", async (t) => {
  const id = await add("lakes", { name: "Ephemeral" });
  t.match((await find("phrase=ephemeral")).json, [{ svc_id: id }]);
  await api("PUT", `m/layers/lakes/objects/${id}/`, { token: editor, body: { fields: { name: "Lasting" } } });
  t.same((await find("phrase=ephemeral")).json, []);
  t.match((await find("phrase=lasting")).json, [{ svc_id: id, value: "Lasting" }]);
  await api("DELETE", `m/layers/lakes/objects/${id}/`, { token: editor });
  t.same((await find("phrase=lasting")).json, []);
});

t.test("hostile phrases are literal", async (t) => {
  for (const phrase of [
    "%_\\",
    "%",
    "___",
    "' OR 1=1--",
    "'; drop table map; --",
    "qqq & | ! ( ) <-> :* zzz",
    "pg_sleep(9)",
    "(?:x+)+$",
    "\u{1F30D}",
    "{}",
    "$1",
  ]) {
    const answer = await find(encoded(phrase));
    t.equal(answer.status, 200, phrase);
    t.same(answer.json, [], phrase);
  }
  for (const query of ["phrase=a%00b", "phrase=%ED%A0%80", "phrase=%FF%FE", "phrase=a&lang=%00"]) {
    t.equal((await find(query)).status, 400, query);
  }
  // A phrase as long as an address may be is found as it is, and nothing for it that only resembles it.
  const long = "%_\\ & | ".repeat(100);
  const id = await add("lakes", { name: long });
  t.match((await find(encoded(long))).json, [{ svc_id: id, priority: 30 }]);
  t.same((await find(encoded(long.replaceAll(" ", "").replaceAll("_", "x")))).json, []);
  await api("DELETE", `m/layers/lakes/objects/${id}/`, { token: editor });
  t.same((await find(encoded(long))).json, []);
  // Longer ones are refused with their address, and cannot come in a body.
  t.equal((await find(`phrase=${"%25_".repeat(25_000)}`)).status, 431);
  t.equal((await api("POST", "m/search/", { body: { phrase: "%_".repeat(50_000) } })).status, 405);
  t.equal((await find("phrase=lake")).status, 200);
});

t.test("objects of one name are told apart, and the greatest comes first", async (t) => {
  await makeLayer("places", "Places", [
    { code: "title", type: "string" },
    { code: "country", type: "string" },
    { code: "population", type: "number" },
    { code: "river", type: "string" },
  ]);
  for (const [country, population, river] of [
    ["United States", 24_000, "Sulphur"],
    ["France", 2_100_000, "Seine"],
    [null, 900, null],
  ])
    await add("places", { title: "Paris", country, population, river });
  const details = async () =>
    (await find("phrase=paris&limit=5")).json.map(({ detail }: { detail?: string }) => detail ?? null);
  t.same(await details(), ["France", "United States", null], "evident columns count without settings");
  const [entry, detail_column] = [{ layer: "places", search_column: "title", name_column: "title" }, "river"];
  const chosen = [{ ...entry, weight_column: "population", detail_column }];
  t.same((await settings(chosen)).json, chosen);
  t.same(await details(), ["Seine", "Sulphur", null]);
  await settings([entry]);
  t.same(await details(), [null, null, null]);
  await settings([]);
  await api("DELETE", "m/layers/places/", { token: editor });
});

t.test("settings are an administrator's, and are checked", async (t) => {
  const good = [{ layer: "lakes", search_column: "depth", name_column: "name", priority: 2 }];
  t.equal((await api("PUT", "m/search/settings/", { body: good })).status, 401);
  t.equal((await settings(good, viewer)).status, 403);
  t.equal((await settings(good, editor)).status, 403);
  t.equal((await api("GET", "m/search/settings/", { token: editor })).status, 403);
  t.equal((await api("PUT", "nothing/search/settings/", { token: admin, body: good })).status, 404);
  t.same((await api("GET", "m/search/settings/", { token: admin })).json, []);

  for (const [body, status, code] of [
    [{}, 400, undefined],
    [[1], 400, undefined],
    [[{ layer: "lakes" }], 500, "required_parameters"],
    [[{ layer: "none", search_column: "name", name_column: "name" }], 404, undefined],
    [[{ layer: "lakes", search_column: "none", name_column: "name" }], 500, "unknown_column"],
    [[{ layer: "lakes", search_column: "name", name_column: "__proto__" }], 500, "unknown_column"],
    [[{ layer: "lakes", search_column: "geom", name_column: "name" }], 500, "unknown_column"],
    [[{ layer: "lakes", search_column: "name", weight_column: "name" }], 500, "unknown_column"],
    [[{ layer: "lakes", search_column: "name", weight_column: "none" }], 500, "unknown_column"],
    [[{ layer: "lakes", search_column: "name", weight_column: 5 }], 500, "invalid_value"],
    [[{ layer: "lakes", search_column: "name", detail_column: "geom" }], 500, "unknown_column"],
    [[{ layer: "lakes", search_column: "name", name_column: "name", priority: "x" }], 400, undefined],
    [[{ layer: 5, search_column: "name", name_column: "name" }], 500, "invalid_value"],
    [Array(1001).fill(good[0]), 500, "invalid_value"],
  ] as const) {
    const answer = await settings(body);
    t.same([answer.status, answer.json?.code], [status, code], JSON.stringify(body).slice(0, 90));
  }
  t.same((await api("GET", "m/search/settings/", { token: admin })).json, [], "nothing was saved");

  t.same((await settings(good)).json, good);
  t.same((await api("GET", "m/search/settings/", { token: admin })).json, good);
  t.match((await find("phrase=1642")).json, [
    { name: "Байкал", value: "1642", search_column: "depth", name_column: "name" },
  ]);
  t.same((await find(encoded("байкал"))).json, [], "what the settings do not name is not searched");
  t.same((await settings([])).json, []);
  t.equal((await find(encoded("байкал"))).json.length, 1, "without settings every text is");
});

t.test("only what is published and may be read is found", async (t) => {
  await server.sql.query(
    "insert into access_grant (project_id, map_id, layer_id, rights) select project_id, id, $2, 0 from map where id = $1",
    [mapId, rivers],
  );
  const project = await services.catalog.project("p");
  await services.changes.propagate();
  const types = async (token?: string) =>
    (await find("phrase=lake&limit=10", token)).json.map((item: any) => item.layer ?? item.code);
  t.same(await types(), ["lakes"]);
  t.same(await types(viewer), ["rivers", "lakes", "rivers"]);
  await settings([{ layer: "rivers", search_column: "title", name_column: "title" }]);
  t.same(await types(), [], "settings open nothing");
  await settings([]);
  await api("POST", "m/publish/", { token: editor, body: [{ id: 1, parent_id: 0, map_layer_id: rivers }] });
  t.same(await types(viewer), ["rivers", "rivers"]);

  await setPublication(services.db, project.id, "m", false);
  await services.changes.propagate();
  t.equal((await find("phrase=lake")).status, 403);
  t.equal((await find("phrase=lake", "made-up")).status, 401);
  const seen = await find("phrase=lake", viewer);
  t.equal(seen.status, 200);
  t.match(seen.headers.get("cache-control"), /private, no-store/);
  t.equal((await api("GET", "nothing/search/?phrase=x", { token: viewer })).status, 404);
});

import t from "tap";
import { startServer } from "../support/server.js";
import { collection, feature, point } from "../support/transfer.js";

const server = await startServer({ config: { maxUploadBytes: 200_000 } });
t.teardown(() => server.stop());

const [admin, editor, viewer] = [
  await server.token("admin"),
  await server.token("editor"),
  await server.token("viewer"),
];
await server.api("POST", "", { token: admin, body: { code: "m" } });
await server.api("POST", "m/layers/", { token: admin, body: { code: "l" } });

const data = collection(
  feature({ name: "Мир", n: 1 }, point(30, 50)),
  feature({ name: "b", n: 2 }, point(31, 51)),
);
const path = "m/layers/l/import/";

async function send(body: string | FormData, query = "", headers: Record<string, string> = {}) {
  const answer = await fetch(`${server.url}/api/2.8/p/${path}${query}`, {
    method: "POST",
    headers,
    body,
  });
  const text = await answer.text();
  return {
    status: answer.status,
    headers: answer.headers,
    text,
    json: answer.headers.get("content-type")?.includes("json") ? JSON.parse(text) : undefined,
  };
}
const objects = async () =>
  (await server.api("GET", "m/layers/l/objects/?fields=name,n&sort=svc_id&returnGeom=1")).json;
const form = (file: unknown, name: string, fields: Record<string, string> = {}) => {
  const body = new FormData();
  for (const [key, value] of Object.entries(fields)) body.set(key, value);
  body.set("file", new Blob([typeof file === "string" ? file : JSON.stringify(file)]), name);
  return body;
};

t.test("GeoJSON in the body becomes objects of the layer", async (t) => {
  const answer = await send(JSON.stringify(data), `?token=${editor}`);
  t.equal(answer.status, 200, answer.text);
  t.match(answer.json, { code: "l", type: "layer", css_style: /marker/ });
  t.match(await objects(), [
    { fields: { name: "Мир", n: 1 }, geom: { coordinates: [30, 50] } },
    { fields: { name: "b", n: 2 } },
  ]);
});

t.test("a body of type JSON is data all the same, and its token counts for nothing", async (t) => {
  const headers = { "content-type": "application/json" };
  t.equal((await send(JSON.stringify({ ...data, token: editor }), "", headers)).status, 401);
  t.equal((await send(JSON.stringify(data), "?action=1", { ...headers, "x-token": editor })).status, 200);
  t.equal((await objects()).length, 2, "action=1 replaces");
});

t.test("a file comes in a multipart form, with the token and the parameters beside it", async (t) => {
  const answer = await send(
    form(collection(feature({ name: "web", n: 3 }, point(1113194.90793, 6446275.84102))), "x.GeoJSON", {
      token: editor,
      srs: "3857",
      action: "1",
    }),
  );
  t.equal(answer.status, 200, answer.text);
  const [object] = await objects();
  t.equal(Math.round(object.geom.coordinates[0] * 1e6), 10e6);
  t.equal(Math.round(object.geom.coordinates[1] * 1e6), 50e6);
});

t.test("files that belong together come as several fields", async (t) => {
  const body = form(data, "one.geojson", { token: editor, action: "1" });
  body.append("file", new Blob([`${JSON.stringify(feature({ name: "c", n: 3 }))}\n`]), "two.geojsonl");
  const answer = await send(body);
  t.equal(answer.status, 200, answer.text);
  t.same(
    (await objects()).map(({ fields }: any) => fields.name),
    ["Мир", "b", "c"],
  );
  for (let more = 0; more < 63; more++) body.append("file", new Blob(["{}"]), `${more}.geojson`);
  t.equal((await send(body)).status, 400, "at most 64");
});

t.test("a file comes as the body with X-Filename, of which only the extension counts", async (t) => {
  const lines = data.features.map((one) => JSON.stringify(one)).join("\n");
  for (const name of ["a.geojsonl", "../../etc/x.GEOJSONL", "C:\\x\\..\\y.geojsonl"]) {
    const answer = await send(lines, "?action=1", { "x-token": editor, "x-filename": name });
    t.equal(answer.status, 200, `${name}: ${answer.text}`);
  }
  for (const name of ["noextension", "x.vrt", "x.geojsonl/", "x.geojson.exe", ".", "x.geojson;rm"]) {
    const answer = await send(lines, "", { "x-token": editor, "x-filename": name });
    t.match(answer, { status: 500, json: { code: "unsupported_format", error: "error" } }, name);
  }
  const unnamed = await send("a;b\n1;2\n", "", { "x-token": editor });
  t.match(unnamed.json.message, /not GeoJSON\. For another format, name the file in the header X-Filename/);
  // A name comes percent-encoded where it is no ASCII; what it holds then reaches no path and no header.
  const broken = await send(lines, "?action=1", {
    "x-token": editor,
    "x-filename": "a%0D%0ASet-Cookie: x=1.geojsonl",
  });
  t.equal(broken.status, 200, broken.text);
  t.equal(broken.headers.get("set-cookie"), null);
  for (const [name, status] of [
    ["a%00.geojsonl", 400],
    [`${"x".repeat(1_001)}.geojsonl`, 400],
    [`${"x".repeat(5_000)}.geojsonl`, 431],
  ] as const)
    t.equal(
      (await send(lines, "", { "x-token": editor, "x-filename": name })).status,
      status,
      name.slice(0, 20),
    );
  t.equal((await objects()).length, 2);
});

t.test("the answer is the layer, and says what the import did", async (t) => {
  const own = "m/layers/told/import/";
  await server.api("POST", "m/layers/", { token: admin, body: { code: "told" } });
  const rows = collection(feature({ "Номер дома": 1 }), feature({ "Номер дома": 2 }));
  const first = await server.api("POST", own, { token: editor, body: rows });
  t.match(first.json, {
    code: "told",
    import: {
      features: 2,
      added: 2,
      updated: 0,
      removed: 0,
      unmatched: { count: 0, first: [] },
      columns: [{ code: "Nomer_doma", name: "Номер дома" }],
      summary: "Added 2, all as new objects: the file has no ids (svc_id).",
      notes: [],
      bad: 0,
      rows: [],
      dry_run: false,
    },
  });
  t.match((await server.api("GET", "m/layers/told/structure/")).json.at(-1), {
    code: "Nomer_doma",
    name: "Номер дома",
  });
  const mixed = collection(
    feature({ svc_id: 1, "Номер дома": 10 }),
    feature({ "Номер дома": "ten" }),
    feature({ svc_id: 50, "Номер дома": 5, fresh: 1 }),
  );
  const count = async () => (await server.api("GET", "m/layers/told/count/?precise=true")).json;
  const failed = await server.api("POST", own, { token: editor, body: mixed });
  t.match(failed, {
    status: 500,
    json: { code: "import_failed", message: /^Feature 2: "ten"/, data: { feature: 2, rows: [{ row: 2 }] } },
  });
  t.equal(await count(), 2);
  const report = {
    added: 1,
    updated: 1,
    unmatched: { count: 1, first: ["50"] },
    columns: [{ code: "fresh", name: "fresh" }],
    bad: 1,
    rows: [{ row: 2, reason: /"ten" is not a value of type number/ }],
  };
  const dry = await server.api("POST", `${own}?partial=1&dry_run=1`, { token: editor, body: mixed });
  t.match(dry.json.import, { ...report, dry_run: true });
  t.equal(await count(), 2);
  t.match((await server.api("POST", `${own}?partial=1`, { token: editor, body: mixed })).json.import, report);
  t.equal(await count(), 3);
  const keyed = await server.api("POST", `${own}?key=Nomer_doma`, {
    token: editor,
    body: collection(feature({ Nomer_doma: 10, fresh: 7 })),
  });
  t.match(keyed.json.import, { added: 0, updated: 1 });
  t.match((await server.api("POST", `${own}?key=Nomer_domu`, { token: editor, body: rows })).json, {
    code: "unknown_column",
    message: 'The layer has no column "Nomer_domu" to match objects by; did you mean Nomer_doma?',
  });
});

t.test("what is wrong with a file is told, and the layer is as before", async (t) => {
  const before = await objects();
  const cases: readonly (readonly [string | FormData, string, object])[] = [
    ["{", "", { status: 500, json: { code: "import_failed" } }],
    [
      JSON.stringify(collection(feature({}, { type: "Polygon", coordinates: [[[1, 2]]] }))),
      "",
      { status: 500, json: { code: "invalid_geometry", data: { feature: 1 } } },
    ],
    [
      JSON.stringify(collection(feature({ n: "many" }))),
      "",
      { status: 500, json: { code: "import_failed", data: { column: "n", feature: 1, value: "many" } } },
    ],
    [JSON.stringify(data), "&srs=http://127.0.0.1:9/", { status: 500, json: { code: "import_failed" } }],
    [JSON.stringify(data), "&action=3", { status: 400 }],
    [form(data, "x.doc"), "", { status: 500, json: { code: "unsupported_format" } }],
    [
      new FormData(),
      "",
      { status: 500, json: { code: "required_parameters", data: { required: ["file"] } } },
    ],
    ["x".repeat(300_000), "", { status: 413 }],
  ];
  for (const [body, query, expected] of cases)
    t.match(await send(body, `?token=${editor}${query}`), expected);
  t.same(await objects(), before);
});

t.test("only those who may edit the layer can import", async (t) => {
  const body = JSON.stringify(data);
  t.equal((await send(body)).status, 401);
  t.equal((await send(body, "?token=unknown")).status, 401);
  t.equal((await send(body, `?token=${viewer}`)).status, 403);
  t.equal((await send(form(data, "x.geojson", { token: viewer }))).status, 403);
  t.equal((await send(form(data, "x.geojson"))).status, 401);
  const elsewhere = (place: string) => server.api("POST", place, { token: editor, body: data });
  t.equal((await elsewhere("m/layers/none/import/")).status, 404);
  t.equal((await elsewhere("none/layers/l/import/")).status, 404);
  t.equal((await server.api("GET", path, { token: editor })).status, 405);
});

t.test("new columns need the right to edit the structure", async (t) => {
  await server.sql.query(
    `insert into access_grant (project_id, map_id, account_id, rights)
     select p.id, m.id, a.id, 3 from project p join map m on m.project_id = p.id, account a where p.code = 'p' and a.login = 'viewer'`,
  );
  const { services } = server.nodes[0]!;
  await services.changes.propagate();
  t.equal((await send(JSON.stringify(collection(feature({ n: 5 }))), `?token=${viewer}`)).status, 200);
  t.equal((await send(JSON.stringify(collection(feature({ fresh: 5 }))), `?token=${viewer}`)).status, 403);
});

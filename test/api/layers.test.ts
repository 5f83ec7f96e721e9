import t from "tap";
import { setGrant } from "../../src/access/grants.js";
import { defaultStyle } from "../../src/style/default-style.js";
import { emptyBins } from "../support/bin.js";
import { startServer } from "../support/server.js";

const server = await startServer();
t.teardown(() => server.stop());
const { api } = server;
const { services } = server.nodes[0]!;
const [editor, viewer] = [await server.token("editor"), await server.token("viewer")];

const map = (await api("POST", "", { token: editor, body: { code: "m" } })).json as { id: number };
await api("POST", "", { token: editor, body: { code: "other" } });

const post = (body: unknown, path = "m/layers/") => api("POST", path, { token: editor, body });
/** A folder, made as the database sees it. */
async function folder(code: string): Promise<number> {
  const made = await server.sql.query(
    `insert into node (map_id, type, code, name, localized_name, names, sort)
     values ($1, 'folder', $2, 'plain', true, '{"en": "Folder", "ru": "Папка"}', 50) returning id`,
    [map.id, code],
  );
  await services.changes.propagate();
  return Number(made.rows[0].id);
}

const fields = [
  "id",
  "type",
  "code",
  "name",
  "sort",
  "parent_id",
  "selected",
  "map_layer_id",
  "icon",
  "render_type",
  "style_mode",
];

t.test("a layer is created with everything generated", async (t) => {
  const { status, json, text } = await post({});
  t.equal(status, 200, text);
  for (const field of [...fields, "css_style"]) t.ok(field in json, field);
  t.match(json, {
    type: "layer",
    code: /^[a-z0-9]{2,12}$/,
    name: "",
    sort: 1,
    parent_id: 0,
    selected: true,
    map_layer_id: json.id,
    icon: `/api/2.8/p/m/layers/${json.code}/icon/`,
    render_type: 0,
  });
  t.not(json.css_style, "");
  t.same((await api("GET", `m/layers/${json.code}/`)).json, json);
});

t.test("names are in the request's language", async (t) => {
  const both = { code: "named", localized_name: true, name: { en: "Roads", ru: "Дороги" } };
  t.match((await post(both)).json, { name: "Roads" });
  t.match((await api("GET", "m/layers/named/?lng=ru")).json, { name: "Дороги" });
  t.match((await api("GET", "m/layers/named/?lng=fr")).json, { name: "Roads" });
  const tree = await api("GET", "m/layers/?lng=ru");
  t.ok(tree.json.some((item: { name: string }) => item.name === "Дороги"));

  const patch = { parent_id: map.id, name: "Straßen" };
  t.match((await api("PATCH", "m/layers/named/?lng=de", { token: editor, body: patch })).json, {
    name: "Straßen",
  });
  t.match((await api("GET", "m/layers/named/")).json, { name: "Roads" }, "other languages stay");
  const plain = { parent_id: map.id, name: "Plain", localized_name: false };
  t.match((await api("PATCH", "m/layers/named/", { token: editor, body: plain })).json, { name: "Plain" });
  for (const name of [7, { en: 7 }, { __proto__x: "x" }, ["x"]]) {
    const answer = await post({ name });
    t.match(answer, { status: 500, json: { code: "invalid_value" } }, JSON.stringify(name));
  }
});

t.test("styles have to compile", async (t) => {
  const style = "#any { marker-width: 3; marker-fill: #ff0000; }";
  t.match((await post({ code: "styled", css_style: style })).json, { css_style: style });
  for (const wrong of ["#a {", "#a { marker-width: 1e9; }", `#a { marker-file: url('x"/><Layer>'); }`]) {
    const answer = await post({ code: "unstyled", css_style: wrong });
    t.match(answer, { status: 500, json: { error: "error", code: "invalid_style" } }, wrong);
    const change = { parent_id: 0, css_style: wrong };
    t.equal((await api("PATCH", "m/layers/styled/", { token: editor, body: change })).status, 500);
  }
  t.equal((await api("GET", "m/layers/unstyled/")).status, 404);
  t.match((await api("GET", "m/layers/styled/")).json, { css_style: style });
});

t.test("a style may be long, and what is none is refused in time", async (t) => {
  const long = `#l { line-width: 1; } /* ${"x".repeat(50_000)} */`;
  t.match((await post({ code: "long", css_style: long })).json, { css_style: long });
  t.match(await post({ css_style: "x".repeat(1_000_001) }), { status: 500, json: { code: "invalid_style" } });
  t.match(await post({ css_style: 7 }), { status: 500, json: { code: "invalid_value" } });
});

t.test("the default styles draw what they are for", async (t) => {
  await api("POST", "", { token: editor, body: { code: "drawn" } });
  const tile = async () => {
    const answer = await fetch(`${server.url}/tms/p/drawn/?x=0&y=0&z=0&base=0`);
    t.equal(answer.status, 200);
    return Buffer.from(await answer.arrayBuffer()).toString("base64");
  };
  const empty = await tile();
  const geometries = {
    Point: "POINT(20 20)",
    LineString: "LINESTRING(-60 10, 60 40)",
    Polygon: "POLYGON((-50 -50, 50 -50, 0 30, -50 -50))",
  };
  const pictures = new Map<string, string>();
  for (const kind of ["Point", "LineString", "Polygon"] as const) {
    for (const style of [kind, "Unknown"] as const) {
      const { json: layer } = await post({ code: "shown", css_style: defaultStyle(style) }, "drawn/layers/");
      await server.sql.query(`insert into layers.l${layer.id} (geom) values (st_geomfromtext($1, 4326))`, [
        geometries[kind],
      ]);
      await services.changes.propagate();
      const picture = await tile();
      t.not(picture, empty, `${kind} by the style for ${style}`);
      const before = pictures.get(kind);
      if (before) t.equal(picture, before, "in mixed company it looks the same");
      pictures.set(kind, picture);
      await api("DELETE", "drawn/layers/shown/", { token: editor });
    }
  }
  t.equal(await tile(), empty, "a deleted layer is drawn no more");
});

t.test("PATCH changes single fields, PUT the whole", async (t) => {
  const style = "#l { line-color: #00ff00; }";
  const { json: layer } = await post({ code: "whole", name: "Name", css_style: style });
  const patch = await api("PATCH", "m/layers/whole/", {
    token: editor,
    body: { parent_id: 0, code: "part" },
  });
  t.match(patch.json, { id: layer.id, code: "part", name: "Name", css_style: style, sort: layer.sort });
  t.equal((await api("GET", "m/layers/whole/")).status, 404);
  const put = await api("PUT", "m/layers/part/", { token: editor, body: { parent_id: map.id } });
  t.match(put.json, { id: layer.id, code: "part", name: "", sort: layer.sort });
  t.not(put.json.css_style, style);
});

t.test("settings are kept for clients, who find them in the tree", async (t) => {
  const settings = async () =>
    (await api("GET", "m/layers/?type=full")).json.find((one: { code: string }) => one.code === "set").json;
  t.equal((await post({ code: "set", json: { viewer: { title: "name" } } })).status, 200);
  t.same(await settings(), { viewer: { title: "name" } });
  const change = (method: string, body: object) =>
    api(method, "m/layers/set/", { token: editor, body: { parent_id: 0, ...body } });
  t.equal((await change("PATCH", { json: { own: [1] } })).status, 200);
  t.same(await settings(), { own: [1] });
  t.equal((await change("PUT", { name: "Set" })).status, 200);
  t.same(await settings(), { own: [1] }, "as those of folders they stay");
  const refused = await change("PATCH", { json: { text: "x".repeat(100_001) } });
  t.equal(refused.status, 500);
  t.equal((await change("PATCH", { json: "text" })).status, 500);
});

t.test("sort places a layer and renumbers its siblings", async (t) => {
  await api("POST", "", { token: editor, body: { code: "sorted" } });
  for (const code of ["a", "b", "c"]) await post({ code }, "sorted/layers/");
  await post({ code: "d", sort: 2 }, "sorted/layers/");
  const tree = async () =>
    (await api("GET", "sorted/layers/?type=full")).json.map(
      (item: { code: string; sort: number }) => `${item.code}${item.sort}`,
    );
  t.same(await tree(), ["a1", "d2", "b3", "c4"]);
  await api("PATCH", "sorted/layers/a/", { token: editor, body: { parent_id: 0, sort: 4 } });
  t.same(await tree(), ["d1", "b2", "c3", "a4"]);
  t.equal((await post({ sort: "high" }, "sorted/layers/")).status, 400);
});

t.test("parents are the map or one of its folders", async (t) => {
  const box = await folder("box");
  t.match((await post({ code: "inbox", parent_id: box })).json, { parent_id: box, sort: 1 });
  t.match((await post({ parent_id: map.id })).json, { parent_id: 0 });
  const { json: foreign } = await post({ code: "foreign" }, "other/layers/");
  for (const parent_id of [foreign.id, 999_999, "x", -1, 1.5]) {
    t.equal((await post({ parent_id })).status, 404, String(parent_id));
    const body = { parent_id };
    t.equal((await api("PUT", "m/layers/inbox/", { token: editor, body })).status, 404);
  }
  for (const method of ["PUT", "PATCH"]) {
    t.equal(
      (await api(method, "m/layers/inbox/", { token: editor, body: { name: "x" } })).status,
      404,
      "absent",
    );
  }
  t.equal((await api("GET", "m/layers/foreign/")).status, 404);

  const tree = (await api("GET", "m/layers/?type=full&lng=ru")).json as Record<string, unknown>[];
  const at = tree.findIndex((item) => item.code === "box");
  t.match(tree[at], { type: "folder", name: "Папка", parent_id: 0, id: box, json: {} });
  t.match(tree[at + 1], { code: "inbox", parent_id: box });
});

t.test("the tree has boxes, styles and rights where they are asked for", async (t) => {
  await api("POST", "", { token: editor, body: { code: "asked" } });
  const { json: layer } = await post({ code: "points" }, "asked/layers/");
  await post({ code: "empty" }, "asked/layers/");
  await server.sql.query(
    `insert into layers.l${layer.id} (geom) values (st_setsrid(st_point(10, 20), 4326)), (st_setsrid(st_point(-30, 40), 4326))`,
  );
  const plain = (await api("GET", "asked/layers/")).json;
  t.equal(plain.length, 2);
  for (const field of ["css_style", "bbox", "access"]) t.notOk(field in plain[0], field);
  const full = (await api("GET", "asked/layers/?returnBbox=1&returnCss=1&with_access=1", { token: viewer }))
    .json;
  t.match(full[0], { css_style: /marker/, access: 1, bbox: { sw: [20, -30], ne: [40, 10] } });
  t.equal(full[1].bbox, null);
  const mercator = (await api("GET", "asked/layers/?returnBbox=1&bboxSR=3857")).json;
  t.ok(Math.abs(mercator[0].bbox.ne[1] - 1113194.9) < 1);
  const one = await api("GET", "asked/layers/points/?returnBbox=1&with_timestamp=1");
  t.same(one.json.bbox, { sw: [20, -30], ne: [40, 10] });
  t.ok(Math.abs(one.json.timestamp - Date.now() / 1000) < 3_600);
  for (const query of ["bboxSR=0", "type=all", "returnBbox=2"]) {
    t.equal((await api("GET", `asked/layers/?${query}`)).status, 400, query);
  }
});

t.test("a deleted layer is gone with its objects", async (t) => {
  const { json: layer } = await post({ code: "doomed" });
  const deleted = await api("DELETE", "m/layers/doomed/", { token: editor });
  t.equal(deleted.status, 200);
  t.equal(deleted.text, "null");
  t.equal((await api("GET", "m/layers/doomed/")).status, 404);
  t.equal((await api("DELETE", "m/layers/doomed/", { token: editor })).status, 404);
  await emptyBins(server.nodes[0]!.services.db);
  const left = await server.sql.query("select to_regclass($1) as found", [`layers.l${layer.id}`]);
  t.equal(left.rows[0].found, null);
});

t.test("codes of layers keep to their rules", async (t) => {
  await post({ code: "taken" });
  t.match(await post({ code: "taken" }), { status: 500, json: { code: "code_exists" } });
  for (const code of ["", "a b", "x".repeat(65), "слой", "a'b"]) {
    t.match(await post({ code }), { status: 500, json: { code: "invalid_code" } }, code);
  }
  t.equal((await post({ code: "taken" }, "other/layers/")).status, 200, "unique within the map");
});

t.test("changes need a token and the right to edit structure", async (t) => {
  await post({ code: "guarded" });
  const body = { parent_id: 0 };
  const tries: [string, string, unknown?][] = [
    ["POST", "m/layers/", {}],
    ["PUT", "m/layers/guarded/", body],
    ["PATCH", "m/layers/guarded/", body],
    ["DELETE", "m/layers/guarded/"],
  ];
  for (const [method, path, sent] of tries) {
    t.equal((await api(method, path, { body: sent })).status, 401, method);
    t.equal((await api(method, path, { body: sent, token: viewer })).status, 403, method);
  }
  t.equal((await api("GET", "m/layers/guarded/")).status, 200);
});

t.test("a layer that the public may not read is neither shown nor listed to it", async (t) => {
  await post({ code: "secret" });
  await setGrant(services.db, { project: "p", map: "m", layer: "secret", login: null }, 0);
  await services.changes.propagate();
  const codes = async (token?: string) =>
    (await api("GET", "m/layers/?type=full", { token })).json.map((item: { code: string }) => item.code);
  t.notOk((await codes()).includes("secret"));
  t.ok((await codes(viewer)).includes("secret"));
  t.equal((await api("GET", "m/layers/secret/")).status, 403);
  t.equal((await api("GET", "m/layers/secret/", { token: viewer })).status, 200);
});

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

t.test("a map is created published and can be seen by everybody", async (t) => {
  const created = await api("POST", "", { token: editor, body: { code: "roads", name: "Дороги" } });
  t.equal(created.status, 200, created.text);
  t.same(Object.keys(created.json), ["id", "code", "name", "css_style", "group_layers", "has_publication"]);
  t.match(created.json, {
    code: "roads",
    name: "Дороги",
    css_style: "",
    group_layers: 0,
    has_publication: true,
  });
  t.same((await api("GET", "roads/")).json, created.json);
  t.same((await api("GET", "roads")).json, created.json, "without the slash at the end");
  t.equal((await api("HEAD", "roads/")).status, 200);
});

t.test("codes of maps keep to their rules", async (t) => {
  const code = async (value: unknown) => {
    const { status, json } = await api("POST", "", { token: editor, body: { code: value } });
    return [status, json?.code];
  };
  t.same(await code("roads"), [500, "code_exists"]);
  for (const value of ["a b", "", "x".repeat(65), "карта", "../x", "maps", 'a"b']) {
    t.same(await code(value), [500, "invalid_code"], value);
  }
  t.same(await code(7), [500, "invalid_value"]);
  t.same(await code("nul\0"), [400, undefined]);
  t.match(await api("POST", "", { token: editor, body: {} }), {
    status: 500,
    json: { code: "required_parameters", data: { required: ["code"] } },
  });
  t.equal((await api("POST", "", { token: editor, body: [] })).status, 400);
});

t.test("creating a map needs a token and the right to edit", async (t) => {
  t.equal((await api("POST", "", { body: { code: "no" } })).status, 401);
  t.equal((await api("POST", "", { token: "made-up", body: { code: "no" } })).status, 401);
  t.equal((await api("POST", "", { token: viewer, body: { code: "no" } })).status, 403);
  t.equal((await api("GET", "no/")).status, 404);
  const inBody = await api("POST", "", { body: { code: "tokenless", token: editor } });
  t.equal(inBody.status, 200, "the token may be in the body");
});

t.test("a map's style has to compile", async (t) => {
  const styled = await api("POST", "", {
    token: editor,
    body: { code: "styled", css_style: "Map { background-color: #aabbcc; }" },
  });
  t.match(styled, { status: 200, json: { css_style: "Map { background-color: #aabbcc; }" } });
  const wrong = await api("POST", "", { token: editor, body: { code: "wrong", css_style: "#a { nonsense" } });
  t.match(wrong, { status: 500, json: { code: "invalid_style" } });
  t.equal((await api("GET", "wrong/")).status, 404);
});

t.test("an unpublished map is for users who may read it", async (t) => {
  const project = await services.catalog.project("p");
  await api("POST", "", { token: editor, body: { code: "draft" } });
  await setPublication(services.db, project.id, "draft", false);
  await services.changes.propagate();
  t.equal((await api("GET", "draft/")).status, 403);
  t.equal((await api("GET", "draft/layers/")).status, 403);
  t.match(await api("GET", "draft/", { token: viewer }), { status: 200, json: { has_publication: false } });
  t.match((await api("GET", "draft/", { token: viewer })).headers.get("cache-control"), /private, no-store/);
  t.equal((await api("GET", "nothing/")).status, 404);
});

t.test("available lists the published maps that the user may read", async (t) => {
  t.equal((await api("GET", "maps/available/")).status, 401);
  const list = await api("GET", "maps/available/", { token: viewer });
  t.same(
    list.json.map((map: { code: string }) => map.code),
    ["roads", "tokenless", "styled"],
  );
  t.same(Object.keys(list.json[0]), ["id", "code"]);
});

t.test("public lists the published maps in full, to administrators", async (t) => {
  t.equal((await api("GET", "maps/public/")).status, 401);
  t.equal((await api("GET", "maps/public/", { token: editor })).status, 403);
  const list = await api("GET", "maps/public/", { token: admin });
  t.equal(list.json.length, 3);
  const [roads] = list.json;
  t.match(roads, {
    type: "map",
    code: "roads",
    parent_map: "roads",
    name: "Дороги",
    names: [{ en: "Дороги" }, { ru: "Дороги" }],
    access: 15,
    publish: true,
    has_publication: true,
    locales: [
      { id: 1, code: "en", name: "English", sort: 1, container: roads.id },
      { id: 2, code: "ru", name: "русский", sort: 2, container: roads.id },
    ],
  });
});

t.test("an item of the public list has every field, also of a map with names in languages", async (t) => {
  const name = { en: "Rivers", ru: "Реки" };
  const made = await api("POST", "", {
    token: editor,
    body: { code: "rivers", localized_name: true, name, css_style: "Map { background-color: #aabbcc; }" },
  });
  t.match(made.json, { name: "Rivers" });
  const { json } = await api("GET", "maps/public/?lng=ru", { token: admin });
  const item = json.find((map: { code: string }) => map.code === "rivers");
  t.same(Object.keys(item).sort(), [
    "access",
    "code",
    "comment",
    "css_style",
    "group_layers",
    "has_publication",
    "id",
    "json",
    "listDepended",
    "locales",
    "localized_name",
    "name",
    "names",
    "parent",
    "parent_map",
    "publish",
    "render_settings",
    "show_pub",
    "sort",
    "style_mode",
    "table_id",
    "type",
  ]);
  t.match(item, {
    id: made.json.id,
    parent_map: "rivers",
    css_style: "Map { background-color: #aabbcc; }",
    localized_name: true,
    name: "Реки",
    names: [{ en: "Rivers" }, { ru: "Реки" }],
    json: {},
    comment: "",
    listDepended: [],
    render_settings: {},
    group_layers: 0,
  });
  t.type(item.sort, "number");
});

t.test("a language that nobody has a name for goes by its code", async (t) => {
  await server.sql.query("update project set languages = '{en,en-aa-bb}'");
  await services.changes.propagate();
  const { status, json } = await api("GET", "maps/public/", { token: admin });
  t.equal(status, 200);
  t.match(json[0].locales[1], { code: "en-aa-bb", name: "en-aa-bb" });
});

import t from "tap";
import { setGrant } from "../../src/access/grants.js";
import { maxDepth } from "../../src/catalog/tree.js";
import { emptyBins } from "../support/bin.js";
import { startServer } from "../support/server.js";

const server = await startServer();
t.teardown(() => server.stop());
const { api } = server;
const { services } = server.nodes[0]!;
const [editor, viewer] = [await server.token("editor"), await server.token("viewer")];

const makeMap = async (code: string): Promise<number> =>
  (await api("POST", "", { token: editor, body: { code } })).json.id;
const map = await makeMap("m");
await makeMap("other");

const post = (body: unknown, path = "m/folders/") => api("POST", path, { token: editor, body });
const patch = (code: string, body: unknown) => api("PATCH", `m/folders/${code}/`, { token: editor, body });
const put = (code: string, body: unknown) => api("PUT", `m/folders/${code}/`, { token: editor, body });
const get = (code: string, query = "") => api("GET", `m/folders/${code}/${query}`, { token: viewer });
/** Code and sort of everything in a map, from the top down. */
const order = async (code: string): Promise<string[]> =>
  (await api("GET", `${code}/layers/?type=full`, { token: editor })).json.map(
    (item: { code: string; sort: number }) => `${item.code}${item.sort}`,
  );

t.test("a folder is created with everything generated", async (t) => {
  const { status, json, text, headers } = await post({});
  t.equal(status, 200, text);
  t.match(headers.get("cache-control"), /no-store/);
  t.same(json, {
    id: json.id,
    type: "folder",
    code: json.code,
    name: "",
    sort: 1,
    icon: "",
    selected: true,
    parent_id: map,
    render_type: 0,
    map_layer_id: json.id,
    style_mode: 0,
    tiles_quality: 0,
    json: {},
    view_format_type: 0,
  });
  t.match(json.code, /^[a-z0-9]{2,12}$/);
  t.same((await get(json.code)).json, json);
  const element = (await api("GET", "m/layers/")).json[0];
  t.match(element, { id: json.id, type: "folder", code: json.code, parent_id: 0, name: "", json: {} });
});

t.test("a folder has the name that it was given, in all its languages", async (t) => {
  t.match((await post({ code: "plain", name: "Папка" })).json, { name: "Папка" });
  const names = { en: "Water", ru: "Вода" };
  const made = await post({ code: "water", localized_name: true, name: names });
  t.same(made.json.name, names);
  t.same((await get("water")).json.name, names);
  const tree = await api("GET", "m/layers/?lng=ru");
  t.ok(tree.json.some((item: { name: string }) => item.name === "Вода"));

  const german = await api("PATCH", "m/folders/water/?lng=de", {
    token: editor,
    body: { parent_id: map, name: "Wasser" },
  });
  t.same(german.json.name, { ...names, de: "Wasser" }, "a string is the name in the request's language");
  t.same((await patch("water", { parent_id: 0 })).json.name, { ...names, de: "Wasser" });
  for (const name of [7, ["x"], { en: 7 }]) {
    t.match(await post({ name }), { status: 500, json: { code: "invalid_value" } }, JSON.stringify(name));
  }
});

t.test("a change without parent_id is told that it needs one", async (t) => {
  const answer = await patch("water", { name: "x" });
  t.equal(answer.status, 404);
  t.match(answer.text, /parent_id is required in changes, by PATCH too; its own, .*, leaves it where it is/);
});

t.test("a change leaves what it does not name, by PUT as by PATCH", async (t) => {
  const made = await post({ code: "whole", name: "Whole", json: { a: [1, { b: null }] } });
  t.same(made.json.json, { a: [1, { b: null }] });
  const { id, sort } = made.json;
  const part = await patch("whole", { parent_id: map, code: "part", type: "layer", selected: false, id: 7 });
  t.match(part.json, { id, code: "part", name: "Whole", sort, type: "folder", selected: true });
  t.same(part.json.json, { a: [1, { b: null }] });
  t.equal((await get("whole")).status, 404);
  t.same((await patch("part", { parent_id: map, json: { c: 1 } })).json.json, { c: 1 });
  t.match((await patch("part", { parent_id: map, name: "New" })).json, { name: "New", json: { c: 1 } });
  const left = await put("part", { parent_id: String(map) });
  t.match(left.json, { id, code: "part", name: "New", sort });
  t.same(left.json.json, { c: 1 });
  t.match((await put("part", { parent_id: map, name: null, json: null })).json, {
    name: "New",
    json: { c: 1 },
  });
  const emptied = await put("part", { parent_id: map, name: "", json: {} });
  t.match(emptied.json, { id, code: "part", name: "", sort });
  t.same(emptied.json.json, {});
  const named = await put("part", { parent_id: map, name: { en: "Part", ru: "Часть" } });
  t.same((await put("part", { parent_id: map, sort })).json.name, named.json.name, "in all its languages");
  for (const json of [[], "x", 7, { long: "x".repeat(100_001) }]) {
    t.match(await patch("part", { parent_id: map, json }), { status: 500, json: { code: "invalid_value" } });
  }
});

t.test("a change names the parent, which is the map or one of its folders", async (t) => {
  const { json: box } = await post({ code: "box" });
  t.match((await post({ code: "inner", parent_id: box.id })).json, { parent_id: box.id, sort: 1 });
  t.match((await post({ parent_id: map })).json, { parent_id: map });
  const { json: foreign } = await post({ code: "foreign" }, "other/folders/");
  const { json: layer } = await post({ code: "layer" }, "m/layers/");
  for (const parent_id of [foreign.id, layer.id, 999_999, "x", -1, 1.5]) {
    t.equal((await post({ parent_id })).status, 404, `created in ${parent_id}`);
    t.equal((await put("inner", { parent_id })).status, 404, `put in ${parent_id}`);
    t.equal((await patch("inner", { parent_id, name: "x" })).status, 404, `patched in ${parent_id}`);
  }
  t.equal((await put("inner", {})).status, 404, "absent");
  t.equal((await patch("inner", { name: "x" })).status, 404, "absent");
  t.match((await get("inner")).json, { name: "", parent_id: box.id });
  t.equal((await get("foreign")).status, 404, "a folder of another map");
});

t.test("a folder that is asked for in a parent lies in it", async (t) => {
  const { json: box } = await post({ code: "here" });
  const { json: inner } = await post({ code: "within", parent_id: box.id });
  const { json: foreign } = await post({ code: "there" }, "other/folders/");
  const { json: layer } = await post({ code: "leaf", parent_id: box.id }, "m/layers/");
  const asked = async (code: string, parent: unknown) => (await get(code, `?parent_id=${parent}`)).status;
  for (const parent of ["", box.id]) t.equal(await asked("within", parent), 200, `within ${parent}`);
  for (const parent of ["", 0, map]) t.equal(await asked("here", parent), 200, `here ${parent}`);
  for (const parent of [0, map, inner.id, layer.id, foreign.id, 999_999, "x", -1, 1.5])
    t.equal(await asked("within", parent), 404, `within ${parent}`);
  for (const parent of [box.id, inner.id, foreign.id, "x"])
    t.equal(await asked("here", parent), 404, `here ${parent}`);
});

t.test("a folder moves with what it holds, and never into itself", async (t) => {
  await makeMap("moves");
  const make = async (code: string, parent_id = 0): Promise<number> =>
    (await post({ code, parent_id }, "moves/folders/")).json.id;
  const a = await make("a");
  const b = await make("b", a);
  const c = await make("c", b);
  const d = await make("d");
  const move = (code: string, parent_id: number, sort?: number) =>
    api("PATCH", `moves/folders/${code}/`, { token: editor, body: { parent_id, sort } });
  const before = await order("moves");
  for (const [code, parent] of [
    ["a", a],
    ["a", b],
    ["a", c],
    ["b", c],
  ] as const) {
    t.equal((await move(code, parent)).status, 404, `${code} into ${parent}`);
  }
  t.same(await order("moves"), before, "the tree is as it was");
  t.same(before, ["a1", "b1", "c1", "d2"]);
  t.match((await move("b", d)).json, { parent_id: d, sort: 1 });
  t.same(await order("moves"), ["a1", "d2", "b1", "c1"]);
  t.match((await move("c", 0, 1)).json, { sort: 1 });
  t.same(await order("moves"), ["c1", "a2", "d3", "b1"]);
});

t.test("sort gives the place, and the siblings are numbered anew", async (t) => {
  await makeMap("sorted");
  for (const code of ["a", "b", "c"]) await post({ code }, "sorted/folders/");
  await post({ code: "l" }, "sorted/layers/");
  await post({ code: "d", sort: 2 }, "sorted/folders/");
  t.same(await order("sorted"), ["a1", "d2", "b3", "c4", "l5"]);
  await post({ code: "e", sort: 2.5 }, "sorted/folders/");
  t.same(await order("sorted"), ["a1", "d2", "e3", "b4", "c5", "l6"]);
  await api("PUT", "sorted/folders/a/", { token: editor, body: { parent_id: 0, sort: 100 } });
  t.same(await order("sorted"), ["d1", "e2", "b3", "c4", "l5", "a6"]);
  t.equal((await post({ sort: "high" }, "sorted/folders/")).status, 400);
});

t.test("codes of folders keep to their rules", async (t) => {
  await post({ code: "taken" });
  t.match(await post({ code: "taken" }), { status: 500, json: { code: "code_exists" } });
  t.match(await patch("box", { parent_id: 0, code: "taken" }), { json: { code: "code_exists" } });
  for (const code of ["", "a b", "x".repeat(65), "папка", "a'b"]) {
    t.match(await post({ code }), { status: 500, json: { code: "invalid_code" } }, code);
  }
  t.equal((await post({ code: "taken" }, "m/layers/")).status, 200, "a layer may have a folder's code");
  t.equal((await post({ code: "taken" }, "other/folders/")).status, 200, "so may another map's folder");
});

t.test("a deleted folder is gone with what it holds", async (t) => {
  const { json: top } = await post({ code: "top" });
  const { json: under } = await post({ code: "under", parent_id: top.id });
  const { json: layer } = await post({ code: "doomed", parent_id: under.id }, "m/layers/");
  await api("POST", "m/layers/doomed/objects/", { token: editor, body: { fields: {} } });
  const { json: other } = await post({ code: "elsewhere" }, "other/folders/");
  const remove = (query: string, body?: unknown) =>
    api("DELETE", `m/folders/top/${query}`, { token: editor, body });
  for (const parent of [other.id, 999_999, under.id, "x"]) {
    t.equal((await remove(`?parent_id=${parent}`)).status, 404, `not in ${parent}`);
    t.equal((await remove("", { parent_id: parent })).status, 404, `not in ${parent}`);
  }
  t.equal((await get("top")).status, 200);
  const deleted = await remove("", { parent_id: map });
  t.equal(deleted.status, 200);
  t.equal(deleted.text, "true");
  for (const code of ["top", "under"]) t.equal((await get(code)).status, 404, code);
  t.equal((await api("GET", "m/layers/doomed/")).status, 404);
  await emptyBins(server.nodes[0]!.services.db);
  const left = await server.sql.query("select to_regclass($1) as found", [`layers.l${layer.id}`]);
  t.equal(left.rows[0].found, null);
  t.equal((await remove("")).status, 404);
  await post({ code: "top" });
  t.equal((await remove("")).text, "true", "the parent may be left out");
});

t.test("folders lie in each other only so deep", async (t) => {
  await makeMap("deep");
  let parent_id = 0;
  for (let i = 0; i < maxDepth; i++) {
    const made = await post({ parent_id, code: `f${i}` }, "deep/folders/");
    t.equal(made.status, 200, made.text);
    parent_id = made.json.id;
  }
  t.match(await post({ parent_id }, "deep/folders/"), { status: 500, json: { code: "invalid_value" } });
  const { json: single } = await post({ code: "single" }, "deep/folders/");
  const into = { token: editor, body: { parent_id: single.id } };
  t.match(await api("PATCH", "deep/folders/f0/", into), { status: 500, json: { code: "invalid_value" } });
  t.equal((await api("PATCH", "deep/folders/f1/", into)).status, 200);
});

t.test("two writers of one tree leave one order", async (t) => {
  await makeMap("busy");
  const made = await Promise.all(
    Array.from({ length: 12 }, (_, i) => post({ code: `c${i}`, sort: 1 }, "busy/folders/")),
  );
  t.ok(made.every((answer) => answer.status === 200));
  const sorts = (await order("busy")).map((item) => Number(/\d+$/.exec(item.replace(/^c/, ""))?.[0]));
  t.equal(sorts.length, 12);
  const tree = (await api("GET", "busy/layers/?type=full")).json as { sort: number }[];
  t.same(
    tree.map((item) => item.sort),
    Array.from({ length: 12 }, (_, i) => i + 1),
  );
});

t.test("folders need a token, and changes the right to edit structure", async (t) => {
  await post({ code: "guarded" });
  const tries: [string, string, unknown?][] = [
    ["POST", "m/folders/", {}],
    ["PUT", "m/folders/guarded/", { parent_id: 0 }],
    ["PATCH", "m/folders/guarded/", { parent_id: 0 }],
    ["DELETE", "m/folders/guarded/"],
  ];
  for (const [method, path, body] of tries) {
    t.equal((await api(method, path, { body })).status, 401, method);
    t.equal((await api(method, path, { body, token: "made-up" })).status, 401, method);
    t.equal((await api(method, path, { body, token: viewer })).status, 403, method);
  }
  t.equal((await api("GET", "m/folders/guarded/")).status, 401);
  t.equal((await get("guarded")).status, 200);
  t.equal((await api("GET", "nothing/folders/guarded/", { token: viewer })).status, 404);
});

t.test("unknown paths are 404 and other methods 405, both HTML", async (t) => {
  for (const [method, path, status, allow] of [
    ["GET", "m/folders/", 405, /POST/],
    ["DELETE", "m/folders/", 405, /POST/],
    ["POST", "m/folders/box/", 405, /PATCH/],
    ["GET", "m/publish/", 405, /POST/],
    ["PUT", "m/publish/", 405, /POST/],
    ["POST", "m/", 405, /GET/],
    ["GET", "m/folders/box/layers/", 404, undefined],
    ["POST", "m/unpublish/", 404, undefined],
  ] as const) {
    const answer = await api(method, path, { token: editor });
    t.equal(answer.status, status, `${method} ${path}`);
    t.match(answer.headers.get("content-type"), /^text\/html/);
    if (allow) t.match(answer.headers.get("allow"), allow);
  }
});

t.test("a folder is there for those who may read something in it", async (t) => {
  await makeMap("secrets");
  const { json: box } = await post({ code: "box" }, "secrets/folders/");
  const { json: inner } = await post({ code: "inner", parent_id: box.id }, "secrets/folders/");
  await post({ code: "secret", parent_id: inner.id }, "secrets/layers/");
  await post({ code: "empty" }, "secrets/folders/");
  const grant = async (login: string | null, rights: number | undefined) => {
    await setGrant(services.db, { project: "p", map: "secrets", layer: "secret", login }, rights);
    await services.changes.propagate();
  };
  const codes = async (token?: string) =>
    (await api("GET", "secrets/layers/", { token })).json.map((item: { code: string }) => item.code);
  t.same(await codes(), ["box", "inner", "secret", "empty"]);
  await grant(null, 0);
  await grant("viewer", 0);
  t.same(await codes(), ["empty"]);
  t.same(await codes(viewer), ["empty"]);
  t.same(await codes(editor), ["box", "inner", "secret", "empty"]);
  t.equal((await api("GET", "secrets/folders/box/", { token: viewer })).status, 403);
  t.equal((await api("GET", "secrets/folders/empty/", { token: viewer })).status, 200);
  await post({ code: "open", parent_id: box.id }, "secrets/layers/");
  t.same(await codes(), ["box", "open", "empty"], "an inner folder with secrets alone stays away");

  await grant("editor", 1);
  const refused = await api("DELETE", "secrets/folders/box/", { token: editor });
  t.equal(refused.status, 403, "a folder does not take along what must not be deleted");
  t.same(await codes(editor), ["box", "inner", "secret", "open", "empty"]);
});

t.test("a folder's box is the one around what is shown in it", async (t) => {
  await makeMap("boxes");
  const { json: box } = await post({ code: "box" }, "boxes/folders/");
  const { json: inner } = await post({ code: "inner", parent_id: box.id }, "boxes/folders/");
  await post({ code: "empty" }, "boxes/folders/");
  const fill = async (code: string, parent_id: number, points: number[][]) => {
    await post({ code, parent_id }, "boxes/layers/");
    for (const coordinates of points) {
      const body = { fields: {}, geom: { type: "Point", coordinates } };
      await api("POST", `boxes/layers/${code}/objects/`, { token: editor, body });
    }
  };
  await fill("a", box.id, [[10, 20]]);
  await fill("b", inner.id, [
    [-30, 40],
    [0, 50],
  ]);
  await fill("c", 0, [[99, 1]]);
  const boxes = async (query: string) =>
    Object.fromEntries(
      (await api("GET", `boxes/layers/?returnBbox=1${query}`)).json.map(
        (item: { code: string; bbox: unknown }) => [item.code, item.bbox],
      ),
    );
  const degrees = await boxes("");
  t.same(degrees.box, { sw: [20, -30], ne: [50, 10] });
  t.same(degrees.inner, { sw: [40, -30], ne: [50, 0] });
  t.equal(degrees.empty, null);
  t.same(await boxes("&type=full"), degrees);
  const metres = await boxes("&bboxSR=3857");
  t.ok(Math.abs(metres.box.ne[1] - 1113194.9) < 1);
  t.notOk("bbox" in (await api("GET", "boxes/layers/")).json[0]);
});

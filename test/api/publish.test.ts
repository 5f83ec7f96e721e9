import t from "tap";
import { setGrant } from "../../src/access/grants.js";
import { maxDepth } from "../../src/catalog/tree.js";
import { addObject, makeMap, makeStyledLayer, square, tileUrl } from "../support/maps.js";
import { startServer } from "../support/server.js";

const server = await startServer({ nodes: 2 });
t.teardown(() => server.stop());
const { api } = server;
const { services } = server.nodes[0]!;
const [editor, viewer] = [await server.token("editor"), await server.token("viewer")];

const mapId = await makeMap(server, "m");
const red = await makeStyledLayer(server, "m", "red", "#red { polygon-fill: #ff0000; }");
const green = await makeStyledLayer(server, "m", "green", "#green { polygon-fill: #00ff00; }");
await addObject(server, "red", square(0, 0, 20), { map: "m" });
await addObject(server, "green", square(20, 0, 20), { map: "m" });
const folder = async (code: string, parent_id = 0): Promise<number> =>
  (await api("POST", "m/folders/", { token: editor, body: { code, parent_id } })).json.id;
const box = await folder("box");
await makeMap(server, "other");
const foreign = await makeStyledLayer(server, "other", "foreign", "#foreign { polygon-fill: #0000ff; }");

const publish = (body: unknown, token: string | undefined = editor) =>
  api("POST", "m/publish/", { token, body });
const tree = async (query = "") => (await api("GET", `m/layers/${query}`)).json;
const pick = (items: Record<string, unknown>[], ...names: string[]) =>
  items.map((item) => names.map((name) => item[name]));
/** Which of the two layers the tile shows by default, asked on the other node. */
async function drawn(): Promise<string> {
  const picture = async (query: string) => {
    const answer = await fetch(tileUrl(server, "m", { lon: 20, lat: 20, z: 1 }, `&base=0${query}`, 1));
    if (answer.status !== 200) throw new Error(`tile: ${answer.status}`);
    return Buffer.from(await answer.arrayBuffer()).toString("base64");
  };
  const shown = await picture("");
  for (const [name, layers] of [
    ["both", `${red.id},${green.id}`],
    ["red", `${red.id}`],
    ["green", `${green.id}`],
  ] as const) {
    if (shown === (await picture(`&layers=${layers}`))) return name;
  }
  return shown === (await picture("&layers=0")) ? "none" : "something else";
}

t.test("a map that was never given a publication tree publishes everything", async (t) => {
  t.same(await tree(), await tree("?type=full"));
  t.same(pick(await tree(), "code", "id", "parent_id"), [
    ["red", red.id, 0],
    ["green", green.id, 0],
    ["box", box, 0],
  ]);
  t.equal(await drawn(), "both");
});

t.test("the publication tree is what was sent", async (t) => {
  const answer = await publish([
    { id: 7, parent_id: 5, map_layer_id: red.id, sort: 2, icon: "/icons/a.png" },
    { id: 5, parent_id: 0, map_layer_id: box, sort: 1.5, name: "ignored", unknown: {} },
    { id: -2, parent_id: 5, map_layer_id: green.id, sort: 1, selected: false },
  ]);
  t.equal(answer.status, 200, answer.text);
  t.same(pick(answer.json, "id", "parent_id", "map_layer_id", "code", "sort", "selected"), [
    [5, 0, box, "box", 1.5, true],
    [-2, 5, green.id, "green", 1, false],
    [7, 5, red.id, "red", 2, true],
  ]);
  t.same(pick(answer.json, "icon"), [[""], ["/api/2.8/p/m/layers/green/icon/"], ["/icons/a.png"]]);
  t.same(await tree(), answer.json, "as the public sees it too");
  t.same(await tree("?type=publish"), answer.json);
  t.same(pick(await tree("?type=full"), "id", "parent_id", "selected"), [
    [red.id, 0, true],
    [green.id, 0, false],
    [box, 0, true],
  ]);
  t.equal(await drawn(), "red");
  const boxed = await tree("?returnBbox=1&returnCss=1&with_access=1");
  t.same(pick(boxed, "bbox", "access"), [
    [{ sw: [0, 0], ne: [20, 40] }, 1],
    [{ sw: [0, 20], ne: [20, 40] }, 1],
    [{ sw: [0, 0], ne: [20, 20] }, 1],
  ]);
  t.match(boxed[2].css_style, /ff0000/);
});

t.test("tiles show what the tree selects", async (t) => {
  const element = (id: number, map_layer_id: number, more = {}) => ({
    id,
    parent_id: 0,
    map_layer_id,
    ...more,
  });
  const cases: [string, object[]][] = [
    ["both", [element(1, red.id), element(2, green.id)]],
    ["green", [element(2, green.id)]],
    ["red", [element(1, red.id), element(2, green.id, { selected: false })]],
    ["none", [element(1, box, { selected: false }), element(2, red.id, { parent_id: 1 })]],
    ["red", [element(1, box), element(2, red.id, { parent_id: 1 })]],
    ["none", [element(1, box)]],
    ["none", []],
  ];
  for (const [shown, elements] of cases) {
    const answer = await publish(elements);
    t.equal(answer.status, 200, answer.text);
    t.equal(answer.json.length, elements.length);
    t.equal(await drawn(), shown, JSON.stringify(elements));
  }
});

t.test("layers and folders are selected as their elements are, wherever they are shown", async (t) => {
  const seen = async () => {
    const full: { code: string; selected: boolean }[] = await tree("?type=full");
    const older = await fetch(`${server.url}/api/2.2/p/m/layers/?type=full`);
    const items = (await older.json()) as Record<string, unknown>[];
    t.same(pick(items, "code", "selected"), pick(full, "code", "selected"), "in 2.2");
    for (const { code, selected } of full) {
      const path = code === "box" ? "m/folders/box/" : `m/layers/${code}/`;
      t.equal((await api("GET", path, { token: viewer })).json.selected, selected, path);
    }
    return full.filter(({ selected }) => selected).map(({ code }) => code);
  };
  await publish([{ id: 1, parent_id: 0, map_layer_id: green.id }]);
  t.same(await seen(), ["green"], "what has no element is not shown");
  await publish([
    { id: 1, parent_id: 0, map_layer_id: box, selected: false },
    { id: 2, parent_id: 1, map_layer_id: red.id },
    { id: 3, parent_id: 1, map_layer_id: green.id, selected: false },
    { id: 4, parent_id: 0, map_layer_id: green.id, selected: false },
  ]);
  t.same(await seen(), ["red"]);
  const body = { parent_id: 0 };
  t.equal((await api("PUT", "m/folders/box/", { token: editor, body })).json.selected, false);
  t.equal((await api("PATCH", "m/layers/green/", { token: editor, body })).json.selected, false);
  t.equal((await api("PATCH", "m/layers/red/", { token: editor, body })).json.selected, true);
  const made = await api("POST", "m/layers/", { token: editor, body: { code: "new" } });
  t.equal(made.json.selected, false, "a new layer is not in the tree yet");
  t.equal((await api("DELETE", "m/layers/new/", { token: editor })).status, 200);
});

t.test("the element of a folder with nothing under it stands for what the folder holds", async (t) => {
  await api("PATCH", "m/layers/green/", { token: editor, body: { parent_id: box } });
  await publish([{ id: 1, parent_id: 0, map_layer_id: box }]);
  t.equal(await drawn(), "green");
  t.same(pick(await tree("?type=full"), "code", "selected"), [
    ["red", false],
    ["box", true],
    ["green", true],
  ]);
  t.same(pick(await tree("?returnBbox=1"), "code", "bbox"), [["box", { sw: [0, 20], ne: [20, 40] }]]);
  await publish([
    { id: 1, parent_id: 0, map_layer_id: box },
    { id: 2, parent_id: 0, map_layer_id: green.id, selected: false },
  ]);
  t.equal(await drawn(), "none", "a layer with an element of its own is decided by that");
  await api("PATCH", "m/layers/green/", { token: editor, body: { parent_id: 0 } });
});

t.test("what refers to nothing in the map is 404 and changes nothing", async (t) => {
  await publish([{ id: 1, parent_id: 0, map_layer_id: red.id }]);
  const before = await tree();
  const good = { id: 1, parent_id: 0, map_layer_id: green.id };
  for (const wrong of [
    { id: 2, parent_id: 0, map_layer_id: foreign.id },
    { id: 2, parent_id: 0, map_layer_id: mapId },
    { id: 2, parent_id: 0, map_layer_id: 999_999 },
    { id: 2, parent_id: 0, map_layer_id: -1 },
    { id: 2, parent_id: 3, map_layer_id: red.id },
    { id: 2, parent_id: 2, map_layer_id: red.id },
  ]) {
    const answer = await publish([good, wrong]);
    t.equal(answer.status, 404, JSON.stringify(wrong));
    t.match(answer.headers.get("content-type"), /^text\/html/);
  }
  const circle = await publish([
    good,
    { id: 2, parent_id: 3, map_layer_id: red.id },
    { id: 3, parent_id: 2, map_layer_id: red.id },
  ]);
  t.equal(circle.status, 404);
  t.same(await tree(), before);
});

t.test("what is no publication tree is refused and changes nothing", async (t) => {
  const before = await tree();
  const good = { id: 1, parent_id: 0, map_layer_id: green.id };
  const refused = async (body: unknown, code: string) => {
    const answer = await publish(body);
    t.match(answer, { status: 500, json: { error: "error", code } }, JSON.stringify(body).slice(0, 80));
    return answer.json;
  };
  for (const body of [{}, "x", 7, null, [7], [null], [[good]]]) t.equal((await publish(body)).status, 400);
  for (const wrong of [
    { id: 1.5 },
    { id: "x" },
    { id: {} },
    { id: 0 },
    { id: 1e300 },
    { parent_id: true },
    { map_layer_id: [1] },
    { sort: "high" },
    { selected: "maybe" },
    { icon: 7 },
  ]) {
    await refused([{ ...good, ...wrong }], "invalid_value");
  }
  await refused([good, good], "invalid_value");
  t.same((await refused([{ icon: "x" }], "required_parameters")).data, {
    required: ["id", "parent_id", "map_layer_id"],
  });
  t.same((await refused([good, { ...good, id: null }], "required_parameters")).data, { required: ["id"] });
  const deep = Array.from({ length: maxDepth + 1 }, (_, i) => ({
    id: i + 1,
    parent_id: i,
    map_layer_id: red.id,
  }));
  await refused(deep, "invalid_value");
  t.equal((await publish(deep.slice(1).map((item) => ({ ...item, parent_id: 0 })))).status, 200);
  await publish([{ id: 1, parent_id: 0, map_layer_id: red.id }]);
  const broken = await fetch(`${server.url}/api/2.8/p/m/publish/?token=${editor}`, {
    method: "POST",
    body: "[{",
  });
  t.equal(broken.status, 400);
  t.same(await tree(), before);
});

t.test("elements go with what they are built on; what they hold moves up", async (t) => {
  const gone = await folder("gone");
  const under = await folder("under", gone);
  await publish([
    { id: 1, parent_id: 0, map_layer_id: gone },
    { id: 2, parent_id: 1, map_layer_id: under },
    { id: 3, parent_id: 2, map_layer_id: red.id },
    { id: 4, parent_id: 0, map_layer_id: green.id, selected: false },
  ]);
  t.equal((await api("DELETE", "m/folders/gone/", { token: editor })).text, "true");
  t.same(pick(await tree(), "id", "parent_id", "code"), [
    [3, 0, "red"],
    [4, 0, "green"],
  ]);
  t.equal(await drawn(), "red");
  const short = await makeStyledLayer(server, "m", "short", "#short { polygon-fill: #0000ff; }");
  await publish([{ id: 1, parent_id: 0, map_layer_id: short.id }]);
  await api("DELETE", "m/layers/short/", { token: editor });
  t.same(await tree(), [], "and not everything again");
  t.equal(await drawn(), "none");
});

t.test("deleting what a folder's element holds shows nothing that was not published", async (t) => {
  const outer = await folder("outer");
  const inner = await folder("inner", outer);
  const made = async (code: string, parent_id: number) => {
    const body = { code, parent_id, css_style: `#${code} { polygon-fill: #0000ff; }` };
    return (await api("POST", "m/layers/", { token: editor, body })).json.id as number;
  };
  const [first, second, withheld] = [
    await made("first", inner),
    await made("second", outer),
    await made("withheld", inner),
  ];
  for (const code of ["first", "second", "withheld"])
    await addObject(server, code, square(0, 0, 20), { map: "m" });
  await publish([
    { id: 1, parent_id: 0, map_layer_id: outer },
    { id: 2, parent_id: 1, map_layer_id: inner },
    { id: 3, parent_id: 2, map_layer_id: first },
    { id: 4, parent_id: 1, map_layer_id: second },
  ]);
  const shown = async () => ({
    codes: pick(await tree(), "code").flat(),
    selected: pick(await tree("?type=full"), "code", "selected").find(([code]) => code === "withheld")?.[1],
    found: (await api("GET", "m/search/?phrase=withheld")).json.map(({ name }: { name: string }) => name),
    drawn: await drawn(),
  });
  const nothing = { selected: false, found: [], drawn: "none" };
  await api("DELETE", "m/layers/first/", { token: editor });
  t.match(await shown(), { ...nothing, drawn: "something else", codes: ["outer", "second"] });
  await api("DELETE", "m/layers/second/", { token: editor });
  t.same(await shown(), { ...nothing, codes: [] }, "nor a folder that nothing is left of");
  await publish([{ id: 1, parent_id: 0, map_layer_id: inner }]);
  await made("third", inner);
  await api("DELETE", "m/layers/third/", { token: editor });
  t.same(
    pick(await tree(), "code").flat(),
    ["inner"],
    "an element that stands for the folder goes on to do so",
  );
  t.equal(
    (await tree("?type=full")).some((node: any) => node.id === withheld && node.selected),
    true,
  );
  await api("DELETE", "m/folders/outer/", { token: editor });
});

t.test("nobody sees a published layer that they may not read", async (t) => {
  await publish([
    { id: 1, parent_id: 0, map_layer_id: box },
    { id: 2, parent_id: 1, map_layer_id: red.id },
    { id: 3, parent_id: 0, map_layer_id: green.id },
  ]);
  const grant = async (rights: number | undefined) => {
    await setGrant(services.db, { project: "p", map: "m", layer: "red", login: null }, rights);
    await services.changes.propagate();
  };
  await grant(0);
  t.same(pick(await tree(), "id"), [[3]], "nor the folder that holds nothing else");
  t.equal((await api("GET", "m/layers/", { token: viewer })).json.length, 3);
  await grant(undefined);
  t.equal((await tree()).length, 3);
});

t.test("publishing needs a token and the right to edit structure", async (t) => {
  const before = await tree();
  t.equal((await publish([], "")).status, 401);
  t.equal((await publish([], "made-up")).status, 401);
  t.equal((await publish([], viewer)).status, 403);
  t.equal((await api("POST", "nothing/publish/", { token: editor, body: [] })).status, 404);
  t.same(await tree(), before);
  t.match((await publish([])).headers.get("cache-control"), /no-store/);
});

t.test("a map with group_layers is published as one layer, which is the whole map", async (t) => {
  const admin = await server.token("admin");
  const patch = (body: object) => api("PATCH", "m/", { token: admin, body });
  await publish([
    { id: 1, parent_id: 0, map_layer_id: box },
    { id: 2, parent_id: 1, map_layer_id: red.id },
    { id: 3, parent_id: 0, map_layer_id: green.id, selected: false },
  ]);
  t.match(await patch({ group_layers: 1, name: "Whole" }), { status: 200, json: { group_layers: 1 } });
  t.equal((await api("GET", "m/", { node: 1 })).json.group_layers, 1, "on every node");
  const listed = (await api("GET", "maps/public/", { token: admin })).json;
  t.equal(listed.find(({ code }: { code: string }) => code === "m").group_layers, 1);
  const [only, ...others] = await tree("?type=publish&returnBbox=1&returnCss=1&with_access=1");
  t.same(others, []);
  t.match(only, {
    ...{ id: mapId, map_layer_id: mapId, code: "m", name: "Whole", parent_id: 0, selected: true, access: 1 },
    ...{ css_style: "", bbox: { sw: [0, 0], ne: [20, 40] }, group_layers: 1 },
  });
  const full = pick(await tree("?type=full"), "code", "selected").sort();
  t.same(full, [
    ["box", true],
    ["green", false],
    ["red", true],
  ]);
  const picture = async (layers: string) => {
    const answer = await fetch(tileUrl(server, "m", { lon: 20, lat: 20, z: 1 }, `&base=0${layers}`, 1));
    t.equal(answer.status, 200);
    return Buffer.from(await answer.arrayBuffer()).toString("base64");
  };
  t.equal(await picture(`&layers=${mapId}`), await picture(""), "tiles take it among their layers");
  t.not(await picture(`&layers=${mapId}`), await picture("&layers=0"));
  const older = await fetch(`${server.url}/api/2.0/p/m/layers/`);
  t.match(await older.json(), [{ id: mapId, name: "Whole", g_type: "Unknown", bbox: only.bbox }]);
  const settings = await fetch(`${server.url}/api/2.2/p/?map_code=m`);
  t.match(await settings.json(), { map: { group_layers: 1 }, layers: [{ id: mapId }], bbox: only.bbox });
  const saved = await publish([{ id: 4, parent_id: 0, map_layer_id: red.id }]);
  t.same(pick(saved.json, "id", "code"), [[4, "red"]], "its publication tree can still be changed");
  const grant = async (layer: string, rights: number | undefined) => {
    await setGrant(services.db, { project: "p", map: "m", layer, login: null }, rights);
    await services.changes.propagate();
  };
  await grant("red", 0);
  t.same(await tree(), [], "nothing of it can be read");
  await grant("red", undefined);
  t.equal((await patch({ name: "Whole" })).json.group_layers, 1, "PATCH leaves it");
  t.equal((await api("PUT", "m/", { token: admin, body: {} })).json.group_layers, 0, "PUT resets it");
  t.same(pick(await tree(), "id"), [[4]]);
  for (const [given, status] of [
    [true, 200],
    ["0", 200],
    [2, 400],
    ["x", 400],
  ] as const)
    t.equal((await patch({ group_layers: given })).status, status, String(given));
  const made = await api("POST", "", { token: editor, body: { code: "grouped", group_layers: 1 } });
  t.equal(made.json.group_layers, 1);
  t.same((await api("GET", "grouped/layers/")).json, [], "there is nothing in it");
});

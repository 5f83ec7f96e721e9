import t from "tap";
import { makeMap, makeStyledLayer } from "../support/maps.js";
import { startServer, waitFor } from "../support/server.js";

/** What visualizations and legends show of a layer's objects, and that it stays true. */

const server = await startServer({ nodes: 2 });
t.teardown(() => server.stop());
const { api } = server;
const editor = await server.token("editor");
await makeMap(server, "m");
const layer = await makeStyledLayer(server, "m", "l", "#a { marker-width: 3; }");
for (const [code, type] of Object.entries({ size: "number", kind: "string" }))
  await api("POST", "m/layers/l/structure/", { token: editor, body: { code, type } });

const add = async (fields: object) =>
  (await api("POST", "m/layers/l/objects/", { token: editor, body: { fields } })).json.id as number;
const show = (visualSettings: object, code = "l") =>
  api("PUT", `m/layers/${code}/visualization/`, { token: editor, body: { visualSettings } });
const classesOf = async (code = "l", node = 0) =>
  (await api("GET", `m/layers/${code}/`, { node })).json.visualSettings.classesSettings;
const legend = async (code = "l", node = 0) => (await api("GET", `m/layers/${code}/legend/`, { node })).json;
const inTree = async (code: string) =>
  (await api("GET", "m/layers/")).json.find((one: { code: string }) => one.code === code).visualSettings
    .classesSettings;

const thematic = {
  type: 1,
  columnCode: "size",
  classesCount: 2,
  classesSettings: { minColor: "#000000", midColor: "#800000", maxColor: "#ff0000" },
};
const categories = {
  type: 2,
  columnCode: "kind",
  classesSettings: {
    classes: [
      { value: "town", color: "#00ff00", count: 999 },
      { value: "city", color: "#0000ff", checked: false },
    ],
    defaultClass: { color: "#cccccc" },
  },
};

t.test("a layer without objects has a legend without classes", async (t) => {
  const answer = await show(thematic);
  t.match(answer, {
    status: 200,
    json: { visualSettings: { classesSettings: { borders: [], counts: [] } } },
  });
  t.match(await legend(), { minValue: null, maxValue: null, classificators: [] });
  await show(categories);
  t.match(await classesOf(), { classes: [{ count: 0 }, { count: 0 }], defaultClass: { count: 0 } });
  t.same((await legend()).classificators, [{ value: "town", fill: "#00ff00", isIcon: false }]);
});

t.test("class borders, counts and the legend come with the settings", async (t) => {
  await add({ size: 0, kind: "town" });
  await add({ size: 4, kind: "town" });
  await add({ size: 10, kind: "village" });
  await add({});
  const answer = await show(thematic);
  t.match(answer.json.visualSettings.classesSettings, { borders: [0, 5, 10], counts: [2, 1] });
  t.same(await classesOf(), answer.json.visualSettings.classesSettings);
  t.same(await legend(), {
    name: "",
    column: "size",
    showValues: true,
    showLegend: true,
    minValue: 0,
    maxValue: 10,
    type: 1,
    classificators: [
      { value: 5, fill: "#000000", isIcon: false },
      { value: 10, fill: "#ff0000", isIcon: false },
    ],
  });
  const again = await show(answer.json.visualSettings);
  t.same(again.json.visualSettings, answer.json.visualSettings, "what was given back can be sent again");
  await show(categories);
  t.match(await classesOf(), { classes: [{ count: 2 }, { count: 0 }], defaultClass: { count: 2 } });
  t.same((await legend()).classificators, [
    { value: "town", fill: "#00ff00", isIcon: false },
    { value: null, fill: "#cccccc", isIcon: false },
  ]);
  await show({ ...thematic, type: 3, classesSettings: {} });
  t.match(await legend(), { minValue: 0, maxValue: 10, classificators: [{ value: null }] });
  await show({ type: 4, classesSettings: { columns: [{ code: "size" }], sizeType: 2 } });
  t.match(await legend(), { minValue: 0, maxValue: 10, classificators: [{ value: "size" }] });
});

t.test("categories that a request leaves out are the commonest values", async (t) => {
  const body = { code: "trees" };
  t.equal((await api("POST", "m/layers/", { token: editor, body })).status, 200);
  const kinds = ["fir", "elm", "elm", "ash", "oak", "oak", "oak", "yew", "box", "bay", "", null];
  const features = kinds.map((kind, at) => ({
    type: "Feature",
    geometry: { type: "Point", coordinates: [at, at] },
    properties: { kind, height: [2, 1, 2][at % 3], old: at === 0 },
  }));
  const data = { type: "FeatureCollection", features };
  t.equal((await api("POST", "m/layers/trees/import/", { token: editor, body: data })).status, 200);
  const values = (classes: { value: unknown }[]) => classes.map(({ value }) => value);
  const answer = await show({ type: 2, columnCode: "kind" }, "trees");
  const { classesSettings, classesCount } = answer.json.visualSettings;
  t.same(values(classesSettings.classes), ["oak", "elm", "ash", "bay", "box", "fir"]);
  t.equal(classesCount, 6);
  t.match(classesSettings, {
    classes: [{ count: 3 }, { count: 2 }, { count: 1 }],
    defaultClass: { count: 3 },
  });
  const colours = classesSettings.classes.map(({ color }: { color: string }) => color);
  t.equal(new Set(colours).size, 6, `${colours}`);
  await show({ type: 2, columnCode: "height", classesSettings: { opacity: 0.5 } }, "trees");
  t.match(await classesOf("trees"), { opacity: 0.5 });
  t.same(values((await classesOf("trees")).classes), [2, 1]);
  await show({ type: 2, columnCode: "old" }, "trees");
  t.same(values((await classesOf("trees")).classes), [false, true]);
  await show({ type: 2, columnCode: "kind", classesSettings: { classes: [] } }, "trees");
  t.same((await classesOf("trees")).classes, [], "none are none");
});

t.test("after an edit they are new, on every node, in virtual layers too", async (t) => {
  await show(thematic);
  const body = { code: "towns", type: "virtual", source: { layer: "l", filter: "kind = 'town'" } };
  t.equal((await api("POST", "m/layers/", { token: editor, body })).status, 200);
  t.match((await show(thematic, "towns")).json.visualSettings.classesSettings, {
    borders: [0, 2, 4],
    counts: [1, 1],
  });
  for (const node of [0, 1]) t.match(await legend("towns", node), { maxValue: 4 });
  const id = await add({ size: 40, kind: "town" });
  for (const node of [0, 1])
    for (const code of ["l", "towns"])
      t.match(await legend(code, node), { minValue: 0, maxValue: 40 }, `${code} on node ${node}`);
  t.same((await classesOf("towns")).counts, [2, 1]);
  t.same((await inTree("l")).borders, [0, 20, 40]);
  t.same((await inTree("l")).counts, [3, 1]);
  await api("PUT", `m/layers/l/objects/${id}/`, { token: editor, body: { fields: { size: null } } });
  t.match(await legend("towns"), { maxValue: 4 });
  await api("DELETE", `m/layers/l/objects/${id}/`, { token: editor });
  t.match(await legend("l", 1), { maxValue: 10 });
  // An edit by another SQL client is known as soon as PostgreSQL tells of it.
  const { rows } = await server.sql.query(
    "select id from layer_column where layer_id = $1 and code = 'size'",
    [layer.id],
  );
  await server.sql.query(`update layers.l${layer.id} set c${rows[0].id} = 100 where c${rows[0].id} = 10`);
  await waitFor(async () => (await legend()).maxValue === 100);
  await waitFor(async () => (await inTree("l")).borders[2] === 100);
});

t.test("an import answers with the new values", async (t) => {
  await show(thematic);
  const point = { type: "Point", coordinates: [1, 1] };
  const body = {
    type: "FeatureCollection",
    features: [{ type: "Feature", geometry: point, properties: { size: 200 } }],
  };
  const answer = await api("POST", "m/layers/l/import/", { token: editor, body });
  t.match(answer.json?.visualSettings.classesSettings, { borders: [0, 100, 200] }, answer.text);
  await server.sql.query(`delete from layers.l${layer.id} where geom is not null`);
  await waitFor(async () => (await legend()).maxValue === 100);
});

t.test("a column that changes or goes takes its values along", async (t) => {
  await show(categories);
  t.match(await classesOf(), { classes: [{ count: 2 }, {}] });
  const column = (method: string, body?: object) =>
    api(method, "m/layers/l/structure/size/", { token: editor, ...(body ? { body } : {}) });
  await show({ ...thematic, columnCode: "size" });
  t.equal((await api("DELETE", "m/layers/towns/", { token: editor })).status, 200);
  t.equal((await column("PATCH", { type: "string" })).status, 200);
  t.equal((await api("GET", "m/layers/l/legend/")).status, 404, "texts have no borders");
  t.equal((await column("PATCH", { type: "number" })).status, 200);
  await show({ ...thematic, columnCode: "size" });
  t.match(await legend(), { minValue: 0, maxValue: 100 });
  t.equal((await column("DELETE")).status, 200);
  t.equal((await api("GET", "m/layers/l/")).status, 200);
  t.equal((await api("GET", "m/layers/l/legend/")).status, 404);
});

t.test("settings are shown as they were last while the objects cannot be looked at", async (t) => {
  await show(categories);
  const before = await classesOf();
  const { sql } = server;
  await sql.query("begin");
  await sql.query(`lock table layers.l${layer.id} in access exclusive mode`);
  try {
    // What is known counts as old from now on.
    const [{ services }] = server.nodes as [(typeof server.nodes)[0]];
    await services.db.execute("insert into layer_touch (layer_id, area) values ($1, null)", [layer.id]);
    await services.changes.propagate();
    t.same(await classesOf(), before);
    t.same(await inTree("l"), before);
  } finally {
    await sql.query("rollback");
  }
});

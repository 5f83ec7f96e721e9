import t from "tap";
import { storeSettings } from "../../src/catalog/stored-settings.js";
import { readSettings } from "../../src/visual/settings.js";
import { makeMap } from "../support/maps.js";
import { startServer } from "../support/server.js";

/** What becomes of visualizations, popups and labels when the columns that they use go or change. */

const server = await startServer();
t.teardown(() => server.stop());
const editor = await server.token("editor");
await makeMap(server, "m");
const types = {
  size: "number",
  weight: "number",
  kind: "string",
  about: "text",
  open: "bool",
  since: "datetime",
};
const uuids = ["6f1c1b0e-2f4e-4f4d-9c5e-1d2f3a4b5c6d", "6f1c1b0e-2f4e-4f4d-9c5e-1d2f3a4b5c6e"] as const;

type Code = keyof typeof types;
let made = 0;

/** A layer with a column of each type, and what is done with it. */
async function makeLayer() {
  const code = `l${++made}`;
  const must = async (method: string, path: string, body?: object) => {
    const answer = await server.api(method, `m/layers/${path}`, { token: editor, body });
    if (answer.status !== 200) throw new Error(`${method} ${path}: ${answer.text}`);
    return answer.json;
  };
  await must("POST", "", { code });
  const ids = {} as Record<Code, number>;
  for (const [column, type] of Object.entries(types))
    ids[column as Code] = (await must("POST", `${code}/structure/`, { code: column, type })).id;
  const get = () => must("GET", `${code}/`);
  return {
    code,
    ids,
    get,
    show: (visualSettings: object) => must("PUT", `${code}/visualization/`, { visualSettings }),
    plug: (visualCustomSettings: object) => must("PUT", `${code}/visualization/`, { visualCustomSettings }),
    draw: (vectorSettings: object) => must("PUT", `${code}/vector/`, { vectorSettings }),
    tryToShow: (visualSettings: object) =>
      server.api("PUT", `m/layers/${code}/visualization/`, { token: editor, body: { visualSettings } }),
    /** The layer without the column. */
    drop: async (column: Code) => {
      await must("DELETE", `${code}/structure/${column}/`);
      return get();
    },
    /** The layer with another type of the column. */
    change: async (column: Code, type: string) => {
      await must("PATCH", `${code}/structure/${column}/`, { type });
      return get();
    },
  };
}

const charts = (...codes: Code[]) => ({
  columns: codes.map((code) => ({ code })),
  sizeType: 3,
  sizeColumnCode: "weight",
});
const hasNoVisualization = { style_mode: 2, visualSettings: undefined, visualCustomSettings: undefined };

t.test("a visualization goes with the column that it is built from", async (t) => {
  for (const visual of [
    { type: 1, columnCode: "size" },
    { type: 2, columnCode: "size", classesSettings: { classes: [{ value: 1 }] } },
    { type: 3, columnCode: "size" },
    { type: 4, classesSettings: { columns: [{ code: "size" }] } },
  ]) {
    const layer = await makeLayer();
    t.match(await layer.show(visual), { style_mode: 3 });
    t.match(await layer.drop("kind"), { style_mode: 3, visualSettings: { type: visual.type } });
    t.match(await layer.drop("size"), hasNoVisualization, `kind ${visual.type}`);
  }
});

t.test("what only decorates is taken out, and its switch is off", async (t) => {
  const layer = await makeLayer();
  const shown = await layer.show({
    type: 5,
    columnCode: "kind",
    showText: true,
    textSettings: { column: "about", fontSize: 17 },
    classesSettings: charts("size", "weight"),
  });
  t.match(shown.visualSettings, { showText: true, textSettings: { column: "about" } });
  t.match((await layer.drop("about")).visualSettings, {
    showText: false,
    textSettings: { column: null, fontSize: 17 },
    column: layer.ids.kind,
  });
  const without = await layer.drop("weight");
  t.match(without, { style_mode: 3 });
  const { sizeType, sizeColumn, columns } = without.visualSettings.classesSettings;
  t.same({ sizeType, sizeColumn }, { sizeType: 1, sizeColumn: null });
  t.match(columns, [{ id: layer.ids.size, code: "size" }]);
  t.equal(columns.length, 1);
  t.match((await layer.drop("kind")).visualSettings, { column: null, columnCode: null });
  const again = await layer.show((await layer.get()).visualSettings);
  t.same(again.visualSettings, (await layer.get()).visualSettings, "what is left can be sent again");
  t.match(await layer.drop("size"), hasNoVisualization);
});

t.test("a heat map does without its columns", async (t) => {
  const layer = await makeLayer();
  await layer.show({
    type: 7,
    classesSettings: {
      markerSizeType: "field",
      markerSizeField: layer.ids.size,
      useWeight: true,
      useWeightField: layer.ids.weight,
    },
  });
  const { classesSettings } = (await layer.drop("weight")).visualSettings;
  t.match(classesSettings, { useWeight: false, markerSizeType: "field", markerSizeField: layer.ids.size });
  t.equal(classesSettings.useWeightField, null);
  const left = (await layer.drop("size")).visualSettings.classesSettings;
  t.match(left, { markerSizeType: "fixed" });
  t.equal(left.markerSizeField, null);
});

t.test("a plug-in's visualization keeps the columns that there are, and goes with the last", async (t) => {
  const layer = await makeLayer();
  const [first, second] = uuids;
  const settings = { hands: [first, second] };
  await layer.plug({ type: "x", columns: { [first]: layer.ids.size, [second]: layer.ids.kind }, settings });
  const left = await layer.drop("size");
  t.equal(left.style_mode, 4);
  t.same(left.visualCustomSettings.columns, { [second]: layer.ids.kind });
  t.same(left.visualCustomSettings.settings, settings);
  t.match(await layer.drop("kind"), hasNoVisualization);

  const other = await makeLayer();
  await other.plug({ type: "x", settings });
  t.match(await other.drop("size"), { style_mode: 4 }, "one that never had any has lost none");
});

t.test("a popup is off without its column", async (t) => {
  const layer = await makeLayer();
  await layer.draw({ showPopup: true, popupColumnCode: "kind", minZoom: 3 });
  t.match((await layer.drop("size")).vectorSettings, { showPopup: true, popupColumnCode: "kind" });
  t.match(await layer.drop("kind"), {
    render_type: 1,
    vectorSettings: { showPopup: false, popupColumn: null, popupColumnCode: null, minZoom: 3 },
  });
});

t.test("a type that a kind cannot use counts as a column that went", async (t) => {
  for (const type of [1, 3]) {
    const layer = await makeLayer();
    await layer.show({ type, columnCode: "size" });
    t.match(await layer.change("size", "datetime"), { style_mode: 3 }, "moments have borders, too");
    t.match(await layer.change("size", "string"), hasNoVisualization, `kind ${type}`);
  }
  const layer = await makeLayer();
  await layer.show({ type: 2, columnCode: "kind", showText: true, textSettings: { column: "about" } });
  t.match(await layer.change("kind", "number"), { style_mode: 3 }, "categories are of any type");
  t.match((await layer.change("about", "title")).visualSettings, {
    showText: false,
    textSettings: { column: null },
  });
  t.match(await layer.change("kind", "title"), hasNoVisualization);
});

t.test("colours and sizes by value need values in an order", async (t) => {
  const layer = await makeLayer();
  for (const type of [1, 3]) {
    for (const code of ["kind", "about", "open"]) {
      t.match(await layer.tryToShow({ type, columnCode: code }), {
        status: 500,
        json: { code: "invalid_value", data: { parameter: "visualSettings", fields: { column: String } } },
      });
    }
    for (const code of ["size", "since", "svc_id"])
      t.equal((await layer.tryToShow({ type, columnCode: code })).status, 200, code);
  }
});

t.test("settings that were checked before a column went are not stored", async (t) => {
  const { services } = server.nodes[0]!;
  const layer = await makeLayer();
  const map = await services.catalog.map("p", "m");
  const node = map.layers.get(layer.code)!;
  const checked = {
    visualSettings: { type: 4, classesSettings: charts("size", "weight") },
    vectorSettings: { popupColumnCode: "weight" },
  };
  const read = Object.entries(checked).map(([kind, settings]) => {
    const known = kind as keyof typeof checked;
    return [known, readSettings(node, known, settings)] as const;
  });
  const before = await layer.drop("weight");
  for (const [kind, settings] of read) {
    const stored = storeSettings(services.db, { mapId: map.id, layerId: node.id }, kind, settings);
    await t.rejects(stored, { code: "invalid_value" }, kind);
  }
  await services.changes.propagate();
  t.same(await layer.get(), before);
});

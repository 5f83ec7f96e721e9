import t from "tap";
import { makeMap, makeStyledLayer } from "../support/maps.js";
import { startServer } from "../support/server.js";

/** Visualization and vector settings, stored and given back. */

const server = await startServer();
t.teardown(() => server.stop());
const { api, sql } = server;
const [editor, viewer] = [await server.token("editor"), await server.token("viewer")];
await makeMap(server, "m");
const layer = await makeStyledLayer(server, "m", "l", "#a { marker-width: 3; }");
const columns: Record<string, number> = {};
for (const [code, type] of Object.entries({ size: "number", kind: "string", about: "title" })) {
  const { rows } = await sql.query(
    "insert into layer_column (layer_id, code, type, name) values ($1, $2, $3, 'Title of ' || $2) returning id",
    [layer.id, code, type],
  );
  columns[code] = rows[0].id;
  if (type !== "title")
    await sql.query(
      `alter table layers.l${layer.id} add column c${rows[0].id} ${type === "number" ? "float8" : "text"}`,
    );
}
await server.nodes[0]!.services.changes.propagate();

const put = (visualSettings: unknown, token: string | undefined = editor) =>
  api("PUT", "m/layers/l/visualization/", { token, body: { visualSettings } });
const get = async (query = "") => (await api("GET", `m/layers/l/${query}`)).json;
const legend = async (query = "") => api("GET", `m/layers/l/legend/${query}`);
const charts = { classesSettings: { columns: [{ code: "size", color: "#ff0000" }] } };

t.test("a layer without settings shows none", async (t) => {
  for (const field of ["visualSettings", "visualCustomSettings", "vectorSettings"])
    t.notOk(field in (await get()));
  t.equal((await legend()).status, 404);
});

t.test("each kind is stored with its fields and given back with the layer and the tree", async (t) => {
  const kinds: Record<number, { given: object; shown: object }> = {
    1: {
      given: {
        column: columns.size,
        algorithm: 3,
        classesCount: 7,
        classesSettings: { minColor: "#000000" },
      },
      shown: {
        column: columns.size,
        columnCode: "size",
        algorithm: 3,
        classesCount: 7,
        classesSettings: { minColor: "#000000", midColor: String, lineWidth: 2 },
      },
    },
    2: {
      given: {
        columnCode: "kind",
        algorithm: 2,
        classesSettings: { classes: [{ value: "a", color: "#00ff00" }, { value: 7 }] },
      },
      shown: {
        column: columns.kind,
        columnCode: "kind",
        algorithm: 1,
        classesCount: 2,
        classesSettings: {
          classes: [{ value: "a", color: "#00ff00", checked: true, count: 0 }, { value: 7 }],
          defaultClass: { useIcon: false, value: null },
        },
      },
    },
    3: {
      given: { column: columns.size, columnCode: "size", classesSettings: { pointSizeMax: 99 } },
      shown: { classesSettings: { pointSizeMin: Number, pointSizeMax: 99, color: String } },
    },
    4: {
      given: charts,
      shown: {
        column: null,
        classesSettings: {
          columns: [{ id: columns.size, code: "size", color: "#ff0000" }],
          sizeColumn: null,
        },
      },
    },
    5: {
      given: { classesSettings: { ...charts.classesSettings, sizeType: 3, sizeColumn: columns.size } },
      shown: {
        classesSettings: {
          sizeType: 3,
          sizeColumn: columns.size,
          sizeColumnCode: "size",
          columns: [{ code: "size", label: "Title of size" }],
        },
      },
    },
    6: { given: charts, shown: { classesSettings: { showScale: false } } },
    7: {
      given: {
        algorithm: 2,
        classesSettings: {
          markerSizeType: "field",
          markerSizeField: columns.size,
          colors: ["#000000", "#ffffff"],
        },
      },
      shown: {
        algorithm: 1,
        classesSettings: {
          markerSizeField: columns.size,
          useWeightField: null,
          colors: ["#000000", "#ffffff"],
        },
      },
    },
  };
  let id: number | undefined;
  for (const [type, { given, shown }] of Object.entries(kinds)) {
    const answer = await put({ type: Number(type), ...given });
    t.match(
      answer,
      { status: 200, json: { style_mode: 3, visualSettings: { type: Number(type), ...shown } } },
      type,
    );
    id ??= answer.json.visualSettings.id;
    t.equal(answer.json.visualSettings.id, id, "it keeps its id");
    t.same((await get()).visualSettings, answer.json.visualSettings);
    t.same((await api("GET", "m/layers/")).json[0].visualSettings, answer.json.visualSettings);
    // What was given back can be sent again.
    const again = await put(answer.json.visualSettings);
    t.same(again.json?.visualSettings, answer.json.visualSettings, again.text);
    for (const field of ["pointSettings", "borderSettings", "textSettings", "legendNames", "showValues"])
      t.ok(field in answer.json.visualSettings, field);
  }
});

t.test("bars are labelled with their columns' titles, unless another label is given", async (t) => {
  const labelOf = async (query = "") => (await get(query)).visualSettings.classesSettings.columns[0].label;
  const title = (name: string | object) =>
    api("PATCH", "m/layers/l/structure/size/", {
      token: editor,
      body: { type: "number", localized_name: typeof name === "object", name },
    });
  const bars = (await put({ type: 5, ...charts })).json.visualSettings;
  t.equal(await labelOf(), "Title of size");
  t.equal((await put(bars)).status, 200);
  t.equal((await title({ en: "Size", ru: "Размер" })).status, 200);
  t.equal(await labelOf(), "Size", "a title that was shown and sent again is no label of its own");
  t.equal(await labelOf("?lng=ru"), "Размер");
  const own = { columns: [{ code: "size", label: "Height" }] };
  t.equal((await put({ type: 5, classesSettings: own })).status, 200);
  t.equal(await labelOf("?lng=ru"), "Height");
  t.equal((await title("Title of size")).status, 200);
});

t.test("columns are shown by the codes that they have now", async (t) => {
  await put({ type: 1, columnCode: "size", textSettings: { column: "kind" } });
  await sql.query("update layer_column set code = 'length' where id = $1", [columns.size]);
  await server.nodes[0]!.services.changes.propagate();
  t.match((await get()).visualSettings, {
    column: columns.size,
    columnCode: "length",
    textSettings: { column: "kind" },
  });
  await sql.query("update layer_column set code = 'size' where id = $1", [columns.size]);
  await server.nodes[0]!.services.changes.propagate();
});

t.test("a plug-in's settings are stored instead of the others", async (t) => {
  const uuid = "6f1c1b0e-2f4e-4f4d-9c5e-1d2f3a4b5c6d";
  const visualCustomSettings = {
    type: "clock",
    columns: { [uuid]: columns.size },
    icons: { [uuid]: "/icons/a.png" },
    settings: { hands: [1, 2, { deep: "x" }] },
  };
  const answer = await api("PUT", "m/layers/l/visualization/", {
    token: editor,
    body: { visualCustomSettings },
  });
  t.match(answer, { status: 200, json: { style_mode: 4, visualCustomSettings } });
  t.type(answer.json.visualCustomSettings.id, "number");
  t.notOk("visualSettings" in answer.json);
  t.equal((await legend()).status, 404);
  const dropped = await api("DELETE", "m/layers/l/visualization/", { token: editor });
  t.match(dropped, { status: 200, json: { style_mode: 2 } });
  t.notOk("visualCustomSettings" in dropped.json);
});

t.test("vector settings make a layer one that clients draw", async (t) => {
  const vectorSettings = {
    minZoom: 3,
    maxZoom: 12,
    zoomsEnabled: true,
    showPopup: true,
    popupColumnCode: "kind",
  };
  const answer = await api("PUT", "m/layers/l/vector/", { token: editor, body: { vectorSettings } });
  t.match(answer, {
    status: 200,
    json: {
      render_type: 1,
      vectorSettings: {
        id: Number,
        ...vectorSettings,
        popupColumn: columns.kind,
        stylesPolygon: {},
        stylesPoint: { icon: "" },
        clusterSettings: { radius: Number, splitByCategories: false },
      },
    },
  });
  t.match((await api("GET", "m/layers/")).json, [{ render_type: 1, vectorSettings: { id: Number } }]);
  const dropped = await api("DELETE", "m/layers/l/vector/", { token: editor });
  t.match(dropped, { status: 200, json: { render_type: 0 } });
  t.notOk("vectorSettings" in dropped.json);
});

t.test("a legend is what the settings say", async (t) => {
  await put({
    type: 2,
    columnCode: "kind",
    legendName: "Kinds",
    legendNames: [{ en: "Kinds" }, { ru: "Виды" }],
    classesSettings: {
      classes: [
        { value: "a", color: "#00ff00" },
        { value: "b", useIcon: true },
        { value: "c", checked: false },
      ],
    },
  });
  t.same((await legend()).json, {
    name: "Kinds",
    column: "kind",
    showValues: true,
    showLegend: true,
    minValue: null,
    maxValue: null,
    type: 2,
    classificators: [
      { value: "a", fill: "#00ff00", isIcon: false },
      { value: "b", fill: "#ee6677", isIcon: true },
    ],
  });
  t.match((await legend("?lng=ru")).json, { name: "Виды" });
  await put({ type: 4, ...charts });
  t.match((await legend()).json.classificators, [{ value: "Title of size", fill: "#ff0000" }]);
  t.equal((await api("GET", "m/layers/none/legend/")).status, 404);
});

t.test("what does not fit is refused and changes nothing", async (t) => {
  const before = await get();
  const cases: [unknown, string][] = [
    [undefined, "required_parameters"],
    [[], "invalid_value"],
    ["1", "invalid_value"],
    [{}, "invalid_value"],
    [{ type: 9 }, "invalid_value"],
    [{ type: "1", column: columns.size }, "invalid_value"],
    [{ type: 1 }, "invalid_value"],
    [{ type: 1, column: 1e9 }, "unknown_column"],
    [{ type: 1, columnCode: "none" }, "unknown_column"],
    [{ type: 1, columnCode: "about" }, "unknown_column"],
    [{ type: 1, columnCode: "geom" }, "unknown_column"],
    [{ type: 1, column: columns.size, columnCode: "kind" }, "unknown_column|invalid_value"],
    [{ type: 1, column: columns.size, classesSettings: { minColor: "red" } }, "invalid_value"],
    [{ type: 1, column: columns.size, classesSettings: { opacity: 2 } }, "invalid_value"],
    [{ type: 1, column: columns.size, legendNames: [{ en: "a", ru: "b" }] }, "invalid_value"],
    [{ type: 4 }, "invalid_value"],
    [{ type: 4, classesSettings: { columns: [{ color: "#000000" }] } }, "invalid_value"],
    [{ type: 7, classesSettings: { useWeightField: 1e9 } }, "unknown_column"],
    [{ type: 8, classesSettings: { radius: 1 } }, "invalid_value"],
    [{ type: 1, column: columns.size, textSettings: { column: "none" } }, "unknown_column"],
  ];
  for (const [given, code] of cases) {
    const answer = await put(given);
    t.equal(answer.status, 500, JSON.stringify(given));
    t.match(answer.json.code, new RegExp(`^(${code})$`), JSON.stringify(given));
  }
  for (const [given, message] of [
    [{ type: 1 }, "visualSettings.column cannot be stored. This type needs a column."],
    [{ type: 1, columnCode: "sise" }, 'The layer has no column "sise"; did you mean size?'],
    [{ type: 9 }, /^visualSettings\.type cannot be stored\. It must be one of 1, 2, 3, 4, 5, 6, 7, 8\.$/],
    [{}, "visualSettings.type cannot be stored. It is missing."],
    [
      { type: 4 },
      "visualSettings.classesSettings.columns cannot be stored. " +
        "It must be a list of the columns that are shown, such as [{code: population}].",
    ],
    [
      { type: 5, classesSettings: { columns: [{ code: 7, color: "red" }] } },
      "visualSettings.classesSettings.columns.0.code cannot be stored. It must be a text.",
    ],
    [
      { type: 2, columnCode: "kind", textSettings: { fontSize: -1 } },
      "visualSettings.textSettings.fontSize cannot be stored. It must be at least 0.",
    ],
  ] as const)
    t.match((await put(given)).json, { message });
  const custom = (visualCustomSettings: unknown) =>
    api("PUT", "m/layers/l/visualization/", { token: editor, body: { visualCustomSettings } });
  t.match((await custom({ type: "x", columns: { nope: columns.size } })).json, { code: "invalid_value" });
  let deep: unknown = {};
  for (let level = 0; level < 60; level++) deep = { deep };
  t.match((await custom({ type: "x", settings: deep })).json, { code: "invalid_value" });
  const both = { visualSettings: { type: 1 }, visualCustomSettings: { type: "x" } };
  t.match((await api("PUT", "m/layers/l/visualization/", { token: editor, body: both })).json, {
    code: "invalid_value",
  });
  const vector = { vectorSettings: { minZoom: 9, maxZoom: 3 } };
  t.match((await api("PUT", "m/layers/l/vector/", { token: editor, body: vector })).json, {
    code: "invalid_value",
  });
  t.same(await get(), before);
});

t.test("only who may change the structure sets them", async (t) => {
  const body = { visualSettings: { type: 1, column: columns.size } };
  for (const path of ["visualization", "vector"]) {
    for (const method of ["PUT", "DELETE"]) {
      t.equal((await api(method, `m/layers/l/${path}/`, { token: viewer, body })).status, 403);
      t.equal((await api(method, `m/layers/l/${path}/`, { body })).status, 401);
      t.equal((await api(method, `m/layers/none/${path}/`, { token: editor, body })).status, 404);
    }
  }
});

t.test("settings may come by themselves as well as under their name", async (t) => {
  const token = editor;
  const own = "m/layers/l/";
  const path = `${own}visualization/`;
  const simple = await api("PUT", path, { token, body: { type: 2, columnCode: "kind" } });
  t.equal(simple.status, 200, simple.text);
  t.equal(simple.json.visualSettings.type, 2);
  const custom = await api("PUT", path, { token, body: { type: "plug-in", settings: { a: 1 } } });
  t.equal(custom.json.visualCustomSettings.type, "plug-in");
  const vector = await api("PUT", `${own}vector/`, { token, body: { minZoom: 3 } });
  t.equal(vector.json.vectorSettings.minZoom, 3);
  for (const [name, body] of [
    ["visualization/", {}],
    ["vector/", {}],
    ["vector/", { other: 1 }],
  ] as const) {
    const answer = await api("PUT", own + name, { token, body });
    t.equal(answer.json.code, "required_parameters");
  }
  t.equal((await api("PUT", path, { token, body: [] })).status, 400);
});

t.test("a dry run answers what would be, with classes by borders of one's own", async (t) => {
  await put({ type: 8 });
  await sql.query(`insert into layers.l${layer.id} (c${columns.size}) values (1), (2), (3), (40), (50)`);
  await server.nodes[0]!.services.changes.propagate();
  const tried = (settings: object, dry = "?dry_run=1") =>
    api("PUT", `m/layers/l/visualization/${dry}`, { token: editor, body: { visualSettings: settings } });
  const thematic = (breaks: unknown, more: object = {}) => ({
    ...{ type: 1, columnCode: "size", ...more },
    classesSettings: { breaks },
  });
  const { json } = await tried(thematic([2, 10]));
  t.match(json, {
    style_mode: 3,
    visualSettings: {
      classesCount: 3,
      classesSettings: { breaks: [2, 10], borders: [1, 2, 10, 50], counts: [2, 1, 2] },
    },
  });
  t.match(await get(), { visualSettings: { type: 8 } }, "nothing is saved");
  const saved = (await tried(json.visualSettings, "")).json.visualSettings;
  t.match(
    saved.classesSettings,
    { borders: [1, 2, 10, 50], counts: [2, 1, 2] },
    "what was answered can be sent",
  );
  const beyond = (await tried(thematic([-5, 100]))).json.visualSettings.classesSettings;
  t.same(
    [beyond.borders, beyond.counts],
    [
      [-5, -5, 100, 100],
      [0, 5, 0],
    ],
    "they stay, whatever the values are",
  );
  const other = (await tried({ ...saved, classesCount: 2 })).json.visualSettings;
  t.equal(other.classesCount, 2, "with another number of classes they do not count");
  t.notOk("breaks" in other.classesSettings);
  t.equal(other.classesSettings.borders.length, 3);
  for (const wrong of [
    [],
    [2, 1],
    [1, 1],
    ["1"],
    [Number.MAX_VALUE],
    Array.from({ length: 1_000 }, (_, at) => at),
  ])
    t.match(
      await tried(thematic(wrong)),
      { status: 500, json: { code: "invalid_value" } },
      JSON.stringify(wrong).slice(0, 40),
    );
  t.match(await put({ type: 8 }, viewer), { status: 403 });
  const { status } = await api("PUT", "m/layers/l/visualization/?dry_run=1", {
    token: viewer,
    body: { type: 8 },
  });
  t.equal(status, 403);
});

import t from "tap";
import { settingsForOther } from "../../src/viewer/browser/console/visual/other-layer.js";
import {
  bordersOf,
  borderWidth,
  classedBy,
  columnsFor,
  hasOwnBorders,
  isVisual,
  kinds,
  lacksColumn,
  numberOf,
  ofKind,
  pointSize,
  scaleOf,
  signatureOf,
  spread,
  step,
  type Visual,
  valueNear,
  withBorder,
  withBorderLine,
  withChartColumn,
  withColumn,
  withPalette,
  withPointSize,
} from "../../src/viewer/browser/console/visual/settings.js";

/** Settings of visualizations as the form of the console changes them. */

const columns = [
  { id: 1, code: "name", name: "Name", type: "string" },
  { id: 2, code: "people", name: "", type: "number" },
  { id: 3, code: "since", name: "Since", type: "datetime" },
  { id: 4, code: "homes", name: "Homes", type: "number" },
];
const [, people, since] = columns as [unknown, (typeof columns)[number], (typeof columns)[number]];

t.test("what a browser has stored is shown if the form has a place for it", (t) => {
  for (const visual of [
    ...Object.values(kinds).map((type) => ({ type })),
    { type: 1, columnCode: "people", classesSettings: { borders: [0, "2026-01-01", 9] }, more: null },
    { type: 2, classesSettings: { classes: [{ value: "a", color: "#000000" }], defaultClass: null } },
    { type: 4, classesSettings: { columns: [{ code: "people", color: "#000000" }] } },
    { type: 8, classesSettings: null },
  ])
    t.equal(isVisual(visual), true, JSON.stringify(visual));
  for (const other of [
    ...[null, 1, "text", [], {}, { type: 99 }, { type: "1" }],
    { type: 1, classesSettings: { borders: "0,9" } },
    { type: 2, classesSettings: { classes: 5 } },
    { type: 2, classesSettings: { classes: [null] } },
    { type: 4, classesSettings: { columns: {} } },
  ])
    t.equal(isVisual(other), false, JSON.stringify(other));
  t.end();
});

t.test("numbers that name objects come last", (t) => {
  const codes = ["osm_id", "OBJECTID", "objectId", "id", "Zip_Code", "lat", "idle", "people", "grid"];
  const table = codes.map((code, id) => ({ id, code, name: "", type: "number" }));
  t.match(ofKind(kinds.colours, [...table.slice(0, 6), ...columns]), { columnCode: "people" });
  t.match(ofKind(kinds.colours, table), { columnCode: "idle" });
  t.match(ofKind(kinds.bubbles, table.slice(0, 3)), { columnCode: "osm_id" }, "where there is nothing else");
  t.match(ofKind(kinds.pies, table).classesSettings?.columns, [
    { code: "idle" },
    { code: "people" },
    { code: "grid" },
  ]);
  t.end();
});

t.test("a kind is built from a column that suits it", (t) => {
  t.match(ofKind(kinds.colours, columns), { columnCode: "people", legendName: "people" });
  t.match(ofKind(kinds.categories, columns), { columnCode: "name" });
  const byHomes = withColumn(ofKind(kinds.colours, columns), columns[3]!);
  t.match(ofKind(kinds.bubbles, columns, byHomes), { type: 3, columnCode: "homes" }, "it stays");
  t.match(ofKind(kinds.categories, columns, byHomes), { columnCode: "name" }, "numbers name nothing");
  t.same(ofKind(kinds.heat, columns), { type: 7 });
  t.equal(ofKind(kinds.pies, columns, byHomes).legendName, undefined, "of several columns none is the title");
  t.same(
    columnsFor(kinds.pies, columns).map(({ code }) => code),
    ["people", "homes"],
  );
  t.equal(lacksColumn(kinds.bars, columns.slice(0, 1)), true);
  t.equal(lacksColumn(kinds.clusters, []), false);
  t.end();
});

const answered: Visual = {
  ...{ id: 9, type: 1, column: 2, columnCode: "people", algorithm: 2, classesCount: 3, legendName: "people" },
  showValues: true,
  classesSettings: {
    minColor: "#000000",
    diverging: false,
    borders: [0, 10, 20, 90],
    counts: [5, 5, 4],
    opacity: 0.5,
  },
};

t.test("what the form does not show stays, and what was said of other values goes", (t) => {
  const other = withColumn(answered, since);
  t.match(other, {
    columnCode: "since",
    legendName: "Since",
    showValues: true,
    classesSettings: { opacity: 0.5 },
  });
  t.notOk("algorithm" in other || "column" in other);
  const painted = withPalette(answered, "YlOrRd");
  t.notOk("minColor" in painted.classesSettings!, "colours of its own would count more than a palette");
  t.match(painted.classesSettings, { palette: "YlOrRd", opacity: 0.5 });
  t.end();
});

t.test("sizes and outlines are set, and the rest of their settings stays", (t) => {
  t.equal(pointSize({ type: 1 }), 10);
  t.equal(pointSize({ type: 1, pointSettings: { size: 7, sizeEnabled: false } }), 10, "it is not used");
  const larger = withPointSize({ type: 1, pointSettings: { allowOverlap: true } }, 20);
  t.same(larger.pointSettings, { allowOverlap: true, size: 20, sizeEnabled: true });
  t.equal(pointSize(larger), 20);
  const lined = withBorderLine(
    { type: 1, showBorder: false, borderSettings: { color: "#000000", width: 2 } },
    3,
  );
  t.match(lined, { showBorder: true, borderSettings: { color: "#000000", width: 3 } });
  t.equal(borderWidth(lined), 3);
  t.equal(borderWidth(withBorderLine(lined, 0)), 0);
  t.end();
});

t.test("a border is moved between its neighbours", (t) => {
  const moved = withBorder(answered, 1, 15);
  t.same(moved.classesSettings!.breaks, [15, 20]);
  t.same(bordersOf(moved), [0, 15, 20, 90]);
  t.equal(hasOwnBorders(moved), true);
  t.equal(withBorder(answered, 1, 20), answered, "not onto the next one");
  t.equal(withBorder(answered, 1, 0), answered, "nor onto the one before");
  t.equal(
    hasOwnBorders(classedBy(moved, { classesCount: 4 })),
    false,
    "they go with another number of classes",
  );
  t.equal(hasOwnBorders(classedBy(moved, { algorithm: 1 })), false);
  const times: Visual = {
    ...answered,
    classesSettings: { borders: ["2024-01-01T00:00:00Z", "2024-01-02T00:00:00Z"] },
  };
  t.same(bordersOf(times), [1_704_067_200, 1_704_153_600]);
  t.end();
});

t.test("charts keep a column", (t) => {
  const one = ofKind(kinds.pies, columns.slice(0, 2));
  t.equal(withChartColumn(one, "people", false), one);
  const two = withChartColumn(one, "homes", true);
  t.equal(new Set((two.classesSettings!.columns as { color: string }[]).map(({ color }) => color)).size, 2);
  t.match(withChartColumn(two, people.code, false).classesSettings, { columns: [{ code: "homes" }] });
  t.end();
});

t.test("values are spread evenly, or by magnitude where most are small", (t) => {
  const even = scaleOf([0, 5, 10], 0, 10);
  t.equal(even.placeOf(5), 0.5);
  t.same(spread([0, 1, 5, 10], even, 2), [2, 2]);
  const skewed = scaleOf([0, 1, 2, 3, 1_000_000], 0, 1_000_000);
  for (const value of [0, 1, 17, 1_000_000])
    t.ok(Math.abs(skewed.valueAt(skewed.placeOf(value)) - value) < 1e-6 * Math.max(1, value), `${value}`);
  t.ok(skewed.placeOf(2) > 0.05, "they can be told apart");
  for (const value of [1, 1_200, 999_000]) {
    const place = skewed.placeOf(value);
    t.ok(
      valueNear(skewed, place + step) > value,
      "a step of an arrow key goes on, however small the value is",
    );
    t.ok(valueNear(skewed, place - step) < value);
  }
  t.same(spread([7, 7], scaleOf([7, 7], 7, 7), 3), [2, 0, 0], "of one value");
  t.ok(Number.isNaN(numberOf(null)));
  t.equal(numberOf("1970-01-02T00:00:00Z"), 86_400);
  t.end();
});

t.test("the same settings of other values are the same", (t) => {
  const later = {
    ...answered,
    classesSettings: { ...answered.classesSettings, counts: [1], borders: [0, 1] },
  };
  t.equal(signatureOf(later), signatureOf(answered));
  t.not(signatureOf({ ...answered, classesCount: 4 }), signatureOf(answered));
  const { type, ...rest } = answered;
  t.equal(signatureOf({ ...rest, type }), signatureOf(answered), "in another order");
  t.equal(signatureOf(undefined), "");
  t.end();
});

t.test("settings for another layer have its columns, or say which it lacks", (t) => {
  const column = (id: number, code: string) => ({ id, code, name: code, type: "number" });
  const own = [column(1, "people"), column(2, "homes")];
  const heat = { type: 7, classesSettings: { useWeightField: 2, markerSizeField: 9 } };
  t.same(settingsForOther(heat, own, [column(12, "homes")]), {
    settings: { type: 7, classesSettings: { useWeightField: 12, markerSizeField: 9 }, showText: false },
    missing: [],
  });
  const bars = {
    type: 5,
    column: 1,
    columnCode: "people",
    classesSettings: {
      columns: [
        { id: 1, code: "people", color: "#111111" },
        { id: 2, code: "homes", color: "#222222" },
      ],
      sizeColumn: 2,
      sizeColumnCode: "homes",
    },
    showText: true,
    textSettings: { column: "name", fontSize: 9 },
  };
  t.same(settingsForOther(bars, own, [column(11, "people"), column(12, "homes")]), {
    settings: {
      type: 5,
      columnCode: "people",
      classesSettings: {
        columns: [
          { code: "people", color: "#111111" },
          { code: "homes", color: "#222222" },
        ],
        sizeColumnCode: "homes",
      },
      showText: false,
      textSettings: { fontSize: 9, column: null },
    },
    missing: ["name"],
  });
  t.same(settingsForOther(bars, own, [column(11, "people"), column(13, "name")]), {
    settings: undefined,
    missing: ["homes"],
  });
  t.end();
});

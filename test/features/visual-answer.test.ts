import t from "tap";
import type { LayerNode } from "../../src/catalog/state.js";
import { answerQuestion } from "../../src/features/visual-answer.js";
import { questionOf } from "../../src/visual/kinds.js";
import { readSettings } from "../../src/visual/settings.js";
import type { VisualValues } from "../../src/visual/values.js";
import { makeFeatures } from "./support.js";

/** What visualizations show of a layer's objects, against values worked out by hand. */

const features = await makeFeatures([
  { code: "n", type: "number" },
  { code: "other", type: "number" },
  { code: "kind", type: "string" },
  { code: "born", type: "datetime" },
  { code: "open", type: "bool" },
  { code: "tags", type: "json" },
  { code: "files", type: "file" },
  { code: "label", type: "string", localized: true },
  { code: "rank", type: "number", localized: true },
]);
t.teardown(() => features.close());
const { db, layer, table, physical } = features;
const languages = { own: "ru", main: "ru" };

async function fill(rows: readonly Readonly<Record<string, unknown>>[]): Promise<void> {
  await db.execute(`truncate ${table}`);
  for (const row of rows) {
    const codes = Object.keys(row);
    const names = codes.map(physical).join(",");
    const values = codes.map((code) => {
      const value = row[code];
      if (code === "files") return `{${value}}`;
      return value !== null && typeof value === "object" ? JSON.stringify(value) : value;
    });
    const places = codes.map((_, i) => `$${i + 1}`).join(",");
    await db.execute(
      codes.length > 0
        ? `insert into ${table} (${names}) values (${places})`
        : `insert into ${table} default values`,
      values,
    );
  }
}

/** The values that answers of the API have. */
async function answer(visualSettings: object): Promise<Partial<VisualValues>> {
  const { breaks: _, range: __, axis: ___, density: ____, ...shown } = await computed(visualSettings);
  return shown;
}

async function computed(visualSettings: object): Promise<VisualValues> {
  const shown: LayerNode = {
    ...layer,
    visualSettings: readSettings(layer, "visualSettings", visualSettings),
  };
  const question = questionOf(shown);
  if (!question) throw new Error("Nothing is asked.");
  return answerQuestion(db, shown, question, languages);
}
const numbers = (code: string, values: readonly unknown[]) =>
  fill(values.map((value) => (value === null ? {} : { [code]: value })));
const thematic = (algorithm: number, classesCount: number, columnCode = "n") =>
  answer({ type: 1, columnCode, algorithm, classesCount });
const nothing = { min: null, max: null, borders: [], counts: [], others: 0 };

t.test("each algorithm finds its borders and counts the classes", async (t) => {
  await numbers("n", [1, 2, 3, 4, 5, 6, 7, 8, 9, 20, null, null]);
  t.same(await thematic(1, 4), {
    min: 1,
    max: 20,
    borders: [1, 5.75, 10.5, 15.25, 20],
    counts: [5, 4, 0, 1],
    others: 2,
  });
  t.match(await thematic(2, 5), { borders: [1, 2, 4, 6, 8, 20], counts: [2, 2, 2, 2, 2] });
  t.match(await thematic(2, 3), { borders: [1, 4, 7, 20], counts: [4, 3, 3] });
  t.match(await thematic(3, 2), { borders: [1, 10, 20], counts: [9, 1] });
  t.match(await thematic(3, 3), { borders: [1, 5, 9, 20], counts: [5, 4, 1] });
  t.match(await thematic(1, 1), { borders: [1, 20], counts: [10] });
  t.same((await answer({ type: 3, columnCode: "n", algorithm: 2, classesCount: 2 })).counts, [5, 5]);
});

t.test("a value on a border is counted below it", async (t) => {
  await numbers("n", [0, 5, 5, 10, -10]);
  t.match(await thematic(1, 4), { borders: [-10, -5, 0, 5, 10], counts: [1, 1, 2, 1] });
});

t.test("many equal values are one class", async (t) => {
  await numbers("n", [0, 0, 0, 0, 0, 0, 3, 5]);
  t.match(await thematic(2, 4), { borders: [0, 0, 5], counts: [6, 2] });
  t.match(await thematic(3, 3), { borders: [0, 0, 3, 5], counts: [6, 1, 1] });
});

t.test(
  "borders are round numbers where few objects are in another class by it, and are counted",
  async (t) => {
    await db.execute(`truncate ${table}`);
    await db.execute(
      `insert into ${table} (${physical("n")}) select round(exp(i * 0.0041)) from generate_series(1, 4000) i`,
    );
    for (const algorithm of [2, 3]) {
      const { borders, counts } = await thematic(algorithm, 5);
      t.ok(
        borders!.slice(1, -1).every((border) => Number(String(border).replace(/0+$/, "")) <= 99),
        `${borders}`,
      );
      const numbered = "unnest($1::float8[]) with ordinality u (upper, at)";
      const rows = await db.query<{ n: number }>(
        `select (select count(*) from ${table} where ${physical("n")} <= upper and (${physical("n")} > lower or at = 2)) as n
       from (select upper, lag(upper) over (order by at) as lower, at from ${numbered}) b where at > 1 order by at`,
        [borders],
      );
      t.same(
        counts,
        rows.map(({ n }) => n),
        "the counts are those of the round classes",
      );
      if (algorithm === 2) for (const count of counts!) t.ok(Math.abs(count - 800) <= 80, `${counts}`);
    }
    await numbers("n", [1.31, 1.38, 2.42, 2.44, 9.61, 9.73]);
    t.match(await thematic(2, 3), { borders: [1.31, 1.38, 2.5, 9.73], counts: [2, 2, 2] });
    await numbers("n", [3, 4, 7, 8, 30, 31]);
    t.match(await thematic(2, 3), { borders: [3, 4, 8, 31] }, "of integers they are integers");
  },
);

t.test("one value is one class, none are no classes", async (t) => {
  await numbers("n", [7, 7, 7, null]);
  for (const algorithm of [1, 2, 3])
    t.same(await thematic(algorithm, 5), {
      min: 7,
      max: 7,
      borders: [7, 7],
      counts: [3],
      others: 1,
    });
  for (const values of [[null, null], []]) {
    await numbers("n", values);
    for (const algorithm of [1, 2, 3])
      t.same(await thematic(algorithm, 5), { ...nothing, others: values.length });
  }
});

t.test("what is no finite number has no class", async (t) => {
  await numbers("n", [1, "NaN", "Infinity", "-Infinity", 3, 1e308, -1e308]);
  t.match(await thematic(1, 2), {
    min: -1e308,
    max: 1e308,
    borders: [-1e308, 0, 1e308],
    counts: [1, 3],
  });
  await numbers("n", ["NaN"]);
  t.same(await thematic(1, 2), { ...nothing, others: 1 });
});

t.test("classes of more values than natural breaks look at hold them all", async (t) => {
  await db.execute(`truncate ${table}`);
  await db.execute(
    `insert into ${table} (${physical("n")}) select case when i <= 9000 then i * 0.001 else 1000 + i end from generate_series(1, 10000) i`,
  );
  const { borders, counts } = await thematic(3, 2);
  t.same(counts, [9000, 1000]);
  t.same(borders, [0.001, 10, 11000]);
  t.same((await thematic(2, 4)).counts, [2500, 2500, 2500, 2500]);
});

t.test(
  "borders of dates are beginnings of years or months where few objects are in another class by it",
  async (t) => {
    await db.execute(`truncate ${table}`);
    await db.execute(
      `insert into ${table} (${physical("born")}) select '1945-02-15'::timestamptz + i * interval '97 days' from generate_series(0, 280) i`,
    );
    for (const algorithm of [1, 2, 3]) {
      const { borders, counts } = await thematic(algorithm, 5, "born");
      t.ok(
        borders!.slice(1, -1).every((border) => /-(01|07)-01T00:00:00Z$/.test(String(border))),
        `${borders}`,
      );
      t.equal(borders![0], "1945-02-15T00:00:00Z", "the ends are the values' own");
      t.equal(
        counts!.reduce((sum, count) => sum + count, 0),
        281,
      );
    }
  },
);

t.test("moments have borders in ISO 8601, localised values those of the main language", async (t) => {
  await numbers("born", ["2020-01-01T00:00:00Z", "2020-01-03T00:00:00Z", "infinity", null]);
  t.same(await thematic(1, 2, "born"), {
    min: "2020-01-01T00:00:00Z",
    max: "2020-01-03T00:00:00Z",
    borders: ["2020-01-01T00:00:00Z", "2020-01-02T00:00:00Z", "2020-01-03T00:00:00Z"],
    counts: [1, 1],
    others: 2,
  });
  await numbers("rank", [{ ru: 1, en: 100 }, { en: 5 }, {}, null]);
  t.match(await thematic(1, 2, "rank"), { borders: [1, 3, 5], counts: [1, 1] });
  await numbers("kind", ["a", "b"]);
  await t.rejects(thematic(1, 2, "kind"), { code: "invalid_value" }, "texts have no borders");
  t.match(await thematic(1, 1, "svc_id"), { counts: [2] });
});

const categories = (columnCode: string, values: readonly unknown[]) =>
  answer({
    type: 2,
    columnCode,
    classesSettings: { classes: values.map((value) => (value === undefined ? {} : { value })) },
  });

t.test("categories count their objects, and the others", async (t) => {
  await numbers("kind", ["a", "a", "b", "A", "'; --", "", null]);
  t.same(await categories("kind", ["a", "b", "'; --", "none"]), {
    ...nothing,
    counts: [2, 1, 1, 0],
    others: 3,
  });
  t.match(await categories("kind", ["a", undefined, ""]), { counts: [2, 2, 0], others: 3 }, "no value");
  t.match(
    await categories("kind", ["a", "a"]),
    { counts: [2, 0], others: 5 },
    "the first of equal ones counts",
  );
  t.match(await categories("kind", []), { counts: [], others: 7 });
  await numbers("n", [7, 7, 0.1, null, "NaN"]);
  t.match(await categories("n", [7, "0.1", "many", true]), { counts: [2, 1, 0, 0], others: 2 });
  await numbers("open", [true, true, false, null]);
  t.match(await categories("open", [true, "false", 7, undefined]), { counts: [2, 1, 0, 1], others: 0 });
  await numbers("born", ["2020-01-01T00:00:00Z", null]);
  t.match(await categories("born", ["2020-01-01T03:00:00+03:00", "x"]), { counts: [1, 0], others: 1 });
  await numbers("label", [{ ru: "лес", en: "wood" }, { en: "wood" }, null]);
  t.match(await categories("label", ["лес", "wood"]), { counts: [1, 1], others: 1 });
  await numbers("rank", [{ ru: 7 }, { en: 8 }, null]);
  t.match(await categories("rank", [7, "8.0"]), { counts: [1, 1], others: 1 });
  await fill([{ tags: '"x"' }, { tags: "5" }, { files: "1,2" }]);
  t.match(await categories("tags", ["x", 5]), { counts: [1, 1], others: 1 });
  t.match(await categories("files", ["1,2"]), { counts: [1], others: 2 });
  await fill([]);
  t.match(await categories("kind", ["a"]), { counts: [0], others: 0 });
});

t.test("charts and heat maps have the limits of what their sizes follow", async (t) => {
  await fill([{ n: 1, other: 10 }, { n: 5 }, { n: 2, other: -4 }, {}]);
  const charts = (type: number, classesSettings: object) =>
    answer({ type, classesSettings: { columns: [{ code: "n" }, { code: "other" }], ...classesSettings } });
  t.match(await charts(4, { sizeType: 2 }), { min: -2, max: 11 });
  t.match(await charts(5, { sizeType: 3, sizeColumnCode: "other" }), { min: -4, max: 10 });
  t.match(await charts(5, {}), { min: -4, max: 10 });
  await t.rejects(charts(4, {}), "pies of one size have no limits");
  const id = layer.columns.find((column) => column.code === "n")!.id;
  t.match(await answer({ type: 7, classesSettings: { useWeight: true, useWeightField: id } }), {
    min: 1,
    max: 5,
  });
  await fill([]);
  t.same(await charts(5, {}), nothing);
});

t.test("heat maps of objects without a place have no density", async (t) => {
  await fill([{ n: 1 }, {}]);
  t.same((await computed({ type: 7 })).density, []);
});

t.test("the density of heat maps: the middle and a dense square of each zoom, in steps", async (t) => {
  await fill([{ n: 4 }, { n: 4 }, { n: 1 }, { n: 0 }]);
  await db.execute(`update ${table} set geom = st_setsrid(st_makepoint(9 * least(n, 2), 0), 4326)
    from (select svc_id, row_number() over (order by svc_id) as n from ${table}) each_one where each_one.svc_id = ${table}.svc_id`);
  const density = async (classesSettings: object) => (await computed({ type: 7, classesSettings })).density;
  const id = layer.columns.find(({ code }) => code === "n")!.id;
  const counted = await density({});
  t.match(counted[0], { usual: 4, dense: 4 }, "all in one");
  t.match(counted.at(-1), { usual: 1 });
  t.ok(Math.abs(counted.at(-1)!.dense - 3) < 0.3);
  const weighed = await density({ useWeight: true, useWeightField: id });
  t.match(weighed.at(-1), { usual: 4 });
  t.ok(Math.abs(weighed.at(-1)!.dense - 5) < 0.7);
});

t.test("tiles get borders and ranges as numbers, of charts that of what they show too", async (t) => {
  await fill([{ born: "2020-01-01T00:00:00Z" }, { born: "2020-01-03T00:00:00Z" }]);
  const { breaks, range } = await computed({ type: 1, columnCode: "born", classesCount: 1 });
  t.same(breaks, [1577836800, 1578009600]);
  t.same(range, breaks);
  await fill([{ n: 1, other: -5 }, { n: 3 }]);
  const bars = { columns: [{ code: "n" }, { code: "other" }], sizeType: 2 };
  t.match(await computed({ type: 5, classesSettings: bars }), { range: [-4, 3], axis: [-5, 3] });
});

import t from "tap";
import { makeMap, makeStyledLayer } from "../support/maps.js";
import { startServer } from "../support/server.js";

/** What a visualization is where its request leaves it to the server, and what answers and legends tell of it. */

const server = await startServer();
t.teardown(() => server.stop());
const { api } = server;
const token = await server.token("editor");
await makeMap(server, "m");
await makeStyledLayer(server, "m", "l", "#a { marker-width: 3; }");
const column = (code: string, rest: object = {}) =>
  api("POST", "m/layers/l/structure/", { token, body: { code, type: "number", ...rest } });
await column("people", { name: { en: "People", ru: "Жители" }, localized_name: true });
await column("year");
await column("growth");
await column("price", { format: { kind: "number", decimals: 2, suffix: " €" } });
const objects = Array.from({ length: 60 }, (_, at) => ({
  op: "create",
  fields:
    at < 55
      ? { people: Math.round(900 * 1.2 ** at), year: 1950 + at, price: at / 7, growth: (at - 20) ** 3 / 100 }
      : {},
}));
await api("POST", "m/layers/l/objects/bulk/", { token, body: objects });

const show = async (visualSettings: object) =>
  (await api("PUT", "m/layers/l/visualization/", { token, body: { visualSettings } })).json.visualSettings;
const legend = async (query = "") => (await api("GET", `m/layers/l/legend/${query}`)).json;

t.test("without an algorithm it is the one that suits the values, and answers tell it", async (t) => {
  const skewed = await show({ type: 1, columnCode: "people" });
  t.equal(skewed.algorithm, 2);
  t.same(skewed.classesSettings.counts, [11, 11, 11, 11, 11]);
  t.match((await api("GET", "m/layers/l/")).json.visualSettings, { algorithm: 2 });
  const even = await show({ type: 1, columnCode: "year", algorithm: null });
  t.equal(even.algorithm, 1, "null is absent");
  t.same(even.classesSettings.borders, [1950, 1961, 1972, 1982, 1993, 2004]);
  t.equal((await show({ type: 1, columnCode: "people", algorithm: 1 })).algorithm, 1, "what is given stays");
  t.equal((await show({ type: 7 })).algorithm, 1, "other kinds have that of the contract");
});

t.test("where values change their sign 0 is a border, and colours turn there", async (t) => {
  const shown = await show({ type: 1, columnCode: "growth" });
  t.equal(shown.algorithm, 2);
  const { borders, counts, diverging } = shown.classesSettings;
  t.ok(diverging);
  t.equal(borders.indexOf(0), 2, `${borders}`);
  t.equal(counts[0] + counts[1], 21, "what is 0 is in the class up to 0");
  const colours = (await legend()).classificators.map(({ fill }: { fill: string }) => fill);
  t.same(colours, ["#c9626f", "#e0adb3", "#b0c7de", "#6896c5", "#2166ac"], "pale near 0 on both sides");
  t.same((await show(shown)).classesSettings, shown.classesSettings, "what was given back can be sent again");
  t.match(await show({ type: 1, columnCode: "growth", algorithm: 3 }), {
    algorithm: 3,
    classesSettings: { diverging: true },
  });
  const own = await show({ type: 1, columnCode: "growth", classesSettings: { maxColor: "#00ff00" } });
  t.match(own.classesSettings, { diverging: false, minColor: "#a1dab4" }, "own colours stay");
  const even = await show({ type: 1, columnCode: "growth", algorithm: 1 });
  t.match(even, { algorithm: 1, classesSettings: { diverging: false } }, "equal intervals stay equal");
  t.match((await show({ type: 1, columnCode: "people" })).classesSettings, { diverging: false });
});

t.test("a palette of ColorBrewer by its name gives the colours, one for each class", async (t) => {
  const fills = async () => (await legend()).classificators.map(({ fill }: { fill: string }) => fill);
  const paint = (classesSettings: object, rest: object = {}) =>
    show({ type: 1, columnCode: "people", algorithm: 2, ...rest, classesSettings });
  const shown = await paint({ palette: "YlOrRd" });
  t.match(shown.classesSettings, {
    palette: "YlOrRd",
    ...{ minColor: "#ffffcc", midColor: "#fd8d3c", maxColor: "#800026", diverging: false },
  });
  t.same(await fills(), ["#ffffb2", "#fecc5c", "#fd8d3c", "#f03b20", "#bd0026"]);
  t.same((await show(shown)).classesSettings, shown.classesSettings, "an answer can be sent again");
  const three = { ...shown, classesCount: 3 };
  await show(three);
  t.same(await fills(), ["#ffeda0", "#feb24c", "#f03b20"], "other classes have other colours");
  await paint({ palette: "Blues" }, { classesCount: 2 });
  t.same(await fills(), ["#deebf7", "#3182bd"], "fewer have those of the smallest");
  await paint({ palette: "Blues" }, { classesCount: 12 });
  const many = await fills();
  t.equal(new Set(many).size, many.length, "more have colours between those of the largest");
  t.match([many[0], many.at(-1)], ["#f7fbff", "#08306b"]);
  const own = await paint({ ...shown.classesSettings, maxColor: "#00ff00" });
  t.match(own.classesSettings, { palette: undefined, minColor: "#ffffcc", maxColor: "#00ff00" });
  t.notOk("palette" in own.classesSettings, "colours of the request count");
  t.equal((await fills()).at(-1), "#00ff00");
  t.notOk("palette" in (await paint({})).classesSettings, "without one answers are those of the contract");
});

t.test("a palette that is pale in the middle turns at 0", async (t) => {
  const ofGrowth = (palette: string, rest: object = {}) =>
    show({ type: 1, columnCode: "growth", ...rest, classesSettings: { palette } });
  const shown = await ofGrowth("PuOr");
  t.match(shown.classesSettings, { palette: "PuOr", diverging: true, midColor: "#f7f7f7" });
  const colours = (await legend()).classificators.map(({ fill }: { fill: string }) => fill);
  t.same(colours, ["#f1a340", "#fee0b6", "#d8daeb", "#998ec3", "#542788"], "of seven, without the middle");
  t.same((await show(shown)).classesSettings, shown.classesSettings);
  t.match((await ofGrowth("Blues")).classesSettings, { diverging: false });
  t.match((await ofGrowth("PuOr", { algorithm: 1 })).classesSettings, { diverging: false });
});

t.test("a palette that there is not is refused, with the name that may be meant", async (t) => {
  const tryPalette = (palette: unknown) =>
    api("PUT", "m/layers/l/visualization/", {
      token,
      body: { visualSettings: { type: 1, columnCode: "people", classesSettings: { palette } } },
    });
  const reason = async (palette: unknown) => {
    const { json } = await tryPalette(palette);
    t.match(json, { code: "invalid_value", data: { parameter: "visualSettings.classesSettings" } });
    return json.data.fields.palette;
  };
  t.equal(
    await reason("ylorrd"),
    "It must be the name of a palette, and there is no ylorrd; did you mean YlOrRd?",
  );
  t.match(
    await reason("Viridis"),
    /^It must be the name of a palette, and there is no Viridis; those of ColorBrewer are Blues, /,
  );
  t.equal(await reason(7), "It must be the name of a palette of ColorBrewer, such as YlOrRd");
  for (const wrong of ["constructor", "", "x".repeat(10_000)])
    t.match(
      await reason(wrong),
      /^It must be the name of a palette, and there is no .{0,120}; those of ColorBrewer are /,
      `${wrong}`.slice(0, 20),
    );
  t.equal((await tryPalette(null)).status, 200, "null is absent");
});

t.test("objects without a value are counted, and have a line of the extended legend", async (t) => {
  const { classesSettings } = await show({ type: 1, columnCode: "people" });
  t.same(classesSettings.noData, { count: 5, checked: true, color: "#d0d0d0", hatched: true });
  t.equal((await legend()).classificators.length, 5, "clients of the contract see the classes");
  const { classificators } = await legend("?extended=1");
  t.match(classificators[5], { value: null, fill: "#d0d0d0", isNoData: true, text: null });
  t.equal((await fetch(server.url + classificators[5].icon)).status, 200);
  const noDataOf = async (noData: object) =>
    (await show({ type: 1, columnCode: "people", classesSettings: { noData } })).classesSettings.noData;
  t.match(await noDataOf({ color: "#d0d0d0" }), { hatched: false }, "a colour of the request counts");
  t.match(await noDataOf(classesSettings.noData), { hatched: true }, "what is answered can be sent back");
  t.match(await noDataOf({ ...classesSettings.noData, color: "#abcdef" }), {
    color: "#abcdef",
    hatched: false,
  });
  await show({ type: 1, columnCode: "people", classesSettings: { noData: { checked: false } } });
  t.equal((await legend("?extended=1")).classificators.length, 5);
});

t.test("a legend has the column's title, and its numbers in the reader's language", async (t) => {
  await show({ type: 1, columnCode: "people", classesCount: 2 });
  const english = await legend("?extended=1&lng=en");
  t.match(english, {
    title: "People",
    classificators: [{ text: "900 – 150,000" }, { text: /^> 150,000 – [\d,]+$/ }, {}],
  });
  const russian = await legend("?extended=1&lng=ru");
  t.match(russian, { title: "Жители", classificators: [{ text: "900 – 150\u00a0000" }, {}, {}] });
  await show({ type: 1, columnCode: "people", legendName: "Inhabitants" });
  t.equal((await legend("?extended=1")).title, "Inhabitants");
  await show({ type: 1, columnCode: "people", legendName: "Inhabitants", showLegendName: false });
  t.equal((await legend("?extended=1")).title, "");
  await show({ type: 1, columnCode: "price", classesCount: 2 });
  t.equal((await legend("?extended=1&lng=en")).classificators[0].text, "0.00 € – 3.80 €");
});

t.test("bounds tell which class has them, with a minus and the same decimals", async (t) => {
  const { classesSettings } = await show({ type: 1, columnCode: "growth", classesCount: 3 });
  const [, lower] = classesSettings.borders;
  t.equal(lower, 0);
  const texts = async (language: string) =>
    (await legend(`?extended=1&lng=${language}`)).classificators.map(({ text }: { text: string }) => text);
  const [first, second, third] = await texts("en");
  t.equal(first, "−80 to 0");
  t.match(second, /^> 0 to \d+$/);
  t.match(third, /^> \d+ to 394$/);
  t.equal((await texts("ru"))[0], "−80 до 0");
  await show({ type: 3, columnCode: "growth", algorithm: 1, classesCount: 2 });
  t.match((await texts("en"))[1], /^> \d+ to \d+$/, "sizes by class, too");
});

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

t.test("objects without a value are counted, and have a line of the extended legend", async (t) => {
  const { classesSettings } = await show({ type: 1, columnCode: "people" });
  t.same(classesSettings.noData, { count: 5, checked: true, color: "#d0d0d0" });
  t.equal((await legend()).classificators.length, 5, "clients of the contract see the classes");
  const { classificators } = await legend("?extended=1");
  t.match(classificators[5], { value: null, fill: "#d0d0d0", isNoData: true, text: null });
  t.equal((await fetch(server.url + classificators[5].icon)).status, 200);
  await show({ type: 1, columnCode: "people", classesSettings: { noData: { checked: false } } });
  t.equal((await legend("?extended=1")).classificators.length, 5);
});

t.test("a legend has the column's title, and its numbers in the reader's language", async (t) => {
  await show({ type: 1, columnCode: "people", classesCount: 2 });
  const english = await legend("?extended=1&lng=en");
  t.match(english, { title: "People", classificators: [{ text: "900 – 150,000" }, {}, {}] });
  const russian = await legend("?extended=1&lng=ru");
  t.match(russian, { title: "Жители", classificators: [{ text: "900 – 150\u00a0000" }, {}, {}] });
  await show({ type: 1, columnCode: "people", legendName: "Inhabitants" });
  t.equal((await legend("?extended=1")).title, "Inhabitants");
  await show({ type: 1, columnCode: "people", legendName: "Inhabitants", showLegendName: false });
  t.equal((await legend("?extended=1")).title, "");
  await show({ type: 1, columnCode: "price", classesCount: 2 });
  t.equal((await legend("?extended=1&lng=en")).classificators[0].text, "0.00 € – 3.80 €");
});

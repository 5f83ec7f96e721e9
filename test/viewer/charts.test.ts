import t from "tap";
import { barsOf } from "../../src/viewer/browser/tools/chart-data.js";
import { startServer } from "../support/server.js";
import { makeTown, openPage, soon, startBrowser } from "./support.js";

/** Charts of the values of a column, over the real server. */

const counts = (type: string, values: readonly unknown[]) =>
  barsOf(type, values).map(({ condition, count }) => [condition, count]);

t.test("categories are counted, the most frequent first, the rare ones together", (t) => {
  t.same(counts("string", ["a", "b", "b", null, ""]), [
    ["=b", 2],
    ["=a", 1],
    ["=", 2],
  ]);
  const many = Array.from({ length: 30 }, (_, n) => Array.from({ length: n + 1 }, () => `v${n}`)).flat();
  const bars = barsOf("text", many);
  t.equal(bars.length, 21);
  t.same(bars.at(-1), { value: undefined, count: 55, condition: undefined });
  t.same(counts("bool", [true, false, true, null]), [
    ["true", 2],
    ["false", 1],
    ["empty", 1],
  ]);
  t.same(counts("string", []), []);
  t.end();
});

t.test("numbers lie in round intervals, few different ones are categories", (t) => {
  t.same(counts("number", [3, 1, 3]), [
    ["1", 1],
    ["3", 2],
  ]);
  const bars = barsOf(
    "number",
    Array.from({ length: 1_000 }, (_, n) => n / 10),
  );
  t.equal(bars.length, 10);
  t.equal(bars[0]!.condition, "0..<10");
  t.ok(bars.every(({ count }) => count === 100));
  for (const values of [
    Array.from({ length: 20 }, (_, n) => n * 1e-7),
    Array.from({ length: 20 }, (_, n) => n * 1e15 - 1e16),
    Array.from({ length: 20 }, (_, n) => 1e9 + n),
  ]) {
    const found = barsOf("number", values);
    t.ok(found.length <= 23, `${found.length} bars`);
    t.equal(
      found.reduce((sum, { count }) => sum + count, 0),
      20,
    );
  }
  t.end();
});

t.test("times are counted by days, months, years or decades", (t) => {
  const at = (text: string) => `${text}T12:00:00Z`;
  t.same(counts("datetime", [at("2024-05-02"), at("2024-05-01"), at("2024-05-02")]), [
    ["2024-05-01", 1],
    ["2024-05-02", 2],
  ]);
  const days = Array.from({ length: 300 }, (_, n) => new Date(Date.UTC(2023, 0, 1 + n)).toISOString());
  t.equal(counts("datetime", days)[0]![0], "2023-01");
  const years = Array.from({ length: 30 }, (_, n) => [
    at(`${1990 + n}-01-01`),
    at(`${1990 + n}-07-01`),
  ]).flat();
  t.equal(counts("datetime", years)[0]![0], "1990");
  const centuries = Array.from({ length: 200 }, (_, n) => at(`${1800 + n}-01-01`));
  t.equal(counts("datetime", centuries)[0]![0], "1800..1809");
  t.end();
});

const server = await startServer();
t.teardown(() => server.stop());
await makeTown(server);
const browser = await startBrowser(t);

t.test("a chart counts what is in view, and a bar lists its objects", async (t) => {
  const { page, problems } = await openPage(browser, `${server.url}/#project=p&map=town&z=4&lat=10&lon=10`);
  await page.hover(".tree-row:has-text('parks')");
  await page.click("[aria-label='More for parks']");
  await page.click("text=Chart of what is in view");
  await page.waitForSelector(".chart-bar");
  await soon(t).ok(() => page.isChecked("#table-in-view"));
  await page.selectOption(".chart-column", "name");
  await page.waitForSelector(".chart-bar:has-text('Green park')");
  await soon(t).same(() => page.locator(".chart-label").allInnerTexts(), ["Far park", "Green park"]);
  await page.click(".chart-bar:has-text('Green park')");
  await page.waitForSelector(".table-count:text-is('1 object')");
  await soon(t).equal(() => page.inputValue("[aria-label='Filter Name']"), "=Green park");
  await page.waitForSelector(".chart-bar[aria-pressed=true]");
  await soon(t).equal(() => page.locator(".chart-bar").count(), 2, "the others can still be compared");
  await page.click(".chart-bar[aria-pressed=true]");
  await page.waitForSelector(".table-count:text-is('2 objects')");
  await page.click(".bottom-header [aria-pressed=true]");
  await soon(t).equal(() => page.locator(".chart").count(), 0);
  t.same(problems, []);
  await page.context().close();
});

import type { Page } from "playwright-core";
import t from "tap";
import { startServer } from "../support/server.js";
import { onRequests, openPage, soon, startBrowser } from "../viewer/support.js";
import { styleText } from "./style-source.support.js";
import { accessible, signIn } from "./support.js";

/** The style of one layer for others. */

const server = await startServer();
t.teardown(() => server.stop());
const browser = await startBrowser(t);
const token = await server.token("admin");

const css = (layer: string, colour: string) => `#${layer} { marker-fill: ${colour}; marker-width: 9; }`;
const columns = { people: 100, homes: 3, name: "A" };

/** @param layers their columns by code */
async function made(map: string, layers: Readonly<Record<string, object>>): Promise<void> {
  await server.api("POST", "", { token, body: { code: map } });
  for (const [code, properties] of Object.entries(layers)) {
    const body = { code, css_style: css(code, "#111111") };
    await server.api("POST", `${map}/layers/`, { token, body });
    const features = [1, 2, 3].map((x) => ({
      type: "Feature",
      properties: Object.fromEntries(
        Object.entries(properties).map(([name, value]) => [
          name,
          typeof value === "number" ? value * x : value,
        ]),
      ),
      geometry: { type: "Point", coordinates: [10 + x, 50] },
    }));
    await server.api("POST", `${map}/layers/${code}/import/`, {
      token,
      body: { type: "FeatureCollection", features },
    });
  }
}
async function opened(map: string, options: NonNullable<Parameters<typeof openPage>[2]> = {}) {
  const address = `${server.url}/console/#project=p&map=${map}`;
  const open = await openPage(browser, address, { waitForMap: false, ...options });
  await signIn(open.page, "admin");
  await open.page.locator(".tree-choose").first().waitFor({ state: "attached" });
  return open;
}
const layer = async (map: string, code: string) =>
  (await server.api("GET", `${map}/layers/${code}/`, { token })).json;
const patch = (map: string, code: string, css_style: string) =>
  server.api("PATCH", `${map}/layers/${code}/`, { token, body: { parent_id: 0, css_style } });
const row = (page: Page, name: string) => page.locator(`.tree-row:has(.tree-choose:text-is("${name}"))`);
const openMenu = async (page: Page, name: string) => {
  await row(page, name).locator(".tree-menu").focus();
  await page.keyboard.press("Enter");
  await page.waitForSelector(".popup-menu:popover-open");
};
const press = async (page: Page, name: string, entry: string) => {
  await openMenu(page, name);
  await page.click(`.popup-menu button:text-is("${entry}")`);
};
const toast = (page: Page, text: string) => page.waitForSelector(`.toast:has-text("${text}")`);

t.test("a style is copied and pasted by keys, and comes back by Undo", async (t) => {
  await made("pasted", { roads: columns, rails: columns });
  await patch("pasted", "roads", css("roads", "#ff0000"));
  const { page, problems } = await opened("pasted");
  await openMenu(page, "rails");
  t.equal(
    await page.locator(".popup-menu button:text-is('Paste style')").count(),
    0,
    "nothing is copied yet",
  );
  await page.keyboard.press("Escape");

  await openMenu(page, "roads");
  await page.keyboard.press("ArrowDown");
  t.equal(await page.evaluate("document.activeElement.textContent"), "Copy style");
  await page.keyboard.press("Enter");
  await toast(page, "The style of roads is copied");
  await openMenu(page, "rails");
  await accessible(t, page, "the menu with a copied style", ".popup-menu");
  await page.click(".popup-menu button:text-is('Paste style')");
  await toast(page, "rails looks like roads now.");
  t.equal((await layer("pasted", "rails")).css_style, css("rails", "#ff0000"), "under the name of the layer");
  await page.click(".toast button:has-text('Undo')");
  await soon(t).equal(async () => (await layer("pasted", "rails")).css_style, css("rails", "#111111"));
  t.same(problems, []);
  await page.context().close();
});

t.test("maps by values come along where the other layer has the columns; else it is said", async (t) => {
  await made("valued", { towns: columns, cities: { people: 5 }, stops: { name: "B" } });
  const classes = { minColor: "#ffffff", maxColor: "#000000" };
  const visualSettings = {
    ...{ type: 1, columnCode: "people", classesCount: 2, classesSettings: classes, legendName: "People" },
    ...{ showText: true, textSettings: { column: "name" } },
  };
  const saved = await server.api("PUT", "valued/layers/towns/visualization/", {
    token,
    body: { visualSettings },
  });
  t.equal(saved.status, 200, saved.text);
  const { page, problems } = await opened("valued");
  await press(page, "towns", "Copy style");
  await toast(page, "is copied");
  await press(page, "cities", "Paste style");
  await toast(page, "cities looks like towns now. cities has no column name for labels.");
  const cities = (await layer("valued", "cities")).visualSettings;
  t.match(cities, { type: 1, columnCode: "people", legendName: "People", showText: false });
  const { id } = (await server.api("GET", "valued/layers/cities/structure/", { token })).json.find(
    ({ code }: { code: string }) => code === "people",
  );
  t.equal(cities.column, id, "its own column");
  await page.locator(".toast:has-text('cities') button:has-text('Undo')").click();
  await soon(t).equal(async () => (await layer("valued", "cities")).visualSettings ?? null, null);

  await press(page, "stops", "Paste style");
  await toast(page, "stops has not got the columns that towns is drawn by (people)");
  t.equal((await layer("valued", "stops")).visualSettings ?? null, null);
  t.equal((await layer("valued", "stops")).css_style, css("stops", "#111111"));

  // A layer by values that gets a plain style loses them, and gets them back.
  await press(page, "stops", "Copy style");
  await toast(page, "The style of stops is copied");
  await press(page, "towns", "Paste style");
  await toast(page, "towns looks like stops now.");
  t.equal((await layer("valued", "towns")).visualSettings ?? null, null);
  await page.locator(".toast:has-text('towns looks like') button:has-text('Undo')").click();
  await soon(t).equal(
    async () => (await layer("valued", "towns")).visualSettings?.columnCode,
    "people",
    "it is drawn by its values again",
  );
  t.same(problems, []);
  await page.context().close();
});

t.test("what others have changed meanwhile is not replaced unasked", async (t) => {
  await made("met", { roads: columns, rails: columns });
  const { page } = await opened("met");
  await page.route(/\/met\/changes\//, (route) => route.abort());
  await page.reload();
  await page.waitForSelector(".tree-choose");
  await press(page, "roads", "Copy style");
  await toast(page, "is copied");
  const theirs = css("rails", "#00ff00");
  await patch("met", "rails", theirs);
  await press(page, "rails", "Paste style");
  await toast(page, "Somebody else has changed the style of rails meanwhile. It stays as it is.");
  t.equal((await layer("met", "rails")).css_style, theirs);
  await page.click(".toast button:has-text('Do it all the same')");
  await toast(page, "rails looks like roads now.");
  t.equal((await layer("met", "rails")).css_style, css("rails", "#111111"));

  const later = css("rails", "#0000ff");
  await patch("met", "rails", later);
  await page.locator(".toast:has-text('looks like') button:has-text('Undo')").click();
  await toast(page, "It stays as it is.");
  t.equal((await layer("met", "rails")).css_style, later, "neither by Undo");
  await page.context().close();
});

t.test(
  "a style is pasted in another map; what was not saved gives way, and comes back by Undo",
  async (t) => {
    await made("one", { roads: columns });
    await made("two", { paths: columns });
    await patch("one", "roads", css("roads", "#ff0000"));
    const { page, problems } = await opened("one", { viewport: { width: 360, height: 740 }, hasTouch: true });
    await page.click(".layers-header");
    await press(page, "roads", "Copy style");
    await toast(page, "is copied");
    await page.evaluate("location.hash = '#project=p&map=two'");
    await page.waitForSelector(".chooser-title:has-text('two')");
    await row(page, "paths").locator(".tree-choose").click();
    await page.click("#style-tab-text");
    const mine = css("paths", "#0000ff");
    await page.fill("#style-text-field", mine);
    await page.waitForSelector(".tree-draft", { state: "attached" });
    // It changes the layer after the panel of its style was closed, and the tree was read anew.
    await page.click(".style-panel [aria-label='Close']");
    await onRequests(page, "**/two/layers/?*type=full*", async (route) => {
      await page.waitForTimeout(50);
      await route.continue();
    });
    await press(page, "paths", "Paste style");
    await toast(page, "paths looks like roads now.");
    t.equal((await layer("two", "paths")).css_style, css("paths", "#ff0000"));
    t.equal(await page.locator(".tree-draft").count(), 0);
    await page.click(".toast button:has-text('Undo')");
    await page.waitForSelector(".tree-draft", { state: "attached" });
    t.equal((await layer("two", "paths")).css_style, css("paths", "#111111"));
    await row(page, "paths").locator(".tree-choose").click();
    await page.click("#style-tab-text");
    await soon(t).equal(() => styleText(page), mine);
    t.same(problems, []);
    await page.context().close();
  },
);

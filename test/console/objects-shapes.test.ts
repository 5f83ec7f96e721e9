import type { Page } from "playwright-core";
import t from "tap";
import { startServer } from "../support/server.js";
import { openPage, soon, startBrowser, until } from "../viewer/support.js";
import { accessible, area, signIn } from "./support.js";

/** Objects are split by a line that is drawn across them, and merged, in the console. */

const server = await startServer();
t.teardown(() => server.stop());
const browser = await startBrowser(t);
const token = await server.token("admin");
const api = (method: string, path: string, body?: unknown) => server.api(method, path, { token, body });

interface Found {
  readonly id: number;
  readonly fields: { readonly title: string };
  readonly geom: { readonly type: string; readonly coordinates: unknown };
}

async function made(map: string, ...names: readonly string[]): Promise<void> {
  await api("POST", "", { code: map });
  await api("POST", `${map}/layers/`, { code: "sites", name: "Sites" });
  await api("POST", `${map}/layers/sites/structure/`, { code: "title", type: "string" });
  for (const [at, title] of names.entries())
    await api("POST", `${map}/layers/sites/objects/`, { fields: { title }, geom: area(8 + 6 * at) });
}
const objects = async (map: string): Promise<readonly Found[]> =>
  (await api("GET", `${map}/layers/sites/objects/?fields=*&returnGeom=1`)).json;
const titles = async (map: string) => (await objects(map)).map(({ fields }) => fields.title).sort();

async function opened(map: string): Promise<Page> {
  const { page } = await openPage(browser, `${server.url}/console/#project=p&map=${map}`, {
    waitForMap: false,
  });
  await signIn(page, "admin");
  await page.waitForSelector(".tree-choose");
  await page.hover(".tree-row");
  await page.click(".tree-row [aria-haspopup], .tree-row .tree-menu");
  await page.click(".popup-menu button:has-text('Objects')");
  await page.waitForSelector(".bottom-panel .object-tools .button:enabled");
  return page;
}
const row = (page: Page, text: string) => page.locator(`.table-rows .table-row:has-text("${text}")`);
const checked = (page: Page) => page.locator(".table-rows .mark-cell input:checked").count();
const splitting = (page: Page) => page.locator(".object-editor button:text-is('Split')");

/** Where the object is on the page, when the map is at rest. */
async function markedBox(page: Page) {
  const box = () => page.locator(".mark").first().boundingBox();
  for (let before = await box(); ; ) {
    await until(page, "!document.querySelector('.leaflet-pan-anim, .leaflet-zoom-anim')");
    await page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))");
    const now = await box();
    if (before && now && before.x === now.x && before.y === now.y && before.width === now.width) return now;
    before = now;
  }
}

/** Draws a line from above the object, and ends it. @param at of its width and of its height, where the line ends */
async function drawAcross(page: Page, at: readonly [number, number]): Promise<void> {
  await splitting(page).click();
  await page.waitForSelector(".map.drawing");
  // The bar may lie over the place, where somebody would move the map first.
  await page.evaluate(`document.querySelector(".draw-bar").style.pointerEvents = "none"`);
  for (const [count, reach] of [-0.1, at[1]].entries()) {
    const { x, y, width, height } = await markedBox(page);
    const [right, down] = [x + at[0] * width, y + reach * height];
    const isMap = `document.querySelector(".map").contains(document.elementFromPoint(${right}, ${down}))`;
    await until(page, isMap);
    await page.mouse.click(right, down);
    await soon(t).equal(() => page.locator(".shape-dot").count(), count + 1);
  }
  await page.keyboard.press("Enter");
  await page.waitForSelector(".draw-bar", { state: "hidden" });
}

t.test("an object is split by a line, its pieces are shown and marked, and it is undone", async (t) => {
  await made("cut", "West", "East");
  const before = await objects("cut");
  const page = await opened("cut");
  await row(page, "West").click();
  await page.waitForSelector(".object-editor h2:text-is('West')");
  await accessible(t, page, "an object that can be split");
  await drawAcross(page, [0.25, 1.1]);
  await page.waitForSelector(
    ".toast:has-text('The object was split into 2 pieces.') button:has-text('Undo')",
  );
  t.same(await titles("cut"), ["East", "West", "West"]);
  await soon(t).equal(() => row(page, "West").count(), 2);
  await soon(t).equal(() => checked(page), 1);
  await soon(t).equal(() => splitting(page).isEnabled(), true);
  // What a toast offers is there for some seconds only.
  await page.click("[aria-label='Undo']");
  await soon(t).same(() => objects("cut"), before);
  await soon(t).equal(() => row(page, "West").count(), 1);
  await page.waitForSelector("[aria-label='Redo']:enabled");
  await page.click("[aria-label='Redo']");
  await soon(t).same(() => titles("cut"), ["East", "West", "West"]);
  await soon(t).equal(() => row(page, "West").count(), 2);

  // What is not saved would be lost in one of them.
  await page.locator("#object-field-title").fill("Not saved");
  t.equal(await splitting(page).isDisabled(), true);
  t.equal(await splitting(page).getAttribute("title"), "Save what is not saved first.");
  await page.locator(".object-editor button:text-is('Undo changes')").click();
  await soon(t).equal(() => splitting(page).isEnabled(), true);
  await page.context().close();
});

t.test("a line that cuts nothing changes nothing, and says so; one that is left is none", async (t) => {
  await made("uncut", "West", "East");
  const before = await objects("uncut");
  const page = await opened("uncut");
  await row(page, "West").click();
  await page.waitForSelector(".object-editor h2:text-is('West')");
  await drawAcross(page, [0.5, 0.5]);
  await page.waitForSelector(
    ".toast:has-text('The object was not split. The line does not cut the object.')",
  );
  await splitting(page).click();
  await page.waitForSelector(".map.drawing");
  await page.keyboard.press("Space");
  await row(page, "East").click();
  await page.waitForSelector(".object-editor h2:text-is('East')");
  await page.waitForSelector(".draw-bar", { state: "hidden" });
  t.same(await objects("uncut"), before);

  await splitting(page).click();
  await page.waitForSelector(".map.drawing");
  await page.keyboard.press("Escape");
  await page.waitForSelector(".draw-bar", { state: "hidden" });
  t.same(await objects("uncut"), before);
  await page.context().close();
});

t.test("those that are marked become one, which is chosen, and come back", async (t) => {
  await made("joined", "West", "Middle", "East");
  const before = await objects("joined");
  const page = await opened("joined");
  for (const name of ["West", "Middle", "East"]) await row(page, name).locator(".mark-cell").click();
  await row(page, "West").click();
  await page.waitForSelector(".object-editor h2:text-is('West')");
  const merging = page.locator("button:text-is('Merge 3')");
  await page.locator("#object-field-title").fill("Not saved");
  await soon(t).equal(() => merging.isDisabled(), true);
  await page.locator(".object-editor button:text-is('Undo changes')").click();
  await soon(t).equal(() => merging.isEnabled(), true);
  await accessible(t, page, "what is done with marked rows");
  const middleOf = (selector: string) =>
    page.$eval(selector, (element) => {
      const { top, bottom } = element.getBoundingClientRect();
      return (top + bottom) / 2;
    });
  const apart =
    (await middleOf(".bottom-header > [aria-label='Close']")) - (await middleOf(".bottom-header h2"));
  t.ok(Math.abs(apart) < 16, `the cross stays beside the title, however much is offered: ${apart}`);
  // Of a text in the colour of its ground axe says nothing.
  const [ink, ground] = await page.evaluate<[string, string]>(
    `(({ color, backgroundColor }) => [color, backgroundColor])(
      getComputedStyle(document.querySelector(".bottom-header .button.danger")))`,
  );
  t.not(ink, ground, "what deletes them can be read");
  await merging.click();
  await page.waitForSelector("#merge-kept");
  t.same(await page.locator("#merge-kept option").allTextContents(), ["West · 1", "Middle · 2", "East · 3"]);
  await accessible(t, page, "which object stays");
  await page.keyboard.press("Escape");
  await page.waitForSelector("#merge-kept", { state: "detached" });
  t.same(await objects("joined"), before);
  const focused = () =>
    page.evaluate<string>("document.activeElement.textContent || document.activeElement.ariaLabel");
  t.equal(await focused(), "Merge 3", "the focus is where it was");
  await merging.click();
  await page.locator("#merge-kept").selectOption("2");
  await page.click(".tool-dialog .button.main");
  await page.waitForSelector(".toast:has-text('3 objects were merged.') button:has-text('Undo')");
  t.match(await objects("joined"), [{ id: 2, fields: { title: "Middle" }, geom: { type: "MultiPolygon" } }]);
  await soon(t).equal(() => page.locator(".table-rows .table-row").count(), 1);
  await page.waitForSelector(".object-editor", { state: "hidden" });
  t.equal(
    await page.evaluate("document.activeElement === document.body"),
    false,
    "nor is it lost with its button",
  );
  await page.click("[aria-label='Undo']");
  await soon(t).same(() => objects("joined"), before);
  await soon(t).equal(() => page.locator(".table-rows .table-row").count(), 3);
  await page.context().close();
});

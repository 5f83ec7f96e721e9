import type { Page } from "playwright-core";
import t from "tap";
import { startServer } from "../support/server.js";
import { hold, openPage, soon, startBrowser } from "../viewer/support.js";
import { accessible, signIn } from "./support.js";

/** Several layers of the tree at once: selected, switched, moved, styled, deleted and brought back. */

const server = await startServer();
t.teardown(() => server.stop());
const browser = await startBrowser(t);
const token = await server.token("admin");

const css = (colour: string) => `#layer { polygon-fill: ${colour}; }`;

/** Makes a map with layers, and opens it. */
async function opened(
  map: string,
  codes: readonly string[],
  options: NonNullable<Parameters<typeof openPage>[2]> = {},
) {
  await server.api("POST", "", { token, body: { code: map } });
  for (const code of codes)
    await server.api("POST", `${map}/layers/`, { token, body: { code, css_style: css("#111111") } });
  const address = `${server.url}/console/#project=p&map=${map}`;
  const open = await openPage(browser, address, { waitForMap: false, ...options });
  await signIn(open.page, "admin");
  await open.page.locator(".tree-choose").first().waitFor({ state: "attached" });
  return open;
}
const nodes = async (map: string): Promise<Record<string, unknown>[]> =>
  (await server.api("GET", `${map}/layers/?type=full&returnCss=1`, { token })).json;
const codes = async (map: string) => (await nodes(map)).map(({ code }) => code);
const row = (page: Page, name: string) => page.locator(`.tree-row:has(.tree-choose:text-is("${name}"))`);
const choose = (page: Page, name: string) => row(page, name).locator(".tree-choose");
const names = (page: Page) => page.locator(".tree-choose").allTextContents();
const selected = (page: Page) => page.locator(".tree-row.selected .tree-choose").allTextContents();
const focused = (page: Page) => page.evaluate<string>("document.activeElement.textContent");

t.test("layers are selected by pointer, told, and moved together in their order", async (t) => {
  const { page, problems } = await opened("moved", ["a", "b", "c", "d", "e"]);
  await choose(page, "d").click({ modifiers: ["Control"] });
  await choose(page, "b").click({ modifiers: ["Control"] });
  t.same(await selected(page), ["b", "d"]);
  t.equal(await page.locator(".style-panel").isVisible(), false, "no style is opened");
  t.equal(await choose(page, "b").getAttribute("aria-description"), "selected");
  t.equal(await page.textContent(".selection-bar [role=status]"), "2 selected");
  await accessible(t, page, "a selection", ".layers");

  await row(page, "d").hover();
  const from = (await row(page, "d").locator(".tree-grip").boundingBox())!;
  const to = (await row(page, "a").boundingBox())!;
  await page.mouse.move(from.x + from.width / 2, from.y + from.height / 2);
  await page.mouse.down();
  await page.mouse.move(from.x + from.width / 2, to.y + to.height * 0.2, { steps: 4 });
  await page.mouse.up();
  await soon(t).same(() => codes("moved"), ["b", "d", "a", "c", "e"]);
  await soon(t).same(() => names(page), ["b", "d", "a", "c", "e"]);
  t.same(await selected(page), ["b", "d"], "they stay selected");

  await choose(page, "d").focus();
  await page.keyboard.press("Alt+ArrowDown");
  await soon(t).same(() => codes("moved"), ["a", "b", "d", "c", "e"]);
  await soon(t).same(() => names(page), ["a", "b", "d", "c", "e"]);
  await page.keyboard.press("Alt+ArrowUp");
  await page.keyboard.press("Alt+ArrowUp");
  await soon(t).same(() => names(page), ["b", "d", "a", "c", "e"], "what meets the top stays");

  await server.api("POST", "moved/folders/", { token, body: { code: "f", sort: 1 } });
  await soon(t).same(() => names(page), ["f", "b", "d", "a", "c", "e"]);
  const inner = () => page.locator(".tree-list .tree-list .tree-choose").allTextContents();
  await choose(page, "b").focus();
  await page.keyboard.press("Alt+ArrowRight");
  await soon(t).same(inner, ["b", "d"]);
  await choose(page, "b").focus();
  await page.keyboard.press("Alt+ArrowLeft");
  await soon(t).same(inner, []);
  t.same(await names(page), ["f", "b", "d", "a", "c", "e"]);

  await choose(page, "c").click();
  t.same(await selected(page), [], "a plain press is of one");
  await page.waitForSelector(".style-panel:not([hidden])");
  await choose(page, "a").click({ modifiers: ["Shift"] });
  t.same(await selected(page), ["a", "c"], "a range begins where one was");
  t.same(problems, []);
  await page.context().close();
});

t.test(
  "layers are selected by keys, switched, deleted by one question and brought back by one Undo",
  async (t) => {
    const { page, problems } = await opened("deleted", ["a", "b", "c", "d"]);
    await choose(page, "a").focus();
    await page.keyboard.press("ArrowDown");
    t.equal(await focused(page), "b");
    await page.keyboard.press("Shift+ArrowDown");
    t.same(await selected(page), ["b", "c"]);
    t.equal(await focused(page), "c");
    await page.keyboard.press("Shift+ArrowDown");
    await page.keyboard.press("Shift+ArrowUp");
    t.same(await selected(page), ["b", "c"], "a range also becomes shorter");
    await page.keyboard.press("ArrowUp");
    await page.keyboard.press("ArrowUp");
    await page.keyboard.press("Control+Space");
    t.same(await selected(page), ["a", "b", "c"]);
    await page.keyboard.press("Control+Space");
    t.same(await selected(page), ["b", "c"]);
    await page.keyboard.press("Control+a");
    t.same(await selected(page), ["a", "b", "c", "d"]);
    await page.keyboard.press("Escape");
    t.same(await selected(page), []);

    await choose(page, "b").focus();
    await page.keyboard.press("Shift+ArrowDown");
    await row(page, "c").locator("input").focus();
    await page.keyboard.press("Space");
    const on = async () =>
      (await page.locator(".tree-row input").all()).reduce<Promise<boolean[]>>(
        async (all, input) => [...(await all), await input.isChecked()],
        Promise.resolve([]),
      );
    t.same(await on(), [true, false, false, true], "both are switched");

    await choose(page, "c").focus();
    await page.keyboard.press("Delete");
    await page.waitForSelector("h2:has-text('Delete 2 entries?')");
    await page.waitForSelector(".tool-dialog:has-text('b, c. Layers are deleted with all of their objects')");
    await accessible(t, page, "the question", ".tool-dialog");
    await page.click(".tool-dialog .danger");
    await page.waitForSelector(".toast:has-text('2 entries were deleted.')");
    t.same(await codes("deleted"), ["a", "d"]);
    await soon(t).equal(() => focused(page), "d");
    t.equal(await page.locator(".selection-tools").isVisible(), false, "nothing is selected any more");
    await page.click(".toast button:has-text('Undo')");
    await soon(t).same(() => names(page), ["a", "b", "c", "d"]);
    t.same(problems, []);
    await page.context().close();
  },
);

t.test("a menu for all that is selected pastes a style; others may take some of them away", async (t) => {
  const { page, problems } = await opened("styled", ["a", "b", "c", "d"]);
  await server.api("PATCH", "styled/layers/a/", { token, body: { parent_id: 0, css_style: css("#ff0000") } });
  await soon(t).equal(async () => (await nodes("styled"))[0]?.css_style, css("#ff0000"));
  await page.reload();
  await row(page, "a").locator(".tree-menu").click();
  await page.click(".popup-menu button:text-is('Copy style')");
  await choose(page, "b").click({ modifiers: ["Control"] });
  await choose(page, "d").click({ modifiers: ["Shift"] });
  t.same(await selected(page), ["b", "c", "d"]);
  await server.api("DELETE", "styled/layers/c/", { token });
  await soon(t).same(() => names(page), ["a", "b", "d"]);
  t.same(await selected(page), ["b", "d"]);
  t.equal(await page.textContent(".selection-bar [role=status]"), "2 selected");

  await page.click(".selection-tools button:text-is('Actions')");
  await page.waitForSelector(".popup-menu[aria-label='2 selected']");
  await accessible(t, page, "the menu of a selection", ".popup-menu");
  await page.click(".popup-menu button:text-is('Paste style')");
  await page.waitForSelector(".toast:has-text('2 layers look like a now.')");
  const styles = async () => (await nodes("styled")).map(({ css_style }) => css_style);
  t.same(await styles(), [css("#ff0000"), css("#ff0000"), css("#ff0000")]);
  await page.click(".toast:has-text('look like') button:has-text('Undo')");
  await soon(t).same(styles, [css("#ff0000"), css("#111111"), css("#111111")]);
  await page.click(".selection-tools [aria-label='Clear the selection']");
  t.same(await selected(page), []);
  t.equal(await focused(page), "b", "the focus is where it was");
  t.same(problems, []);
  await page.context().close();
});

t.test("a layer goes after those that are made from it, and comes back before them", async (t) => {
  const { page } = await opened("derived", ["a"]);
  const body = { code: "b", type: "virtual", source: { layer: "a" } };
  const made = await server.api("POST", "derived/layers/", { token, body });
  t.equal(made.status, 200, made.text);
  await soon(t).same(() => names(page), ["a", "b"]);
  await choose(page, "a").focus();
  await page.keyboard.press("Control+a");
  await page.keyboard.press("Delete");
  await page.click(".tool-dialog .danger");
  await page.waitForSelector(".toast:has-text('2 entries were deleted.')");
  t.same(await codes("derived"), []);
  await page.click(".toast button:has-text('Undo')");
  await soon(t).same(() => codes("derived"), ["a", "b"]);
  await page.context().close();
});

t.test(
  "how much is done with many is shown, the rows and the focus stay, and keys bring all back",
  async (t) => {
    const { page, problems } = await opened("slow", ["a", "b", "c", "d"]);
    await choose(page, "a").focus();
    for (const key of ["Control+Space", "Shift+ArrowDown", "Shift+ArrowDown", "Delete"])
      await page.keyboard.press(key);
    const release = await hold(page, "**/slow/layers/b/**");
    await page.click(".tool-dialog .danger");
    await page.waitForSelector(".toast:has-text('3 entries are being changed')");
    await soon(t).equal(() => page.evaluate("document.querySelector('.toast progress').value"), 1);
    t.same(await codes("slow"), ["b", "c", "d"]);
    t.same(await names(page), ["a", "b", "c", "d"], "they are read when all is done");
    t.equal(await focused(page), "c");
    release();
    await page.waitForSelector(".toast:has-text('3 entries were deleted.')");
    t.equal(await page.locator(".toast progress").count(), 0);
    await soon(t).equal(() => focused(page), "d");
    await page.keyboard.press("Control+z");
    await soon(t).same(() => names(page), ["a", "b", "c", "d"]);
    t.same(problems, []);
    await page.context().close();
  },
);

t.test("a layer is duplicated by keys, and its copy has the focus; a refusal is told", async (t) => {
  const { page, problems } = await opened("twice", ["a", "b"]);
  const { keyboard } = page;
  await server.api("POST", "twice/layers/b/objects/", { token, body: { fields: {} } });
  const duplicate = async (name: string) => {
    await row(page, name).locator(".tree-menu").focus();
    await keyboard.press("Enter");
    await page.locator(".popup-menu button:text-is('Duplicate')").focus();
    await keyboard.press("Enter");
  };
  await duplicate("b");
  await soon(t).same(() => names(page), ["a", "b (copy)", "b"]);
  await soon(t).equal(() => focused(page), "b (copy)");
  const copy = (await nodes("twice"))[1]!;
  t.match(copy, { name: "b (copy)", css_style: css("#111111") });
  t.equal((await server.api("GET", `twice/layers/${copy.code}/count/?precise=1`, { token })).json, 1);
  t.same(problems, []);

  const source = { layer: "a" };
  await server.api("POST", "twice/layers/", { token, body: { code: "v", type: "virtual", source } });
  await soon(t).same(() => names(page), ["a", "b (copy)", "b", "v"]);
  await row(page, "v").locator(".tree-menu").click();
  t.equal(
    await page.locator(".popup-menu button:text-is('Duplicate')").count(),
    0,
    "it has no objects of its own",
  );
  await keyboard.press("Escape");

  await page.route(/\/layers\/a\/copy\//, (route) =>
    route.fulfill({ status: 500, json: { error: "error", code: "project_full", message: "Full." } }),
  );
  await duplicate("a");
  await page.waitForSelector(".toast[data-tone=bad]");
  t.equal((await names(page)).length, 4);
  await page.context().close();
});

t.test("on a phone a finger that stays selects, and so does the menu; then presses do", async (t) => {
  const options = { viewport: { width: 360, height: 740 }, hasTouch: true, isMobile: true };
  const { page, problems } = await opened("phone", ["a", "b", "c"], options);
  await page.tap(".layers-header");
  const box = (await choose(page, "a").boundingBox())!;
  const touch = await page.context().newCDPSession(page);
  const points = [{ x: box.x + 30, y: box.y + box.height / 2 }];
  await touch.send("Input.dispatchTouchEvent", { type: "touchStart", touchPoints: points });
  await soon(t).same(() => selected(page), ["a"]);
  await touch.send("Input.dispatchTouchEvent", { type: "touchEnd", touchPoints: [] });
  t.same(await selected(page), ["a"], "the press ends without another");
  await choose(page, "c").tap();
  t.same(await selected(page), ["a", "c"]);
  t.equal(await page.locator(".style-panel").isVisible(), false);
  await accessible(t, page, "a selection on a phone", ".layers");
  const width = await page.evaluate<number>("document.documentElement.scrollWidth");
  t.ok(width <= 360, `${width} pixels`);
  await page.tap(".selection-tools [aria-label='Clear the selection']");
  t.same(await selected(page), []);
  await row(page, "b").locator(".tree-menu").tap();
  await page.tap(".popup-menu button:text-is('Select')");
  await choose(page, "c").tap();
  t.same(await selected(page), ["b", "c"]);
  await choose(page, "b").tap();
  await choose(page, "c").tap();
  t.same(await selected(page), []);
  await choose(page, "c").tap();
  await page.waitForSelector(".style-panel:not([hidden])");
  t.same(problems, []);
  await page.context().close();
});

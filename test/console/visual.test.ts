import type { Page } from "playwright-core";
import t from "tap";
import { startServer } from "../support/server.js";
import { hold, openPage, soon, startBrowser, until } from "../viewer/support.js";
import { accessible, signIn } from "./support.js";

/** Maps by values in the console: what is chosen is seen before it is saved. */

const server = await startServer();
t.teardown(() => server.stop());
const browser = await startBrowser(t);
const token = await server.token("admin");

const points = JSON.stringify({
  type: "FeatureCollection",
  features: Array.from({ length: 30 }, (_, at) => ({
    type: "Feature",
    properties: { name: at % 3 === 0 ? "port" : "lake", people: (at + 1) * 100, homes: 30 - at },
    geometry: { type: "Point", coordinates: [10 + at / 10, 50 + (at % 5) / 10] },
  })),
});

async function opened(
  map: string,
  options: NonNullable<Parameters<typeof openPage>[2]> = {},
  data: unknown = JSON.parse(points),
) {
  await server.api("POST", "", { token, body: { code: map } });
  await server.api("POST", `${map}/layers/`, { token, body: { code: "towns" } });
  await server.api("POST", `${map}/layers/towns/import/`, { token, body: data });
  const open = await openPage(browser, `${server.url}/console/#project=p&map=${map}`, {
    waitForMap: false,
    ...options,
  });
  await signIn(open.page, "admin");
  await open.page.click(".tree-choose");
  await open.page.click("#style-tab-visual");
  const saved = async () => (await server.api("GET", `${map}/layers/towns/`, { token })).json;
  return { ...open, saved };
}

/** Waits until tiles are asked for with settings like these. */
const tried = (page: Page, pattern: RegExp) =>
  page.waitForRequest(
    (request) => request.url().includes("/preview/") && pattern.test(request.postData() ?? ""),
  );
const save = async (page: Page): Promise<void> => {
  await page.click(".style-footer .main");
  // Without a draft there is nothing to undo.
  await until(page, "document.querySelector('.style-footer .button:not(.main)').hidden");
};
const settled = (page: Page) => until(page, "document.querySelector('.visual-form select') !== null");

t.test("colours by value: chosen, tried on the map, dragged, saved and taken off", async (t) => {
  const { page, problems, saved } = await opened("colours");
  const first = tried(page, /"type":1\b/);
  await page.selectOption("#visual-kind", "1");
  await first;
  await page.waitForSelector(".histogram-border");
  t.equal((await saved()).visualSettings, undefined, "nothing is saved yet");
  await accessible(t, page, "the form of colours");
  t.equal(await page.locator("#visual-palette option:checked").textContent(), "Usual colours");
  const painted = tried(page, /"palette":"YlOrRd"/);
  await page.selectOption("#visual-palette", "YlOrRd");
  await painted;
  const moved = tried(page, /"breaks":\[/);
  const before = Number(await page.getAttribute("#visual-border-2", "aria-valuenow"));
  await page.focus("#visual-border-2");
  await page.keyboard.press("PageUp");
  await moved;
  const after = Number(await page.getAttribute("#visual-border-2", "aria-valuenow"));
  t.ok(after > before, `${before} to ${after}`);
  t.equal(await page.evaluate("document.activeElement.id"), "visual-border-2", "the focus stays");
  await save(page);
  const { visualSettings, style_mode } = await saved();
  t.equal(style_mode, 3);
  t.match(visualSettings, { columnCode: "people", classesSettings: { palette: "YlOrRd" } });
  t.equal(visualSettings.classesSettings.borders[2], after, "with the border that was dragged");
  await page.waitForSelector(".legend-class");
  t.equal(await page.locator(".style-problem").isVisible(), false);
  await page.selectOption("#visual-kind", "");
  await save(page);
  t.match(await saved(), { style_mode: 2 });
  t.equal((await saved()).visualSettings, undefined);
  t.same(problems, []);
  await page.context().close();
});

t.test(
  "categories take the first texts that objects share, and names where there are no others",
  async (t) => {
    const made = (texts: (at: number) => Readonly<Record<string, string>>) => ({
      type: "FeatureCollection",
      features: Array.from({ length: 40 }, (_, at) => ({
        type: "Feature",
        properties: { title: `Town ${at}`, ...texts(at) },
        geometry: { type: "Point", coordinates: [10 + at / 10, 50] },
      })),
    });
    const shared = await opened(
      "shared",
      {},
      made((at) => ({ nick: `T${at}`, kind: at % 2 ? "port" : "lake" })),
    );
    const asked = tried(shared.page, /"columnCode":"kind"/);
    await shared.page.selectOption("#visual-kind", "2");
    await asked;
    await soon(t).equal(() => shared.page.inputValue("#visual-column"), "kind");
    await shared.page.selectOption("#visual-column", "nick");
    await tried(shared.page, /"columnCode":"nick"/);
    await shared.page.waitForTimeout(500);
    t.equal(await shared.page.inputValue("#visual-column"), "nick", "what is chosen stays");
    t.same(shared.problems, []);
    await shared.page.context().close();

    const apart = await opened(
      "apart",
      {},
      made((at) => ({ nick: `T${at}` })),
    );
    const first = tried(apart.page, /"columnCode":"title"/);
    await apart.page.selectOption("#visual-kind", "2");
    await first;
    await soon(t).equal(() => apart.page.inputValue("#visual-column"), "title");
    t.same(apart.problems, []);
    await apart.page.context().close();
  },
);

t.test("what the classes colour gets another size and outline, as its shapes have them", async (t) => {
  const { page, problems, saved } = await opened("sizes");
  await page.selectOption("#visual-kind", "1");
  await page.waitForSelector(".histogram-border");
  t.equal(await page.inputValue("#visual-size"), "10", "as they are drawn");
  t.equal(await page.locator("#visual-lineWidth").count(), 0, "points have no lines");
  const larger = tried(page, /"sizeEnabled":true/);
  await page.focus("#visual-size");
  await page.keyboard.press("PageUp");
  await larger;
  const size = Number(await page.inputValue("#visual-size"));
  t.ok(size > 10, `${size}`);
  t.equal(await page.evaluate("document.activeElement.id"), "visual-size", "the focus stays");
  await page.focus("#visual-outline");
  const plain = tried(page, /"showBorder":false/);
  await page.keyboard.press("Home");
  await plain;
  await soon(t).equal(
    () => page.locator("#visual-outline-colour").count(),
    0,
    "what is not drawn has no colour",
  );
  const lined = tried(page, /"showBorder":true/);
  await page.keyboard.press("ArrowRight");
  await lined;
  await save(page);
  t.match((await saved()).visualSettings, {
    pointSettings: { size, sizeEnabled: true },
    showBorder: true,
    borderSettings: { width: 0.5 },
  });
  t.same(problems, []);
  await page.context().close();
});

t.test("a border is dragged by the pointer, between its neighbours", async (t) => {
  const { page, problems } = await opened("dragged");
  await page.selectOption("#visual-kind", "1");
  await page.waitForSelector("#visual-border-2");
  const value = async (at: number) =>
    Number(await page.getAttribute(`#visual-border-${at}`, "aria-valuenow"));
  const [low, from, high] = [await value(1), await value(2), await value(3)];
  const box = (await page.locator("#visual-border-2").boundingBox())!;
  const moved = tried(page, /"breaks":\[/);
  await page.mouse.move(box.x + box.width / 2, box.y + 20);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width / 2 + 12, box.y + 20, { steps: 4 });
  const shown = page.locator(".histogram-value").filter({ visible: true });
  const told = await page.getAttribute("#visual-border-2", "aria-valuetext");
  t.same(await shown.allTextContents(), [told], "its value is seen meanwhile");
  await page.mouse.up();
  await moved;
  t.ok((await value(2)) > from);
  await page.mouse.move(box.x + box.width / 2 + 12, box.y + 20);
  await page.mouse.down();
  await page.mouse.move(box.x + 300, box.y + 20, { steps: 4 });
  await page.mouse.up();
  t.ok((await value(2)) < high && (await value(2)) > low, "not beyond the next one");
  t.equal(await page.inputValue("#visual-method"), "", "these are borders of one's own");
  t.same(problems, []);
  await page.context().close();
});

t.test("every kind is tried, and what is undone is as before", async (t) => {
  const { page, problems, saved } = await opened("kinds");
  for (const kind of [2, 3, 4, 5, 6, 7, 8]) {
    const seen = tried(page, new RegExp(`"type":${kind}\\b`));
    await page.selectOption("#visual-kind", String(kind));
    await seen;
    await settled(page);
    await accessible(t, page, `kind ${kind}`);
  }
  await page.selectOption("#visual-kind", "2");
  await page.waitForSelector("#visual-class-0");
  t.equal(await page.locator(".visual-form [id^='visual-class-']").count(), 2, "port and lake");
  await page.click(".style-footer .button:not(.main)");
  t.equal(await page.inputValue("#visual-kind"), "");
  t.equal((await saved()).visualSettings, undefined);
  t.same(problems, []);
  await page.context().close();
});

t.test("a plain style is tried on the map while it is changed, and one with a fault is not", async (t) => {
  const { page, saved } = await opened("plain");
  await page.click("#style-tab-form");
  const seen = tried(page, /marker-fill: #ff0000/);
  await page.fill("#style-point-fill", "#ff0000");
  await seen;
  // The first one shows whether it can be drawn.
  await tried(page, /marker-fill: #ff0000/);
  t.notMatch((await saved()).css_style, /#ff0000/);
  const back = page.waitForRequest((request) => request.url().includes("/tms/"));
  await page.click(".style-footer .button:not(.main)");
  await back;
  t.pass("the map is drawn as it is saved");
  await page.context().close();
});

t.test("what somebody else saves meanwhile is not written over unasked", async (t) => {
  const { page, saved } = await opened("two");
  await page.selectOption("#visual-kind", "3");
  await page.waitForSelector("#visual-pointSizeMax");
  await server.api("PUT", "two/layers/towns/visualization/", {
    token,
    body: { visualSettings: { type: 8 } },
  });
  await page.waitForSelector(".style-problem:not([hidden])");
  t.match(await saved(), { visualSettings: { type: 8 } });
  await save(page);
  t.match(await saved(), { visualSettings: { type: 3 } }, "saved once more it takes its place");
  await page.context().close();
});

t.test("what is saved at once is no conflict, and belongs to the map that it was saved in", async (t) => {
  await server.api("POST", "", { token, body: { code: "other" } });
  await server.api("POST", "other/layers/", { token, body: { code: "towns" } });
  const { page, saved } = await opened("one");
  await page.selectOption("#visual-kind", "1");
  await save(page);
  t.equal(await page.locator(".style-problem").isVisible(), false, "nobody else has changed anything");
  t.match(await saved(), { visualSettings: { type: 1 } });
  const release = await hold(page, "**/visualization/");
  await page.selectOption("#visual-kind", "3");
  await page.click(".style-footer .main");
  await page.selectOption("#visual-kind", "8");
  await page.focus("#visual-kind");
  await page.keyboard.press("Control+s");
  await page.evaluate("location.hash = '#project=p&map=other'");
  await page.waitForSelector(".chooser-title:has-text('other')");
  release();
  await soon(t).equal(async () => (await saved()).visualSettings?.type, 8);
  const other = (await server.api("GET", "other/layers/towns/", { token })).json;
  t.equal(other.visualSettings, undefined);
  await page.context().close();
});

t.test("what is written in the form stays when an answer comes", async (t) => {
  const { page } = await opened("written");
  await page.selectOption("#visual-kind", "3");
  await page.waitForSelector("#visual-name");
  await page.focus("#visual-name");
  await page.keyboard.press("Control+a");
  const named = tried(page, /"legendName":"Many people"/);
  await page.keyboard.type("Many people", { delay: 60 });
  await named;
  t.equal(await page.inputValue("#visual-name"), "Many people");
  t.equal(await page.evaluate("document.activeElement.id"), "visual-name");
  await page.context().close();
});

t.test("on a phone", async (t) => {
  const { page, problems } = await openedOnPhone();
  const seen = tried(page, /"type":1\b/);
  await page.selectOption("#visual-kind", "1");
  await seen;
  await page.waitForSelector(".histogram-border");
  await accessible(t, page, "the form on a phone");
  t.same(problems, []);
  await page.context().close();
});

async function openedOnPhone() {
  const map = "phone";
  await server.api("POST", "", { token, body: { code: map } });
  await server.api("POST", `${map}/layers/`, { token, body: { code: "towns" } });
  await server.api("POST", `${map}/layers/towns/import/`, { token, body: JSON.parse(points) });
  const open = await openPage(browser, `${server.url}/console/#project=p&map=${map}`, {
    waitForMap: false,
    ...{ viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true },
  });
  await signIn(open.page, "admin");
  await open.page.click(".layers-header");
  await open.page.click(".tree-choose");
  await open.page.click("#style-tab-visual");
  return open;
}

import t from "tap";
import { startServer } from "../support/server.js";
import { makeTown, openPage, pixelOf, press, soon, startBrowser } from "./support.js";

/** Measuring on the map, over the real server. */

const server = await startServer();
t.teardown(() => server.stop());
await makeTown(server);
const browser = await startBrowser(t);
const home = `${server.url}/#project=p&map=town&z=4&lat=10&lon=10`;

type Page = Awaited<ReturnType<typeof openPage>>["page"];
const result = async (page: Page) => (await page.textContent(".measure-result")) ?? "";
const kilometres = async (page: Page) => Number((await result(page)).replace(/[^\d.]/g, ""));

t.test("distances and areas are told while places are set, moved and removed", async (t) => {
  const { page, problems } = await openPage(browser, home);
  await page.click("[aria-label=Measure]");
  await page.waitForSelector(".measure");
  await press(page, 0, 0);
  await press(page, 0, 10);
  await soon(t).ok(async () => Math.abs((await kilometres(page)) - 1112) < 12, "1112 km");
  await soon(t).equal(() => page.locator(".object:visible").count(), 0, "no objects are looked for");
  await press(page, 10, 10);
  await soon(t).ok(async () => Math.abs((await kilometres(page)) - 2224) < 24, "2224 km");
  const ground = (pressed: boolean) =>
    page.evaluate(
      `getComputedStyle(document.querySelector(".measure .segment[aria-pressed=${pressed}]")).backgroundColor`,
    );
  t.not(await ground(true), await ground(false), "it is seen what is measured");
  await page.click(".measure .segment:has-text('Area')");
  await soon(t).match(() => result(page), /km²/);
  await soon(t).ok(async () => Math.abs((await kilometres(page)) / 616_000 - 1) < 0.05, "616,000 km²");
  await soon(t).match(() => page.textContent(".measure-more"), /Perimeter 3,\d{3} km/);
  const from = await pixelOf(page, 10, 10);
  const to = await pixelOf(page, 20, 10);
  await page.mouse.move(from.x, from.y);
  await page.mouse.down();
  await page.mouse.move(to.x, to.y, { steps: 6 });
  await page.mouse.up();
  await soon(t).ok(async () => (await kilometres(page)) > 1_100_000, "a place was dragged");
  await page.focus("[title='Point 3']");
  await page.keyboard.press("Delete");
  await soon(t).equal(() => page.locator(".measure-place").count(), 2);
  await page.click("text=Remove last");
  await soon(t).equal(() => page.locator(".measure-place").count(), 1);
  await page.click(".measure [aria-label=Close]");
  await soon(t).equal(() => page.locator(".measure-place, .measure").count(), 0);
  await press(page, 5, 5);
  await page.waitForSelector(".object h2:has-text('Green park')");
  t.same(problems, []);
  await page.context().close();
});

t.test("it works by keys alone, and finishes and cancels by them", async (t) => {
  const { page } = await openPage(browser, home);
  await page.focus("[aria-label=Measure]");
  await page.keyboard.press("Enter");
  await page.waitForSelector(".measure");
  await soon(t).equal(() => page.evaluate("document.activeElement.id"), "map");
  await page.keyboard.press("Enter");
  await page.keyboard.press("ArrowRight");
  await page.waitForTimeout(400);
  await page.keyboard.press("Enter");
  await soon(t).equal(() => page.locator(".measure-place").count(), 2);
  const before = await result(page);
  t.match(before, /km/);
  await page.keyboard.press("Shift+Enter");
  await page.keyboard.press("Enter");
  await soon(t).equal(() => page.locator(".measure-place").count(), 2, "it is finished");
  await page.focus("[title='Point 2']");
  await page.keyboard.press("ArrowRight");
  await soon(t).not(() => result(page), before, "a place can still be moved");
  await page.keyboard.press("Escape");
  await soon(t).equal(() => page.locator(".measure").count(), 0);
  await page.context().close();
});

t.test("across 180 degrees the way is the short one", async (t) => {
  const { page } = await openPage(browser, `${server.url}/#project=p&map=town&z=4&lat=0&lon=180`);
  await page.click("[aria-label=Measure]");
  await page.waitForSelector(".measure");
  await page.mouse.click(640 - 114, 400);
  await page.mouse.click(640 + 114, 400);
  await soon(t).ok(async () => Math.abs((await kilometres(page)) - 2229) < 24, "2229 km");
  await page.context().close();
});

t.test("units and numbers are those of the language and country", async (t) => {
  for (const [locale, unit] of [
    ["ru-RU", /км/],
    ["de-DE", /^\d\.\d{3} km/],
    ["en-US", /mi/],
  ] as const) {
    const { page } = await openPage(browser, home, { locale });
    await page.click(".controls .tools button >> nth=0");
    await page.waitForSelector(".measure");
    await press(page, 0, 0);
    await press(page, 0, 10);
    await soon(t).match(() => result(page), unit);
    await page.context().close();
  }
});

t.test("a place's menu begins there", async (t) => {
  const { page } = await openPage(browser, home);
  const { x, y } = await pixelOf(page, 20, -5);
  await page.mouse.click(x, y, { button: "right" });
  await page.click("text=Measure from here");
  await page.waitForSelector(".measure-place");
  await soon(t).equal(() => page.locator(".measure-place").count(), 1);
  await page.context().close();
});

t.test("all lengths have the units of the reader's country, or those that were chosen", async (t) => {
  const { page } = await openPage(browser, home, { locale: "en-US" });
  const scale = () => page.locator(".bottom-line .scale").innerText();
  await soon(t).match(scale, /^\d+ mi$/);
  await page.click("[aria-label=Measure]");
  await page.waitForSelector(".measure");
  await press(page, 0, 0);
  await press(page, 0, 10);
  await soon(t).match(() => result(page), /^69\d(\.\d)? mi$/);
  await page.click(".measure .segment:has-text('km')");
  await soon(t).match(() => result(page), /^1,1\d\d km$/);
  await soon(t).match(scale, /^\d+ km$/);
  await page.reload();
  await soon(t).match(scale, /^\d+ km$/, "the browser remembers it");
  await page.context().close();
});

t.test("the card lies beside the layers in narrow windows", async (t) => {
  for (const width of [700, 900, 1_000]) {
    const { page } = await openPage(browser, home, { viewport: { width, height: 700 } });
    await page.click("[aria-label=Measure]");
    const card = (await page.locator(".measure").boundingBox())!;
    const layers = (await page.locator(".layers").boundingBox())!;
    t.ok(card.x >= layers.x + layers.width, `${width} pixels`);
    t.ok(card.x + card.width <= width);
    await page.context().close();
  }
});

import type { Page } from "playwright-core";
import t from "tap";
import { makeStyledLayer, square } from "../support/maps.js";
import { startServer, waitFor } from "../support/server.js";
import { makeTown, openPage, pictureComplete, pixelOf, soon, startBrowser, until } from "./support.js";

/** The viewer on a phone, over the real server. */

const server = await startServer();
t.teardown(() => server.stop());
await makeTown(server);
{
  // An object with more attributes than the sheet has room for.
  const token = await server.token("admin");
  await makeStyledLayer(server, "town", "squares", "#a { polygon-fill: #ffff00; }");
  const properties = Object.fromEntries(Array.from({ length: 20 }, (_, at) => [`about_${at}`, `Text ${at}`]));
  const at = [0, 15, 15].map((lon) => square(lon, -20, 10));
  const features = at.map((geometry) => ({ type: "Feature", geometry, properties }));
  const body = { type: "FeatureCollection", features };
  await server.api("POST", "town/layers/squares/import/", { token, body });
}
const browser = await startBrowser(t);
const phone = {
  viewport: { width: 390, height: 844 },
  deviceScaleFactor: 2,
  isMobile: true,
  hasTouch: true,
};
const home = `${server.url}/#project=p&map=town&z=4&lat=10&lon=10`;

t.test("everything fits the width, and nothing covers anything else", async (t) => {
  for (const locale of ["en-GB", "ru-RU"]) {
    const { page, problems } = await openPage(browser, home, { ...phone, locale });
    await soon(t).equal(() => page.evaluate("document.documentElement.scrollWidth"), 390);
    const boxes = await Promise.all(
      [".chooser > .card", ".toolbar", ".layers", ".controls"].map((part) =>
        page.locator(part).first().boundingBox(),
      ),
    );
    for (const box of boxes) {
      t.ok(box && box.x >= 0 && box.x + box.width <= 390 && box.y >= 0 && box.y + box.height <= 844);
    }
    const overlaps = (a: (typeof boxes)[0], b: (typeof boxes)[0]) =>
      a!.x < b!.x + b!.width && b!.x < a!.x + a!.width && a!.y < b!.y + b!.height && b!.y < a!.y + a!.height;
    for (const [index, box] of boxes.entries()) {
      for (const other of boxes.slice(index + 1)) t.notOk(overlaps(box, other));
    }
    t.same(problems, []);
    await page.context().close();
  }
});

t.test("buttons are large enough for a finger", async (t) => {
  const { page } = await openPage(browser, home, phone);
  const small = await page.$$eval(".control, .toolbar .button, .chooser-button, .layers-header", (all) =>
    all.map((element) => element.getBoundingClientRect()).filter((box) => box.width < 44 || box.height < 44),
  );
  t.same(small, []);
  await page.context().close();
});

t.test("the layers are a sheet at the bottom that opens and closes", async (t) => {
  const { page } = await openPage(browser, home, phone);
  await soon(t).notOk(() => page.isVisible("[data-code=parks]"));
  await page.tap(".layers-header");
  await soon(t).ok(() => page.isVisible("[data-code=parks]"));
  const box = await page.locator(".layers").boundingBox();
  t.equal(Math.round(box!.y + box!.height), 844);
  t.equal(Math.round(box!.width), 390);
  await page.tap("[data-code=plans]");
  await page.waitForURL(/layers=/);
  await pictureComplete(page);
  await page.tap(".layers-header");
  await soon(t).notOk(() => page.isVisible("[data-code=parks]"));
  await page.context().close();
});

t.test("the documentation is below the layers", async (t) => {
  const { page, problems } = await openPage(browser, home, phone);
  t.equal(await page.locator("a.help").count(), 1, "and nowhere else");
  t.notOk(await page.isVisible("a.help"), "as long as the layers are folded");
  await page.tap(".layers-header");
  const link = page.locator(".layers a.help");
  await link.scrollIntoViewIfNeeded();
  const box = (await link.boundingBox())!;
  t.ok(box.height >= 44 && box.width >= 44, "large enough for a finger");
  t.ok(box.y + box.height <= 844);
  t.equal((await link.textContent())?.trim(), "Documentation");
  const [opened] = await Promise.all([page.waitForEvent("popup"), link.tap()]);
  await opened.waitForLoadState();
  t.equal(new URL(opened.url()).pathname, "/docs/");
  t.match(await opened.textContent("h1"), /\S/);
  t.same(problems, []);
  await page.context().close();
});

t.test("a touch shows the object in a sheet and keeps the place in sight", async (t) => {
  const { page } = await openPage(browser, home, phone);
  const { x, y } = await pixelOf(page, 2, 4);
  await page.touchscreen.tap(x, y);
  await page.waitForSelector(".object h2");
  await soon(t).equal(() => page.textContent(".object h2"), "Green park");
  await until(page, "document.querySelector('.object').getAnimations().length === 0");
  const sheet = await page.locator(".object").boundingBox();
  t.equal(Math.round(sheet!.y + sheet!.height), 844);
  t.ok(sheet!.height <= 844 * 0.57);
  const place = await pixelOf(page, 2, 4);
  t.ok(place.y < sheet!.y, "the place is above the sheet");
  await page.tap(".object [aria-label=Close]");
  await soon(t).notOk(() => page.isVisible(".object"));
  await page.context().close();
});

/** Whether the sheet with an object comes to rest below a place. */
async function comesToRestBelow(page: Page, lat: number, lon: number): Promise<void> {
  await page.waitForSelector(".object .attributes");
  await until(page, "document.querySelector('.object').getAnimations().length === 0");
  const sheet = (await page.locator(".object").boundingBox())!;
  t.ok(sheet.height > 844 * 0.5, "the sheet is high");
  await waitFor(async () => (await pixelOf(page, lat, lon)).y < sheet.y - 8);
  t.pass("the place is above it");
}

t.test("a place under a high sheet comes out above it", async () => {
  for (const [lat, lon] of [
    [-12, 5],
    [-18, 8],
  ] as const) {
    const { page } = await openPage(browser, home.replace("lat=10", "lat=-5"), phone);
    const { x, y } = await pixelOf(page, lat, lon);
    t.ok(y > 844 * 0.44, "the sheet comes over the place");
    await page.touchscreen.tap(x, y);
    await comesToRestBelow(page, lat, lon);
    await page.context().close();
  }
});

t.test("a list that becomes a high sheet does not cover the place either", async () => {
  const { page } = await openPage(browser, home.replace("lat=10", "lat=-5"), phone);
  const { x, y } = await pixelOf(page, -12, 20);
  await page.touchscreen.tap(x, y);
  await page.locator(".hit").first().tap();
  await comesToRestBelow(page, -12, 20);
  await page.context().close();
});

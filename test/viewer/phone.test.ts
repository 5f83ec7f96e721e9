import t from "tap";
import { startServer } from "../support/server.js";
import { makeTown, openPage, pictureComplete, pixelOf, startBrowser, until } from "./support.js";

/** The viewer on a phone, over the real server. */

const server = await startServer();
t.teardown(() => server.stop());
await makeTown(server);
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
    t.equal(await page.evaluate("document.documentElement.scrollWidth"), 390);
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
  t.notOk(await page.isVisible("[data-code=parks]"));
  await page.tap(".layers-header");
  t.ok(await page.isVisible("[data-code=parks]"));
  const box = await page.locator(".layers").boundingBox();
  t.equal(Math.round(box!.y + box!.height), 844);
  t.equal(Math.round(box!.width), 390);
  await page.tap("[data-code=plans]");
  await page.waitForURL(/layers=/);
  await pictureComplete(page);
  await page.tap(".layers-header");
  t.notOk(await page.isVisible("[data-code=parks]"));
  await page.context().close();
});

t.test("a touch shows the object in a sheet and keeps the place in sight", async (t) => {
  const { page } = await openPage(browser, home, phone);
  const { x, y } = await pixelOf(page, 2, 4);
  await page.touchscreen.tap(x, y);
  await page.waitForSelector(".object h2");
  t.equal(await page.textContent(".object h2"), "Green park");
  await until(page, "document.querySelector('.object').getAnimations().length === 0");
  const sheet = await page.locator(".object").boundingBox();
  t.equal(Math.round(sheet!.y + sheet!.height), 844);
  t.ok(sheet!.height <= 844 * 0.57);
  const place = await pixelOf(page, 2, 4);
  t.ok(place.y < sheet!.y, "the place is above the sheet");
  await page.tap(".object [aria-label=Close]");
  t.notOk(await page.isVisible(".object"));
  await page.context().close();
});

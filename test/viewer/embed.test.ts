import t from "tap";
import { startServer } from "../support/server.js";
import { makeTown, openPage, press, soon, startBrowser } from "./support.js";

/** The page for frames of other sites, in the sizes that frames have. */

const server = await startServer();
t.teardown(() => server.stop());
await makeTown(server);
const browser = await startBrowser(t);
const address = `${server.url}/embed#project=p&map=town&z=4&lat=10&lon=10`;

/** How much of the page is covered by what can be pressed, from 0 to 1. */
const covered = `(() => {
  const { innerWidth: width, innerHeight: height } = window;
  let hits = 0;
  for (let x = 0; x < 60; x++)
    for (let y = 0; y < 40; y++) {
      const at = document.elementFromPoint(((x + 0.5) * width) / 60, ((y + 0.5) * height) / 40);
      if (!at?.closest(".map")) hits += 1;
    }
  return hits / 2400;
})()`;

for (const [name, viewport] of [
  ["a low frame", { width: 600, height: 400 }],
  ["a wide one", { width: 800, height: 600 }],
  ["a phone", { width: 390, height: 500 }],
] as const) {
  t.test(`in ${name} the map is seen, with a small button for each panel`, async (t) => {
    const { page, problems } = await openPage(browser, address, { viewport });
    await soon(t).ok(async () => (await page.evaluate<number>(covered)) < 0.15);
    for (const selector of [".search", ".layers"]) {
      const { width, height } = (await page.locator(selector).boundingBox())!;
      t.ok(width <= 44 && height <= 44, `${selector}: ${width} × ${height}`);
    }
    await page.click(".layers-header");
    await page.waitForSelector(".layers [data-code=parks]");
    const layers = (await page.locator(".layers").boundingBox())!;
    t.ok(layers.width > 200 && layers.y + layers.height <= viewport.height, "the panel is within the frame");
    await page.click(".layers-header");
    await soon(t).equal(() => page.locator(".layers-body").isVisible(), false);
    await page.click(".search");
    await page.keyboard.type("station");
    await page.click(".search-option:has-text('Main station')");
    await page.waitForSelector(".object:has-text('Main station')");
    await soon(t).ok(async () => (await page.locator(".search").boundingBox())!.width <= 44);
    t.same(problems, []);
    await page.context().close();
  });
}

t.test("the name of the map leads to the whole viewer, at the view that is shown", async (t) => {
  const { page } = await openPage(browser, address, { viewport: { width: 600, height: 400 } });
  await soon(t).equal(() => page.locator(".whole").innerText(), "Town");
  await press(page, 10, 10);
  await page.waitForSelector(".object:has-text('objects here')");
  const panel = (await page.locator(".object").boundingBox())!;
  t.ok(panel.y >= 0 && panel.y + panel.height <= 400, "the objects are within the frame");
  const [whole] = await Promise.all([page.waitForEvent("popup"), page.click(".whole")]);
  t.match(whole.url(), `${server.url}/#project=p&map=town&z=4`);
  await page.context().close();
});

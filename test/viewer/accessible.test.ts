import type { Page } from "playwright-core";
import t from "tap";
import { accessible } from "../console/support.js";
import { startServer } from "../support/server.js";
import { makeTown, openPage, press, startBrowser } from "./support.js";

/** What axe says of the viewer's parts, at a desk and on a phone. */

const server = await startServer();
t.teardown(() => server.stop());
await makeTown(server);
const browser = await startBrowser(t);
const home = `${server.url}/#project=p&map=town&z=4&lat=10&lon=10`;

const parts: Readonly<Record<string, (page: Page) => Promise<unknown>>> = {
  "the map": async () => undefined,
  "an object": async (page) => {
    await press(page, 4, 4);
    await page.waitForSelector(".object h2");
  },
  "a table": async (page) => {
    await page.locator('[aria-label="More for parks"]').press("Enter");
    await page.click("text=Table of objects");
    await page.waitForSelector(".table-rows .table-row[data-id]");
  },
  "what is found": async (page) => {
    await page.fill("[role=combobox]", "park");
    await page.waitForSelector(".search-option");
  },
};

/** On a phone the layers and the search are sheets, which other tests open. */
const places = [
  ["at a desk", 1280, Object.keys(parts)],
  ["on a phone", 360, ["the map", "an object"]],
] as const;

for (const [name, width, shown] of places)
  for (const part of shown)
    t.test(`${part}, ${name}`, async (t) => {
      const viewport = { width, height: 740 };
      const { page, problems } = await openPage(browser, home, { viewport, hasTouch: width < 500 });
      await parts[part]!(page);
      await accessible(t, page, part);
      t.same(problems, []);
      await page.context().close();
    });

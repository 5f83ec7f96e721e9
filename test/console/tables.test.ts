import gdal from "gdal-async";
import type { Page } from "playwright-core";
import t from "tap";
import { geoPackageOf } from "../support/many-tables.js";
import { startServer } from "../support/server.js";
import { zipOf } from "../support/zip.js";
import { openPage, soon, startBrowser, until } from "../viewer/support.js";
import { accessible, drop, signIn } from "./support.js";

/** Files of several tables: which of them become layers. */

const server = await startServer();
t.teardown(() => server.stop());
const browser = await startBrowser(t);
const home = `${server.url}/console/#project=p`;
const roads = "roads and all other ways of the inner city, with its bridges";
const city = geoPackageOf(
  { name: "trees", objects: ["POINT (1 2)", "POINT (2 3)"] },
  { name: roads, objects: ["LINESTRING (1 1, 2 2)"], type: gdal.wkbLineString },
  { name: "none yet", objects: [] },
  { name: "prices", objects: [null], type: gdal.wkbNone },
);

async function opened(options = {}) {
  const { page, problems } = await openPage(browser, home, { waitForMap: false, ...options });
  await signIn(page, "admin");
  await page.waitForSelector(".home-card");
  return { page, problems };
}

/** The layers of the map that is open, by their names, and how many objects they have. */
async function layers(page: Page): Promise<Record<string, number>> {
  const token = await server.token("admin");
  const [, map] = /map=([^&]+)/.exec(page.url())!;
  const { json: tree } = await server.api("GET", `${map}/layers/?type=full`, { token });
  const counts: Record<string, number> = {};
  for (const { name, code } of tree)
    counts[name] = (await server.api("GET", `${map}/layers/${code}/count/?precise=1`, { token })).json;
  return counts;
}

const card = (state: string, text: string) => `.import[data-state='${state}']:has-text('${text}')`;

t.test(
  "each table of a file that is chosen becomes a layer, with keys only, on a dark phone too",
  async (t) => {
    for (const options of [{}, { colorScheme: "dark", viewport: { width: 360, height: 740 } } as const]) {
      const { page, problems } = await opened(options);
      await drop(page, { name: "City.gpkg", text: city });
      await page.waitForSelector(card("asking", "The file has 4 tables"));
      await accessible(t, page, "the choice of tables", ".imports");
      const rows = await page.locator(".import-table").allTextContents();
      t.same(rows, [
        "All",
        "treesPoint · 2 objects",
        `${roads}Line · 1 object`,
        "none yetPoint · empty",
        "prices1 object",
      ]);
      const boxes = () =>
        page.locator(".import-table input").evaluateAll((all) => all.map((box: any) => box.checked));
      t.same(await boxes(), [false, true, true, false, true], "but the empty one");
      t.equal(await page.locator(".import-actions button").first().textContent(), "Import 3 layers");
      const edges = (selector: string) =>
        page.locator(selector).evaluateAll((all) => all.map((one: any) => one.getBoundingClientRect().right));
      const [edge] = await edges(".imports");
      for (const right of await edges(".import-tables, .import-table small, .import-actions button"))
        t.ok(right < edge!, "nothing is cut off");
      await page.focus(".import-table:has-text('prices') input");
      await page.keyboard.press("Space");
      for (let presses = 0; presses < 5; presses++) {
        await page.keyboard.press("Tab");
        if (/^Import/.test(await page.evaluate<string>("document.activeElement.textContent"))) break;
      }
      t.equal(await page.evaluate("document.activeElement.textContent"), "Import 2 layers");
      await page.keyboard.press("Enter");
      await page.waitForSelector(card("done", "trees"));
      await page.waitForSelector(card("done", "roads and"));
      t.same(await layers(page), { trees: 2, [roads]: 1 });
      t.match(await page.locator(".chooser-title").first().textContent(), /City/);
      t.same(problems, []);
      await page.context().close();
    }
  },
);

t.test("all can be chosen or none, or come as one layer", async (t) => {
  const { page, problems } = await opened();
  await drop(page, { name: "Whole.gpkg", text: city });
  await page.waitForSelector(card("asking", "Whole"));
  await page.check(".import-table:has-text('All') input");
  t.equal(await page.locator(".import-table input:checked").count(), 5);
  await page.uncheck(".import-table:has-text('All') input");
  t.ok(await page.isDisabled(".import-actions .main"));
  await page.click("text=All as one layer");
  await page.waitForSelector(card("done", "Whole"));
  t.same(await layers(page), { Whole: 3 });
  t.same(problems, []);
  await page.context().close();
});

t.test("a file is sent once for all of its tables that are chosen", async (t) => {
  const { page, problems } = await opened();
  const sent: (string | undefined)[] = [];
  page.on("request", (request) => {
    if (request.method() !== "POST" || !/\/import\/\?/.test(request.url())) return;
    const { searchParams } = new URL(request.url());
    if (!searchParams.has("dry_run")) sent.push(searchParams.get("table") ?? undefined);
  });
  await drop(page, { name: "Once.gpkg", text: city });
  await page.waitForSelector(card("asking", "Once"));
  await page.check(".import-table:has-text('All') input");
  await page.click("text=Import 4 layers");
  for (const name of ["trees", "roads and", "none yet", "prices"])
    await page.waitForSelector(card("done", name));
  t.same(sent, [undefined, "trees"], "once to be looked at, and once to be imported");
  t.same(await layers(page), { trees: 2, [roads]: 1, "none yet": 0, prices: 1 });
  t.same(problems, []);
  await page.context().close();
});

t.test("what was sent with another is cancelled by itself", async (t) => {
  const { page, problems } = await opened();
  // No import gets beyond its checks.
  await page.route(/\/import\/\?.*table=trees/, async (route) => {
    await server.sql.query("begin");
    await server.sql.query("lock table column_constraint in access exclusive mode");
    await route.continue();
  });
  await drop(page, { name: "Held.gpkg", text: city });
  await page.waitForSelector(card("asking", "Held"));
  await page.click("text=Import 3 layers");
  await page.waitForSelector(`${card("running", "trees")}:has-text('Checking')`);
  const ended = page.waitForResponse(
    (response) => response.request().method() === "DELETE" && /\/import\//.test(response.url()),
  );
  await page.click(`${card("running", "roads and")} button:has-text('Cancel')`);
  t.equal((await (await ended).json()).state, "cancelled");
  await server.sql.query("rollback");
  await page.waitForSelector(card("failed", "roads and"));
  await page.waitForSelector(card("done", "trees"));
  await page.waitForSelector(card("done", "prices"));
  await soon(t).same(() => layers(page), { trees: 2, prices: 1 });
  t.same(problems, []);
  await page.context().close();
});

t.test("a table that cannot be imported stops no other, and can be tried again", async (t) => {
  const { page, problems } = await opened();
  const zip = await zipOf({
    "Oaks.csv": "name,lon,lat\nOak,1,2\n",
    "Broken.shp": "no shapefile",
    "Elms.csv": "name,lon,lat\nElm,1,2\nElm,far,2\n",
  });
  await drop(page, { name: "Trees.zip", text: zip });
  await page.waitForSelector(card("asking", "3 tables"));
  await page.click("text=Import 3 layers");
  await page.waitForSelector(card("done", "Oaks"));
  await page.waitForSelector(card("failed", "Broken"));
  await page.waitForSelector(card("partly", "1 row could not be read"));
  await soon(t).same(() => layers(page), { Oaks: 1, Elms: 1 });
  await page.click(`${card("failed", "Broken")} button:has-text('Try again')`);
  await page.waitForSelector(card("failed", "Broken"));
  t.same(
    problems.filter((problem) => !/500/.test(problem)),
    [],
  );
  await page.context().close();
});

t.test("who wants none of them has no map either", async (t) => {
  const { page, problems } = await opened();
  await drop(page, { name: "Unwanted.gpkg", text: city });
  await page.waitForSelector(card("asking", "Unwanted"));
  await page.click(".import-actions button:has-text('Cancel')");
  await page.waitForSelector(card("failed", "Nothing was kept"));
  await until(page, "!location.hash.includes('map=')");
  t.same(
    problems.filter((problem) => !/500|404|403/.test(problem)),
    [],
  );
  await page.context().close();
});

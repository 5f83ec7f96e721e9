import { readFile } from "node:fs/promises";
import t from "tap";
import { addObject, makeMap, makeStyledLayer, square } from "../support/maps.js";
import { startServer, waitFor } from "../support/server.js";
import { makeTown, openPage, pixelOf, soon, startBrowser, until } from "./support.js";

/** The table of a layer's objects, over the real server. */

const server = await startServer();
t.teardown(() => server.stop());
await makeTown(server);
const browser = await startBrowser(t);
const home = `${server.url}/#project=p&map=town&z=4&lat=10&lon=10`;
const rows = 30_000;

// Many objects in a grid, with columns of several types.
await makeMap(server, "many");
const many = await makeStyledLayer(server, "many", "trees", "#a { marker-width: 4; }");
const editor = await server.token("editor");
for (const column of [
  { code: "species", type: "string", name: { en: "Species", ru: "Порода" } },
  { code: "height", type: "number", format: { kind: "number", decimals: 1, suffix: " m" } },
  { code: "planted", type: "datetime" },
  { code: "healthy", type: "bool" },
])
  await server.api("POST", "many/layers/trees/structure/", { token: editor, body: column });
const physical = async (code: string) =>
  `c${(await server.sql.query("select id from layer_column where layer_id = $1 and code = $2", [many.id, code])).rows[0].id}`;
await server.sql.query(
  `insert into layers.l${many.id} (geom, ${await physical("species")}, ${await physical("height")},
     ${await physical("planted")}, ${await physical("healthy")})
   select st_setsrid(st_makepoint(i % 300 - 150, i / 300 - 50), 4326),
     case when i % 3 = 0 then 'Oak' else 'Lime ' || i end, i / 10.0, '2000-01-01'::timestamptz + i * interval '1 day', i % 2 = 0
   from generate_series(1, ${rows}) i`,
);
await server.nodes[0]!.services.changes.propagate();
const forest = `${server.url}/#project=p&map=many&z=2&lat=0&lon=0`;

type Page = Awaited<ReturnType<typeof openPage>>["page"];

async function openTable(page: Page, name: string): Promise<void> {
  await page.hover(`.tree-row:has-text("${name}")`);
  await page.click(`[aria-label="More for ${name}"]`);
  await page.click("text=Table of objects");
  await page.waitForSelector(".table-rows .table-row[data-id]");
}

const cells = (page: Page, index: number) =>
  page.locator(`.table-row[data-index="${index}"] .cell`).allInnerTexts();
const counted = (page: Page, text: string) => page.waitForSelector(`.table-count:text-is("${text}")`);

t.test("a table is loaded when it is opened, and lists objects in the order of the server", async (t) => {
  const { page, requests, problems } = await openPage(browser, forest);
  t.notOk(
    requests.some((address) => /tools/.test(address)),
    "not before",
  );
  await openTable(page, "trees");
  await soon(t).ok(() => requests.some((address) => /\/viewer\/[\w-]+\/tools\/table\.js$/.test(address)));
  await counted(page, "30,000 objects");
  await soon(t).same(
    () => page.locator(".sorter").allInnerTexts(),
    ["ID", "Species", "Height", "Planted", "Healthy"],
  );
  await soon(t).same(() => cells(page, 0), ["1", "Lime 1", "0.1 m", "Jan 2, 2000", "No"]);
  await soon(t).equal(() => page.getAttribute("[role=grid]", "aria-rowcount"), String(rows + 2));
  await soon(t).equal(() => page.getAttribute("[role=grid]", "aria-label"), "Objects of trees");
  await soon(t).ok(
    async () => (await page.locator(".table-rows .table-row").count()) < 60,
    "only rows that are seen are there",
  );
  t.same(problems, []);
  await page.context().close();
});

t.test("a date without a time is the same day wherever the reader is", async (t) => {
  const { page, problems } = await openPage(browser, forest, { timezoneId: "America/New_York" });
  await openTable(page, "trees");
  await soon(t).equal(async () => (await cells(page, 0))[3], "Jan 2, 2000");
  await page.dblclick('.table-row[data-index="0"] .cell');
  await soon(t).match(() => page.innerText(".object .attributes"), /Planted\s+Jan 2, 2000\s+Healthy/);
  t.same(problems, []);
  await page.context().close();
});

t.test("any row can be scrolled to, pages follow by id, and few are asked for", async (t) => {
  const { page, requests } = await openPage(browser, forest);
  await openTable(page, "trees");
  const lists = () =>
    requests.filter((address) => address.includes("/objects/?") && address.includes("limit=100"));
  await page.evaluate("document.querySelector('.table-scroll').scrollTop = 100 * 32");
  await page.waitForSelector('.table-row[data-index="105"][data-id="106"]');
  t.ok(
    lists().some((address) => /after=100(&|$)/.test(address)),
    "the second page goes on after the first",
  );
  const before = lists().length;
  await page.evaluate("document.querySelector('.table-scroll').scrollTop = 1e9");
  await page.waitForSelector(`.table-row[data-index="${rows - 1}"][data-id="${rows}"]`);
  t.ok(lists().length - before <= 3, "not all that was passed");
  await soon(t).equal(async () => (await cells(page, rows - 1))[1], "Oak");
  await page.focus(".table-scroll");
  await page.keyboard.press("Home");
  await page.waitForSelector('.table-row.active[data-index="0"][data-id="1"]');
  await page.keyboard.press("PageDown");
  await page.keyboard.press("ArrowUp");
  const active = await page.getAttribute("[role=grid]", "aria-activedescendant");
  await soon(t).ok(() => page.isVisible(`#${active}`), "the active row is in sight");
  await page.context().close();
});

t.test("columns sort and filter what the server lists", async (t) => {
  const { page } = await openPage(browser, forest);
  await openTable(page, "trees");
  await page.click(".sorter:has-text('Height')");
  await page.click(".sorter:has-text('Height')");
  await page.waitForSelector(`.table-row[data-index="0"][data-id="${rows}"]`);
  await soon(t).equal(() => page.getAttribute("[data-sort=height]", "aria-sort"), "descending");
  await page.fill("[aria-label='Filter Species']", "oak");
  await counted(page, "10,000 objects");
  await page.fill("[aria-label='Filter Height']", "2999..");
  await counted(page, "4 objects");
  await page.selectOption("[aria-label='Filter Healthy']", "true");
  await counted(page, "2 objects");
  await page.fill("[aria-label='Filter Height']", "tall");
  await page.waitForSelector("[data-code=height][aria-invalid=true]");
  await page.click("text=Clear filters");
  await counted(page, "30,000 objects");
  await page.fill("[aria-label='Search all texts']", "lime 2000");
  await counted(page, "9 objects");
  await page.fill("[aria-label='Search all texts']", "beech");
  await counted(page, "0 objects");
  await soon(t).match(
    () => page.evaluate("getComputedStyle(document.querySelector('.table-rows'), '::before').content"),
    "No objects match.",
  );
  await page.context().close();
});

t.test("a row shows its object on the map, and an object that is pressed shows its row", async (t) => {
  const { page } = await openPage(browser, home);
  await openTable(page, "parks");
  await page.click(".table-row[data-index='1']");
  await page.waitForSelector(".mark");
  await soon(t).equal(() => page.getAttribute(".table-row[data-index='1']", "aria-selected"), "true");
  const { x, y } = await pixelOf(page, 12, 4);
  await page.mouse.click(x, y);
  await page.waitForSelector(".object h2:has-text('Green park')");
  await page.waitForSelector(".table-row[data-index='0'][aria-selected=true]");
  await soon(t).equal(() => page.getAttribute(".table-row[data-index='1']", "aria-selected"), "false");
  await page.focus(".table-scroll");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  await page.waitForSelector(".object h2:has-text('Far park')");
  await soon(t).equal(
    () => page.locator(".object").getAttribute("aria-label"),
    "Object",
    "Enter shows its attributes",
  );
  await page.context().close();
});

t.test("an object far down, in a list that is sorted and filtered, is found in it", async (t) => {
  const { page } = await openPage(browser, `${server.url}/#project=p&map=many&z=6&lat=0&lon=0`);
  await openTable(page, "trees");
  await page.click(".sorter:has-text('Height')");
  await page.click(".sorter:has-text('Height')");
  await page.fill("[aria-label='Filter Species']", "lime");
  await counted(page, "20,000 objects");
  // The object at 0, 2: (i % 300) = 150, i / 300 = 52.
  const { x, y } = await pixelOf(page, 2, 0);
  await page.mouse.click(x, y);
  await page.waitForSelector(".object h2");
  const id = 52 * 300 + 150;
  if (id % 3 === 0) {
    await page.waitForSelector(".toast:has-text('The table does not list this object')");
    const other = await pixelOf(page, 2, 1);
    await page.mouse.click(other.x, other.y);
  }
  await page.waitForSelector(`.table-row[aria-selected=true][data-id="${id + 1}"]`);
  t.pass("it is scrolled to");
  await page.context().close();
});

t.test("only what is in view can be listed, and moves with the map", async (t) => {
  const { page } = await openPage(browser, `${server.url}/#project=p&map=many&z=6&lat=0&lon=0`);
  await openTable(page, "trees");
  await page.check("#table-in-view");
  await until(page, "!/30,000/.test(document.querySelector('.table-count').textContent)");
  const first = await page.textContent(".table-count");
  await page.click("[aria-label='Zoom in']");
  await until(page, `document.querySelector('.table-count').textContent !== ${JSON.stringify(first)}`);
  await soon(t).not(() => page.textContent(".table-count"), first);
  await page.context().close();
});

t.test("what is listed can be downloaded, by a link", async (t) => {
  const { page } = await openPage(browser, forest);
  await openTable(page, "trees");
  await page.fill("[aria-label='Filter Height']", "<0.4");
  await counted(page, "3 objects");
  await page.click(".download .button");
  await page.waitForSelector(".download-menu button");
  const names = await page.locator(".download-menu button").allInnerTexts();
  for (const name of ["GeoJSON", "CSV", "Excel (XLSX)", "GeoPackage", "Shapefile"])
    t.ok(names.includes(name), name);
  const [download] = await Promise.all([page.waitForEvent("download"), page.click("text=GeoJSON")]);
  t.equal(download.suggestedFilename(), "trees.geojson");
  const file = JSON.parse(await readFile(await download.path(), "utf8")) as { features: unknown[] };
  t.equal(file.features.length, 3);
  await page.context().close();
});

t.test("a file of a private map is asked for with the token in a header", async (t) => {
  const { page, requests } = await openPage(browser, `${server.url}/#project=p&map=secret`, {
    waitForMap: false,
  });
  await page.click(".stage button");
  await page.fill("input[autocomplete=username]", "viewer");
  await page.fill("input[type=password]", "viewerviewer");
  await page.click("dialog button.main");
  await openTable(page, "vault");
  await page.click(".download .button");
  const [download] = await Promise.all([page.waitForEvent("download"), page.click("text=CSV")]);
  t.equal(download.suggestedFilename(), "vault.csv");
  t.match(await readFile(await download.path(), "utf8"), /Gold/);
  await soon(t).notOk(() =>
    requests.some((address) => address.includes("/export/") && address.includes("token")),
  );
  await page.context().close();
});

t.test("the panel is made higher by keys, closes by Escape, and gives the place back", async (t) => {
  const { page } = await openPage(browser, home);
  await openTable(page, "parks");
  const height = async () => (await page.locator(".bottom-panel").boundingBox())!.height;
  const before = await height();
  await page.focus(".bottom-panel [role=separator]");
  await page.keyboard.press("ArrowUp");
  await until(
    page,
    `document.querySelector(".bottom-panel").getBoundingClientRect().height === ${before + 40}`,
  );
  await soon(t).equal(
    () => page.getAttribute(".bottom-panel [role=separator]", "aria-valuenow"),
    String(before + 40),
  );
  await page.keyboard.press("Escape");
  await soon(t).notOk(() => page.isVisible(".bottom-panel"));
  await soon(t).notOk(() => page.locator(".with-bottom-panel").count());
  await page.context().close();
});

t.test("an edit is seen in an open table", async (t) => {
  const { page } = await openPage(browser, home);
  await openTable(page, "parks");
  await counted(page, "2 objects");
  await waitFor(() => server.nodes.some(({ services }) => services.mapEvents.listeners === 1));
  await addObject(server, "parks", square(1, 1, 1), { map: "town" });
  await counted(page, "3 objects");
  await soon(t).same(() => cells(page, 2), ["3", "—", "—", "—"]);
  await page.context().close();
});

t.test("on a phone it is a sheet that fits, with rows for a finger", async (t) => {
  const { page, problems } = await openPage(browser, home, {
    viewport: { width: 360, height: 740 },
    deviceScaleFactor: 2,
    isMobile: true,
    hasTouch: true,
  });
  await page.tap(".layers-header");
  await page.tap("[aria-label='More for parks']");
  await page.tap("text=Table of objects");
  await page.waitForSelector(".table-rows .table-row[data-id]");
  await soon(t).equal(() => page.evaluate("document.documentElement.scrollWidth"), 360);
  const small = await page.$$eval(
    ".bottom-header > button, .bottom-header .button, .table-row[data-id]",
    (all) =>
      all
        .map((element) => element.getBoundingClientRect())
        .filter((box) => box.width > 0 && (box.width < 40 || box.height < 40)),
  );
  t.same(small, []);
  t.same(problems, []);
  await page.context().close();
});

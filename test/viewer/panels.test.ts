import type { Page } from "playwright-core";
import t from "tap";
import { startServer } from "../support/server.js";
import { makeTown, openPage, pixel, pixelOf, press, soon, startBrowser, until } from "./support.js";

/** The panel at the side: its width, and long names in it. */

const server = await startServer();
t.teardown(() => server.stop());
const town = await makeTown(server);
const browser = await startBrowser(t);
const home = `${server.url}/#project=p&map=town&z=4&lat=10&lon=10`;
const long =
  "Routes of the trams and trolleybuses of the whole conurbation, with those that are closed in summer";
{
  // Folders in folders, with a long name at the end.
  let parent: number | null = null;
  const { rows } = await server.sql.query("select map_id from node where id = $1", [town.parks]);
  for (const code of ["one", "two", "three", "four"]) {
    const folder: { rows: { id: number }[] } = await server.sql.query(
      `insert into node (map_id, type, code, name, sort, parent_id) values ($1, 'folder', $2, $2, 9, $3) returning id`,
      [rows[0].map_id, code, parent],
    );
    parent = folder.rows[0]!.id;
  }
  await server.sql.query("update node set parent_id = $1, name = $2 where id = $3", [
    parent,
    long,
    town.stops,
  ]);
  await server.sql.query(
    "update map set name = $1, names = '{}', localized_name = false where code = 'town'",
    [long],
  );
  await server.nodes[0]!.services.changes.propagate();
}

const widthOf = async (page: Page) => Math.round((await page.locator(".layers").boundingBox())!.width);

t.test("the panel is as wide as the user draws it, and stays so", async (t) => {
  const { page, problems } = await openPage(browser, home);
  const first = await widthOf(page);
  const handle = (await page.locator(".side-handle").boundingBox())!;
  await page.mouse.move(handle.x + handle.width / 2, handle.y + handle.height / 2);
  await page.mouse.down();
  await page.mouse.move(handle.x + 80, handle.y + handle.height / 2);
  await page.mouse.move(handle.x + handle.width / 2 + 150, handle.y + handle.height / 2);
  await page.mouse.up();
  await soon(t).equal(() => widthOf(page), first + 150);
  await soon(t).equal(
    async () => Number(await page.getAttribute(".side-handle", "aria-valuenow")),
    first + 150,
  );
  const { hash } = new URL(page.url());
  t.match(hash, /lat=10\.0+&lon=10\.0+/, "the map was not moved");
  await page.reload();
  await page.waitForSelector(".tree-row");
  await soon(t).equal(() => widthOf(page), first + 150);
  await page.dblclick(".side-handle");
  await soon(t).equal(() => widthOf(page), first, "back to what it was");
  t.same(problems, []);
  await page.context().close();
});

t.test("the width can be changed by keyboard, within limits", async (t) => {
  const { page } = await openPage(browser, home);
  const first = await widthOf(page);
  const handle = page.getByRole("separator", { name: "Width of the panel" });
  await handle.focus();
  await page.keyboard.press("ArrowRight");
  await soon(t).ok(async () => (await widthOf(page)) > first);
  await page.keyboard.press("ArrowLeft");
  await soon(t).equal(() => widthOf(page), first);
  await page.keyboard.press("Home");
  const least = await widthOf(page);
  t.equal(least, Number(await handle.getAttribute("aria-valuemin")));
  await page.keyboard.press("End");
  const most = await widthOf(page);
  t.equal(most, Number(await handle.getAttribute("aria-valuemax")));
  t.ok(least < first && first < most && most <= 800);
  // The part of the map that is fitted into begins beside the panel.
  await page.click("[aria-label='Show the whole map']");
  await page.setViewportSize({ width: 900, height: 700 });
  await until(page, "document.querySelector('.layers').getBoundingClientRect().width <= 560");
  t.pass("a smaller window leaves room for the map");
  await page.context().close();
});

t.test("what is remembered wrongly is not believed", async (t) => {
  const { page, problems } = await openPage(browser, home);
  const first = await widthOf(page);
  for (const stored of ["NaN", "-5", "1e9", "null", "{}"]) {
    await page.evaluate(`localStorage.setItem("mapwright.sideWidth", ${JSON.stringify(stored)})`);
    await page.reload();
    await page.waitForSelector(".tree-row");
    const width = await widthOf(page);
    t.ok(width >= 200 && width <= 800, `${stored}: ${width}`);
  }
  t.ok(first > 0);
  t.same(problems, []);
  await page.context().close();
});

t.test("long names can be read", async (t) => {
  for (const width of [1280, 700]) {
    const { page } = await openPage(browser, home, { viewport: { width, height: 800 } });
    const name = page.locator(".tree-name", { hasText: "Routes" });
    const cut = await name.evaluate((element) => element.scrollWidth > element.clientWidth + 1);
    t.notOk(cut, `nothing is cut at ${width}`);
    const box = (await name.boundingBox())!;
    t.ok(box.width >= 90, `room for words at ${width}: ${box.width}`);
    await soon(t).equal(() => page.getAttribute(".chooser-title", "title"), long);
    await page.click(".chooser-button");
    const entry = page.locator(".chooser-entry .chooser-text").first();
    await soon(t).notOk(() => entry.evaluate((element) => element.scrollWidth > element.clientWidth + 1));
    await page.context().close();
  }
});

t.test("a map whose layers are grouped is one entry, which switches the whole map", async (t) => {
  const token = await server.token("admin");
  const set = (group_layers: number) =>
    server.api("PATCH", "town/", { token, body: { group_layers, name: { en: "The town" } } });
  t.equal((await set(1)).status, 200);
  const { page, problems, requests } = await openPage(browser, home);
  t.same(await page.locator(".tree-row label").allTextContents(), ["The town"]);
  t.notOk(
    requests.some((address) => /\/(?:legend|icon)\//.test(address)),
    "it has no legend or icon",
  );
  const isGreen = async () => {
    const { x, y } = await pixelOf(page, 5, 5);
    const [red = 255, green = 0] = await pixel(page, x, y);
    return red < 60 && green > 200;
  };
  await soon(t).ok(isGreen);
  await press(page, 5, 5);
  await page.waitForSelector(".object h2");
  await soon(t).equal(() => page.textContent(".object h2"), "Green park");
  await soon(t).equal(() => page.textContent(".object-layer"), "The town");
  await page.keyboard.press("Escape");
  await page.uncheck(".tree-row input");
  await soon(t).notOk(isGreen);
  t.match(page.url(), /layers=0/);
  await page.check(".tree-row input");
  await soon(t).ok(isGreen);
  t.notMatch(page.url(), /layers=/);
  t.same(problems, []);
  await page.context().close();
  await set(0);
});

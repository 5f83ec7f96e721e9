import t from "tap";
import { startServer } from "../support/server.js";
import { makeTown, openPage, pixel, pixelOf, soon, startBrowser, until } from "./support.js";

/** Translucent layers and the choice of a base map, over the real server. */

const server = await startServer();
t.teardown(() => server.stop());
const town = await makeTown(server);
await server.sql.query("update map set css_style = 'Map { background-color: #ffffff }' where code = 'town'");
await server.nodes[0]!.services.changes.propagate();
const browser = await startBrowser(t);
const home = `${server.url}/#project=p&map=town&z=4&lat=10&lon=10`;

type Page = Parameters<typeof pixel>[0];

const colour = async (page: Page, lat: number, lon: number) => {
  const { x, y } = await pixelOf(page, lat, lon);
  return (await pixel(page, x, y)).slice(0, 3);
};
const isNear = (seen: number[], wanted: number[]) =>
  wanted.every((value, index) => Math.abs(value - seen[index]!) <= 3);

/** Waits until so many pictures are shown, with all their tiles. */
const pictures = (page: Page, n: number) =>
  until(
    page,
    `(() => {
      const layers = document.querySelectorAll(".leaflet-tile-pane .leaflet-layer");
      const tiles = [...document.querySelectorAll(".leaflet-tile-pane img")];
      return layers.length === ${n} && tiles.length > 0 &&
        tiles.every((tile) => tile.classList.contains("leaflet-tile-loaded") && getComputedStyle(tile).opacity === "1");
    })()`,
  );

async function setOpacity(page: Page, name: string, percent: number): Promise<void> {
  await page.hover(`.tree-row:has-text("${name}")`);
  await page.click(`[aria-label="More for ${name}"]`);
  await page.fill("#opacity", String(percent));
  await page.keyboard.press("Escape");
}

t.test("a translucent layer lets through what is below it, and nothing else changes", async (t) => {
  const { page, requests, problems } = await openPage(
    browser,
    `${home}&layers=${Object.values(town).join(",")}`,
  );
  await soon(t).ok(async () => isNear(await colour(page, 5, 5), [0, 0, 255]), "plans cover the park");
  await setOpacity(page, "plans", 40);
  await pictures(page, 3);
  const mixed = await colour(page, 5, 5);
  t.ok(isNear(mixed, [0, 153, 102]), `${mixed}`);
  await soon(t).ok(
    async () => isNear(await colour(page, -5, 5), [153, 153, 255]),
    "beside it is the background",
  );
  await soon(t).ok(
    async () => isNear(await colour(page, 10, 10), [255, 0, 0]),
    "stops are above it, and opaque",
  );
  await page.waitForURL(new RegExp(`opacity=${town.plans}(:|%3A)40`));
  const above = requests.findLast((address) => address.includes(`layers=${town.stops}`))!;
  t.match(above, /base=0/);
  t.match(above, /background=0/);
  const other = await openPage(browser, page.url(), { waitForMap: false });
  await pictures(other.page, 3);
  await soon(t).ok(async () => isNear(await colour(other.page, 5, 5), mixed), "a link shows the same");
  await other.page.context().close();
  await setOpacity(page, "plans", 100);
  await pictures(page, 1);
  await soon(t).ok(async () => isNear(await colour(page, 5, 5), [0, 0, 255]));
  await soon(t).notMatch(() => page.url(), /opacity/);
  t.same(problems, []);
  await page.context().close();
});

t.test("only so many layers are translucent at once", async (t) => {
  const { page } = await openPage(
    browser,
    `${home}&layers=${Object.values(town).join(",")}&opacity=${[town.parks, town.stops, town.stations, town.plans].map((id) => `${id}:50`).join(",")}`,
    { waitForMap: false },
  );
  await pictures(page, 4 + 1 - 1 + 1);
  await page.hover(".tree-row:has-text('plans')");
  await page.click("[aria-label='More for plans']");
  await soon(t).ok(() => page.isDisabled("#opacity"));
  await soon(t).match(() => page.textContent("#opacity-refusal"), "Only 3 layers");
  await page.context().close();
});

t.test("the slider works by keys, and is named", async (t) => {
  const { page } = await openPage(browser, home);
  await page.focus("[aria-label='More for parks']");
  await page.keyboard.press("Enter");
  await soon(t).equal(() => page.evaluate("document.activeElement.id"), "opacity");
  await page.keyboard.press("ArrowLeft");
  await page.waitForURL(/opacity=/);
  await soon(t).equal(() => page.getAttribute("#opacity", "aria-valuetext"), "95 %");
  await soon(t).equal(() => page.getAttribute(".popup-menu", "aria-label"), "More for parks");
  await page.keyboard.press("Escape");
  await soon(t).equal(
    () => page.evaluate("document.activeElement.getAttribute('aria-label')"),
    "More for parks",
  );
  await page.context().close();
});

t.test("beside a base map of the project there is the built-in one, and none", async (t) => {
  await server.sql.query(
    `update project set base_map = '{"kind": "tiles", "url": "https://tiles.example.org/{z}/{x}/{y}.png", "attribution": "Survey"}' where code = 'p'`,
  );
  // What covers a base map is offered none.
  await server.sql.query("update map set css_style = '' where code = 'town'");
  await server.nodes[0]!.services.changes.propagate();
  const { page, requests } = await openPage(browser, home, { waitForMap: false });
  await page.waitForSelector("#base-choice");
  await soon(t).notOk(() => page.isVisible("#base-switch"));
  await soon(t).match(() => page.innerText(".attribution"), "Survey");
  await page.selectOption("#base-choice", "builtin");
  await page.waitForURL(/base=builtin/);
  await soon(t).match(() => page.innerText(".attribution"), "Natural Earth");
  await until(page, "true");
  await soon(t).ok(() => requests.some((address) => /x=\d+.*base=builtin/.test(address)));
  await page.reload();
  await page.waitForSelector("#base-choice");
  await soon(t).equal(() => page.inputValue("#base-choice"), "builtin");
  await page.selectOption("#base-choice", "none");
  await page.waitForURL(/base=0/);
  await soon(t).notMatch(() => page.innerText(".attribution"), /Survey|Natural/);
  await page.context().close();
});

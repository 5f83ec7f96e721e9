import type { Page } from "playwright-core";
import t from "tap";
import { startServer } from "../support/server.js";
import { openPage, soon, startBrowser } from "../viewer/support.js";
import { area, signIn } from "./support.js";

/** The maps of a project: to them and back, and what can be done with each. */

const server = await startServer();
t.teardown(() => server.stop());
const browser = await startBrowser(t);
const home = `${server.url}/console/#project=p`;
const token = await server.token("admin");
const made = (code: string, name: string) => server.api("POST", "", { token, body: { code, name } });
const nameOf = async (code: string) =>
  (await server.api("GET", `${code}/`, { token })).json?.name as string | undefined;
const entries = (page: Page) => page.locator(".home-name").allTextContents();
const focused = (page: Page) => page.evaluate<string>("document.activeElement?.textContent ?? ''");

async function signedIn(login = "admin"): Promise<Page> {
  const { page } = await openPage(browser, home, { waitForMap: false });
  await signIn(page, login);
  await page.waitForSelector(".home-card");
  return page;
}

t.test("an open map has a way home, by pointer, keys and the browser's history", async (t) => {
  await made("there", "There");
  const page = await signedIn();
  await soon(t).match(() => focused(page), /\S/, "something has the focus after signing in");
  await page.click("[data-map='there']");
  await page.waitForSelector(".tree .hint");
  await page.locator(".to-home").focus();
  await page.keyboard.press("Enter");
  await page.waitForSelector(".home-card");
  t.match(page.url(), /#project=p$/);
  await soon(t).equal(() => focused(page), "There", "one is where one was");
  await page.evaluate("history.back()");
  await page.waitForSelector(".chooser-title:has-text('There')");
  await page.context().close();
});

t.test("the panel for a style does not lie over the layer that is styled", async (t) => {
  await made("beside", "Beside");
  await server.api("POST", "beside/layers/", { token, body: { code: "areas" } });
  // Between the panels there is room for two of them, at half the zoom that fills the page.
  const features = [0, 40].map((x) => ({ type: "Feature", properties: {}, geometry: area(x) }));
  const body = { type: "FeatureCollection", features };
  await server.api("POST", "beside/layers/areas/import/", { token, body });
  for (const [width, height] of [
    [1280, 800],
    [360, 740],
  ] as const) {
    const { page } = await openPage(browser, home, { waitForMap: false, viewport: { width, height } });
    await signIn(page, "admin");
    await page.click("[data-map='beside']");
    await page.locator(".tree-choose").waitFor({ state: "attached" });
    await page.evaluate("document.querySelector('.tree-choose').click()");
    await page.waitForSelector(".style-panel:not([hidden])");
    /** Pixels of the page at which the easternmost place is, and the southernmost. */
    const at = () => {
      const [, zoom, lat, lon] = /z=(\d+)&lat=([\d.-]+)&lon=([\d.-]+)/.exec(page.url())!.map(Number);
      const pixels = 256 * 2 ** zoom!;
      const down = (degrees: number) =>
        pixels * (0.5 - Math.asinh(Math.tan((degrees * Math.PI) / 180)) / (2 * Math.PI));
      return [width / 2 + (pixels * (44 - lon!)) / 360, height / 2 + down(50) - down(lat!)] as const;
    };
    const panel = (await page.locator(".style-panel").boundingBox())!;
    await soon(t).equal(
      () => (width > 640 ? at()[0] < panel.x : at()[1] < panel.y),
      true,
      `${width} pixels wide: the panel is beside it`,
    );
    await page.context().close();
  }
});

t.test("the address has what part of the map is seen, for a reload, the way back and others", async (t) => {
  await made("wide", "Wide");
  const page = await signedIn();
  await page.click("[data-map='wide']");
  await page.waitForSelector(".tree .hint");
  const there = "z=9&lat=41.9000&lon=12.5000";
  await page.evaluate(`location.hash = "project=p&map=wide&${there}"`);
  const shown = () => page.evaluate<string>("document.querySelector('.scale').textContent");
  await soon(t).match(() => page.url(), /z=9&lat=41\.9000&lon=12\.5000$/);
  await page.waitForTimeout(300);
  const scale = await shown();
  await page.reload();
  await page.waitForSelector(".chooser-title:has-text('Wide')");
  t.match(page.url(), there);
  await soon(t).equal(shown, scale, "it is seen again");
  await page.locator(".leaflet-control-zoom-in, [aria-label='Zoom in']").first().click();
  await soon(t).match(() => page.url(), /z=10&/);
  await page.click(".to-home");
  await page.waitForSelector(".home-card");
  t.match(page.url(), /#project=p$/);
  await page.evaluate("history.back()");
  await soon(t).match(() => page.url(), /map=wide&z=10&/);
  await page.waitForSelector(".chooser-title:has-text('Wide')");
  await page.click(".to-home");
  await page.click("[data-map='wide']");
  await page.waitForSelector(".tree .hint");
  await soon(t).notMatch(() => page.url(), /z=10&/, "who chooses the map sees all of it");
  await page.context().close();
});

t.test("a new map has a name that no other has, and equal names are told apart", async (t) => {
  const page = await signedIn();
  for (const name of ["New map", "New map 2"]) {
    await page.click("button:has-text('New empty map')");
    await page.waitForSelector(`.chooser-title:text-is("${name}")`);
    await page.click(".to-home");
    await page.waitForSelector(".home-card");
  }
  await made("rome-a", "Rome");
  await made("rome-b", "Rome");
  await page.reload();
  await page.waitForSelector(".home-card");
  const shown = await entries(page);
  t.ok(shown.includes("Romerome-a") && shown.includes("Romerome-b"), "with their codes");
  t.ok(shown.includes("New map 2"), "others without");
  await page.context().close();
});

t.test("maps are renamed, deleted and brought back on the page of maps, with keys only", async (t) => {
  await made("old", "Old name");
  const page = await signedIn();
  const { keyboard } = page;
  const openMenu = async () => {
    await page.locator(".home-entry:has([data-map='old']) .home-more").focus();
    await keyboard.press("Enter");
    await page.waitForSelector(".popup-menu:popover-open");
  };
  await openMenu();
  await keyboard.press("ArrowDown");
  await keyboard.press("Enter");
  await page.waitForSelector(".tool-dialog");
  await keyboard.type("Better name");
  await keyboard.press("Enter");
  await soon(t).equal(() => nameOf("old"), "Better name");
  await soon(t).ok(async () => (await entries(page)).includes("Better name"));
  await soon(t).match(() => focused(page), /Better name/);

  await openMenu();
  await keyboard.press("ArrowUp");
  await keyboard.press("Enter");
  await page.waitForSelector("text=Delete Better name?");
  await keyboard.press("Escape");
  await soon(t).equal(() => page.locator("dialog").count(), 0);
  t.ok((await entries(page)).includes("Better name"));
  await openMenu();
  await keyboard.press("ArrowUp");
  await keyboard.press("Enter");
  await page.waitForSelector("text=Delete Better name?");
  await keyboard.press("Tab");
  await keyboard.press("Enter");
  await page.waitForSelector(".toast button:has-text('Undo')");
  t.equal((await server.api("GET", "old/", { token })).status, 404);
  await soon(t).match(() => focused(page), /\S/, "a neighbour has the focus");
  await page.locator(".toast button:has-text('Undo')").focus();
  await keyboard.press("Enter");
  await soon(t).equal(() => nameOf("old"), "Better name");
  await soon(t).ok(async () => (await entries(page)).includes("Better name"));
  await soon(t).match(() => focused(page), /Better name/);
  await page.context().close();
});

t.test("who may not administer maps is not offered what he may not do", async (t) => {
  await made("theirs", "Theirs");
  const page = await signedIn("editor");
  t.equal(await page.locator(".home-entry:has([data-map='theirs']) .home-more").count(), 0);
  await page.context().close();
});

t.test("two who rename a map: the second is told, and may insist", async (t) => {
  await made("shared", "Shared");
  const page = await signedIn();
  const rename = async (name: string) => {
    await page.click(".home-entry:has([data-map='shared']) .home-more");
    await page.click(".popup-menu button:has-text('Rename')");
    await page.waitForSelector("#asked-name");
    await page.fill("#asked-name", name);
  };
  await rename("Mine");
  await server.api("PATCH", "shared/", { token, body: { name: "Yours" } });
  await page.keyboard.press("Enter");
  await page.waitForSelector(".toast:has-text('it is called Yours now')");
  t.equal(await nameOf("shared"), "Yours");
  await page.click(".toast button:has-text('Do it all the same')");
  await soon(t).equal(() => nameOf("shared"), "Mine");

  await rename("Disjoint");
  await server.api("PATCH", "shared/", { token, body: { has_publication: false } });
  await page.keyboard.press("Enter");
  await soon(t).equal(() => nameOf("shared"), "Disjoint");
  t.equal((await server.api("GET", "shared/", { token })).json.has_publication, false, "theirs stays");
  await page.context().close();
});

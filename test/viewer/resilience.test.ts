import t from "tap";
import { startServer } from "../support/server.js";
import { hold, makeTown, type OpenPage, openPage, pictureComplete, soon, startBrowser } from "./support.js";

/** The viewer when the network, a session or a link fails. */

const server = await startServer({ config: { "login.failuresPerLoginAndAddress": 2 } });
t.teardown(() => server.stop());
await makeTown(server);
const browser = await startBrowser(t);
const address = (map: string) => `${server.url}/#project=p&map=${map}&z=4&lat=10&lon=10`;

/** By the map itself, as a link would load the map again. Ends with the zoom's animation: the map takes no other zoom before. */
async function zoom(page: OpenPage["page"], key: "+" | "-"): Promise<void> {
  await page.press(".map", key);
  await page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))");
  await page.waitForSelector(".leaflet-zoom-anim", { state: "detached" });
}
const zoomIn = (page: OpenPage["page"]) => zoom(page, "+");
const isTile = (url: string) => url.includes("/tms/") && url.includes("x=");

async function signIn({ page }: OpenPage, password = "viewerviewer"): Promise<void> {
  await page.click(".sign-in-button");
  await page.fill("#sign-in-login", "viewer");
  await page.fill("#sign-in-password", password);
  await page.keyboard.press("Enter");
}

t.test("tiles that failed while offline load when the connection is back", async (t) => {
  const { page, requests } = await openPage(browser, address("town"));
  await page.context().setOffline(true);
  await zoomIn(page);
  await page.waitForSelector(".toast");
  await soon(t).equal(
    () => page.locator(".toast").innerText(),
    "You are offline. The map goes on when the connection is back.",
  );
  await soon(t).equal(() => page.locator(".toast").count(), 1, "told once, not for each tile");
  await page.waitForSelector(".toast", { state: "detached" });
  await soon(t).match(() => page.locator(".layers-failure").innerText(), "You are offline.");
  await page.click(".layers-header");
  await soon(t).equal(
    () => page.getByRole("img", { name: "You are offline." }).isVisible(),
    true,
    "it stays",
  );
  await page.click(".layers-header");
  const asked = requests.length;
  await page.context().setOffline(false);
  await pictureComplete(page);
  t.ok(requests.length > asked);
  const shown = await page.evaluate<boolean>(
    `[...document.querySelectorAll(".leaflet-tile")].every((tile) => tile.complete && tile.naturalWidth > 0)`,
  );
  t.ok(shown, "no tile is missing");
  await soon(t).equal(
    () => page.locator(".layers-failure, .panel-sign").filter({ visible: true }).count(),
    0,
  );
  await page.context().close();
});

t.test("failing tiles that are not shown any more are no failure any more", async (t) => {
  const { page } = await openPage(browser, address("town"));
  await page.route("**/tms/**", (route) =>
    /&z=5/.test(route.request().url()) ? route.abort() : route.continue(),
  );
  await zoomIn(page);
  await page.waitForSelector(".layers-failure:visible");
  await soon(t).equal(
    () => page.locator(".layers-failure").innerText(),
    "Parts of the map could not be loaded.",
  );
  await zoom(page, "-");
  await page.waitForSelector(".layers-failure", { state: "hidden" });
  t.pass();
  await page.context().close();
});

t.test(
  "tiles of before are blurred where their names are huge, until those of the zoom are there",
  async (t) => {
    const { page } = await openPage(browser, address("town"));
    const filters = () =>
      page.evaluate<string[]>(
        `[...document.querySelectorAll(".leaflet-tile-container:has(img)")].map((one) => getComputedStyle(one).filter).sort()`,
      );
    await soon(t).same(filters, ["none"]);
    const release = await hold(page, "**/tms/**");
    await zoomIn(page);
    await page.waitForSelector(".leaflet-tile-pane img[src*='z=5']", { state: "attached" });
    await soon(t).same(filters, ["none", "none"], "twice their size they can be read");
    await zoomIn(page);
    await soon(t).same(filters, ["blur(2px)", "none"]);
    await zoom(page, "-");
    await soon(t).same(filters, ["none", "none"], "sharp again, one zoom farther out");
    release();
    await pictureComplete(page);
    await soon(t).same(filters, ["none"]);
    await page.context().close();
  },
);

t.test("an expired session is told once, and its tiles are asked for no more", async (t) => {
  const opened = await openPage(browser, address("secret"), { waitForMap: false });
  const { page, requests } = opened;
  await page.waitForSelector("text=This map is private");
  await signIn(opened);
  await pictureComplete(page);
  const token = await page.evaluate<string>(
    "JSON.parse(sessionStorage.getItem('mapwright.sessions'))[0][1].token",
  );
  await server.api("POST", "logout/", { token });
  await zoomIn(page);
  await page.waitForSelector("text=This map is private");
  await soon(t).equal(() => page.locator(".toast").count(), 1);
  const refused = requests.filter(isTile);
  await page.waitForTimeout(2_500);
  t.equal(requests.filter(isTile).length, refused.length, "nothing is asked again");
  await signIn(opened);
  await pictureComplete(page);
  await soon(t).match(() => page.url(), /z=5/, "the view has stayed");
  await page.context().close();
});

t.test("a login that is locked out is told so, and for how long", async (t) => {
  const opened = await openPage(browser, address("town"));
  await signIn(opened, "wrong");
  const { page } = opened;
  const problem = () => page.locator("#sign-in-problem").innerText();
  await page.waitForSelector(".problem:has-text('wrong')");
  for (let attempt = 0; attempt < 4 && !(await problem()).includes("Too many"); attempt++) {
    await page.waitForSelector("dialog [type=submit]:enabled");
    await page.keyboard.press("Enter");
    await page.waitForSelector("#sign-in-problem:not(:empty)");
  }
  await soon(t).match(problem, /^Too many attempts\. Try again in \d+ minutes?\.$/);
  await page.context().close();
});

t.test(
  "links may name places between zooms and beyond 180 degrees, and a bad one has its own title",
  async (t) => {
    const { page } = await openPage(browser, `${server.url}/#project=p&map=town&z=4.5&lat=10&lon=190`);
    await soon(t).match(() => page.url(), /z=4\.5&lat=10\.\d+&lon=-170\./);
    await soon(t).match(() => page.title(), /^Town/);
    await page.evaluate(`location.hash = "#project=p&map=nothing"`);
    await page.waitForSelector("text=There is no such map");
    await soon(t).match(() => page.title(), /^There is no such map/);
    await page.context().close();
  },
);

import t from "tap";
import { startServer } from "../support/server.js";
import { makeTown, openPage, pixelOf, soon, startBrowser, until } from "./support.js";

/** Coordinates, the menu of a place, and the user's own position, over the real server. */

const server = await startServer();
t.teardown(() => server.stop());
await makeTown(server);
const browser = await startBrowser(t);
const home = `${server.url}/#project=p&map=town&z=4&lat=10&lon=10`;

t.test("the place under the pointer is told while it is on the map", async (t) => {
  const { page, problems } = await openPage(browser, home);
  const { x, y } = await pixelOf(page, 20, -5);
  await page.mouse.move(x, y);
  await page.waitForSelector(".pointer-place");
  const [lat, lon] = (await page.textContent(".pointer-place"))!.split(", ").map(Number);
  t.ok(Math.abs(lat! - 20) < 0.1 && Math.abs(lon! + 5) < 0.1, `${lat} ${lon}`);
  await page.mouse.move(100, 30);
  await until(page, "document.querySelector('.pointer-place').hidden");
  t.same(problems, []);
  await page.context().close();
});

t.test("a place's menu copies its coordinates and a link to it", async (t) => {
  const { page } = await openPage(browser, home, { permissions: ["clipboard-read", "clipboard-write"] });
  const { x, y } = await pixelOf(page, 20, -5);
  const clipboard = () => page.evaluate<string>("navigator.clipboard.readText()");
  await page.mouse.click(x, y, { button: "right" });
  await page.waitForSelector("[aria-label='This place']");
  await page.locator(".popup-menu button").first().click();
  await page.waitForSelector(".toast:has-text('Coordinates copied')");
  await soon(t).match(() => clipboard(), /^(20\.0|19\.9)\d+, -(5\.0|4\.9)\d+$/);
  await page.mouse.click(x, y, { button: "right" });
  await page.click("text=Copy a link to here");
  await page.waitForSelector(".toast:has-text('Link copied')");
  const link = new URLSearchParams(new URL(await clipboard()).hash.slice(1));
  t.ok(Math.abs(Number(link.get("lat")) - 20) < 0.1 && Math.abs(Number(link.get("lon")) + 5) < 0.1);
  t.equal(link.get("z"), "4");
  await page.mouse.click(x, y, { button: "right" });
  await page.keyboard.press("Escape");
  await soon(t).notOk(() => page.isVisible(".popup-menu"));
  await page.context().close();
});

t.test(
  "my position is shown with its circle, followed until the map is moved, and can be stopped",
  async (t) => {
    const { page, problems } = await openPage(browser, home, {
      permissions: ["geolocation"],
      geolocation: { latitude: 40, longitude: 20, accuracy: 500 },
    });
    await page.click("[aria-label='Show where I am']");
    await page.waitForSelector(".me");
    await soon(t).equal(() => page.getAttribute(".locate", "aria-pressed"), "true");
    const lat = () => Number(new URLSearchParams(new URL(page.url()).hash.slice(1)).get("lat"));
    const waitLat = async (wanted: number) => {
      const end = Date.now() + 20_000;
      while (Math.abs(lat() - wanted) > 0.01 && Date.now() < end) await page.waitForTimeout(50);
      t.ok(Math.abs(lat() - wanted) <= 0.01, `${lat()} is ${wanted}`);
    };
    await waitLat(40);
    await soon(t).ok(() => page.locator(".me-accuracy").count());
    await page.context().setGeolocation({ latitude: 40.05, longitude: 20, accuracy: 100 });
    await waitLat(40.05);
    await page.mouse.move(640, 400);
    await page.mouse.down();
    await page.mouse.move(640, 300, { steps: 5 });
    await page.mouse.up();
    await page.waitForSelector("[aria-label='Follow my position']");
    // The address is written when the map has glided to its end.
    await until(page, "!/lat=40\\.0(49|5)/.test(location.hash)");
    const moved = lat();
    await page.context().setGeolocation({ latitude: 40.06, longitude: 20, accuracy: 100 });
    await page.waitForTimeout(500);
    t.equal(lat(), moved, "the map stays where it was moved to");
    await page.click("[aria-label='Follow my position']");
    await waitLat(40.06);
    await page.click("[aria-label='Stop showing where I am']");
    await soon(t).equal(() => page.locator(".me").count(), 0);
    t.same(problems, []);
    await page.context().close();
  },
);

t.test("a position that may not be known is said not to be", async (t) => {
  const { page } = await openPage(browser, home);
  await page.click("[aria-label='Show where I am']");
  await page.waitForSelector(".toast:has-text('not allowed')");
  await soon(t).equal(() => page.getAttribute(".locate", "aria-pressed"), "false");
  await page.context().close();
});

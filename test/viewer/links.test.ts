import t from "tap";
import { startServer } from "../support/server.js";
import { makeTown, openPage, press, soon, startBrowser } from "./support.js";

/** Links to objects, over the real server. */

const server = await startServer();
t.teardown(() => server.stop());
const town = await makeTown(server);
const browser = await startBrowser(t);
const home = `${server.url}/#project=p&map=town&z=4&lat=10&lon=10`;
const [green, far] = (await server.api("GET", "town/layers/parks/objects/")).json as { id: number }[];

t.test("the address keeps the open object, and opens it again", async (t) => {
  const { page } = await openPage(browser, home);
  await press(page, 4, 4);
  await page.waitForSelector(".object h2");
  const link = page.url();
  t.match(link, `object=${town.parks}.${green!.id}`);
  await page.keyboard.press("Escape");
  await soon(t).notMatch(() => page.url(), /object=/);
  const opened = await openPage(browser, link);
  await opened.page.waitForSelector(".object h2");
  await soon(t).equal(() => opened.page.textContent(".object h2"), "Green park");
  await soon(t).equal(() => opened.page.locator("path.mark").count(), 1);
  await soon(t).equal(() => opened.page.url(), link, "the view is that of the link");
  t.same(opened.problems, []);
  await opened.page.context().close();
  await page.context().close();
});

t.test("without a view the object is gone to", async (t) => {
  const { page } = await openPage(
    browser,
    `${server.url}/#project=p&map=town&object=${town.parks}.${far!.id}`,
  );
  await page.waitForSelector(".object h2");
  await soon(t).equal(() => page.textContent(".object h2"), "Far park");
  await page.waitForURL(/lon=(3[5-9]|4\d)\./);
  await page.context().close();
});

t.test("going back to an address opens its object, or closes it", async (t) => {
  const { page } = await openPage(browser, `${home}&object=${town.parks}.${green!.id}`);
  await page.waitForSelector(".object h2");
  await page.evaluate(`location.hash = "${new URL(home).hash}"`);
  await page.waitForSelector(".object", { state: "hidden" });
  await soon(t).notMatch(() => page.url(), /object=/);
  await page.goBack();
  await page.waitForSelector(".object h2");
  await soon(t).equal(() => page.textContent(".object h2"), "Green park");
  await soon(t).match(() => page.url(), `object=${town.parks}.${green!.id}`);
  await page.context().close();
});

t.test("an object that is gone is told in words, and the address forgets it", async (t) => {
  for (const object of [`${town.parks}.999999`, "999999.1"]) {
    const { page, problems } = await openPage(browser, `${home}&object=${object}`);
    await page.waitForSelector(".toast:has-text('This object is not there any more.')");
    await soon(t).notOk(() => page.isVisible(".object"));
    await soon(t).notMatch(() => page.url(), /object=/);
    t.same(problems, []);
    await page.context().close();
  }
});

t.test("each object of several has its link, the list has none", async (t) => {
  const { page } = await openPage(browser, home);
  await press(page, 10, 10);
  await page.waitForSelector(".hits");
  await soon(t).notMatch(() => page.url(), /object=/);
  await page.click(".hit:has-text('South stop')");
  await soon(t).match(() => page.url(), `object=${town.stops}.`);
  await page.keyboard.press("ArrowLeft");
  await soon(t).match(() => page.url(), `object=${town.parks}.${green!.id}`);
  await page.click("[aria-label='Back to the list']");
  await soon(t).notMatch(() => page.url(), /object=/);
  await page.context().close();
});

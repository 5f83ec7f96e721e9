import type { Page } from "playwright-core";
import t from "tap";
import { startServer } from "../support/server.js";
import { makeTown, pictureComplete, startBrowser, until } from "./support.js";

/** What is asked for while the scripts of the viewer are on their way. */

const server = await startServer();
t.teardown(() => server.stop());
await makeTown(server);
const browser = await startBrowser(t);

for (const [name, address] of [
  ["a link", "/#project=p&map=town&z=4&lat=10&lon=10"],
  ["a link in another language", "/#project=p&map=town&z=4&lat=10&lon=10&lng=ru"],
  ["the first map", "/"],
] as const) {
  t.test(`${name}: maps and layers are asked for before the viewer is there, and once`, async (t) => {
    const context = await browser.newContext({ locale: "en-GB" });
    const page = await context.newPage();
    const asked: string[] = [];
    const problems: string[] = [];
    page.on("console", (message) => message.type() === "error" && problems.push(message.text()));
    page.on("request", (request) => {
      const found = /maps\.json|\/layers\/\?/.exec(request.url());
      if (found) asked.push(found[0]);
    });
    let start = () => {};
    const held = new Promise<void>((resolve) => {
      start = resolve;
    });
    await page.route("**/app.js", async (route) => {
      await held;
      await route.continue();
    });
    await page.goto(server.url + address, { waitUntil: "commit" });
    await until(page, "(window.earlyAnswers?.size ?? 0) >= 2");
    start();
    await pictureComplete(page);
    const expected = address.includes("lng")
      ? ["/layers/?", "maps.json", "maps.json"]
      : ["/layers/?", "maps.json"];
    t.same(asked.sort(), expected);
    t.same(problems, []);
    await context.close();
  });
}

t.test(
  "texts are loaded in the language of the interface only, and asked for before the viewer is there",
  async (t) => {
    const context = await browser.newContext({ locale: "de-AT" });
    const page = await context.newPage();
    const asked: string[] = [];
    page.on("request", (request) => {
      const found = /texts\/.*$/.exec(request.url());
      if (found) asked.push(found[0]);
    });
    let start = () => {};
    const held = new Promise<void>((resolve) => {
      start = resolve;
    });
    await page.route("**/app.js", async (route) => {
      await held;
      await route.continue();
    });
    const early = page.waitForRequest(/texts/);
    await page.goto(server.url, { waitUntil: "commit" });
    await early;
    start();
    await pictureComplete(page);
    t.equal(await page.textContent(".layers-title"), "Ebenen");
    t.same(asked, ["texts/german.js"]);
    await context.close();
  },
);

/** The page of a user with that language when one of its scripts does not come. */
async function openWithout(script: string, locale: string): Promise<Page> {
  const page = await (await browser.newContext({ locale })).newPage();
  await page.route(`**/${script}`, (route) => route.abort());
  await page.goto(server.url);
  await pictureComplete(page);
  return page;
}

t.test("without its texts the viewer speaks English", async (t) => {
  const page = await openWithout("german.js", "de-AT");
  t.equal(await page.textContent(".layers-title"), "Layers");
  t.equal(await page.getAttribute("html", "lang"), "en");
  await page.context().close();
});

t.test("the viewer does without the early script", async (t) => {
  const page = await openWithout("early.js", "en-GB");
  t.equal(await page.textContent(".chooser-title"), "Town");
  await page.context().close();
});

t.test("what failed early is asked for again", async (t) => {
  const context = await browser.newContext({ locale: "en-GB" });
  const page = await context.newPage();
  let failed = 0;
  await page.route("**/maps.json*", (route) => (failed++ === 0 ? route.abort() : route.continue()));
  await page.goto(server.url);
  await pictureComplete(page);
  t.equal(await page.textContent(".chooser-title"), "Town");
  await context.close();
});

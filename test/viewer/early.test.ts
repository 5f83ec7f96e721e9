import type { Page } from "playwright-core";
import t from "tap";
import { startServer } from "../support/server.js";
import { hold, makeTown, pictureComplete, pixel, screen, soon, startBrowser, until } from "./support.js";

/** What is asked for while the scripts of the viewer are on their way. */

const server = await startServer();
t.teardown(() => server.stop());
const town = await makeTown(server);
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
    const start = await hold(page, "**/app.js");
    await page.goto(server.url + address, { waitUntil: "commit" });
    await until(page, "(window.earlyAnswers?.size ?? 0) >= 2");
    start();
    await pictureComplete(page);
    const expected = ["/layers/?", "maps.json"];
    t.same(asked.sort(), expected);
    t.same(problems, []);
    await context.close();
  });
}

const desktop = { viewport: { width: 1280, height: 800 } };
for (const [name, address, options] of [
  ["a link", "/#project=p&map=town&z=4&lat=10&lon=10", desktop],
  ["a link with layers", `/#project=p&map=town&z=4&lat=10&lon=-5&layers=${town.plans}&base=0`, desktop],
  [
    "a place near a pole, from farther than the page is high",
    "/#project=p&map=town&z=0&lat=80&lon=170",
    desktop,
  ],
  [
    "a phone",
    "/#project=p&map=town&z=5&lat=10&lon=10&lng=ru",
    { viewport: { width: 390, height: 844 }, deviceScaleFactor: 2, isMobile: true, hasTouch: true },
  ],
] as const) {
  t.test(
    `${name}: the first tiles are shown before the viewer is there, and are those of the map`,
    async (t) => {
      const context = await browser.newContext({ locale: "en-GB", reducedMotion: "reduce", ...options });
      const page = await context.newPage();
      const asked: string[] = [];
      const problems: string[] = [];
      page.on("console", (message) => message.type() === "error" && problems.push(message.text()));
      page.on("request", (request) => request.url().includes("/?x=") && asked.push(request.url()));
      const start = await hold(page, "**/app.js");
      await page.goto(server.url + address, { waitUntil: "commit" });
      await until(
        page,
        "[...document.images].length > 3 && [...document.images].every((image) => image.complete)",
      );
      t.equal(await page.locator(".viewer").count(), 0);
      const early = [...asked];
      const before = await screen(page);
      start();
      await pictureComplete(page);
      await soon(t).equal(
        () => page.locator("body > div > div > img").count(),
        0,
        "the map has taken its place",
      );
      t.same(asked, early, "each tile is asked for once");
      const shown = await page.$$eval(".leaflet-tile", (all) =>
        all.map((tile) => (tile as { src?: string }).src),
      );
      t.same([...new Set(shown)].sort(), early.sort(), "and shown");
      // Beside the panels.
      const { width, height } = before;
      const places = Array.from({ length: 200 }, (_, n) => [
        Math.round(width * (name === "a phone" ? 0.1 + (n % 10) * 0.06 : 0.35 + (n % 10) * 0.05)),
        Math.round(height * (0.3 + (n / 200) * 0.35)),
      ]);
      const after = await screen(page);
      const at = (picture: typeof before) => places.map(([x, y]) => [...picture.at(x!, y!)].join());
      t.ok(new Set(at(before)).size > 1);
      t.same(at(before), at(after), "nothing has moved");
      t.same(problems, []);
      await context.close();
    },
  );
}

t.test("on a slow line coarse tiles come first, then those of the middle, all in few bytes", async (t) => {
  const context = await browser.newContext({ locale: "en-GB", reducedMotion: "reduce", ...desktop });
  const page = await context.newPage();
  const asked: URL[] = [];
  page.on("request", (request) => request.url().includes("/?x=") && asked.push(new URL(request.url())));
  const session = await context.newCDPSession(page);
  await session.send("Network.enable");
  const bytesPerSecond = 400_000;
  await session.send("Network.emulateNetworkConditions", {
    ...{ offline: false, latency: 400, downloadThroughput: bytesPerSecond, uploadThroughput: bytesPerSecond },
  });
  const start = await hold(page, "**/app.js");
  await page.goto(`${server.url}/#project=p&map=town&z=4&lat=10&lon=10`, { waitUntil: "commit" });
  await soon(t).ok(() => asked.some(({ searchParams }) => searchParams.get("z") === "4"));
  t.equal(await page.locator(".viewer").count(), 0, "before the viewer is there");
  start();
  await pictureComplete(page);
  await soon(t).equal(() => page.locator("body > div > div > img").count(), 0, "the map has taken its place");
  const zooms = asked.map(({ searchParams }) => Number(searchParams.get("z")));
  t.same(zooms, [...zooms].sort(), "the coarse ones first");
  t.same(new Set(zooms), new Set([2, 4]));
  t.ok(zooms.filter((zoom) => zoom === 2).length < zooms.length / 4);
  const sharp = asked.filter(({ searchParams }) => searchParams.get("z") === "4");
  t.same([...sharp[0]!.searchParams].slice(0, 2), Object.entries({ x: "8", y: "8" }));
  t.match(sharp.at(-1)!.search, /x=(?:5|11)&/);
  t.ok(asked.every(({ search }) => search.endsWith("&q=1&f=webp")));
  t.equal(new Set(asked.map(String)).size, asked.length, "each once");
  await context.close();
});

t.test(
  "a viewer that is there before the layers lets the first tiles be asked for before it is built",
  async (t) => {
    const context = await browser.newContext({ locale: "en-GB", reducedMotion: "reduce", ...desktop });
    const page = await context.newPage();
    await page.addInitScript(`
    globalThis.added = [];
    new MutationObserver((changes) => {
      for (const { addedNodes } of changes)
        for (const one of addedNodes)
          if (one.parentElement === document.body && one.matches("div"))
            globalThis.added.push(one.matches(".viewer") ? "viewer" : "tiles");
    }).observe(document, { childList: true, subtree: true });
  `);
    const answer = await hold(page, "**/layers/?*");
    const scriptCame = page.waitForEvent("requestfinished", (request) => request.url().endsWith("/app.js"));
    await page.goto(`${server.url}/#project=p&map=town&z=4&lat=10&lon=10`, { waitUntil: "commit" });
    await scriptCame;
    answer();
    await pictureComplete(page);
    t.equal(await page.evaluate("added[0]"), "tiles");
    await context.close();
  },
);

t.test(
  "a window that becomes another size while the viewer is on its way has each tile once, in its place",
  async (t) => {
    const context = await browser.newContext({ locale: "en-GB", reducedMotion: "reduce", ...desktop });
    const page = await context.newPage();
    const asked: string[] = [];
    page.on("request", (request) => request.url().includes("/?x=") && asked.push(request.url()));
    const start = await hold(page, "**/app.js");
    await page.goto(`${server.url}/#project=p&map=town&z=4&lat=10&lon=10`, { waitUntil: "commit" });
    const isThere = `document.images.length > 3 && [...document.images].every((image) => image.complete)`;
    await until(page, isThere);
    const middle = (x: number, y: number) => pixel(page, x, y);
    const before = await middle(640, 400);
    await page.setViewportSize({ width: 1000, height: 600 });
    await until(page, `innerWidth === 1000 && ${isThere}`);
    await soon(t).same(() => middle(500, 300), before, "the middle has stayed in the middle");
    t.notSame(await middle(640, 400), before);
    start();
    await pictureComplete(page);
    await soon(t).equal(() => page.locator("body > div > div > img").count(), 0);
    t.equal(new Set(asked).size, asked.length, "each is asked for once");
    await context.close();
  },
);

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
    const start = await hold(page, "**/app.js");
    const early = page.waitForRequest(/texts/);
    await page.goto(server.url, { waitUntil: "commit" });
    await early;
    start();
    await pictureComplete(page);
    await soon(t).equal(() => page.textContent(".layers-title"), "Ebenen");
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
  await soon(t).equal(() => page.textContent(".layers-title"), "Layers");
  await soon(t).equal(() => page.getAttribute("html", "lang"), "en");
  await page.context().close();
});

t.test("what failed early is asked for again", async (t) => {
  const context = await browser.newContext({ locale: "en-GB" });
  const page = await context.newPage();
  let failed = 0;
  await page.route("**/maps.json*", (route) => (failed++ === 0 ? route.abort() : route.continue()));
  await page.goto(server.url);
  await pictureComplete(page);
  await soon(t).equal(() => page.textContent(".chooser-title"), "Town");
  await context.close();
});

import t from "tap";
import { makeMap } from "../support/maps.js";
import { startServer } from "../support/server.js";
import { makeTown, openPage, pictureComplete, pixel, pixelOf, press, soon, startBrowser } from "./support.js";

/** The viewer on a desktop, over the real server. */

const server = await startServer();
t.teardown(() => server.stop());
const town = await makeTown(server);
const admin = await server.token("admin");
const browser = await startBrowser(t);
const home = `${server.url}/#project=p&map=town&z=4&lat=10&lon=10`;

const isGreen = ([red, green, blue]: number[]) => red! < 60 && green! > 200 && blue! < 60;
const isRed = ([red, green, blue]: number[]) => red! > 200 && green! < 60 && blue! < 60;
const isBlue = ([red, green, blue]: number[]) => red! < 60 && green! < 60 && blue! > 200;

/** Colour of the map at a place. */
async function colour(page: Parameters<typeof pixel>[0], lat: number, lon: number) {
  const { x, y } = await pixelOf(page, lat, lon);
  return pixel(page, x, y);
}

t.test("the first map opens by itself, with its tiles, from this server alone", async (t) => {
  const { page, requests, problems } = await openPage(browser, `${server.url}/`);
  t.same(problems, []);
  await soon(t).same(() => requests.filter((address) => !address.startsWith(`${server.url}/`)), []);
  const tiles = requests.filter((address) => address.includes("/tms/p/town/?"));
  t.ok(tiles.length > 0);
  t.ok(
    tiles.every((address) => /\/tms\/p\/town\/\?x=\d+&y=\d+&z=\d+$/.test(address)),
    tiles[0]!,
  );
  await soon(t).equal(() => page.title(), "Town · Mapwright");
  await soon(t).ok(async () => isGreen(await colour(page, 5, 5)), "a park is drawn");
  await page.context().close();
});

t.test("a screen of high density asks for tiles of twice the size", async (t) => {
  const { page, requests } = await openPage(browser, home, { deviceScaleFactor: 2 });
  const tiles = requests.filter((address) => address.includes("/?x="));
  t.ok(tiles.length > 0 && tiles.every((address) => address.endsWith("&retina=2")), tiles[0]!);
  await page.context().close();
});

t.test("a layer's switch changes the picture, and the address", async (t) => {
  const { page, requests } = await openPage(browser, home);
  await soon(t).ok(async () => isGreen(await colour(page, 5, 5)));
  await page.click("[data-code=plans]");
  await page.waitForURL(/layers=/);
  await pictureComplete(page);
  await soon(t).ok(async () => isBlue(await colour(page, 5, 5)), "the plans cover the park");
  await page.click("[data-code=plans]");
  await page.click("[data-code=parks]");
  await pictureComplete(page);
  const bare = await colour(page, 5, 5);
  t.notOk(isGreen(bare) || isBlue(bare), "neither is left");
  const last = requests.findLast((address) => address.includes("/?x="));
  t.equal(
    new URL(last!).searchParams.get("layers"),
    [town.stops, town.stations].sort((a, b) => a - b).join(","),
  );
  await page.click("text=Reset");
  await pictureComplete(page);
  await soon(t).ok(async () => isGreen(await colour(page, 5, 5)));
  await soon(t).notMatch(() => page.url(), /layers=/);
  await page.context().close();
});

t.test("a folder's switch acts on all under it", async (t) => {
  const { page } = await openPage(browser, home);
  await soon(t).ok(async () => isRed(await colour(page, 10, 10)));
  await page.click("[data-code=transport]");
  await page.waitForURL(/layers=/);
  await pictureComplete(page);
  await soon(t).ok(async () => isGreen(await colour(page, 10, 10)), "the stop is gone");
  await soon(t).notOk(() => page.isChecked("[data-code=stops]"));
  await soon(t).notOk(() => page.isChecked("[data-code=stations]"));
  await page.click("[data-code=stations]");
  await soon(t).ok(() => page.evaluate("document.querySelector('[data-code=transport]').indeterminate"));
  await page.click("[aria-label='Collapse Transport']");
  await soon(t).notOk(() => page.isVisible("[data-code=stops]"));
  await page.context().close();
});

t.test("the base map can be switched off", async (t) => {
  const { page, requests } = await openPage(browser, home);
  await page.click("#base-switch");
  await page.waitForURL(/base=0/);
  await pictureComplete(page);
  await soon(t).match(() => requests.findLast((address) => address.includes("/?x=")), /&base=0/);
  await page.context().close();
});

t.test("a project whose base map tiles do not have is offered none", async (t) => {
  const setBase = async (base: object) => {
    await server.sql.query("update project set base_map = $1 where code = 'p'", [base]);
    await server.nodes[0]!.services.changes.propagate();
  };
  for (const base of [
    { kind: "none" },
    { kind: "tiles", url: "https://tiles.example.org/{z}/{x}/{y}.png" },
  ]) {
    await setBase(base);
    const { page } = await openPage(browser, home);
    await soon(t).notOk(() => page.isVisible("#base-switch"), base.kind);
    await soon(t).notMatch(() => page.innerText("body"), "Natural Earth", base.kind);
    await page.context().close();
  }
  await setBase({ kind: "builtin" });
  const { page } = await openPage(browser, home);
  await soon(t).ok(() => page.isVisible("#base-switch"));
  await soon(t).match(() => page.innerText("body"), "Natural Earth");
  await page.context().close();
});

t.test("the row of the base map says whether it writes names", async (t) => {
  const setBase = async (base: object) => {
    await server.sql.query("update project set base_map = $1 where code = 'p'", [base]);
    await server.nodes[0]!.services.changes.propagate();
  };
  const hintOf = async (locale: string) => {
    const { page } = await openPage(browser, home, { locale });
    await page.waitForSelector(".base-row:visible");
    const shown = page.locator(".base-row small:visible");
    const text = (await shown.count()) === 0 ? null : await shown.innerText();
    await page.context().close();
    return text;
  };
  await setBase({ kind: "builtin", style: "muted" });
  t.equal(await hintOf("en"), "Land, water and borders");
  await setBase({ kind: "tiles", url: "https://tiles.example.org/{z}/{x}/{y}.png" });
  t.equal(await hintOf("en"), null, "what one of the project shows is not known");
  await setBase({ kind: "builtin", style: "dark" });
  t.equal(await hintOf("en"), "Land, water, borders and names");
  await setBase({ kind: "builtin" });
  for (const [locale, hint] of [
    ["en", "Land, water, borders and names"],
    ["de", "Land, Wasser, Grenzen und Namen"],
    ["fr", "Terres, eaux, frontières et noms"],
    ["es", "Tierra, agua, fronteras y nombres"],
    ["ru", "Суша, вода, границы и названия"],
  ] as const)
    t.equal(await hintOf(locale), hint, locale);
});

t.test("a map whose background covers the base map is offered none", async (t) => {
  const style = (css_style: string) => server.api("PATCH", "town/", { token: admin, body: { css_style } });
  const { page } = await openPage(browser, home);
  await soon(t).ok(() => page.isVisible("#base-switch"));
  t.equal((await style("Map { background-color: #f4f7ec }")).status, 200);
  await soon(t).notOk(() => page.isVisible("#base-switch"), "in a map that is open");
  await soon(t).notMatch(() => page.innerText("body"), "Natural Earth");
  const other = await openPage(browser, home);
  await soon(t).ok(() => other.page.isVisible("[data-code=plans]"));
  t.notOk(await other.page.isVisible("#base-switch"), "in one that is opened");
  for (const seen of [
    "/* Map { background-color: #f4f7ec } */",
    "Map { background-color: rgba(0, 64, 0, 0.2) }",
    // The list of all maps does not look through megabytes.
    `Map { background-color: #f4f7ec } /*${" ".repeat(10_000)}*/`,
    "",
  ]) {
    await style("Map { background-color: #f4f7ec }");
    await soon(t).notOk(() => page.isVisible("#base-switch"));
    t.equal((await style(seen)).status, 200, seen.slice(0, 60));
    await soon(t).ok(() => page.isVisible("#base-switch"), seen.slice(0, 60));
  }
  await page.context().close();
  await other.page.context().close();
});

t.test("a shared link opens the same view", async (t) => {
  const { page } = await openPage(browser, home, { permissions: ["clipboard-read", "clipboard-write"] });
  await page.click("[data-code=plans]");
  await page.click("#base-switch");
  await page.click("[aria-label='Zoom in']");
  await page.waitForURL(/z=5/);
  await pictureComplete(page);
  await page.click(".share");
  await page.locator("dialog .copy-row .button").first().click();
  await page.waitForSelector(".toast:has-text('Link copied')");
  const link = await page.evaluate<string>("navigator.clipboard.readText()");
  t.notMatch(link, /token/);
  const other = await openPage(browser, link);
  await soon(t).equal(() => new URL(other.page.url()).hash, new URL(page.url()).hash);
  await soon(t).ok(() => other.page.isChecked("[data-code=plans]"));
  await soon(t).notOk(() => other.page.isChecked("#base-switch"));
  await soon(t).ok(async () => isBlue(await colour(other.page, 5, 5)));
  await page.context().close();
  await other.page.context().close();
});

t.test("an address changed by hand, and the way back, are followed", async (t) => {
  const { page } = await openPage(browser, home);
  await page.evaluate(`location.hash = "project=p&map=town&z=3&lat=0&lon=0&layers=${town.plans}"`);
  await page.waitForSelector("[data-code=plans]:checked");
  await soon(t).notOk(() => page.isChecked("[data-code=parks]"));
  await page.goBack();
  await page.waitForSelector("[data-code=parks]:checked");
  await soon(t).match(() => page.url(), /z=4/);
  await page.context().close();
});

t.test("an address that makes no sense opens the map as it is", async (t) => {
  const { page, problems } = await openPage(
    browser,
    `${server.url}/#map=town&z=99&lat=x&lon=1e9&layers=a,-1`,
  );
  await soon(t).equal(() => page.textContent(".chooser-title"), "Town");
  t.same(problems, []);
  await page.context().close();
});

t.test("a map that does not exist is said not to, and another can be chosen", async (t) => {
  const { page } = await openPage(browser, `${server.url}/#project=p&map=gone`, { waitForMap: false });
  await page.waitForSelector("text=There is no such map");
  await page.click(".stage button");
  await page.click(".chooser-entry:has-text('Town')");
  await pictureComplete(page);
  await soon(t).match(() => page.url(), /map=town/);
  await page.context().close();
});

t.test(
  "a map without layers, and a server without maps, lead to the page that says what to do",
  async (t) => {
    await makeMap(server, "bare");
    const isThere = async (link: string | null) =>
      t.equal((await fetch(new URL(link ?? "none", `${server.url}/`))).status, 200, `${link}`);
    const bare = await openPage(browser, `${server.url}/#project=p&map=bare`);
    await isThere(await bare.page.getAttribute(".hint:has-text('no layers yet') a", "href"));
    await bare.page.context().close();
    const publish = async (isPublic: boolean) => {
      await server.sql.query("update map set has_publication = $1", [isPublic]);
      await server.nodes[0]!.services.changes.propagate();
    };
    await publish(false);
    const none = await openPage(browser, `${server.url}/`, { waitForMap: false });
    await isThere(await none.page.getAttribute(".stage:has-text('No maps yet') a", "href"));
    await none.page.context().close();
    await publish(true);
  },
);

t.test("a server that does not answer can be asked again", async (t) => {
  const context = await browser.newContext({ locale: "en-GB" });
  const page = await context.newPage();
  await page.route("**/layers/?*", (route) => route.abort());
  await page.goto(home);
  await page.waitForSelector("text=The server cannot be reached");
  await page.unroute("**/layers/?*");
  await page.click(".stage button:has-text('Try again')");
  await pictureComplete(page);
  await soon(t).ok(() => page.isVisible("[data-code=parks]"));
  await context.close();
});

t.test("a tile that the busy server refused is asked for again", async (t) => {
  const context = await browser.newContext({ locale: "en-GB" });
  const page = await context.newPage();
  const refused = new Set<string>();
  await page.route("**/tms/**", (route) => {
    const address = route.request().url();
    if (refused.has(address)) return route.continue();
    refused.add(address);
    return route.fulfill({ status: 503, headers: { "retry-after": "1" } });
  });
  await page.goto(home);
  await pictureComplete(page);
  await soon(t).ok(async () => isGreen(await colour(page, 5, 5)));
  await context.close();
});

t.test("a Russian browser gets Russian texts and names", async (t) => {
  const { page, requests, problems } = await openPage(browser, home, { locale: "ru-RU" });
  await soon(t).equal(() => page.getAttribute("html", "lang"), "ru");
  await soon(t).equal(() => page.textContent(".chooser-title"), "Город");
  await soon(t).equal(() => page.textContent(".layers-title"), "Слои");
  await soon(t).equal(() => page.textContent(".layers-header .pill"), "Включено 3 из 4");
  await soon(t).equal(() => page.textContent(".share"), "Поделиться");
  await soon(t).ok(() =>
    requests.filter((address) => address.includes("/?x=")).every((address) => address.includes("&lng=ru")),
  );
  await press(page, 10, 10);
  await page.waitForSelector(".hits");
  await soon(t).equal(() => page.textContent(".object h2"), "Здесь 3 объекта");
  const latin = await page.$$eval("button, label, h2, h3", (all) =>
    all
      .map((element) => `${element.getAttribute("aria-label") ?? ""} ${element.getAttribute("title") ?? ""}`)
      .filter((text) => /[a-z]{3}/i.test(text)),
  );
  // Names of layers and objects are data; the rest is translated.
  t.same(
    latin.filter(
      (text) => !/stops|stations|parks|plans|Transport|English|Deutsch|Français|Español/.test(text),
    ),
    [],
  );
  t.same(problems, []);
  await page.context().close();
});

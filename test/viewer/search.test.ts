import t from "tap";
import { matchedNames, matchedParts, matches } from "../../src/viewer/browser/matched-text.js";
import { parseCoordinates } from "../../src/viewer/browser/typed-coordinates.js";
import { makeMap, makeStyledLayer } from "../support/maps.js";
import { startServer } from "../support/server.js";
import { makeTown, onRequests, openPage, soon, startBrowser, until } from "./support.js";

/** The search field of the viewer, over the real server. */

const server = await startServer();
t.teardown(() => server.stop());
await makeTown(server);
const browser = await startBrowser(t);
const home = `${server.url}/#project=p&map=town&z=4&lat=10&lon=10`;
const field = ".search-field";
const options = ".search-option";

t.test("objects, layers and coordinates are found in one field, with what matches marked", async (t) => {
  const { page, requests, problems } = await openPage(browser, home);
  await page.fill(field, "park");
  await page.waitForSelector(`${options}:has-text('Far park')`);
  await soon(t).same(
    () => page.$$eval(".search-results h3", (all) => all.map((one) => one.textContent)),
    ["Layers", "Objects"],
  );
  await soon(t).same(
    () => page.$$eval(".search-title", (all) => all.map((one) => one.textContent)),
    ["parks", "Far park", "Green park"],
  );
  await soon(t).same(
    () => page.$$eval(".search-title mark", (all) => all.map((one) => one.textContent)),
    ["park", "park", "park"],
  );
  await soon(t).equal(() => requests.filter((address) => address.includes("/search/")).length, 1);
  await page.fill(field, "12.5, -3");
  await page.waitForSelector(`${options}:has-text('12.50000, -3.00000')`);
  t.same(problems, []);
  await page.context().close();
});

t.test("objects of one name are told apart by their country", async (t) => {
  await makeMap(server, "world");
  await makeStyledLayer(server, "world", "cities", "#c { marker-width: 4; }");
  const token = await server.token("editor");
  for (const code of ["name", "country"])
    await server.api("POST", "world/layers/cities/structure/", { token, body: { code, type: "string" } });
  for (const country of ["France", "United States"]) {
    const body = { fields: { name: "Paris", country }, geom: { type: "Point", coordinates: [2, 48] } };
    t.equal((await server.api("POST", "world/layers/cities/objects/", { token, body })).status, 200);
  }
  const { page } = await openPage(browser, `${server.url}/#project=p&map=world&z=4&lat=48&lon=2`);
  await page.fill(field, "paris");
  await page.waitForSelector(`${options}:has-text('France')`);
  await soon(t).same(
    () => page.$$eval(".search-detail", (all) => all.map((one) => one.textContent)),
    ["France · cities", "United States · cities"],
  );
  await page.context().close();
});

t.test("another name that matches is shown, and the title is not shown twice", async (t) => {
  await makeMap(server, "named");
  await makeStyledLayer(server, "named", "towns", "#t { marker-width: 4; }");
  const token = await server.token("editor");
  for (const code of ["name", "other_names"])
    await server.api("POST", "named/layers/towns/structure/", { token, body: { code, type: "string" } });
  const fields = { name: "Den Haag", other_names: "The Hague; Den Haag; La Haye" };
  const body = { fields, geom: { type: "Point", coordinates: [4, 52] } };
  t.equal((await server.api("POST", "named/layers/towns/objects/", { token, body })).status, 200);
  const settings = [{ layer: "towns", search_column: "other_names", name_column: "name" }];
  const admin = await server.token("admin");
  t.equal((await server.api("PUT", "named/search/settings/", { token: admin, body: settings })).status, 200);
  const { page } = await openPage(browser, `${server.url}/#project=p&map=named&z=4&lat=52&lon=4`);
  for (const [text, detail] of [
    ["haye", "La Haye · towns"],
    ["haag", "towns"],
  ] as const) {
    await page.fill(field, text);
    await page.waitForSelector(`${options}:has-text('Den Haag')`);
    await soon(t).same(
      () => page.$$eval(".search-detail", (all) => all.map((one) => one.textContent)),
      [detail],
    );
  }
  await page.context().close();
});

t.test("the keyboard chooses an object, which is gone to and opened", async (t) => {
  const { page } = await openPage(browser, home);
  await page.focus(field);
  await page.keyboard.type("stop");
  await page.waitForSelector(`${options}:has-text('South stop')`);
  await soon(t).equal(() => page.getAttribute(field, "aria-expanded"), "true");
  await soon(t).equal(() => page.getAttribute(field, "aria-activedescendant"), null);
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("ArrowUp");
  const active = await page.getAttribute(field, "aria-activedescendant");
  await soon(t).equal(() => page.textContent(`#${active} .search-title`), "North stop");
  await soon(t).equal(() => page.getAttribute(`#${active}`, "aria-selected"), "true");
  await soon(t).equal(
    () => page.evaluate("document.activeElement.className"),
    "search-field",
    "the focus stays",
  );
  await page.keyboard.press("Enter");
  await page.waitForSelector(".object h2");
  await soon(t).equal(() => page.textContent(".object h2"), "North stop");
  await soon(t).notOk(() => page.isVisible(".search-results"));
  await soon(t).equal(() => page.inputValue(field), "North stop");
  await page.waitForURL(/z=12/);
  await soon(t).equal(() => page.locator("path.mark").count(), 1);
  await page.context().close();
});

t.test("an object of a layer that is off switches it on, and a layer is gone to", async (t) => {
  const { page } = await openPage(browser, home);
  await page.fill(field, "plan");
  await page.waitForSelector(`${options}:has-text('Plan'):has(.search-detail)`);
  await page.click(`${options}:has-text('Plan'):has(.search-detail)`);
  await page.waitForSelector(".object h2");
  await soon(t).ok(() => page.isChecked("[data-code=plans]"));
  await page.keyboard.press("Escape");
  await page.fill(field, "stations");
  await page.keyboard.press("Enter");
  await page.waitForURL(/z=16/);
  await page.context().close();
});

t.test("Enter waits for the answer, and Escape closes and empties", async (t) => {
  const { page } = await openPage(browser, home);
  await page.focus(field);
  await page.keyboard.type("green pa");
  await page.keyboard.press("Enter");
  await page.waitForSelector(".object h2");
  await soon(t).equal(() => page.textContent(".object h2"), "Green park");
  await page.fill(field, "north");
  await page.waitForSelector(`${options}:has-text('North stop')`);
  await page.focus(field);
  await page.keyboard.press("Escape");
  await soon(t).notOk(() => page.isVisible(".search-results"));
  await soon(t).equal(() => page.inputValue(field), "north");
  await soon(t).ok(() => page.isVisible(".object"), "the object stays open");
  await page.keyboard.press("Escape");
  await soon(t).equal(() => page.inputValue(field), "");
  await page.context().close();
});

t.test("coordinates are gone to and marked", async (t) => {
  const { page } = await openPage(browser, home);
  await page.fill(field, "52.5, 13.4");
  await page.keyboard.press("Enter");
  await page.waitForURL(/z=13&lat=52\.5\d*&lon=13\.4/);
  await soon(t).ok(() => page.isVisible(".clicked-place"));
  await page.context().close();
});

t.test("nothing found and a server that does not answer are told in words", async (t) => {
  const { page } = await openPage(browser, home);
  await page.fill(field, "xyzzyq");
  await page.waitForSelector(".search-status:has-text('Nothing is called “xyzzyq”.')");
  await soon(t).equal(() => page.getAttribute(field, "aria-expanded"), "false");
  const cut = { "x-search-incomplete": "1" };
  await page.route(/\/search\//, (route) => route.fulfill({ json: [], headers: cut }));
  await page.fill(field, "xyzzyqc");
  await page.waitForSelector(".search-status:has-text('no time to look everywhere')");
  await page.route(/\/search\//, (route) => route.fulfill({ status: 503, body: "" }));
  await page.fill(field, "xyzzyqx");
  await page.waitForSelector(".search-status:has-text('The search failed.')");
  await page.route(/\/search\//, (route) => route.abort());
  await page.fill(field, "xyzzyqy");
  await page.waitForSelector(".search-status:has-text('cannot be reached')");
  await page.context().close();
});

t.test("a slow answer to an earlier text is dropped", async (t) => {
  const { page } = await openPage(browser, home);
  let late = 0;
  await onRequests(page, /phrase=gre&/, async (route) => {
    late++;
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    await route.continue();
  });
  const asked = page.waitForRequest(/phrase=gre&/);
  await page.fill(field, "gre");
  await until(page, `document.querySelector(".search-status").textContent === "Searching…"`);
  await asked;
  await page.fill(field, "south");
  await page.waitForSelector(`${options}:has-text('South stop')`);
  await page.waitForTimeout(1_200);
  t.equal(late, 1);
  await soon(t).same(
    () => page.$$eval(".search-title", (all) => all.map((one) => one.textContent)),
    ["South stop"],
  );
  await page.context().close();
});

t.test("on a phone the field is as wide as the page, and one tap away", async (t) => {
  const { page } = await openPage(browser, home, {
    viewport: { width: 360, height: 740 },
    hasTouch: true,
    isMobile: true,
  });
  const box = (await page.locator(".search-card").boundingBox())!;
  t.ok(box.width >= 336 && box.x >= 0 && box.x + box.width <= 360, `${box.x} ${box.width}`);
  t.ok(box.height >= 44 && box.y < 120);
  await page.tap(field);
  await page.keyboard.type("main");
  await page.waitForSelector(`${options}:has-text('Main station')`);
  await page.tap(`${options}:has-text('Main station')`);
  await page.waitForSelector(".object h2");
  await soon(t).equal(() => page.textContent(".object h2"), "Main station");
  await soon(t).equal(() => page.evaluate("document.documentElement.scrollWidth"), 360);
  await page.context().close();
});

t.test("coordinates are read as people write them", (t) => {
  const read: [text: string, lat: number, lon: number][] = [
    ["52.5, 13.4", 52.5, 13.4],
    ["52.5 13.4", 52.5, 13.4],
    ["52,5; 13,4", 52.5, 13.4],
    ["52,5 13,4", 52.5, 13.4],
    ["-33.9,-151", -33.9, -151],
    ["52.5N 13.4W", 52.5, -13.4],
    ["S 52.5, E 13.4", -52.5, 13.4],
    ["52°30'N 13°24'36\"E", 52.5, 13.41],
    ["52° 30′ 0″ N, 13° 24′ 0″ O", 52.5, 13.4],
    ["52.5°, 13.4°", 52.5, 13.4],
  ];
  for (const [text, lat, lon] of read) {
    const found = parseCoordinates(text);
    t.ok(
      found && Math.abs(found.lat - lat) < 1e-9 && Math.abs(found.lon - lon) < 1e-9,
      `${text}: ${JSON.stringify(found)}`,
    );
  }
  for (const text of [
    "",
    "52.5",
    "Berlin",
    "91, 0",
    "0, 181",
    "1, 2, 3",
    "52°70'N 13°E",
    "1e3, 2",
    "52.5, x",
  ])
    t.equal(parseCoordinates(text), undefined, text);
  t.equal(parseCoordinates(`${"1".repeat(10_000)}, 2`), undefined);
  t.end();
});

t.test("what matches is marked whatever its case and accents", (t) => {
  const marked = (text: string, phrase: string) =>
    matchedParts(text, phrase)
      .map((part) => (part.isMatch ? `[${part.text}]` : part.text))
      .join("");
  t.equal(marked("São Paulo", "sao"), "[São] Paulo");
  t.equal(marked("Sa\u0303o Paulo", "SAO pau"), "[Sa\u0303o] [Pau]lo");
  t.equal(marked("Straße", "strass"), "[Straß]e");
  t.equal(marked("Ёлка ёлка", "елка"), "[Ёлка] [ёлка]");
  t.equal(marked("a.b*c", ".b*"), "a.[b*]c");
  t.equal(marked("abc", ""), "abc");
  t.equal(marked("", "x"), "");
  t.ok(matches("Grüne Parks", "park grun"));
  t.equal(marked("Paris", "Paris, Texas"), marked("Paris", "paris"), "signs around words do not count");
  t.equal(marked("New York", "New-York"), marked("New York", "new york"));
  t.equal(marked("a & b", "&"), marked("a & b", "& "), "a sign alone does");
  t.equal(matchedNames("Köln; Keulen; Kolonia", "kol"), "Köln; Kolonia", "of a list those that match");
  t.equal(matchedNames("Köln; Keulen", "kln"), "Köln; Keulen");
  t.notOk(matches("Parks", "park x"));
  t.end();
});

import t from "tap";
import { makeMap, makeStyledLayer } from "../support/maps.js";
import { startServer, waitFor } from "../support/server.js";
import {
  hold,
  makeTown,
  openPage,
  pictureComplete,
  pixelOf,
  press,
  screen,
  soon,
  startBrowser,
} from "./support.js";

/** Asking the map what is at a place, over the real server. */

const server = await startServer({ config: { idAlias: "obj_id" } });
t.teardown(() => server.stop());
const town = await makeTown(server);
const browser = await startBrowser(t);
const home = `${server.url}/#project=p&map=town&z=4&lat=10&lon=10`;

t.test("a click shows the object's attributes", async (t) => {
  const { page, problems } = await openPage(browser, home);
  await press(page, 4, 4);
  await page.waitForSelector(".object h2");
  await soon(t).equal(() => page.textContent(".object h2"), "Green park");
  await soon(t).equal(() => page.textContent(".object-layer"), "parks");
  const rows = await page.$$eval(".attributes tr", (all) => all.map((row) => row.textContent));
  t.ok(rows.some((row) => row?.endsWith("Green park")));
  t.ok(
    rows.some((row) => row?.endsWith("21,000")),
    "a number with its separator",
  );
  t.ok(
    rows.some((row) => row?.endsWith("1921")),
    "a year without one",
  );
  t.notOk(
    rows.some((row) => /^(svc|obj).id/i.test(row ?? "")),
    "its id is no attribute, under neither name",
  );
  await soon(t).equal(() => page.locator("path.mark").count(), 1, "its outline is on the map");
  await page.keyboard.press("Escape");
  await soon(t).notOk(() => page.isVisible(".object"));
  await soon(t).equal(() => page.locator("path.mark").count(), 0);
  t.same(problems, []);
  await page.context().close();
});

t.test("values are in their formats; what the page's language lacks is the main one's", async (t) => {
  const token = await server.token("admin");
  const parks = "town/layers/parks/";
  for (const code of ["caption", "remark"]) {
    const body = { code, type: "text", localized_value: true };
    t.equal((await server.api("POST", `${parks}structure/`, { token, body })).status, 200);
  }
  const [park] = (await server.api("GET", `${parks}objects/?fields=name&fcode=name&fval=Green+park`)).json;
  const format = { kind: "number", grouping: true, suffix: { en: " trees", ru: " деревьев" } };
  const column = { type: "number", localized_value: false, format };
  const changed = await server.api("PATCH", `${parks}structure/trees/`, { token, body: column });
  t.equal(changed.status, 200, changed.text);
  const fields = { caption: { en: "Only English", ru: "" }, remark: { en: "Both", ru: "Обоих" } };
  await server.api("PUT", `${parks}objects/${park.id}/`, { token, body: { fields } });
  const asked = async (locale: string, ...texts: string[]) => {
    const { page, requests } = await openPage(browser, home, { locale });
    await press(page, 4, 4);
    const cells = () => page.locator(".attributes td").allTextContents();
    for (const text of texts) await soon(t).ok(async () => (await cells()).includes(text), text);
    await page.context().close();
    return requests.filter((address) => /\/(identify|objects)\//.test(address)).length;
  };
  t.equal(await asked("ru-RU", "Green park", "Only English", "Обоих", "21\u00a0000 деревьев"), 1);
  t.equal(await asked("en-GB", "Green park", "Only English", "Both", "21,000 trees"), 1);
});

t.test("a description has the columns that the layer's settings name, in their order", async (t) => {
  const token = await server.token("admin");
  const choose = (json: object) =>
    server.api("PATCH", "town/layers/parks/", { token, body: { parent_id: 0, json } });
  const changed = await choose({ viewer: { columns: ["trees", "gone", "name", "trees"] } });
  t.equal(changed.status, 200);
  const { page, problems } = await openPage(browser, home);
  await press(page, 4, 4);
  await soon(t).same(() => page.locator(".attributes th").allTextContents(), ["Trees", "Name"]);
  t.equal(await page.textContent(".object h2"), "Green park", "the title is that of all columns");
  t.same(problems, []);
  await page.context().close();
  await choose({ viewer: { columns: [], title: "trees" } });
  const bare = await openPage(browser, home);
  await press(bare.page, 4, 4);
  const title = () => bare.page.textContent(".object h2");
  await soon(t).equal(title, "21,000 trees", "a number, as its column is read");
  t.equal(await bare.page.locator(".attributes").count(), 0);
  await bare.page.context().close();
  t.equal((await choose({})).status, 200);
});

t.test("a click on several objects lists them, the top layer's first", async (t) => {
  const { page } = await openPage(browser, home);
  await press(page, 10, 10);
  await page.waitForSelector(".hits");
  await soon(t).equal(() => page.textContent(".object h2"), "3 objects here");
  await soon(t).same(
    () => page.$$eval(".hits h3", (all) => all.map((heading) => heading.textContent)),
    ["stops", "parks"],
  );
  await page.click("text=South stop");
  await soon(t).equal(() => page.textContent(".object h2"), "South stop");
  await page.click("[aria-label='Back to the list']");
  await soon(t).equal(() => page.textContent(".object h2"), "3 objects here");
  await page.context().close();
});

t.test("one after the other of several objects is shown, with buttons and with keys", async (t) => {
  const { page, requests } = await openPage(browser, home);
  await press(page, 10, 10);
  await page.waitForSelector(".hits");
  t.notOk(
    requests.some((address) => address.includes("/structure/")),
    "what the attributes are called is not asked for a list",
  );
  const titles: (string | null)[] = [];
  const note = async () => titles.push(await page.textContent(".object h2"));
  await page.click("text=South stop");
  await note();
  await soon(t).equal(() => page.textContent(".page-number"), "1 of 3");
  await page.click("[aria-label='Next object']");
  await note();
  await soon(t).equal(() => page.textContent(".object-pages [role=status]"), "2 of 3: North stop");
  await soon(t).equal(
    () => page.evaluate("document.activeElement.getAttribute('aria-label')"),
    "Next object",
    "the focus stays where it was",
  );
  await page.keyboard.press("ArrowRight");
  await note();
  await page.keyboard.press("ArrowRight");
  await note();
  await page.keyboard.press("ArrowLeft");
  await note();
  t.same(titles, ["South stop", "North stop", "Green park", "South stop", "Green park"]);
  await soon(t).equal(() => page.locator("path.mark").count(), 1);
  await soon(t).equal(() => requests.filter((address) => address.includes("/identify/")).length, 1);
  await soon(t).equal(
    () => requests.filter((address) => address.includes("/structure/")).length,
    2,
    "once for each layer",
  );
  await page.context().close();
});

t.test("a layer that is off is not asked for objects", async (t) => {
  const { page, requests } = await openPage(browser, home);
  await page.click("[data-code=transport]");
  await press(page, 10, 10);
  await page.waitForSelector(".object h2");
  await soon(t).equal(() => page.textContent(".object h2"), "Green park");
  const asked = requests.filter((address) => address.includes("/identify/"));
  t.equal(asked.length, 1);
  t.equal(new URL(asked[0]!).searchParams.get("layers"), String(town.parks));
  await page.context().close();
});

t.test("a layer without attributes is passed over", async (t) => {
  const { page } = await openPage(browser, home);
  await server.sql.query("delete from layer_column where code = 'name' and layer_id = $1", [town.stations]);
  await waitFor(async () => {
    const { json } = await server.api("GET", "town/layers/stations/structure/");
    return json.every(({ code }: { code: string }) => code !== "name");
  });
  await press(page, 15, 15);
  await page.waitForSelector(".object h2");
  await soon(t).equal(() => page.textContent(".object h2"), "Green park");
  await page.context().close();
});

t.test("objects that are found late leave the focus where the user has gone meanwhile", async (t) => {
  const { page } = await openPage(browser, home);
  const answer = await hold(page, "**/identify/*");
  const asked = page.waitForRequest(/identify/);
  await page.focus(".map");
  await page.keyboard.press("Enter");
  await asked;
  await page.focus(".search-field");
  answer();
  await page.waitForSelector(".object h2");
  await soon(t).equal(() => page.evaluate("document.activeElement.className"), "search-field");
  await page.context().close();
});

t.test("an object that the style does not draw at this zoom is not found", async (t) => {
  const css = "#a { [zoom=4][name='Main station'], [zoom>=5] { marker-width: 24; marker-fill: #000000; } }";
  const found = async (css_style: string) => {
    const token = await server.token("editor");
    await server.api("PATCH", "town/layers/stops/", { token, body: { parent_id: 0, css_style } });
    const { page } = await openPage(browser, home);
    await press(page, 10, 10);
    await page.waitForSelector(".object h2");
    const title = await page.textContent(".object h2");
    await page.context().close();
    return title;
  };
  t.equal(await found(css), "Green park");
  t.equal(await found(css.replace("zoom>=5", "zoom>=4")), "3 objects here");
});

t.test("a click into the void says so", async (t) => {
  const { page } = await openPage(browser, home);
  await press(page, -8, 10);
  await page.waitForSelector(".toast:has-text('Nothing here')");
  await soon(t).notOk(() => page.isVisible(".object"));
  await page.context().close();
});

t.test("the keyboard alone finds an object", async (t) => {
  const { page } = await openPage(browser, home);
  await page.focus("#map");
  await page.keyboard.press("Enter");
  await page.waitForSelector(".hits");
  await soon(t).equal(() => page.textContent(".object h2"), "3 objects here");
  await page.context().close();
});

t.test("an object beside 180 degrees is found and marked from both sides", async (t) => {
  const token = await server.token("admin");
  const body = { fields: { name: "Last stop" }, geom: { type: "Point", coordinates: [179.95, 40] } };
  t.equal((await server.api("POST", "town/layers/stops/objects/", { token, body })).status, 200);
  const { page } = await openPage(browser, `${server.url}/#project=p&map=town&z=6&lat=40&lon=-179`);
  for (const lon of [-180.05, -179.95]) {
    await press(page, 40, lon);
    await page.waitForSelector(".object h2");
    await soon(t).equal(() => page.textContent(".object h2"), "Last stop");
    const marked = await page.locator("path.mark").boundingBox();
    const { x } = await pixelOf(page, 40, -180.05);
    t.ok(
      marked && Math.abs(marked.x + marked.width / 2 - x) < 3,
      `${lon}: the mark is at ${marked?.x} for ${x}`,
    );
    await page.keyboard.press("Escape");
  }
  await page.context().close();
});

t.test("a press on a circle of several objects zooms to where it parts", async (t) => {
  const token = await server.token("admin");
  await makeMap(server, "crowd");
  await makeStyledLayer(server, "crowd", "shops", "#a { marker-fill: #00ff00; }");
  const at = (lon: number, lat: number) => ({ geom: { type: "Point", coordinates: [lon, lat] } });
  const places = [at(10.5, 7.7), at(10.9, 7.7), at(10.5, 8.1), at(30, 10), at(30, 10)];
  const body = places.map((place) => ({ op: "create", fields: {}, ...place }));
  await server.api("POST", "crowd/layers/shops/structure/", {
    token,
    body: { code: "name", type: "string" },
  });
  const made = await server.api("POST", "crowd/layers/shops/objects/bulk/", { token, body });
  t.equal(made.status, 200, made.text);
  const visualSettings = { type: 8, classesSettings: { color: "#ff00ff" } };
  await server.api("PUT", "crowd/layers/shops/visualization/", { token, body: { visualSettings } });
  const { page, problems } = await openPage(browser, `${server.url}/#project=p&map=crowd&z=4&lat=8&lon=15`);
  const zoom = () => Number(new URLSearchParams(new URL(page.url()).hash.slice(1)).get("z"));
  await press(page, 7.83, 16);
  await page.waitForSelector(".toast");
  t.equal(zoom(), 4, "beside it nothing is found");
  await press(page, 7.83, 10.63);
  await soon(t).ok(() => zoom() >= 8 && zoom() <= 12);
  await pictureComplete(page);
  t.notOk(await page.isVisible(".object"));
  const painted = await screen(page);
  for (const [lon, lat] of [
    [10.5, 7.7],
    [10.9, 7.7],
    [10.5, 8.1],
  ] as const) {
    const { x, y } = await pixelOf(page, lat, lon);
    t.same([...painted.at(x, y)].slice(0, 3), [255, 0, 255], "its objects are seen");
  }
  t.same(problems, []);
  await page.context().close();
  const other = await openPage(browser, `${server.url}/#project=p&map=crowd&z=5&lat=10&lon=29`);
  await press(other.page, 10, 30);
  await soon(t).equal(() => other.page.locator(".object .hit").count(), 2, "what no zoom parts is listed");
  await other.page.waitForSelector(".object h3 .swatch img");
  t.same(other.problems, []);
  await other.page.context().close();
});

import type { Page } from "playwright-core";
import t from "tap";
import { startServer } from "../support/server.js";
import { makeTown, openPage, pictureComplete, press, soon, startBrowser } from "./support.js";

/** The language of the interface, and the language of the data. */

const server = await startServer();
t.teardown(() => server.stop());
const town = await makeTown(server);
const browser = await startBrowser(t);
const home = `${server.url}/#project=p&map=town&z=4&lat=10&lon=10`;

/** A language of the project that the interface does not have. */
const tatar = { map: "Шәһәр", layer: "Паркларда", column: "Турында", value: "Яшел урын" };
{
  const token = await server.token("admin");
  const send = async (path: string, method: string, body?: object) => {
    const answer = await server.api(method, `town/layers/parks/${path}`, { token, ...(body && { body }) });
    if (answer.status !== 200) throw new Error(`${path}: ${answer.status} ${answer.text}`);
    return answer.json;
  };
  await server.sql.query(`update project set languages = '{en,ru,tt}' where code = 'p'`);
  await server.sql.query(`update map set names = names || $1 where code = 'town'`, [{ tt: tatar.map }]);
  await server.sql.query(`update node set localized_name = true, names = $1 where id = $2`, [
    { en: "Parks", ru: "Парки", tt: tatar.layer },
    town.parks,
  ]);
  await server.nodes[0]!.services.changes.propagate();
  const name = { en: "About", ru: "Описание", tt: tatar.column };
  const column = { code: "about", type: "string", localized_name: true, localized_value: true, name };
  await send("structure/", "POST", column);
  const objects = await send("objects/?fields=name", "GET");
  const green = objects.find(
    (object: { fields: { name: string } }) => object.fields.name === "Green park",
  ).id;
  for (const [lng, about] of [
    ["en", "A green place"],
    ["ru", "Зелёное место"],
    ["tt", tatar.value],
  ])
    await send(`objects/${green}/?lng=${lng}`, "PUT", { fields: { about } });
}

const openMenu = (page: Page) => page.click(".languages > button");
const chooseData = async (page: Page, language: string) => {
  await openMenu(page);
  await page.click(`.languages [data-language=${language}]`);
};
const attributes = async (page: Page) => {
  await page.waitForSelector(".object .attributes");
  return page.innerText(".object .attributes");
};

t.test("the language of the interface can be changed, and stays changed", async (t) => {
  const { page, problems } = await openPage(browser, home);
  await page.click("[data-code=plans]");
  await openMenu(page);
  await soon(t).same(
    () => page.$$eval(".languages [data-interface]", (all) => all.map((entry) => entry.textContent)),
    ["English", "Русский", "Deutsch", "Français", "Español"],
  );
  await page.click(".languages [data-interface=ru]");
  await page.waitForSelector(".layers-title:has-text('Слои')");
  await pictureComplete(page);
  await soon(t).ok(() => page.isChecked("[data-code=plans]"), "the view stays");
  await page.reload();
  await page.waitForSelector(".layers-title:has-text('Слои')");
  t.pass("after a reload too");
  t.same(problems, []);
  await page.context().close();
});

t.test("the data can be read in any language of the project", async (t) => {
  const { page, requests, problems } = await openPage(browser, home);
  await soon(t).match(() => page.innerText(".tree"), "Parks");
  await press(page, 5, 5);
  await soon(t).match(() => attributes(page), /About\s+A green place/);
  await chooseData(page, "tt");
  await page.waitForSelector(`.tree-name:has-text('${tatar.layer}')`);
  await pictureComplete(page);
  await soon(t).equal(() => page.textContent(".chooser-title"), tatar.map);
  await soon(t).equal(() => page.title(), `${tatar.map} · Mapwright`);
  await soon(t).equal(() => page.textContent(".layers-title"), "Layers", "the interface stays");
  await soon(t).match(() => requests.findLast((address) => address.includes("/?x=")), /&lng=tt/);
  await soon(t).match(() => page.url(), /lng=tt/);
  await soon(t).notOk(() => page.isVisible(".object"), "what was found is in the language of before");
  await press(page, 5, 5);
  const text = await attributes(page);
  t.match(text, tatar.column);
  t.match(text, tatar.value);
  t.same(problems, []);
  await page.context().close();
});

t.test("objects are named and searched in the language of the data", async (t) => {
  const token = await server.token("admin");
  const names = { name_en: "Central", name_tt: "Үзәк" };
  for (const code of Object.keys(names))
    await server.api("POST", "town/layers/stations/structure/", { token, body: { code, type: "string" } });
  const [{ id }] = (await server.api("GET", "town/layers/stations/objects/")).json;
  await server.api("PUT", `town/layers/stations/objects/${id}/`, { token, body: { fields: names } });
  const { page, requests } = await openPage(browser, home);
  const named = async (name: string) => {
    await press(page, 15, 15);
    await page.waitForSelector(`.object :text-is(${JSON.stringify(name)})`);
  };
  await named("Central");
  await chooseData(page, "tt");
  await page.waitForSelector(`.tree-name:has-text('${tatar.layer}')`);
  await pictureComplete(page);
  await named("Үзәк");
  await page.fill(".search-field", "green");
  await page.waitForSelector(".search-option");
  await soon(t).match(() => requests.find((address) => address.includes("/search/")), /lang=tt/);
  await page.context().close();
});

t.test("a link has the language of the data, whoever opens it", async (t) => {
  const { page } = await openPage(browser, `${home}&lng=tt`, { locale: "ru-RU" });
  await soon(t).equal(() => page.textContent(".chooser-title"), tatar.map);
  await soon(t).equal(() => page.textContent(".layers-title"), "Слои");
  await soon(t).match(() => page.url(), /lng=tt/);
  // The main language of the project too, which is not that of the interface.
  await page.goto(`${home}&lng=en`);
  await page.waitForSelector(".chooser-title:has-text('Town')");
  await page.waitForSelector(".tree-name:has-text('Parks')");
  await soon(t).equal(() => page.textContent(".layers-title"), "Слои");
  await page.goto(server.url);
  await page.waitForSelector(".chooser-title:has-text('Город')");
  t.pass("a link does not change what is remembered");
  await page.context().close();
});

t.test("the language of the data is remembered for the project", async (t) => {
  const { page } = await openPage(browser, home, { locale: "ru-RU" });
  await soon(t).equal(() => page.textContent(".chooser-title"), "Город");
  await chooseData(page, "tt");
  await page.waitForSelector(`.chooser-title:has-text('${tatar.map}')`);
  await page.goto("about:blank");
  await page.goto(server.url);
  await page.waitForSelector(`.tree-name:has-text('${tatar.layer}')`);
  await soon(t).equal(() => page.textContent(".chooser-title"), tatar.map);
  await openMenu(page);
  await soon(t).equal(() => page.getAttribute(".languages [data-language=tt]", "aria-checked"), "true");
  await page.click(".languages [data-language='']");
  await page.waitForSelector(".chooser-title:has-text('Город')");
  await soon(t).notMatch(() => page.url(), /lng=/);
  await page.goto("about:blank");
  await page.goto(server.url);
  await page.waitForSelector(".chooser-title:has-text('Город')");
  await page.context().close();
});

t.test("a language that the project does not have is that of the interface", async (t) => {
  for (const wrong of ["xx", "%22%3E", "a".repeat(500)]) {
    const { page, problems } = await openPage(browser, `${home}&lng=${wrong}`, { locale: "ru-RU" });
    await soon(t).equal(() => page.textContent(".chooser-title"), "Город", wrong);
    await soon(t).notMatch(() => page.url(), /lng=/);
    t.same(problems, []);
    await page.context().close();
  }
});

t.test("the menu of languages works by keyboard", async (t) => {
  const { page } = await openPage(browser, home);
  const focused = () => page.evaluate<string>("document.activeElement.textContent");
  await page.focus(".languages > button");
  await page.keyboard.press("Enter");
  await soon(t).equal(() => focused(), "English", "what is chosen has the focus");
  await page.keyboard.press("ArrowUp");
  await soon(t).match(() => focused(), /^(Татар|Tatar)/, "by its own name, if the browser has that");
  await page.keyboard.press("Home");
  await soon(t).equal(() => focused(), "English");
  await page.keyboard.press("End");
  await page.keyboard.press("Escape");
  await soon(t).notOk(() => page.isVisible(".languages .menu"));
  await soon(t).equal(() => page.evaluate("document.activeElement.matches('.languages > button')"), true);
  await page.keyboard.press("Enter");
  await page.keyboard.press("End");
  await page.keyboard.press("Enter");
  await page.waitForSelector(`.chooser-title:has-text('${tatar.map}')`);
  await soon(t).equal(() => page.evaluate("document.activeElement.matches('.languages > button')"), true);
  await openMenu(page);
  await page.mouse.click(640, 500);
  await soon(t).notOk(() => page.isVisible(".languages .menu"), "a press beside it closes it");
  await page.context().close();
});

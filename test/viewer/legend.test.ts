import t from "tap";
import { makeMap, makeStyledLayer, square } from "../support/maps.js";
import { picture } from "../support/pictures.js";
import { startServer } from "../support/server.js";
import { openPage, soon, startBrowser } from "./support.js";

/** Legends in the layers panel. */

const server = await startServer();
t.teardown(() => server.stop());
const browser = await startBrowser(t);
const token = await server.token("admin");

async function makeLand(map: string): Promise<void> {
  await makeMap(server, map);
  await makeStyledLayer(server, map, "use", "");
  await makeStyledLayer(server, map, "plain", "#a { polygon-fill: #00ff00; }");
  const structure = { token, body: { code: "kind", type: "string" } };
  await server.api("POST", `${map}/layers/use/structure/`, structure);
  const css_style = `#a { polygon-fill: #cccccc; [kind = "wood"] { polygon-fill: #007700; }
    [kind = "lake"][zoom >= 8] { polygon-fill: #0000ff; } }`;
  await server.api("PATCH", `${map}/layers/use/`, { token, body: { parent_id: 0, css_style } });
  for (const [index, kind] of ["wood", "lake", "road"].entries()) {
    const body = { fields: { kind }, geom: square(index * 2, 0, 1) };
    await server.api("POST", `${map}/layers/use/objects/`, { token, body });
  }
  await server.api("POST", `${map}/layers/plain/objects/`, { token, body: { geom: square(0, 5, 1) } });
}

await makeLand("land");
await makeLand("private");
await server.sql.query("update map set has_publication = false where code = 'private'");
await server.nodes[0]!.services.changes.propagate();

const shown = ".legend-class:not([hidden])";
const address = (map: string, zoom = 10) => `${server.url}/#project=p&map=${map}&z=${zoom}&lat=0.5&lon=2`;

t.test("classes are under their layer, with the symbols of the tiles, at their zooms", async (t) => {
  const { page, problems, requests } = await openPage(browser, address("land"));
  await page.waitForSelector(shown);
  await soon(t).same(() => page.locator(shown).allInnerTexts(), ["others", "kind = wood", "kind = lake"]);
  const colour = (at: number) =>
    page.evaluate<number[]>(`(async () => {
      const image = document.querySelectorAll(${JSON.stringify(`${shown} img`)})[${at}];
      await image.decode();
      const canvas = Object.assign(document.createElement("canvas"), { width: 20, height: 20 });
      const context = canvas.getContext("2d");
      context.drawImage(image, 0, 0, 20, 20);
      return [...context.getImageData(10, 10, 1, 1).data];
    })()`);
  await soon(t).same(
    async () => [await colour(0), await colour(1), await colour(2)],
    [
      [204, 204, 204, 255],
      [0, 119, 0, 255],
      [0, 0, 255, 255],
    ],
  );
  await soon(t).equal(
    () => page.locator(".legend-toggle:visible").count(),
    1,
    "a layer of one class needs none",
  );
  await soon(t).equal(
    () => page.locator(".tree-row .swatch img").count(),
    2,
    "the symbols of the layers are those of tiles",
  );
  await soon(t).equal(() => requests.filter((url) => url.includes("/legend/")).length, 2);
  await page.evaluate(`location.hash = ${JSON.stringify(new URL(address("land", 6)).hash)}`);
  await page.waitForSelector(".legend-class[hidden]", { state: "attached" });
  await soon(t).same(() => page.locator(shown).allInnerTexts(), ["others", "kind = wood"]);
  t.same(problems, []);
  await page.context().close();
});

t.test("a legend is folded, which the browser remembers, and hidden with its layer", async (t) => {
  const { page } = await openPage(browser, address("land"));
  const toggle = page.locator(".legend-toggle:visible");
  await toggle.waitFor();
  await soon(t).equal(() => toggle.getAttribute("aria-expanded"), "true");
  await toggle.focus();
  await page.keyboard.press("Enter");
  await soon(t).equal(() => toggle.getAttribute("aria-expanded"), "false");
  await soon(t).equal(() => page.locator(shown).first().isVisible(), false);
  await page.reload();
  await toggle.waitFor();
  await soon(t).equal(() => toggle.getAttribute("aria-expanded"), "false");
  await toggle.click();
  await soon(t).equal(() => page.locator(shown).first().isVisible(), true);
  await page.locator('[data-code="use"]').click();
  await soon(t).equal(() => page.locator(shown).first().isVisible(), false);
  await page.context().close();
});

t.test("a long legend begins folded, and the browser remembers that it was opened", async (t) => {
  await makeLand("long");
  const rules = Array.from({ length: 25 }, (_, n) => `[kind = "k${n}"] { polygon-fill: #00ff${10 + n}; }`);
  const body = { parent_id: 0, css_style: `#use { ${rules.join(" ")} }` };
  await server.api("PATCH", "long/layers/use/", { token, body });
  const { page } = await openPage(browser, address("long"));
  const toggle = page.locator(".legend-toggle:visible");
  await toggle.waitFor();
  await soon(t).equal(() => toggle.getAttribute("aria-expanded"), "false");
  await toggle.click();
  await soon(t).equal(() => page.locator(shown).count(), 25);
  await page.reload();
  await toggle.waitFor();
  await soon(t).equal(() => toggle.getAttribute("aria-expanded"), "true");
  await page.context().close();
});

t.test(
  "bubbles are circles in each other as large as the map's, under a title, and tell what has no value",
  async (t) => {
    await makeLand("towns");
    const structure = { token, body: { code: "people", type: "number", name: "People" } };
    await server.api("POST", "towns/layers/use/structure/", structure);
    for (const [at, people] of [160_000, 40_000, 9_000].entries()) {
      const body = { fields: { people }, geom: square(at * 2, 3, 1) };
      await server.api("POST", "towns/layers/use/objects/", { token, body });
    }
    const visualSettings = { type: 3, columnCode: "people", classesSettings: { pointSizeMax: 64 } };
    await server.api("PUT", "towns/layers/use/visualization/", { token, body: { visualSettings } });
    const { page, problems } = await openPage(browser, address("towns"));
    await page.waitForSelector(".legend-bubbles");
    t.equal(await page.locator(".legend-title").innerText(), "People");
    t.same(await page.locator(".legend-bubbles text").allTextContents(), ["150,000", "40,000", "7,500"]);
    const radii = await page.evaluate<number[]>(
      `[...document.querySelectorAll(".legend-bubbles circle")].map((one) => Number(one.getAttribute("r")))`,
    );
    for (const [at, people] of [150_000, 40_000, 7_500].entries())
      t.ok(Math.abs(radii[at]! - 32 * Math.sqrt(people / 160_000)) < 0.2, `${people}: ${radii[at]}`);
    t.same(await page.locator(".legend-text").allInnerTexts(), ["no data"]);
    t.same(problems, []);
    await page.context().close();
  },
);

/** A map with numbers in the objects of a layer, and a visualization of them. */
async function makeNumbers(map: string, visualSettings: object): Promise<void> {
  await makeLand(map);
  for (const code of ["men", "women"])
    await server.api("POST", `${map}/layers/use/structure/`, { token, body: { code, type: "number" } });
  for (const [at, men] of [1_000, 20_000, 100_000].entries()) {
    const body = { fields: { men, women: men / 4 - 7_500 }, geom: square(at * 2, 3, 1) };
    await server.api("POST", `${map}/layers/use/objects/`, { token, body });
  }
  const body = { visualSettings };
  t.equal((await server.api("PUT", `${map}/layers/use/visualization/`, { token, body })).status, 200);
}

t.test("pies whose sizes tell a value have them after their colours, and say what a dot is", async (t) => {
  const columns = [{ code: "men" }, { code: "women" }];
  const classesSettings = { columns, sizeType: 3, sizeColumnCode: "men", sizeFrom: 10, sizeTo: 60 };
  await makeNumbers("pies", { type: 4, classesSettings });
  const { page, problems } = await openPage(browser, address("pies"));
  await page.waitForSelector(".legend-bubbles");
  const lines = await page.locator(".legend > li:visible").allTextContents();
  t.same(lines.toSpliced(3, 1), ["men", "women", "Size: men", "no room for the chart"]);
  t.same(await page.locator(".legend-bubbles text").allTextContents(), ["100,000", "50,000", "10,000"]);
  const name = await page.getAttribute(".legend-bubbles", "aria-label");
  t.equal(name, "Size: men, 10,000, 50,000, 100,000");
  const widest = await page.getAttribute(".legend-bubbles circle", "r");
  t.equal(Number(widest), 30);
  await page.evaluate("window.dispatchEvent(new Event('beforeprint'))");
  t.equal(await page.locator(".print-legend .legend-bubbles").count(), 1, "on paper, too");
  t.same(problems, []);
  await page.context().close();
  await makeNumbers("sums", { type: 4, classesSettings: { columns, sizeType: 2 } });
  const russian = await openPage(browser, address("sums"), { locale: "ru" });
  await russian.page.waitForSelector(".legend-bubbles");
  t.same(await russian.page.locator(".legend-title").allInnerTexts(), ["Размер: сумма частей"]);
  await russian.page.context().close();
});

t.test("bars and lines whose sizes tell a value have squares in each other", async (t) => {
  const columns = [{ code: "men" }, { code: "women" }];
  const classesSettings = { columns, sizeType: 3, sizeColumnCode: "men", sizeFrom: 10, sizeTo: 60 };
  for (const [map, type] of [
    ["bars", 5],
    ["lines", 6],
  ] as const) {
    await makeNumbers(map, { type, classesSettings });
    const { page, problems } = await openPage(browser, address(map));
    await page.waitForSelector(".legend-bubbles");
    t.same(await page.locator(".legend-title").allInnerTexts(), ["Size: men"]);
    t.same(await page.locator(".legend-bubbles text").allTextContents(), ["100,000", "50,000", "10,000"]);
    t.equal(await page.locator(".legend-bubbles circle").count(), 0);
    const widest = page.locator(".legend-bubbles rect").first();
    t.equal(Number(await widest.getAttribute("width")), 60);
    t.equal(Number(await widest.getAttribute("height")), 60);
    await page.evaluate("window.dispatchEvent(new Event('beforeprint'))");
    t.equal(await page.locator(".print-legend .legend-bubbles rect").count(), 3, "on paper, too");
    t.same(problems, []);
    await page.context().close();
  }
});

t.test("bounds of classes tell which class has them", async (t) => {
  await makeNumbers("bounds", { type: 1, columnCode: "women", algorithm: 1, classesCount: 2 });
  const { page, problems } = await openPage(browser, address("bounds"));
  await page.waitForSelector(shown);
  await soon(t).same(
    () => page.locator(".legend-text:visible").allInnerTexts(),
    ["−7,250 to 5,000", "> 5,000 to 17,500", "no data"],
  );
  t.same(problems, []);
  await page.context().close();
});

t.test("a layer that is off has the symbol that it would have, and no legend", async (t) => {
  const colour = "#7700aa";
  const classesSettings = { minColor: colour, midColor: colour, maxColor: colour };
  await makeNumbers("dormant", { type: 1, columnCode: "men", classesSettings });
  const { page, problems, requests } = await openPage(browser, `${address("dormant")}&layers=0`);
  const row = page.locator(".tree-row", { has: page.locator('[data-code="use"]') });
  t.equal(await row.getAttribute("data-shown"), "none");
  await soon(t).match(() => row.locator(".swatch img").getAttribute("src"), /layers\/use\/icon/);
  t.same(
    requests.filter((url) => url.includes("/use/legend/")),
    [],
  );
  t.same(problems, []);
  await page.context().close();
});

t.test("colours that stand for no values are one bar", async (t) => {
  await makeMap(server, "hot");
  const css = "#a { marker-width: 5; }";
  const { id } = await makeStyledLayer(server, "hot", "finds", css);
  const geom = { type: "Point", coordinates: [2, 0.5] };
  await server.api("POST", "hot/layers/finds/objects/", { token, body: { geom } });
  const visualSettings = { type: 7, classesSettings: { colors: ["#0000ff", "#ff0000"] } };
  const body = { visualSettings };
  t.equal((await server.api("PUT", "hot/layers/finds/visualization/", { token, body })).status, 200);
  const { page, problems } = await openPage(browser, address("hot"));
  await page.waitForSelector(shown);
  await soon(t).same(() => page.locator(`#legend-${id} ${shown}`).allInnerTexts(), ["least\nmost"]);
  const bar = page.locator(".legend-ramp");
  t.ok((await bar.boundingBox())!.width > 40);
  const image = await page.evaluate<string>(
    "getComputedStyle(document.querySelector('.legend-ramp')).backgroundImage",
  );
  t.match(image, /^linear-gradient\(to right, rgb\(0, 0, 255\), rgb\(255, 0, 0\)\)$/);
  const mask = "getComputedStyle(document.querySelector('.legend-ramp')).maskImage";
  t.match(await page.evaluate(mask), /rgba\(0, 0, 0, 0\).*50%/, "as pale as the map is");
  const symbol = (await page.locator(".tree-row .swatch img").getAttribute("src"))!;
  const drawn = await picture(await (await fetch(new URL(symbol, server.url))).arrayBuffer());
  t.same(drawn.at(12, 12).slice(0, 3), [255, 0, 0], "the hottest stands for the layer");
  t.same(problems, []);
  await page.context().close();
});

t.test("a layer whose classes mean nothing to readers has none", async (t) => {
  await makeLand("tints");
  const json = { viewer: { legend: false } };
  await server.api("PATCH", "tints/layers/use/", { token, body: { parent_id: 0, json } });
  const { page, problems, requests } = await openPage(browser, address("tints"));
  const legend = /\/layers\/use\/legend\//;
  await soon(t).ok(() => requests.some((url) => legend.test(url)));
  await soon(t).equal(() => page.locator(".tree-row .swatch img").count(), 2);
  t.equal(await page.locator(".legend-toggle:visible").count(), 0);
  t.equal(await page.locator(".legend-class:visible").count(), 0);
  t.same(problems, []);
  await page.context().close();
});

t.test("the symbols of a private map are shown, and no address has the token", async (t) => {
  const { page, problems, requests } = await openPage(browser, `${server.url}/#project=p`);
  await page.click(".sign-in-button");
  await page.fill("#sign-in-login", "admin");
  await page.fill("#sign-in-password", "adminadmin");
  await page.keyboard.press("Enter");
  await page.waitForSelector(".user-button");
  await page.evaluate(`location.hash = ${JSON.stringify(new URL(address("private")).hash)}`);
  await page.waitForSelector('.legend-class img[src^="blob:"]');
  await soon(t).ok(() =>
    page.evaluate(`document.querySelector('.legend-class img').decode().then(() => true)`),
  );
  await soon(t).same(
    () =>
      requests.filter((url) => url.includes("/private/") && /icon|legend/.test(url) && url.includes("token")),
    [],
  );
  t.same(problems, []);
  await page.context().close();
});

t.test(
  "on a phone a map by values has its legend beside it, and its layers when that is pressed",
  async (t) => {
    await makeLand("kinds");
    const classes = [
      { value: "wood", color: "#007700" },
      { value: "lake", color: "#0000ff" },
    ];
    const body = { visualSettings: { type: 2, columnCode: "kind", classesSettings: { classes } } };
    const { status, text } = await server.api("PUT", "kinds/layers/use/visualization/", { token, body });
    t.equal(status, 200, text);
    const { page, problems, requests } = await openPage(browser, address("kinds"), {
      viewport: { width: 360, height: 740 },
    });
    const strip = page.locator(".legend-strip .legend-class:visible");
    const texts = async () => (await strip.allInnerTexts()).join();
    await soon(t).match(texts, /wood.*lake/);
    const top = async (part: string) => (await page.locator(part).boundingBox())!;
    const [line, panel] = [await top(".bottom-line"), await top(".layers")];
    t.ok(line.y + line.height <= panel.y + 1, "what is above it stays in sight");
    await page.click(".legend-strip");
    await page.waitForSelector(".layers-body .legend-class:visible");
    t.equal(await strip.count(), 0, "it is said once");
    await page.click(".layers-header");
    await soon(t).match(texts, /wood.*lake/);
    const asked = requests.filter((url) => url.includes("/legend/")).length;
    t.ok(asked <= 2, `${asked} legends are asked for`);
    t.same(problems, []);
    await page.context().close();
  },
);
